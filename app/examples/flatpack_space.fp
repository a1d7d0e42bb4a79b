-- FlatPack: a simulation in space and time
-- The paper's first case: 200 steps of 600 x 250 x 250 points, of which every tenth step, one plane, and
-- every fourth row and column are wanted. Nothing is computed but where these values lie.
-- group: FlatPack
-- order: 205
-- look: typed {Twist (DownSample 10) (Twist (Smap (coarse . plane)) steps)}: one slice with four strides
-- look: funmem/memory(steps) {Twist (DownSample 10) (Twist (Smap (coarse . plane)) steps)}: the picked cells lie far apart in memory
-- ==
-- random input { [21][12][9][5]f32 }
-- input { [[[[1f32, 2f32], [3f32, 4f32]], [[5f32, 6f32], [7f32, 8f32]]]] }
-- output { [[[1f32]]] }

type f32

-- Of a step: the first plane, and of that every fourth row and column.
plane = Smap (Smap (Slice 0))
coarse = DownSample 4 . Smap (DownSample 4)

-- `stridescope run flatpack_space.fp --data steps=steps.npy` reads it from a file larger than memory.
main (steps : time Of x Of y Of z) =
  Twist (DownSample 10) (Twist (Smap (coarse . plane)) steps)
