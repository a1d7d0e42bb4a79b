"""Fold scalar expressions: constants, and identities that hold for every value.

Integers are a ring (arithmetic wraps around), so all ring identities hold. Floats keep their exact
value: `x + 0.0` stays, since it turns -0.0 into 0.0. A rule gets simplified operands and answers
the new expression, or None when it has nothing to say. `RULES` maps each operator to its rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.prim import BYTES, COMPARE_OPS, FLOATS, INTS, SIGNED, Prim, fun_result, int_range
from compiler.ir import scalar
from compiler.ir.may_fail import operator_may_fail
from compiler.ir.nodes import FALSE, SE, TRUE, Bin, Conv, Fun, Lit, Select, Un, Var

_INTS = frozenset(INTS)
_FLOATS = frozenset(FLOATS)
_SIGNED = frozenset(SIGNED)
_COMPARE = frozenset(COMPARE_OPS)
_COMMUTES = frozenset(("+", "*", "&", "|", "^", "==", "!=", "&&", "||"))
_INVERSE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}

_ROUNDINGS = frozenset(("floor", "ceil", "trunc", "round"))


BinRule = Callable[[str, Prim, SE, SE], SE | None]


def fold_bin(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """Simplify `lhs op rhs`, or return None; a literal operand moves to the right."""
    left_lit = type(lhs) is Lit
    if type(lhs) is Lit and type(rhs) is Lit:
        return _constant(op, at, lhs, rhs)
    rule = RULES.get(op)
    if left_lit and op in _COMMUTES and at in _FLOATS:
        return rule(op, at, rhs, lhs) if rule is not None else None
    if left_lit and op in _COMMUTES:
        swapped = rule(op, at, rhs, lhs) if rule is not None else None
        return Bin(op, at, rhs, lhs) if swapped is None else swapped
    return None if rule is None else rule(op, at, lhs, rhs)


def _constant(op: str, at: Prim, lhs: Lit, rhs: Lit) -> SE | None:
    """Fold two literals; a division by zero stays for its assertion to catch."""
    if operator_may_fail(op, at, rhs):
        return None
    prim: Prim = "bool" if op in _COMPARE else at
    with np.errstate(all="ignore"):
        return literal(scalar.apply_bin(op, at, _value(lhs), _value(rhs)), prim)


def _value(lit: Lit) -> Any:
    return DTYPE[lit.prim].type(lit.value)


def literal(value: Any, prim: Prim) -> SE | None:
    """Return a literal, but never -0.0 (rules test for 0) or NaN (equal to none)."""
    plain = DTYPE[prim].type(value).item()
    if prim in _FLOATS and (plain != plain or (plain == 0 and str(plain) == "-0.0")):
        return None
    return Lit(plain, prim)


def _is(se: SE, value: int) -> bool:
    return type(se) is Lit and se.value == value


# --- arithmetic ------------------------------------------------------------------------------


def _add(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x + 0 ==> x`; `(x + c) + d ==> x + (c+d)`; `x + -y ==> x - y` (integers)."""
    if at in _FLOATS:
        minus_zero = type(rhs) is Lit and rhs.value == 0 and str(rhs.value) == "-0.0"
        return lhs if minus_zero else None
    if type(rhs) is Lit:
        if type(lhs) is Un and lhs.op == "neg":
            return Bin("-", at, rhs, lhs.arg)
        return _add_constant(at, lhs, int(rhs.value))
    if type(rhs) is Un and rhs.op == "neg":
        return Bin("-", at, lhs, rhs.arg)
    if type(lhs) is Un and lhs.op == "neg":
        return Bin("-", at, rhs, lhs.arg)
    if type(lhs) is Bin and lhs.op == "-" and lhs.rhs == rhs:
        return lhs.lhs
    if type(rhs) is Bin and rhs.op == "-" and rhs.rhs == lhs:
        return rhs.lhs
    if type(lhs) is Bin and lhs.op in ("+", "-") and type(lhs.rhs) is Lit:
        # Move constants outward, where they can be combined.
        return Bin(lhs.op, at, Bin("+", at, lhs.lhs, rhs), lhs.rhs)
    if type(rhs) is Bin and rhs.op in ("+", "-") and type(rhs.rhs) is Lit:
        return Bin(rhs.op, at, Bin("+", at, lhs, rhs.lhs), rhs.rhs)
    return None


