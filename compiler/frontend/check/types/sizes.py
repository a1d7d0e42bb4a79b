"""Symbolic sizes: normal form, equality, and solving for unknowns.

A size is compared as a polynomial over atoms: names, quotients, remainders and other expressions
by their text. `n + 1` equals `1 + n`, `(n - 1) + 1` equals `n`. An equation that has one unknown
in a single term is solved for it; others are tried part by part or put off.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.names import Name
from compiler.frontend.check.types.metas import MetaS, resolve_size
from compiler.frontend.check.types.size_exps import metas_in_size, refresh, same_shape
from compiler.frontend.typed import Exp
from compiler.frontend.types import Size, SizeConst, SizeExp, SizeOp, SizeVar

Poly = dict[tuple[str, ...], int]
"""Monomials (sorted atoms, repeated for powers) with their coefficients, none of them zero."""

Atoms = dict[str, Size]


def poly(s: Size, atoms: Atoms, alias: Mapping[Name, Size]) -> Poly:
    """The normal form of `s`; `atoms` receives the meaning of every atom's text."""
    s = resolve_size(s)
    match s:
        case SizeConst(value):
            return {(): value} if value else {}
        case SizeVar(name):
            if name in alias:
                meaning = alias[name]
                if type(meaning) is SizeExp:
                    atoms.setdefault(meaning.key, s)
                    return {(meaning.key,): 1}
                return poly(meaning, atoms, alias)
            atoms[name] = s
            return {(name,): 1}
        case MetaS():
            atoms[s.key] = s
            return {(s.key,): 1}
        case SizeOp("+", lhs, rhs):
            return _add(poly(lhs, atoms, alias), poly(rhs, atoms, alias), 1)
        case SizeOp("-", lhs, rhs):
            return _add(poly(lhs, atoms, alias), poly(rhs, atoms, alias), -1)
        case SizeOp("*", lhs, rhs):
            return _mul(poly(lhs, atoms, alias), poly(rhs, atoms, alias))
        case SizeOp(op, lhs, rhs):
            left, right = poly(lhs, atoms, alias), poly(rhs, atoms, alias)
            folded = _fold(op, left, right)
            if folded is not None:
                return {(): folded} if folded else {}
            key = f"({_text(left)} {op} {_text(right)})"
            atoms[key] = s
            return {(key,): 1}
        case SizeExp(key) if "?" in key:
            filled = refresh(s)
            if not isinstance(filled, SizeExp):
                return poly(filled, atoms, alias)
            atoms.setdefault(filled.key, filled)
            return {(filled.key,): 1}
        case SizeExp(key):
            atoms.setdefault(key, s)
            return {(key,): 1}
    raise TypeError(s)


def _fold(op: str, left: Poly, right: Poly) -> int | None:
    if set(left) | set(right) <= {()} and right:
        a, b = left.get((), 0), right[()]
        return a // b if op == "/" else a % b
    return None


def _add(p: Poly, q: Poly, sign: int) -> Poly:
    result = dict(p)
    for mono, coeff in q.items():
        total = result.get(mono, 0) + sign * coeff
        if total:
            result[mono] = total
        else:
            result.pop(mono, None)
    return result


def _mul(p: Poly, q: Poly) -> Poly:
    result: Poly = {}
    for m1, c1 in p.items():
        for m2, c2 in q.items():
            mono = tuple(sorted(m1 + m2))
            total = result.get(mono, 0) + c1 * c2
            if total:
                result[mono] = total
            else:
                result.pop(mono, None)
    return result


def _text(p: Poly) -> str:
    return " + ".join(f"{c}*{'*'.join(m)}" for m, c in sorted(p.items())) or "0"


def size_key(s: Size, alias: Mapping[Name, Size]) -> str:
    """A text that two sizes share exactly if they are equal in normal form."""
    return _text(poly(s, {}, alias))


def from_poly(p: Poly, atoms: Atoms) -> Size:
    """A size with normal form `p`: positive terms first."""
    result: Size | None = None
    for mono, coeff in sorted(p.items(), key=lambda item: (item[1] < 0, -len(item[0]), item[0])):
        term: Size | None = None
        for atom in mono:
            term = atoms[atom] if term is None else SizeOp("*", term, atoms[atom])
        factor = abs(coeff)
        if term is None:
            term = SizeConst(factor)
        elif factor != 1:
            term = SizeOp("*", SizeConst(factor), term)
        if result is None:
            result = term if coeff > 0 else SizeOp("-", SizeConst(0), term)
        else:
            result = SizeOp("+" if coeff > 0 else "-", result, term)
    return SizeConst(0) if result is None else result


