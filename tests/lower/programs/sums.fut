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
