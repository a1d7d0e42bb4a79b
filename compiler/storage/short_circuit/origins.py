"""Trace the facts of a proof to sizes, loops, kernels, branches, checks and arithmetic.

For readers of a proof only; the proofs do not use it.
"""

from __future__ import annotations

from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import Prov, Span, user_spans
from compiler.ir.nodes import Array, Assert, If, Loop
from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import Factor
from compiler.storage.short_circuit.assumptions import Assumptions
from compiler.storage.short_circuit.contexts import Context
from compiler.storage.short_circuit.terms import Atoms, divided
from compiler.storage.short_circuit.tree import Item, TreeBody

_NOWHERE: Prov = ()
_CELLS = "otherwise the set is empty"
_FOLLOWS = "known at this place"


class Origins:
    """Origins of one function's facts, by polynomial.

    Computed from the function before any attempt, since proved checks are removed. `more` are atoms
    that the attempts introduced.
    """

    def __init__(self, assumptions: Assumptions, more: Atoms) -> None:
        self._assumptions = assumptions
        self._more = more
        self._found: dict[Poly, tuple[str, Prov]] = {}
        self._sizes()
        self._scope(assumptions.now.tree.root)
        for atoms in (assumptions.terms.atoms, more):
            quotients = atoms.quotients(atoms)
            facts = [*atoms.facts(atoms), *(f for q in quotients for f in divided(*q))]
            for fact in (*facts, *(Poly.var(name) for name, _, _ in quotients)):
                self._note(fact, "by the definition of minimum, maximum and division", _NOWHERE)

    def factor(self, name: Name) -> Factor:
        """Return the form of a name in answers: itself, or the operation that it stands for."""
        atoms = self._assumptions.terms.atoms
        return atoms.factor(name) if name in atoms else self._more.factor(name)

    def of(self, facts: Facts, write: Lmad[Poly], use: Lmad[Poly]) -> list[Json]:
        """Return for each fact, in order: `why` in a few words, `src` its source spans."""
        known = self._found
        if facts.equalities:
            known = {facts.normal(fact): origin for fact, origin in reversed(known.items())}
        cells = {facts.normal(dim.size) - 1 for lmad in (write, use) for dim in lmad.dims}
        found = []
        for bound in facts.bounds:
            default = (_CELLS if bound in cells else _FOLLOWS, _NOWHERE)
            why, prov = known.get(bound, default)
            found.append({"why": why, "src": user_spans(prov)})
        return found

    def spans(self, *names: Name) -> list[list[int | str]]:
        """Return the source spans that create the arrays, each once."""
        found: dict[Span, None] = {}
        for name in names:
            item = self._assumptions.now.binder(name)
            found.update(dict.fromkeys(item.stm.prov if item is not None else ()))
        return user_spans(found)

    def _note(self, fact: Poly, why: str, prov: Prov) -> None:
        if fact.constant is None:
            self._found.setdefault(fact, (why, prov))

    def _context(self, context: Context, why: str, prov: Prov) -> None:
        for fact in context.bounds:
            self._note(fact, why, prov)
        for sides in context.either:
            for side in sides:
                self._context(side, why, prov)

    def _sizes(self) -> None:
        spell = self._assumptions.now.spell
        for param in self._assumptions.now.tree.fun.params:
            if not isinstance(param.type, Array):
                continue
            for size in param.type.shape:
                why = f"a size of {spell.array(param.name)}"
                self._note(self._assumptions.terms.normal(size), why, _NOWHERE)

    def _scope(self, scope: TreeBody) -> None:
        for item in self._assumptions.now.items(scope):
            exp, prov = item.stm.exp, item.stm.prov
            if isinstance(exp, Assert):
                self._context(self._assumptions.condition(exp.cond, True), "a check", prov)
            for child in item.children:
                self._entered(child, item)
                self._scope(child)

    def _entered(self, scope: TreeBody, item: Item) -> None:
        exp, prov = item.stm.exp, item.stm.prov
        if isinstance(exp, If):
            holds = scope.kind == "then"
            why = f"in the {'first' if holds else 'second'} branch of a condition"
            self._context(self._assumptions.condition(exp.cond, holds), why, prov)
        over = "iterations of a loop" if isinstance(exp, Loop) else "points of a kernel"
        for index in self._assumptions.ranges(scope):
            name = Poly.var(index.name)
            why = f"{self._assumptions.now.spell.quoted(index.name)} counts the {over}"
            self._note(name, why, prov)
            self._note(index.count - 1 - name, why, prov)
            self._note(index.count - 1, f"otherwise there are no {over}", prov)
