type shape = #circle f64 | #square f64 | #box f64 f64 | #none

def area (s: shape): f64 =
  match s
  case #circle r -> 3 * r * r
  case #square a -> a * a
  case #box a b -> a * b
  case #none -> 0

-- ==
-- entry: total
-- input { [0i32, 1i32, 2i32, 3i32, 1i32] 2.0 }
-- output { [12.0, 4.0, 6.0, 0.0, 4.0] }
entry total [n] (kinds: [n]i32) (a: f64): [n]f64 =
  let make k: shape =
    match k
    case 0 -> #circle a
    case 1 -> #square a
    case 2 -> #box a 3
    case _ -> #none
  in map area (map make kinds)

-- ==
-- entry: literals
-- input { 3i32 true }
-- output { 1i32 }
-- input { 3i32 false }
-- output { 2i32 }
-- input { -1i32 false }
-- output { 3i32 }
-- input { 0i32 false }
-- output { 4i32 }
entry literals (x: i32) (y: bool): i32 =
  match (x, y)
  case (3, true) -> 1
  case (3, _) -> 2
  case (-1, _) -> 3
  case _ -> 4

-- Where a type parameter stands for a sum, its sizes have other names inside than outside.
type one_or_both 'a 'b = #both a b | #first a | #second b

def both_or_one 'a 'b (f: a -> i32) (g: b -> i32) (e: one_or_both a b) : i32 =
  match e
  case #both a b -> f a * 100 + g b
  case #first a -> f a
  case #second b -> -(g b)

#[noinline]
def same 't (x: t) : t = x

-- ==
-- entry: equal_sizes
-- input { [1, 2] [3, 4] 0 } output { 103 103 [103, -3] }
-- input { [1, 2] [3, 4] 1 } output { 1 1 [1, -3] }
-- input { [1, 2] [3, 4] 2 } output { -3 -3 [-3, -3] }
entry equal_sizes [n] (xs: [n]i32) (ys: [n]i32) (k: i32) =
  let e: one_or_both ([n]i32) ([n]i32) =
    if k == 0 then #both xs ys else if k == 1 then #first xs else #second ys
  let value = both_or_one head head
  in (value e, value (same e), map value (same [same e, #second ys]))
