-- What variants hold, where they are chosen and where not: sizes that no array can have among them.
type opt 'a = #none | #some a

def total (o: opt ([]i64)) : i64 = match o case #none -> -1 case #some xs -> i64.sum xs

-- ==
-- entry: few
-- input { 1099511627776i64 }
-- output { -1i64 }
-- input { 3i64 }
-- output { 3i64 }
entry few (k: i64) : i64 = total (if k <= 1000 then #some (iota k) else #none)

-- ==
-- entry: safe
-- input { -1i64 }
-- output { -1i64 }
-- input { 4i64 }
-- output { 6i64 }
entry safe (k: i64) : i64 = total (if k >= 0 then #some (iota k) else #none)

-- ==
-- entry: rows
-- input { [1i64, 5, 9] 5i64 }
-- output { [10i64, -1i64, -1i64] }
entry rows [n] (ks: [n]i64) (m: i64) : [n]i64 =
  map (\k -> total (if m > k then #some (map (+ k) (iota (m - k))) else #none)) ks

-- ==
-- entry: stored
-- input { 7i64 5i64 }
-- output { [10i64, -1i64, -1i64, 25i64, -1i64, -1i64, 40i64] }
-- input { 7i64 1099511627776i64 }
-- output { [-1i64, -1i64, -1i64, -1i64, -1i64, -1i64, -1i64] }
-- input { 7i64 -5i64 }
-- output { [-1i64, -1i64, -1i64, -1i64, -1i64, -1i64, -1i64] }
-- input { 0i64 -5i64 }
-- output { empty([0]i64) }
entry stored (n: i64) (k: i64) : []i64 =
  let os =
    map (\i ->
           if i % 3 == 0 && 0 <= k && k <= 1000
           then #some (map (+ i) (iota k))
           else #none : opt ([k]i64))
        (iota n)
  in map total os

-- ==
-- entry: nested
-- input { 3i64 5i64 }
-- output { [19i64, 8i64, 19i64] }
-- input { 3i64 60i64 }
-- output { [-3i64, -3i64, -3i64] }
entry nested (n: i64) (k: i64) : []i64 =
  let os =
    map (\i ->
           map (\j -> if (i + j) % 2 == 0 && k < 50 then #some (iota k) else #none : opt ([k]i64))
               (iota 3))
        (iota n)
  in map (\row -> i64.sum (map total row)) os

-- ==
-- entry: together
-- input { true 5i64 }
-- output { 28i64 }
-- input { false 5i64 }
-- output { -4i64 }
entry together (c: bool) (k: i64) : i64 =
  let os = [#none, if c then #some (iota k) else #none] : [](opt ([k]i64))
  let more = replicate 2 (#none : opt ([k]i64))
  let more = if c then more with [1] = #some (map (* 2) (iota k)) else more
  in i64.sum (map total (os ++ more))

def plus [k] (a: opt ([k]i64)) (b: opt ([k]i64)) : opt ([k]i64) =
  match (a, b)
  case (#some x, #some y) -> #some (map2 (+) x y)
  case (#none, y) -> y
  case (x, #none) -> x

def some_of (n: i64) (k: i64) : [n](opt ([k]i64)) =
  map (\i -> if k < 1000 && i % 2 == 0 then #some (map (+ i) (iota k)) else #none) (iota n)

-- ==
-- entry: reduced
-- input { 7i64 5i64 }
-- output { 100i64 }
-- input { 7i64 5000i64 }
-- output { -1i64 }
-- input { 0i64 5i64 }
-- output { -1i64 }
entry reduced (n: i64) (k: i64) : i64 = total (reduce plus #none (some_of n k))

-- ==
-- entry: scanned
-- input { 7i64 5i64 }
-- output { [10i64, 10i64, 30i64, 30i64, 60i64, 60i64, 100i64] }
-- input { 7i64 5000i64 }
-- output { [-1i64, -1i64, -1i64, -1i64, -1i64, -1i64, -1i64] }
entry scanned (n: i64) (k: i64) : []i64 = map total (scan plus #none (some_of n k))

-- The operator makes what none of the elements holds.
--
-- ==
-- entry: made
-- input { 7i64 5i64 }
-- output { 10i64 }
-- input { 1i64 5i64 }
-- output { -1i64 }
entry made (n: i64) (k: i64) : i64 =
  let os = map (\i -> if i % 2 == 0 then #a else #b) (iota n)
  let op (x: #a | #b | #some ([k]i64)) (y: #a | #b | #some ([k]i64)) =
    match (x, y)
    case (#a, #a) -> #some (iota k)
    case (#b, y) -> y
    case (x, _) -> x
  in match reduce op #b os
     case #some xs -> i64.sum xs
     case #a -> -1
     case #b -> -2

-- ==
-- entry: binned
-- input { 7i64 3i64 }
-- output { [27i64, 12i64, 15i64] }
-- input { 7i64 -3i64 }
-- output { [-1i64, -1i64, -1i64] }
entry binned (n: i64) (k: i64) : []i64 =
  let os = map (\i -> if k > 0 && i > 2 then #some (replicate k i) else #none) (iota n)
  in map total (reduce_by_index (replicate 3 #none) plus #none (map (% 3) (iota n)) os)

-- ==
-- entry: scattered
-- input { 7i64 5i64 }
-- output { 26i64 }
-- input { 5i64 500i64 }
-- output { -5i64 }
entry scattered (n: i64) (k: i64) : i64 =
  let vs = map (\i -> if k < 100 then #some (map (* i) (iota k)) else #none) (iota 3)
  in i64.sum (map total (scatter (replicate n (#none : opt ([k]i64))) [0, 2, 4] vs))

def both [n] (a: opt ([n]i64)) (b: opt ([n]i64)) : i64 =
  match (a, b)
  case (#some x, #some y) -> i64.sum (map2 (*) x y)
  case (#some x, _) -> i64.sum x
  case (_, #some y) -> -i64.sum y
  case _ -> n

-- ==
-- entry: two
-- input { 0i64 5i64 }
-- output { 10i64 }
-- input { 1i64 5i64 }
-- output { 5i64 }
-- input { 2i64 5i64 }
-- output { 30i64 }
-- input { 3i64 5i64 }
-- output { -10i64 }
entry two (i: i64) (k: i64) : i64 =
  both (if i % 2 == 0 then #some (iota k) else #none) (if i > 1 then #some (iota k) else #none)

-- ==
-- entry: sums
-- input { 9i64 5i64 }
-- output { -1i64 }
-- input { 3i64 7i64 }
-- output { 21i64 }
-- input { 3i64 2i64 }
-- output { 301i64 }
entry sums (n: i64) (k: i64) : i64 =
  let x: opt (opt ([n]i64), [k]i64) =
    if n > 5
    then #none
    else if k > 5
    then #some (#none, iota k)
    else #some (#some (iota n), iota k)
  in match x
     case #none -> -1
     case #some (#none, ys) -> i64.sum ys
     case #some (#some xs, ys) -> i64.sum xs * 100 + i64.sum ys

def or [n] 'a (d: a) (o: opt ([n]a)) : [n]a = match o case #some x -> x case #none -> replicate n d

-- ==
-- entry: generic
-- input { 1i64 }
-- output { 5i64 }
-- input { 3i64 }
-- output { 3i64 }
entry generic (n: i64) : i64 = i64.sum (or 5 (if n > 2 then #some (iota n) else #none))

-- Arrays of a few elements lie in their slots in any case, outside of generic functions.
-- ==
-- entry: small
-- input { 5i64 }
-- output { [4i64, 7i64, 12i64, 7i64, 20i64] }
entry small (n: i64) : []i64 =
  let first 'a (o: opt ([3]a)) (d: a): opt a =
    match o case #some xs -> #some xs[0] case #none -> #some d
  let os = map (\i -> if i % 2 == 0 then #some [i, i + 1, i + 2] else #none) (iota n)
  let twice 'a (o: opt a): opt (a, a) = match o case #some x -> #some (x, x) case #none -> #none
  in map (\o ->
            match twice (o : opt ([3]i64))
            case #some (x, y) -> i64.sum x + y[1]
            case #none -> (match first o 7 case #some z -> z case #none -> -1))
         os

-- ==
-- entry: looped
-- input { 5i64 3i64 }
-- output { [24i64, 36i64, 15i64, 24i64, 36i64, 15i64, 24i64] }
-- input { 5i64 3000i64 }
-- output { [-1i64, -1i64, -1i64, -1i64, -1i64, -1i64, -1i64] }
entry looped (n: i64) (k: i64) : []i64 =
  map (\i ->
         total (loop (o: opt ([k]i64)) = #none
                for j < n do
                  if (i + j) % 3 == 0 && k < 1000
                  then #some (map (+ j) (iota k))
                  else match o case #none -> #none case #some xs -> #some (map (* 2) xs)))
      (iota 7)

-- ==
-- entry: until
-- input { 5i64 3i64 }
-- output { 12i64 }
entry until (n: i64) (k: i64) : i64 =
  let (o, _) =
    loop (o: opt ([k]i64), i) = (#none, 0)
    while i < n && (match o case #some xs -> i64.sum xs < 10 case #none -> true) do
      (match o case #none -> #some (iota k) case #some xs -> #some (map (+ 1) xs), i + 1)
  in total o

-- Several arrays in a variant, and arrays of arrays.
-- ==
-- entry: pairs
-- input { 4i64 3i64 }
-- output { 19i64 }
-- input { 4i64 -3i64 }
-- output { -1i64 }
entry pairs (n: i64) (k: i64) : i64 =
  let x: #both ([k](i64, f32)) ([n][k]i64) | #one ([k]i64) | #none =
    if k < 0
    then #none
    else if n > 5
    then #one (iota k)
    else #both (map (\i -> (i, 1.5)) (iota k)) (replicate n (iota k))
  in match x
     case #both ps m ->
       i64.sum (map (.0) ps) + i64.f32 (f32.sum (map (.1) ps)) + i64.sum (flatten m)
     case #one ys -> i64.sum ys
     case #none -> -1

-- A size that is a negative number in the program itself.
def from_zero (k: i64): (#some ([]i64) | #none) = if k >= 0 then #some (iota k) else #none
def from_minus_one = from_zero (-1)
-- ==
-- entry: negative_number
-- input { 4i64 }
-- output { 3i64 }
entry negative_number (n: i64) : i64 =
  match from_minus_one case #some xs -> i64.sum xs case #none -> n - 1

def of_size (k: i64) (i: i64): opt ([k]i64) = if k >= 0 then #some (map (+ i) (iota k)) else #none
def added [m] (a: opt ([m]i64)) (b: opt ([m]i64)): opt ([m]i64) =
  match (a, b) case (#none, y) -> y case (#some x, #some y) -> #some (map2 (+) x y) case (x, _) -> x
-- ==
-- entry: fold_of_negative_number
-- input { [3i64, 4i64] }
-- output { -1i64 [-1i64, -1i64, -1i64] }
entry fold_of_negative_number [n] (xs: [n]i64) : (i64, []i64) =
  let os = map (of_size (-3)) xs
  in (total (reduce added #none os), map total (scan added #none os ++ [of_size (-3) n]))
