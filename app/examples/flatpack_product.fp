-- FlatPack: rows times columns
-- The matrix product of FlatPack's paper ends in the same C as Futhark's.
-- group: FlatPack
-- order: 210
-- look: simplified {Twist Transpose ys}: transposed, and nothing has moved
-- look: fused {x * y}: the products are added up where they are made
-- ==
-- input { [[1.0, 2.0], [3.0, 4.0]] [[5.0, 6.0], [7.0, 8.0]] }
-- output { [[19.0, 22.0], [43.0, 50.0]] }

main (xs : n Of k) (ys : k Of m) =
  LetMap x xs
    (LetMap y (Twist Transpose ys)
      (Fold (+) 0 (x * y)))
