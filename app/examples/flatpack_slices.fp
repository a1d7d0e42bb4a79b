-- FlatPack: slices of a simulation
-- Structural operations compute nothing: they only say in which order a block of memory is walked.
-- group: FlatPack
-- order: 200
-- look: typed {Twist every (Twist plane steps)}: transposing, slicing and sampling are views of one array
-- look: fused {Fold (+) 0 picked}: no picked value is stored before it is added up
-- look: funmem/memory(steps) {Twist plane steps}: in memory is the simulation as it was given, and what is walked of it
-- ==
-- random input { [6][4][5][3]f64 }
-- input { [[[[1.0, 2.0]], [[3.0, 4.0]]], [[[5.0, 6.0]], [[7.0, 8.0]]], [[[9.0, 10.0]], [[11.0, 12.0]]]] }
-- output { [[10.0], [14.0]] }

-- Every second of the time steps, and of each only the first layer.
every = DownSample 2
plane = Smap (Smap (Smap (Slice 0)))

main (steps : time Of x Of y Of z) =
  let picked = Twist every (Twist plane steps)
  in Fold (+) 0 picked
