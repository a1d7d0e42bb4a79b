-- FlatPack: covariances
-- Columns less their means, each multiplied with each: a product of a matrix with itself, transposed.
-- group: FlatPack
-- order: 270
-- look: typed {map (\row -> row - centre) table}: the means of the columns are a row, taken from each row
-- look: fused {dotProduct (transpose centred) centred}: the products are added up as they are made
-- ==
-- random input { [9][4]f64 }
-- input { [[1.0, 2.0], [3.0, 6.0]] }
-- output { [[1.0, 2.0], [2.0, 4.0]] }

main (table : n Of m) =
  let centre = mean table in
  let centred = map (\row -> row - centre) table
  in dotProduct (transpose centred) centred / n