def simplified(s: Size) -> Size:
    """`s` in normal form."""
    atoms: Atoms = {}
    return from_poly(poly(s, atoms, {}), atoms)


def combine(op: str, lhs: Size, rhs: Size, alias: Mapping[Name, Size]) -> Size:
    """`lhs op rhs`, simplified when that makes it shorter."""
    new = SizeOp(op, lhs, rhs)
    unknown: list[MetaS] = []
    metas_in_size(new, unknown)
    if unknown or op in "/%":
        return new
    atoms: Atoms = {}
    normal = poly(new, atoms, {})
    if len(normal) <= 1:
        return from_poly(normal, atoms)
    plain = sum(1 for s in (lhs, rhs) if isinstance(resolve_size(s), (SizeVar, SizeConst)))
    return new if plain == 2 else from_poly(normal, atoms)


def same_size(a: Size, b: Size, alias: Mapping[Name, Size]) -> bool:
    """Whether two sizes are equal in normal form (unknowns equal only themselves)."""
    a, b = resolve_size(a), resolve_size(b)
    if a is b:
        return True
    if type(a) is SizeVar and type(b) is SizeVar and a.name == b.name:
        return True
    if type(a) is SizeConst and type(b) is SizeConst:
        return a.value == b.value
    return poly(a, {}, alias) == poly(b, {}, alias)


def unify_size(a: Size, b: Size, alias: Mapping[Name, Size]) -> bool | None:
    """Make `a` and `b` equal. True: done; False: impossible; None: not decidable yet."""
    a, b = resolve_size(a), resolve_size(b)
    if a is b:
        return True
    if type(a) is SizeVar and type(b) is SizeVar:
        if a.name == b.name:
            return True
        if not alias:
            return False
    elif type(a) is SizeConst and type(b) is SizeConst:
        return a.value == b.value
    if type(a) is MetaS and _bind(a, b):
        return True
    if type(b) is MetaS and _bind(b, a):
        return True
    return _solve(a, b, alias)


def _bind(meta: MetaS, s: Size) -> bool:
    if type(s) is MetaS:
        s.level = min(s.level, meta.level)
        if s.start is None and meta.start is not None:
            s.start = s if meta.start is meta else meta.start
        meta.ref = s
        return True
    if type(s) is SizeOp:
        inside: list[MetaS] = []
        metas_in_size(s, inside)
        if meta in inside:
            return False
        for other in inside:
            other.level = min(other.level, meta.level)
    meta.ref = s
    return True


def _solve(a: Size, b: Size, alias: Mapping[Name, Size]) -> bool | None:
    atoms: Atoms = {}
    difference = _add(poly(a, atoms, alias), poly(b, atoms, alias), -1)
    if not difference:
        return True
    unknown = {k for mono in difference for k in mono if type(atoms[k]) is MetaS}
    inside: list[MetaS] = []
    metas_in_size(a, inside)
    metas_in_size(b, inside)
    if not inside:
        return False
    if type(a) is SizeExp and type(b) is SizeExp:
        left, right = refresh(a), refresh(b)
        if isinstance(left, SizeExp) and isinstance(right, SizeExp):
            return _solve_exps(left, right, alias)
        return unify_size(left, right, alias)
    if len(unknown) == 1:
        (key,) = unknown
        uses = [mono for mono in difference if key in mono]
        if uses == [(key,)] and all(c % difference[(key,)] == 0 for c in difference.values()):
            factor = -difference.pop((key,))
            solution = {mono: coeff // factor for mono, coeff in difference.items()}
            meta = atoms[key]
            assert isinstance(meta, MetaS)
            return _bind(meta, from_poly(solution, atoms))
    if type(a) is SizeOp and type(b) is SizeOp and a.op == b.op:
        return _solve_parts(a, b, alias)
    return None


def _solve_exps(a: SizeExp, b: SizeExp, alias: Mapping[Name, Size]) -> bool | None:
    """`f ?n = f m` by `?n = m`."""

    def equal(x: Size, y: Size) -> bool:
        return unify_size(x, y, alias) is True

    assert isinstance(a.exp, Exp)
    assert isinstance(b.exp, Exp)
    return True if same_shape(a.exp, b.exp, equal) else None


def _solve_parts(a: SizeOp, b: SizeOp, alias: Mapping[Name, Size]) -> bool | None:
    """`x op y = z op w` by `x = z` and `y = w`, when each side alone can be settled."""
    if unify_size(a.lhs, b.lhs, alias) is not True:
        return None
    return True if unify_size(a.rhs, b.rhs, alias) is True else None
