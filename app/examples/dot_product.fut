-- Dot product
-- A map and a reduction that become one loop: the products are never in memory.
-- group: Fusion
-- order: 10
-- look: fused {map2 (*) xs ys}: `map2` has become part of the reduction
-- look: funmem {reduce (+) 0 products}: no memory is allocated for the products
-- look: c {reduce (+) 0 products}: one loop, split over the cores
-- ==
-- entry: main
-- input { [1.0f32, 2.0f32, 3.0f32] [4.0f32, 5.0f32, 6.0f32] }
-- output { 32.0f32 }
-- random input { [1000000]f32 [1000000]f32 }
-- auto output

entry main [n] (xs: [n]f32) (ys: [n]f32) : f32 =
  let products = map2 (*) xs ys
  in reduce (+) 0 products
