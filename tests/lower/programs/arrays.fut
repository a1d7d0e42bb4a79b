-- ==
-- entry: element
-- input { [1i32, 2i32, 3i32] 1i32 }
-- output { 2i32 }
-- input { [1i32, 2i32, 3i32] 7i32 }
-- error: Index \[7\] out of bounds for array of shape \[3\].
-- input { [1i32, 2i32, 3i32] -1i32 }
-- error: Index \[-1\] out of bounds for array of shape \[3\].
entry element (xs: []i32) (i: i32): i32 = xs[i]

-- ==
-- entry: row
-- input { [[1i32, 2i32], [3i32, 4i32]] 1i8 }
-- output { [3i32, 4i32] }
-- input { [[1i32, 2i32], [3i32, 4i32]] 2i8 }
-- error: Index \[2\] out of bounds for array of shape \[2\]\[2\].
entry row (xss: [][]i32) (i: i8): []i32 = xss[i]

-- ==
-- entry: column
-- input { [[1i32, 2i32], [3i32, 4i32]] 1i64 }
-- output { [2i32, 4i32] }
entry column [n] [m] (xss: [n][m]i32) (j: i64): [n]i32 = xss[:, j]

-- ==
-- entry: piece
-- input { [1i32, 2i32, 3i32, 4i32, 5i32] 1i64 3i64 }
-- output { [2i32, 3i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32] 1i64 1i64 }
-- output { empty([0]i32) }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32] 1i64 0i64 }
-- error: Index \[1:0\] out of bounds for array of shape \[5\].
-- input { [1i32, 2i32, 3i32, 4i32, 5i32] 0i64 6i64 }
-- error: Index \[0:6\] out of bounds
entry piece (xs: []i32) (i: i64) (j: i64): []i32 = xs[i:j]

-- ==
-- entry: steps
-- input { [0i32, 1i32, 2i32, 3i32, 4i32, 5i32] 0i64 6i64 2i64 }
-- output { [0i32, 2i32, 4i32] }
-- input { [0i32, 1i32, 2i32, 3i32, 4i32, 5i32] 5i64 -1i64 -2i64 }
-- output { [5i32, 3i32, 1i32] }
-- input { [0i32, 1i32, 2i32, 3i32, 4i32, 5i32] 1i64 6i64 2i64 }
-- output { [1i32, 3i32, 5i32] }
-- input { [0i32, 1i32, 2i32, 3i32, 4i32, 5i32] 0i64 1i64 0i64 }
-- error: out of bounds
-- input { [0i32, 1i32, 2i32, 3i32, 4i32, 5i32] 0i64 8i64 2i64 }
-- error: out of bounds
entry steps (xs: []i32) (i: i64) (j: i64) (s: i64): []i32 = xs[i:j:s]

-- ==
-- entry: backwards
-- input { [1i32, 2i32, 3i32] }
-- output { [3i32, 2i32, 1i32] [1i32, 3i32] [3i32, 1i32] }
entry backwards [n] (xs: [n]i32): ([n]i32, []i32, []i32) = (xs[::-1], xs[::2], xs[::-2])

-- ==
-- entry: assign
-- input { [1i32, 2i32, 3i32, 4i32] [9i32, 8i32] }
-- output { [1i32, 9i32, 8i32, 4i32] }
entry assign (xs: *[]i32) (ys: [2]i32): []i32 = xs with [1:3] = ys

-- ==
-- entry: assign_strided
-- input { [0i32, 0i32, 0i32, 0i32, 0i32] 1i32 }
-- output { [1i32, 0i32, 1i32, 0i32, 1i32] }
entry assign_strided (xs: *[5]i32) (x: i32): []i32 = xs with [0:5:2] = replicate 3 x

-- ==
-- entry: assign_row
-- input { [[1i32, 2i32], [3i32, 4i32]] [7i32, 8i32] }
-- output { [[1i32, 2i32], [7i32, 8i32]] }
entry assign_row [n] [m] (xss: *[n][m]i32) (ys: [m]i32): [n][m]i32 = xss with [1] = ys

-- ==
-- entry: ranges
-- input { 2i32 9i32 }
-- output { [2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] [2i32, 4i32, 6i32, 8i32] [9i32, 6i32, 3i32] }
-- input { 5i32 2i32 }
-- error: Range 5..<2 is invalid.
entry ranges (a: i32) (b: i32): ([]i32, []i32, []i32) = (a..<b, a..(a + 2)...b, b..(b - 3)..>a)

-- ==
-- entry: counting
-- input { 3i64 }
-- output { [0i64, 1i64, 2i64] [7i32, 7i32, 7i32] }
-- input { -2i64 }
-- error: Range 0..1..<-2 is invalid.
entry counting (n: i64): ([n]i64, [n]i32) = (iota n, replicate n 7)

-- ==
-- entry: matrix
-- input { 1i32 2i32 }
-- output { [[1i32, 2i32], [2i32, 1i32]] }
entry matrix (a: i32) (b: i32): [2][2]i32 = [[a, b], [b, a]]

-- ==
-- entry: joined
-- input { [[1i32], [2i32]] [[3i32]] }
-- output { [[1i32], [2i32], [3i32]] }
entry joined [n] [m] [k] (a: [n][k]i32) (b: [m][k]i32): [][k]i32 = a ++ b

-- ==
-- entry: shapes
-- input { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] }
-- output { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32] [[1i32, 4i32], [2i32, 5i32], [3i32, 6i32]] [[1i32, 2i32], [3i32, 4i32], [5i32, 6i32]] }
entry shapes (a: [2][3]i32): ([]i32, [][]i32, [][]i32) =
  (flatten a, transpose a, unflatten (flatten a :> [3 * 2]i32))

-- ==
-- entry: coerced
-- input { [1i32, 2i32] [3i32, 4i32] }
-- output { [4i32, 6i32] }
-- input { [1i32, 2i32] [3i32] }
-- error: cannot match
entry coerced [n] [m] (xs: [n]i32) (ys: [m]i32): [n]i32 = map2 (+) xs (ys :> [n]i32)

-- ==
-- entry: equal
-- input { [1i32, 2i32] [1i32, 2i32] }
-- output { true false }
-- input { [1i32, 2i32] [1i32, 3i32] }
-- output { false false }
entry equal [n] (xs: [n]i32) (ys: [n]i32): (bool, bool) = (xs == ys, (xs[0], true) == (ys[0], false))
