-- Making arrays and taking them apart.

def length [n] 'a (_: [n]a) : i64 = n

def null [n] 'a (_: [n]a) : bool = n == 0

def head [n] 'a (xs: [n]a) : a = xs[0]

def last [n] 'a (xs: [n]a) : a = xs[n - 1]

def tail [n] 'a (xs: [n]a) : [n - 1]a = xs[1:]

def init [n] 'a (xs: [n]a) : [n - 1]a = xs[0:n - 1]

def take [n] 'a (k: i64) (xs: [n]a) : [k]a = xs[0:k]

def drop [n] 'a (k: i64) (xs: [n]a) : [n - k]a = xs[k:]

def split [k] [l] 'a (xs: [k + l]a) : ([k]a, [l]a) = (xs[0:k], xs[k:k + l])

def sized [n] 'a (k: i64) (xs: [n]a) : [k]a = xs :> [k]a

def reverse [n] 'a (xs: [n]a) : [n]a = xs[::-1]

def (++) [n] [m] 'a (xs: [n]a) (ys: [m]a) : *[n + m]a = intrinsics.concat xs ys

def concat [n] [m] 'a (xs: [n]a) (ys: [m]a) : *[n + m]a = intrinsics.concat xs ys

def iota (n: i64) : *[n]i64 = intrinsics.iota n

def indices [n] 'a (_: [n]a) : *[n]i64 = intrinsics.iota n

def replicate 'a (n: i64) (x: a) : *[n]a = intrinsics.replicate n x

def rep 'a [n] (x: a) : *[n]a = intrinsics.replicate n x

def copy '~a (x: a) : *a = intrinsics.copy x

def manifest 'a (x: a) : *a = intrinsics.copy x

def rotate [n] 'a (k: i64) (xs: [n]a) : *[n]a =
  intrinsics.map (\i -> xs[(i + k) % n]) (intrinsics.iota n)

def transpose [n] [m] 'a (xss: [n][m]a) : [m][n]a = intrinsics.transpose xss

def flatten [n] [m] 'a (xss: [n][m]a) : [n * m]a = intrinsics.flatten xss

def flatten_3d [n] [m] [l] 'a (xss: [n][m][l]a) : [n * m * l]a =
  intrinsics.flatten (intrinsics.flatten xss)

def flatten_4d [n] [m] [l] [k] 'a (xss: [n][m][l][k]a) : [n * m * l * k]a =
  intrinsics.flatten (flatten_3d xss)

def unflatten 'a [n] [m] (xs: [n * m]a) : [n][m]a = intrinsics.unflatten xs

def unflatten_3d 'a [n] [m] [l] (xs: [n * m * l]a) : [n][m][l]a =
  let rows : [n * m][l]a = intrinsics.unflatten xs
  in intrinsics.unflatten rows

def unflatten_4d 'a [n] [m] [l] [k] (xs: [n * m * l * k]a) : [n][m][l][k]a =
  let rows : [n * m * l][k]a = intrinsics.unflatten xs
  in unflatten_3d rows

def foldl [n] 'a 'b (f: a -> b -> a) (acc: a) (xs: [n]b) : a =
  loop y = acc for x in xs do f y x

def foldr [n] 'a 'b (f: b -> a -> a) (acc: a) (xs: [n]b) : a =
  loop y = acc for i < n do f xs[n - 1 - i] y

def tabulate 'a (n: i64) (f: i64 -> a) : *[n]a = intrinsics.map f (intrinsics.iota n)

def tabulate_2d 'a (n: i64) (m: i64) (f: i64 -> i64 -> a) : *[n][m]a =
  intrinsics.map (\i -> intrinsics.map (\j -> f i j) (intrinsics.iota m)) (intrinsics.iota n)

def tabulate_3d 'a (n: i64) (m: i64) (o: i64) (f: i64 -> i64 -> i64 -> a) : *[n][m][o]a =
  intrinsics.map (\i -> tabulate_2d m o (f i)) (intrinsics.iota n)

-- All first results of `f` behind one another, in an array that doubles when it is full. Before it:
-- how many each element has, which of all begin one, and where each begins; behind it: the second
-- results.
def flatmap [n] 'a 'b 'c (f: a -> ?[k].([k]b, c)) (xs: [n]a)
          : ?[m].([n]i64, [m]bool, [n]i64, [m]b, [n]c) =
  let (m, starts, all, others) =
    loop (used, starts, all, others) = (0i64, intrinsics.replicate n 0i64, [], [])
    for i < n do
      let (ys, other) = f xs[i]
      let after = used + length ys
      in ( after
         , starts with [i] = used
         , if after <= length all then all with [used:after] = ys
           else all[:used] ++ ys ++ intrinsics.replicate after ys[0]
         , if i == 0 then intrinsics.replicate n other else others with [i] = other
         )
  let counts =
    intrinsics.map (\i -> (if i + 1 < n then starts[i + 1] else m) - starts[i]) (intrinsics.iota n)
  let begin = map2 (\start count -> if count > 0 then start else -1) starts counts
  let flags = intrinsics.replicate m false
  in ( counts
     , intrinsics.scatter_1d flags begin (intrinsics.replicate n true)
     , starts
     , all[:m]
     , others :> [n]c
     )

def flatmap' [n] 'a 'b (f: a -> ?[k].[k]b) (xs: [n]a) : ?[m].([n]i64, [m]bool, [n]i64, [m]b) =
  let (counts, flags, starts, all, _) = flatmap (\x -> (f x, ())) xs
  in (counts, flags, starts, all)
