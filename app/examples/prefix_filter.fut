-- A filter made of a prefix sum
-- Flags are summed, and the sums say where each element that stays has to go.
-- group: Operators
-- order: 110
-- look: fused {scan (+) 0 flags}: flags, sums and places
-- look: flat {scatter (replicate kept blank) (map2 target flags places) xs}: `segscan`, then a kernel that scatters
-- ==
-- entry: main
-- input { [3i32, -1i32, 4i32, -1i32, -5i32, 9i32] }
-- output { [3i32, 4i32, 9i32] }
-- input { [-3i32] }
-- output { empty([0]i32) }
-- random input { [1000000]i32 }
-- auto output

def keep [n] 'a (p: a -> bool) (blank: a) (xs: [n]a) : []a =
  let flags = map (\x -> i64.bool (p x)) xs
  let places = scan (+) 0 flags
  let kept = if n == 0 then 0 else places[n - 1]
  let target flag place = if flag == 1 then place - 1 else -1
  in scatter (replicate kept blank) (map2 target flags places) xs

entry main [n] (xs: [n]i32) : []i32 =
  keep (> 0) 0 xs
