"""What holds at a place of the program: bounds of indices, sizes, conditions, checks."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.base.names import Name
from compiler.ir.lmad import Lmad
from compiler.ir.nodes import (
    SE,
    Array,
    Assert,
    Bin,
    Conv,
    ForLoop,
    If,
    Loop,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    Un,
    Var,
)
from compiler.ir.poly import Poly
from compiler.prove.disjoint import Verdict, disjoint
from compiler.prove.facts import Facts
from compiler.storage.short_circuit.access import Range
from compiler.storage.short_circuit.terms import ZERO, Terms
from compiler.storage.short_circuit.tree import Item, Scope, Tree

_ROUNDS = 3
_MOST = 24
"""Facts for one question: those that share names with it, nearest first."""


class Assumptions:
    """Facts by scope, made when first asked for."""

    def __init__(self, tree: Tree, terms: Terms) -> None:
        self.tree = tree
        self.terms = terms
        self._outer: dict[Scope, list[Poly]] = {}
        self._facts: dict[tuple[Poly, ...], Facts] = {}
        self._verdicts: dict[tuple[Lmad[Poly], Lmad[Poly], tuple[Poly, ...]], Verdict] = {}
        self._ranges: dict[Scope, tuple[Range, ...]] = {}

    def at(self, scope: Scope, before: int | None = None) -> list[Poly]:
        """What holds in a scope; with `before`, after the checks in front of that statement."""
        found = self._around(scope)
        if before is None:
            return found
        return found + self._checks(scope, before)

    def _around(self, scope: Scope) -> list[Poly]:
        found = self._outer.get(scope)
        if found is None:
            item = scope.parent
            if item is None:
                found = self._sizes()
            else:
                found = self.at(item.scope, item.at) + self._entering(scope, item)
            self._outer[scope] = found
        return found

    def _sizes(self) -> list[Poly]:
        found: dict[Poly, None] = {}
        for param in self.tree.fun.params:
            if isinstance(param.type, Array):
                found.update((self.terms.normal(size), None) for size in param.type.shape)
        return [size for size in found if size.constant is None]

    def _checks(self, scope: Scope, before: int) -> list[Poly]:
        found: list[Poly] = []
        for item in scope.items[:before]:
            if isinstance(item.stm.exp, Assert):
                self.condition(item.stm.exp.cond, True, found)
        return found

    def _entering(self, scope: Scope, item: Item) -> list[Poly]:
        exp = item.stm.exp
        found: list[Poly] = []
        if isinstance(exp, If):
            self.condition(exp.cond, scope.kind == "then", found)
        for over in self.ranges(scope):
            index = Poly.var(over.name)
            found += [index, over.count - 1 - index]
        return found

    def ranges(self, scope: Scope) -> tuple[Range, ...]:
        """The indices of a loop or kernel, outermost first; none if it has none."""
        found = self._ranges.get(scope)
        if found is None:
            found = self._ranges[scope] = self._indices(scope)
        return found

    def _indices(self, scope: Scope) -> tuple[Range, ...]:
        exp = scope.parent.stm.exp if scope.parent is not None else None
        if isinstance(exp, Loop) and isinstance(exp.form, ForLoop):
            form = exp.form
            if form.prim == "i64":
                return (Range(form.index, ZERO, self.terms.poly(form.bound)),)
            index = self.terms.poly(Conv(form.prim, "i64", Var(form.index, form.prim))).as_name
            bound = self.terms.poly(Conv(form.prim, "i64", form.bound))
            return () if index is None else (Range(index, ZERO, bound),)
        if isinstance(exp, SegMap | SegRed | SegScan | SegHist) and scope.kind == "kernel":
            dims = exp.space.dims
            return tuple(Range(index, ZERO, self.terms.normal(bound)) for index, bound in dims)
        return ()

    def condition(self, cond: SE, holds: bool, found: list[Poly]) -> None:
        """The inequalities that a condition, or its contrary, states."""
        match cond:
            case Var(name, _) if name in self.terms.defs:
                self.condition(self.terms.defs[name], holds, found)
            case Un("not", _, arg):
                self.condition(arg, not holds, found)
            case Bin("&&", _, a, b) if holds:
                self.condition(a, True, found)
                self.condition(b, True, found)
            case Bin("||", _, a, b) if not holds:
                self.condition(a, False, found)
                self.condition(b, False, found)
            case Bin("<" | "<=" | ">" | ">=" | "==" | "!=" as op, "i64", a, b):
                found += _compared(op if holds else _CONTRARY[op], a, b, self.terms)

    def facts(self, known: list[Poly], lmads: Iterable[Lmad[Poly]]) -> Facts:
        """Of what is known, what may matter for these LMADs."""
        names: set[Name] = set()
        for lmad in lmads:
            names |= lmad.names()
        chosen: dict[Poly, None] = {}
        wanted = set(names)
        for _ in range(_ROUNDS):
            new = set(wanted)
            for fact in [*self.terms.facts(wanted), *known]:
                if fact not in chosen and len(chosen) < _MOST and fact.names() & wanted:
                    chosen[fact] = None
                    new |= fact.names()
            if new == wanted:
                break
            wanted = new
        key = tuple(chosen)
        found = self._facts.get((*key, *(Poly.var(name) for name in sorted(wanted))))
        if found is None:
            found = Facts.of(key, names=wanted)
            self._facts[(*key, *(Poly.var(name) for name in sorted(wanted)))] = found
        return found

    def disjoint(self, write: Lmad[Poly], use: Lmad[Poly], known: list[Poly]) -> Verdict:
        """Whether two sets of cells meet; equal questions are asked once."""
        facts = self.facts(known, (write, use))
        key = (write, use, facts.bounds)
        found = self._verdicts.get(key)
        if found is None:
            found = self._verdicts[key] = disjoint(write, use, facts)
        return found


_CONTRARY = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _compared(op: str, a: SE, b: SE, terms: Terms) -> list[Poly]:
    left, right = terms.poly(a), terms.poly(b)
    match op:
        case "<":
            found = [right - left - 1]
        case "<=":
            found = [right - left]
        case ">":
            found = [left - right - 1]
        case ">=":
            found = [left - right]
        case "==":
            found = [left - right, right - left]
        case _:
            found = []
    return [fact for fact in found if fact.constant is None]
