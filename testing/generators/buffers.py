"""Random programs that put what they compute from an array into a part of the same array.

Two buffers that a loop exchanges, halves and thirds, packed triangles, rows whose reductions go
into the rows: what an array may be built in the place of another for, and where a proof that it may
is most likely to be wrong. Sizes are odd ones, too, and begin at 0. Numbers are of any type; those
of floats are small whole ones, so that any order of sums gives the same.
"""

from __future__ import annotations

import random

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.prim import FLOATS, Prim
from compiler.ir.values import Value
from testing.generators.storage import Generated

TYPES: tuple[Prim, ...] = (
    *("i64", "i64", "i32", "u8", "i8", "i16", "u16", "u32", "u64"),
    *("f32", "f64"),
)
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 31)


def program(seed: int, name: str = "main") -> Generated:
    """The program of that seed, with three inputs."""
    rng = random.Random(f"buffers {seed}")
    elem = rng.choice(TYPES)
    lines = [_Writer(rng, elem).step() for _ in range(rng.randint(1, 3))]
    params = f"[n] [m] (a: *[n]{elem}) (b: *[n]{elem}) (g: *[m][n]{elem}) (k: i64)"
    source = f"entry {name} {params} =\n{''.join(lines)}  in (a, b, g)\n"
    return Generated(seed, name, source, [_inputs(rng, elem) for _ in range(3)])


def _inputs(rng: random.Random, elem: Prim) -> list[Value]:
    n, m = rng.choice(SIZES), rng.choice((0, 1, 2, 3, 5))
    low = 0 if elem.startswith("u") else -4

    def numbers(*shape: int) -> Value:
        values = [rng.randint(low, 5) for _ in range(int(np.prod(shape)))]
        return np.array(values, DTYPE[elem]).reshape(shape)

    return [numbers(n), numbers(n), numbers(m, n), np.int64(rng.randint(-1, n + 1))]


class _Writer:
    """Statements about `a` and `b`, rows of n, and `g`, m rows of n."""

    def __init__(self, rng: random.Random, elem: Prim) -> None:
        self.rng = rng
        self.elem = elem
        self.ops = ("+", "-") if elem in FLOATS else ("+", "-", "*", "^", "|")

    def one(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def op(self, left: str, right: str) -> str:
        return f"({left} {self.rng.choice(self.ops)} {right})"

    def step(self) -> str:
        """A statement or two."""
        kinds = (self.exchanged, self.parts, self.triangle, self.reduced, self.window)
        return self.rng.choice(kinds)()

    def exchanged(self) -> str:
        """Two buffers by turns: one is read while the other is written."""
        near = self.one("i", "(i + 1) % n", "i64.max 0 (i - 1)", "n - 1 - i")
        made = f"map (\\i -> {self.op('x[i]', f'x[{near}]')}) (iota n)"
        ends = self.one(
            f"(y with [0:n] = {made}, x)",
            f"let y[0:n] = {made} in (y, x)",
            f"let y[0:n / 2] = ({made})[0:n / 2] in (y, x)",
            f"let y[0:n] = {made} in if i % 2 == 0 then (y, copy x) else (copy x, copy y)",
            f"({made}, x)",
        )
        rounds = self.one("2i64", "3i64", "(i64.max 0 k) % 4")
        made = f"(loop (x, y) = (a, b) for i < {rounds} do {ends})"
        return f"  let (a, b) = {made} :> ([n]{self.elem}, [n]{self.elem})\n"

    def parts(self) -> str:
        """A half or third from others; what is left over stays."""
        by = self.rng.choice((2, 2, 3, 3, 4))
        to, source, other = (self.rng.randrange(by) for _ in range(3))
        at = self.one("i", "h - 1 - i")
        place = self.one(f"{to} * h:{to + 1} * h", f"{to} * h:{to} * h + h", f"n - {by - to} * h:")
        if place.startswith("n"):
            place = f"n - {by - to} * h:n - {by - to - 1} * h"
        read = self.op(f"a[{source} * h + {at}]", f"a[{other} * h + i]")
        return (
            f"  let h = n / {by}\n  let part = map (\\i -> {read}) (iota h)\n"
            f"  let a[{place}] = part\n"
        )

    def triangle(self) -> str:
        """Row i of a packed triangle begins at i * (i + 1) / 2; rows are made of others."""
        start, other = "i * (i + 1) / 2", self.one("(i - 1) * i / 2", "i * (i + 1) / 2")
        width = self.one("i", "i + 1")
        read = self.op(f"t[{other} + j % i]", "t[j]")
        rows = self.one("3", "(i64.min 4 n)")
        return (
            f"  let t = replicate 15 ({self.elem}.i64 k)\n"
            f"  let t = loop t for i in 1..<i64.max 1 {rows} do\n"
            f"    let row = map (\\j -> {read}) (iota ({width}))\n"
            f"    in t with [{start}:{start} + ({width})] = row\n"
            f"  let b = map2 (+) b (map (\\i -> t[i % 15]) (iota n))\n"
        )

    def reduced(self) -> str:
        """A row's sum, or its scan, goes into the row itself, of which a part may stay."""
        total = self.one(f"{self.elem}.sum r", f"{self.elem}.maximum r", "(scan (+) 0 r)[n - 1]")
        row = self.one(
            f"if n > 0 then copy r with [0] = {total} else copy r",
            f"let s = if n > 0 then {total} else 0 in map (\\x -> {self.op('x', 's')}) r",
            "scan (+) 0 r",
            "let h = n / 2 in copy r with [0:h] = scan (+) 0 r[n - h:n]",
        )
        made = f"map (\\r -> {row}) g"
        return self.one(
            f"  let g = {made}\n",
            f"  let g[0:m] = {made}\n",
            f"  let g = loop g for _i < 2i32 do {made}\n",
            f"  let g[0:m / 2] = ({made})[m - m / 2:m]\n",
        )

    def window(self) -> str:
        """Elements from neighbours, into a window that an input moves."""
        room = "if 0 <= k && k <= n then n - k else 0"
        near = self.one("i", "i + n - l", "l - 1 - i")
        read = self.op(f"b[{near}]", "a[i]")
        place = self.one("n - l:n", "0:l")
        part = f"  let part = map (\\i -> {read}) (iota l)\n"
        return f"  let l = {room}\n{part}  let b[{place}] = part\n"
