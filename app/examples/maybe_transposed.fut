-- As it is, or transposed
-- The two branches differ in the layout of their result: strides decide at run time, not a copy.
-- group: Memory
-- order: 90
-- look: funmem {if c then a else transpose a}: the branches return a block, an offset and strides
-- look: imp {map (map (\x -> x * x)) b}: the strides are variables of the loop that reads
-- ==
-- entry: main
-- input { true [[1i32, 2i32], [3i32, 4i32]] }
-- output { [[1i32, 4i32], [9i32, 16i32]] }
-- input { false [[1i32, 2i32], [3i32, 4i32]] }
-- output { [[1i32, 9i32], [4i32, 16i32]] }
-- random input { false [500][500]i32 }
-- auto output

entry main [n] (c: bool) (a: [n][n]i32) : [n][n]i32 =
  let b = if c then a else transpose a
  in map (map (\x -> x * x)) b
