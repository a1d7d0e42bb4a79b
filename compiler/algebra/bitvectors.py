"""Translate claims of certificates into SMT-LIB 2 questions for counterexamples in bit vectors.

The translation uses the claim, not its proof: names are bit vectors of their types, and arithmetic
of the program wraps in its type. Integers get as many bits as the largest polynomial of the claim
can need, so that none of them wraps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.algebra.checker import Given, Inequalities, Polynomial, Theorem, in_range
from compiler.algebra.formulas import minus
from compiler.algebra.smtlib import question, symbol

_INTEGER = 72
"""Bits of untyped names. A counterexample within them is genuine; its absence says nothing of
larger numbers."""
_TOWARDS = {"//": "bvsdiv", "%": "bvsmod", "%%": "bvsrem"}
_ORDERS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def counterexample(theorem: Theorem, at: str) -> str:
    """Return the question for values that satisfy the premises of a claim and violate it."""
    facts, contrary = theorem.bounds, [minus(-1, poly) for poly in theorem.wanted]
    same = [minus({(name,): 1}, value) for name, value in theorem.equal]
    if theorem.lmads:
        inside, gap = _equal_cells(theorem)
        facts, same = [*facts, *inside], [*same, gap]
    words = _Words(theorem, [*facts, *same, *contrary])
    asserted = [words.natural(fact) for fact in facts] + [words.zero(poly) for poly in same]
    asserted += [words.given(given) for given in theorem.given]
    if not theorem.lmads:
        asserted.append(_disjunction(words.natural(poly) for poly in contrary))
    return question(at, words.sorts(), asserted)


def _equal_cells(theorem: Theorem) -> tuple[list[Polynomial], Polynomial]:
    """Constrain indices to two LMADs, and return the distance of their cells."""
    inside: list[Polynomial] = []
    (gap, _), (other, _) = theorem.lmads
    gap = minus(gap, other)
    for side, (_, dims) in zip("ab", theorem.lmads, strict=True):
        for k, (size, stride) in enumerate(dims):
            index: Polynomial = {(f"\0{side}{k}",): 1}
            inside += [index, minus(minus(size, 1), index)]
            step = Inequalities().times(stride, index)
            gap = minus(gap, minus(0, step) if side == "a" else step)
    return inside, gap


class _Words:
    """Formulas of bit vectors; integers have `width` bits."""

    def __init__(self, theorem: Theorem, polynomials: Sequence[Polynomial]) -> None:
        self.types = theorem.types
        more = [poly for given in theorem.given for poly in _polynomials(given)]
        self.names = sorted({name for p in (*polynomials, *more) for mono in p for name in mono})
        self.width = 2 + max(map(self._bits, (*polynomials, *more)), default=_INTEGER)

    def sorts(self) -> dict[str, str]:
        """Return the symbol and sort of each name."""
        return {symbol(name): f"(_ BitVec {self._size(name)})" for name in self.names}

    def _size(self, name: str) -> int:
        prim = self.types.get(name)
        return _INTEGER if prim is None else int(prim[1:])

    def _bits(self, poly: Polynomial) -> int:
        """Return a number of bits that holds all values of a polynomial and its subterms."""
        sizes = [sum(map(self._size, mono)) for mono in poly]
        return sum(
            abs(c) << size for c, size in zip(poly.values(), sizes, strict=True)
        ).bit_length()

    def natural(self, poly: Polynomial) -> str:
        """Assert that a polynomial is not negative."""
        return f"(bvsge {self._integer(poly)} {_number(0, self.width)})"

    def zero(self, poly: Polynomial) -> str:
        """Assert that a polynomial is 0."""
        return f"(= {self._integer(poly)} {_number(0, self.width)})"

    def _integer(self, poly: Polynomial) -> str:
        terms = [
            f"(bvmul {_number(c, self.width)} {' '.join(map(self._name, mono))})"
            if mono
            else _number(c, self.width)
            for mono, c in poly.items()
        ]
        return (
            f"(bvadd {' '.join(terms)})"
            if len(terms) > 1
            else (terms or [_number(0, self.width)])[0]
        )

    def _name(self, name: str) -> str:
        extend = _extend(self.types.get(name, ""), self.width - self._size(name))
        return f"({extend} {symbol(name)})"

    def given(self, given: Given) -> str:
        """Assert a premise, unless a value that it reads is out of range."""
        reads = [self.natural(p) for poly, prim in given.reads for p in in_range(poly, prim)]
        left, right, prim = self._integer(given.left), self._integer(given.right), given.type
        bits = int(prim[1:]) if prim else self.width
        if prim:
            left, right = (f"((_ extract {bits - 1} 0) {side})" for side in (left, right))
        x = self._integer(given.itself)

        def is_x(value: str) -> str:
            return f"(= {x} ({_extend(prim, self.width - bits)} {value}))"

        if given.op in ("min", "max", "either"):
            order = _compare("<=" if given.op == "min" else ">=", left, right, prim)
            both = f"(or {is_x(left)} {is_x(right)})"
            said = both if given.op == "either" else f"(ite {order} {is_x(left)} {is_x(right)})"
        elif given.kind == "product":
            more = _extend(prim, bits)
            product = f"(bvmul ({more} {left}) ({more} {right}))"
            said = f"(= ((_ extract {2 * bits - 1} {bits}) {product}) {_number(0, bits)})"
        elif given.kind == "compare":
            said = _compare(given.op, left, right, prim)
        elif given.kind == "wrap":
            said = is_x(left)
        else:
            some = f"(distinct {right} {_number(0, bits)})"
            said = f"(and {some} {is_x(_divided(given.op, left, right, prim, bits))})"
        return f"(=> (and true {' '.join(reads)}) {said})" if reads else said


def _polynomials(given: Given) -> Iterator[Polynomial]:
    yield from (given.left, given.right, *(poly for poly, _ in given.reads))
    for poly, prim in given.reads:
        yield from in_range(poly, prim)
    if given.kind not in ("compare", "product"):
        yield given.itself


def _extend(prim: str, bits: int) -> str:
    return f"(_ {'zero' if prim[:1] == 'u' else 'sign'}_extend {bits})"


def _compare(op: str, left: str, right: str, prim: str) -> str:
    if op in ("==", "!="):
        return f"({'=' if op == '==' else 'distinct'} {left} {right})"
    return f"(bv{'u' if prim[:1] == 'u' else 's'}{_ORDERS[op]} {left} {right})"


def _divided(op: str, left: str, right: str, prim: str, bits: int) -> str:
    """Return a quotient or remainder for a nonzero divisor."""
    if prim[:1] == "u":
        return f"({'bvudiv' if op in ('/', '//') else 'bvurem'} {left} {right})"
    if op != "/":
        return f"({_TOWARDS[op]} {left} {right})"
    zero = _number(0, bits)
    signs = f"(xor (bvslt {left} {zero}) (bvslt {right} {zero}))"
    down = f"(and {signs} (distinct (bvsrem {left} {right}) {zero}))"
    return f"(bvsub (bvsdiv {left} {right}) (ite {down} {_number(1, bits)} {zero}))"


def _number(value: int, bits: int) -> str:
    return f"(_ bv{value % (1 << bits)} {bits})"


def _disjunction(formulas: Iterator[str]) -> str:
    return f"(or false {' '.join(formulas)})"
