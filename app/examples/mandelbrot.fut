-- Mandelbrot set
-- A while loop in each thread: how long it runs differs from point to point.
-- group: Parallelism
-- order: 130
-- look: flat {loop (z, steps) = ((0, 0), 0) while steps < limit && norm z <= 4 do}: one kernel, with a sequential loop inside
-- look: c {loop (z, steps) = ((0, 0), 0) while steps < limit && norm z <= 4 do}: the loop, and no array but the result
-- ==
-- entry: main
-- input { 200i64 300i64 100i32 }
-- auto output
-- input { 3i64 5i64 50i32 }
-- output { [[1i32, 2i32, 3i32, 2i32, 2i32], [50i32, 50i32, 50i32, 50i32, 3i32], [1i32, 2i32, 3i32, 2i32, 2i32]] }

type complex = (f64, f64)

def add (a: complex) (b: complex) : complex = (a.0 + b.0, a.1 + b.1)
def square (a: complex) : complex = (a.0 * a.0 - a.1 * a.1, 2 * a.0 * a.1)
def norm (a: complex) : f64 = a.0 * a.0 + a.1 * a.1

def escape (limit: i32) (c: complex) : i32 =
  let (_, steps) =
    loop (z, steps) = ((0, 0), 0) while steps < limit && norm z <= 4 do
      (add (square z) c, steps + 1)
  in steps

entry main (height: i64) (width: i64) (limit: i32) : [height][width]i32 =
  let place low size count i = low + size * f64.i64 i / f64.i64 (i64.max 1 (count - 1))
  in tabulate_2d height width (\i j ->
       escape limit (place (-2) 3 width j, place (-1.2) 2.4 height i))
