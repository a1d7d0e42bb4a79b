-- Arrays that are new in the source and old ones in memory, where one of the two is overwritten.

def onto [n] (a: *[n]i32) (b: [n]i32) : *[n]i32 =
  loop a for i < n do a with [i] = b[n - 1 - i] * 2

-- ==
-- entry: given_with_itself
-- input { [1i32, 2i32, 3i32, 4i32] }
-- output { [8i32, 6i32, 4i32, 2i32] }
entry given_with_itself [n] (xs: *[n]i32) : *[n]i32 =
  let ys = map (\x -> x) xs
  in onto xs ys

-- ==
-- entry: given_away_twice
-- input { [1i32, 2i32, 3i32, 4i32] }
-- output { [8i32, 6i32, 4i32, 2i32] [1i32, 2i32, 3i32, 4i32] }
entry given_away_twice [n] (xs: *[n]i32) : ([n]i32, [n]i32) =
  let ys = map (\x -> x) xs
  in (onto xs ys, ys)

-- ==
-- entry: one_for_two_parameters
-- input { [1i32, 2i32, 3i32, 4i32] }
-- output { [4i32, 6i32, 3i32, 4i32] [3i32, 8i32, 3i32, 4i32] }
entry one_for_two_parameters [n] (xs: *[n]i32) : ([n]i32, [n]i32) =
  let ys = map (\x -> x) xs
  let zs = map (\x -> x) xs
  in loop (p: *[n]i32, q: *[n]i32) = (ys, zs) for i < 5 do
       (q with [0] = i32.i64 i, p with [1] = i32.i64 (2 * i))

