-- Functions that bring their own reverse mode. Slopes are wrong on purpose, so that who is asked shows.
def square (x: f64): f64 = with_vjp (\x -> x * x) (\y seed -> y * seed + 100) x

def pair (x: f64, y: f64) =
  with_vjp_tape (\(x, y) -> (x * y, x + f64.sin y)) (\(t, s) -> (t * s, f64.cos t)) (x, y)
entry once (x: f64) = vjp square x 2
entry forward (x: f64) = jvp square x 2
entry twice (x: f64) = vjp (\x -> vjp square x 1) x 1
entry there (x: f64) = jvp (\x -> vjp square x 1) x 1
entry back (x: f64) = vjp (\x -> jvp square x 1) x 1
entry pairs (xs: []f64) (ys: []f64) =
  vjp (\(xs, ys) -> f64.sum (map2 (\x y -> pair (x, y) * square x) xs ys)) (xs, ys) 1
entry in_loop (x: f64) (n: i64) = vjp (\x -> loop a = x for i < n do with_vjp (\a -> a * f64.i64 i) (\_ s -> s + f64.i64 i) a) x 1
entry arrays (xs: []f64) (k: i64) =
  vjp (\xs -> f64.sum (with_vjp (\xs -> map (* 2) xs) (\ys s -> map2 (*) (rotate k s) ys) xs)) xs 1
entry branch (x: f64) = vjp (\x -> if x > 1 then square x else square (square x)) x 1
entry unused (x: f64) (y: f64) = vjp (\x -> square y * x) x 1
entry outer (x: f64) (y: f64) = vjp (\y -> vjp (\x -> square y * x) x 1) y 1
entry free (x: f64) (z: f64) = vjp (\z -> with_vjp (\x -> x * z) (\_ s -> s) x) z 1
entry many (x: f64) = mjp (\x -> (square x, x)) x [(1, 0), (0, 1), (2, 1)]
entry none (x: f64) = square x
entry integers (xs: []i32) = vjp (\xs -> i32.sum (with_vjp (\xs -> map (** 2) xs) (\ys s -> map2 (-) ys s) xs)) xs 1
def inner (x: f64) = with_vjp (\x -> square x + 1) (\_ s -> square s) x
entry in_each_other (x: f64) = vjp inner x 3
entry by_the_seed (x: f64) = vjp (vjp inner x) 3 1
