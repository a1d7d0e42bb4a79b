-- Black-Scholes
-- Prices of options, an array of records in and an array of records out: five arrays in memory.
-- group: Fusion
-- order: 120
-- look: soa {map price options}: records are gone, each field is an array of its own
-- look: fused {map price options}: everything between input and output is one map
-- look: cuda {map price options}: the kernel
-- ==
-- entry: main
-- input { [100.0, 100.0] [110.0, 90.0] [1.0, 0.5] }
-- output { [11.259647393459147, 16.409444096184458] [12.802445495989076, 2.880493619893542] }
-- random input { [100000]f64 [100000]f64 [100000]f64 }
-- auto output

type option = {spot: f64, strike: f64, years: f64}
type price = {call: f64, put: f64}

def rate : f64 = 0.08
def volatility : f64 = 0.3

-- | Standard normal distribution, by a polynomial (Abramowitz and Stegun 26.2.17).
def normal (x: f64) : f64 =
  let k = 1 / (1 + 0.2316419 * f64.abs x)
  let sum =
    k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
  let tail = f64.exp (-0.5 * x * x) / f64.sqrt (2 * f64.pi) * sum
  in if x < 0 then tail else 1 - tail

def price (o: option) : price =
  let spread = volatility * f64.sqrt o.years
  let drift = rate + 0.5 * volatility * volatility
  let d1 = (f64.log (o.spot / o.strike) + drift * o.years) / spread
  let d2 = d1 - spread
  let discounted = o.strike * f64.exp (-rate * o.years)
  in { call = o.spot * normal d1 - discounted * normal d2
     , put = discounted * normal (-d2) - o.spot * normal (-d1)
     }

entry main [n] (spots: [n]f64) (strikes: [n]f64) (years: [n]f64) : ([n]f64, [n]f64) =
  let options = map3 (\spot strike years -> {spot, strike, years}) spots strikes years
  let prices = map price options
  in unzip (map (\p -> (p.call, p.put)) prices)
