-- FlatPack: half the size, and half of that
-- A picture sampled twice: samplings of samplings are one walk with longer jumps.
-- group: FlatPack
-- order: 250
-- look: typed {half (half picture)}: every second of every second pixel
-- look: funmem/memory(picture) {half (half picture)}: every fourth pixel of the one picture, in both directions
-- ==
-- random input { [9][12]f64 }
-- input { [[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 0.0], [2.0, 4.0, 6.0, 8.0, 1.0]] }
-- output { [[1.0, 3.0, 5.0], [2.0, 6.0, 1.0]] [[1.0, 5.0]] }

half = Twist (DownSample 2 . Smap (DownSample 2))

main (picture : n Of m) = (half picture, half (half picture))
