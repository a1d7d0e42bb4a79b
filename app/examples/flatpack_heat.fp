-- FlatPack: heat in a rod
-- Each point and its two neighbours are three views of one array, of which none is copied.
-- group: FlatPack
-- order: 235
-- look: typed {tail (tail rod)}: the right neighbours: the same values, two places on
-- look: funmem/memory(rod) {here + (left - here - here + right) / 4}: three views of one block, and the result beside it
-- ==
-- random input { [100]f64 }
-- input { [0.0, 0.0, 8.0, 0.0, 0.0] }
-- output { [2.0, 4.0, 2.0] }

-- One step in time, for all points that have two neighbours.
step rod =
  let left = init (init rod) in
  let here = init (tail rod) in
  let right = tail (tail rod) in
  here + (left - here - here + right) / 4

main (rod : n) = step rod
