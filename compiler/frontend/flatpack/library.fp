-- The library: what every program may use without defining it.

head a = Twist (Slice 0) a
last a = Twist (Slice (size a - 1)) a
tail a = Twist (SubRange 1 (size a - 1)) a
init a = Twist (SubRange 0 (size a - 2)) a
take n a = Twist (SubRange 0 (n - 1)) a
drop n a = Twist (SubRange n (size a - 1)) a
transpose a = Twist Transpose a
concat as = Join (Zip as)
zipWith op a b = Arith op a b
sum a = Fold (+) 0 a
product a = Fold (*) 1 a
mean a = sum a / size a

-- The products of all rows of `xs` with all columns of `ys`.
dotProduct xs ys =
  Twist Transpose
    (LetMap y (Twist Transpose ys)
      (Fold (+) 0
        (Twist Transpose
          (LetMap x xs (x * y)))))

-- The place in space of each point of a box.
positions x y z =
  LetMap k (Enumerate 0 (+ 1) z)
    (LetMap j (Enumerate 0 (+ 1) y)
      (LetMap i (Enumerate 0 (+ 1) x)
        (Zip [i, j, k])))
