-- Needleman-Wunsch in blocks, one anti-diagonal of blocks after another
-- Slices by LMADs cut out what the blocks of a wave need and put their cells back: nothing is copied.
-- group: Memory
-- order: 86
-- look: soa {lmad_slice_3d similar (start + n + 1) (next, n, 1) count b b}: slices with an offset, and a size and a stride for each dimension
-- look: shortcircuit/proof {lmad_update_3d table (start + n + 1) (next, n, 1) blocks}: blocks written into the table that their neighbours are read from
-- ==
-- entry: main
-- input { 2i64 1i32 [[0i32, 0i32, 0i32], [0i32, 2i32, -1i32], [0i32, -1i32, 2i32]] [[0i32, -1i32, -2i32], [-1i32, 0i32, 0i32], [-2i32, 0i32, 0i32]] }
-- output { [[0i32, -1i32, -2i32], [-1i32, 2i32, 1i32], [-2i32, 1i32, 4i32]] }
-- input { 1i64 2i32 [[0i32, 0i32, 0i32, 0i32], [0i32, 3i32, -1i32, -1i32], [0i32, -1i32, -1i32, 3i32], [0i32, -1i32, 3i32, -1i32]] [[0i32, -2i32, -4i32, -6i32], [-2i32, 0i32, 0i32, 0i32], [-4i32, 0i32, 0i32, 0i32], [-6i32, 0i32, 0i32, 0i32]] }
-- output { [[0i32, -2i32, -4i32, -6i32], [-2i32, 3i32, 1i32, -1i32], [-4i32, 1i32, 2i32, 4i32], [-6i32, -1i32, 4i32, 2i32]] }

-- The cells of a block, from those above it, those before it, and how similar the elements are.
def block [b] (gap: i32) (above: [b + 1]i32) (before: [b]i32) (similar: [b][b]i32) : [b][b]i32 =
  loop cells = replicate b (replicate b 0) for r < b do
    loop cells for c < b do
      let up = if r == 0 then above[c + 1] else cells[r - 1, c]
      let left = if c == 0 then before[r] else cells[r, c - 1]
      let corner =
        if r == 0 then above[c] else if c == 0 then before[r - 1] else cells[r - 1, c - 1]
      in cells with [r, c] = i32.max (corner + similar[r, c]) (i32.max up left - gap)

-- A wave: `count` blocks, each one row of blocks below the last one and one column to the left.
-- `start` is the cell above and before the first.
def wave [l] (n: i64) (b: i64) (gap: i32) (similar: [l]i32) (start: i64) (count: i64)
         (table: *[l]i32) : *[l]i32 =
  let next = n * b - b
  let above = lmad_slice_2d table start (next, 1) count (b + 1)
  let before = lmad_slice_2d table (start + n) (next, n) count b
  let similar = lmad_slice_3d similar (start + n + 1) (next, n, 1) count b b
  let blocks = map3 (block gap) above before similar
  in lmad_update_3d table (start + n + 1) (next, n, 1) blocks

entry main [n] (b: i64) (gap: i32) (similar: [n][n]i32) (table: *[n][n]i32) : *[n][n]i32 =
  let q = (n - 1) / b
  let table = flatten (assert (n == q * b + 1) table)
  let wave = wave n b gap (flatten similar)
  let table = loop table for i < q do wave (i * b) (i + 1) table
  let table = loop table for i < q - 1 do wave (((i + 1) * n + q - 1) * b) (q - 1 - i) table
  in unflatten table
