-- Three generations of index functions
-- What chains of transformations, compositions of LMADs and single LMADs can each say, and what they copy.
-- group: Memory
-- order: 91
-- look: funmem/layouts {flatten (transpose a)}: one LMAD cannot walk along columns, so the compiler copies; a chain or two LMADs could
-- look: funmem/layouts {rotate k flat}: a rotation is a part of a chain or a composition; a slice of it needs one more LMAD
-- look: funmem/layouts {if c then a[0] else a[n - 1]}: in every generation, the branches return a number instead of a copy
-- ==
-- entry: main
-- input { true 2i64 [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] }
-- output { [3i32, 7i32, 6i32] }
-- input { false 5i64 [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] }
-- output { [10i32, 6i32, 10i32] }
-- random input { true 7i64 [300][400]i32 }
-- auto output

entry main [n] [m] (c: bool) (k: i64) (a: [n][m]i32) : [m]i32 =
  let flat = flatten (transpose a)
  let window = (rotate k flat)[:m] :> [m]i32
  let row = if c then a[0] else a[n - 1]
  in map2 (+) window row
