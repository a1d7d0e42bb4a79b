-- Reading: views of one dimension by several, forwards, backwards, overlapping, or not at all.

-- ==
-- entry: read_2d
-- input { [0i32, 1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32] 1i64 2i64 3i64 3i64 1i64 }
-- output { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] }
-- input { [0i32, 1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32] 7i64 2i64 -4i64 2i64 -1i64 }
-- output { [[7i32, 6i32], [3i32, 2i32]] }
-- input { [5i32, 6i32, 7i32] 1i64 3i64 0i64 2i64 1i64 }
-- output { [[6i32, 7i32], [6i32, 7i32], [6i32, 7i32]] }
-- input { [5i32] 0i64 4i64 0i64 1i64 99i64 }
-- output { [[5i32], [5i32], [5i32], [5i32]] }
-- input { [5i32] 77i64 0i64 1i64 2i64 1i64 }
-- output { empty([0][2]i32) }
-- input { empty([0]i32) -3i64 2i64 1i64 0i64 1i64 }
-- output { empty([2][0]i32) }
-- input { empty([0]i32) 0i64 1i64 1i64 1i64 1i64 }
-- error: Slice {0 \+ {\(1 : 1\), \(1 : 1\)}} out of bounds for array of shape \[0\].
-- input { [1i32, 2i32, 3i32] 0i64 2i64 2i64 2i64 1i64 }
-- error: Slice {0 \+ {\(2 : 2\), \(2 : 1\)}} out of bounds for array of shape \[3\].
-- input { [1i32, 2i32, 3i32] -1i64 2i64 1i64 2i64 1i64 }
-- error: Slice {-1 \+ {\(2 : 1\), \(2 : 1\)}} out of bounds
-- input { [1i32, 2i32, 3i32] 2i64 2i64 -1i64 2i64 -2i64 }
-- error: out of bounds
-- input { [1i32, 2i32, 3i32] 2i64 2i64 1i64 3i64 -1i64 }
-- error: out of bounds
-- input { [1i32, 2i32, 3i32] 0i64 -1i64 1i64 2i64 1i64 }
-- error: Slice {0 \+ {\(-1 : 1\), \(2 : 1\)}} has a negative size.
-- input { [1i32, 2i32, 3i32] 0i64 0i64 1i64 -2i64 1i64 }
-- error: has a negative size.
-- input { [1i32, 2i32] 0i64 3i64 4611686018427387904i64 3i64 4611686018427387904i64 }
-- error: out of bounds
-- input { [1i32, 2i32] 0i64 5i64 4611686018427387904i64 1i64 1i64 }
-- error: out of bounds
-- input { [1i32, 2i32] 9223372036854775807i64 2i64 1i64 1i64 1i64 }
-- error: out of bounds
-- input { [1i32, 2i32] 1i64 1i64 -9223372036854775808i64 2i64 -1i64 }
-- output { [[2i32, 1i32]] }
entry read_2d [n] (xs: [n]i32) (offset: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64) : [][]i32 =
  intrinsics.flat_index_2d xs offset n1 s1 n2 s2

-- The extents of a slice of ten by ten by ten: what fits, and what is one cell too long.
-- ==
-- entry: corners_3d
-- input { 1001i64 1i64 10i64 100i64 10i64 10i64 10i64 1i64 }
-- output { 1i64 1000i64 }
-- input { 1000i64 1i64 10i64 100i64 10i64 10i64 10i64 1i64 }
-- error: out of bounds for array of shape \[1000\]
-- input { 28i64 0i64 10i64 1i64 10i64 1i64 10i64 1i64 }
-- output { 0i64 27i64 }
-- input { 27i64 0i64 10i64 1i64 10i64 1i64 10i64 1i64 }
-- error: out of bounds
-- input { 29i64 2i64 10i64 1i64 10i64 1i64 10i64 1i64 }
-- error: out of bounds
-- input { 30i64 2i64 10i64 1i64 10i64 1i64 10i64 1i64 }
-- output { 2i64 29i64 }
-- input { 100i64 0i64 10i64 -20i64 10i64 20i64 10i64 1i64 }
-- error: out of bounds
-- input { 370i64 180i64 10i64 -20i64 10i64 20i64 10i64 1i64 }
-- output { 180i64 189i64 }
-- input { 371i64 181i64 10i64 -20i64 10i64 20i64 10i64 1i64 }
-- output { 181i64 190i64 }
-- input { 370i64 181i64 10i64 -20i64 10i64 20i64 10i64 1i64 }
-- error: out of bounds
-- input { 369i64 180i64 10i64 -20i64 10i64 20i64 10i64 1i64 }
-- error: out of bounds
-- input { 370i64 179i64 10i64 -20i64 10i64 20i64 10i64 1i64 }
-- error: out of bounds
entry corners_3d (n: i64) (offset: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64) (n3: i64) (s3: i64)
               : (i64, i64) =
  let cells = intrinsics.flat_index_3d (iota n) offset n1 s1 n2 s2 n3 s3
  in (cells[0, 0, 0], cells[n1 - 1, n2 - 1, n3 - 1])

