"""The forty small tasks of `bench.peers`: in Futhark, and as their rivals write them.

Programs of rivals are texts, since they run in an environment of their own (`rivals.py`): the body
of a function of the names in `takes`, after the imports of `rivals.HEADS`. For numba it stands
behind `@njit(parallel=.., fastmath=True)`, for JAX behind `@jit`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Task:
    """A task: its inputs as `bench.peer_bytes` takes them, and the rivals' programs by name."""

    name: str
    futhark: str
    inputs: str
    takes: str
    rivals: dict[str, str]
    tolerance: float = 1e-3


_STENCIL = """\
def main [n][m] (a: [n][m]f32) (steps: i32): [n][m]f32 =
  loop a for _k < steps do
    tabulate_2d n m (\\i j ->
      let up = a[i64.max 0 (i - 1), j]
      let down = a[i64.min (n - 1) (i + 1), j]
      let left = a[i, i64.max 0 (j - 1)]
      let right = a[i, i64.min (m - 1) (j + 1)]
      in (up + down + left + right) / 4)
"""
_STENCIL_3D = """\
def main [n][m][k] (a: [n][m][k]f32): [n][m][k]f32 =
  tabulate_3d n m k (\\x y z ->
    if x > 0 && x < n - 1 && y > 0 && y < m - 1 && z > 0 && z < k - 1
    then (a[x - 1, y, z] + a[x + 1, y, z] + a[x, y - 1, z] + a[x, y + 1, z]
          + a[x, y, z - 1] + a[x, y, z + 1]) * 0.1f32 - a[x, y, z] * 0.6f32
    else a[x, y, z])
"""
_LIFE = """\
def main [n][m] (world: [n][m]i8) (steps: i32): [n][m]i8 =
  loop a = map (map (& 1)) world for _k < steps do
    let n_ = rotate 1 a
    let s_ = rotate (-1) a
    let row (x: [n][m]i8) =
      map3 (map3 (\\p q r -> p + q + r)) x (map (rotate 1) x) (map (rotate (-1)) x)
    in map4 (map4 (\\here x y z ->
         let k = x + y + z - here
         in i8.bool (k == 3 || (here == 1 && k == 2)))) a (row n_) (row a) (row s_)
"""
_NBODY = """\
def main [n] (xs: [n]f32) (ys: [n]f32) (zs: [n]f32) (ms: [n]f32): ([n]f32, [n]f32, [n]f32) =
  unzip3 (map3 (\\x y z ->
    reduce (\\(a, b, c) (d, e, f) -> (a + d, b + e, c + f)) (0, 0, 0)
      (map4 (\\u v w m ->
         let (dx, dy, dz) = (u - x, v - y, w - z)
         let r = dx * dx + dy * dy + dz * dz + 0.01f32
         let k = m / (r * f32.sqrt r)
         in (k * dx, k * dy, k * dz)) xs ys zs ms)) xs ys zs)
"""
_BLACK_SCHOLES = """\
def normal (x: f64): f64 =
  let k = 1 / (1 + 0.2316419 * f64.abs x)
  let p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937
          + k * (-1.821255978 + k * 1.330274429))))
  let tail = f64.exp (-0.5 * x * x) / 2.5066282746310002 * p
  in if x < 0 then tail else 1 - tail
def main [n] (ss: [n]f64) (ks: [n]f64) (ts: [n]f64): [n]f64 =
  map3 (\\s k t ->
    let (s, k, t) = (s + 0.5, k + 0.5, t + 0.5)
    let v = 0.3 * f64.sqrt t
    let d = (f64.log (s / k) + (0.08 + 0.045) * t) / v
    in s * normal d - k * f64.exp (-0.08 * t) * normal (d - v)) ss ks ts
"""
_NORMAL = """\
    def normal(x):
        k = 1 / (1 + 0.2316419 * np.abs(x))
        p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937
            + k * (-1.821255978 + k * 1.330274429))))
        tail = np.exp(-0.5 * x * x) / 2.5066282746310002 * p
        return np.where(x < 0, tail, 1 - tail)
    s, k, t = s + 0.5, k + 0.5, t + 0.5
    v = 0.3 * np.sqrt(t)
    d = (np.log(s / k) + (0.08 + 0.045) * t) / v
    return s * normal(d) - k * np.exp(-0.08 * t) * normal(d - v)
"""
_MANDELBROT = """\
def main (n: i64) (m: i64) (most: i32): [n][m]i32 =
  tabulate_2d n m (\\i j ->
    let x = f32.i64 j / f32.i64 m * 3 - 2
    let y = f32.i64 i / f32.i64 n * 2 - 1
    let (_, _, k) =
      loop (a, b, k) = (0, 0, 0) while k < most && a * a + b * b < 4 do
        (a * a - b * b + x, 2 * a * b + y, k + 1)
    in k)
"""
_FFT = """\
def main [n] (re: [n]f32) (im: [n]f32): ([n]f32, [n]f32) =
  let bits = i64.i32 (i64.num_bits - 1 - i64.clz n)
  let half = n / 2
  let step (ns: i64) (re: [n]f32) (im: [n]f32): ([n]f32, [n]f32) =
    unzip (tabulate n (\\o ->
      let ex = (o / (2 * ns)) * ns + o % ns
      let upper = (o / ns) % 2 == 0
      let t = -2 * f32.pi * f32.i64 (o % ns) / f32.i64 (2 * ns)
      let (c, s) = (f32.cos t, f32.sin t)
      let (a, b, d, e) = (re[ex], im[ex], re[ex + half], im[ex + half])
      let (p, q) = (d * c - e * s, d * s + e * c)
      in if upper then (a + p, b + q) else (a - p, b - q)))
  in loop (re, im) for i < bits do step (1 << i) re im
"""
_RADIX = """\
def main [n] (xs: [n]i32): [n]i32 =
  let key (x: i32): u32 = u32.i32 x ^ 0x80000000
  let step (xs: [n]i32) (b: i32): [n]i32 =
    let bins = map (\\x -> i64.u32 ((key x >> u32.i32 b) & 3)) xs
    let flags = map (\\k -> (i64.bool (k == 0), i64.bool (k == 1), i64.bool (k == 2),
                            i64.bool (k == 3))) bins
    let add (a, b, c, d) (e, f, g, h): (i64, i64, i64, i64) = (a + e, b + f, c + g, d + h)
    let at = scan add (0, 0, 0, 0) flags
    let (a, b, c, _) = if n == 0 then (0, 0, 0, 0) else at[n - 1]
    let to = map2 (\\k (p, q, r, s) ->
      if k == 0 then p - 1 else if k == 1 then a + q - 1
      else if k == 2 then a + b + r - 1 else a + b + c + s - 1) bins at
    in scatter (copy xs) to xs
  in loop xs for i < 16 do step xs (2 * i)
"""
_ATTENTION = """\
def main [n][d] (q: [n][d]f32) (k: [n][d]f32) (v: [n][d]f32): [n][d]f32 =
  map (\\row ->
    let s = map (\\c -> f32.sum (map2 (*) row c) / f32.sqrt (f32.i64 d)) k
    let most = f32.maximum s
    let e = map (\\x -> f32.exp (x - most)) s
    let total = f32.sum e
    in map (\\c -> f32.sum (map2 (*) e c) / total) (transpose v)) q
"""
_MATRICES = """\
def main [n] (a: [n]i32) (b: [n]i32) (c: [n]i32) (d: [n]i32): [n]i32 =
  let mul (a, b, c, d) (e, f, g, h): (i32, i32, i32, i32) =
    (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
  in map (.0) (scan mul (1, 0, 0, 1) (zip4 a b c d))
"""
_PRODUCT = """\
def main [n][m][p] (a: [n][m]{t}) (b: [m][p]{t}): [n][p]{t} =
  map (\\row -> map (\\column -> {t}.sum (map2 (*) row column)) (transpose b)) a
"""


