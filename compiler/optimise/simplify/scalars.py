"""Simplify scalar expressions: substitute, fold, and decide them by known facts."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from compiler.algebra.poly import Poly
from compiler.analysis.cost import size
from compiler.base.by_class import handles
from compiler.base.prim import COMPARE_OPS
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Operand, Select, Un, Var
from compiler.ir.sizes import poly_of, prim_of, se_of
from compiler.ir.walk import map_subexpressions
from compiler.optimise.simplify import arith
from compiler.optimise.simplify.state import CSE, MAX_NESTED, State

_DECIDABLE = frozenset((*COMPARE_OPS, "&&", "||"))
_DIVIDES = frozenset(("/", "%", "//", "%%"))
_BY_FACTS = _DIVIDES | {"min", "max"}
_RULES: dict[type, Callable[..., SE]] = {}


def scalar(s: State, se: SE) -> SE:
    """Substitute in a scalar expression and fold it."""
    return _RULES[type(se)](s, se)


def operand(s: State, value: Operand) -> Operand:
    """Substitute in a result or argument."""
    return s.name(value) if isinstance(value, str) else scalar(s, value)


def operands(s: State, values: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Substitute in operands; the same tuple if nothing changes."""
    new = tuple([operand(s, value) for value in values])
    return values if all(map(is_, new, values)) else new


