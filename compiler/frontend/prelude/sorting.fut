-- Sorting by the bits of elements, the lowest first, four in a round. Chunks are sorted by four bits,
-- each on its own; counts of each value in each chunk say where the elements of all chunks go.

local def sort_chunk : i64 = 512

-- | In order of two bits, otherwise in their order; one number counts all four values.
local def sort_two_bits [n] 't (two: i64 -> t -> i64) (xs: [n]t) : [n]t =
  let values = map2 two (iota n) xs
  let counts = scan (+) 0u64 (map (\v -> 1 << u64.i64 (16 * v)) values)
  let before = counts[n - 1] * 0x1_0001_0001_0000
  let place v c = i64.u64 (((before + c) >> u64.i64 (16 * v)) & 0xffff) - 1
  in scatter (replicate n xs[0]) (map2 place values counts) xs

-- | How many elements have lesser values; they are in order of them.
local def sort_before [n] 't (value: i64 -> t -> i64) (xs: [n]t) (least: i64) : i64 =
  let halve (low, high) =
    let middle = (low + high) / 2
    in if low == high then (low, high)
       else if value middle xs[middle] < least then (middle + 1, high) else (low, middle)
  in (loop between = (0, n) for _i < 10i32 do halve between).0

-- | In order of four bits, otherwise in their order. What is behind `n` elements stays there.
local def sort_four_bits [m] 't (n: i64) (two: i32 -> t -> i64) (low: i32)
                                (xss: [m][sort_chunk]t) : [m][sort_chunk]t =
  let of_two k j i x = if j * sort_chunk + i < n then two k x else 3
  let of_four j i x = of_two low j i x + 4 * of_two (low + 2) j i x
  let in_chunk j xs =
    let sorted = loop xs for k < 2 do sort_two_bits (of_two (low + 2 * k) j) xs
    let firsts = tabulate 16 (sort_before (of_four j) sorted)
    in (sorted, map i32.i64 firsts,
        tabulate 16 (\v -> (if v == 15 then sort_chunk else firsts[v + 1]) - firsts[v]))
  let (sorted, firsts, counts) = unzip3 (map2 in_chunk (iota m) xss)
  let counted = flatten (transpose counts)
  let before = unflatten (map2 (-) (scan (+) 0 counted) counted)
  let ys = flatten sorted
  let place k y =
    let (j, i) = (k / sort_chunk, k % sort_chunk)
    let v = of_four j i y
    in before[v, j] + i - i64.i32 firsts[j, v]
  let places = map2 place (iota (m * sort_chunk)) ys
  in unflatten (scatter (replicate (m * sort_chunk) ys[0]) places ys)

-- | In order of `num_bits` bits, the last one most significant; equal ones as they were.
def radix_sort [n] 't (num_bits: i32) (get_bit: i32 -> t -> i32) (xs: [n]t) : [n]t =
  if n == 0 then xs
  else let bit k x = if k < num_bits then i64.i32 (get_bit k x) else 0
       let two k x = bit k x + 2 * bit (k + 1) x
       let m = (n + sort_chunk - 1) / sort_chunk
       let chunks = tabulate_2d m sort_chunk (\j i -> xs[i64.min (j * sort_chunk + i) (n - 1)])
       in take n (flatten (loop xss = chunks for k < (num_bits + 3) / 4 do
                             sort_four_bits n two (4 * k) xss))

-- | As `radix_sort`, of numbers with a sign bit.
def radix_sort_int [n] 't (num_bits: i32) (get_bit: i32 -> t -> i32) (xs: [n]t) : [n]t =
  radix_sort num_bits (\k x -> get_bit k x ^ i32.bool (k == num_bits - 1)) xs

-- | As `radix_sort`, of floats: -0 before 0, NaN before or behind all others by its sign bit.
def radix_sort_float [n] 't (num_bits: i32) (get_bit: i32 -> t -> i32) (xs: [n]t) : [n]t =
  let flipped k x = if k == num_bits - 1 then 1 else get_bit (num_bits - 1) x
  in radix_sort num_bits (\k x -> get_bit k x ^ flipped k x) xs
