-- Five copies that stay, each for another reason
-- None of these arrays can be built where it ends up. The proof pane says why not, and what it lacked.
-- group: Memory
-- order: 89
-- look: shortcircuit/proof {xs with [0:n] = new}: five attempts that fail, each at another condition
-- ==
-- entry: read_later
-- input { [[1i32, 2i32], [3i32, 4i32]] }
-- output { [[4i32, 5i32], [3i32, 4i32]] 3i32 }
-- ==
-- entry: does_not_fit
-- input { [1i32, 2i32, 3i32] [0i32, 0i32, 0i32] }
-- output { [3i32, 6i32, 0i32] }
-- ==
-- entry: place_from_source
-- input { [[0i32, 0i32], [0i32, 0i32]] [1i32, 1i32] }
-- output { [[0i32, 0i32], [1i32, 2i32]] }
-- ==
-- entry: threads_meet
-- input { [1i32, 2i32, 3i32] }
-- output { [4i32, 4i32, 4i32] }
-- ==
-- entry: used_afterwards
-- input { [[1i32, 2i32], [3i32, 4i32]] 1i64 }
-- output { [[0i32, 1i32], [3i32, 4i32]] 1i32 }

-- The row that is overwritten is read after the new one has been computed.
entry read_later [n] [m] (xss: *[n][m]i32) : (*[n][m]i32, i32) =
  let row = map (+ 1) xss[1]
  let old = i32.sum xss[0]
  in (xss with [0] = row, old)

-- There are n sums, and only two of them are used: there is no room for all.
entry does_not_fit [n] (xs: [n]i32) (ys: *[n]i32) : *[n]i32 =
  let sums = scan (+) 0 xs
  in ys with [0:2] = sums[1:3]

-- Which row it is, is known only when the row is there.
entry place_from_source [n] [m] (xss: *[n][m]i32) (steps: [m]i32) : *[n][m]i32 =
  let row = scan (+) 0 steps
  in xss with [i64.i32 row[0]] = row

-- Each element is made from two, one of which another thread would have overwritten.
entry threads_meet [n] (xs: *[n]i32) : *[n]i32 =
  let new = map (\i -> xs[i] + xs[n - 1 - i]) (iota n)
  in xs with [0:n] = new

-- The row is needed after it has been put into the matrix, which might have changed by then.
entry used_afterwards [n] [m] (xss: *[n][m]i32) (j: i64) : (*[n][m]i32, i32) =
  let row = scan (+) 0 (map i32.i64 (iota m))
  let new = xss with [0] = row
  in (new, row[j])
