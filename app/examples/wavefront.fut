-- Edit distance, one anti-diagonal after another
-- The whole table stays in one block: each anti-diagonal is built between the ones it is made from.
-- group: Memory
-- order: 84
-- look: funmem {map (\r -> step table (from + r * (w - 1)) r (i - r)) (iota (i + 1))}: an anti-diagonal in memory of its own, and a copy
-- look: shortcircuit/proof {table with [from : from + (i + 1) * (w - 1) : w - 1] = new}: three reads and a write to one block, proved to be apart
-- ==
-- entry: main
-- input { [1i32, 2i32, 3i32] [1i32, 3i32, 3i32] }
-- output { 1i32 }
-- input { [107i32, 105i32, 116i32, 116i32, 101i32, 110i32, 32i32] [115i32, 105i32, 116i32, 116i32, 105i32, 110i32, 103i32] }
-- output { 3i32 }
-- input { [7i32, 7i32] [8i32, 9i32] }
-- output { 2i32 }

entry main [n] (first: [n]i32) (second: [n]i32) : i32 =
  let w = n + 1
  -- Cell r*w + c is the distance of r elements of the first from c of the second.
  let border k = if k < w then k else if k % w == 0 then k / w else 0
  let start = tabulate (w * w) (\k -> i32.i64 (border k))
  let step (table: [w * w]i32) (at: i64) (r: i64) (c: i64) =
    let change = if first[r] == second[c] then 0 else 1
    in i32.min (table[at - w - 1] + change) (1 + i32.min table[at - w] table[at - 1])
  let upper =
    loop table = start for i < n do
      let from = w + i + 1
      let new = map (\r -> step table (from + r * (w - 1)) r (i - r)) (iota (i + 1))
      in table with [from : from + (i + 1) * (w - 1) : w - 1] = new
  let lower =
    loop table = upper for i < n - 1 do
      let from = (i + 2) * w + n
      let count = n - 1 - i
      let new = map (\r -> step table (from + r * (w - 1)) (i + 1 + r) (n - 1 - r)) (iota count)
      in table with [from : from + count * (w - 1) : w - 1] = new
  in lower[w * w - 1]
