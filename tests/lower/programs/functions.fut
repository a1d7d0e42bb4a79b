def twice 't (f: t -> t) (x: t): t = f (f x)

-- ==
-- entry: higher_order
-- input { 3i32 10i32 }
-- output { 23i32 7.0 }
entry higher_order (x: i32) (k: i32): (i32, f64) = (twice (\y -> y + k) x, twice (+ 1.5) 4.0)

-- ==
-- entry: composed
-- input { 3i32 }
-- output { 8i32 7i32 }
entry composed (x: i32): (i32, i32) =
  let f = (+ 1) >-> (* 2)
  let g = (+ 1) <-< (* 2)
  in (f x, g x)

-- ==
-- entry: local_polymorphic
-- input { 3i32 true }
-- output { true 3i32 3i32 true }
entry local_polymorphic (x: i32) (y: bool): (bool, i32, i32, bool) =
  let swap 'a 'b (p: a, q: b): (b, a) = (q, p)
  let (s, t) = swap (x, y)
  let (u, v) = swap (s, t)
  in (s, t, u, v)

def pair_of_functions (k: i32) = ((+ k), \x -> x * k)

-- ==
-- entry: in_tuples
-- input { 5i32 }
-- output { 8i32 15i32 }
entry in_tuples (x: i32): (i32, i32) =
  let (f, g) = pair_of_functions 3
  in (f x, g x)

-- ==
-- entry: in_records
-- input { 5i32 }
-- output { 6i32 4i32 }
entry in_records (x: i32): (i32, i32) =
  let ops = {up = (+ 1), down = \y -> y - 1}
  in (ops.up x, ops.down x)

def adder (a: i32) (b: i32) (c: i32): i32 = a * 100 + b * 10 + c

-- ==
-- entry: partial
-- input { [1i32, 2i32] }
-- output { [451i32, 452i32] [145i32, 245i32] }
entry partial [n] (xs: [n]i32): ([n]i32, [n]i32) =
  let g = adder 4 5
  in (map g xs, map (\x -> adder x 4 5) xs)

def apply_to_all [n] 'a 'b (f: a -> b) (xs: [n]a): [n]b = map f xs

-- ==
-- entry: wrapped_map
-- input { [[1i32, 2i32], [3i32, 4i32]] 2i32 }
-- output { [[3i32, 4i32], [5i32, 6i32]] }
entry wrapped_map [n] [m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  apply_to_all (\xs -> apply_to_all (+ k) xs) xss

-- ==
-- entry: sizes_captured
-- input { [1i32, 2i32, 3i32] }
-- output { [[1i32, 2i32, 3i32], [2i32, 3i32, 4i32]] }
entry sizes_captured [n] (xs: [n]i32): [2][n]i32 =
  let shifted (k: i32): [n]i32 = map (+ k) xs
  in [shifted 0, shifted 1]

def fold 'a 'b [n] (f: b -> a -> b) (acc: b) (xs: [n]a): b = loop acc for x in xs do f acc x

-- ==
-- entry: folded
-- input { [1i32, 2i32, 3i32] }
-- output { 123i32 }
entry folded [n] (xs: [n]i32): i32 = fold (\a x -> a * 10 + x) 0 xs

def curried (x: i32) = \(y: i32) -> \(z: i32) -> x - y - z

-- ==
-- entry: returned
-- input { 10i32 }
-- output { 7i32 }
entry returned (x: i32): i32 = let f = curried x 1 in f 2

-- ==
-- entry: pipeline
-- input { [1i32, 2i32, 3i32, 4i32] }
-- output { 40i32 }
entry pipeline (xs: []i32): i32 = xs |> filter (\x -> x % 2 == 0) |> map (\x -> x * x) |> reduce (+) 20

-- ==
-- entry: big_local
-- input { 3i32 }
-- output { 19i32 }
entry big_local (x: i32): i32 =
  let step (a: i32) =
    let b = if a > 100 then a - 1 else a + 1
    let c = if b > 100 then b - 1 else b + x
    let d = if c > 100 then c - 1 else c + 1
    let e = if d > 100 then d - 1 else d + 1
    let f = if e > 100 then e - 1 else e + 0
    let g = if f > 100 then f - 1 else f + 0
    let h = if g > 100 then g - 1 else g + 0
    in h
  in step (step x) + step 0 - step (0 - 5)  - 1

type^ change = #add i32 | #any (i32 -> i32) | #twice (i32 -> i32)

def apply_change (c: change) (x: i32): i32 =
  match c
  case #add k -> x + k
  case #any f -> f x
  case #twice f -> f (f x)

-- ==
-- entry: in_sums
-- input { 3i32 10i32 }
-- output { 13i32 30i32 5i32 }
entry in_sums (x: i32) (k: i32): (i32, i32, i32) =
  (apply_change (#add k) x, apply_change (#any (* k)) x, apply_change (#twice (+ 1)) x)

-- Functions among the arguments mention sizes that another argument brings.
def both 'a 'b 'c 'd (f: a -> c) (g: b -> d) (x: (a, b)): (c, d) = (f x.0, g x.1)

-- ==
-- entry: evens_and_odds
-- input { [1, 2, 3, 4, 5] } output { [4, 8] [-1, -3, -5] }
-- input { empty([0]i32) } output { empty([0]i32) empty([0]i32) }
entry evens_and_odds (xs: []i32): ([]i32, []i32) =
  partition (\x -> x % 2 == 0) xs |> both (map (* 2)) (map (\x -> -x))
