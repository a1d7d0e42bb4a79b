-- Sizes that come from a function that is an argument, of what is projected, updated, applied.

def count (p: i64 -> i64) : i64 = p 1
def part p = (1i32, replicate (count p) 2i32)
def named p = {number = 1i32, inner = (1i32, replicate (count p) 2i32)}
def first (r: {a: i64, b: i64}) = (1i32, replicate r.a 2i32)
def more (k: i64) = (1i32, replicate (k + 1) 2i32)
def square (k: i64) = (replicate k 1i32, replicate (k * k) 2i32)
def apply '^a '^b (f: a -> b) (x: a) : b = f x
def returned (k: i64) = (part (+ k)).1

entry main (k: i64) =
  let twice = apply (\n -> (iota n, replicate (n + 1) 2i32)) k
  in [ length (part (+ k)).1
     , length (part (\x -> x + k)).1
     , length (named (+ k)).inner.1
     , length (first {a = k + 1, b = 7}).1
     , length ((part (+ k)) with 0 = 5).1
     , length {x = (part (+ k)).1}.x
     , length (returned k)
     , length (apply part (+ k)).1
     , length (apply more k).1
     , length (apply square (k + 1)).1
     , length (apply (apply more) k).1
     , length twice.0 + length twice.1
     , i64.i32 (reduce (+) 0 (part (+ k)).1)
     , length ((part (+ k)).1 :> [5]i32)
     ]

entry map_of_results (ks: []i64) = map (\k -> length (part (+ k)).1 + i64.i32 (returned k)[0]) ks

-- ==
-- entry: main
-- input { 4i64 }
-- output { [5i64, 5i64, 5i64, 5i64, 5i64, 5i64, 5i64, 5i64, 5i64, 25i64, 5i64, 9i64, 10i64, 5i64] }

-- ==
-- entry: map_of_results
-- input { [0i64, 3i64] }
-- output { [3i64, 6i64] }
