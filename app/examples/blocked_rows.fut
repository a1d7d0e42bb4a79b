-- Rows updated through a temporary
-- Each row is rewritten block by block; a block is computed aside and then put into its place.
-- group: Memory
-- order: 140
-- look: funmem {map (\s -> s - sums[0] + block[0] + carry) (reverse sums)}: the temporary of a block, and the copy to its place
-- look: expanded/memory {scan (+) 0 (reverse block)}: one allocation for the temporaries of all rows
-- ==
-- entry: main
-- input { 2i64 [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32]] }
-- output { [[2i32, 1i32, 7i32, 4i32], [10i32, 5i32, 19i32, 12i32]] }
-- random input { 16i64 [200][160]i32 }
-- auto output

-- | Each block becomes the running sums of its reverse, plus the last cell of the block before it.
def update [n] (size: i64) (row: *[n]i32) : *[n]i32 =
  loop row for b < n / size do
    let carry = if b == 0 then 0 else row[b * size - 1]
    let block = row[b * size : (b + 1) * size]
    let sums = scan (+) 0 (reverse block)
    let row[b * size : (b + 1) * size] = map (\s -> s - sums[0] + block[0] + carry) (reverse sums)
    in row

entry main [m] [n] (size: i64) (rows: [m][n]i32) : [m][n]i32 =
  map (\row -> update size (copy row)) rows
