-- An option's price, by simulation
-- Each path is refined from its end: a loop puts every point between two that are there already.
-- group: Memory
-- order: 93
-- look: funmem {replicate n 0 with [n - 1] = normal[0]}: a path in memory of its own thread, and a copy to its row
-- look: shortcircuit/proof {map (walk levels) normals}: the loop works in the row of the result
-- ==
-- entry: main
-- input { 2i64 [[1f64, 0f64, 0f64, 0f64], [2f64, 1f64, 0f64, -1f64]] }
-- output { [[0.25f64, 0.5f64, 0.75f64, 1.0f64], [0.75f64, 1.5f64, 1.3964466094067263f64, 2.0f64]] 0.3297509762780173f64 }
-- random input { 6i64 [100][64]f64 }
-- auto output

-- | Points 1 to n of a walk, n = 2^levels: its end, and again and again the middles between.
def walk [n] (levels: i64) (normal: [n]f64) : [n]f64 =
  let start = replicate n 0 with [n - 1] = normal[0]
  in loop path = start for level < levels do
       let gap = n >> level
       in loop path for k < 1 << level do
            let left = if k == 0 then 0 else path[k * gap - 1]
            let right = path[(k + 1) * gap - 1]
            let spread = f64.sqrt (f64.i64 gap / f64.i64 (4 * n))
            in path with [k * gap + gap / 2 - 1] =
                 (left + right) / 2 + spread * normal[(1 << level) + k]

-- | What a path is worth that may be sold at its best moment for more than 1.
def gain [n] (path: [n]f64) : f64 =
  f64.max 0 (f64.maximum (map (\w -> f64.exp (0.2 * w - 0.02)) path) - 1)

entry main [paths] [n] (levels: i64) (normals: [paths][n]f64) : ([paths][n]f64, f64) =
  let walks = map (walk levels) normals
  in (walks, f64.sum (map gain walks) / f64.i64 paths)
