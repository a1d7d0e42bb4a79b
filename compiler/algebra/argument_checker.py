"""Accepts the lines of an argument, or refuses them.

Shares the polynomials and the notation with the search, and no line of reasoning. Each line is
looked at once, after those that it rests on. What the walk over a program says is known there is
believed, but not that it may be read as integers: a polynomial that stands for an expression must
be shown to lie in the range of the expression's type, unless it is a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from compiler.algebra.argument import Argument, Line, Rule, Source
from compiler.algebra.certificate import Sum
from compiler.algebra.limits import LARGEST_INPUT, LARGEST_SIZE
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import int_range

Claims = Sequence[Poly]
"""Few: what is looked for among them is mostly the very object."""
_FULL = 1 << 64


def accepts(argument: Argument, claims: Sequence[Poly]) -> bool:
    """Whether the argument shows that none of `claims` is negative."""
    shown = [line.claim for line in argument.lines]
    return all(_is_plain(claim) or claim in shown for claim in claims) and follow(argument.lines)


def follow(lines: Iterable[Line]) -> bool:
    """Whether every one of the lines follows, and all that they rest on."""
    return all(line.accepted or _follow(line) for line in lines)


def _follow(root: Line) -> bool:
    """The same for one line; a line that rests on itself is never accepted."""
    stack, waiting = [root], set[int]()
    while stack:
        line = stack[-1]
        if not line.accepted:
            above = [premise for premise in line.premises if not premise.accepted]
            if above and id(line) in waiting:
                return False
            if above:
                waiting.add(id(line))
                stack += above
                continue
            if not _accept(line):
                return False
        stack.pop()
    return True


def _is_plain(claim: Poly) -> bool:
    value = claim.constant
    return value is not None and value >= 0


def _accept(line: Line) -> bool:
    """Whether a line follows from its premises, which are accepted."""
    claims = [premise.claim for premise in line.premises]
    match line.because:
        case Sum() as because:
            line.accepted = adds_up(because, line.claim, claims)
        case Source() as source:
            line.accepted = line.claim in _stated(source) and _is_read(source, claims)
        case Rule(step, about):
            line.accepted = _RULES[step](about, line.claim, _Shown(claims))
    return line.accepted


def adds_up(certificate: Sum, claim: Poly, claims: Claims | Set[Poly]) -> bool:
    """Whether a sum is one of positive numbers and `claims`, and comes to `claim`."""
    if certificate.claim is not claim and certificate.claim != claim:
        return False
    if type(certificate.scale) is not int or certificate.scale <= 0:
        return False
    left = dict(claim.terms)
    if certificate.scale != 1:
        left = {mono: coeff * certificate.scale for mono, coeff in left.items()}
    for coefficient, factors in certificate.terms:
        if type(coefficient) is not int or coefficient <= 0:
            return False
        for factor in factors:
            if factor not in claims:
                return False
        product = factors[0] if len(factors) == 1 else Poly.product(factors)
        for mono, coeff in product.terms.items():
            left[mono] = left.get(mono, 0) - coefficient * coeff
    return not any(left.values())


class _Shown:
    """What a step may rest on."""

    def __init__(self, claims: Claims) -> None:
        self.claims = claims

    def __call__(self, *polys: Poly) -> bool:
        """Whether none of these is negative: plain numbers, or shown."""
        return all(_is_plain(poly) or poly in self.claims for poly in polys)

    def within(self, poly: Poly, low: int, high: int) -> bool:
        """Whether `low <= poly <= high`."""
        return self(poly - low, high - poly)


# --- what is known ---------------------------------------------------------------------------


def _stated(source: Source) -> tuple[Poly, ...]:
    """The claims that something known makes by itself."""
    about = source.about
    match source.kind:
        case "type":
            name, prim = about
            low, high = int_range(prim)
            return Poly.var(name) - low, high - Poly.var(name)
        case "size" | "block":
            (size,) = about
            return size, LARGEST_SIZE - size
        case "input":
            (size,) = about
            return size, LARGEST_INPUT - size
        case "index":
            name, extent = about
            return Poly.var(name), extent - 1 - Poly.var(name)
        case "runs":
            (trips,) = about
            return (trips - 1,)
        case "condition":
            op, left, right = about
            gap = right - left
            return {
                "<": (gap - 1,),
                "<=": (gap,),
                ">": (-gap - 1,),
                ">=": (-gap,),
                "==": (gap, -gap),
            }.get(op, ())
        case "product":
            left, right = about
            return left * right, _FULL - 1 - left * right
        case "between":
            name, first, last = about
            itself = Poly.var(name)
            above = () if first is None else (itself - first,)
            return above if last is None else (*above, last - itself)
        case "choice":
            name, kind, one, other = about
            itself = Poly.var(name)
            if kind == "min":
                return one - itself, other - itself
            if kind == "max":
                return itself - one, itself - other
    return ()


def _is_read(source: Source, claims: Claims) -> bool:
    """Whether all that it reads as integers is shown to be what the machine has."""
    read = _read(source)
    if not source.fits and all(poly.as_name is not None for poly in read):
        return True
    shown = _Shown(claims)
    return all(
        shown.within(poly, *int_range(prim)) if prim else shown(poly)
        for poly, prim, _ in source.fits
    ) and all(
        poly.as_name is not None
        or any(poly == read for read, _, _ in source.fits)
        or shown.within(poly, *int_range("i64"))
        for poly in read
    )


def _read(source: Source) -> tuple[Poly, ...]:
    """The polynomials in it that stand for expressions, of i64 if nothing else is said."""
    match source.kind:
        case "size" | "runs":
            return tuple(source.about)
        case "index":
            return (source.about[1],)
        case "condition":
            return tuple(source.about[1:])
        case "between":
            return tuple(poly for poly in source.about[1:] if poly is not None)
        case "product":
            return tuple(source.about)
        case "choice":
            name, _, one, other = source.about
            # A name of no variable: it is what is chosen of these integers, whatever they are.
            return () if name[0] == "?" else (one, other)
    return ()


# --- steps -----------------------------------------------------------------------------------


def _choice(source: object, shown: _Shown) -> tuple[Name, str, Poly, Poly] | None:
    """A choice that may be read as one of integers."""
    if not isinstance(source, Source) or source.kind != "choice":
        return None
    if not _is_read(source, shown.claims):
        return None
    name, kind, one, other = source.about
    return name, kind, one, other


def _cases(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    found = _choice(about[0], shown)
    if found is None or found[1] not in ("min", "max", "either"):
        return False
    name, _, one, other = found
    return shown(claim.subst({name: one}), claim.subst({name: other}))


def _range(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    source, low1, high1, low2, high2 = about
    found = _choice(source, shown)
    ends = (low1, high1, low2, high2)
    if found is None or not all(type(end) is int for end in ends):
        return False
    name, kind, one, other = found
    if not (shown.within(one, *ends[:2]) and shown.within(other, *ends[2:])):  # type: ignore[arg-type]
        return False
    low, high = _chosen_range(kind, *ends)  # type: ignore[arg-type]
    itself = Poly.var(name)
    return (low is not None and claim == itself - low) or (
        high is not None and claim == high - itself
    )


def _chosen_range(
    kind: str, low1: int, high1: int, low2: int, high2: int
) -> tuple[int | None, int | None]:
    """Where a choice lies, by the ranges of its operands; division by 0 stops the program."""
    match kind:
        case "min":
            return min(low1, low2), min(high1, high2)
        case "max":
            return max(low1, low2), max(high1, high2)
        case "either":
            return min(low1, low2), max(high1, high2)
        case "/" | "//":
            if 0 < low2 <= high2 and (kind == "/" or low1 >= 0):
                corners = [a // b for a in (low1, high1) for b in (low2, high2)]
                return min(corners), max(corners)
            far = max(abs(low1), abs(high1))
            return -far, far
        case "%" | "%%":
            if low2 >= 0 and (kind == "%" or low1 >= 0):
                return 0, min(high2 - 1, high1) if low1 >= 0 else high2 - 1
    return None, None


def _quotient(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    """`q = one / other` by something positive: what is left is neither negative nor as large."""
    found = _choice(about[0], shown)
    if found is None or found[1] not in ("/", "//"):
        return False
    name, kind, one, other = found
    if not shown(other - 1) or (kind == "//" and not shown(one)):
        return False
    left = one - other * Poly.var(name)
    return claim in (left, other - 1 - left)


def _remainder(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    found = _choice(about[0], shown)
    if found is None or found[1] not in ("%", "%%"):
        return False
    name, kind, one, other = found
    natural = shown(one)
    # A divisor that is not negative is positive, else the program has stopped.
    if not shown(other) or (kind == "%%" and not natural):
        return False
    itself = Poly.var(name)
    return claim in (itself, other - 1 - itself) or (natural and claim == one - itself)


def _nearby(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    """A quotient times its divisor is less than the divisor's size away from what is divided."""
    source, far = about
    found = _choice(source, shown)
    if found is None or found[1] not in ("/", "//") or type(far) is not int:
        return False
    name, _, one, other = found
    left = one - other * Poly.var(name)
    return shown.within(other, -far, far) and claim in (left + far, far - left)


