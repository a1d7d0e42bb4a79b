-- Arrays of tuples from tuples of arrays, and back.

def zip [n] 'a 'b (xs: [n]a) (ys: [n]b) : *[n](a, b) = intrinsics.zip xs ys

def zip2 [n] 'a 'b (xs: [n]a) (ys: [n]b) : *[n](a, b) = intrinsics.zip xs ys

def zip3 [n] 'a 'b 'c (xs: [n]a) (ys: [n]b) (zs: [n]c) : *[n](a, b, c) =
  intrinsics.map (\(x, (y, z)) -> (x, y, z)) (intrinsics.zip xs (intrinsics.zip ys zs))

def zip4 [n] 'a 'b 'c 'd (ws: [n]a) (xs: [n]b) (ys: [n]c) (zs: [n]d) : *[n](a, b, c, d) =
  intrinsics.map (\((w, x), (y, z)) -> (w, x, y, z))
                 (intrinsics.zip (intrinsics.zip ws xs) (intrinsics.zip ys zs))

def zip5 [n] 'a 'b 'c 'd 'e (vs: [n]a) (ws: [n]b) (xs: [n]c) (ys: [n]d) (zs: [n]e)
           : *[n](a, b, c, d, e) =
  intrinsics.map (\(v, ((w, x), (y, z))) -> (v, w, x, y, z))
                 (intrinsics.zip vs (intrinsics.zip (intrinsics.zip ws xs) (intrinsics.zip ys zs)))

def unzip [n] 'a 'b (ps: [n](a, b)) : ([n]a, [n]b) = intrinsics.unzip ps

def unzip2 [n] 'a 'b (ps: [n](a, b)) : ([n]a, [n]b) = intrinsics.unzip ps

def unzip3 [n] 'a 'b 'c (ps: [n](a, b, c)) : ([n]a, [n]b, [n]c) =
  let (xs, rest) = intrinsics.unzip (intrinsics.map (\(x, y, z) -> (x, (y, z))) ps)
  let (ys, zs) = intrinsics.unzip rest
  in (xs, ys, zs)

def unzip4 [n] 'a 'b 'c 'd (ps: [n](a, b, c, d)) : ([n]a, [n]b, [n]c, [n]d) =
  let (left, right) = intrinsics.unzip (intrinsics.map (\(w, x, y, z) -> ((w, x), (y, z))) ps)
  let (ws, xs) = intrinsics.unzip left
  let (ys, zs) = intrinsics.unzip right
  in (ws, xs, ys, zs)

def unzip5 [n] 'a 'b 'c 'd 'e (ps: [n](a, b, c, d, e)) : ([n]a, [n]b, [n]c, [n]d, [n]e) =
  let (vs, rest) = intrinsics.unzip (intrinsics.map (\(v, w, x, y, z) -> (v, (w, x, y, z))) ps)
  let (ws, xs, ys, zs) = unzip4 rest
  in (vs, ws, xs, ys, zs)
