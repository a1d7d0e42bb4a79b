-- Functions that call themselves: at the end, in the middle, in loops, in operators.

def fib (n: i64) : i64 = if n < 2 then n else fib (n - 1) + fib (n - 2)
def ack (m: i64) (n: i64) : i64 = if m == 0 then n + 1 else if n == 0 then ack (m - 1) 1 else ack (m - 1) (ack m (n - 1))
-- ==
-- entry: fibs
-- input { 8i64 } output { [0i64,1i64,1i64,2i64,3i64,5i64,8i64,13i64] }
entry fibs (n: i64) = map fib (iota n)
-- ==
-- entry: acks
-- input { 2i64 3i64 } output { 9i64 }
entry acks m n = ack m n
def gcd (a: i32) (b: i32) : i32 = if b == 0 then a else gcd b (a % b)
-- ==
-- entry: gcds
-- input { [12,18,7] [8,12,21] } output { [4,6,7] }
entry gcds (xs: []i32) (ys: []i32) = map2 gcd xs ys
def fill [n] (xs: *[n]i32) (i: i64) : *[n]i32 = if i == n then xs else fill (xs with [i] = i32.i64 i * 2) (i + 1)
-- ==
-- entry: fills
-- input { 4i64 } output { [0,2,4,6] }
entry fills (n: i64) = fill (replicate n 0) 0
def evens [n] (xs: [n]i32) : []i32 = if n == 0 then [] else let ys = evens (drop 1 xs) in if xs[0] % 2 == 0 then [xs[0]] ++ ys else ys
-- ==
-- entry: even
-- input { [1,2,3,4,6] } output { [2,4,6] }
-- input { empty([0]i32) } output { empty([0]i32) }
entry even (xs: []i32) = evens xs
def msort [n] (xs: [n]i32) : [n]i32 =
  if n <= 1 then xs else
  let a = msort (take (n / 2) xs)
  let b = msort (drop (n / 2) xs)
  let (_, _, r) = loop (i, j, r) = (0, 0, replicate n 0) for k < n do
    if j >= length b || (i < length a && a[i] <= b[j]) then (i + 1, j, r with [k] = a[i]) else (i, j + 1, r with [k] = b[j])
  in r
-- ==
-- entry: sorts
-- input { [5,3,9,1,1,0,7] } output { [0,1,1,3,5,7,9] }
entry sorts (xs: []i32) = msort xs
def bsearch [n] (xs: [n]i32) (lo: i64) (hi: i64) (x: i32) : i64 =
  if lo >= hi then lo else let mid = (lo + hi) / 2 in if xs[mid] < x then bsearch xs (mid + 1) hi x else bsearch xs lo mid x
