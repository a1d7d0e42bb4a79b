"""Measure the errors of every function of the floating-point types.

A result is held against the value of the function: for f16 and f32 what is correctly rounded, for
f64 what `long double` has, which is exact to a thousandth of a unit in the last place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.prim import FUNS, Prim
from compiler.ir import floats, scalar

Val = Any
OPERATORS = {"neg": "-x", "abs": "T.abs x", "sgn": "T.sgn x", "%": "x % y", "**": "x ** y"}
OPERATORS |= {name: f"T.{name} x y" for name in ("min", "max")}
UNARY = ("neg", "abs", "sgn")
CHANGED = frozenset(floats.WIDE)
"""Functions that are not rounded once by definition."""
DIGITS = {"f16": (11, -24), "f32": (24, -149), "f64": (53, -1074)}


@dataclass(frozen=True, slots=True)
class Function:
    """A function or operator of floats: what the language calls it, and its arguments."""

    name: str
    arity: int

    def entry(self, at: Prim) -> str:
        """An entry point that maps it over arrays."""
        names = "xyz"[: self.arity]
        called = OPERATORS.get(self.name, f"T.{self.name} {' '.join(names)}").replace(
            "T.", f"{at}."
        )
        kinds = [at] * self.arity if self.name != "ldexp" else [at, "i32"]
        given = " ".join(f"({one}s: [n]{kind})" for one, kind in zip(names, kinds, strict=True))
        mapped = f"map{self.arity if self.arity > 1 else ''} (\\{' '.join(names)} -> {called})"
        arrays = " ".join(f"{one}s" for one in names)
        return f"entry {self.symbol} [n] {given} : [n]{at} = {mapped} {arrays}"

    @property
    def symbol(self) -> str:
        """Its name as an entry point."""
        return {"%": "mod", "**": "pow"}.get(self.name, self.name)

    def apply(self, at: Prim, args: Sequence[Val]) -> Val:
        """Apply the function by the reference interpreter."""
        if self.name in UNARY:
            return scalar.apply_un(self.name, at, *args)
        if self.name in OPERATORS and self.name != "abs":
            return scalar.apply_bin(self.name, at, *args)
        return scalar.apply_fun(self.name, at, tuple(args))


def functions() -> list[Function]:
    """All of them."""
    named = [
        Function(name, arity)
        for name, (arity, kind, result) in FUNS.items()
        if kind == "float" and result == "same" and name != "from_bits"
    ]
    operators = [Function(name, 1 if name in UNARY else 2) for name in OPERATORS]
    return named + operators


def program(at: Prim) -> str:
    """An entry point for each function."""
    return "\n".join(one.entry(at) for one in functions())


def inputs(fun: Function, at: Prim, count: int) -> list[Val]:
    """Arguments: all f16; of f32 and f64 so many, with numbers at borders."""
    of = np.random.default_rng(len(fun.name) + fun.arity)
    first = halves() if at == "f16" else numbers(of, at, count)
    others = [of.permutation(first) for _ in range(fun.arity - 1)]
    if at == "f16" and others:
        pairs = short(of)
        first = np.concatenate([first, pairs[0]])
        others = [np.concatenate([one, pairs[1]]) for one in others]
    if fun.name == "ldexp":
        others = [of.integers(-300 if at != "f64" else -2200, 300, len(first), dtype=np.int32)]
    return [first, *others]


def halves() -> Val:
    """All of f16."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def short(of: np.random.Generator) -> tuple[Val, Val]:
    """Pairs of f16 with few digits: what is computed of them often lies between two others."""
    count = 1 << 12
    digits = of.integers(-64, 65, count) * of.choice([1.0, 2.0**-24, 2.0**-8, 33.0], count)
    powers = of.choice([2.0, 3.0, 0.5, -1.0, -2.0, 1.5, 4.0, 256.0, 2.0**15, 1.25, 7.0], count)
    return digits.astype(np.float16), powers.astype(np.float16)


