-- Gradient of a fit
-- What the error of a fit owes to each of its coefficients: a program that `vjp` stands for.
-- group: Operators
-- order: 160
-- look: soa {vjp error coefficients 1}: the derivative is a node with the function inside
-- look: ad {map (dot coefficients) points}: the function's own statements, and behind them the adjoints
-- look: fused {vjp error coefficients 1}: an array of slopes of the errors, and a sum of products for each coefficient
-- ==
-- entry: main
-- input { [1.0, 2.0] [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] [1.0, 1.0, 1.0] }
-- output { [4.0, 6.0] }
-- random input { [10]f64 [500][10]f64 [500]f64 }

def dot [m] (xs: [m]f64) (ys: [m]f64) : f64 = f64.sum (map2 (*) xs ys)

entry main [n] [m] (coefficients: [m]f64) (points: [n][m]f64) (values: [n]f64) : [m]f64 =
  let error coefficients =
    let found = map (dot coefficients) points
    in f64.sum (map2 (\f v -> (f - v) ** 2) found values)
  in vjp error coefficients 1
