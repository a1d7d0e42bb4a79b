-- Diffusion by implicit steps: a tridiagonal system per row
-- Forwards elimination, then backwards substitution, which fills a row of the next state.
-- group: Memory
-- order: 94
-- look: funmem {loop x = right for k < m - 1 do}: a row of memory per thread, and a copy to its row
-- look: shortcircuit/proof {map (solve r) state}: the solution is built in its row
-- look: merged/memory {loop state for _step < steps do map (solve r) state}: two blocks take turns, no step allocates
-- ==
-- entry: main
-- input { [[0f64, 4f64, 0f64], [1f64, 1f64, 1f64]] 1f64 1i32 }
-- output { [[1f64, 2f64, 1f64], [1f64, 1f64, 1f64]] }
-- random input { [50][60]f64 0.5f64 4i32 }
-- auto output

-- | x with (1 + 2r) x[j] - r x[j-1] - r x[j+1] = y[j]; what lies outside is as at the border.
def solve [m] (r: f64) (y: [m]f64) : [m]f64 =
  let diagonal j = 1 + (if j == 0 then 0 else r) + (if j == m - 1 then 0 else r)
  let (factor, right) =
    loop (factor, right) = (replicate m 0, replicate m 0) for j < m do
      let (before, carried) = if j == 0 then (0, 0) else (factor[j - 1], right[j - 1])
      let pivot = diagonal j - r * before
      in (factor with [j] = r / pivot, right with [j] = (y[j] + r * carried) / pivot)
  in loop x = right for k < m - 1 do
       let j = m - 2 - k
       in x with [j] = x[j] + factor[j] * x[j + 1]

entry main [n] [m] (state: [n][m]f64) (r: f64) (steps: i32) : [n][m]f64 =
  loop state for _step < steps do map (solve r) state