def numbers(of: np.random.Generator, at: Prim, count: int) -> Val:
    """Draw numbers of all magnitudes, near 0, and around zeros, poles and ends of functions.

    All NaN are quiet: libraries differ in their treatment of signalling ones.
    """
    dtype, size = DTYPE[at], DTYPE[at].itemsize
    limits: Any = np.finfo(dtype)
    part = count // 8
    every = of.integers(0, 2 ** (8 * size) - 1, 2 * part, dtype=f"u{size}", endpoint=True)
    small = of.integers(0, 1 << (DIGITS[at][0] - 1), part // 4, dtype=f"u{size}")
    points = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, np.pi, np.pi / 2, np.e, 10.0, 100.0])
    spans = [of.uniform(-span, span, part) for span in (1, 10, 200, 1000)]
    near = of.choice([*points, *-points], part) * (1 + of.normal(0, 1e-5, part))
    edges = [limits.max, limits.tiny, np.inf, 0.0, limits.eps, 2.0**24]
    with np.errstate(all="ignore"):
        found = [
            every.view(dtype),
            small.view(dtype),
            *(one.astype(dtype) for one in (*spans, near)),
        ]
        ends = np.array([*edges, *points, *(1 - limits.epsneg * np.arange(9))]).astype(dtype)
    gaps = of.integers(1, 1 << (DIGITS[at][0] - 1), 64, dtype=f"u{size}")
    nans = (np.array(np.inf, dtype).view(f"u{size}") | gaps).view(dtype)
    signed = [ends, -ends, nans, np.copysign(nans, dtype.type(-1))]
    rest = count - sum(map(len, found)) - sum(map(len, signed))
    filler = of.integers(0, 2 ** (8 * size) - 1, max(rest, 0), dtype=f"u{size}").view(dtype)
    made = np.concatenate([*signed, *found, filler])[:count]
    quiet = np.where(np.isnan(made), 1 << (DIGITS[at][0] - 2), 0).astype(f"u{size}")
    return (made.view(f"u{size}") | quiet).view(dtype)


@dataclass(frozen=True, slots=True)
class Off:
    """The errors of results.

    `wrong`: the number of those that are not the nearest number; `units`: the largest error in
    units in the last place, half a unit where all are the nearest; `other`: the number that are
    NaN, infinite or of a sign where they should not, or the other way round.
    """

    wrong: int
    units: float
    other: int

    @property
    def is_right(self) -> bool:
        """True if all results are the nearest numbers."""
        return not self.wrong and not self.other


@dataclass(frozen=True, slots=True)
class Truth:
    """The values of a function in more digits than the type has, and the numbers next to them."""

    exact: Val
    right: Val


def truth(fun: Function, at: Prim, args: Sequence[Val]) -> Truth:
    """Return the correct results of a function."""
    with np.errstate(all="ignore"):
        if fun.name not in floats.WIDE:
            right = fun.apply(at, args)
            return Truth(np.asarray(right, np.longdouble), right)
        wide = np.longdouble if at == "f64" else np.float64
        exact = np.asarray(floats.WIDE[fun.name](*[np.asarray(arg, wide) for arg in args]))
        right = exact.astype(np.float64) if at == "f64" else fun.apply(at, args)
        return Truth(exact, right)


def off(fun: Function, at: Prim, args: Sequence[Val], found: Val) -> Off:
    """Return the errors of results."""
    return compared(fun, at, truth(fun, at, args), found)


def compared(fun: Function, at: Prim, true: Truth, found: Val) -> Off:
    """The same where the truth is known."""
    exact, right = true.exact, true.right
    with np.errstate(all="ignore"):
        is_number = np.isfinite(right) & np.isfinite(found)
        same = (found == right) | (np.isnan(found) & np.isnan(right))
        signs = np.signbit(found) != np.signbit(right)
        counts_sign = ~np.isnan(right) | (fun.name in ("copysign", "neg", "abs"))
        other = ~is_number & ~same | signs & counts_sign
        far = is_number & ~other
        distance = np.abs(found[far].astype(exact.dtype) - exact[far]) / ulps(exact[far], at)
    rounding = fun.name in floats.WIDE or fun.name in ("sqrt", "fma", "recip", "ldexp")
    least = 0.5 if rounding else 0.0
    wrong = int((far & ~same).sum())
    return Off(wrong, max(least, float(distance.max(initial=0.0))), int(other.sum()))


def ulps(exact: Val, at: Prim) -> Val:
    """Return the unit in the last place of a type near each value."""
    digits, least = DIGITS[at]
    powers = np.frexp(exact)[1]
    return np.ldexp(exact.dtype.type(1), np.maximum(powers - digits, least))
