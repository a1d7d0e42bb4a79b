-- What stands behind a guard is asked for only where the guard says so: alone, in chains, under `!`,
-- in branches, cases and loops, for one point and for many at once of which each has an answer of its own.

-- ==
-- entry: quotient remainder towards_zero sign_of_left both_sides_guarded
-- input { 1i64 0i64 } output { false }
-- input { 9i64 2i64 } output { true }
entry quotient (a: i64) (d: i64): bool = d != 0 && a / d < 5
entry remainder (a: i64) (d: i64): bool = d != 0 && a % d < 5
entry towards_zero (a: i64) (d: i64): bool = d != 0 && a // d < 5
entry sign_of_left (a: i64) (d: i64): bool = d != 0 && a %% d < 5
entry both_sides_guarded (a: i64) (d: i64): bool = (d != 0 && a / d < 5) && (d != 0 && a % d < 5)

-- ==
-- entry: or_quotient negated chain chain_of_or
-- input { 1i64 0i64 } output { true }
-- input { 9i64 2i64 } output { false }
entry or_quotient (a: i64) (d: i64): bool = d == 0 || a / d > 5
entry negated (a: i64) (d: i64): bool = !(d != 0 && a / d < 5)
entry chain (a: i64) (d: i64): bool = !(a > 0 && d != 0 && a / d > 1 && a % d < 3)
entry chain_of_or (a: i64) (d: i64): bool = a < 0 || d == 0 || a / d > 8 || a % d > 1

-- ==
-- entry: chosen chosen_other
-- input { 1i64 0i64 } output { true }
-- input { 9i64 2i64 } output { true }
-- input { 90i64 2i64 } output { false }
entry chosen (a: i64) (d: i64): bool = (if d != 0 then a / d else 0) < 5
entry chosen_other (a: i64) (d: i64): bool = (if d == 0 then 1 else a / d) < 5

-- ==
-- entry: unguarded
-- input { 1i64 0i64 } error: division by zero
-- input { 4i64 2i64 } output { true }
entry unguarded (a: i64) (d: i64): bool = a / d < 5 && d != 0

-- ==
-- entry: u8s
-- input { 7u8 0u8 } output { false true }
-- input { 7u8 7u8 } output { true false }
entry u8s (a: u8) (d: u8): (bool, bool) = (d != 0 && a / d < 5, d == 0 || a % d > 5)

-- Many points at once, of which some are guarded.
-- ==
-- entry: points points_of_or points_chosen
-- input { [6i64, 7i64, 8i64] [0i64, 2i64, 0i64] } output { [false, true, false] }
-- input { [6i64] [0i64] } output { [false] }
-- input { empty([0]i64) empty([0]i64) } output { empty([0]bool) }
entry points [n] (a: [n]i64) (d: [n]i64): [n]bool = map2 (\x y -> y != 0 && x / y > 2) a d
entry points_of_or [n] (a: [n]i64) (d: [n]i64): [n]bool = map2 (\x y -> !(y == 0 || x / y <= 2)) a d
entry points_chosen [n] (a: [n]i64) (d: [n]i64): [n]bool = map2 (\x y -> (if y != 0 then x / y else 0) > 2) a d

-- ==
-- entry: points_unguarded
-- input { [6i64, 7i64] [1i64, 0i64] } error: division by zero
entry points_unguarded [n] (a: [n]i64) (d: [n]i64): [n]bool = map2 (\x y -> x >= 0 && x / y > 2) a d

-- ==
-- entry: nested
-- input { [6i64, 7i64] [0i64, 2i64] } output { [[false, true], [false, true]] }
entry nested [n] [m] (a: [n]i64) (d: [m]i64): [n][m]bool =
  map (\x -> map (\y -> y != 0 && (x / y > 2 || (x > 5 && x % y == 1))) d) a

-- ==
-- entry: kept
-- input { [6i64, 7i64, 8i64, 9i64] [0i64, 2i64, 0i64, 3i64] } output { 2i64 3i64 }
entry kept [n] (a: [n]i64) (d: [n]i64): (i64, i64) =
  let kept = filter (\(x, y) -> y != 0 && x / y > 2) (zip a d)
  in (length kept, reduce i64.max 0 (map2 (\x y -> if y > 0 && x / y > 2 then x / y else 0) a d))

-- ==
-- entry: mixed_branches
-- input { [6i64, 7i64, 8i64] [0i64, 2i64, 4i64] } output { [-1i64, 1i64, 2i64] }
entry mixed_branches [n] (a: [n]i64) (d: [n]i64): [n]i64 =
  map2 (\x y -> if y == 0 then -1 else if y > 3 && x / y > 1 then x / y else x % y) a d