def _product(name: str, prim: str, inputs: str) -> Task:
    ways = {"numpy": "return a @ b", "jax": "return a @ b"}
    return Task(name, _PRODUCT.replace("{t}", prim), inputs, "a b", ways)


def _loop(head: str, body: str, end: str = "return out") -> str:
    """A program for numba: something made, a parallel loop `i` over `n`, what it gives."""
    inside = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{head}\nfor i in prange(n):\n{inside}{end}"


TASKS = (
    Task(
        "one more, 4M f32",
        "def main [n] (xs: [n]f32): [n]f32 = map (+ 1) xs",
        "[4194304]f32",
        "x",
        {
            "numpy": "return x + 1",
            "numba": _loop("n = x.size\nout = np.empty_like(x)", "out[i] = x[i] + 1"),
            "jax": "return x + 1",
        },
    ),
    Task(
        "add, 4M f32",
        "def main [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = map2 (+) xs ys",
        "[4194304]f32 [4194304]f32",
        "x y",
        {
            "numpy": "return x + y",
            "numexpr": "return ne.evaluate('x + y')",
            "numba": _loop("n = x.size\nout = np.empty_like(x)", "out[i] = x[i] + y[i]"),
            "jax": "return x + y",
        },
    ),
    Task(
        "triad, 2M f64",
        "def main [n] (xs: [n]f64) (ys: [n]f64): [n]f64 = map2 (\\x y -> x + 0.4 * y) xs ys",
        "[2097152]f64 [2097152]f64",
        "x y",
        {
            "numpy": "return x + 0.4 * y",
            "numexpr": "return ne.evaluate('x + 0.4 * y')",
            "numba": _loop("n = x.size\nout = np.empty_like(x)", "out[i] = x[i] + 0.4 * y[i]"),
            "jax": "return x + 0.4 * y",
        },
    ),
    Task(
        "dot, 4M f32",
        "def main [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)",
        "[4194304]f32 [4194304]f32",
        "x y",
        {"numpy": "return x @ y", "jax": "return jnp.dot(x, y)"},
    ),
    Task(
        "sum, 4M f32",
        "def main [n] (xs: [n]f32): f32 = f32.sum xs",
        "[4194304]f32",
        "x",
        {
            "numpy": "return x.sum()",
            "numba": _loop("n = x.size\nout = np.float32(0)", "out += x[i]"),
            "jax": "return x.sum()",
        },
    ),
    Task(
        "sum, 4M i32",
        "def main [n] (xs: [n]i32): i32 = i32.sum xs",
        "[4194304]i32",
        "x",
        {"numpy": "return x.sum(dtype=np.int32)", "jax": "return x.sum()"},
    ),
    Task(
        "largest, 2M f64",
        "def main [n] (xs: [n]f64): f64 = f64.maximum xs",
        "[2097152]f64",
        "x",
        {
            "numpy": "return x.max()",
            "numba": _loop("n = x.size\nout = x[0]", "out = max(out, x[i])"),
            "jax": "return x.max()",
        },
    ),
    Task(
        "mean and variance, 2M f64",
        "def main [n] (xs: [n]f64): (f64, f64) =\n"
        "  let m = f64.sum xs / f64.i64 n\n"
        "  in (m, f64.sum (map (\\x -> (x - m) * (x - m)) xs) / f64.i64 n)",
        "[2097152]f64",
        "x",
        {"numpy": "return x.mean(), x.var()", "jax": "return x.mean(), x.var()"},
    ),
    Task(
        "exp and sin, 1M f32",
        "def main [n] (xs: [n]f32): [n]f32 = map (\\x -> f32.exp x * f32.sin x) xs",
        "[1048576]f32",
        "x",
        {
            "numpy": "return np.exp(x) * np.sin(x)",
            "numexpr": "return ne.evaluate('exp(x) * sin(x)')",
            "numba": _loop(
                "n = x.size\nout = np.empty_like(x)", "out[i] = np.exp(x[i]) * np.sin(x[i])"
            ),
            "jax": "return jnp.exp(x) * jnp.sin(x)",
        },
    ),
    Task(
        "Black-Scholes, 500k f64",
        _BLACK_SCHOLES,
        "[500000]f64 [500000]f64 [500000]f64",
        "s k t",
        {
            "numpy": _NORMAL.replace("\n    ", "\n")[4:],
            "jax": _NORMAL.replace("\n    ", "\n")[4:].replace("np.", "jnp."),
        },
    ),
    Task(
        "sums of rows, 2000 of 2000 f32",
        "def main [n][m] (a: [n][m]f32): [n]f32 = map f32.sum a",
        "[2000][2000]f32",
        "a",
        {"numpy": "return a.sum(1)", "jax": "return a.sum(1)"},
    ),
    Task(
        "sums of rows, 400k of 10 f32",
        "def main [n][m] (a: [n][m]f32): [n]f32 = map f32.sum a",
        "[400000][10]f32",
        "a",
        {
            "numpy": "return a.sum(1)",
            "numba": _loop("n = len(a)\nout = np.empty(n, a.dtype)", "out[i] = a[i].sum()"),
            "jax": "return a.sum(1)",
        },
    ),
    Task(
        "sums of columns, 2000 of 2000 f32",
        "def main [n][m] (a: [n][m]f32): [m]f32 = map f32.sum (transpose a)",
        "[2000][2000]f32",
        "a",
        {"numpy": "return a.sum(0)", "jax": "return a.sum(0)"},
    ),
    Task(
        "largest of columns, 1000 of 1000 f64",
        "def main [n][m] (a: [n][m]f64): [m]f64 = map f64.maximum (transpose a)",
        "[1000][1000]f64",
        "a",
        {"numpy": "return a.max(0)", "jax": "return a.max(0)"},
    ),
    Task(
        "scan, 4M i32",
        "def main [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs",
        "[4194304]i32",
        "x",
        {"numpy": "return np.cumsum(x, dtype=np.int32)", "jax": "return jnp.cumsum(x)"},
    ),
    Task(
        "scan, 2M f64",
        "def main [n] (xs: [n]f64): [n]f64 = scan (+) 0 xs",
        "[2097152]f64",
        "x",
        {"numpy": "return np.cumsum(x)", "jax": "return jnp.cumsum(x)"},
    ),
    Task(
        "scan of matrices, 1M of 2 by 2 i32",
        _MATRICES,
        "[1000000]i32 [1000000]i32 [1000000]i32 [1000000]i32",
        "a b c d",
        {
            "numba": "n = a.size\nout = np.empty_like(a)\n"
            "p, q, r, s = np.int32(1), np.int32(0), np.int32(0), np.int32(1)\n"
            "for i in range(n):\n"
            "    p, q, r, s = (np.int32(p * a[i] + q * c[i]), np.int32(p * b[i] + q * d[i]),\n"
            "        np.int32(r * a[i] + s * c[i]), np.int32(r * b[i] + s * d[i]))\n"
            "    out[i] = p\nreturn out",
        },
    ),
    Task(
        "scans of rows, 2000 of 1000 i32",
        "def main [n][m] (a: [n][m]i32): [n][m]i32 = map (scan (+) 0) a",
        "[2000][1000]i32",
        "a",
        {"numpy": "return np.cumsum(a, 1, dtype=np.int32)", "jax": "return jnp.cumsum(a, 1)"},
    ),
    Task(
        "filter, 4M i32",
        "def main [n] (xs: [n]i32): []i32 = filter (> 0) xs",
        "[4194304]i32",
        "x",
        {"numpy": "return x[x > 0]", "numba": "return x[x > 0]"},
    ),
    Task(
        "histogram, 2M in 256",
        "def main [n] (xs: [n]i32): [256]i32 =\n"
        "  hist (+) 0 256 (map (\\x -> i64.i32 (x & 255)) xs) (replicate n 1)",
        "[2097152]i32",
        "x",
        {
            "numpy": "return np.bincount(x & 255, minlength=256).astype(np.int32)",
            "numba": "out = np.zeros(256, np.int32)\nfor i in range(x.size):\n"
            "    out[x[i] & 255] += 1\nreturn out",
        },
    ),
    Task(
        "histogram, 2M in 1M",
        "def main [n] (xs: [n]i32): [1048576]i32 =\n"
        "  hist (+) 0 1048576 (map (\\x -> i64.i32 (x & 1048575)) xs) (replicate n 1)",
        "[2097152]i32",
        "x",
        {
            "numpy": "return np.bincount(x & 1048575, minlength=1048576).astype(np.int32)",
            "numba": "out = np.zeros(1048576, np.int32)\nfor i in range(x.size):\n"
            "    out[x[i] & 1048575] += 1\nreturn out",
        },
    ),
    Task(
        "histogram of rows, 200k of 16 f32 in 100",
        "def main [n][d] (ks: [n]i32) (xs: [n][d]f32): [100][d]f32 =\n"
        "  hist (map2 (+)) (replicate d 0) 100 (map i64.i32 ks) xs",
        "[200000]i32<100 [200000][16]f32",
        "k x",
        {
            "numba": "n, d = x.shape\nout = np.zeros((100, d), x.dtype)\nfor i in range(n):\n"
            "    for j in range(d):\n        out[k[i], j] += x[i, j]\nreturn out",
            "jax": "return jnp.zeros((100, x.shape[1]), x.dtype).at[k].add(x)",
        },
        1e-2,
    ),
    _product("product f32, 256", "f32", "[256][256]f32 [256][256]f32"),
    _product("product f32, 1024", "f32", "[1024][1024]f32 [1024][1024]f32"),
    _product("product f64, 512", "f64", "[512][512]f64 [512][512]f64"),
    Task(
        "products, 4096 of 16 by 16 f32",
        "def main [k][n][m][p] (a: [k][n][m]f32) (b: [k][m][p]f32): [k][n][p]f32 =\n"
        "  map2 (\\a b -> map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a) a b",
        "[4096][16][16]f32 [4096][16][16]f32",
        "a b",
        {"numpy": "return a @ b", "jax": "return a @ b"},
    ),
    Task(
        "matrix by vector, 2000 f32",
        "def main [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =\n"
        "  map (\\r -> f32.sum (map2 (*) r x)) a",
        "[2000][2000]f32 [2000]f32",
        "a x",
        {"numpy": "return a @ x", "jax": "return a @ x"},
    ),
    Task(
        "vector by matrix, 2000 f32",
        "def main [n][m] (x: [n]f32) (a: [n][m]f32): [m]f32 =\n"
        "  map (\\c -> f32.sum (map2 (*) x c)) (transpose a)",
        "[2000]f32 [2000][2000]f32",
        "x a",
        {"numpy": "return x @ a", "jax": "return x @ a"},
    ),
    Task(
        "transposition, 2048 f32",
        "def main [n][m] (a: [n][m]f32): [m][n]f32 = copy (transpose a)",
        "[2048][2048]f32",
        "a",
        {"numpy": "return a.T.copy()", "jax": "return jnp.copy(a.T)"},
    ),
    Task(
        "softmax of rows, 2000 of 500 f32",
        "def main [n][m] (a: [n][m]f32): [n][m]f32 =\n"
        "  map (\\r -> let most = f32.maximum r\n"
        "             let e = map (\\x -> f32.exp (x - most)) r\n"
        "             let s = f32.sum e in map (/ s) e) a",
        "[2000][500]f32",
        "a",
        {
            "numpy": "e = np.exp(a - a.max(1, keepdims=True))\nreturn e / e.sum(1, keepdims=True)",
            "numba": _loop(
                "n = len(a)\nout = np.empty_like(a)",
                "e = np.exp(a[i] - a[i].max())\nout[i] = e / e.sum()",
            ),
            "jax": "return jax.nn.softmax(a, 1)",
        },
    ),
    Task(
        "attention, 1024 of 64 f32",
        _ATTENTION,
        "[1024][64]f32 [1024][64]f32 [1024][64]f32",
        "q k v",
        {
            "numpy": "s = q @ k.T / np.float32(np.sqrt(q.shape[1]))\n"
            "e = np.exp(s - s.max(1, keepdims=True))\n"
            "return (e / e.sum(1, keepdims=True)) @ v",
            "jax": "return jax.nn.softmax(q @ k.T / jnp.sqrt(jnp.float32(q.shape[1])), 1) @ v",
        },
    ),
    Task(
        "stencil, 1024 by 1024 f32, 10 steps",
        _STENCIL,
        "[1024][1024]f32 10i32",
        "a steps",
        {
            "numpy": "for _ in range(10):\n    p = np.pad(a, 1, mode='edge')\n"
            "    a = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / np.float32(4)\n"
            "return a",
            "numba": "n, m = a.shape\nfor _ in range(steps):\n    out = np.empty_like(a)\n"
            "    for i in prange(n):\n        u, d = max(0, i - 1), min(n - 1, i + 1)\n"
            "        out[i, 0] = (a[u, 0] + a[d, 0] + a[i, 0] + a[i, 1]) / np.float32(4)\n"
            "        for j in range(1, m - 1):\n"
            "            out[i, j] = (a[u, j] + a[d, j] + a[i, j - 1] + a[i, j + 1])"
            " / np.float32(4)\n"
            "        out[i, m - 1] = (a[u, m - 1] + a[d, m - 1] + a[i, m - 2] + a[i, m - 1])"
            " / np.float32(4)\n"
            "    a = out\nreturn a",
            "jax": "def step(_, a):\n    p = jnp.pad(a, 1, mode='edge')\n"
            "    return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4\n"
            "return jax.lax.fori_loop(0, 10, step, a)",
        },
    ),
    Task(
        "stencil, 128 cubed f32",
        _STENCIL_3D,
        "[128][128][128]f32",
        "a",
        {
            "numpy": "out = a.copy()\n"
            "out[1:-1, 1:-1, 1:-1] = (a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1]\n"
            "    + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1] + a[1:-1, 1:-1, :-2]\n"
            "    + a[1:-1, 1:-1, 2:]) * np.float32(0.1) - a[1:-1, 1:-1, 1:-1] * np.float32(0.6)\n"
            "return out",
            "numba": "n, m, k = a.shape\nout = a.copy()\nfor x in prange(1, n - 1):\n"
            "    for y in range(1, m - 1):\n        for z in range(1, k - 1):\n"
            "            out[x, y, z] = (a[x - 1, y, z] + a[x + 1, y, z] + a[x, y - 1, z]\n"
            "                + a[x, y + 1, z] + a[x, y, z - 1] + a[x, y, z + 1])"
            " * np.float32(0.1) - a[x, y, z] * np.float32(0.6)\nreturn out",
        },
    ),
    Task(
        "life, 1024 by 1024, 10 steps",
        _LIFE,
        "[1024][1024]i8 10i32",
        "a steps",
        {
            "numpy": "a = a & np.int8(1)\nfor _ in range(10):\n"
            "    k = sum(np.roll(a, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - a\n"
            "    a = ((k == 3) | ((a == 1) & (k == 2))).astype(np.int8)\nreturn a",
            "jax": "def step(_, a):\n"
            "    k = sum(jnp.roll(a, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - a\n"
            "    return ((k == 3) | ((a == 1) & (k == 2))).astype(jnp.int8)\n"
            "return jax.lax.fori_loop(0, 10, step, a & jnp.int8(1))",
        },
    ),
    Task(
        "bodies, 2048 f32",
        _NBODY,
        "[2048]f32 [2048]f32 [2048]f32 [2048]f32",
        "x y z m",
        {
            "numba": "n = x.size\nax, ay, az = np.empty_like(x), np.empty_like(x), "
            "np.empty_like(x)\nfor i in prange(n):\n"
            "    a = np.float32(0)\n    b = np.float32(0)\n    c = np.float32(0)\n"
            "    for j in range(n):\n"
            "        dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]\n"
            "        r = dx * dx + dy * dy + dz * dz + np.float32(0.01)\n"
            "        k = m[j] / (r * np.sqrt(r))\n"
            "        a += k * dx\n        b += k * dy\n        c += k * dz\n"
            "    ax[i], ay[i], az[i] = a, b, c\nreturn ax, ay, az",
            "jax": "dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]\n"
            "r = dx * dx + dy * dy + dz * dz + jnp.float32(0.01)\nk = m / (r * jnp.sqrt(r))\n"
            "return (k * dx).sum(1), (k * dy).sum(1), (k * dz).sum(1)",
        },
        1e-2,
    ),
    Task(
        "Mandelbrot, 500 by 750, 100",
        _MANDELBROT,
        "500i64 750i64 100i32",
        "n m most",
        {
            "numba": "out = np.empty((n, m), np.int32)\nfor i in prange(n):\n"
            "    for j in range(m):\n"
            "        x = np.float32(j) / np.float32(m) * np.float32(3) - np.float32(2)\n"
            "        y = np.float32(i) / np.float32(n) * np.float32(2) - np.float32(1)\n"
            "        a = np.float32(0)\n        b = np.float32(0)\n        k = 0\n"
            "        while k < most and a * a + b * b < 4:\n"
            "            a, b = a * a - b * b + x, np.float32(2) * a * b + y\n"
            "            k += 1\n        out[i, j] = k\nreturn out",
        },
        1e-1,
    ),
    Task(
        "FFT, 2^18 f32",
        _FFT,
        "[262144]f32 [262144]f32",
        "x y",
        {
            "numpy": "f = np.fft.fft(x + np.complex64(1j) * y)\nreturn f.real, f.imag",
            "scipy": "f = scipy.fft.fft(x + np.complex64(1j) * y)\nreturn f.real, f.imag",
            "jax": "f = jnp.fft.fft(x + 1j * y)\nreturn f.real, f.imag",
        },
        1e-2,
    ),
    Task(
        "sort, 1M i32",
        _RADIX,
        "[1000000]i32",
        "x",
        {"numpy": "return np.sort(x)", "jax": "return jnp.sort(x)"},
    ),
    Task(
        "gather, 2M f32 of 1M",
        "def main [n][m] (xs: [n]f32) (is: [m]i32): [m]f32 = map (\\i -> xs[i]) is",
        "[1000000]f32 [2000000]i32<1000000",
        "x i",
        {
            "numpy": "return x[i]",
            "numba": _loop("n = i.size\nout = np.empty(n, x.dtype)", "out[i] = x[at[i]]").replace(
                "n = i.size", "at = i\nn = at.size"
            ),
            "jax": "return x[i]",
        },
    ),
    Task(
        "turned and weighed, 2000 f32",
        "def main [n][m] (xs: [m][n]f32) (ys: [n][m]f32): [m]f32 =\n"
        "  map f32.sum (transpose (map2 (map2 (\\x y -> x * y + 1)) (transpose xs) ys))",
        "[2000][2000]f32 [2000][2000]f32",
        "x y",
        {"numpy": "return (x.T * y + 1).sum(0)", "jax": "return (x.T * y + 1).sum(0)"},
    ),
)