def _add_constant(at: Prim, lhs: SE, value: int) -> SE | None:
    if value == 0:
        return lhs
    if type(lhs) is Bin and lhs.op in ("+", "-") and type(lhs.rhs) is Lit:
        inner = int(lhs.rhs.value)
        total = _wrap(at, value + (inner if lhs.op == "+" else -inner))
        return lhs.lhs if total == 0 else plus(at, lhs.lhs, total)
    if type(lhs) is Bin and lhs.op == "-" and type(lhs.lhs) is Lit:
        return Bin("-", at, Lit(_wrap(at, int(lhs.lhs.value) + value), at), lhs.rhs)
    if value < 0 and value != int_range(at)[0]:
        return Bin("-", at, lhs, Lit(-value, at))
    return None


def plus(at: Prim, lhs: SE, value: int) -> SE:
    """Return `lhs + value`, written as a subtraction for a negative value."""
    if value < 0 and value != int_range(at)[0]:
        return Bin("-", at, lhs, Lit(-value, at))
    return Bin("+", at, lhs, Lit(value, at))


def _sub(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x - 0 ==> x`; `x - x ==> 0`; `(x + y) - y ==> x`; `(x+c) - d ==> x + (c-d)` (integers)."""
    if at in _FLOATS:
        zero = type(rhs) is Lit and rhs.value == 0 and str(rhs.value) == "0.0"
        return lhs if zero else None
    if type(rhs) is Lit:
        if rhs.value == int_range(at)[0]:
            return None
        changed = _add_constant(at, lhs, -int(rhs.value))
        if changed is None:
            return Bin("+", at, lhs, Lit(-int(rhs.value), at)) if rhs.value < 0 else None
        return None if changed == Bin("-", at, lhs, rhs) else changed
    if lhs == rhs:
        return Lit(0, at)
    if _is(lhs, 0):
        return Un("neg", at, rhs)
    if type(rhs) is Un and rhs.op == "neg":
        return Bin("+", at, lhs, rhs.arg)
    cancelled = _cancelled(at, lhs, rhs)
    if cancelled is None and type(lhs) is Bin and lhs.op in ("+", "-") and type(lhs.rhs) is Lit:
        return Bin(lhs.op, at, Bin("-", at, lhs.lhs, rhs), lhs.rhs)
    return cancelled


def _cancelled(at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """Simplify `lhs - rhs` where one is a sum or difference containing the other."""
    if type(lhs) is Bin and lhs.op == "+":
        if lhs.rhs == rhs:
            return lhs.lhs
        if lhs.lhs == rhs:
            return lhs.rhs
    if type(rhs) is Bin and rhs.op == "-" and rhs.lhs == lhs:
        return rhs.rhs
    if type(rhs) is Bin and rhs.op == "+":
        if rhs.lhs == lhs:
            return Un("neg", at, rhs.rhs)
        if rhs.rhs == lhs:
            return Un("neg", at, rhs.lhs)
    return None


def _mul(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x * 1 ==> x`; `x * 0 ==> 0`; `x * -1 ==> -x`; `(x * c) * d ==> x * (c*d)` (integers)."""
    if type(rhs) is not Lit:
        return None
    if rhs.value == 1:
        return lhs
    if at in _FLOATS:
        return None
    if rhs.value == 0:
        return rhs
    if rhs.value == -1:
        return Un("neg", at, lhs)
    if type(lhs) is Bin and lhs.op == "*" and type(lhs.rhs) is Lit:
        return Bin("*", at, lhs.lhs, Lit(_wrap(at, int(lhs.rhs.value) * int(rhs.value)), at))
    return None


def _div(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x / 1 ==> x`."""
    return lhs if _is(rhs, 1) else None


def _rem(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x % 1 ==> 0`; `(x % y) % y ==> x % y` (integers)."""
    if at in _FLOATS:
        return None
    if _is(rhs, 1):
        return Lit(0, at)
    if type(lhs) is Bin and lhs.op == op and lhs.rhs == rhs:
        return lhs
    return None


def _pow(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x ** 1 ==> x`; `x ** 0 ==> 1`, of NaN as well; `x ** 2 ==> x * x`."""
    if _is(rhs, 1):
        return lhs
    if _is(rhs, 0):
        return Lit(1.0 if at in _FLOATS else 1, at)
    return Bin("*", at, lhs, lhs) if _is(rhs, 2) and type(lhs) is Var else None


def _least(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`min x x ==> x`; `max x x ==> x`; `min x (min x y) ==> min x y`; bounds of integers."""
    if lhs == rhs:
        return lhs
    if type(rhs) is Bin and rhs.op == op and lhs in (rhs.lhs, rhs.rhs):
        return rhs
    if type(lhs) is Bin and lhs.op == op and rhs in (lhs.lhs, lhs.rhs):
        return lhs
    if at not in _INTS or (type(lhs) is not Lit and type(rhs) is not Lit):
        return None
    literal, other = (lhs, rhs) if type(lhs) is Lit else (rhs, lhs)
    low, high = int_range(at)
    if _is(literal, low):
        return literal if op == "min" else other
    if _is(literal, high):
        return other if op == "min" else literal
    return None


# --- bits ------------------------------------------------------------------------------------


def _bit_and(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x & x ==> x`; `x & 0 ==> 0`; `x & ~0 ==> x`."""
    if lhs == rhs or _is(rhs, _all_ones(at)):
        return lhs
    return rhs if _is(rhs, 0) else None


def _bit_or(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x | x ==> x`; `x | 0 ==> x`; `x | ~0 ==> ~0`."""
    if lhs == rhs or _is(rhs, 0):
        return lhs
    return rhs if _is(rhs, _all_ones(at)) else None


def _bit_xor(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x ^ x ==> 0`; `x ^ 0 ==> x`."""
    if _is(rhs, 0):
        return lhs
    if lhs == rhs:
        return FALSE if at == "bool" else Lit(0, at)
    return None


def _shift(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x << 0 ==> x`; `x >> 0 ==> x`."""
    return lhs if _is(rhs, 0) else None


def _all_ones(at: Prim) -> int:
    return 1 if at == "bool" else -1 if at in _SIGNED else int_range(at)[1]


# --- conditions ------------------------------------------------------------------------------


def _and(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`c && true ==> c`; `c && false ==> false`; `c && c ==> c`; `c && !c ==> false`."""
    if type(rhs) is Lit:
        return lhs if rhs.value else FALSE
    if lhs == rhs:
        return lhs
    return FALSE if is_negation(lhs, rhs) else None


def _or(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`c || false ==> c`; `c || true ==> true`; `c || c ==> c`; `c || !c ==> true`."""
    if type(rhs) is Lit:
        return TRUE if rhs.value else lhs
    if lhs == rhs:
        return lhs
    return TRUE if is_negation(lhs, rhs) else None


def is_negation(one: SE, other: SE) -> bool:
    """True if one condition is syntactically the negation of the other."""
    return negate(one) == other or negate(other) == one


def _compare(op: str, at: Prim, lhs: SE, rhs: SE) -> SE | None:
    """`x <= x ==> true`; `x < x ==> false` (not for floats); `c == true ==> c`."""
    if type(lhs) is Lit and op not in _COMMUTES:
        # Move the literal to the right, as the range facts expect.
        other = _compare(_SWAPPED[op], at, rhs, lhs)
        return Bin(_SWAPPED[op], at, rhs, lhs) if other is None else other
    if at in _FLOATS:
        return None
    if lhs == rhs:
        return TRUE if op in ("==", "<=", ">=") else FALSE
    if at == "bool":
        if type(rhs) is Lit and op in ("==", "!="):
            return lhs if rhs.value == (op == "==") else negate(lhs)
        return None
    if type(rhs) is not Lit:
        return None
    if op in ("==", "!=") and type(lhs) is Bin and lhs.op in ("+", "-") and type(lhs.rhs) is Lit:
        # x + c == d is x == d - c in every ring.
        inner = int(lhs.rhs.value)
        moved = int(rhs.value) + (-inner if lhs.op == "+" else inner)
        return Bin(op, at, lhs.lhs, Lit(_wrap(at, moved), at))
    return _compare_with_end(op, at, rhs) if at in _INTS else None


def _compare_with_end(op: str, at: Prim, rhs: Lit) -> SE | None:
    """Decide comparisons with the smallest and largest value of a type."""
    low, high = int_range(at)
    if rhs.value == low and op in (">=", "<"):
        return TRUE if op == ">=" else FALSE
    if rhs.value == high and op in ("<=", ">"):
        return TRUE if op == "<=" else FALSE
    return None


def negate(cond: SE) -> SE:
    """Return the negation of a condition, without a leading `not` where possible."""
    match cond:
        case Lit(value, _):
            return FALSE if value else TRUE
        case Un("not", "bool", arg):
            return arg
        case Bin(op, at, lhs, rhs) if op in _INVERSE and (at not in _FLOATS or op in ("==", "!=")):
            return Bin(_INVERSE[op], at, lhs, rhs)
    return Un("not", "bool", cond)


RULES: dict[str, BinRule] = {
    "+": _add,
    "-": _sub,
    "*": _mul,
    "/": _div,
    "//": _div,
    "%": _rem,
    "%%": _rem,
    "**": _pow,
    "min": _least,
    "max": _least,
    "&": _bit_and,
    "|": _bit_or,
    "^": _bit_xor,
    "<<": _shift,
    ">>": _shift,
    "&&": _and,
    "||": _or,
    **dict.fromkeys(COMPARE_OPS, _compare),
}

# --- one operand, conversions, functions, choices --------------------------------------------


def fold_un(op: str, at: Prim, arg: SE) -> SE | None:
    """Simplify `- - x ==> x`; `!!x ==> x`; `!(x < y) ==> x >= y` (not for floats); constants."""
    if type(arg) is Lit:
        with np.errstate(all="ignore"):
            return literal(scalar.apply_un(op, at, _value(arg)), at)
    if type(arg) is Un and arg.op == op and op in ("neg", "not"):
        return arg.arg
    if op == "abs" and type(arg) is Un and arg.op == "abs":
        return arg
    if op == "neg" and at in _INTS and type(arg) is Bin and arg.op == "-":
        return Bin("-", at, arg.rhs, arg.lhs)
    if op == "not" and at == "bool":
        opposite = negate(arg)
        return None if type(opposite) is Un else opposite
    return None


def fold_conv(src: Prim, dst: Prim, arg: SE) -> SE | None:
    """Simplify conversions to the same type, of constants, and redundant pairs."""
    if src == dst:
        return arg
    if type(arg) is Lit:
        with np.errstate(all="ignore"):
            return literal(scalar.convert(src, dst, _value(arg)), dst)
    if type(arg) is Conv and src in _INTS and arg.src in _INTS and dst in _INTS:
        first = arg.src
        if BYTES[dst] <= BYTES[src] and BYTES[dst] <= BYTES[first]:
            # Only low bits arrive, and both conversions keep those.
            return arg.arg if first == dst else Conv(first, dst, arg.arg)
        grows = BYTES[src] > BYTES[first]
        if grows and (first not in _SIGNED or src in _SIGNED):
            # The first conversion kept the value.
            return arg.arg if first == dst else Conv(first, dst, arg.arg)
    return None


def fold_fun(fun: str, at: Prim, args: tuple[SE, ...]) -> SE | None:
    """Fold a function of constants; to_bits (from_bits x) ==> x;  floor (floor x) ==> floor x."""
    values = tuple(_value(arg) for arg in args if type(arg) is Lit)
    if len(values) == len(args):
        with np.errstate(all="ignore"):
            return literal(scalar.apply_fun(fun, at, values), fun_result(fun, at))
    inner = args[0]
    if type(inner) is not Fun:
        return None
    if fun == "to_bits" and inner.fun == "from_bits":
        return inner.args[0]
    return inner if fun == inner.fun and fun in _ROUNDINGS else None


def fold_select(cond: SE, then: SE, orelse: SE) -> SE | None:
    """Simplify a constant condition, equal sides, and choices between booleans."""
    if type(cond) is Lit:
        return then if cond.value else orelse
    if then == orelse:
        return then
    if type(cond) is Un:
        return Select(cond.arg, orelse, then)
    if type(then) is Lit and then.prim == "bool":
        return Bin("||", "bool", cond, orelse) if then.value else _and_not(cond, orelse)
    if type(orelse) is Lit and orelse.prim == "bool":
        return (
            Bin("||", "bool", negate(cond), then) if orelse.value else Bin("&&", "bool", cond, then)
        )
    return None


def _and_not(cond: SE, orelse: SE) -> SE:
    return Bin("&&", "bool", negate(cond), orelse)


def _wrap(at: Prim, value: int) -> int:
    low, high = int_range(at)
    return (value - low) % (high - low + 1) + low
