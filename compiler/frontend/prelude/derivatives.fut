-- Derivatives of functions. Their types are known; the stage `ad` makes programs of them.
-- `jvp` is forward mode and `vjp` reverse mode, `jmp` and `mjp` take many seeds at once; names that
-- end in 2 give the function's own result as well.

def jvp2 'a 'b (f: a -> b) (x: a) (seed: a) : (b, b) = intrinsics.jvp2 f x seed

def vjp2 'a 'b (f: a -> b) (x: a) (seed: b) : (b, a) = intrinsics.vjp2 f x seed

def jmp2 'a 'b [n] (f: a -> b) (x: a) (seeds: [n]a) : (b, [n]b) = intrinsics.jmp2 f x seeds

def mjp2 'a 'b [n] (f: a -> b) (x: a) (seeds: [n]b) : (b, [n]a) = intrinsics.mjp2 f x seeds

def jvp 'a 'b (f: a -> b) (x: a) (seed: a) : b = (jvp2 f x seed).1

def vjp 'a 'b (f: a -> b) (x: a) (seed: b) : a = (vjp2 f x seed).1

def jmp 'a 'b [n] (f: a -> b) (x: a) (seeds: [n]a) : [n]b = (jmp2 f x seeds).1

def mjp 'a 'b [n] (f: a -> b) (x: a) (seeds: [n]b) : [n]a = (mjp2 f x seeds).1

-- A function whose reverse mode its author has written; where nothing is derived it is just `f`.
def with_vjp 'a 'b (f: a -> b) (back: (res: b) -> (seed: b) -> a) (x: a) : b =
  intrinsics.with_vjp f back x

-- As `with_vjp`; what `back` needs besides the adjoint is the first part of what `f` gives.
def with_vjp_tape 'a 'b 'c (f: a -> (c, b)) (back: (c, b) -> a) (x: a) : b =
  (with_vjp f (\res seed -> back (res.0, seed.1)) x).1
