"""Numbers with derivatives, for the reference interpreter's derivatives.

A `Tracked` number is a value at a level, one level for each active derivative; values may be
tracked at lower levels themselves, so that derivatives nest. Its `slope` is its dependence on the
inputs of its level: in forward mode the tangent, in reverse mode a `TapeNode` of a tape.

This shares nothing with `derive/`, which transforms programs and is tested against it: here are the
same equations once more, on numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.prim import FLOATS, Prim, fun_result
from compiler.ir.scalar import apply_bin, apply_fun, apply_un, convert

Number = Any
"""A NumPy scalar, or a `Tracked`."""
Linear = Callable[[Number], Number]


@dataclass(eq=False, slots=True)
class TapeNode:
    """A number on a tape: its operands, and the functions that pass adjoints to them."""

    order: int
    prim: Prim
    parents: list[tuple[TapeNode, Linear]]
    adjoint: Number = None

    def take(self, adjoint: Number) -> None:
        """Accumulate an adjoint."""
        first = self.adjoint is None
        self.adjoint = adjoint if first else sum_(self.prim, self.adjoint, adjoint)


@dataclass(eq=False, slots=True)
class Level:
    """An active derivative: forward if it has no tape."""

    number: int
    tape: list[TapeNode] | None = field(default=None)

    def node(self, prim: Prim, parents: list[tuple[TapeNode, Linear]]) -> TapeNode:
        """Append a number to the tape."""
        assert self.tape is not None
        self.tape.append(TapeNode(len(self.tape), prim, parents))
        return self.tape[-1]


class Tracked:
    """A number with its derivative at a level."""

    __slots__ = ("level", "slope", "value")

    def __init__(self, value: Number, level: Level, slope: Any) -> None:
        self.value = value
        self.level = level
        self.slope = slope

    def __bool__(self) -> bool:
        return bool(plain(self))

    def __int__(self) -> int:
        return int(plain(self))

    def __index__(self) -> int:
        return int(plain(self))


def plain(a: Number) -> Any:
    """Strip derivatives from a number."""
    while type(a) is Tracked:
        a = a.value
    return a


# --- operations ------------------------------------------------------------------------------


def bin_(op: str, at: Prim, a: Number, b: Number) -> Number:
    """Apply a binary operator."""
    if type(a) is not Tracked and type(b) is not Tracked:
        return apply_bin(op, at, a, b)

    def slopes(x: Number, y: Number, out: Number) -> Sequence[ToPart]:
        partials = _BIN.get(op)
        if partials is None:
            return (None, None)
        return [_times(at, d) for d in partials(_Num(at, x), _Num(at, y), _Num(at, out))]

    prim: Prim = at if op not in ("==", "!=", "<", "<=", ">", ">=") else "bool"
    return _apply((a, b), prim, lambda x, y: bin_(op, at, x, y), slopes)


def un_(op: str, at: Prim, a: Number) -> Number:
    """Apply a unary operator."""
    if type(a) is not Tracked:
        return apply_un(op, at, a)

    def slopes(x: Number, out: Number) -> Sequence[ToPart]:
        if op == "abs":
            return (_times(at, _Num(at, un_("sgn", at, x))),)
        if op == "not" and at == "bool":
            return (_times(at, _Num(at, x)),)
        if op == "sgn":
            return (None,)
        return ((lambda t: un_("neg", at, t), lambda t: un_("neg", at, t)),)

    return _apply((a,), at, lambda x: un_(op, at, x), slopes)


def conv_(src: Prim, dst: Prim, a: Number) -> Number:
    """Convert a number; tangents are converted too, and adjoints back."""
    if type(a) is not Tracked:
        return convert(src, dst, a)
    edge = (lambda t: conv_(src, dst, t), lambda t: conv_(dst, src, t))
    return _apply((a,), dst, lambda x: conv_(src, dst, x), lambda x, out: (edge,))


def fun_(fun: str, at: Prim, args: tuple[Number, ...]) -> Number:
    """Apply a function of `prim.FUNS`."""
    if not any(type(a) is Tracked for a in args):
        return apply_fun(fun, at, args)
    if fun in ("to_bits", "from_bits"):
        other = "from_bits" if fun == "to_bits" else "to_bits"
        edge = (lambda t: fun_(fun, at, (t,)), lambda t: fun_(other, at, (t,)))
        return _apply(
            args, fun_result(fun, at), lambda x: fun_(fun, at, (x,)), lambda x, o: (edge,)
        )

    def slopes(*given: Number) -> Sequence[ToPart]:
        partials = _FUN.get(fun)
        if partials is None or at not in FLOATS:
            return [None] * len(args)
        nums = [_Num(at, x) for x in given]
        if fun == "ldexp":
            nums[1] = _Num("i32", given[1])
        found = partials(*nums)
        return [_times(at, d) for d in (found if isinstance(found, tuple) else (found,))]

    return _apply(args, fun_result(fun, at), lambda *x: fun_(fun, at, x), slopes)


ToPart = tuple[Linear, Linear] | None
"""Maps for tangents and for adjoints of an operand; None if the derivative is zero."""


def _apply(
    args: Sequence[Number],
    prim: Prim,
    value: Callable[..., Number],
    slopes: Callable[..., Sequence[ToPart]],
) -> Number:
    """Apply a function of tracked numbers at the innermost of their levels."""
    level = max((a.level for a in args if type(a) is Tracked), key=lambda level: level.number)
    own = [type(a) is Tracked and a.level is level for a in args]
    given = [a.value if yes else a for a, yes in zip(args, own, strict=True)]
    out = value(*given)
    edges = slopes(*given, out)
    found = [
        (a.slope, edge)
        for a, yes, edge in zip(args, own, edges, strict=True)
        if yes and edge is not None
    ]
    if not found:
        return out
    if level.tape is not None:
        return Tracked(out, level, level.node(prim, [(node, edge[1]) for node, edge in found]))
    tangent = found[0][1][0](found[0][0])
    for slope, edge in found[1:]:
        tangent = sum_(prim, tangent, edge[0](slope))
    return Tracked(out, level, tangent)


def sum_(prim: Prim, a: Number, b: Number) -> Number:
    """Add two slopes."""
    return bin_("||" if prim == "bool" else "+", prim, a, b)


def zero(prim: Prim) -> Number:
    """Return the zero slope."""
    return DTYPE[prim].type(0)


def _times(at: Prim, factor: _Num | None) -> ToPart:
    if factor is None:
        return None
    op, value = "&&" if at == "bool" else "*", factor.value
    if factor.chooses is not None:
        chosen = factor.chooses
        pick: Linear = lambda t: t if chosen else zero(at)  # noqa: E731
        return (pick, pick)
    linear: Linear = lambda t: bin_(op, at, t, value)  # noqa: E731
    return (linear, linear)


# --- partial derivatives ---------------------------------------------------------------------


class _Num:
    """A number with the arithmetic of its type, for writing equations."""

    __slots__ = ("at", "chooses", "value")

    def __init__(self, at: Prim, value: Number, chooses: bool | None = None) -> None:
        self.at = at
        self.value = value
        self.chooses = chooses
        """It is an exact factor 1 or 0, without rounding, infinities and NaN."""

    def lit(self, value: float) -> _Num:
        return _Num(self.at, DTYPE[self.at].type(value))

    def _bin(self, op: str, other: _Num | float) -> _Num:
        other = other if isinstance(other, _Num) else self.lit(other)
        return _Num(self.at, bin_(op, self.at, self.value, other.value))

    def __add__(self, other: _Num | float) -> _Num:
        return self._bin("+", other)

    def __sub__(self, other: _Num | float) -> _Num:
        return self._bin("-", other)

    def __mul__(self, other: _Num | float) -> _Num:
        return self._bin("*", other)

    def __truediv__(self, other: _Num | float) -> _Num:
        return self._bin("/" if self.at in FLOATS else "//", other)

    def __pow__(self, other: _Num | float) -> _Num:
        return self._bin("**", other)

    def __neg__(self) -> _Num:
        return _Num(self.at, un_("neg", self.at, self.value))

    def fun(self, name: str, *others: _Num) -> _Num:
        args = (self.value, *(o.value for o in others))
        return _Num(self.at, fun_(name, self.at, args))

    def choice(self, chosen: Any) -> _Num:
        return _Num(self.at, None, bool(chosen))

    @property
    def float(self) -> bool:
        return self.at in FLOATS


def _div(x: _Num, y: _Num, out: _Num) -> tuple[_Num | None, _Num | None]:
    if x.float:
        return x.lit(1) / y, -(x / (y * y))
    square = y * y
    return x.lit(1) / y, (x.lit(0) if plain(square.value) == 0 else -(x / square))


def _mod(x: _Num, y: _Num, out: _Num) -> tuple[_Num | None, _Num | None]:
    return x.choice(True), (-((x - out) / y).fun("round") if x.float else None)


def _pow(x: _Num, y: _Num, out: _Num) -> tuple[_Num | None, _Num | None]:
    if not x.float:
        return x ** (y - 1) * y, None
    base, exponent = plain(x.value), plain(y.value)
    by_base = x.lit(0) if base == 0 and exponent < 1 else y * x ** (y - 1)
    return by_base, (x.lit(0) if base <= 0 else out * x.fun("log"))


def _min(x: _Num, y: _Num, out: _Num) -> tuple[_Num | None, _Num | None]:
    first = bool(plain(x.value) <= plain(y.value)) or bool(plain(y.value) != plain(y.value))
    return x.choice(first), x.choice(not first)


def _max(x: _Num, y: _Num, out: _Num) -> tuple[_Num | None, _Num | None]:
    first = bool(plain(x.value) >= plain(y.value)) or bool(plain(y.value) != plain(y.value))
    return x.choice(first), x.choice(not first)


def _shift(op: str) -> Callable[[_Num, _Num, _Num], tuple[_Num | None, _Num | None]]:
    def partials(x: _Num, y: _Num, out: _Num) -> tuple[_Num | None, _Num | None]:
        return _Num(x.at, bin_(op, x.at, x.lit(1).value, y.value)), None

    return partials


_BIN: dict[str, Callable[[_Num, _Num, _Num], tuple[_Num | None, _Num | None]]] = {
    "+": lambda x, y, out: (x.choice(True), x.choice(True)),
    "-": lambda x, y, out: (x.choice(True), x.lit(-1)),
    "*": lambda x, y, out: (y, x),
    "/": _div,
    "//": _div,
    "%": _mod,
    "%%": _mod,
    "**": _pow,
    "min": _min,
    "max": _max,
    "<<": _shift("<<"),
    "&&": lambda x, y, out: (y, x),
    "||": lambda x, y, out: (x.choice(True), x.choice(False)),
}
"""Partial derivatives by both operands; operators that are missing here have none."""


def _atan2(y: _Num, x: _Num, out: _Num) -> tuple[_Num, _Num]:
    square = x * x + y * y
    return x / square, -(y / square)


def _over_pi(of: Callable[..., Any]) -> Callable[..., Any]:
    def partials(*args: _Num) -> Any:
        found = of(*args)
        return tuple(d / math.pi for d in found) if isinstance(found, tuple) else found / math.pi

    return partials


def _asin(x: _Num, out: _Num) -> _Num:
    return x.lit(1) / (x.lit(1) - x * x).fun("sqrt")


def _acos(x: _Num, out: _Num) -> _Num:
    return -_asin(x, out)


def _atan(x: _Num, out: _Num) -> _Num:
    return x.lit(1) / (x * x + 1)


def _copysign(x: _Num, y: _Num, out: _Num) -> tuple[_Num, None]:
    sign = _Num(x.at, un_("sgn", x.at, x.value))
    return sign * x.lit(1).fun("copysign", y), None


_FUN: dict[str, Callable[..., Any]] = {
    "sqrt": lambda x, out: x.lit(1) / (out * 2),
    "cbrt": lambda x, out: x.lit(1) / (out * out * 3),
    "exp": lambda x, out: out,
    "exp2": lambda x, out: out * math.log(2),
    "exp10": lambda x, out: out * math.log(10),
    "log": lambda x, out: x.lit(1) / x,
    "log2": lambda x, out: x.lit(1) / (x * math.log(2)),
    "log10": lambda x, out: x.lit(1) / (x * math.log(10)),
    "log1p": lambda x, out: x.lit(1) / (x + 1),
    "sin": lambda x, out: x.fun("cos"),
    "cos": lambda x, out: -x.fun("sin"),
    "tan": lambda x, out: out * out + 1,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "sinh": lambda x, out: x.fun("cosh"),
    "cosh": lambda x, out: x.fun("sinh"),
    "tanh": lambda x, out: x.lit(1) - out * out,
    "asinh": lambda x, out: x.lit(1) / (x * x + 1).fun("sqrt"),
    "acosh": lambda x, out: x.lit(1) / (x * x - 1).fun("sqrt"),
    "atanh": lambda x, out: x.lit(1) / (x.lit(1) - x * x),
    "sinpi": lambda x, out: x.fun("cospi") * math.pi,
    "cospi": lambda x, out: x.fun("sinpi") * -math.pi,
    "tanpi": lambda x, out: (out * out + 1) * math.pi,
    "asinpi": _over_pi(_asin),
    "acospi": _over_pi(_acos),
    "atanpi": _over_pi(_atan),
    "erf": lambda x, out: (-(x * x)).fun("exp") * (2 / math.sqrt(math.pi)),
    "erfc": lambda x, out: (-(x * x)).fun("exp") * (-2 / math.sqrt(math.pi)),
    "rsqrt": lambda x, out: out * out * out * -0.5,
    "recip": lambda x, out: -(out * out),
    "atan2": _atan2,
    "atan2pi": _over_pi(_atan2),
    "hypot": lambda x, y, out: (x / out, y / out),
    "copysign": _copysign,
    "nextafter": lambda x, y, out: (x.choice(True), None),
    "lerp": lambda a, b, t, out: (a.lit(1) - t, t, b - a),
    "fma": lambda a, b, c, out: (b, a, a.choice(True)),
    "mad": lambda a, b, c, out: (b, a, a.choice(True)),
    "ldexp": lambda x, n, out: (_Num(x.at, fun_("ldexp", x.at, (x.lit(1).value, n.value))), None),
}
"""Partial derivatives by all arguments; functions that are missing here are piecewise constant."""