def _unlike(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    """Two integers that differ: of `a >= b` there is only `a > b` left."""
    source = about[0]
    if not isinstance(source, Source) or source.kind != "condition" or source.about[0] != "!=":
        return False
    if not _is_read(source, shown.claims):
        return False
    gap = source.about[2] - source.about[1]
    return claim + 1 in (gap, -gap) and shown(claim + 1)


def _round(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    """`by * claim + k >= 0` for some `0 <= k < by`."""
    by, rest = about
    if type(by) is not int or type(rest) is not int or not 0 <= rest < by:
        return False
    return shown(claim * by + rest)


def _divides(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    """A positive quotient of something natural, or by something positive: `1 <= other <= one`."""
    found = _choice(about[0], shown)
    if found is None or found[1] not in ("/", "//"):
        return False
    name, _, one, other = found
    if not shown(Poly.var(name) - 1) or not (shown(one) or shown(other - 1)):
        return False
    return claim in (other - 1, one - other)


def _chosen(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    """A positive choice is not the side that is not positive."""
    found = _choice(about[0], shown)
    if found is None or found[1] not in ("min", "max", "either"):
        return False
    name, _, one, other = found
    if not shown(Poly.var(name) - 1):
        return False
    return any(shown(-side) and claim == left - 1 for side, left in ((one, other), (other, one)))


def _unwrap(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    """Two integers that are equal modulo the size of a type, and nearer than that, are one."""
    name, whole, prim, least, most = about
    if not isinstance(name, str) or not isinstance(whole, Poly) or name[0] != "?":
        return False
    if type(least) is not int or type(most) is not int:
        return False
    low, high = int_range(prim)  # type: ignore[arg-type]
    modulus = high - low + 1
    itself = Poly.var(name)
    if not shown.within(itself, least, most):
        return False
    if not shown.within(whole, most - modulus + 1, least + modulus - 1):
        return False
    return claim in (whole - itself, itself - whole)


def _cut(about: tuple[object, ...], claim: Poly, shown: _Shown) -> bool:
    """What is not negative is not less when it is cut to the range of a type that has 0."""
    name, whole, prim = about
    if not isinstance(name, str) or not isinstance(whole, Poly) or name[0] != "?":
        return False
    low, high = int_range(prim)  # type: ignore[arg-type]
    return low <= 0 <= high and shown(whole) and claim == whole - Poly.var(name)


_RULES = {
    "cases": _cases,
    "range": _range,
    "quotient": _quotient,
    "remainder": _remainder,
    "nearby": _nearby,
    "unlike": _unlike,
    "round": _round,
    "divides": _divides,
    "chosen": _chosen,
    "unwrap": _unwrap,
    "cut": _cut,
}
