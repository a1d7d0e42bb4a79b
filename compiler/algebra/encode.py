"""Encode claims and their proofs as plain data for the checker (`docs/certificates.md`).

Every step is written, so that the page draws what was checked. A proof with a value of any but the
exact expected types is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields

from compiler.algebra import checker
from compiler.algebra.argument import Argument, Lemma, Source, all_lines
from compiler.algebra.certificate import (
    Absurd,
    Case,
    DisjointRanges,
    Flip,
    Inferred,
    Join,
    Normalise,
    Numbers,
    Pivot,
    Proof,
    Relax,
    Signs,
    Split,
    Sum,
)
from compiler.algebra.checker import NOTHING
from compiler.algebra.facts import Facts
from compiler.algebra.gate import is_stated, plain, step, typed
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.protocol.kinds import Json
from compiler.protocol.proofs import Certificate

Terms = list[list[int | str]]
"""A polynomial in a certificate: for each term its coefficient, then its names."""
_WORDS: dict[type, str] = {DisjointRanges: "apart", Inferred: "line", Normalise: "tidy"}
"""Steps with another name in the format."""
_STEPS: dict[type, tuple[str, tuple[str, ...]]] = {
    kind: (_WORDS.get(kind, kind.__name__.lower()), tuple(f.name for f in fields(kind)))
    for kind in (
        Absurd,
        DisjointRanges,
        Flip,
        Inferred,
        Join,
        Numbers,
        Pivot,
        Relax,
        Split,
        Normalise,
    )
}
_PARTS = {Poly, int, bool, tuple, Sum, Signs, Case, *_STEPS}


def refusal(first: Lmad[Poly], second: Lmad[Poly], facts: Facts, proof: Proof) -> str:
    """Return the checker's reason to refuse a proof of disjointness; "" if it accepts."""
    try:
        checker.Theorem(theorem(first, second, facts, proof)).check()
    except checker.Refused as why:
        return str(why)
    except RecursionError:
        return "The proof is nested too deeply."
    return ""


def theorem(
    first: Lmad[Poly], second: Lmad[Poly], facts: Facts, proof: Proof, about: str = ""
) -> Json:
    """Encode the claim that two LMADs are disjoint, with only the facts that the proof uses.

    `about` states its purpose. Raises `checker.Refused` if the proof has a foreign part.
    """
    writer = _Writer()
    written = writer.proof(proof)
    argued = _Argued(
        [facts.line(bound) for bound in facts.bounds if bound in writer.used],
        [facts.normal(dim.size) - 1 for lmad in (first, second) for dim in lmad.dims],
    )
    names = first.names() | second.names() | argued.names
    equal = [(name, writer.poly(value)) for name, value in _needed(names, facts.given)]
    return {
        "claim": "disjoint",
        "about": about,
        **argued.data,
        "equal": [list(pair) for pair in equal],
        "a": writer.lmad(first),
        "b": writer.lmad(second),
        "proof": written,
    }


def inequality(argument: Argument, about: str = "") -> Json:
    """Encode the claim of an argument, with its premises about the program (`argument.py`)."""
    argued = _Argued(argument.lines)
    claims = dict.fromkeys(line.claim for line in argument.lines)
    equal = _needed(argued.names, argument.equal)
    return {
        "claim": "nonnegative",
        "about": about,
        **argued.data,
        "equal": [[name, _poly(plain(value))] for name, value in equal],
        "polynomials": [_poly(plain(claim)) for claim in claims],
    }


class _Argued:
    """Lines and their premises in the format of a certificate.

    `data` are their fields, `names` the names that occur; `certain` is known.
    """

    def __init__(self, roots: Sequence[Lemma], certain: Sequence[Poly] = ()) -> None:
        self.names = set[Name]()
        types: dict[Name, str] = {}
        stated: dict[Poly, None] = {}
        given: dict[str, Json] = {}
        steps: list[Json] = []
        for line in all_lines(roots):
            claim, because = plain(line.claim), line.because
            self.names |= line.claim.names()
            if isinstance(because, Source) and because.kind == "type":
                _note(types, *because.about)
            elif isinstance(because, Source) and is_stated(line):
                source = because.about[0] if because.kind == "fact" else line.claim
                if line.claim not in certain:
                    stated[source] = None
                    self.names |= source.names()
            elif isinstance(because, Sum):
                terms = [
                    [number, [_poly(plain(factor)) for factor in factors]]
                    for number, factors in because.terms
                ]
                steps.append({"claim": _poly(claim), "scale": because.scale, "terms": terms})
            else:
                rule, _, about, numbers = step(line, claim)
                of = None
                if about is not NOTHING:
                    data = _given(about)
                    for name, prim in typed(about):
                        _note(types, name, prim)
                    given.setdefault(repr(data), data)
                    of = list(given).index(repr(data))
                    self.names |= _names(about)
                steps.append(
                    {"rule": rule, "of": of, "numbers": list(numbers), "claim": _poly(claim)}
                )
        self.names |= types.keys()
        self.data: Json = {
            "types": [list(pair) for pair in sorted(types.items())],
            "nonnegative": [_poly(plain(poly)) for poly in stated],
            "given": list(given.values()),
            "lines": steps,
        }


