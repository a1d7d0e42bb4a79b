-- Reverse mode through every operation. What each gives is compared with the interpreter that
-- derives numbers, and with what each stage and C give.

type shape = #circle f64 | #box f64 f64 | #none

def area (s: shape) =
  match s
  case #circle r -> f64.pi * r ** 2
  case #box a b -> a * b
  case #none -> 0

entry arithmetic (x: f64) (y: f64) =
  vjp2 (\(x, y) -> (x * y - x / y + x ** y, x % y, f64.max x y, f64.min (x * x) y, f64.abs (-x)))
       (x, y) (1, 2, 3, 4, 5)

entry numbers (x: f64) (n: i64) =
  vjp (\(x, n) -> (f32.f64 x * f32.f64 x, i64.f64 (f64.i64 n * 2), n * n / 3, n ** 3, n % 2))
      (x, n) (1, 2, 3, 4, 5)

entry branches (x: f64) (ys: [3]f64) =
  vjp (\(x, ys) -> if x > 1 then (x * x * ys[1], ys[0]) else (3, x * 3)) (x, ys) (1, 2)

entry sums (x: f64) =
  vjp (\x -> area (#circle x) + area (#box x (x * 2)) + area (if x > 0 then #none else #circle 1)) x 1

entry loops (x: f64) (n: i64) =
  vjp (\x -> let ys = loop (a, b) = (x, 1) for i < n do (a * b + f64.i64 i, b + a)
             let z = loop z = x while z < 100 do z * z + 1
             in (ys.0, ys.1, z))
      x (1, 2, 3)

entry in_place [n] (xs: [n]f64) (w: f64) =
  vjp (\(xs, w) ->
         loop ys = copy xs for i < n - 1 do
           let ys = ys with [i + 1] = ys[i] * ys[i + 1] * w
           in ys with [0] = ys[0] + xs[i])
      (xs, w) (map (+ 1) xs)

entry nested_loops [n] (xs: [n]f64) (w: f64) =
  vjp (\(xs, w) ->
         loop a = w for i < n do
           let b = loop b = a for j < i do b * xs[j] + w
           in if b > 10 then a + xs[i] else b * xs[i])
      (xs, w) 1

entry maps [n] (xs: [n]f64) (w: f64) =
  vjp (\(xs, w) -> map2 (\x i -> x * w + xs[(i + 1) % n] * 2 + (if x > 1 then xs[i] * x else w)) xs (iota n))
      (xs, w) (map (* 2) xs)

entry nests [n] (xs: [n]f64) (yss: [n][2]f64) (w: f64) =
  vjp (\(xs, yss, w) ->
         map (\ys -> map (\y -> f64.sum (map2 (\x i -> x * y * w * yss[i, 1]) xs (iota n))) ys) yss)
      (xs, yss, w) (map (map (+ 1)) yss)

entry loops_in_maps [n] (xs: [n]f64) (is: [n]i64) =
  vjp (\xs -> map (\i -> let a = loop a = 1 for j < n do a * xs[j] + xs[i]
                         in loop a for j < i do a + xs[j] * xs[j])
                  is)
      xs (map (+ 1) xs)

entry rows [n] (xss: [n][3]f64) (is: [2]i64) =
  vjp (\xss -> map (\i -> let row = xss[i] in f64.sum row * row[0] + f64.sum xss[0, 1:]) is) xss [1, 2]

entry matrices [n] [m] [k] (a: [n][m]f64) (b: [m][k]f64) =
  vjp (\(a, b) -> map (\r -> map (\c -> f64.sum (map2 (*) r c)) (transpose b)) a)
      (a, b) (tabulate_2d n k (\i j -> f64.i64 (i + 2 * j)))

entry folds [n] (xs: [n]f64) (ys: [n]f64) =
  vjp (\(xs, ys) ->
         ( f64.sum xs, f64.product xs, f64.maximum xs, f64.minimum xs
         , reduce (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip xs ys)
         , reduce (map2 (+)) [0, 0] (map (\x -> [x, x * x]) xs)
         , reduce (map2 f64.max) [-9, -9] (map2 (\x y -> [x * y, y]) xs ys)))
      (xs, ys) (1, 2, 3, 4, (5, 6), [7, 8], [9, 10])

entry fold_around [n] (xs: [n]f64) (w: f64) =
  vjp (\(xs, w) -> (reduce (\a b -> a + b + w * a * b) 0 xs, scan (\a b -> a + b + w * a * b) 0 xs))
      (xs, w) (1, xs)

entry scans [n] (xs: [n]f64) (ys: [n]f64) =
  vjp (\(xs, ys) ->
         ( scan (+) 0 xs, scan (*) 1 xs, scan f64.max (-9) xs
         , scan (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip xs ys)
         , scan (map2 (+)) [0, 0] (map (\x -> [x, x * x]) xs)))
      (xs, ys) (xs, ys, xs, map2 (\x y -> (x, y)) xs ys, map (\x -> [x, 2]) ys)

entry histograms [n] (is: [n]i64) (xs: [n]f64) (d: [2]f64) =
  vjp (\(xs, d) -> ( hist (+) 0 3 is xs, hist f64.max (-10) 3 is xs, hist (*) 1 3 is xs
                   , reduce_by_index (map (* 2) d) (+) 0 is (map (\x -> x * x) xs)
                   , reduce_by_index (copy d) f64.min 99 is xs
                   , reduce_by_index (copy d) (\a b -> a + b + a * b) 0 is xs))
      (xs, d) ([1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 2], [3, 4], [5, 6])

entry scatters [n] (is: [n]i64) (xs: [n]f64) (d: [4]f64) =
  vjp (\(xs, d) -> scatter (copy d) is (map (\x -> x * x) xs)) (xs, d) [1, 2, 3, 4]

entry views [n] (xs: [n]f64) (m: [2][3]f64) =
  vjp (\(xs, m) -> ( reverse xs ++ xs[1:], transpose m, flatten m, replicate 2 xs[0]
                   , [xs[0], 1, xs[1] * 2], rotate 1 xs, (copy xs) with [0] = xs[1] * xs[1]
                   , (copy m) with [1] = map (* 2) m[0], take 2 xs, m[0, 1:]))
      (xs, m)
      ( map f64.i64 (iota (n + (n - 1))) :> [n + (n - 1)]f64
      , [[1, 2], [3, 4], [5, 6]], [1, 2, 3, 4, 5, 6] :> [2 * 3]f64, [1, 2], [1, 2, 3], xs, xs
      , [[1, 2, 3], [4, 5, 6]], [1, 2], [1, 2])

entry accumulators [n] (is: [n]i64) (xs: [n]f64) (d: [3]f64) =
  vjp (\(xs, d) -> reduce_by_index_stream (copy d) (+) 0
                     (\(acc: *acc ([3]f64)) (i, x) ->
                        let acc = write acc i (x * x)
                        in if x > 2 then write acc (i + 1) x else acc)
                     (zip is xs))
      (xs, d) [1, 2, 3]

entry nested (x: f64) (y: f64) =
  vjp (\x -> x * vjp (\y -> x * y * y + f64.exp (x * y)) y 1) x 1

entry mixed [n] (xs: [n]f64) =
  jvp (\xs -> vjp (\xs -> f64.sum (scan (*) 1 xs) * f64.maximum xs) xs 1) xs (map (+ 1) xs)

entry third (x: f64) = vjp (\x -> vjp (\x -> vjp (\x -> x ** 4 * f64.sin x) x 1) x 1) x 1

entry many [n] (xs: [n]f64) =
  mjp2 (\xs -> map (\x -> x * f64.sum xs) xs) xs (map (\i -> map (\j -> f64.bool (i == j)) (iota n)) (iota n))

entry empty (n: i64) =
  vjp (\(xs: [n]f64) -> (f64.sum xs, scan (+) 0 xs, scan (*) 1 xs, map (* 2) xs, f64.maximum xs, f64.product xs))
      (replicate n 1) (1, replicate n 1, replicate n 2, replicate n 3, 4, 5)

entry extremes (x: f64) =
  vjp (\x -> (f64.max x x, f64.min x 0, f64.abs x, x ** 0, x ** 2, f64.max x f64.nan, f64.sgn x)) x
      (1, 2, 3, 4, 5, 6, 7)

entry ties [n] (xs: [n]f64) = vjp (\xs -> (f64.maximum xs, f64.minimum xs)) xs (1, 2)

entry unused (x: f64) (y: f64) = vjp (\(x, _) -> (x * 2, 3)) (x, y) (1, 5)

entry half (x: f16) = vjp (\x -> f16.sqrt (x * x * x) + f16.sin x) x 1

entry shared [n] (is: [n]i64) (xs: [n]f64) (d: [2]f64) =
  let f (d: [2]f64) =
    let e = copy d
    let a = map (** 2) e
    let b = reduce_by_index e (*) 1 is xs
    in map2 (+) a b
  in vjp f d (replicate 2 0 with [0] = 1)

-- One row of a map has an adjoint: of two results, of the same and of different rows; beside others.
entry one_row (xs: []f64) =
  vjp (\ys -> f64.maximum (map f64.sin ys) * f64.minimum (map (\y -> y * y) ys)) xs 1
entry one_row_of_two (xs: []f64) =
  vjp (\ys -> let (a, b) = unzip (map (\y -> (f64.sin y, y * y)) ys)
              in f64.maximum a + f64.minimum b) xs 1
entry one_row_and_all (xs: []f64) =
  vjp (\ys -> let a = map f64.sin ys in f64.maximum a + f64.sum a) xs 1
entry nearest [n] [k] (points: [n][2]f64) (centres: [k][2]f64) =
  let far p c = f64.sum (map2 (\a b -> (a - b) ** 2) p c)
  in vjp (\cs -> f64.sum (map (\p -> f64.minimum (map (far p) cs)) points)) centres 1
