-- FlatPack: tuples of different types
-- Particles have a place, a mass and a kind. An array of such tuples is a tuple of three arrays:
-- each operation that only changes the order changes it in all of them, and moves nothing.
-- group: FlatPack
-- order: 225
-- look: typed {Twist (DownSample 2) particles}: one transformation of the tuple is one of each of its arrays
-- look: fused {If (kind == 1) mass 0}: a condition of small integers chooses among floats, in the loop that adds them up
-- ==
-- random input { [9][3]f32 [9]f32 [9]u8 }
-- input { [[1f32, 2f32, 3f32], [9f32, 9f32, 9f32], [3f32, 2f32, 1f32], [9f32, 9f32, 9f32], [7f32, 7f32, 7f32]] [1f32, 9f32, 3f32, 9f32, 5f32] [1u8, 1u8, 1u8, 1u8, 0u8] }
-- output { [2.5f32, 2f32, 1.5f32] 2i32 }

-- The centre of mass of every second particle, as far as it is a star, and how many these are.
main (particles : n Of (3 Of f32, f32, u8)) =
  let (place, mass, kind) = Twist (DownSample 2) particles in
  let weight = If (kind == 1) mass 0 in
  let moments = map (\(p, w) -> p * w) (place, weight) in
  (sum moments / sum weight, sum (As i32 (kind == 1)))
