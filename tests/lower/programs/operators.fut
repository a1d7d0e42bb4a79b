-- ==
-- entry: mean_and_variance
-- input { [1.0, 2.0, 3.0, 4.0] }
-- output { 10.0 30.0 }
entry mean_and_variance [n] (xs: [n]f64): (f64, f64) =
  reduce (\(a, b) (c, d) -> (a + c, b + d)) (0, 0) (map (\x -> (x, x * x)) xs)

-- ==
-- entry: prefix
-- input { [1i32, 2i32, 3i32] }
-- output { [1i32, 3i32, 6i32] [1i32, 2i32, 6i32] }
entry prefix [n] (xs: [n]i32): ([n]i32, [n]i32) =
  unzip (scan (\(a, b) (c, d) -> (a + c, b * d)) (0, 1) (zip xs xs))

-- ==
-- entry: vector_sum
-- input { [[1i32, 2i32], [3i32, 4i32]] }
-- output { [4i32, 6i32] }
entry vector_sum [n] [m] (xss: [n][m]i32): [m]i32 = reduce (map2 (+)) (replicate m 0) xss

-- ==
-- entry: scattered
-- input { [0i32, 0i32, 0i32] [2i64, 0i64, 9i64] [5i32, 6i32, 7i32] }
-- output { [6i32, 0i32, 5i32] }
entry scattered [k] [n] (dest: *[k]i32) (is: [n]i64) (vs: [n]i32): [k]i32 = scatter dest is vs

-- ==
-- entry: scattered_pairs
-- input { [2i64, 0i64] [5i32, 6i32] }
-- output { [6i32, 0i32, 5i32] [7i32, 0i32, 6i32] }
entry scattered_pairs [n] (is: [n]i64) (vs: [n]i32): ([3]i32, [3]i32) =
  unzip (scatter (replicate 3 (0, 0)) is (map (\v -> (v, v + 1)) vs))

-- ==
-- entry: histogram
-- input { [0i64, 1i64, 1i64, 5i64] [1i32, 2i32, 3i32, 4i32] }
-- output { [1i32, 5i32, 0i32] }
entry histogram [n] (is: [n]i64) (vs: [n]i32): [3]i32 =
  reduce_by_index (replicate 3 0) (+) 0 is vs

-- ==
-- entry: positive
-- input { [1i32, -2i32, 3i32, -4i32] }
-- output { [1i32, 3i32] 2i64 }
entry positive (xs: []i32): ([]i32, i64) =
  let ys = filter (> 0) xs
  in (ys, length ys)

-- ==
-- entry: parted
-- input { [1i32, -2i32, 3i32, -4i32] }
-- output { [1i32, 3i32] [-2i32, -4i32] }
entry parted (xs: []i32): ([]i32, []i32) = partition (> 0) xs

-- ==
-- entry: multiply
-- input { [[1i32, 2i32], [3i32, 4i32]] [[5i32, 6i32], [7i32, 8i32]] }
-- output { [[19i32, 22i32], [43i32, 50i32]] }
entry multiply [n] [m] [p] (a: [n][m]i32) (b: [m][p]i32): [n][p]i32 =
  map (\row -> map (\col -> reduce (+) 0 (map2 (*) row col)) (transpose b)) a

-- ==
-- entry: table
-- input { 2i64 3i64 }
-- output { [[0i64, 1i64, 2i64], [10i64, 11i64, 12i64]] }
entry table (n: i64) (m: i64): [n][m]i64 = tabulate_2d n m (\i j -> i * 10 + j)

-- ==
-- entry: turned
-- input { [1i32, 2i32, 3i32] }
-- output { [2i32, 3i32, 1i32] [3i32, 2i32, 1i32] 1i32 3i32 }
entry turned [n] (xs: [n]i32): ([n]i32, [n]i32, i32, i32) =
  (rotate 1 xs, reverse xs, head xs, last xs)
