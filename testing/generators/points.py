"""Random maps over parts of arrays whose elements lie at the borders of their types.

Several points fit into one access of 16 bytes, of arrays that begin anywhere and end in a
remainder; results go into parts as well. Numbers are all of their type: zeros of both signs, NaN,
infinities, subnormal and largest ones, least and largest integers, whose sums wrap. Places are
bounded by masks, shifts, remainders and minima. Columns and rows of matrices are reduced by
operators for which the order does not matter.
"""

from __future__ import annotations

import math
import random

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.prim import FLOATS, INTS, Prim, int_range
from compiler.ir.values import Value
from testing.generators.storage import Generated

TYPES: tuple[Prim, ...] = (
    *("i8", "u8", "i16", "u16", "i32", "i32", "u32", "i64", "i64", "u64"),
    *("f16", "f32", "f32", "f64", "f64"),
)
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130)
ROWS = (0, 1, 2, 3, 4, 5, 8, 17, 33)
BORDERS = {
    "f16": (65504.0, 6e-8, 6.1e-5, 2048.0),
    "f32": (3.4028235e38, 1e-45, 1.1754944e-38, 16777216.0),
    "f64": (1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 9007199254740992.0),
}
"""Finite floats near which results are not exact, or no longer finite or normal."""
REDUCED = {"i": ("+", "*", "^", "&", "|", "max", "min"), "f": ("max", "min")}
NEUTRAL = {"+": "0", "*": "1", "^": "0", "|": "0"}


def program(seed: int, name: str = "main") -> Generated:
    """The program of that seed, with two inputs."""
    rng = random.Random(f"points {seed}")
    one, other = rng.choice(TYPES), rng.choice(TYPES)
    writer = _Writer(rng, one, other)
    lines = [writer.statement() for _ in range(rng.randint(1, 3))]
    params = (
        f"[n] [m] (a: [n]{one}) (b: *[n]{other}) (c: *[n]{one}) "
        f"(g: [m][n]{one}) (t: [16]{other}) (k: i64)"
    )
    results = [*writer.results, *rng.sample(["b", "c"], rng.randint(0 if writer.results else 1, 2))]
    source = f"entry {name} {params} =\n{''.join(lines)}  in ({', '.join(results)})\n"
    return Generated(seed, name, source, [_inputs(rng, one, other) for _ in range(2)])


def number(rng: random.Random, prim: Prim) -> float | int:
    """A number of a type, often at a border."""
    if prim in FLOATS:
        if rng.random() < 0.5:
            return rng.randint(-8, 8) / 2
        one = rng.choice((0.0, -0.0, math.nan, math.inf, *BORDERS[prim]))
        return one if rng.random() < 0.5 else -one
    low, high = int_range(prim)
    near = rng.choice((low, high, 0, 0, 0))
    return max(low, min(high, near + rng.randint(-4, 9)))


def _inputs(rng: random.Random, one: Prim, other: Prim) -> list[Value]:
    n, m = rng.choice(SIZES), rng.choice(ROWS)

    def numbers(prim: Prim, *shape: int) -> Value:
        count = int(np.prod(shape))
        with np.errstate(over="ignore"):
            return np.array([number(rng, prim) for _ in range(count)], DTYPE[prim]).reshape(shape)

    arrays = numbers(one, n), numbers(other, n), numbers(one, n), numbers(one, m, n)
    return [*arrays, numbers(other, 16), np.int64(rng.randint(0, 5))]


