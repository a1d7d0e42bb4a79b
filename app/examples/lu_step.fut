-- LU decomposition, the step that takes most of the time
-- What is left of the matrix is updated from the rows above it and the columns to its left.
-- group: Memory
-- order: 85
-- look: funmem/memory(new) {tabulate_2d rest rest (\i j -> matrix[b + i, b + j] - product i j)}: the new part in memory of its own, and a copy
-- look: shortcircuit/proof {matrix with [b:, b:] = new}: it is built inside of the matrix, beside what it is made from
-- ==
-- entry: main
-- input { 1i64 [[2f64, 4f64], [3f64, 5f64]] }
-- output { [[2f64, 4f64], [3f64, -7f64]] }
-- input { 2i64 [[1f64, 0f64, 2f64], [0f64, 1f64, 3f64], [4f64, 5f64, 30f64]] }
-- output { [[1f64, 0f64, 2f64], [0f64, 1f64, 3f64], [4f64, 5f64, 7f64]] }

entry main [n] (b: i64) (matrix: *[n][n]f64) : *[n][n]f64 =
  let rest = n - b
  let product i j = f64.sum (map (\k -> matrix[b + i, k] * matrix[k, b + j]) (iota b))
  let new = tabulate_2d rest rest (\i j -> matrix[b + i, b + j] - product i j)
  in matrix with [b:, b:] = new
