-- FlatPack: conditions
-- `If` takes one array where a condition is not 0, and another elsewhere. Both are computed, as in all
-- languages whose branches are data.
-- group: FlatPack
-- order: 240
-- look: typed {If (reading > limit) limit reading}: one choice for each element
-- look: fused {Fold (+) 0 clipped}: chosen, added up, and never stored
-- ==
-- random input { [20]f64 3.0 }
-- input { [1.0, 7.0, 4.0, 9.0] 5.0 }
-- output { 15.0 2.0 }

-- The sum of readings that are no larger than a limit, and how many were.
main (readings : n) (limit : Scalar) =
  let clipped = map (\reading -> If (reading > limit) limit reading) readings in
  (Fold (+) 0 clipped, sum (readings > limit))
