-- Functions about functions.

def id '^a (x: a) : a = x

def const '^a '^b (x: a) (_: b) : a = x

def flip '^a '^b '^c (f: a -> b -> c) (y: b) (x: a) : c = f x y

def curry '^a '^b '^c (f: (a, b) -> c) (x: a) (y: b) : c = f (x, y)

def uncurry '^a '^b '^c (f: a -> b -> c) (p: (a, b)) : c = f p.0 p.1

def (|>) '^a '^b (x: a) (f: a -> b) : b = f x

def (<|) '^a '^b (f: a -> b) (x: a) : b = f x

def (>->) '^a '^b '^c (f: a -> b) (g: b -> c) (x: a) : c = g (f x)

def (<-<) '^a '^b '^c (g: b -> c) (f: a -> b) (x: a) : c = g (f x)

def swap 'a 'b (p: (a, b)) : (b, a) = (p.1, p.0)

def iterate 'a (n: i32) (f: a -> a) (x: a) : a =
  loop y = x for _i < n do f y

def iterate_until 'a (stop: a -> bool) (f: a -> a) (x: a) : a =
  loop y = x while !(stop y) do f y

def iterate_while 'a (go: a -> bool) (f: a -> a) (x: a) : a =
  loop y = x while go y do f y

def not (b: bool) : bool = !b

def opaque 'a (x: a) : a = intrinsics.opaque x

def trace 'a (x: a) : a = x

def break 'a (x: a) : a = x

def r32 (x: i32) : f32 = f32.i32 x

def t32 (x: f32) : i32 = i32.f32 x

def r64 (x: i32) : f64 = f64.i32 x

def t64 (x: f64) : i32 = i32.f64 x
