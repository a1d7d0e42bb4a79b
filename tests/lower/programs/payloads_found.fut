-- Programs that once broke a pass, as random programs found them.

-- An array behind a check of `false`.
def of_11_small_any (o: #trio ([3]i64) | #more ([]i64) | #zero): i64 = match o case #trio t -> t[0] * t[2] case #more xs -> i64.sum xs case #zero -> -1
def of_11_small_total [m] (o: #trio ([3]i64) | #more ([m]i64) | #zero): i64 = match o case #trio t -> t[0] * t[2] case #more xs -> i64.sum xs case #zero -> -1
def of_11_small_plus [m] (a: #trio ([3]i64) | #more ([m]i64) | #zero) (b: #trio ([3]i64) | #more ([m]i64) | #zero): (#trio ([3]i64) | #more ([m]i64) | #zero) =
  match (a, b) case (#zero, y) -> y case (x, _) -> x
def of_11_small_same 'a (keep: bool) (o: a) (other: a): a = if keep then o else other
def of_11_rows_any (o: #grid ([3][]i64) | #pairs ([](i64, bool)) | #zero): i64 = match o case #grid m -> i64.sum (flatten m) case #zero -> -1 case #pairs ps -> i64.sum (map (\(q, b) -> if b then q else -q) ps)
def of_11_rows_total [m] (o: #grid ([3][m]i64) | #pairs ([m](i64, bool)) | #zero): i64 = match o case #grid m -> i64.sum (flatten m) case #zero -> -1 case #pairs ps -> i64.sum (map (\(q, b) -> if b then q else -q) ps)
def of_11_rows_plus [m] (a: #grid ([3][m]i64) | #pairs ([m](i64, bool)) | #zero) (b: #grid ([3][m]i64) | #pairs ([m](i64, bool)) | #zero): (#grid ([3][m]i64) | #pairs ([m](i64, bool)) | #zero) =
  match (a, b) case (#zero, y) -> y case (x, _) -> x
def of_11_rows_same 'a (keep: bool) (o: a) (other: a): a = if keep then o else other
def of_11_two_any (o: #left ([]i64) | #right i64 ([]i64) | #zero): i64 = match o case #left xs -> i64.sum xs case #right x ys -> x - i64.sum ys case #zero -> -1
def of_11_two_total [m] (o: #left ([m]i64) | #right i64 ([m]i64) | #zero): i64 = match o case #left xs -> i64.sum xs case #right x ys -> x - i64.sum ys case #zero -> -1
def of_11_two_plus [m] (a: #left ([m]i64) | #right i64 ([m]i64) | #zero) (b: #left ([m]i64) | #right i64 ([m]i64) | #zero): (#left ([m]i64) | #right i64 ([m]i64) | #zero) =
  match (a, b) case (#zero, y) -> y case (x, _) -> x
def of_11_two_same 'a (keep: bool) (o: a) (other: a): a = if keep then o else other
entry of_11 [n] (c: i64) (k: i64) (xs: [n]i64) =
  let r0 = let os = map (\i -> ((if 0 <= k && k <= 20 then (#trio [i, 1, i + 2]) else #zero): #trio ([3]i64) | #more ([k]i64) | #zero)) xs in of_11_small_total (if n > 1 then os[n - 1] else ((if (length xs + 2) % 3 == 0 then (if 0 <= k && k <= 20 then (#trio [c, 1, c + 2]) else #zero) else (if 0 <= k && k <= 20 then (#trio [c, 1, c + 2]) else #zero)): #trio ([3]i64) | #more ([k]i64) | #zero))
  let r1 = let os = map (\i -> (#zero: #grid ([3][n]i64) | #pairs ([n](i64, bool)) | #zero)) xs in of_11_rows_total (reduce of_11_rows_plus #zero os)
  let r2 = of_11_rows_total (loop (s: #grid ([3][n]i64) | #pairs ([n](i64, bool)) | #zero) = #zero for j < c do match s case #zero -> (match j % 3 case 0 -> (#grid (replicate 3 (iota n))) case 1 -> #zero case _ -> #zero)  case o -> if j % 2 == 0 then o else (if (c + 0) % 2 == 0 then #zero else #zero))
  let r3 = of_11_two_total (loop (s: #left ([n]i64) | #right i64 ([n]i64) | #zero) = #zero for j < c do match s case #zero -> (match j % 3 case 0 -> #zero case 1 -> #zero case _ -> #zero)  case o -> if j % 2 == 0 then o else (if (c + 2) % 2 == 0 then #zero else #zero))
  in (r0, r1, r2, r3)

-- A reshape in a block with other strides.
def of_139_opt_any (o: #none | #some ([]i64)): i64 = match o case #none -> -1 case #some xs -> i64.sum xs + 100 * length xs
def of_139_opt_total [m] (o: #none | #some ([m]i64)): i64 = match o case #none -> -1 case #some xs -> i64.sum xs + 100 * length xs
def of_139_opt_plus [m] (a: #none | #some ([m]i64)) (b: #none | #some ([m]i64)): (#none | #some ([m]i64)) =
  match (a, b) case (#none, y) -> y case (#some x, #some y) -> #some (map2 (+) x y) case (x, _) -> x
def of_139_opt_same 'a (keep: bool) (o: a) (other: a): a = if keep then o else other
def of_139_rows_any (o: #grid ([3][]i64) | #pairs ([](i64, bool)) | #zero): i64 = match o case #grid m -> i64.sum (flatten m) case #zero -> -1 case #pairs ps -> i64.sum (map (\(q, b) -> if b then q else -q) ps)
def of_139_rows_total [m] (o: #grid ([3][m]i64) | #pairs ([m](i64, bool)) | #zero): i64 = match o case #grid m -> i64.sum (flatten m) case #zero -> -1 case #pairs ps -> i64.sum (map (\(q, b) -> if b then q else -q) ps)
def of_139_rows_plus [m] (a: #grid ([3][m]i64) | #pairs ([m](i64, bool)) | #zero) (b: #grid ([3][m]i64) | #pairs ([m](i64, bool)) | #zero): (#grid ([3][m]i64) | #pairs ([m](i64, bool)) | #zero) =
  match (a, b) case (#zero, y) -> y case (x, _) -> x
def of_139_rows_same 'a (keep: bool) (o: a) (other: a): a = if keep then o else other
entry of_139 [n] (c: i64) (k: i64) (xs: [n]i64) =
  let r0 = let os = map (\i -> ((#some (map (+ i) (iota n))): #none | #some ([n]i64))) xs in map of_139_opt_total (scatter (replicate 4 (#none: #none | #some ([n]i64))) (map (% 5) (iota n)) os)
  let r1 = of_139_opt_any (loop (s: #none | #some ([]i64)) = #none for j < c do match s case #none -> (if (k % 7 + 0) % 3 == 0 then (#some (replicate (j % 4 + 4) j)) else (if 0 <= k && k <= 20 then (#some (map (+ j) (iota k))) else #none)) case #some ys -> #some (ys ++ [j]))
  let r2 = let os = map (\i -> ((if 0 <= k && k <= 20 then (#grid (replicate 3 (iota k))) else #zero): #grid ([3][k]i64) | #pairs ([k](i64, bool)) | #zero)) xs in map (\o -> of_139_rows_total (of_139_rows_plus o ((if (length xs + 2) % 2 == 0 then (if 0 <= k && k <= 20 then (#grid (replicate 3 (replicate k c))) else #zero) else (match c % 3 case 0 -> (if 0 <= k && k <= 20 then (#grid (replicate 3 (replicate k c))) else #zero) case 1 -> #zero case _ -> (if 0 <= k && k <= 20 then (#pairs (map (\q -> (q, q % 2 == 0)) (map (+ c) (iota k)))) else #zero))): #grid ([3][k]i64) | #pairs ([k](i64, bool)) | #zero))) os
  in (r0, r1, r2)

-- A result that is another's alias.
def of_283_small_any (o: #trio ([3]i64) | #more ([]i64) | #zero): i64 = match o case #trio t -> t[0] * t[2] case #more xs -> i64.sum xs case #zero -> -1
def of_283_small_total [m] (o: #trio ([3]i64) | #more ([m]i64) | #zero): i64 = match o case #trio t -> t[0] * t[2] case #more xs -> i64.sum xs case #zero -> -1
def of_283_small_plus [m] (a: #trio ([3]i64) | #more ([m]i64) | #zero) (b: #trio ([3]i64) | #more ([m]i64) | #zero): (#trio ([3]i64) | #more ([m]i64) | #zero) =
  match (a, b) case (#zero, y) -> y case (x, _) -> x
def of_283_small_same 'a (keep: bool) (o: a) (other: a): a = if keep then o else other
entry of_283 [n] (c: i64) (k: i64) (xs: [n]i64) =
  let r0 = let os = map (\i -> ((match i % 3 case 0 -> (if (length xs + 0) % 2 == 0 then (#trio [i, 1, i + 2]) else #zero) case 1 -> #zero case _ -> (if (k % 7 + 2) % 2 == 0 then #zero else #zero)): #trio ([3]i64) | #more ([3]i64) | #zero)) xs in map of_283_small_total os
  let r1 = let os = map (\i -> ((match i % 3 case 0 -> (if (c + 0) % 3 == 0 then #zero else (#trio [i, 1, i + 2])) case 1 -> #zero case _ -> #zero): #trio ([3]i64) | #more ([3]i64) | #zero)) xs in i64.sum (map (\j -> of_283_small_total (loop o = ((if (c + 2) % 3 == 0 then #zero else (match c % 3 case 0 -> #zero case 1 -> #zero case _ -> #zero)): #trio ([3]i64) | #more ([3]i64) | #zero) for i < j % 3 do of_283_small_plus o ((if (c + 2) % 3 == 0 then #zero else (match c % 3 case 0 -> #zero case 1 -> #zero case _ -> #zero)): #trio ([3]i64) | #more ([3]i64) | #zero))) xs)
  in (r0, r1)
