type point = {x: f64, y: f64}

def add (a: point) (b: point): point = {x = a.x + b.x, y = a.y + b.y}

-- ==
-- entry: sum
-- input { [1.0, 2.0] [3.0, 4.0] }
-- output { 3.0 7.0 }
entry sum [n] (xs: [n]f64) (ys: [n]f64): point =
  reduce add {x = 0, y = 0} (map2 (\x y -> {x, y}) xs ys)

-- ==
-- entry: swap
-- input { [1i32, 2i32] [true, false] }
-- output { [true, false] [1i32, 2i32] }
entry swap [n] (xs: [n]i32) (ys: [n]bool): ([n]bool, [n]i32) =
  unzip (map (\(a, b) -> (b, a)) (zip xs ys))

-- ==
-- entry: changed
-- input { 1i32 2i32 }
-- output { 10i32 2i32 1i32 7i32 }
entry changed (a: i32) (b: i32): (i32, i32, i32, i32) =
  let r = {p = {u = a, v = b}, q = 7}
  let s = r with p.u = 10
  in (s.p.u, s.p.v, r.p.u, s.q)

-- ==
-- entry: evaluated_once
-- input { [5i32, 6i32] }
-- output { 5i32 6i32 }
entry evaluated_once (xs: [2]i32): (i32, i32) =
  let {second, first} = {first = xs[0], second = xs[1]}
  in (first, second)

-- ==
-- entry: updated
-- input { [1i32, 2i32, 3i32] }
-- output { [1i32, 9i32, 3i32] [10i32, 8i32, 30i32] }
entry updated [n] (xs: [n]i32): ([n]i32, [n]i32) =
  let ps = map (\x -> (x, x * 10)) xs
  in unzip (ps with [1] = (9, 8))

-- ==
-- entry: nested
-- input { [[1i32, 2i32], [3i32, 4i32]] }
-- output { [[2i32, 3i32], [4i32, 5i32]] [3i32, 7i32] }
entry nested [n] [m] (xss: [n][m]i32): ([n][m]i32, [n]i32) =
  unzip (map (\xs -> (map (+ 1) xs, reduce (+) 0 xs)) xss)

-- ==
-- entry: units
-- input { [1i32, 2i32, 3i32] }
-- output { 3i64 [1i32, 2i32, 3i32] }
entry units [n] (xs: [n]i32): (i64, [n]i32) =
  let us = map (\_ -> ()) xs
  let pairs = zip xs us
  let (ys, vs) = unzip pairs
  in (length vs, ys)
