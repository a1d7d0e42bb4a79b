-- The k points nearest to a given one
-- Each turn finds the nearest of those that are left, and puts its distance vector into the result.
-- group: Memory
-- order: 87
-- look: funmem {map2 (-) points[at] from}: a vector in memory of its own, and a copy
-- look: shortcircuit/proof {found with [i] = map2 (-) points[at] from}: the vector is built in its row of the result
-- ==
-- entry: main
-- input { 2i64 [[0f32, 0f32], [5f32, 5f32], [1f32, 2f32], [9f32, 1f32]] [1f32, 1f32] }
-- output { [[0f32, 1f32], [-1f32, -1f32]] }

entry main [n] [d] (k: i64) (points: [n][d]f32) (from: [d]f32) : [k][d]f32 =
  let far = map (\p -> f32.sum (map2 (\a b -> (a - b) * (a - b)) p from)) points
  let nearer (a: f32, i: i64) (b: f32, j: i64) =
    if a < b || (a == b && i <= j) then (a, i) else (b, j)
  let (found, _) =
    loop (found, far) = (replicate k (replicate d 0), far) for i < k do
      let (_, at) = reduce nearer (f32.inf, n) (zip far (iota n))
      in (found with [i] = map2 (-) points[at] from, far with [at] = f32.inf)
  in found
