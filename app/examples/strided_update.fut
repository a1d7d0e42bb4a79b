-- Prime sieve, updated in place
-- A strided slice of an array is overwritten in a loop, without a copy of the array.
-- group: Memory
-- order: 70
-- look: funmem {let sieve[p * p :: p] = replicate multiples false}: the update goes to every p-th cell of the same block
-- look: c {let sieve[p * p :: p] = replicate multiples false}: a loop that stores, and no allocation inside of it
-- ==
-- entry: main
-- input { 20i64 }
-- output { [false, false, true, true, false, true, false, true, false, false, false, true, false, true, false, false, false, true, false, true] 8i64 }
-- input { 100000i64 }
-- auto output

entry main (n: i64) : ([n]bool, i64) =
  let sieve = tabulate n (>= 2)
  let (sieve, _) =
    loop (sieve, p) = (sieve, 2) while p * p < n do
      let multiples = length sieve[p * p :: p]
      let sieve[p * p :: p] = replicate multiples false
      in (sieve, p + 1)
  in (sieve, i64.sum (map i64.bool sieve))
