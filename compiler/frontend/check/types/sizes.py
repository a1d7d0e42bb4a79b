"""Symbolic sizes: normal form, equality, and equation solving.

A size is compared as a polynomial over atoms: names, quotients, remainders and other expressions by
their text. `n + 1` equals `1 + n`, `(n - 1) + 1` equals `n`. An equation with one unknown in a
single term is solved for it; others are decomposed or deferred.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from compiler.algebra.poly import Monomial, Poly
from compiler.base.names import Name
from compiler.frontend.check.types.long_sizes import SizeAtom
from compiler.frontend.check.types.metas import MetaS, resolve_size
from compiler.frontend.check.types.size_exps import metas_in_size, names_in_size, same_shape
from compiler.frontend.check.types.substitute import refresh
from compiler.frontend.typed import Exp
from compiler.frontend.types import Size, SizeConst, SizeExp, SizeOp, SizeVar

Atoms = dict[str, Size]

_LONG = 200


def poly(s: Size, atoms: Atoms, alias: Mapping[Name, Size]) -> Poly:
    """Return the normal form of `s`; `atoms` receives the meaning of every atom's text."""
    s = resolve_size(s)
    match s:
        case SizeConst(value):
            return Poly.const(value)
        case SizeVar(name):
            if name in alias:
                meaning = alias[name]
                if isinstance(meaning, SizeExp | SizeAtom):
                    atoms.setdefault(meaning.key, s)
                    return Poly.var(meaning.key)
                return poly(meaning, atoms, alias)
            atoms[name] = s
            return Poly.var(name)
        case MetaS():
            atoms[s.key] = s
            return Poly.var(s.key)
        case SizeOp(op, lhs, rhs):
            return _arithmetic(s, op, poly(lhs, atoms, alias), poly(rhs, atoms, alias), atoms)
        case SizeExp(key) if "?" in key:
            filled = refresh(s)
            if not isinstance(filled, SizeExp):
                return poly(filled, atoms, alias)
            atoms.setdefault(filled.key, filled)
            return Poly.var(filled.key)
        case SizeExp(key):
            atoms.setdefault(key, s)
            return Poly.var(key)
    raise TypeError(s)


