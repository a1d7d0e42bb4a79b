-- Forward mode through every operation. What each gives is compared with the interpreter that
-- derives numbers, and with what each stage and C give.

type shape = #circle f64 | #box f64 f64 | #none

def area (s: shape) =
  match s
  case #circle r -> f64.pi * r ** 2
  case #box a b -> a * b
  case #none -> 0

entry arithmetic (x: f64) (y: f64) =
  jvp2 (\(x, y) -> (x * y - x / y + x ** y, x % y, f64.max x y, f64.min (x * x) y, f64.abs (-x)))
       (x, y) (2, -3)

entry bits (x: f32) = jvp (\x -> f32.from_bits (f32.to_bits (x * x))) x 1

entry numbers (x: f64) (n: i64) =
  jvp (\(x, n) -> (f32.f64 x * f32.f64 x, i64.f64 (f64.i64 n * 2), n * n / 3, n ** 3, n % 2))
      (x, n) (1, 1)

entry branches (x: f64) = jvp (\x -> if x > 1 then (x * x, 1) else (3, x * 3)) x 1

entry sums (x: f64) =
  jvp (\x -> area (#circle x) + area (#box x (x * 2)) + area (if x > 0 then #none else #circle 1)) x 1

entry loops (x: f64) (n: i64) =
  jvp (\x -> let ys = loop (a, b) = (x, 1) for i < n do (a * b + f64.i64 i, b + a)
             let z = loop z = x while z < 100 do z * z + 1
             in (ys, z))
      x 1

entry maps [n] (xs: [n]f64) (w: f64) =
  jvp (\(xs, w) -> map2 (\x i -> x * w + xs[(i + 1) % n] * 2) xs (iota n)) (xs, w) (map (* 2) xs, 1)

entry folds [n] (xs: [n]f64) (ys: [n]f64) =
  jvp (\(xs, ys) ->
         ( f64.sum xs, f64.product xs, f64.maximum xs, f64.minimum xs
         , reduce (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip xs ys)
         , scan (+) 0 xs, scan (*) 1 xs
         , scan (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip xs ys)
         , reduce (map2 (+)) [0, 0] (map (\x -> [x, x * x]) xs)))
      (xs, ys) (map (+ 1) ys, xs)

entry histograms [n] (is: [n]i64) (xs: [n]f64) =
  jvp (\xs -> ( hist (+) 0 3 is xs, hist f64.max (-10) 3 is xs, hist (*) 1 3 is xs
              , reduce_by_index (map (* 2) (take 2 xs)) (+) 0 is (map (\x -> x * x) xs)))
      xs (map f64.i64 is)

entry scatters [n] (is: [n]i64) (xs: [n]f64) (d: *[4]f64) =
  jvp (\(xs, d) -> scatter (copy d) is (map (\x -> x * x) xs)) (xs, d) (map (+ 1) xs, [1, 2, 3, 4])

entry views [n] (xs: [n]f64) (m: [2][3]f64) =
  jvp (\(xs, m) -> ( reverse xs ++ xs[1:], transpose m, flatten m, replicate 2 xs[0]
                   , [xs[0], 1, xs[1] * 2], rotate 1 xs, (copy xs) with [0] = xs[1] * xs[1]
                   , (copy m) with [1] = map (* 2) m[0]))
      (xs, m) (map (+ 1) xs, map (map (* 3)) m)

entry accumulators [n] (is: [n]i64) (xs: [n]f64) =
  jvp (\xs -> reduce_by_index_stream (replicate 3 0) (+) 0
                (\(acc: *acc ([3]f64)) (i, x) ->
                   let acc = write acc i (x * x)
                   in if x > 2 then write acc (i + 1) x else acc)
                (zip is xs))
      xs (map (+ 1) xs)

entry nested (x: f64) (y: f64) =
  jvp (\x -> x * jvp (\y -> x * y * y + f64.exp (x * y)) y 1) x 1

entry many [n] (xs: [n]f64) =
  jmp2 (\xs -> map (\x -> x * f64.sum xs) xs) xs (map (\i -> map (\j -> f64.bool (i == j)) (iota n)) (iota n))

entry empty (n: i64) =
  jvp (\(xs: [n]f64) -> (f64.sum xs, scan (+) 0 xs, map (* 2) xs, f64.maximum xs)) (replicate n 1) (replicate n 1)

entry extremes (x: f64) =
  jvp (\x -> (f64.max x x, f64.min x 0, f64.abs x, x ** 0, x ** 2, f64.max x f64.nan, f64.sgn x)) x 1

entry half (x: f16) = jvp (\x -> f16.sqrt (x * x * x) + f16.sin x) x 1
