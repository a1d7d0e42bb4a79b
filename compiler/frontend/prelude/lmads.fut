-- Slices by LMADs: `offset + {(n1 : s1), (n2 : s2)}` has the cells `offset + i*s1 + j*s2` for all
-- `i < n1` and `j < n2`. Slices are views; an update writes each cell once.

def lmad_slice_2d [n] 'a (xs: [n]a) (offset: i64) (strides: (i64, i64))
                         (n1: i64) (n2: i64) : [n1][n2]a =
  intrinsics.flat_index_2d xs offset n1 strides.0 n2 strides.1 :> [n1][n2]a

def lmad_slice_3d [n] 'a (xs: [n]a) (offset: i64) (strides: (i64, i64, i64))
                         (n1: i64) (n2: i64) (n3: i64) : [n1][n2][n3]a =
  intrinsics.flat_index_3d xs offset n1 strides.0 n2 strides.1 n3 strides.2 :> [n1][n2][n3]a

def lmad_slice_4d [n] 'a (xs: [n]a) (offset: i64) (strides: (i64, i64, i64, i64))
                         (n1: i64) (n2: i64) (n3: i64) (n4: i64) : [n1][n2][n3][n4]a =
  intrinsics.flat_index_4d xs offset n1 strides.0 n2 strides.1 n3 strides.2 n4 strides.3
  :> [n1][n2][n3][n4]a

def lmad_update_2d [n] [n1] [n2] 'a (xs: *[n]a) (offset: i64) (strides: (i64, i64))
                                    (values: [n1][n2]a) : *[n]a =
  intrinsics.flat_update_2d xs offset strides.0 strides.1 values

def lmad_update_3d [n] [n1] [n2] [n3] 'a (xs: *[n]a) (offset: i64) (strides: (i64, i64, i64))
                                         (values: [n1][n2][n3]a) : *[n]a =
  intrinsics.flat_update_3d xs offset strides.0 strides.1 strides.2 values

def lmad_update_4d [n] [n1] [n2] [n3] [n4] 'a
                   (xs: *[n]a) (offset: i64) (strides: (i64, i64, i64, i64))
                   (values: [n1][n2][n3][n4]a) : *[n]a =
  intrinsics.flat_update_4d xs offset strides.0 strides.1 strides.2 strides.3 values

def diagonal [n] 'a (xss: [n][n]a) : [n]a =
  let column = lmad_slice_2d (intrinsics.flatten xss) 0 (n + 1, 1) n 1
  in column[:, 0]

def with_diagonal [n] 'a (xss: *[n][n]a) (values: [n]a) : *[n][n]a =
  let column : [n][1]a = intrinsics.unflatten (values :> [n * 1]a)
  in intrinsics.unflatten (lmad_update_2d (intrinsics.flatten xss) 0 (n + 1, 1) column)

-- The cells `xss[i, k - i]`, from the top right to the bottom left.
def antidiagonal [n] [m] 'a (k: i64) (xss: [n][m]a) : []a =
  let first = i64.max 0 (k - m + 1)
  let count = i64.min (k + 1) n - first
  let start = first * m + k - first
  let column = lmad_slice_2d (intrinsics.flatten xss) start (m - 1, 1) count 1
  in column[:, 0]

def with_antidiagonal [n] [m] [d] 'a (k: i64) (xss: *[n][m]a) (values: [d]a) : *[n][m]a =
  let first = i64.max 0 (k - m + 1)
  let count = i64.min (k + 1) n - first
  let start = first * m + k - first
  let column : [count][1]a = intrinsics.unflatten (values :> [count * 1]a)
  in intrinsics.unflatten (lmad_update_2d (intrinsics.flatten xss) start (m - 1, 1) column)

-- All parts of `w` neighbouring elements; they overlap.
def windows [n] 'a (w: i64) (xs: [n]a) : [n - w + 1][w]a =
  lmad_slice_2d xs 0 (1, 1) (n - w + 1) w

def windows_2d [n] [m] 'a (h: i64) (w: i64) (xss: [n][m]a)
             : [n - h + 1][m - w + 1][h][w]a =
  lmad_slice_4d (intrinsics.flatten xss) 0 (m, 1, m, 1) (n - h + 1) (m - w + 1) h w

-- A matrix cut into blocks of `h` by `w`.
def blocks [q] [r] 'a (h: i64) (w: i64) (xss: [q * h][r * w]a) : [q][r][h][w]a =
  lmad_slice_4d (intrinsics.flatten xss) 0 (h * (r * w), w, r * w, 1) q r h w
