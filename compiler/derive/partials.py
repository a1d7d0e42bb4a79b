"""Partial derivatives of scalar operations, as expressions.

A `ToPart` is the edge from an operation to one operand. A tangent goes forward along it, an adjoint
back; for most operations both are products with the partial derivative. Equations are those of
Futhark where these are right: `min` and `max` take the left operand at ties, `x ** y` has no slope
at 0 for powers below 1, and functions of a number's bits apply to the bits of the slope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from compiler.base.dtypes import DTYPE
from compiler.base.prim import FLOATS, Prim
from compiler.ir.nodes import FALSE, SE, Bin, Conv, Fun, Lit, Select, Un
from compiler.ir.sizes import prim_of

Linear = Callable[[SE], SE]


class ToPart(NamedTuple):
    """The edge from an operation to one of its operands."""

    part: SE
    forward: Linear
    back: Linear


def zero(prim: Prim) -> Lit:
    """Return the zero slope."""
    return number(0, prim)


def number(value: float, prim: Prim) -> Lit:
    """Return a literal of a type, rounded to it."""
    if prim == "bool":
        return Lit(bool(value), prim)
    if prim not in FLOATS:
        return Lit(int(value), prim)
    return Lit(float(DTYPE[prim].type(value)), prim)


def total(prim: Prim, a: SE, b: SE) -> SE:
    """Add two slopes."""
    if isinstance(a, Lit) and not a.value:
        return b
    if isinstance(b, Lit) and not b.value:
        return a
    return Bin("||" if prim == "bool" else "+", prim, a, b)


def edges(se: SE, out: SE) -> list[ToPart]:
    """Return the edges to all operands on which the result `out` depends smoothly."""
    match se:
        case Bin(op, at, a, b):
            found = _BIN.get(op)
            return [] if found is None else _edges(at, (a, b), found(_Of(at), a, b, out))
        case Un(op, at, a):
            return _edges(at, (a,), (_unary(_Of(at), op, a),))
        case Conv(src, dst, a):
            return [ToPart(a, lambda t: Conv(src, dst, t), lambda t: Conv(dst, src, t))]
        case Fun("to_bits" | "from_bits" as fun, at, (a,)):
            other = "from_bits" if fun == "to_bits" else "to_bits"
            there: Linear = lambda t: Fun(fun, at, (t,))  # noqa: E731
            return [ToPart(a, there, lambda t: Fun(other, at, (t,)))]
        case Fun(fun, at, args):
            if fun in UNKNOWN:
                return [ToPart(args[0], _itself, _itself)]
            known = _FUN.get(fun) if at in FLOATS else None
            return [] if known is None else _edges(at, args, known(_Of(at), *args, out))
        case Select(cond, then, orelse):
            no = zero(prim_of(then))
            yes: Linear = lambda t: Select(cond, t, no)  # noqa: E731
            other_way: Linear = lambda t: Select(cond, no, t)  # noqa: E731
            return [ToPart(then, yes, yes), ToPart(orelse, other_way, other_way)]
    return []


UNKNOWN = ("gamma", "lgamma")
"""Functions whose derivatives the language cannot express: deriving them is refused."""

Partial = SE | Linear | None
"""A factor; a function of the slope; or None."""


def _edges(at: Prim, parts: Sequence[SE], partials: Sequence[Partial]) -> list[ToPart]:
    found: list[ToPart] = []
    for part, partial in zip(parts, partials, strict=True):
        if partial is None:
            continue
        linear = partial if callable(partial) else _times(at, partial)
        found.append(ToPart(part, linear, linear))
    return found


def _times(at: Prim, factor: SE) -> Linear:
    return lambda t: Bin("&&" if at == "bool" else "*", at, t, factor)


def _itself(t: SE) -> SE:
    return t


class _Of(NamedTuple):
    """Arithmetic of a type."""

    at: Prim

    def lit(self, value: float) -> SE:
        return number(value, self.at)

    def add(self, a: SE, b: SE | float) -> SE:
        return Bin("+", self.at, a, self.se(b))

    def sub(self, a: SE | float, b: SE | float) -> SE:
        return Bin("-", self.at, self.se(a), self.se(b))

    def mul(self, a: SE, b: SE | float) -> SE:
        return Bin("*", self.at, a, self.se(b))

    def div(self, a: SE | float, b: SE | float) -> SE:
        return Bin("/" if self.at in FLOATS else "//", self.at, self.se(a), self.se(b))

    def neg(self, a: SE) -> SE:
        return Un("neg", self.at, a)

    def fun(self, name: str, *args: SE) -> SE:
        return Fun(name, self.at, args)

    def se(self, a: SE | float) -> SE:
        return self.lit(a) if isinstance(a, float | int) else a

    def choose(self, cond: SE) -> Linear:
        """Return the function that keeps the slope where a condition holds, else gives zero."""
        return lambda t: Select(cond, t, self.lit(0))

    @property
    def is_float(self) -> bool:
        return self.at in FLOATS


def _unary(of: _Of, op: str, a: SE) -> Partial:
    if op == "abs":
        return Un("sgn", of.at, a)
    if op == "not" and of.at == "bool":
        return a
    return None if op == "sgn" else of.neg


# --- operators -------------------------------------------------------------------------------

Partials = tuple[Partial, Partial]


def _div(of: _Of, x: SE, y: SE, out: SE) -> Partials:
    if of.is_float:
        return (lambda t: of.div(t, y)), (lambda t: of.neg(of.div(of.mul(t, out), y)))
    square = of.mul(y, y)
    safe = Select(Bin("==", of.at, square, of.lit(0)), of.lit(1), square)
    slope = Select(Bin("==", of.at, square, of.lit(0)), of.lit(0), of.neg(of.div(x, safe)))
    return of.div(1, _not_zero(of, y)), slope


def _not_zero(of: _Of, y: SE) -> SE:
    return y if isinstance(y, Lit) else Select(Bin("==", of.at, y, of.lit(0)), of.lit(1), y)


def _mod(of: _Of, x: SE, y: SE, out: SE) -> Partials:
    whole = of.neg(of.fun("round", of.div(of.sub(x, out), y))) if of.is_float else None
    return _itself, whole


def _pow(of: _Of, x: SE, y: SE, out: SE) -> Partials:
    if not of.is_float:
        return of.mul(Bin("**", of.at, x, of.sub(y, 1)), y), None
    flat = Bin("==", of.at, x, of.lit(0))
    if isinstance(y, Lit):
        by_base = of.mul(Bin("**", of.at, x, of.lit(float(y.value) - 1)), y)
        if y.value < 1:
            by_base = Select(flat, of.lit(0), by_base)
    else:
        low = Bin("&&", "bool", flat, Bin("<", of.at, y, of.lit(1)))
        by_base = Select(low, of.lit(0), of.mul(Bin("**", of.at, x, of.sub(y, 1)), y))
    positive = Bin("<=", of.at, x, of.lit(0))
    return by_base, Select(positive, of.lit(0), of.mul(out, of.fun("log", x)))


def _extreme(op: str) -> Callable[[_Of, SE, SE, SE], Partials]:
    def partials(of: _Of, x: SE, y: SE, out: SE) -> Partials:
        first: SE = Bin(op, of.at, x, y)
        if of.is_float:
            first = Bin("||", "bool", first, of.fun("isnan", y))
        return of.choose(first), (lambda t: Select(first, of.lit(0), t))

    return partials


_BIN: dict[str, Callable[[_Of, SE, SE, SE], Partials]] = {
    "+": lambda of, x, y, out: (_itself, _itself),
    "-": lambda of, x, y, out: (_itself, of.neg),
    "*": lambda of, x, y, out: (y, x),
    "/": _div,
    "//": _div,
    "%": _mod,
    "%%": _mod,
    "**": _pow,
    "min": _extreme("<="),
    "max": _extreme(">="),
    "<<": lambda of, x, y, out: (Bin("<<", of.at, of.lit(1), y), None),
    "&&": lambda of, x, y, out: (y, x),
    "||": lambda of, x, y, out: (_itself, lambda t: FALSE),
}
"""Partial derivatives by both operands; operators that are missing here have none."""


# --- functions -------------------------------------------------------------------------------


def _one_minus_square(of: _Of, x: SE) -> SE:
    return of.sub(1, of.mul(x, x))


def _square_plus(of: _Of, x: SE, more: float) -> SE:
    return of.add(of.mul(x, x), more)


def _asin(of: _Of, x: SE, out: SE) -> tuple[SE]:
    return (of.div(1, of.fun("sqrt", _one_minus_square(of, x))),)


def _acos(of: _Of, x: SE, out: SE) -> tuple[SE]:
    return (of.neg(_asin(of, x, out)[0]),)


def _atan(of: _Of, x: SE, out: SE) -> tuple[SE]:
    return (of.div(1, _square_plus(of, x, 1)),)


def _atan2(of: _Of, y: SE, x: SE, out: SE) -> tuple[SE, SE]:
    square = of.add(of.mul(x, x), of.mul(y, y))
    return of.div(x, square), of.neg(of.div(y, square))


def _over_pi(known: Callable[..., tuple[SE, ...]]) -> Callable[..., tuple[SE, ...]]:
    return lambda of, *args: tuple(of.div(d, math.pi) for d in known(of, *args))


def _copysign(of: _Of, x: SE, y: SE, out: SE) -> tuple[SE, None]:
    return of.mul(Un("sgn", of.at, x), of.fun("copysign", of.lit(1), y)), None


_FUN: dict[str, Callable[..., Sequence[Partial]]] = {
    "sqrt": lambda of, x, out: (of.div(1, of.mul(out, 2)),),
    "cbrt": lambda of, x, out: (of.div(1, of.mul(of.mul(out, out), 3)),),
    "exp": lambda of, x, out: (out,),
    "exp2": lambda of, x, out: (of.mul(out, math.log(2)),),
    "exp10": lambda of, x, out: (of.mul(out, math.log(10)),),
    "log": lambda of, x, out: (of.div(1, x),),
    "log2": lambda of, x, out: (of.div(1, of.mul(x, math.log(2))),),
    "log10": lambda of, x, out: (of.div(1, of.mul(x, math.log(10))),),
    "log1p": lambda of, x, out: (of.div(1, of.add(x, 1)),),
    "sin": lambda of, x, out: (of.fun("cos", x),),
    "cos": lambda of, x, out: (of.neg(of.fun("sin", x)),),
    "tan": lambda of, x, out: (_square_plus(of, out, 1),),
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "sinh": lambda of, x, out: (of.fun("cosh", x),),
    "cosh": lambda of, x, out: (of.fun("sinh", x),),
    "tanh": lambda of, x, out: (_one_minus_square(of, out),),
    "asinh": lambda of, x, out: (of.div(1, of.fun("sqrt", _square_plus(of, x, 1))),),
    "acosh": lambda of, x, out: (of.div(1, of.fun("sqrt", _square_plus(of, x, -1))),),
    "atanh": lambda of, x, out: (of.div(1, _one_minus_square(of, x)),),
    "sinpi": lambda of, x, out: (of.mul(of.fun("cospi", x), math.pi),),
    "cospi": lambda of, x, out: (of.mul(of.fun("sinpi", x), -math.pi),),
    "tanpi": lambda of, x, out: (of.mul(_square_plus(of, out, 1), math.pi),),
    "asinpi": _over_pi(_asin),
    "acospi": _over_pi(_acos),
    "atanpi": _over_pi(_atan),
    "erf": lambda of, x, out: (_bell(of, x, 2 / math.sqrt(math.pi)),),
    "erfc": lambda of, x, out: (_bell(of, x, -2 / math.sqrt(math.pi)),),
    "rsqrt": lambda of, x, out: (of.mul(of.mul(of.mul(out, out), out), -0.5),),
    "recip": lambda of, x, out: (of.neg(of.mul(out, out)),),
    "atan2": _atan2,
    "atan2pi": _over_pi(_atan2),
    "hypot": lambda of, x, y, out: (of.div(x, out), of.div(y, out)),
    "copysign": _copysign,
    "nextafter": lambda of, x, y, out: (_itself, None),
    "lerp": lambda of, a, b, t, out: (of.sub(1, t), t, of.sub(b, a)),
    "fma": lambda of, a, b, c, out: (b, a, _itself),
    "mad": lambda of, a, b, c, out: (b, a, _itself),
    "ldexp": lambda of, x, n, out: (of.fun("ldexp", of.lit(1), n), None),
}
"""Partial derivatives by all arguments; functions that are missing here are piecewise constant."""


def _bell(of: _Of, x: SE, height: float) -> SE:
    return of.mul(of.fun("exp", of.neg(of.mul(x, x))), height)
