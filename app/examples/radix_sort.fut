-- Radix sort
-- One pass for each bit: two scans say where every element goes, a scatter moves it there.
-- group: Operators
-- order: 60
-- look: fused {scatter (replicate n 0) (map3 target zeros before_zeros before_ones) xs}: what is left of one pass after fusion
-- look: funmem/memory {loop xs for b < u32.num_bits do step xs b}: the two arrays that the loop hands from pass to pass
-- ==
-- entry: main
-- input { [3u32, 1u32, 4u32, 1u32, 5u32, 9u32, 2u32, 6u32] }
-- output { [1u32, 1u32, 2u32, 3u32, 4u32, 5u32, 6u32, 9u32] }
-- input { empty([0]u32) }
-- output { empty([0]u32) }
-- random input { [100000]u32 }
-- auto output

-- | Zeros before ones in bit `b`, otherwise in the order in which they were.
def step [n] (xs: [n]u32) (b: i32) : [n]u32 =
  let ones = map (\x -> i64.i32 (u32.get_bit b x)) xs
  let zeros = map (1 -) ones
  let before_zeros = scan (+) 0 zeros
  let before_ones = scan (+) 0 ones
  let all_zeros = reduce (+) 0 zeros
  let target z nz no = if z == 1 then nz - 1 else all_zeros + no - 1
  in scatter (replicate n 0) (map3 target zeros before_zeros before_ones) xs

entry main [n] (xs: [n]u32) : [n]u32 =
  loop xs for b < u32.num_bits do step xs b
