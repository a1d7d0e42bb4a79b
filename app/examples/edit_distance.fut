-- Edit distance
-- Cells of one anti-diagonal do not depend on each other: a parallel step for each diagonal.
-- group: Stencils
-- order: 150
-- look: fused {tabulate (n + 1) (\i -> at d i older newer)}: what is left of one step
-- look: flat {tabulate (n + 1) (\i -> at d i older newer)}: one kernel for each diagonal, inside a loop of the host
-- ==
-- entry: main
-- input { [107u8, 105u8, 116u8, 116u8, 101u8, 110u8] [115u8, 105u8, 116u8, 116u8, 105u8, 110u8, 103u8] }
-- output { 3i32 }
-- input { empty([0]u8) [1u8, 2u8] }
-- output { 2i32 }
-- random input { [1000]u8 [800]u8 }
-- auto output

-- Diagonal d holds the cells (i, d - i); a cell outside the table is larger than any distance.
entry main [n] [m] (a: [n]u8) (b: [m]u8) : i32 =
  let far = i32.i64 (n + m + 1)
  let at d i (older: [n + 1]i32) (newer: [n + 1]i32) =
    let j = d - i
    in if j < 0 || j > m then far
       else if i == 0 then i32.i64 j
       else if j == 0 then i32.i64 i
       else let change = if a[i - 1] == b[j - 1] then 0 else 1
            in i32.min (older[i - 1] + change) (1 + i32.min newer[i - 1] newer[i])
  let nothing = replicate (n + 1) far
  let (_, last) =
    loop (older, newer) = (nothing, nothing) for d < n + m + 1 do
      (newer, tabulate (n + 1) (\i -> at d i older newer))
  in last[n]