-- ==
-- entry: read_4d
-- input { 20i64 }
-- output { [[[[2i64, 3i64], [6i64, 7i64]], [[4i64, 5i64], [8i64, 9i64]]],
--           [[[10i64, 11i64], [14i64, 15i64]], [[12i64, 13i64], [16i64, 17i64]]]] }
-- input { 17i64 }
-- error: Slice {2 \+ {\(2 : 8\), \(2 : 2\), \(2 : 4\), \(2 : 1\)}} out of bounds
entry read_4d (n: i64) = intrinsics.flat_index_4d (iota n) 2 2 8 2 2 2 4 2 1

-- Writing: every cell once.

-- ==
-- entry: write_2d
-- input { [0i32, 0i32, 0i32, 0i32, 0i32, 0i32] 1i64 3i64 1i64 [[1i32, 2i32], [3i32, 4i32]] }
-- output { [0i32, 1i32, 2i32, 0i32, 3i32, 4i32] }
-- input { [0i32, 0i32, 0i32, 0i32, 0i32, 0i32] 5i64 -1i64 -3i64 [[1i32, 2i32], [3i32, 4i32]] }
-- output { [0i32, 4i32, 2i32, 0i32, 3i32, 1i32] }
-- input { [0i32, 0i32, 0i32, 0i32, 0i32, 0i32] 0i64 2i64 3i64 [[1i32, 2i32], [3i32, 4i32]] }
-- output { [1i32, 0i32, 3i32, 2i32, 0i32, 4i32] }
-- input { [0i32, 0i32] 0i64 0i64 1i64 [[1i32, 2i32]] }
-- output { [1i32, 2i32] }
-- input { [0i32, 0i32] 0i64 0i64 1i64 [[1i32, 2i32], [3i32, 4i32]] }
-- error: Update of {0 \+ {\(2 : 0\), \(2 : 1\)}} would write a cell twice.
-- input { [0i32, 0i32, 0i32] 0i64 1i64 1i64 [[1i32, 2i32], [3i32, 4i32]] }
-- error: Update of {0 \+ {\(2 : 1\), \(2 : 1\)}} would write a cell twice.
-- input { [0i32, 0i32, 0i32] 1i64 1i64 -1i64 [[1i32, 2i32], [3i32, 4i32]] }
-- error: would write a cell twice.
-- input { [0i32, 0i32, 0i32] 0i64 2i64 1i64 [[1i32, 2i32], [3i32, 4i32]] }
-- error: Slice {0 \+ {\(2 : 2\), \(2 : 1\)}} out of bounds for array of shape \[3\].
-- input { [7i32] 55i64 0i64 0i64 empty([3][0]i32) }
-- output { [7i32] }
entry write_2d [n] [k] [l] (xs: *[n]i32) (offset: i64) (s1: i64) (s2: i64) (values: [k][l]i32) =
  intrinsics.flat_update_2d xs offset s1 s2 values

-- ==
-- entry: write_3d
-- input { 12i64 1i64 6i64 2i64 1i64 }
-- output { [-1i64, 0i64, 1i64, 2i64, 3i64, -1i64, -1i64, 4i64, 5i64, 6i64, 7i64, -1i64] }
-- input { 10i64 1i64 6i64 2i64 1i64 }
-- error: out of bounds for array of shape \[10\]
-- input { 12i64 1i64 3i64 2i64 1i64 }
-- error: Update of {1 \+ {\(2 : 3\), \(2 : 2\), \(2 : 1\)}} would write a cell twice.
entry write_3d (n: i64) (offset: i64) (s1: i64) (s2: i64) (s3: i64) =
  let values = tabulate_3d 2 2 2 (\i j k -> i * 4 + j * 2 + k)
  in intrinsics.flat_update_3d (replicate n (-1)) offset s1 s2 s3 values

-- ==
-- entry: write_4d
-- input { 20i64 4i64 }
-- output { [-1i64, -1i64, 0i64, 1i64, 4i64, 5i64, 2i64, 3i64, 6i64, 7i64, 8i64, 9i64, 12i64, 13i64,
--           10i64, 11i64, 14i64, 15i64, -1i64, -1i64] }
-- input { 20i64 2i64 }
-- error: would write a cell twice
-- input { 17i64 4i64 }
-- error: out of bounds
entry write_4d (n: i64) (s: i64) =
  let values = iota (2 * 2 * 2 * 2) |> unflatten |> unflatten |> unflatten
  in intrinsics.flat_update_4d (replicate n (-1)) 2 8 2 s 1 values

-- Elements that are no scalars: tuples, records, rows, and units.

-- ==
-- entry: of_pairs
-- input { [1i32, 2i32, 3i32, 4i32] [true, false, false, true] }
-- output { [[3i32, 4i32], [1i32, 2i32]] [[false, true], [true, false]] }
entry of_pairs [n] (xs: [n]i32) (ks: [n]bool) : ([][]i32, [][]bool) =
  let part = intrinsics.flat_index_2d (zip xs ks) 2 2 (-2) 2 1
  in unzip (map unzip part)

