-- FlatPack: functions that say their shapes
-- `pooled` takes frames of an even number of rows and columns. Its signature is a constraint: a use with
-- 7 columns is an error, and where the sizes are names, a run checks them.
-- group: FlatPack
-- order: 227
-- look: typed {pooled frame}: the claim that the run checks: the sizes are two times something
-- ==
-- random input { [3][4][6]f64 }
-- input { [[[1.0, 2.0, 5.0, 4.0], [3.0, 0.0, 6.0, 1.0]], [[9.0, 2.0, 5.0, 4.0], [3.0, 0.0, 6.0, 8.0]]] }
-- output { [[[3.0, 6.0]], [[9.0, 8.0]]] }

-- The largest of each pair of rows.
halved (rows : 2 * n Of m) = LetMap pair (Split n rows) (Fold max (head pair) pair)

-- The largest value of each square of 2 by 2.
pooled (frame : 2 * height Of 2 * width) = transpose (halved (transpose (halved frame)))

main (frames : time Of rows Of columns) = LetMap frame frames (pooled frame)