-- ==
-- entry: handed_on
-- input { [1i32, 2i32, 3i32, 4i32] }
-- output { [1i32, 2i32, 3i32, 4i32] [4i32, 2i32, 3i32, 4i32] }
entry handed_on [n] (xs: *[n]i32) : ([n]i32, [n]i32) =
  loop (p: *[n]i32, _q: *[n]i32) = (copy xs, xs) for i < 5 do
    let r = map (\x -> x) p
    let p' = p with [0] = i32.i64 i
    in (r, p')

-- ==
-- entry: counted
-- input { [5i32, 6i32, 7i32] [2i64, 1i64, 0i64] }
-- output { [12i32, 12i32, 12i32] }
entry counted [n] (xs: *[n]i32) (is: [n]i64) : [n]i32 =
  reduce_by_index xs (+) 0 is (map (\x -> x) xs)

-- ==
-- entry: rows
-- input { [[1i32, 2i32], [3i32, 4i32]] [1i64, 0i64] }
-- output { [[3i32, 4i32], [1i32, 2i32]] [[1i32, 2i32], [3i32, 4i32]] }
entry rows [n] (xss: *[n][n]i32) (is: [n]i64) : ([n][n]i32, [n][n]i32) =
  let yss = map (\r -> map (\x -> x) r) xss
  in (scatter xss is yss, yss)

-- ==
-- entry: by_row
-- input { [[1i32, 2i32], [3i32, 4i32]] [1i64, 0i64] }
-- output { [[1i32, 2i32], [0i32, 4i32]] 10i32 }
entry by_row [n] (xss: *[n][n]i32) (is: [n]i64) : ([n][n]i32, i32) =
  let yss = map (\r -> r) xss
  let zss = map2 (\r i -> let r' = copy r in r' with [0] = i32.i64 i) yss is
  let xss = xss with [0, 0] = 9
  in (zss, yss[0, 0] + xss[0, 0])

type pair [n] = {a: [n]i32, b: [n]i32}

def swap [n] (p: pair [n]) : pair [n] = {a = p.b, b = p.a}

-- ==
-- entry: fields
-- input { [5i32, 6i32, 7i32] [2i64, 1i64, 0i64] }
-- output { [10i32, 12i32, 14i32] [0i32, 4i32, 0i32] }
entry fields [n] (xs: *[n]i32) (is: [n]i64) : ([n]i32, [n]i32) =
  let p = {a = map (\x -> x) xs, b = xs}
  let q = swap (copy p)
  let r = {a = map (\x -> x) xs, b = xs with [1] = i32.i64 is[0]}
  in (map2 (+) q.a q.b, map2 (-) r.a r.b)

-- ==
-- entry: nested
-- input { [5i32, 6i32, 7i32] [2i64, 1i64, 0i64] }
-- output { [[11i32, 12i32, 14i32], [10i32, 13i32, 14i32], [11i32, 12i32, 14i32]]
--          [10i32, 16i32, 7i32] }
entry nested [n] (xs: *[n]i32) (is: [n]i64) : ([n][n]i32, [n]i32) =
  let ys = map (\x -> x) xs
  let zss =
    map (\i ->
           let t = copy ys
           let u = map (\x -> x) t
           let v = loop t for k < 2 do if k == i then t with [k] = u[n - 1] else t with [0] = u[k]
           in map2 (+) v u)
        is
  let xs' =
    loop xs for i < n do
      if is[i] > 0 then let w = map (\x -> x) xs in xs with [i] = w[0] + ys[i] else xs
  in (zss, xs')

-- ==
-- entry: choose
-- input { [5i32, 6i32, 7i32] [2i64, 1i64, 0i64] }
-- output { [5i32, 6i32, 7i32] [9i32, 6i32, 7i32] }
-- input { [5i32, 6i32, 7i32] [0i64, 1i64, 0i64] }
-- output { [6i32, 7i32, 8i32] [9i32, 6i32, 7i32] }
-- input { [5i32, 6i32, 7i32] [0i64, 0i64, 0i64] }
-- output { [6i32, 7i32, 8i32] [6i32, 7i32, 8i32] }
entry choose [n] (xs: *[n]i32) (is: [n]i64) : ([n]i32, [n]i32) =
  let ys = if is[0] > 0 then map (\x -> x) xs else map (+ 1) xs
  let zs = if is[1] > 0 then (let q = xs with [0] = 9 in q) else ys
  in (ys, zs)

-- ==
-- entry: several
-- input { [5i32, 6i32, 7i32] [2i64, 1i64, 0i64] }
-- output { [1i32, 6i32, 7i32] [5i32, 2i32, 7i32] [5i32, 6i32, 7i32] }
entry several [n] (xs: *[n]i32) (is: [n]i64) : ([n]i32, [n]i32, [n]i32) =
  let (a, b, c) = (map (\x -> x) xs, map (\x -> x) xs, xs)
  in (a with [0] = 1, b with [1] = i32.i64 is[0], c)

-- ==
-- entry: carried
-- input { [5i32, 6i32, 7i32] [2i64, 1i64, 0i64] }
-- output { [7i32, 17i32, 30i32] [7i32, 17i32, 7i32] 37i32 }
entry carried [n] (xs: *[n]i32) (is: [n]i64) : ([n]i32, [n]i32, i32) =
  loop (a: *[n]i32, b, s) = (xs, map (\x -> x) xs, 0) for i < n do
    let s = s + b[i]
    let b' = map (\x -> x) a
    in (a with [i] = i32.i64 is[i] + s, b', s + b'[0])

-- ==
-- entry: while_it_lasts
-- input { [5i32, 6i32, 7i32] [2i64, 1i64, 0i64] }
-- output { [6i32, 7i32, 8i32] [6i32, 7i32, 7i32] 3i64 }
entry while_it_lasts [n] (xs: *[n]i32) (is: [n]i64) : ([n]i32, [n]i32, i64) =
  loop (a: *[n]i32, b: *[n]i32, k) = (map (\x -> x) xs, map (\x -> x) xs, 0)
  while k < n && is[k] < 5 do
    let c = map (\x -> x) b
    in (b with [k] = a[0] + 1, if k > 1 then c else a with [k] = 7, k + 1)