def _arithmetic(s: Size, op: str, left: Poly, right: Poly, atoms: Atoms) -> Poly:
    """Return the normal form of `left op right`, which is `s`.

    A quotient or remainder is an atom unless it is a number, and so is a product of long sums.
    """
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*" if (product := left.times(right)) is not None:
            return product
        case "*":
            first, second = sorted((_text(left), _text(right)))
            return _atom(f"({first} * {second})", s, atoms)
    a, b = left.constant, right.constant
    if a is not None and b:
        return Poly.const(a // b if op == "/" else a % b)
    return _atom(f"({_text(left)} {op} {_text(right)})", s, atoms)


def _atom(text: str, s: Size, atoms: Atoms) -> Poly:
    """Make `s` an atom; hash a long text."""
    key = text if len(text) <= _LONG else blake2b(text.encode(), digest_size=16).hexdigest()
    atoms.setdefault(key, s)
    return Poly.var(key)


def _factors(mono: Monomial) -> tuple[str, ...]:
    """Return the atoms of a monomial, repeated for powers."""
    return tuple([atom for atom, power in mono for _ in range(power)])


def _text(p: Poly) -> str:
    terms = sorted((_factors(mono), coeff) for mono, coeff in p.terms.items())
    return " + ".join(f"{coeff}*{'*'.join(factors)}" for factors, coeff in terms) or "0"


def size_key(s: Size, alias: Mapping[Name, Size]) -> str:
    """Return a text that two sizes share exactly if their normal forms are equal."""
    return _text(poly(s, {}, alias))


def from_poly(p: Poly, atoms: Atoms) -> Size:
    """Build a size with normal form `p`: positive terms first."""
    result: Size | None = None
    terms = [(_factors(mono), coeff) for mono, coeff in p.terms.items()]
    for factors, coeff in sorted(terms, key=lambda term: (term[1] < 0, -len(term[0]), term[0])):
        term: Size | None = None
        for atom in factors:
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
    """Return `s` in normal form."""
    atoms: Atoms = {}
    return from_poly(poly(s, atoms, {}), atoms)


def combine(op: str, lhs: Size, rhs: Size) -> Size:
    """Build `lhs op rhs`, simplified when that makes it shorter."""
    new = SizeOp(op, lhs, rhs)
    unknown: list[MetaS] = []
    metas_in_size(new, unknown)
    if unknown or op in "/%":
        return new
    atoms: Atoms = {}
    normal = poly(new, atoms, {})
    if len(normal.terms) <= 1:
        return from_poly(normal, atoms)
    plain = sum(1 for s in (lhs, rhs) if isinstance(resolve_size(s), (SizeVar, SizeConst)))
    return new if plain == 2 else from_poly(normal, atoms)


def same_size(a: Size, b: Size, alias: Mapping[Name, Size]) -> bool:
    """Test whether two sizes have equal normal forms (unknowns equal only themselves)."""
    a, b = resolve_size(a), resolve_size(b)
    if a is b:
        return True
    if type(a) is SizeVar and type(b) is SizeVar and a.name == b.name:
        return True
    if type(a) is SizeConst and type(b) is SizeConst:
        return a.value == b.value
    return poly(a, {}, alias) == poly(b, {}, alias)


def unify_size(a: Size, b: Size, alias: Mapping[Name, Size]) -> bool | None:
    """Unify `a` and `b`. True: done; False: impossible; None: not decidable yet."""
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
    if type(a) is MetaS and not _depends(b, a, alias) and _bind(a, b):
        return True
    if type(b) is MetaS and not _depends(a, b, alias) and _bind(b, a):
        return True
    return _solve(a, b, alias)


def _depends(s: Size, meta: MetaS, alias: Mapping[Name, Size]) -> bool:
    """Test whether a name in `s` is known to equal a size over `meta`."""
    mentioned: set[Name] = set()
    if alias:
        names_in_size(s, mentioned)
    return not mentioned.isdisjoint(alias) and meta.key in poly(s, {}, alias).names()


def _bind(meta: MetaS, s: Size) -> bool:
    if type(s) is MetaS:
        s.level = min(s.level, meta.level)
        s.until = min(s.until, meta.until)
        s.unused = s.unused or meta.unused
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
            other.until = min(other.until, meta.until)
        meta.known = not inside
    else:
        meta.known = not isinstance(s, SizeExp)
    meta.ref = s
    return True


def _solve(a: Size, b: Size, alias: Mapping[Name, Size]) -> bool | None:
    atoms: Atoms = {}
    difference = poly(a, atoms, alias) - poly(b, atoms, alias)
    if not difference.terms:
        return True
    unknown = [atom for atom in difference.names() if type(atoms[atom]) is MetaS]
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
        solution = _solution(difference, key)
        if solution is not None:
            meta = atoms[key]
            assert isinstance(meta, MetaS)
            return _bind(meta, from_poly(solution, atoms))
    first, second = _operation(a, alias), _operation(b, alias)
    if first is not None and second is not None and first.op == second.op:
        return _solve_parts(first, second, alias)
    return None


def _operation(s: Size, alias: Mapping[Name, Size]) -> SizeOp | None:
    """Return `s` as an operation, if it is one or names one."""
    while isinstance(s, SizeVar) and s.name in alias:
        s = resolve_size(alias[s.name])
    return s if isinstance(s, SizeOp) else None


def _solution(zero: Poly, unknown: str) -> Poly | None:
    """Solve `zero` = 0 for `unknown`, if that occurs in a single term.

    Reject a difference of sizes, which might be negative.
    """
    factor = zero.coefficient(unknown).constant
    if zero.degree(unknown) != 1 or factor is None:
        return None
    solution = (factor * Poly.var(unknown) - zero).over(factor)
    negative = solution is not None and any(coeff < 0 for coeff in solution.terms.values())
    return None if negative else solution


def _solve_exps(a: SizeExp, b: SizeExp, alias: Mapping[Name, Size]) -> bool | None:
    """Solve `f ?n = f m` by `?n = m`."""

    def equal(x: Size, y: Size) -> bool:
        return unify_size(x, y, alias) is True

    assert isinstance(a.exp, Exp)
    assert isinstance(b.exp, Exp)
    return True if same_shape(a.exp, b.exp, equal) else None


def _solve_parts(a: SizeOp, b: SizeOp, alias: Mapping[Name, Size]) -> bool | None:
    """Solve `x op y = z op w` by `x = z` and `y = w`, when each can be decided alone."""
    if unify_size(a.lhs, b.lhs, alias) is not True:
        return None
    return True if unify_size(a.rhs, b.rhs, alias) is True else None
