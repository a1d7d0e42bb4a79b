-- FlatPack: numbers from nothing
-- `Enumerate` makes a sequence that nobody stores: the axes of a picture are computed where they are read.
-- group: FlatPack
-- order: 265
-- look: typed {Enumerate 0 (+ 1) width}: a row of numbers that lies nowhere in memory
-- look: fused {(x - cx) * (x - cx)}: both axes have gone into the loops that use them
-- ==
-- input { 3i64 4i64 1.0 1.0 }
-- output { [[2.0, 1.0, 2.0, 5.0], [1.0, 0.0, 1.0, 4.0], [2.0, 1.0, 2.0, 5.0]] }

-- The square of the distance of each pixel from a point.
main (height : Int) (width : Int) (cx : Scalar) (cy : Scalar) =
  LetMap y (Enumerate 0 (+ 1) height)
    (LetMap x (Enumerate 0 (+ 1) width)
      ((x - cx) * (x - cx) + (y - cy) * (y - cy)))
