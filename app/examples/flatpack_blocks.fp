-- FlatPack: quarters of a matrix
-- `Split` makes two axes of one, and so blocks of a matrix: where they are is computed from two strides.
-- group: FlatPack
-- order: 255
-- look: typed {Split 2 matrix}: two bands of rows
-- look: fused {Fold (+) 0 (Fold (+) 0 block)}: the blocks are added up where they lie
-- ==
-- random input { [6][8]f64 }
-- input { [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]] }
-- output { [[3.0, 7.0], [11.0, 15.0]] }

-- The sum of each quarter.
quarters (matrix : 2 * h Of 2 * w) =
  LetMap band (Split 2 matrix)
    (LetMap block (Split 2 (transpose band))
      (Fold (+) 0 (Fold (+) 0 block)))

main (matrix : n Of m) = quarters matrix
