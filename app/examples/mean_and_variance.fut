-- Mean and variance
-- An array of pairs becomes a pair of arrays, and four reductions share one pass over them.
-- group: Fusion
-- order: 20
-- look: soa {map (\(x, w) -> w * f x) samples}: the array of pairs is two arrays, `zip` is gone
-- look: fused {reduce (+) 0 (map (\(x, w) -> w * f x) samples)}: the reductions have become one
-- ==
-- entry: main
-- input { [1.0, 2.0, 3.0, 4.0] [1.0, 1.0, 1.0, 5.0] }
-- output { 3.25 1.1875 }
-- random input { [1000000]f64 [1000000]f64 }
-- auto output

-- | A measurement and how much it counts.
type sample = (f64, f64)

def weighted_sum [n] (f: f64 -> f64) (samples: [n]sample) : f64 =
  reduce (+) 0 (map (\(x, w) -> w * f x) samples)

entry main [n] (xs: [n]f64) (weights: [n]f64) : (f64, f64) =
  let samples = zip xs weights
  let total = weighted_sum (const 1) samples
  let mean = weighted_sum id samples / total
  let square = weighted_sum (\x -> x * x) samples / total
  in (mean, square - mean * mean)
