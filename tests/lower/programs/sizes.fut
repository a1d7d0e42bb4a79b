def width: i64 = 2 + 1
def table: [width]i32 = [10, 20, 30] :> [width]i32
def squares = map (\x -> x * x) table
def evens = filter (\x -> x % 200 == 0) squares

-- ==
-- entry: constants
-- input { [1i32, 2i32, 3i32] }
-- output { [11i32, 22i32, 33i32] [400i32] }
-- input { [1i32, 2i32] }
-- error: .
entry constants (xs: [width]i32): ([]i32, []i32) = (map2 (+) xs table, copy evens)

def lookup (i: i64): i32 = table[i] + i32.i64 (length evens)

-- ==
-- entry: through_function
-- input { [0i64, 2i64] }
-- output { [11i32, 31i32] }
entry through_function [n] (is: [n]i64): [n]i32 = map lookup is

def halves [n] 't (xs: [n]t): ([n / 2]t, [n - n / 2]t) = (take (n / 2) xs, drop (n / 2) xs)

-- ==
-- entry: halved
-- input { [1i32, 2i32, 3i32] }
-- output { [1i32] [2i32, 3i32] }
entry halved [n] (xs: [n]i32): ([]i32, []i32) = halves xs

-- ==
-- entry: given_length
-- input { 2i64 [1i32, 2i32] }
-- output { 3i32 }
-- input { 3i64 [1i32, 2i32] }
-- error: .
entry given_length (n: i64) (xs: [n]i32): i32 = reduce (+) 0 xs

-- ==
-- entry: existential
-- input { [1i32, 5i32, 3i32] }
-- output { [6i32, 4i32] [0i64, 1i64] }
entry existential (xs: []i32): ([]i32, []i64) =
  let big = filter (> 2) xs
  let more = map (+ 1) big
  in (more, indices more)

-- ==
-- entry: bound_size
-- input { [1i32, 5i32, 3i32] }
-- output { 2i64 }
entry bound_size (xs: []i32): i64 =
  let [k] (ys: [k]i32) = filter (> 2) xs
  in k

def dup [n] 't (xs: [n]t): [n + n]t = xs ++ xs

-- ==
-- entry: size_arithmetic
-- input { [1i32, 2i32] }
-- output { [1i32, 2i32, 1i32, 2i32] [2i32, 4i32, 2i32, 4i32] }
entry size_arithmetic [n] (xs: [n]i32): ([]i32, []i32) =
  let ys = dup xs
  in (ys, map2 (+) ys (dup xs))

-- ==
-- entry: rows_of_sizes
-- input { 2i32 3i64 }
-- output { [[2i32, 2i32, 2i32], [3i32, 3i32, 3i32]] }
entry rows_of_sizes (k: i32) (n: i64): [2][n]i32 = map (\i -> replicate n (k + i)) [0, 1]

-- ==
-- entry: grows_by_what_is_bound_inside
-- input { 3i32 }
-- output { [0i32, 1i32, 1i32, 2i32, 2i32, 2i32] }
-- input { 0i32 }
-- output { empty([0]i32) }
entry grows_by_what_is_bound_inside (n: i32): []i32 =
  loop acc = [] for i < n do
    let m = i + 1
    in concat acc (replicate (i64.i32 m) i)

-- Functions that stay polymorphic until they are called, in sizes.
def matching 't [n] (p: t -> bool) (xs: [n]t): i64 = i64.sum (map (\x -> i64.bool (p x)) xs)
def before 't [n] (p: t -> bool) (xs: [n]t): [matching p xs]t = take (matching p xs) xs
def after 't [n] (p: t -> bool) (xs: [n]t): [n - matching p xs]t = drop (matching p xs) xs
def both 't 'u [n] (p: t -> bool) (ts: [n]t) (us: [n]u): ([matching p ts]t, [matching p ts]u) = (take (matching p ts) ts, take (matching p ts) us)
def paired 't [n] (p: t -> bool) (xs: [n]t) (ys: [matching p xs]i32): [matching p xs](t, i32) = zip (take (matching p xs) xs) ys

-- ==
-- entry: leading
-- input { [1i32, -2i32, 3i32] }
-- output { [1i32, -2i32] }
entry leading [n] (xs: [n]i32): []i32 = before (> 0) xs

-- ==
-- entry: trailing
-- input { [1i32, -2i32, 3i32] }
-- output { [3i32] }
entry trailing [n] (xs: [n]i32): []i32 = after (\x -> x > 0) xs |> id

-- ==
-- entry: rows
-- input { [[1i32, 2i32], [0i32, 1i32]] }
-- output { [[1i32, 2i32]] [true] }
entry rows [n][m] (xss: [n][m]i32): ([][m]i32, []bool) =
  let full [k] (xs: [k]i32) = all (> 0) xs
  in both full xss (map full xss)

-- ==
-- entry: twice
-- input { [1i32, 2i32, 0i32] }
-- output { 3i64 [1i32, 2i32] [11i32, 12i32] }
entry twice (xs: []i32): (i64, []i32, []i32) =
  let ys = before (> 0) xs
  let positive (x: i32) = x > 0
  let zs = paired positive xs (replicate (matching positive xs) 10 :> [matching positive xs]i32)
  in (length ys + length (before id [true]), ys, map (\(a, b) -> a + b) zs)

def positives (xs: []i32): i64 = i64.sum (map (\x -> i64.bool (x > 0)) xs)
def pairs (xs: []i32): [positives xs](i32, i32) =
  zip (take (positives xs) xs) (take (positives xs) xs)

-- ==
-- entry: two_arrays
-- input { [1i32, 2i32, 0i32] }
-- output { [2i32, 4i32] }
entry two_arrays (xs: []i32): []i32 =
  let ys = pairs xs
  in map (\(a, b) -> a + b) ys

module type counter = {
  type t
  val count [n]: (xs: [n]t) -> i64
  val firsts [n]: (xs: [n]t) -> [count xs]t
}

module mk_counter (P: { type t val ok: t -> bool }): counter with t = P.t = {
  type t = P.t
  def count [n] (xs: [n]t): i64 = matching P.ok xs
  def firsts [n] (xs: [n]t): [count xs]t = take (count xs) xs
}

module positive = mk_counter { type t = i32 def ok = (> 0i32) }

-- ==
-- entry: of_module
-- input { [1i32, -1i32, 2i32] }
-- output { [1i32, -1i32] }
entry of_module (xs: []i32): []i32 = positive.firsts xs

def half 't [n] (xs: [n]t): i64 = n / 2
def parted 't [n] (xs: [n]t): ([half xs]t, [n - half xs]t) = (take (half xs) xs, drop (half xs) xs)

-- ==
-- entry: in_turns
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] }
-- output { [1i32] 3i32 }
entry in_turns (xs: []i32): ([]i32, i32) =
  let first = loop ys = xs for _i < 3 do (parted ys).0
  in (first, parted (zip xs (map bool.i32 xs)) |> (.0) |> map (.0) |> take 2 |> i32.sum)
