"""Literals: numbers whose types the context determines, booleans, strings."""

from __future__ import annotations

import math
from fractions import Fraction

from compiler import codes
from compiler.base.errors import CompilerBug, TypeError_
from compiler.base.nearest import nearest, nearest_to_text
from compiler.base.prim import Prim, int_range
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.scope.state import FLOAT_SET, NUMBER_SET, Checker
from compiler.frontend.check.types.metas import BOOL, PRIM_T
from compiler.frontend.types import Array, PrimT, SizeConst, Type


def literal(st: Checker, exp: ast.Exp) -> t.Const:
    """Type an integer, float or boolean literal; without a suffix its type is left open.

    Errors: an integer that no type has.
    """
    match exp:
        case ast.IntLit(span=span, value=value, suffix=suffix):
            if suffix:
                return t.Const(PRIM_T[suffix], span, value)
            return t.Const(st.prim_meta(NUMBER_SET, span), span, value)
        case ast.FloatLit(span=span, text=text, suffix=suffix):
            if suffix:
                prim = PRIM_T[suffix].prim
                return t.Const(PRIM_T[suffix], span, nearest_to_text(text, prim))
            number = nearest_to_text(text, "f64")
            if math.isinf(number):
                raise TypeError_(
                    codes.syntax.NUMBER,
                    f"The literal `{text}` is too large for any type.",
                    span,
                    "Write `1e400f64`, with the type's name after it, to get infinity.",
                )
            return t.Const(st.prim_meta(FLOAT_SET, span), span, number)
        case ast.BoolLit(span=span, value=truth):
            return t.Const(BOOL, span, truth)
    raise CompilerBug("A literal is needed here.", exp.span)


def infer_literal(st: Checker, exp: ast.Exp, expected: Type | None) -> t.Exp:
    """Infer a literal as an expression."""
    plain = type(exp) is ast.IntLit and not exp.suffix
    if plain and type(expected) is PrimT and expected.prim in NUMBER_SET:
        assert isinstance(exp, ast.IntLit)
        check_range(exp.value, expected, exp.span)
        return t.Const(expected, exp.span, exp.value)
    return literal(st, exp)


def infer_string(st: Checker, exp: ast.StringLit, expected: Type | None) -> t.Exp:
    """Infer a string: an array of its UTF-8 bytes."""
    data = exp.value.encode("utf-8", "surrogateescape")
    return t.StringConst(Array((SizeConst(len(data)),), PRIM_T["u8"]), exp.span, data)


_TOO_LARGE = {"f16": 65520, "f32": 2**128, "f64": 2**1024 - 2**970}
"""Bounds from which numbers round to infinity."""
_LONGEST = 100
"""Most digits of a number in an error."""


def check_range(value: int | float | bool, type_: PrimT, span: Span) -> None:
    """Demand that a literal has a value of its type.

    Errors: it is too large or too small.
    """
    prim = type_.prim
    if isinstance(value, bool) or prim == "bool":
        return
    if prim[0] == "f":
        fits = isinstance(value, float) or abs(value) < _TOO_LARGE[prim]
    else:
        low, high = int_range(prim)
        fits = low <= value <= high
    if not fits:
        raise TypeError_(
            codes.syntax.NUMBER,
            f"The literal {_shown(value)} does not fit into `{prim}`.",
            span,
            _range(prim),
        )


def _range(prim: Prim) -> str:
    """Describe the range of an integer type."""
    if prim in FLOAT_SET:
        return ""
    low, high = int_range(prim)
    return f"`{prim}` holds {low} to {high}."


def _shown(value: int | float) -> str:
    text = str(value)
    return f"`{text}`" if len(text) <= _LONGEST else f"of {len(text)} digits"


def constant(value: int | float | bool, type_: PrimT) -> int | float | bool:
    """Return the value of a literal at its final type: floats for float types, wrapped integers."""
    prim = type_.prim
    if prim == "bool" or isinstance(value, bool):
        return value
    if prim[0] == "f":
        if isinstance(value, float) and (not value or not math.isfinite(value)):
            return value
        return nearest(Fraction(value), prim)
    bits = int(prim[1:])
    number = int(value) % (1 << bits)
    return number - (1 << bits) if prim[0] == "i" and number >= 1 << (bits - 1) else number
