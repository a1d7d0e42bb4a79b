-- FlatPack: rows that are kept
-- How many rows `Filter` keeps, only a run can tell: its size has no number before, and no other array
-- may be as long.
-- group: FlatPack
-- order: 245
-- look: typed {Filter row table (head row > 0)}: the result has a size that the program only then knows
-- look: flat {Filter row table (head row > 0)}: which rows, by a scan; then each goes to its place
-- ==
-- random input { [12][3]f64 }
-- input { [[1.0, 5.0], [-1.0, 100.0], [2.0, 7.0]] }
-- output { [3.0, 12.0] 2.0 }

-- The sums of the columns over those rows that begin with a positive number, and how many these are.
main (table : n Of m) =
  let kept = Filter row table (head row > 0) in
  (Fold (+) 0 kept, size kept)
