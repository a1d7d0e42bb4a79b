-- ==
-- entry: slices
-- input { 24i64 }
-- output { [[1i64, 4i64, 7i64], [5i64, 8i64, 11i64]]
--          [[[0i64], [2i64]], [[12i64], [14i64]]]
--          [[[[3i64, 2i64]], [[5i64, 4i64]]]] }
-- input { 14i64 }
-- error: out of bounds for array of shape \[14\]
entry slices (n: i64) : ([2][3]i64, [2][2][1]i64, [1][2][1][2]i64) =
  let xs = iota n
  in ( lmad_slice_2d xs 1 (4, 3) 2 3
     , lmad_slice_3d xs 0 (12, 2, 1) 2 2 1
     , lmad_slice_4d xs 3 (0, 2, 0, -1) 1 2 1 2
     )

-- ==
-- entry: equal_sizes
-- input { [1i32, 2i32, 3i32, 4i32] 2i64 }
-- output { [[3i32, 5i32], [5i32, 7i32]] }
entry equal_sizes [n] (xs: [n]i32) (k: i64) : [k][k]i32 =
  map2 (map2 (+)) (lmad_slice_2d xs 0 (1, 1) k k) (lmad_slice_2d xs (n - 2 * k + 1) (1, 1) k k)

-- ==
-- entry: updates
-- input { 9i64 }
-- output { [0i64, -1i64, 2i64, -2i64, 4i64, 5i64, 6i64, 7i64, 8i64]
--          [0i64, 1i64, -1i64, -2i64, 4i64, 5i64, 6i64, 7i64, 8i64]
--          [0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, -2i64, -1i64] }
-- input { 8i64 }
-- error: Slice {8 \+ {\(1 : 0\), \(1 : 0\), \(1 : 0\), \(2 : -1\)}} out of bounds
entry updates (n: i64) : ([n]i64, [n]i64, [n]i64) =
  ( lmad_update_2d (iota n) 1 (2, 1) [[-1], [-2]]
  , lmad_update_3d (iota n) 2 (0, 1, 7) [[[-1], [-2]]]
  , lmad_update_4d (iota n) 8 (0, 0, 0, -1) [[[[-1, -2]]]]
  )

-- ==
-- entry: diagonals
-- input { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32], [7i32, 8i32, 9i32]] }
-- output { [1i32, 5i32, 9i32]
--          [[10i32, 2i32, 3i32], [4i32, 50i32, 6i32], [7i32, 8i32, 90i32]] }
-- input { [[4i32]] }
-- output { [4i32] [[40i32]] }
-- input { empty([0][0]i32) }
-- output { empty([0]i32) empty([0][0]i32) }
entry diagonals [n] (xss: *[n][n]i32) : ([n]i32, *[n][n]i32) =
  let old = copy (diagonal xss)
  in (old, with_diagonal xss (map (* 10) old))

-- ==
-- entry: across
-- input { 0i64 [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32]] }
-- output { [1i32] }
-- input { 1i64 [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32]] }
-- output { [2i32, 5i32] }
-- input { 3i64 [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32]] }
-- output { [4i32, 7i32] }
-- input { 4i64 [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32]] }
-- output { [8i32] }
-- input { 2i64 [[1i32, 2i32], [3i32, 4i32], [5i32, 6i32]] }
-- output { [4i32, 5i32] }
-- input { 2i64 [[1i32], [2i32], [3i32]] }
-- output { [3i32] }
-- input { 5i64 [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32]] }
-- output { empty([0]i32) }
-- input { 6i64 [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32]] }
-- error: has a negative size
-- input { -2i64 [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32]] }
-- error: has a negative size
entry across [n] [m] (k: i64) (xss: [n][m]i32) : []i32 = antidiagonal k xss

-- Each cell is the sum of those above and to the left: all of a wave at once.
-- ==
-- entry: waves
-- input { 4i64 }
-- output { [[1i32, 1i32, 1i32, 1i32], [1i32, 2i32, 3i32, 4i32], [1i32, 3i32, 6i32, 10i32],
--           [1i32, 4i32, 10i32, 20i32]] }
entry waves (n: i64) : [n][n]i32 =
  loop xss = replicate n (replicate n 1i32) for wave < 2 * n - 1 do
    let first = i64.max 0 (wave - n + 1)
    let count = i64.min (wave + 1) n - first
    let cell (i: i64) (j: i64) : i32 =
      if i == 0 || j == 0 then 1 else xss[i - 1, j] + xss[i, j - 1]
    let values = map (\p -> cell (first + p) (wave - first - p)) (iota count)
    in with_antidiagonal wave xss values

-- ==
-- entry: neighbours
-- input { [1i32, 2i32, 3i32, 4i32] }
-- output { [6i32, 9i32] [[1i32, 2i32, 3i32, 4i32]] }
-- input { [1i32, 2i32] }
-- error: has a negative size
entry neighbours [n] (xs: [n]i32) : ([]i32, [][]i32) =
  (map i32.sum (windows 3 xs), windows 4 xs)

-- ==
-- entry: boxes
-- input { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32], [7i32, 8i32, 9i32]] }
-- output { [[12i32, 16i32], [24i32, 28i32]] }
entry boxes [n] [m] (xss: [n][m]i32) : [][]i32 =
  map (map (\box -> i32.sum (flatten box))) (windows_2d 2 2 xss)

-- ==
-- entry: cut
-- input { [[1i32, 2i32, 3i32, 4i32, 5i32, 6i32], [7i32, 8i32, 9i32, 10i32, 11i32, 12i32]] }
-- output { [[[[1i32, 2i32], [7i32, 8i32]], [[3i32, 4i32], [9i32, 10i32]],
--            [[5i32, 6i32], [11i32, 12i32]]]] }
entry cut (xss: [2][6]i32) : [1][3][2][2]i32 = blocks 2 2 xss
