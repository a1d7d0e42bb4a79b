-- FlatPack: which axis comes first
-- A rotation of the axes moves nothing: it says which of them the fold goes along.
-- group: FlatPack
-- order: 230
-- look: typed {Twist RotateR field}: the last axis comes first, and that is all
-- look: fused {Fold (+) 0 (Twist RotateR field)}: the sum walks the field as it lies in memory
-- ==
-- random input { [3][4][5]f64 }
-- input { [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]] }
-- output { [[6.0, 15.0]] [[5.0], [7.0], [9.0]] }

-- The sums along the last axis, and those along the middle one, turned.
main (field : x Of y Of z) =
  (Fold (+) 0 (Twist RotateR field), Fold (+) 0 (Twist RotateL field))
