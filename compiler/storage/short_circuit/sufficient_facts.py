"""Find conditions that the author could state to make a refused attempt succeed.

Derived from the pair of accesses that was not proved disjoint: the cells of one could all precede
or follow those of the other. Names that are no parameters of the entry point are replaced by
bounds. A condition is offered only if the attempt succeeds with it, and a run satisfies it.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.algebra.disjoint import Disjoint, Unknown, missing_for
from compiler.algebra.poly import Poly
from compiler.algebra.show import sufficient_claims
from compiler.ir.nodes import I64, Array
from compiler.ir.source_names import Spelling
from compiler.storage.short_circuit.attempts import Attempt
from compiler.storage.short_circuit.contexts import Context
from compiler.storage.short_circuit.trial import Trials

_TRIED = 8
"""Maximum number of inequalities tried per attempt."""


def sufficient_facts(trials: Trials, number: int) -> Iterator[str]:
    """Yield conditions in source names that make a refused attempt succeed, simplest first."""
    fun, now = trials.fun, trials.now
    if not fun.entry:
        return
    names = {p.name for p in fun.params if p.type == I64 and now.said(p.name) is not None}
    attempt = trials.attempts[number]
    found = dict.fromkeys(c for c in _claims(trials, attempt) if c.names() and c.names() <= names)
    for claim in sorted(found, key=lambda claim: len(claim.terms))[:_TRIED]:
        if (
            not trials.is_late
            and _succeeds(trials, attempt, claim)
            and trials.happens(attempt, claim)
        ):
            yield _condition(trials, claim)


def holder(trials: Trials) -> str:
    """Return a parameter to attach a check to, mentioned by no type; or ""."""
    said = trials.now.said
    arrays = (said(p.name) for p in trials.fun.params if isinstance(p.type, Array))
    return next((name for name in arrays if name is not None), "")


def _claims(trials: Trials, attempt: Attempt) -> Iterator[Poly]:
    """Yield candidate inequalities."""
    claims = list(attempt.missing)
    bounds: list[Poly] = []
    known = trials.known(attempt)
    for one in attempt.obligations:
        if isinstance(one.verdict, Disjoint):
            continue
        facts = one.verdict.facts if isinstance(one.verdict, Unknown) else None
        facts = facts or trials.assumptions.facts(known, (one.write, one.use))
        claims += missing_for(one.write, one.use, facts)
        bounds += facts.bounds
    for claim in claims:
        yield claim
        yield from sufficient_claims(claim, [*bounds, *known.bounds])


def _succeeds(trials: Trials, attempt: Attempt, claim: Poly) -> bool:
    """True if the attempt succeeds under the claim."""
    shortcut = trials.rerun(Context((claim,)))
    shortcut.run()
    return any(
        one.done
        and (one.rule, one.source, one.destination, one.check)
        == (attempt.rule, attempt.source, attempt.destination, attempt.check)
        for one in shortcut.attempts
    )


def _condition(trials: Trials, claim: Poly) -> str:
    """Format `claim >= 0` without minus signs."""
    more = Poly({mono: coeff for mono, coeff in claim.terms.items() if coeff > 0})
    less = Poly({mono: -coeff for mono, coeff in claim.terms.items() if coeff < 0})
    spell = trials.now.spell
    return f"{_products(more, spell)} >= {_products(less, spell)}"


def _products(poly: Poly, spell: Spelling) -> str:
    """Format a polynomial without minus signs and powers."""
    found = []
    for mono, coeff in poly.terms.items():
        factors = [spell.number(name) for name, power in mono for _ in range(power)]
        if coeff != 1 or not factors:
            factors.insert(0, str(coeff))
        found.append(" * ".join(factors))
    return " + ".join(found) or "0"
