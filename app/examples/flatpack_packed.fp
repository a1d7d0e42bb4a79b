-- FlatPack: what no loops can walk
-- The columns of a matrix, one behind the other: no list of loops over the matrix gives that, so its
-- values are packed anew. The remark has the reason and the bytes.
-- group: FlatPack
-- order: 260
-- look: typed {Join (transpose matrix)}: two axes become one, but they do not lie behind each other
-- look: funmem/memory(matrix) {Join (transpose matrix)}: a block of its own for the packed values
-- ==
-- random input { [5][7]f64 }
-- input { [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] }
-- output { [-3.0, 2.0, -3.0, 2.0, -3.0] }

-- The differences between neighbours, read down the columns.
main (matrix : n Of m) =
  let line = Join (transpose matrix)
  in init line - tail line
