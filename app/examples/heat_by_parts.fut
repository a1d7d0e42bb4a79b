-- Heat on a plate, put together from corners, edges and interior
-- Every part is computed without a test for the edge; concatenation and transposition join them.
-- group: Memory
-- order: 86
-- look: funmem {left ++ transpose inner ++ right}: a block for each part, and copies from one to the next
-- look: shortcircuit/memory {top ++ middle ++ bottom}: one block, in which every part is where it belongs
-- ==
-- entry: main
-- input { [[4f32, 8f32, 4f32], [0f32, 4f32, 8f32], [4f32, 0f32, 4f32]] }
-- output { [[4f32, 5f32, 6f32], [3f32, 4f32, 5f32], [2f32, 3f32, 4f32]] }
-- random input { [200][300]f32 }
-- auto output

entry main [n] [m] (t: [n][m]f32) : [][]f32 =
  let cell i j =
    let up = t[i64.max 0 (i - 1), j]
    let down = t[i64.min (n - 1) (i + 1), j]
    let left = t[i, i64.max 0 (j - 1)]
    let right = t[i, i64.min (m - 1) (j + 1)]
    in (up + down + left + right) / 4
  let top = [tabulate m (\j -> cell 0 j)]
  let bottom = [tabulate m (\j -> cell (n - 1) j)]
  let left = [tabulate (n - 2) (\i -> cell (i + 1) 0)]
  let right = [tabulate (n - 2) (\i -> cell (i + 1) (m - 1))]
  let inner = tabulate_2d (n - 2) (m - 2) (\i j -> cell (i + 1) (j + 1))
  let middle = transpose (left ++ transpose inner ++ right :> [m][n - 2]f32)
  in top ++ middle ++ bottom
