"""Literals: numbers whose type the context decides, booleans, strings."""

from __future__ import annotations

from compiler.base.errors import TypeError_
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.metas import BOOL, PRIM_T
from compiler.frontend.check.state import FLOAT_SET, NUMBER_SET, State
from compiler.frontend.types import Array, PrimT, SizeConst, Type


def literal(st: State, exp: ast.Exp) -> t.Const:
    """An integer, float or boolean literal; without a suffix its type is left open."""
    match exp:
        case ast.IntLit(span=span, value=value, suffix=suffix):
            if suffix:
                return t.Const(PRIM_T[suffix], span, value)
            return t.Const(st.prim_meta(NUMBER_SET, span), span, value)
        case ast.FloatLit(span=span, text=text, suffix=suffix):
            number = _float(text)
            if suffix:
                return t.Const(PRIM_T[suffix], span, number)
            return t.Const(st.prim_meta(FLOAT_SET, span), span, number)
        case ast.BoolLit(span=span, value=truth):
            return t.Const(BOOL, span, truth)
    raise TypeError_("A literal is needed here.", exp.span)


def _float(text: str) -> float:
    plain = text.replace("_", "").lower()
    return float.fromhex(plain) if plain.startswith(("0x", "-0x")) else float(plain)


def infer_literal(st: State, exp: ast.Exp, expected: Type | None) -> t.Exp:
    """A literal as an expression."""
    plain = type(exp) is ast.IntLit and not exp.suffix
    if plain and type(expected) is PrimT and expected.prim in NUMBER_SET:
        assert isinstance(exp, ast.IntLit)
        return t.Const(expected, exp.span, exp.value)
    return literal(st, exp)


def infer_string(st: State, exp: ast.StringLit, expected: Type | None) -> t.Exp:
    """A string is an array of its UTF-8 bytes."""
    data = exp.value.encode("utf-8", "surrogateescape")
    return t.StringConst(Array((SizeConst(len(data)),), PRIM_T["u8"]), exp.span, data)


def constant(value: int | float | bool, type_: PrimT) -> int | float | bool:
    """The value of a literal at its final type: floats for float types, integers wrapped."""
    prim = type_.prim
    if prim == "bool" or isinstance(value, bool):
        return value
    if prim[0] == "f":
        return float(value)
    bits = int(prim[1:])
    number = int(value) % (1 << bits)
    return number - (1 << bits) if prim[0] == "i" and number >= 1 << (bits - 1) else number