class _Writer:
    """Statements about the parameters; `b` and `c` may be updated."""

    def __init__(self, rng: random.Random, one: Prim, other: Prim) -> None:
        self.rng = rng
        self.types = {"a": one, "b": other, "c": one, "t": other}
        self.one = one
        self.results: list[str] = []

    def pick(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def fresh(self, text: str) -> str:
        """Bind a result."""
        self.results.append(f"r{len(self.results)}")
        return f"  let {self.results[-1]} = {text}\n"

    def statement(self) -> str:
        """One of all kinds."""
        kinds = [self.mapped, self.mapped, self.two, self.updated, self.updated]
        kinds += [self.looked_up, self.columns, self.sums]
        return self.rng.choice(kinds)()

    # --- values ------------------------------------------------------------------------------

    def literal(self, prim: Prim) -> str:
        if prim in FLOATS:
            return self.pick(f"{self.rng.randint(0, 6) / 2}{prim}", f"{prim}.nan", f"(-{prim}.inf)")
        return self.pick(f"{self.rng.randint(0, 9)}{prim}", f"{prim}.highest", f"{prim}.lowest")

    def converted(self, x: str, held: Prim, prim: Prim) -> str:
        """The same number of another type; of floats to integers only what is in both."""
        if held == prim:
            return x
        if held in FLOATS and prim in INTS:
            small = f"{held}.max 0 ({held}.min 100 (if {held}.isnan {x} then 7 else {x}))"
            return f"({prim}.{held} ({small}))"
        return f"({prim}.{held} {x})"

    def value(self, prim: Prim, xs: list[tuple[str, Prim]], depth: int = 3) -> str:
        """A number made of others."""
        rng = self.rng
        if not depth or rng.random() < 0.15:
            if rng.random() < 0.12:
                return self.literal(prim)
            return self.converted(*rng.choice(xs), prim)
        x, y = (self.value(prim, xs, depth - 1) for _ in range(2))
        if rng.random() < 0.15:
            return f"(if {x} {self.pick('<', '<=', '==', '!=', '>')} {y} then {x} else {y})"
        if rng.random() < 0.15:
            other = rng.choice(TYPES)
            return self.converted(self.value(other, xs, depth - 1), other, prim)
        if prim in FLOATS:
            return self.pick(
                f"({x} + {y})",
                f"({x} - {y})",
                f"({x} * {y})",
                f"({x} / {y})",
                f"({x} ** 2)",
                f"(-{x})",
                f"({prim}.min {x} {y} + 0)",
                f"({prim}.max {x} {y} + 0)",
                f"({prim}.abs {x})",
                f"({prim}.sgn {x})",
                f"({prim}.floor {x})",
                f"({prim}.trunc {x})",
                f"({prim}.round {x})",
                f"({prim}.sqrt ({prim}.abs {x}))",
                f"({prim}.copysign {x} (let s = {y} in if {prim}.isnan s then 1 else s))",
                f"({prim}.bool ({prim}.isnan {x}))",
            )
        bits = DTYPE[prim].itemsize * 8
        by = self.pick(str(rng.randint(0, bits - 1)), f"({y} & {bits - 1})")
        divisor = f"(({y} & 7) + 1)"
        return self.pick(
            f"({x} + {y})",
            f"({x} - {y})",
            f"({x} * {y})",
            f"({x} ** 2)",
            f"({x} & {y})",
            f"({x} | {y})",
            f"({x} ^ {y})",
            f"({x} << {by})",
            f"({x} >> {by})",
            f"({x} / {divisor})",
            f"({x} % {divisor})",
            f"({x} // {divisor})",
            f"({x} %% {divisor})",
            f"({prim}.min {x} {y})",
            f"({prim}.max {x} {y})",
            f"({prim}.abs {x})",
            f"({prim}.sgn {x})",
            f"({prim}.popc {x} |> {prim}.i32)",
            f"({prim}.clz {x} |> {prim}.i32)",
            f"({prim}.mul_hi {x} {y})",
        )

    # --- statements --------------------------------------------------------------------------

    def part(self) -> tuple[str, str]:
        """A part of a row of n, and its size."""
        k = self.pick("k", "1", "2", "3", "5")
        low = f"(i64.min n {k})"
        return self.rng.choice(
            [
                ("", "n"),
                (f"[{low}:]", f"(n - {low})"),
                (f"[:n - {low}]", f"(n - {low})"),
                (f"[{low}:]", f"(n - {low})"),
                ("[::-1]", "n"),
                ("[:n / 2]", "(n / 2)"),
                ("[n - n / 2:]", "(n / 2)"),
            ]
        )

    def rows(self) -> tuple[list[str], list[tuple[str, Prim]], str]:
        """Parts of one size, the names of their elements, and the size."""
        names = self.rng.sample(["a", "b", "c"], self.rng.randint(1, 3))
        _, size = self.part()
        shown = []
        for name in names:
            other, _ = next(p for p in iter(self.part, None) if p[1] == size)
            shown.append(f"({name}{other} :> [{size[1:-1] if size[0] == '(' else size}]")
            shown[-1] += f"{self.types[name]})"
        return shown, [(f"x{k}", self.types[name]) for k, name in enumerate(names)], size

    def over(self, prims: list[Prim]) -> tuple[str, str]:
        """A map that gives numbers of these types, and how many."""
        shown, xs, size = self.rows()
        values = ", ".join(self.value(prim, xs) for prim in prims)
        body = f"({values})" if len(prims) > 1 else values
        name = f"map{len(xs)}" if len(xs) > 1 else "map"
        return f"{name} (\\{' '.join(x for x, _ in xs)} -> {body}) {' '.join(shown)}", size

    def mapped(self) -> str:
        return self.fresh(self.over([self.rng.choice(TYPES)])[0])

    def two(self) -> str:
        """Two results of one map."""
        text, _ = self.over([self.rng.choice(TYPES), self.rng.choice(TYPES)])
        one, other = f"r{len(self.results)}", f"r{len(self.results) + 1}"
        self.results += [one, other]
        return f"  let ({one}, {other}) = unzip ({text})\n"

    def updated(self) -> str:
        """A part of an array made of parts of others, or of another part of itself."""
        name = self.pick("b", "c")
        text, size = self.over([self.types[name]])
        where, _ = next(p for p in iter(self.part, None) if p[1] == size)
        if not where:
            return f"  let {name} = {text}\n"
        return f"  let {name} = {name} with {where} = {text}\n"

    def looked_up(self) -> str:
        """Elements of a table of 16 at places that are bounded by how they are computed."""
        shown, xs, _ = self.rows()
        prim = self.rng.choice(INTS)
        x = self.value(prim, xs, 2)
        bits = DTYPE[prim].itemsize * 8
        at = self.pick(
            f"{x} & 15",
            f"({x} >> {bits - 4}) & 15",
            f"{prim}.min 15 ({prim}.max 0 {x})",
            f"{x} %% 16" if prim[0] == "i" else f"{x} % 16",
            f"({x} & 7) * 2 + 1",
            f"15 - ({x} & 15)",
        )
        name = f"map{len(xs)}" if len(xs) > 1 else "map"
        binders = " ".join(x for x, _ in xs)
        look = f"let q = {at} in t[i64.{prim} q]" if prim != "i64" else f"t[{at}]"
        return self.fresh(f"{name} (\\{binders} -> {look}) {' '.join(shown)}")

    def operator(self, prim: Prim) -> tuple[str, str]:
        """An operator whose order does not matter, and its neutral element."""
        op = self.pick(*REDUCED["f" if prim in FLOATS else "i"])
        if op in ("max", "min"):
            neutral = {"max": "lowest", "min": "highest"}[op]
            if prim in FLOATS:
                return f"{prim}.{op}", f"(-{prim}.inf)" if op == "max" else f"{prim}.inf"
            return f"{prim}.{op}", f"{prim}.{neutral}"
        return f"({op})", f"(!0{prim})" if op == "&" else f"{NEUTRAL[op]}{prim}"

    def positive(self, prim: Prim, x: str) -> str:
        """The same, with 0.0 for -0.0: the least of both, and the largest, is any of them."""
        return x if prim in INTS else f"({x} + 0)"

    def columns(self) -> str:
        """Columns or rows of a matrix reduced, by one of the ways to write it."""
        op, zero = self.operator(self.one)
        x = self.positive(self.one, self.value(self.one, [("x", self.one)], 2))
        f = self.pick("" if self.one in INTS else "map (+ 0) ", f"map (\\x -> {x}) ")
        column = f"({f}col)" if f else "col"
        return self.fresh(
            self.pick(
                f"map (\\col -> reduce {op} {zero} {column}) (transpose g)",
                f"map (\\col -> reduce {op} {zero} {column}) g",
                f"reduce (map2 {op}) (replicate n {zero}) (map (\\col -> {column}) g)",
                f"tabulate n (\\j -> loop s = {zero} for i < m do {op} s (g[i, j] + 0))",
                f"map (\\col -> scan {op} {zero} {column}) (transpose g)",
                f"map2 (\\row y -> reduce {op} {zero} (map ({op} y) row)) (transpose g) a"
                if self.one in INTS
                else f"map (\\col -> reduce {op} {zero} {column}) (transpose g[::-1])",
            )
        )

    def sums(self) -> str:
        """A row reduced or scanned, and a map of the result beside it."""
        shown, xs, _ = self.rows()
        prim = self.rng.choice(TYPES)
        op, zero = self.operator(prim)
        name = f"map{len(xs)}" if len(xs) > 1 else "map"
        binders = " ".join(x for x, _ in xs)
        x = self.positive(prim, self.value(prim, xs, 2))
        row = f"({name} (\\{binders} -> {x}) {' '.join(shown)})"
        return self.fresh(self.pick(f"reduce {op} {zero} {row}", f"scan {op} {zero} {row}"))