-- ==
-- entry: of_records
-- input { [1i32, 2i32, 3i32, 4i32] [[1i64, 2i64], [3i64, 4i64], [5i64, 6i64], [7i64, 8i64]] }
-- output { [4i32, 2i32, 3i32, 1i32]
--          [[7i64, 8i64], [3i64, 4i64], [5i64, 6i64], [1i64, 2i64]] }
entry of_records [n] (xs: [n]i32) (rows: [n][2]i64) : ([n]i32, [n][2]i64) =
  let records = map2 (\x row -> {x, row}) xs rows
  let changed = intrinsics.flat_update_2d (copy records) 0 3 1 [[records[3]], [records[0]]]
  in (map (.x) changed, map (.row) changed)

-- ==
-- entry: of_rows
-- input { [[1i32, 2i32], [3i32, 4i32], [5i32, 6i32]] }
-- output { [[[1i32, 2i32], [3i32, 4i32]], [[3i32, 4i32], [5i32, 6i32]]]
--          [[9i32, 9i32], [3i32, 4i32], [8i32, 8i32]] }
entry of_rows [n] (xss: *[n][2]i32) : ([2][2][2]i32, *[n][2]i32) =
  let part = copy (intrinsics.flat_index_2d xss 0 2 1 2 1 :> [2][2][2]i32)
  in (part, intrinsics.flat_update_2d xss 0 1 2 [[[9, 9], [8, 8]]])

-- ==
-- entry: of_units
-- input { 4i64 }
-- output { 2i64 3i64 }
-- input { 3i64 }
-- error: out of bounds
entry of_units (n: i64) : (i64, i64) =
  let units = intrinsics.flat_index_2d (replicate n ()) 0 2 1 3 1
  in (length units, length units[0])

-- ==
-- entry: regular_rows
-- input { [[1i32, 2i32], [3i32, 4i32]] [[1i32], [2i32]] }
-- error: Value of shape \[1\]\[2\]\[1\] cannot match shape
entry regular_rows [n] [m] [k] (xss: *[n][m]i32) (rows: [2][k]i32) =
  intrinsics.flat_update_2d xss 0 1 1 ([rows] :> [1][2][m]i32)

-- In other code: as a value, in a map, and with a branch around.

-- ==
-- entry: as_value
-- input { [1i32, 2i32, 3i32, 4i32] }
-- output { [[1i32, 2i32], [3i32, 4i32]] [[1i32, 3i32], [2i32, 4i32]] }
entry as_value (xs: [4]i32) : ([2][2]i32, [2][2]i32) =
  let cut s1 s2 = intrinsics.flat_index_2d xs 0 2 s1 2 s2
  in (cut 2 1 :> [2][2]i32, cut 1 2 :> [2][2]i32)

-- ==
-- entry: in_map
-- input { [1i64, 2i64, 4i64] [0i64, 1i64, 2i64, 3i64, 4i64, 5i64] }
-- output { [0i64, 1i64, 6i64] }
-- input { [1i64, 7i64] [0i64, 1i64, 2i64, 3i64, 4i64, 5i64] }
-- error: out of bounds
entry in_map (ns: []i64) (xs: []i64) : []i64 =
  map (\n -> i64.sum (flatten (intrinsics.flat_index_2d xs 0 n 1 1 1))) ns

-- ==
-- entry: updates_in_map
-- input { 3i64 [0i64, 1i64, 2i64, 3i64, 4i64] }
-- output { [[0i64, 0i64, 2i64, 0i64, 4i64], [0i64, 1i64, 2i64, 1i64, 4i64],
--           [0i64, 2i64, 2i64, 2i64, 4i64]] }
entry updates_in_map [n] (k: i64) (xs: [n]i64) : [k][n]i64 =
  map (\i -> intrinsics.flat_update_2d (copy xs) 1 2 1 [[i], [i]]) (iota k)

-- ==
-- entry: guarded
-- input { [1i32, 2i32, 3i32] 2i64 }
-- output { [[2i32], [3i32]] }
-- input { [1i32, 2i32, 3i32] 3i64 }
-- output { empty([0][1]i32) }
entry guarded [n] (xs: [n]i32) (offset: i64) : [][]i32 =
  if offset < n then intrinsics.flat_index_2d xs (offset - 1) 2 1 1 1
  else intrinsics.flat_index_2d xs offset 0 1 1 1

-- A program's own definitions of these names win.
-- ==
-- entry: own_names
-- input { [1i32, 2i32, 3i32] }
-- output { 6i32 [1i32, 2i32] }
def lmad_slice_2d (xs: []i32) : i32 = i32.sum xs

def windows (xs: [3]i32) : [2]i32 = xs[0:2]

entry own_names (xs: [3]i32) : (i32, [2]i32) = (lmad_slice_2d xs, windows xs)
