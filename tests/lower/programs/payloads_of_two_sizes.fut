-- Branches and loops whose variants hold arrays of different sizes.
type opt 'a = #none | #some a
def t (o: opt ([]i64)) : i64 = match o case #some xs -> i64.sum xs * 10 + length xs case #none -> -1

-- ==
-- entry: two
-- input { true 3i64 }
-- output { 33i64 }
-- input { false 3i64 }
-- output { 64i64 }
entry two (c: bool) (n: i64) = t (if c then #some (iota n) else #some (iota (n + 1)))

-- ==
-- entry: three
-- input { 0i64 3i64 }
-- output { -1i64 }
-- input { 1i64 3i64 }
-- output { 33i64 }
-- input { 2i64 3i64 }
-- output { 64i64 }
entry three (c: i64) (n: i64) =
  t (match c case 0 -> #none case 1 -> #some (iota n) case _ -> #some (iota (n + 1)))

-- ==
-- entry: letb
-- input { true 3i64 }
-- output { 3i64 }
-- input { false 3i64 }
-- output { 4i64 }
entry letb (c: bool) (n: i64) =
  let o: opt ([]i64) = if c then #some (iota n) else #some (iota (n + 1))
  in match o case #some xs -> length xs case #none -> 0

def mk (c: bool) (n: i64) : {a: opt ([]i64), b: []i64} =
  if c then {a = #none, b = iota n} else {a = #some (iota (n + 1)), b = iota 2}

-- ==
-- entry: rec
-- input { true 3i64 }
-- output { -997i64 }
-- input { false 3i64 }
-- output { 64002i64 }
entry rec (c: bool) (n: i64) = let {a, b} = mk c n in t a * 1000 + length b

def nst (c: bool) (n: i64) : opt (opt ([]i64), []i64) =
  if c then #some (#some (iota n), iota 3) else #some (#none, iota n)

-- ==
-- entry: nest
-- input { true 3i64 }
-- output { 3303i64 }
-- input { false 3i64 }
-- output { -97i64 }
entry nest (c: bool) (n: i64) =
  match nst c n case #none -> -5 case #some (o, xs) -> t o * 100 + length xs

def lrf (c: bool) (n: i64) : (#l ([]i64) ([]i64) | #r ([]f32)) =
  if c then #l (iota n) (iota 2) else if n > 3 then #r (replicate n 1) else #l (iota 2) (iota n)

-- ==
-- entry: lr
-- input { true 3i64 }
-- output { 32i64 }
-- input { false 3i64 }
-- output { 23i64 }
-- input { false 4i64 }
-- output { 104i64 }
entry lr (c: bool) (n: i64) =
  match lrf c n case #l a b -> length a * 10 + length b case #r x -> 100 + length x

-- ==
-- entry: carried
-- input { 4i64 }
-- output { 64i64 }
-- input { 0i64 }
-- output { -1i64 }
-- input { 1i64 }
-- output { 1i64 }
entry carried (n: i64) : i64 =
  t (loop (s: opt ([]i64)) = #none
     for i < n do
       match s case #none -> #some [0] case #some xs -> #some (xs ++ [i]))

def un (n: i64) : opt ([]i64) =
  loop s = #none for i < n do match s case #none -> #some [0] case #some xs -> #some (xs ++ [i])

-- ==
-- entry: unannotated
-- input { 4i64 }
-- output { 64i64 }
entry unannotated (n: i64) = t (un n)

-- ==
-- entry: whil
-- input { 9i64 }
-- output { 176i64 }
entry whil (n: i64) =
  t (loop (s: opt ([]i64)) = #none
     while (match s case #none -> true case #some xs -> length xs < n) do
       match s case #none -> #some [1] case #some xs -> #some (xs ++ xs))

-- ==
-- entry: mapped
-- input { true 4i64 }
-- output { [0i64, 1i64, 12i64, 33i64] }
-- input { false 4i64 }
-- output { [11i64, 32i64, 63i64, 104i64] }
-- input { false 0i64 }
-- output { empty([0]i64) }
entry mapped (c: bool) (n: i64) =
  map (\i -> t (if c then #some (iota i) else #some (map (+ 1) (iota (i + 1))))) (iota n)

def g 'a (x: a) : opt a = #some x

-- ==
-- entry: generic
-- input { true 4i64 }
-- output { 64i64 }
-- input { false 4i64 }
-- output { 33i64 }
entry generic (c: bool) (n: i64) = t (if c then g (iota n) else #some (iota 3))
def f (n: i64) : opt ([]i64) = if n > 3 then #some (iota n) else #none

-- ==
-- entry: fun
-- input { 5i64 }
-- output { 64i64 }
-- input { 0i64 }
-- output { -1i64 }
entry fun (n: i64) = t (loop s = f n for i < n do f i)

-- ==
-- entry: keep
-- input { 5i64 3i64 }
-- output { 183i64 }
entry keep (n: i64) (k: i64) =
  t (loop (s: opt ([k]i64)) = #some (iota k)
     for i < n do
       match s case #none -> #none case #some xs -> if i == 7 then #none else #some (map (+ 1) xs))

def ar (c: bool) (n: i64) : [](opt ([]i64)) =
  if c then [#some (iota n), #none] else [#some (iota (n + 1))]

-- ==
-- entry: arrs
-- input { true 3i64 }
-- output { [33i64, -1i64] }
-- input { false 3i64 }
-- output { [64i64] }
entry arrs (c: bool) (n: i64) = map t (ar c n)

-- ==
-- entry: inmap
-- input { 4i64 5i64 }
-- output { [-1i64, 11i64, -1i64, 94i64, 104i64] }
-- input { 0i64 5i64 }
-- output { [-1i64, -1i64, -1i64, -1i64, -1i64] }
entry inmap (n: i64) (k: i64) =
  map (\j ->
         t (loop (s: opt ([]i64)) = #none
            for i < n do
              match s
              case #none -> #some [j]
              case #some xs -> if length xs > j then #none else #some (xs ++ [i])))
      (iota k)

-- ==
-- entry: filt
-- input { true [1i64, 4, 7] }
-- output { 112i64 }
-- input { false [1i64, 4, 7] }
-- output { 123i64 }
-- input { true empty([0]i64) }
-- output { 0i64 }
entry filt (c: bool) (xs: []i64) = let ys = filter (> 3) xs in t (if c then #some ys else #some xs)

-- A variant that is not chosen has an array of a number, which only the function says.
def pf [m] (o: #pairs ([m]i64) | #flags ([m]bool) ([2]f64)): i64 =
  match o case #pairs ps -> i64.sum ps case #flags bs fs -> i64.f64 fs[0]
def pf_rec [m] (c: i64) (o: #pairs ([m]i64) | #flags ([m]bool) ([2]f64)): i64 =
  if c > 2 then pf o else pf o + 1
-- ==
-- entry: fixed
-- input { 2i64 [1i64, 2i64] }
-- output { 3i64 }
-- input { 2i64 [1i64, 2i64, 3i64, 4i64] }
-- output { 1i64 }
entry fixed [n] (k: i64) (xs: [n]i64) =
  pf (if n > 3 then #pairs (iota k) else #pairs xs)
-- ==
-- entry: fixed_bound
-- input { 2i64 [1i64, 2i64] }
-- output { 4i64 }
-- input { 2i64 [1i64, 2i64, 3i64, 4i64] }
-- output { 2i64 }
entry fixed_bound [n] (k: i64) (xs: [n]i64) =
  let o = if n > 3 then #pairs (iota k) else #pairs xs in pf_rec k o
-- ==
-- entry: fixed_told
-- input { 2i64 [1i64, 2i64] }
-- output { 4i64 }
-- input { 2i64 [1i64, 2i64, 3i64, 4i64] }
-- output { 2i64 }
entry fixed_told [n] (k: i64) (xs: [n]i64) =
  let o = if n > 3 then #pairs (iota k) else #pairs xs
  let p: #pairs ([]i64) | #flags ([]bool) ([2]f64) = o in pf p + 1
-- ==
-- entry: fixed_mapped
-- input { 2i64 [1i64, 2i64] }
-- output { [3i64, 3i64] }
-- input { 2i64 [1i64, 2i64, 3i64, 4i64] }
-- output { [1i64, 1i64, 1i64, 1i64] }
entry fixed_mapped [n] (k: i64) (xs: [n]i64) =
  map (\_ -> pf (if n > 3 then #pairs (iota k) else #pairs xs)) xs
-- ==
-- entry: fixed_passed
-- input { 2i64 [1i64, 2i64] }
-- output { 3i64 }
entry fixed_passed [n] (k: i64) (xs: [n]i64) =
  let f o = pf o in f (if n > 3 then #pairs (iota k) else #pairs xs)
-- ==
-- entry: fixed_carried
-- input { 2i64 [1i64, 2i64] }
-- output { 5i64 }
entry fixed_carried [n] (k: i64) (xs: [n]i64) =
  pf (loop o = if n > 3 then #pairs (iota k) else #pairs xs for i < k do
           match o
           case #pairs ps -> #pairs (map (+ i) ps)
           case #flags bs fs -> #flags bs fs)
