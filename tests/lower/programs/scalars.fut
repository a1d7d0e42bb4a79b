-- ==
-- entry: arithmetic
-- input { 7i32 -2i32 }
-- output { -4i32 -1i32 -3i32 1i32 49i32 }
-- input { 7i32 0i32 }
-- error: division by zero
entry arithmetic (x: i32) (y: i32): (i32, i32, i32, i32, i32) =
  (x / y, x % y, x // y, x %% y, x ** 2)

-- ==
-- entry: power
-- input { 2i32 10i32 }
-- output { 1024i32 }
-- input { 2i32 -1i32 }
-- error: Negative exponent
entry power (x: i32) (y: i32): i32 = x ** y

-- ==
-- entry: logic
-- input { 3i64 [10i32, 20i32, 30i32] }
-- output { false }
-- input { 1i64 [10i32, 20i32, 30i32] }
-- output { true }
-- input { -1i64 [10i32, 20i32, 30i32] }
-- output { false }
entry logic [n] (i: i64) (xs: [n]i32): bool = 0 <= i && i < n && xs[i] == 20

-- ==
-- entry: either
-- input { 9i64 [1i32] }
-- output { true }
-- input { 0i64 [1i32] }
-- output { false }
entry either [n] (i: i64) (xs: [n]i32): bool = i >= n || xs[i] > 5

-- ==
-- entry: conversions
-- input { 300i32 }
-- output { 44u8 300.0f32 300i64 true 44i8 }
entry conversions (x: i32): (u8, f32, i64, bool, i8) =
  (u8.i32 x, f32.i32 x, i64.i32 x, bool.i32 x, i8.i32 x)

-- ==
-- entry: guarded
-- input { 10i32 0i32 }
-- output { 0i32 }
-- input { 10i32 3i32 }
-- output { 3i32 }
entry guarded (x: i32) (y: i32): i32 = if y == 0 then 0 else x / y

-- ==
-- entry: asserted
-- input { 3i32 }
-- output { 6i32 }
-- input { -3i32 }
-- error: Assertion is false
entry asserted (x: i32): i32 = assert (x > 0) (x * 2)

-- ==
-- entry: functions
-- input { 2.25f64 }
-- output { 1.5f64 3.0f64 }
entry functions (x: f64): (f64, f64) = (f64.sqrt x, f64.max 3 x)
