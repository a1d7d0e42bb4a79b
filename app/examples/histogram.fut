-- Histogram
-- `reduce_by_index` combines everything that falls into the same bin.
-- group: Operators
-- order: 50
-- look: soa {reduce_by_index (replicate bins 0) (+) 0 (map bin xs) (replicate n 1)}: one operator, with the bins as its destination
-- look: fused {i64.i32 x % bins}: the bin's number is computed inside of it
-- look: flat {reduce_by_index (replicate bins i32.lowest) i32.max i32.lowest (map bin xs) xs}: `seghist`
-- ==
-- entry: main
-- input { 4i64 [0i32, 1i32, 5i32, 2i32, 9i32, 4i32] }
-- output { [2i32, 3i32, 1i32, 0i32] [4i32, 9i32, 2i32, -2147483648i32] }
-- random input { 100i64 [1000000]i32 }
-- auto output

-- | How many values fall into each bin, and the largest of them.
entry main [n] (bins: i64) (xs: [n]i32) : ([bins]i32, [bins]i32) =
  let bin x = i64.i32 x % bins
  let counts = reduce_by_index (replicate bins 0) (+) 0 (map bin xs) (replicate n 1)
  let largest = reduce_by_index (replicate bins i32.lowest) i32.max i32.lowest (map bin xs) xs
  in (counts, largest)
