-- LU decomposition in blocks
-- Each step has four parts: the block on the diagonal, those right of it, below it, and the rest.
-- All are computed inside of the matrix, through slices by LMADs of two, three and four dimensions.
-- group: Memory
-- order: 87
-- look: funmem {(map (right_of lu) row)}: each part in memory of its own, and a copy
-- look: shortcircuit/proof {lmad_update_4d cells (at + down + over) (down, over, n, 1) new}: four updates without a copy, and why none overwrites what another one needs
-- ==
-- entry: main
-- input { 1i64 [[2f64, 4f64], [3f64, 5f64]] }
-- output { [[2f64, 4f64], [1.5f64, -1f64]] }
-- input { 2i64 [[2f64, 1f64, 1f64, 0f64], [4f64, 3f64, 3f64, 1f64], [8f64, 7f64, 9f64, 5f64], [6f64, 7f64, 9f64, 8f64]] }
-- output { [[2f64, 1f64, 1f64, 0f64], [2f64, 1f64, 1f64, 1f64], [4f64, 3f64, 2f64, 2f64], [3f64, 4f64, 1f64, 2f64]] }

def on_diagonal [b] (block: [b][b]f64) : *[b][b]f64 =
  loop lu = copy block for i < b do
    loop lu for j < b do
      let left = loop x = lu[i, j] for k < i64.min i j do x - lu[i, k] * lu[k, j]
      in lu with [i, j] = if j < i then left / lu[j, j] else left

def right_of [b] (lu: [b][b]f64) (block: [b][b]f64) : *[b][b]f64 =
  loop new = copy block for i < b do
    loop new for j < b do
      new with [i, j] = loop x = new[i, j] for k < i do x - lu[i, k] * new[k, j]

def below [b] (lu: [b][b]f64) (block: [b][b]f64) : *[b][b]f64 =
  loop new = copy block for i < b do
    loop new for j < b do
      let left = loop x = new[i, j] for k < j do x - new[i, k] * lu[k, j]
      in new with [i, j] = left / lu[j, j]

def inside [b] (left: [b][b]f64) (above: [b][b]f64) (block: [b][b]f64) : [b][b]f64 =
  let element i j = loop x = block[i, j] for k < b do x - left[i, k] * above[k, j]
  in tabulate_2d b b element

entry main [n] (b: i64) (matrix: *[n][n]f64) : *[n][n]f64 =
  let q = n / b
  let cells = flatten (assert (n == q * b) matrix)
  let cells =
    loop cells for step < q do
      let at = step * b * (n + 1)
      let rest = q - 1 - step
      -- From one block to the next one in the same column, and in the same row.
      let (down, over) = (b * n, b)
      let cells = lmad_update_2d cells at (n, 1) (on_diagonal (lmad_slice_2d cells at (n, 1) b b))
      let lu = lmad_slice_2d cells at (n, 1) b b
      let row = lmad_slice_3d cells (at + over) (over, n, 1) rest b b
      let cells = lmad_update_3d cells (at + over) (over, n, 1) (map (right_of lu) row)
      let lu = lmad_slice_2d cells at (n, 1) b b
      let column = lmad_slice_3d cells (at + down) (down, n, 1) rest b b
      let cells = lmad_update_3d cells (at + down) (down, n, 1) (map (below lu) column)
      let row = lmad_slice_3d cells (at + over) (over, n, 1) rest b b
      let column = lmad_slice_3d cells (at + down) (down, n, 1) rest b b
      let blocks = lmad_slice_4d cells (at + down + over) (down, over, n, 1) rest rest b b
      let new = map2 (\left -> map2 (inside left) row) column blocks
      in lmad_update_4d cells (at + down + over) (down, over, n, 1) new
  in unflatten cells
