-- Matrix multiplication
-- Two maps around a reduction: how much of the parallelism is worth using depends on the sizes.
-- group: Parallelism
-- order: 30
-- look: fused {reduce (+) 0 (map2 (*) row col)}: the inner products are one reduction, whose operands are never in memory
-- look: flat/versions {reduce (+) 0 (map2 (*) row col)}: versions for large and for small matrices, under a threshold
-- look: funmem/memory(b) {map2 (*) row col}: `transpose` costs nothing, `b` is read down its columns
-- ==
-- entry: main
-- input { [[1.0f32, 2.0f32], [3.0f32, 4.0f32], [5.0f32, 6.0f32]] [[1.0f32, 0.0f32, 2.0f32], [0.0f32, 1.0f32, 3.0f32]] }
-- output { [[1.0f32, 2.0f32, 8.0f32], [3.0f32, 4.0f32, 18.0f32], [5.0f32, 6.0f32, 28.0f32]] }
-- random input { [200][300]f32 [300][100]f32 }
-- auto output

entry main [n] [m] [k] (a: [n][m]f32) (b: [m][k]f32) : [n][k]f32 =
  map (\row -> map (\col -> reduce (+) 0 (map2 (*) row col)) (transpose b)) a
