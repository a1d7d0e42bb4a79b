"""Export the obligations of proofs as SMT-LIB 2 questions about integers: each must be `unsat`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from compiler.algebra.checker import Polynomial, Theorem
from compiler.algebra.formulas import Formula, Symbols, facts_of, meaning, polynomials

_PLAIN = "".join(c for c in map(chr, range(32, 127)) if c not in "%|\\")
"""Characters allowed in a symbol of SMT-LIB, except the escape character."""


def smtlib(theorem: Theorem) -> Iterator[str]:
    """Yield a question for each leaf: whether its facts hold and its claim fails."""
    for leaf in theorem.leaves:
        at, claim, _, _ = leaf
        facts = facts_of(leaf)
        names = Symbols([claim, *facts], lambda name, _: symbol(name))
        asserted = [f"(>= {_prefix(fact, names)} 0)" for fact in facts]
        yield question(at, _integers(names), [*asserted, f"(< {_prefix(claim, names)} 0)"])
    for at, step, needs in theorem.rules:
        said = meaning(step.given)
        names = Symbols([step.claim, *needs, *polynomials(said)], lambda name, _: symbol(name))
        asserted = [f"(>= {_prefix(need, names)} 0)" for need in needs] + [_smt(said, names)]
        yield question(at, _integers(names), [*asserted, f"(< {_prefix(step.claim, names)} 0)"])
    for at, offset, dims in theorem.equations:
        unknowns = [f"z{k}" for k in range(len(dims))]
        bounds = [
            f"(<= {_number(low)} {z} {_number(high)})"
            for z, (_, low, high) in zip(unknowns, dims, strict=True)
        ]
        products = [
            f"(* {_number(stride)} {z})" for z, (stride, _, _) in zip(unknowns, dims, strict=True)
        ]
        equation = f"(= (+ {_number(offset)} 0 {' '.join(products)}) 0)"
        yield question(at, _integers(unknowns), [*bounds, equation])


def question(at: str, sorts: Mapping[str, str], asserted: Sequence[str]) -> str:
    """Return the question whether all assertions hold, with the sorts of the symbols."""
    lines = [f"; {at}", "(push 1)"]
    lines += [f"(declare-const {name} {sort})" for name, sort in sorts.items()]
    lines += [f"(assert {formula})" for formula in asserted]
    return "\n".join([*lines, "(check-sat)", "(pop 1)", ""])


def _integers(names: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(names, "Int")


def _smt(formula: Formula, names: Symbols) -> str:
    kind, *parts = formula
    if kind in ("and", "or"):
        return f"({kind} {' '.join(_smt(part, names) for part in parts)})" if parts else "true"
    return f"({kind} {_prefix(parts[0], names)} 0)"


def _prefix(poly: Polynomial, names: Symbols) -> str:
    terms = [
        f"(* {_number(c)} {' '.join(map(names.of, monomial))})" if monomial else _number(c)
        for monomial, c in poly.items()
    ]
    return f"(+ {' '.join(terms)})" if len(terms) > 1 else (terms or ["0"])[0]


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def symbol(name: str) -> str:
    """Quote a name as a symbol between bars; the encoding is injective."""
    return f"|{quote(name, safe=_PLAIN)}|"