-- Loops whose condition is a guard.
-- ==
-- entry: search
-- input { [5i64, 3i64, 0i64] 3i64 } output { 1i64 }
-- input { [5i64, 3i64, 0i64] 9i64 } output { 3i64 }
-- input { empty([0]i64) 9i64 } output { 0i64 }
entry search [n] (xs: [n]i64) (x: i64): i64 = loop i = 0 while i < n && xs[i] != x do i + 1

-- ==
-- entry: searches
-- input { [5i64, 3i64, 0i64] [3i64, 9i64, 0i64] } output { [1i64, 3i64, 2i64] }
entry searches [n] [m] (xs: [n]i64) (ys: [m]i64): [m]i64 =
  map (\y -> loop i = 0 while i < n && xs[i] != y do i + 1) ys

-- ==
-- entry: shrinking
-- input { [40i64, 7i64, 0i64] [2i64, 0i64, 0i64] } output { [1i64, 7i64, 0i64] }
entry shrinking [n] (a: [n]i64) (d: [n]i64): [n]i64 =
  map2 (\x y -> loop x while y != 0 && x / y > 0 do x / y) a d

-- Indices, slices, sizes, shifts and assertions.
-- ==
-- entry: element part whole
-- input { [5i64, 3i64] 2i64 } output { false }
-- input { [5i64, 3i64] -1i64 } output { false }
-- input { [5i64, 3i64] 1i64 } output { true }
entry element [n] (xs: [n]i64) (i: i64): bool = 0 <= i && i < n && xs[i] > 2
entry part [n] (xs: [n]i64) (i: i64): bool = 0 <= i && i < n && i64.sum xs[i:] > 2
entry whole [n] (xs: [n]i64) (i: i64): bool = i == 1 && i64.sum (map2 (+) (xs :> [i + 1]i64) (iota (i + 1))) == 9

-- ==
-- entry: elements
-- input { [5i64, 3i64, 1i64] [2i64, -1i64, 3i64, 0i64] } output { [false, false, false, true] }
entry elements [n] [m] (xs: [n]i64) (is: [m]i64): [m]bool = map (\i -> i >= 0 && i < n && xs[i] > 2) is

-- ==
-- entry: parts
-- input { [5i64, 3i64, 1i64] [2i64, -1i64, 3i64, 0i64] } output { [1i64, -1i64, 0i64, 9i64] }
entry parts [n] [m] (xs: [n]i64) (is: [m]i64): [m]i64 =
  map (\i -> if i < 0 || i > n then -1 else #[sequential] i64.sum xs[i:]) is

-- ==
-- entry: asserted
-- input { [5i64, 3i64, -1i64] } output { [true, true, false] }
entry asserted [n] (xs: [n]i64): [n]bool = map (\x -> x > 0 && assert (x > 0) (x < 9)) xs

-- ==
-- entry: asserted_too_far
-- input { [5i64, 3i64, -1i64] } error: Assertion is false
entry asserted_too_far [n] (xs: [n]i64): [n]bool = map (\x -> x < 9 && assert (x > 0) true) xs

-- ==
-- entry: shifted
-- input { [1i64, 0i64] [64i64, 1i64] } output { [false, true] }
entry shifted [n] (xs: [n]i64) (by: [n]i64): [n]bool = map2 (\x k -> k < 64 && (x << k) / (2 - k) == 0) xs by

-- ==
-- entry: powers
-- input { [2i64, 3i64] [-1i64, 3i64] } output { [false, true] }
entry powers [n] (xs: [n]i64) (by: [n]i64): [n]bool = map2 (\x k -> k >= 0 && x ** k == 27) xs by

-- Conversions whose result is an index or a divisor.
-- ==
-- entry: converted
-- input { [0.25, 1.5, f64.nan, 9.0] } output { [false, true, false, false] }
entry converted [n] (xs: [n]f64): [n]bool =
  map (\x -> x < f64.i64 n && x >= 1.0 && n / i64.f64 x == n && xs[i64.f64 x] > 1) xs

-- Variants and their cases.
type shape = #none | #ratio i64 i64
def small (s: shape): bool = match s case #none -> false case #ratio a d -> d != 0 && a / d < 5
-- ==
-- entry: cases
-- input { [9i64, 9i64, 9i64] [-1i64, 0i64, 2i64] } output { [false, false, true] }
entry cases [n] (a: [n]i64) (d: [n]i64): [n]bool =
  map2 (\x y -> small (if y < 0 then #none else #ratio x y)) a d

-- Calls, and calls of itself.
def halves (n: i64): bool = n == 1 || (n > 1 && n % 2 == 0 && halves (n / 2))
def goes (n: i64) (d: i64): bool = n > 0 && (d == 0 || n / d > 0) && !(goes (n - 1) d && n % 2 == 0)
-- ==
-- entry: calls
-- input { [8i64, 12i64, 0i64] } output { [true, false, false] [true, true, false] }
entry calls [n] (xs: [n]i64): ([n]bool, [n]bool) = (map halves xs, map (\x -> x > 0 && !(goes x (x / 5))) xs)
