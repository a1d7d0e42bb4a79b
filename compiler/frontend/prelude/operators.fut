-- The parallel operators.

def map 'a 'b [n] (f: a -> b) (xs: [n]a) : *[n]b = intrinsics.map f xs

def map1 'a 'b [n] (f: a -> b) (xs: [n]a) : *[n]b = intrinsics.map f xs

def map2 'a 'b 'c [n] (f: a -> b -> c) (xs: [n]a) (ys: [n]b) : *[n]c =
  intrinsics.map (\(x, y) -> f x y) (zip xs ys)

def map3 'a 'b 'c 'd [n] (f: a -> b -> c -> d) (xs: [n]a) (ys: [n]b) (zs: [n]c) : *[n]d =
  intrinsics.map (\(x, (y, z)) -> f x y z) (zip xs (zip ys zs))

def map4 'a 'b 'c 'd 'e [n] (f: a -> b -> c -> d -> e)
         (ws: [n]a) (xs: [n]b) (ys: [n]c) (zs: [n]d) : *[n]e =
  intrinsics.map (\((w, x), (y, z)) -> f w x y z) (zip (zip ws xs) (zip ys zs))

def map5 'a 'b 'c 'd 'e 'f [n] (g: a -> b -> c -> d -> e -> f)
         (vs: [n]a) (ws: [n]b) (xs: [n]c) (ys: [n]d) (zs: [n]e) : *[n]f =
  intrinsics.map (\(v, ((w, x), (y, z))) -> g v w x y z) (zip vs (zip (zip ws xs) (zip ys zs)))

def reduce [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a) : a = intrinsics.reduce op ne xs

def reduce_comm [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a) : a = intrinsics.reduce_comm op ne xs

def scan [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a) : *[n]a = intrinsics.scan op ne xs

def all [n] 'a (p: a -> bool) (xs: [n]a) : bool =
  intrinsics.reduce_comm (&&) true (intrinsics.map p xs)

def any [n] 'a (p: a -> bool) (xs: [n]a) : bool =
  intrinsics.reduce_comm (||) false (intrinsics.map p xs)

def and [n] (xs: [n]bool) : bool = intrinsics.reduce_comm (&&) true xs

def or [n] (xs: [n]bool) : bool = intrinsics.reduce_comm (||) false xs

def scatter 'a [k] [n] (dest: *[k]a) (is: [n]i64) (vs: [n]a) : *[k]a =
  intrinsics.scatter_1d dest is vs

def scatter_2d 'a [k] [l] [n] (dest: *[k][l]a) (is: [n](i64, i64)) (vs: [n]a) : *[k][l]a =
  intrinsics.scatter_2d dest is vs

def scatter_3d 'a [k] [l] [m] [n] (dest: *[k][l][m]a) (is: [n](i64, i64, i64)) (vs: [n]a)
             : *[k][l][m]a =
  intrinsics.scatter_3d dest is vs

def spread 'a [n] (k: i64) (blank: a) (is: [n]i64) (vs: [n]a) : *[k]a =
  intrinsics.scatter_1d (intrinsics.replicate k blank) is vs

def exscan [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a) : *[n]a =
  let sums = intrinsics.scan op ne xs
  in intrinsics.scatter_1d (intrinsics.replicate n ne) (intrinsics.map (+ 1) (intrinsics.iota n)) sums

def reduce_by_index 'a [k] [n] (dest: *[k]a) (op: a -> a -> a) (ne: a) (is: [n]i64) (vs: [n]a)
                  : *[k]a =
  intrinsics.hist_1d dest op ne is vs

def reduce_by_index_2d 'a [k] [l] [n]
                       (dest: *[k][l]a) (op: a -> a -> a) (ne: a) (is: [n](i64, i64)) (vs: [n]a)
                     : *[k][l]a =
  intrinsics.hist_2d dest op ne is vs

def reduce_by_index_3d 'a [k] [l] [m] [n]
                       (dest: *[k][l][m]a) (op: a -> a -> a) (ne: a)
                       (is: [n](i64, i64, i64)) (vs: [n]a)
                     : *[k][l][m]a =
  intrinsics.hist_3d dest op ne is vs

def hist 'a [n] (op: a -> a -> a) (ne: a) (k: i64) (is: [n]i64) (vs: [n]a) : *[k]a =
  intrinsics.hist_1d (intrinsics.replicate k ne) op ne is vs

-- Each kept element moves to the number of kept elements before it. Messages about the result's size
-- call it as it is called here, so that its name says which function gives it.
def filter [n] 'a (p: a -> bool) (xs: [n]a) : *[]a =
  let keep = intrinsics.map p xs
  let upto = intrinsics.scan (+) 0i64 (intrinsics.map (\k -> i64.bool k) keep)
  let filtered = if n == 0 then 0 else upto[n - 1]
  let places = intrinsics.map (\(k, u) -> if k then u - 1 else -1) (intrinsics.zip keep upto)
  let sorted = intrinsics.scatter_1d (intrinsics.scratch xs) places xs
  in sorted[0:filtered]

-- The first part from the left, the second behind it, both in their old order: all is written.
def partition [n] 'a (p: a -> bool) (xs: [n]a) : ?[k].([k]a, [n - k]a) =
  let keep = intrinsics.map p xs
  let upto = intrinsics.scan (+) 0i64 (intrinsics.map (\k -> i64.bool k) keep)
  let first_part = if n == 0 then 0 else upto[n - 1]
  let place (i: i64) (k: bool) (u: i64) = if k then u - 1 else first_part + i - u
  let places = map3 place (intrinsics.iota n) keep upto
  let sorted = intrinsics.scatter_1d (intrinsics.scratch xs) places xs
  in (sorted[0:first_part], sorted[first_part:n])

def partition2 [n] 'a (p: a -> bool) (q: a -> bool) (xs: [n]a)
             : ?[k][l].([k]a, [l]a, [n - k - l]a) =
  let class = intrinsics.map (\x -> if p x then (1i64, 0i64) else if q x then (0, 1) else (0, 0)) xs
  let upto = intrinsics.scan (\(a, b) (c, d) -> (a + c, b + d)) (0, 0) class
  let (first, second) = if n == 0 then (0, 0) else upto[n - 1]
  let place (i: i64) (c: (i64, i64)) (u: (i64, i64)) =
    if c.0 == 1 then u.0 - 1
    else if c.1 == 1 then first + u.1 - 1
    else first + second + i - u.0 - u.1
  let places = map3 place (intrinsics.iota n) class upto
  let sorted = intrinsics.scatter_1d (intrinsics.scratch xs) places xs
  in ( sorted[0:first]
     , sorted[first:first + second] :> [second]a
     , sorted[first + second:n] :> [n - first - second]a
     )
