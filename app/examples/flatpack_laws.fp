-- FlatPack: laws that save work
-- Only the last row is asked for. A law takes it before anything is computed, so that the other rows are
-- not computed at all; `--disable laws` shows what happens without.
-- group: FlatPack
-- order: 275
-- look: ast {last (map (\row -> row * row) table)}: a row of what is computed is computed of a row
-- look: fused {last (map (\row -> row * row) table)}: one loop, over one row
-- ==
-- random input { [9][4]f64 }
-- input { [[1.0, 2.0], [3.0, 4.0]] }
-- output { [9.0, 16.0] }

main (table : n Of m) = last (map (\row -> row * row) table)
