-- Three maps, one after another
-- Each part of a concatenation is computed right where it ends up: nothing is copied.
-- group: Memory
-- order: 80
-- look: fused {map (\x -> x * x) xs}: two of the three maps read the same array, so they are one
-- look: funmem/memory {map (+ 1) xs ++ map (* 2) ys ++ map (\x -> x * x) xs}: every part has a block of its own, from which it would be copied
-- look: shortcircuit/proof {map (+ 1) xs ++ map (* 2) ys ++ map (\x -> x * x) xs}: one block is left, and a proof that this is safe
-- ==
-- entry: main
-- input { [1i32, 2i32, 3i32] [10i32, 20i32] }
-- output { [2i32, 3i32, 4i32, 20i32, 40i32, 1i32, 4i32, 9i32] }
-- random input { [100000]i32 [50000]i32 }
-- auto output

entry main [n] [m] (xs: [n]i32) (ys: [m]i32) : []i32 =
  map (+ 1) xs ++ map (* 2) ys ++ map (\x -> x * x) xs
