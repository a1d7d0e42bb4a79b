"""Export the obligations of proofs as theorems of Lean 4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.algebra.checker import Inference, Leaf, Polynomial, Theorem
from compiler.algebra.formulas import (
    Formula,
    Symbols,
    facts_of,
    meaning,
    on_one_line,
    polynomials,
    rounded,
)


def lean(theorem: Theorem, number: int) -> Iterator[str]:
    """Yield theorems for the leaves, other steps, and equations of constants."""
    for k, leaf in enumerate(theorem.leaves, 1):
        yield _lean_sum(leaf, f"claim{number}_leaf{k}")
    for k, (at, step, needs) in enumerate(theorem.rules, 1):
        yield _lean_step(at, step, needs, f"claim{number}_step{k}")
    for k, (at, offset, dims) in enumerate(theorem.equations, 1):
        yield _lean_equation(at, offset, dims, f"claim{number}_sums{k}")


def _lean_sum(leaf: Leaf, called: str) -> str:
    """State a leaf: an identity of polynomials, whose right side is not negative."""
    at, claim, scale, terms = leaf
    facts = facts_of(leaf)
    names = _lean_names(claim, *facts)
    more = rounded(leaf)
    positive = f"(by decide : (0 : Int) < {scale})"
    less = f" (by decide : ({more} : Int) < {scale})" if more else ""
    products = [
        (
            " * ".join([f"({c} : Int)", *(f"({_infix(f, names)})" for f in factors)]),
            _natural(c, [facts.index(f) + 1 for f in factors]),
        )
        for c, factors in terms
    ] or [("(0 : Int)", "(by decide : (0 : Int) ≤ 0)")]
    total, shown = products[0]
    for text, proof in products[1:]:
        total, shown = f"{total} + {text}", f"(Int.add_nonneg {shown} {proof})"
    said = _infix(claim, names)
    return "\n".join(
        [
            _lean_comment(at, names),
            " ".join([f"theorem {called}", *_given(facts, names), f": 0 ≤ {said} := by"]),
            f"  have identity : ({scale} : Int) * ({said}){f' + ({more} : Int)' if more else ''}"
            f" = {total} := by grind",
            f"  have sum : 0 ≤ {total} := {shown}",
            f"  exact {'rounded' if more else 'unscaled'} {positive}{less}",
            "    (Int.le_trans sum (Int.le_of_eq identity.symm))",
            "",
        ]
    )


def _lean_step(at: str, step: Inference, needs: Sequence[Polynomial], called: str) -> str:
    """State a step that is no sum, from its premise and side conditions."""
    formula = meaning(step.given)
    names = _lean_names(step.claim, *needs, *polynomials(formula))
    parts = [*_given(needs, names), f"(given : {_lean(formula, names)})"]
    return "\n".join(
        [
            _lean_comment(at, names),
            f"theorem {called} {' '.join(parts)} :",
            f"    0 ≤ {_infix(step.claim, names)} := by first | omega | grind",
            "",
        ]
    )


def _lean_equation(at: str, offset: int, dims: Sequence[Sequence[int]], called: str) -> str:
    """State that no numbers within their bounds sum to 0."""
    unknowns = [f"z{j}" for j in range(len(dims))]
    bounds = [
        f"(l{j} : ({low} : Int) ≤ {z}) (u{j} : {z} ≤ ({high} : Int))"
        for j, (z, (_, low, high)) in enumerate(zip(unknowns, dims, strict=True))
    ]
    products = [f"({s}) * {z}" for z, (s, _, _) in zip(unknowns, dims, strict=True)]
    total = " + ".join([f"({offset} : Int)", *products])
    variables = [f"({' '.join(unknowns)} : Int)"] if unknowns else []
    return "\n".join(
        [
            f"-- {at}",
            f"theorem {called} {' '.join([*variables, *bounds])} :",
            f"    {total} ≠ 0 := by omega",
            "",
        ]
    )


def _lean_names(*polys: Polynomial) -> Symbols:
    return Symbols(polys, lambda _, at: f"x{at}")


def _lean_comment(at: str, names: Symbols) -> str:
    return f"-- {at}" + "".join(f"; {new} is {on_one_line(old)}" for old, new in names.pairs())


def _given(facts: Sequence[Polynomial], names: Symbols) -> list[str]:
    """Declare variables and hypotheses `h1`, `h2`, .. about them."""
    given = [f"(h{j} : 0 ≤ {_infix(fact, names)})" for j, fact in enumerate(facts, 1)]
    return [f"({' '.join(names)} : Int)", *given] if names else given


def _natural(coefficient: int, facts: Sequence[int]) -> str:
    """Prove that `c * f * g * ..` is not negative; associates to the left, as Lean reads it."""
    shown = f"(by decide : (0 : Int) ≤ {coefficient})"
    for fact in facts:
        shown = f"(Int.mul_nonneg {shown} h{fact})"
    return shown


def _lean(formula: Formula, names: Symbols) -> str:
    kind, *parts = formula
    if kind in ("and", "or"):
        joined = f" {'∧' if kind == 'and' else '∨'} ".join(_lean(part, names) for part in parts)
        return f"({joined})" if parts else "True"
    said = _infix(parts[0], names)
    return f"0 ≤ {said}" if kind == ">=" else f"{said} = 0"


def _infix(poly: Polynomial, names: Symbols) -> str:
    terms = [" * ".join([f"({c} : Int)", *map(names.of, monomial)]) for monomial, c in poly.items()]
    return " + ".join(terms) or "(0 : Int)"
