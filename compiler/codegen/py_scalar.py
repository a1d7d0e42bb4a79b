"""Print scalar expressions as Python over `py_runtime.py`: for the interpreter and CUDA's host."""

from __future__ import annotations

import math
from collections.abc import Iterable

from compiler.base.names import Name
from compiler.base.prim import BYTES, COMPARE_OPS, Prim
from compiler.codegen.c.types import c_name
from compiler.codegen.imp.nodes import Apply, Call
from compiler.codegen.index import is_plain
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Operand, Select, Un, Var

_COMPARE = frozenset(COMPARE_OPS)
_PLAIN = {"+": "+", "-": "-", "*": "*"}
_LEVEL = {"or": 1, "and": 2, "not": 3, "cmp": 4, "|": 5, "^": 6, "&": 7, "+": 9, "*": 10}
_ATOM = 20


def show(se: SE) -> str:
    """Print an expression."""
    return _level(se)[0]


def show_count(count: SE) -> str:
    """Print the number of elements of a block, with the semantics of `imp.nodes.Alloc`."""
    shown = show_exact(count)
    return f"at_least_none{shown}" if is_plain(count) else shown


def show_exact(se: SE) -> str:
    """Print an expression without wrapping of sums, differences and products."""
    match se:
        case Bin("+" | "-" | "*" as op, "i64", lhs, rhs):
            return f"({show_exact(lhs)} {op} {show_exact(rhs)})"
    return f"({show(se)})"


def py_name(name: Name) -> str:
    """Return a Python identifier."""
    return c_name(name)


def shown_operand(value: Operand) -> str:
    """Print a scalar expression, or a block by name."""
    return py_name(value) if isinstance(value, str) else show(value)


def shown_tuple(values: Iterable[Operand]) -> str:
    """Print values as a tuple."""
    return f"({''.join(f'{shown_operand(value)}, ' for value in values)})"


def applied(s: Apply) -> str:
    """Print a scalar call and its bindings."""
    names = ", ".join(map(py_name, s.names)) + ("," if len(s.names) == 1 else "")
    return f"{names} = {py_name(s.fun)}({', '.join(map(show, s.args))})"


def called(s: Call, *first: str) -> str:
    """Print a call of a host function and its bindings; `first` are leading arguments."""
    names = "".join(f"{py_name(one.name)}, " for one in s.results)
    args = ", ".join((*first, *map(shown_operand, s.args)))
    return f"{names and f'({names}) = '}{py_name(s.fun)}({args})"


def py_literal(value: float | int | bool, prim: Prim) -> str:
    """Print a literal."""
    if prim[0] == "f":
        number = float(value)
        if math.isnan(number):
            return "nan"
        return ("-inf" if number < 0 else "inf") if math.isinf(number) else repr(number)
    return repr(bool(value) if prim == "bool" else int(value))


def _within(se: SE, level: int) -> str:
    return _inside(_level(se), level)


def _inside(shown: tuple[str, int], level: int) -> str:
    """Print a text as an operand of an operator of some level."""
    text, own = shown
    return text if own >= level else f"({text})"


def _level(se: SE) -> tuple[str, int]:
    match se:
        case Var(name, _):
            return py_name(name), _ATOM
        case Lit(value, prim):
            text = py_literal(value, prim)
            return text, 11 if text[0] == "-" else _ATOM
        case Bin(op, at, lhs, rhs):
            return _binary(op, at, lhs, rhs)
        case Un(op, at, arg):
            return _unary(op, at, arg)
        case Conv(src, dst, arg):
            return _convert(src, dst, arg), _ATOM
        case Fun(fun, at, args):
            return f'fun("{fun}", "{at}", {", ".join(map(show, args))})', _ATOM
        case Select(cond, then, orelse):
            return f"({show(then)} if {show(cond)} else {show(orelse)})", _ATOM


def _binary(op: str, at: Prim, lhs: SE, rhs: SE) -> tuple[str, int]:
    left, right = _level(lhs), _level(rhs)
    if op in _COMPARE:
        return f"{_inside(left, 5)} {op} {_inside(right, 5)}", 4
    if at == "bool":
        word = {"&&": "and", "||": "or", "&": "and", "|": "or", "min": "and", "max": "or"}.get(op)
        if word is None:
            return f"{_inside(left, 5)} != {_inside(right, 5)}", 4
        level = _LEVEL[word]
        return f"{_inside(left, level)} {word} {_inside(right, level + 1)}", level
    if op in _PLAIN:
        level = 10 if op == "*" else 9
        return f"{at}({_inside(left, level)} {op} {_inside(right, level + 1)})", _ATOM
    a, b = left[0], right[0]
    if at[0] == "f":
        return _float_binary(op, at, a, b), _ATOM
    if op in ("&", "|", "^"):
        return f"{_inside(left, 8)} {op} {_inside(right, 8)}", _LEVEL[op]
    bits = BYTES[at] * 8
    match op:
        case "/" | "%":
            op = "//" if op == "/" else op
            return f"{at}({_inside(left, 11)} {op} {_inside(right, 11)})", _ATOM
        case "//":
            return f"{at}(quot({a}, {b}))", _ATOM
        case "%%":
            return f"rem({a}, {b})", _ATOM
        case "**":
            return f"{at}(ipow({a}, {b}, {bits}))", _ATOM
        case "<<":
            return f"{at}(shl({a}, {b}, {bits}))", _ATOM
        case ">>":
            return f"shr({a}, {b}, {bits})", _ATOM
    return f"{op}({a}, {b})", _ATOM


def _float_binary(op: str, at: Prim, a: str, b: str) -> str:
    match op:
        case "/":
            return f"{at}(div({a}, {b}))"
        case "min" | "max":
            return f"f{op}({a}, {b})"
    return f'fbin("{op}", "{at}", {a}, {b})'


def _unary(op: str, at: Prim, arg: SE) -> tuple[str, int]:
    match op:
        case "neg" if at[0] == "f":
            return f"-{_within(arg, 12)}", 11
        case "neg":
            return f"{at}(-{_within(arg, 12)})", _ATOM
        case "not" if at == "bool":
            return f"not {_within(arg, 4)}", 3
        case "not":
            return f"{at}(~{_within(arg, 12)})", _ATOM
        case "abs" if at[0] == "f":
            return f"abs({show(arg)})", _ATOM
        case "abs":
            return f"{at}(abs({show(arg)}))", _ATOM
    return f"sgn({show(arg)})", _ATOM


def _convert(src: Prim, dst: Prim, arg: SE) -> str:
    inner = show(arg)
    if src == dst:
        return f"({inner})"
    if dst == "bool":
        return f"bool({inner})"
    if dst[0] == "f":
        return f"{dst}({inner})" if src[0] == "f" else f"{dst}(float({inner}))"
    if src[0] == "f":
        return f'to_int({inner}, "{dst}")'
    return f"{dst}(int({inner}))" if src == "bool" else f"{dst}({inner})"
