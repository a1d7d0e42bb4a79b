-- A map that needs no second array
-- The argument is unique, and every point reads only the cell that it writes.
-- group: Memory
-- order: 82
-- look: funmem/memory {map (+ 2) xs}: the result gets a block of its own
-- look: shortcircuit/proof {map (+ 2) xs}: it is built over the argument, and nothing is allocated
-- ==
-- entry: main
-- input { [1i32, 2i32, 3i32] }
-- output { [3i32, 4i32, 5i32] }
-- random input { [100000]i32 }
-- auto output

entry main [n] (xs: *[n]i32) : *[n]i32 = map (+ 2) xs
