-- FlatPack: the largest fall
-- Prices beside those of the day before, day by day: a stream would hold two days at any time.
-- group: FlatPack
-- order: 280
-- look: typed {init prices - tail prices}: two views of one table, a day apart
-- look: c {Fold max 0 (init prices - tail prices)}: in C one loop over all, shared out among the cores
-- ==
-- random input { [30][4]f64 }
-- input { [[5.0, 1.0], [4.0, 3.0], [1.0, 2.0]] }
-- output { [3.0, 1.0] }

-- For each share its largest loss from one day to the next.
main (prices : days Of shares) = Fold max 0 (init prices - tail prices)