-- ==
-- entry: find
-- input { [1,3,5,7,9] [0,5,8,20] } output { [0i64,2i64,4i64,5i64] }
entry find (xs: []i32) (ys: []i32) = map (bsearch xs 0 (length xs)) ys
def shrink [n] (xs: [n]i32) : []i32 = if n < 3 then xs else shrink (filter (> xs[0]) xs)
-- ==
-- entry: shrinks
-- input { [1,2,3,4,5] } output { [4,5] }
entry shrinks (xs: []i32) = shrink xs
-- ==
-- entry: shrinkall
-- input { [[1,2,3,4,5],[9,1,1,1,2]] } output { [9, 0] }
entry shrinkall (xs: [][]i32) = map (\r -> i32.sum (shrink r)) xs
type t = #leaf | #node i32
def walk (depth: i32) (x: t) : t = match x case #leaf -> #node depth case #node k -> if k > 10 then x else walk (depth + 1) (#node (k + depth))
-- ==
-- entry: sums
-- input { 1 } output { 15 }
entry sums (d: i32) = match walk d (#node 0) case #leaf -> -1 case #node k -> k
def poly 'a (n: i64) (f: a -> a) (x: a) : a = if n == 0 then x else poly (n - 1) f (f x)
-- ==
-- entry: polys
-- input { 3i64 } output { 8i32 8.0f64 }
entry polys n = (poly n (* 2) 1i32, poly n (* 2) 1f64)
def twice 'a [k] (n: i64) (f: a -> a) (xs: [k]a) : [k]a = if n == 0 then xs else map f (twice (n - 1) f xs)
-- ==
-- entry: twices
-- input { 3i64 [1,2] } output { [4,5] }
entry twices n (xs: []i32) = twice n (+ 1) xs
def table = [3i64, 5, 7]
def inner (n: i64) : i64 = if n <= 0 then 1 else inner (n - 2) * 2 + table[n % 3]
def outer (n: i64) (c: i64) : i64 = if n == 0 then c else outer (n - 1) c + inner n
-- ==
-- entry: outers
-- input { 4i64 2i64 } output { 58i64 }
entry outers n c = outer n c
def loops (n: i64) : i64 =
  if n == 0 then 1 else
  let (s, _) = loop (s, k) = (0, 0) while s < 10 do (s + loops (n - 1), k + 1)
  in loop acc = s for i < n do if i % 2 == 0 then acc + loops (n - 1 - i) else acc * 2
-- ==
-- entry: looped
-- input { 2i64 } output { 44i64 }
entry looped n = loops n
-- ==
-- entry: main
-- input { 5i64 } output { 120i64 }
def main (n: i64) : i64 = if n == 0 then 1 else n * main (n - 1)
def rec' (p: {x: i32, y: [2]f32}) : {x: i32, y: [2]f32} = if p.x == 0 then p else let q = rec' (p with x = p.x - 1) in {x = q.x, y = map (+ 1) q.y}
-- ==
-- entry: recs
-- input { 3 } output { 0 [3f32, 5f32] }
entry recs (x: i32) = rec' {x, y = [0, 2]}
def red (n: i64) : i64 = if n <= 1 then 1 else reduce (\a b -> a + b + 0 * red (n - 2)) 0 (map red (iota n))
-- ==
-- entry: reds
-- input { 4i64 } output { 8i64 }
entry reds n = red n
def cons [n] (xs: [n]i32) (k: i32) : ?[m].[m]i32 = if k == 0 then xs else cons (xs ++ [k]) (k - 1)
-- ==
-- entry: conss
-- input { 3 } output { [0,3,2,1] }
entry conss k = cons [0] k
module m = { def f (x: i32) : i32 = if x > 100 then x else f (x * 2) }
-- ==
-- entry: mods
-- input { 3 } output { 192 }
entry mods x = m.f x
module mk (P: {val k : i32}) = { def g (x: i32) : i32 = if x > P.k then x else 1 + g (x + P.k) }
module m5 = mk {def k = 5i32}
-- ==
-- entry: funs
-- input { 1 } output { 7 }
entry funs x = m5.g x
def bump [n] (i: i64) (xs: *[n]i32) : *[n]i32 = if i >= n then xs else let ys = bump (i + 1) (xs with [i] = xs[i] + 1) in ys with [i] = ys[i] * 2
-- ==
-- entry: e1
-- input { [1,2,3] } output { [4,6,8] }
entry e1 (xs: *[]i32) = bump 0 xs
def perms (k: i64) (xs: []i32) : [](i32, bool) = if k == 0 then [(i32.sum xs, true)] else (perms (k - 1) xs) ++ perms (k - 1) (map (* 2) xs)
-- ==
-- entry: e2
-- input { 2i64 [1,2] } output { [3,6,6,12] }
entry e2 k xs = map (.0) (perms k xs)
def mat [n][m] (d: i32) (xss: [n][m]f16) : [m][n]f16 = if d == 0 then transpose xss else transpose (transpose (mat (d - 1) (map (map (+ 1)) xss)))
-- ==
-- entry: e3
-- input { 2 [[1f16,2f16,3f16]] } output { [[3f16],[4f16],[5f16]] }
-- input { 1 empty([0][2]f16) } output { empty([2][0]f16) }
entry e3 d (xss: [][]f16) = mat d xss
type expr = #num i32 | #var | #pair i32 i32
def ev (n: i32) (e: expr) : expr = match e case #num k -> if k > n then e else ev n (#num (k + n)) case #var -> (match ev (n - 1) (#num 1) case #num z -> #pair z n case _ -> #var) case #pair a b -> if a < 10 then ev n (#pair (a + b) b) else #num a
-- ==
-- entry: e4
-- input { 3 } output { 3 3 }
entry e4 n = match ev n #var case #pair a b -> (a, b) case #num k -> (k, -1) case #var -> (-1, -1)
def collatz (n: u64) (steps: i32) : i32 = if n == 1 then steps else if n % 2 == 0 then collatz (n / 2) (steps + 1) else collatz (3 * n + 1) (steps + 1)
-- ==
-- entry: e5
-- input { [1u64, 3u64, 6u64] } output { [0, 7, 8] }
entry e5 (xs: []u64) = map (\x -> collatz x 0) xs
def hanoi (n: i32) (a: i32) (b: i32) (c: i32) : [](i32, i32) = if n == 0 then [] else hanoi (n - 1) a c b ++ [(a, c)] ++ hanoi (n - 1) b a c
-- ==
-- entry: e6
-- input { 2 } output { [1,1,2] [2,3,3] }
entry e6 n = unzip (hanoi n 1 2 3)
def parity (n: i64) (flag: bool) : bool = if n == 0 then flag else parity (n - 1) (!flag)
-- ==
-- entry: e7
-- input { 7i64 } output { false }
entry e7 n = parity n true
def below [n] (xs: [n]i64) : i64 = loop acc = 0 for x in xs do if x <= 0 then acc else acc + x + below (iota x)
-- ==
-- entry: e8
-- input { [3i64, 2i64] } output { 10i64 }
entry e8 xs = below xs
def wh (n: i64) : i64 = (loop (i, s) = (0, 0) while i < n do (i + 1, s + 1 + wh i)).1
-- ==
-- entry: e9
-- input { 5i64 } output { 31i64 }
entry e9 n = wh n
def pw 'a (op: a -> a -> a) (ne: a) (x: a) (n: i32) : a = if n == 0 then ne else if n % 2 == 1 then op x (pw op ne x (n - 1)) else let h = pw op ne x (n / 2) in op h h
-- ==
-- entry: e11
-- input { 5 } output { 32 3.0 }
entry e11 n = (pw (*) 1 2i32 n, pw (\a b -> f64.max a b) 0 3f64 n)
def cap (k: i32) (n: i64) (f: i64 -> i64) : i64 = if n <= 0 then i64.i32 k else f n + cap k (n - 1) f + cap (k + 1) (n - 2) f
-- ==
-- entry: e12
-- input { 4i64 2i64 } output { 52i64 }
entry e12 n m = let t = m * 2 in cap 0 n (\x -> x + t)
def nest (n: i64) : [2]i64 = if n == 0 then [0, 1] else let a = nest (n - 1) in [a[1], a[0] + a[1]]
-- ==
-- entry: e13
-- input { [3i64, 5i64] } output { [[2i64,3i64],[5i64,8i64]] }
entry e13 ns = map nest ns
def st (n: i64) : i64 = #[sequential] if n <= 0 then 1 else i64.sum (scan (+) 0 (map (\i -> st (n - 2 - i)) (iota n)))
-- ==
-- entry: e14
-- input { 3i64 } output { 6i64 }
entry e14 n = st n
def down (n: i64) : i64 = 1 + down (n - 1)
def bad [n] (xs: [n]i32) (i: i64) : i32 = xs[i] + bad xs (i + 1)
def forever (n: i64) : i64 = if n < 0 then 0 else forever (n + 1 - 1)
-- ==
-- entry: downs
-- input { 1i64 } error: nest deeper than 100,000
entry downs n = down n
-- ==
-- entry: bads
-- input { [1,2,3] } error: out of bounds
entry bads (xs: []i32) = bad xs 0
