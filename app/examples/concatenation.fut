-- Three maps, one after another
-- The parts of a concatenation are computed on their own and then moved to their places.
-- group: Memory
-- order: 80
-- look: soa: one concatenation of three parts
-- look: funmem: a block for the whole, and a copy for each part
-- ==
-- entry: main
-- input { [1i32, 2i32, 3i32] [10i32, 20i32] }
-- output { [2i32, 3i32, 4i32, 20i32, 40i32, 1i32, 4i32, 9i32] }
-- random input { [100000]i32 [50000]i32 }
-- auto output

entry main [n] [m] (xs: [n]i32) (ys: [m]i32): []i32 =
  map (+ 1) xs ++ map (* 2) ys ++ map (\x -> x * x) xs