def body_results(s: State, values: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Simplify a body's results, with CSE."""
    new = operands(s, values)
    if s.is_off(CSE):
        return new
    for k, value in enumerate(new):
        if isinstance(value, str | Var | Lit):
            continue
        found = s.table.find(value)
        if found is not None and s.share():
            known = Var(found, prim_of(value))
            s.depths |= s.depths_of.get(found, 0)
            new = (*new[:k], known, *new[k + 1 :])
    return new


@handles(_RULES, Lit)
def _lit(s: State, se: SE) -> SE:
    return se


@handles(_RULES, Var)
def _var(s: State, se: Var) -> SE:
    name = se.name
    s.depths |= s.depths_of.get(name, 0)
    found = s.subst.get(name)
    if found is None:
        return se
    if name in s.moved:
        s.pulled.append(s.moved[name])
    return Var(found, se.prim) if isinstance(found, str) else found


@handles(_RULES, Bin)
def _bin(s: State, se: Bin) -> SE:
    lhs, rhs = scalar(s, se.lhs), scalar(s, se.rhs)
    op, at = se.op, se.at
    new = arith.fold_bin(op, at, lhs, rhs)
    if new is not None:
        if new != se and s.spend():
            new = refold(new)
            decided = s.decided(new) if type(new) is Bin and new.op in _DECIDABLE else None
            return decided if decided is not None and s.spend() else new
        return se if lhs is se.lhs and rhs is se.rhs else Bin(op, at, lhs, rhs)
    result = se if lhs is se.lhs and rhs is se.rhs else Bin(op, at, lhs, rhs)
    if op in _DECIDABLE:
        decided = s.decided(result)
        return decided if decided is not None and s.spend() else result
    if at == "i64":
        return _i64(s, result)
    return result


def _i64(s: State, se: Bin) -> SE:
    """Normalise sums and products of names if that is shorter; x % n for 0 <= x < n."""
    op = se.op
    if op in ("+", "-", "*"):
        if type(se.lhs) is not Bin and type(se.rhs) is not Bin:
            return se
        before = size(se, MAX_NESTED)
        if before > MAX_NESTED:
            return se
        poly = poly_of(se)
        if poly is None or len(poly.terms) >= before + 1:
            return se
        new = _shortest(poly)
        return new if size(new) < before and s.spend() else se
    if op in _BY_FACTS and s.is_undecided(se):
        return se
    if op in _DIVIDES:
        divided = division(s, se)
        if divided is not None and s.spend():
            return divided
        s.leave_undecided(se)
    if op in ("min", "max"):
        below = s.facts.decide("<=", se.lhs, se.rhs)
        if below is not None and s.spend():
            return se.lhs if below == (op == "min") else se.rhs
        s.leave_undecided(se)
    return se


def division(s: State, se: Bin) -> SE | None:
    """Simplify `(q*m + r) / m ==> q and (q*m + r) % m ==> r where 0 <= r < m`."""
    number, by = poly_of(se.lhs), poly_of(se.rhs)
    if number is None or by is None:
        return None
    number, by = number.subst(s.polys), by.subst(s.polys)
    quotient, rest = split(number, by)
    if not s.facts.remains(number, by, quotient, rest):
        return None
    return _shortest(quotient if se.op in ("/", "//") else rest)


def _shortest(poly: Poly) -> SE:
    """Return a polynomial as an expression that begins with a positive term, if any."""
    positive = {mono: coeff for mono, coeff in poly.terms.items() if coeff > 0 and mono}
    if not positive or len(positive) == len(poly.terms):
        return se_of(poly)
    result = se_of(Poly(positive))
    for mono, coeff in sorted(poly.terms.items(), reverse=True):
        if mono not in positive:
            term = se_of(Poly({mono: abs(coeff)}))
            result = Bin("-" if coeff < 0 else "+", "i64", result, term)
    return result


def split(number: Poly, by: Poly) -> tuple[Poly, Poly]:
    """Return `number` as `quotient * by + rest`, dividing the monomials divisible by `by`."""
    zero = Poly.const(0)
    if len(by.terms) != 1:
        return zero, number
    ((divisor, factor),) = by.terms.items()
    powers = dict(divisor)
    quotient, rest = zero, zero
    for mono, coeff in number.terms.items():
        have = dict(mono)
        if coeff % factor == 0 and all(have.get(n, 0) >= p for n, p in powers.items()):
            left = tuple((n, p - powers.get(n, 0)) for n, p in mono if p > powers.get(n, 0))
            quotient = quotient + Poly({left: coeff // factor})
        else:
            rest = rest + Poly({mono: coeff})
    return quotient, rest


def folded(se: SE) -> SE:
    """Fold an expression bottom-up, whose operands may have become literals."""
    new = map_subexpressions(se, folded)
    if isinstance(new, Select):
        return arith.fold_select(new.cond, new.then, new.orelse) or new
    return refold(new)


def refold(se: SE) -> SE:
    """Fold the top of an expression repeatedly."""
    for _ in range(8):
        new = _fold_top(se)
        if new is None or new == se:
            return se
        se = new
    return se


def _fold_top(se: SE, *, deep: bool = True) -> SE | None:
    match se:
        case Bin(op, at, lhs, rhs):
            left = _fold_top(lhs, deep=False) if deep else None
            right = _fold_top(rhs, deep=False) if deep else None
            if left is not None or right is not None:
                return Bin(op, at, left or lhs, right or rhs)
            return arith.fold_bin(op, at, lhs, rhs)
        case Un(op, at, arg):
            return arith.fold_un(op, at, arg)
        case Conv(src, dst, arg):
            return arith.fold_conv(src, dst, arg)
    return None


@handles(_RULES, Un)
def _un(s: State, se: Un) -> SE:
    arg = scalar(s, se.arg)
    new = arith.fold_un(se.op, se.at, arg)
    if new is not None and s.spend():
        return refold(new)
    return se if arg is se.arg else Un(se.op, se.at, arg)


@handles(_RULES, Conv)
def _conv(s: State, se: Conv) -> SE:
    arg = scalar(s, se.arg)
    new = arith.fold_conv(se.src, se.dst, arg)
    if new is not None and s.spend():
        return new
    return se if arg is se.arg else Conv(se.src, se.dst, arg)


@handles(_RULES, Fun)
def _fun(s: State, se: Fun) -> SE:
    args = tuple([scalar(s, arg) for arg in se.args])
    new = arith.fold_fun(se.fun, se.at, args)
    if new is not None and s.spend():
        return new
    return se if all(map(is_, args, se.args)) else Fun(se.fun, se.at, args)


@handles(_RULES, Select)
def _select(s: State, se: Select) -> SE:
    cond = scalar(s, se.cond)
    cond = s.decided(cond) or cond
    then, orelse = scalar(s, se.then), scalar(s, se.orelse)
    new = arith.fold_select(cond, then, orelse)
    if new is not None and s.spend():
        return new
    if cond is se.cond and then is se.then and orelse is se.orelse:
        return se
    return Select(cond, then, orelse)
