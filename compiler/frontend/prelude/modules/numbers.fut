-- Members of every numeric module; `t` is its type.

def sum [n] (xs: [n]t) : t = intrinsics.reduce_comm (+) 0 xs

def product [n] (xs: [n]t) : t = intrinsics.reduce_comm (*) 1 xs

def maximum [n] (xs: [n]t) : t = intrinsics.reduce_comm max lowest xs

def minimum [n] (xs: [n]t) : t = intrinsics.reduce_comm min highest xs
