-- Anti-diagonal of a matrix, updated in place
-- The matrix lies in one dimension; the new values go to every (n - 1)th cell, where the old ones are.
-- group: Memory
-- order: 83
-- look: funmem/memory(new) {map (\i -> cells[(n - 1) * (i + 1)] + 1) (iota n)}: the new values are computed in memory of their own, and copied
-- look: shortcircuit/proof {cells with [n - 1 : n * n - 1 : n - 1] = new}: they are written to their cells at once
-- ==
-- entry: main
-- input { 3i64 [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32, 9i32] }
-- output { [1i32, 2i32, 4i32, 4i32, 6i32, 6i32, 8i32, 8i32, 9i32] }
-- input { 2i64 [5i32, 6i32, 7i32, 8i32] }
-- output { [5i32, 7i32, 8i32, 8i32] }

entry main (n: i64) (cells: *[n * n]i32) : *[n * n]i32 =
  let new = map (\i -> cells[(n - 1) * (i + 1)] + 1) (iota n)
  in cells with [n - 1 : n * n - 1 : n - 1] = new
