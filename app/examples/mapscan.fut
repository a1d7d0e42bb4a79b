-- A loop of maps and scans over rows
-- Parallelism inside a sequential loop inside a parallel map: the compiler makes several versions.
-- group: Parallelism
-- order: 40
-- look: flat/versions {scan (+) 0 (map (+ i) row)}: outer parallelism only, or the loop outside and everything inside it parallel
-- look: funmem/memory {scan (+) 0 (map (+ i) row)}: what each version needs in memory
-- ==
-- entry: main
-- input { [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64]] 1i64 }
-- output { [[1i64, 3i64, 6i64], [5i64, 11i64, 18i64]] }
-- input { [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64]] 3i64 }
-- output { [[1i64, 5i64, 15i64], [7i64, 26i64, 64i64]] }

entry main [m] [n] (rows: [m][n]i64) (steps: i64) : [m][n]i64 =
  map2 (\row i ->
          loop row = row for _step < steps do
            scan (+) 0 (map (+ i) row))
       rows
       (iota m)