def _note(types: dict[Name, str], name: Name, prim: str) -> None:
    """Record the type of a name. Raises `checker.Refused` for two different types."""
    if types.setdefault(name, prim) != prim:
        raise checker.Refused(f"{name} is of two types.")


def _poly(poly: checker.Polynomial) -> Terms:
    return [[coefficient, *monomial] for monomial, coefficient in poly.items()]


def _given(given: checker.Given) -> Json:
    parts: Json = {
        **{name: _poly(getattr(given, name)) for name in ("left", "right")},
        "name": given.name,
        "type": given.type,
        "op": given.op,
        "reads": [[_poly(poly), prim] for poly, prim in given.reads],
    }
    wanted = checker.GIVEN[given.kind][0].split()
    return {"given": given.kind, **{name: parts[name] for name in wanted}}


def _names(given: checker.Given) -> set[Name]:
    polys = (given.left, given.right, *(poly for poly, _ in given.reads))
    return {given.name} - {""} | {name for poly in polys for mono in poly for name in mono}


def document(theorems: Sequence[Json]) -> Certificate:
    """Return a file of claims."""
    claims = list(theorems)
    return {
        "format": checker.FORMAT,
        "version": checker.VERSION,
        "sha256": checker.digest(claims),
        "claims": claims,
    }


def _needed(
    names: AbstractSet[Name], given: Sequence[tuple[Name, Poly]]
) -> list[tuple[Name, Poly]]:
    """Return the equalities that define the names, transitively."""
    values = dict(given)
    wanted, waiting = set[Name](), list(names)
    while waiting:
        name = waiting.pop()
        if name in values and name not in wanted:
            wanted.add(name)
            waiting += values[name].names()
    return [(name, value) for name, value in given if name in wanted]


class _Writer:
    """Writes each polynomial once; `used` are the factors of all leaves."""

    def __init__(self) -> None:
        self.used: set[Poly] = set()
        self._written: dict[int, tuple[Poly, Terms]] = {}
        self._same: dict[Poly, Terms] = {}

    def lmad(self, lmad: Lmad[Poly]) -> Json:
        return {"offset": self.poly(lmad.offset), "dims": [self._dim(dim) for dim in lmad.dims]}

    def _dim(self, dim: Dim[Poly]) -> list[Terms]:
        return [self.poly(dim.size), self.poly(dim.stride)]

    def poly(self, poly: Poly) -> Terms:
        found = self._written.get(id(poly))
        if found is None:
            _exactly(type(poly) is Poly and type(poly.terms) is dict)
            terms: Terms = []
            for monomial, coefficient in poly.terms.items():
                term: list[int | str] = [coefficient]
                _exactly(type(coefficient) is int and type(monomial) is tuple)
                for factor in monomial:
                    _exactly(type(factor) is tuple and len(factor) == 2)
                    name, power = factor
                    _exactly(type(power) is int and 0 < power <= checker.DEGREE)
                    term += [name] * power
                terms.append(term)
            found = self._written[id(poly)] = poly, self._same.setdefault(poly, terms)
        return found[1]

    def proof(self, value: object) -> object:
        """Encode a proof or a part of one."""
        _exactly(type(value) in _PARTS)  # excluding subclasses
        match value:
            case int():
                return value
            case Poly():
                return self.poly(value)
            case tuple():
                return [self.proof(part) for part in value]
            case Sum():
                return self._sum(value)
            case Signs(signs):
                return self.proof(signs)
            case Case():
                return {f.name: self.proof(getattr(value, f.name)) for f in fields(Case)}
        word, names = _STEPS[type(value)]
        return {"step": word, **{name: self.proof(getattr(value, name)) for name in names}}

    def _sum(self, leaf: Sum) -> Json:
        _exactly(type(leaf.terms) is tuple)
        terms: list[list[object]] = []
        for term in leaf.terms:
            _exactly(type(term) is tuple and len(term) == 2 and type(term[1]) is tuple)
            terms.append([term[0], [self.poly(factor) for factor in term[1]]])
            self.used.update(term[1])
        return {"claim": self.poly(leaf.claim), "scale": leaf.scale, "terms": terms}


def _exactly(holds: bool) -> None:
    if not holds:
        raise checker.Refused("The proof is not of plain numbers, tuples and polynomials.")
