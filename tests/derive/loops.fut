-- Loops that grow their arrays, and loops in segments.
entry growing (x: f64) (n: i64): f64 =
  vjp (\x -> let (ys: []f64) = loop (ys: []f64) = [x] for _i < n do ys ++ map (* x) ys
             in f64.sum ys) x 1
def stack (n: i64) (x: f64): f64 = if n == 0 then 1 else f64.sin x * stack (n - 1) (x * 1.1)
entry recursive (x: f64) (n: i64): f64 = vjp (stack n) x 1
entry strip2 (x: f64) (n: i64) =
  vjp (\x -> #[stripmine] loop a = x for i < n do f64.sin (a * x + f64.i64 i)) x 1
entry strip1 (x: f64) (n: i64) =
  vjp (\x -> #[stripmine(1)] loop a = x for i < n do f64.sin (a * x + f64.i64 i)) x 1
entry strip3 (x: f64) (n: i64) =
  vjp (\x -> #[stripmine(3)] loop a = x for i < n do f64.sin (a * x + f64.i64 i)) x 1
entry strip5 (x: f64) (n: i64) =
  vjp (\x -> #[stripmine(5)] loop a = x for i < n do f64.sin (a * x + f64.i64 i)) x 1
entry in_place (xs: []f64) (k: i64) =
  vjp (\xs -> f64.sum (#[stripmine] loop ys = copy xs for i < k do
     let ys = map2 (\x y -> f64.sin (x * y)) xs ys in ys with [i % 3] = ys[(i + 1) % 3] * xs[0])) xs 1
entry nested (x: f64) (n: i64) =
  vjp (\x -> #[stripmine] loop a = x for i < n do #[stripmine] loop a for j < i do f64.cos (a * x + f64.i64 j)) x 1
entry until (x: f64) (_n: i64) =
  vjp (\x -> (#[stripmine] loop (a, b) = (x, x) while a < 10 do (a + 1 + b * b, f64.sin (b + a))).1) x 1
entry small_counter (x: f64) (n: i8) =
  vjp (\x -> #[stripmine] loop a = x for i < n do f64.sin (a * x + f64.i8 i)) x 1
entry in_map (xs: []f64) (n: i64) =
  vjp (\xs -> f64.sum (map (\x -> #[stripmine] loop a = x for i < n do f64.sin (a * x + f64.i64 i)) xs)) xs 1
entry twice (x: f64) (n: i64) =
  vjp (vjp (\x -> #[stripmine] loop a = x for i < n do f64.sin (a * x + f64.i64 i)) x) 1 1
entry filtered (xs: []f64) (n: i64) =
  vjp (\xs -> f64.sum (loop (ys: []f64) = xs for i < n do map (* 0.9) (filter (> f64.i64 i) ys))) xs 1
entry shrinking (xs: []f64) (n: i64) =
  vjp (\xs -> f64.sum (loop (ys: []f64) = xs while length ys > n do map2 (\a b -> a * f64.sin b) (init ys) (tail ys))) xs 1
entry forward_growing (x: f64) (n: i64): f64 =
  jvp (\x -> let (ys: []f64) = loop (ys: []f64) = [2] for i < n do
                if i > 1 then ys ++ map (* x) ys else replicate (i + 1) 3
             in f64.sum ys) x 1
entry branching (x: f64) (n: i64): f64 =
  vjp (\x -> let (ys: []f64) = loop (ys: []f64) = [2] for i < n do
                if i > 1 then ys ++ map (* x) ys else replicate (i + 1) 3
             in f64.sum ys) x 1
