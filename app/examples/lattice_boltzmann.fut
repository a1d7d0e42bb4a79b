-- Lattice Boltzmann: a fluid as nine streams per cell
-- In each step a cell takes what flows towards it and lets it collide; the nine new values are
-- computed beside it and put into their row of the next state, on a GPU in that row.
-- group: Memory
-- order: 92
-- look: funmem {tabulate_2d n m (\i j -> collide (arriving state i j))}: nine values in memory of the thread, and a copy to their row
-- look: shortcircuit/proof {tabulate_2d n m (\i j -> collide (arriving state i j))}: why the row is copied for C: in its place it would take longer
-- look: merged/memory {tabulate_2d n m (\i j -> collide (arriving state i j))}: two blocks take turns, no step allocates
-- ==
-- entry: main
-- input { [[[4f32, 1f32, 1f32, 1f32, 1f32, 0.25f32, 0.25f32, 0.25f32, 0.25f32]]] 5i32 }
-- output { [[[4f32, 1f32, 1f32, 1f32, 1f32, 0.25f32, 0.25f32, 0.25f32, 0.25f32]]] }
-- random input { [64][64][9]f32 5i32 }
-- auto output

def along : [9]i64 = [0, 1, 0, -1, 0, 1, -1, -1, 1]
def down : [9]i64 = [0, 0, 1, 0, -1, 1, 1, -1, -1]
def weight : [9]f32 = [4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36]

-- | The streams move towards what they would be in balance.
def collide (f: [9]f32) : [9]f32 =
  let density = f32.sum f
  let u = f32.sum (map2 (\f d -> f * f32.i64 d) f along) / density
  let v = f32.sum (map2 (\f d -> f * f32.i64 d) f down) / density
  let slow = 1.5 * (u * u + v * v)
  in map4 (\f w x y ->
             let s = 3 * (f32.i64 x * u + f32.i64 y * v)
             in f + 0.8 * (w * density * (1 + s + s * s / 2 - slow) - f)) f weight along down

-- | What leaves on one side comes back on the other.
def arriving [n] [m] (state: [n][m][9]f32) (i: i64) (j: i64) : [9]f32 =
  tabulate 9 (\k -> state[(i - down[k]) % n, (j - along[k]) % m, k])

entry main [n] [m] (state: [n][m][9]f32) (steps: i32) : [n][m][9]f32 =
  loop state for _step < steps do
    tabulate_2d n m (\i j -> collide (arriving state i j))
