-- Functions that call themselves in all places where a call may stand, `n` calls deep.
def in_map (n: i64): i64 = if n == 0 then 0 else 1 + i64.sum (map (\x -> in_map x) [n - 1])
def in_for (n: i64): i64 = if n == 0 then 0 else loop s = 0 for _i < 1 do s + 1 + in_for (n - 1)
def in_while (n: i64): i64 =
  if n == 0 then 0 else (loop (s, i) = (0, 0) while i < 1 do (s + 1 + in_while (n - 1), i + 1)).0
def in_reduce (n: i64): i64 =
  if n == 0 then 0 else reduce (\a b -> a + b + 1 + in_reduce (n - 1)) 0 [0]
def in_scan (n: i64): i64 =
  if n == 0 then 0 else last (scan (+) 0 (map (\i -> 1 + in_scan (n - 1 - i)) (iota 1)))
def in_scatter (n: i64): i64 = if n == 0 then 0 else (scatter [0] [0] [1 + in_scatter (n - 1)])[0]
def in_hist (n: i64): i64 =
  if n == 0 then 0 else (reduce_by_index [0] (+) 0 [0] [1 + in_hist (n - 1)])[0]
def in_nest (n: i64): i64 =
  if n == 0 then 0 else (map (\x -> if x > 0 then 1 + (map in_nest [x - 1])[0] else 0) [n])[0]
type variant = #more i64 | #none
def in_case (v: variant): i64 =
  match v case #none -> 0 case #more n -> 1 + in_case (if n > 1 then #more (n - 1) else #none)
def in_guard (n: i64): bool = n == 0 || !(n > 0 && !(in_guard (n - 1)))
def in_rows (n: i64): []i64 = if n == 0 then [] else in_rows (n - 1) ++ [n]
def in_argument (n: i64): i64 = if n <= 0 then 0 else 1 + in_argument (n - 1 - in_argument (-n))
def in_lane (n: i64): i64 = if n == 0 then 0 else 1 + in_lane (n - 1)
def at_end (n: i64) (a: i64): i64 = if n == 0 then a else if n % 2 == 0 then at_end (n - 1) (a + 1) else at_end (n - 1) (1 + a)

entry map_ (n: i64) = in_map n
entry for_ (n: i64) = in_for n
entry while_ (n: i64) = in_while n
entry reduce_ (n: i64) = in_reduce n
entry scan_ (n: i64) = in_scan n
entry scatter_ (n: i64) = in_scatter n
entry hist (n: i64) = in_hist n
entry nest (n: i64) = in_nest n
entry case_ (n: i64) = in_case (if n > 0 then #more n else #none)
entry guard (n: i64) = if in_guard n then n else -1
entry rows (n: i64) = length (in_rows n)
entry argument (n: i64) = in_argument n
entry lanes (n: i64) = i64.maximum (map in_lane [n, n / 2, n / 3])
entry ends (n: i64) = at_end n 0
entry ends_in_lanes (n: i64) = i64.maximum (map (\k -> at_end k 0) [n / 3, n, n / 2])
