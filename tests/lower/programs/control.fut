-- ==
-- entry: branches
-- input { true [1i32, 2i32] }
-- output { [1i32, 2i32] }
-- input { false [1i32, 2i32] }
-- output { [1i32, 2i32, 1i32, 2i32] }
entry branches [n] (c: bool) (xs: [n]i32): []i32 = if c then xs else xs ++ xs

-- ==
-- entry: maybe_transposed
-- input { true [[1i32, 2i32], [3i32, 4i32]] }
-- output { [[1i32, 2i32], [3i32, 4i32]] }
-- input { false [[1i32, 2i32], [3i32, 4i32]] }
-- output { [[1i32, 3i32], [2i32, 4i32]] }
entry maybe_transposed [n] (c: bool) (a: [n][n]i32): [n][n]i32 = if c then a else transpose a

-- ==
-- entry: tuple_of_two_sizes
-- input { true [1i32, 2i32, 3i32] }
-- output { 1i32 [1i32] [1i32, 2i32] }
-- input { false [1i32, 2i32, 3i32] }
-- output { 2i32 [1i32, 2i32, 3i32] [3i32] }
entry tuple_of_two_sizes [n] (c: bool) (xs: [n]i32): (i32, []i32, []i32) =
  if c then (1, take 1 xs, take 2 xs) else (2, xs, drop 2 xs)

-- ==
-- entry: counted
-- input { 5i32 }
-- output { 10i32 }
-- input { -5i32 }
-- output { 0i32 }
entry counted (n: i32): i32 = loop s = 0 for i < n do s + i

-- ==
-- entry: bytes
-- input { 200u8 }
-- output { 19900i32 }
entry bytes (n: u8): i32 = loop s = 0 for i < n do s + i32.u8 i

-- ==
-- entry: over_rows
-- input { [[1i32, 2i32], [3i32, 4i32]] }
-- output { [4i32, 6i32] }
entry over_rows [n] [m] (xss: [n][m]i32): [m]i32 =
  loop acc = replicate m 0 for xs in xss do map2 (+) acc xs

-- ==
-- entry: over_pairs
-- input { [1i32, 2i32] [10i32, 20i32] }
-- output { 50i32 }
entry over_pairs [n] (xs: [n]i32) (ys: [n]i32): i32 =
  loop acc = 0 for (x, y) in zip xs ys do acc + x * y

-- ==
-- entry: collatz
-- input { 6i32 }
-- output { 8i32 1i32 }
entry collatz (n: i32): (i32, i32) =
  loop (steps, x) = (0, n) while x != 1 do
    (steps + 1, if x % 2 == 0 then x / 2 else 3 * x + 1)

-- ==
-- entry: search
-- input { [1i32, 5i32, 7i32] 5i32 }
-- output { 1i64 }
-- input { [1i32, 5i32, 7i32] 6i32 }
-- output { 3i64 }
entry search [n] (xs: [n]i32) (x: i32): i64 = loop i = 0 while i < n && xs[i] != x do i + 1

-- ==
-- entry: growing
-- input { 3i64 }
-- output { [0i64, 0i64, 1i64, 2i64] }
entry growing (n: i64): []i64 = loop xs = [0] for i < n do xs ++ [i]

-- ==
-- entry: doubling
-- input { 10i64 }
-- output { 16i64 }
entry doubling (n: i64): i64 =
  length (loop (xs: []i32) = [1] while length xs < n do xs ++ xs)

-- ==
-- entry: in_place
-- input { [3i32, 1i32, 2i32] }
-- output { [1i32, 2i32, 3i32] }
entry in_place [n] (xs: *[n]i32): [n]i32 =
  loop xs for i < n do
    loop xs for j < n - 1 do
      if xs[j] > xs[j + 1]
      then let tmp = xs[j]
           let xs[j] = xs[j + 1]
           let xs[j + 1] = tmp
           in xs
      else xs

-- ==
-- entry: fibonacci
-- input { 7i64 }
-- output { [1i32, 1i32, 2i32, 3i32, 5i32, 8i32, 13i32] }
entry fibonacci (n: i64): [n]i32 =
  loop xs = replicate n 1 for i < n - 2 do
    let xs[i + 2] = xs[i] + xs[i + 1]
    in xs
