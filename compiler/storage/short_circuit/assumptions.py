"""Facts that hold at a point of the program: bounds of indices, sizes, conditions, checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import takewhile

from compiler.algebra.argument import Argument, Deduction, Lemma, Saying, Source
from compiler.algebra.canonical_names import Key, answered, question
from compiler.algebra.disjoint import Verdict, disjoint
from compiler.algebra.facts import Facts, solve
from compiler.algebra.inequality import Prover, prove_inequality
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.storage.short_circuit.access import Range
from compiler.storage.short_circuit.budget import Budget
from compiler.storage.short_circuit.contexts import NOTHING, Context, Contexts
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.terms import ZERO, Terms, divided
from compiler.storage.short_circuit.tree import Item, TreeBody

_ROUNDS = 3
_REMEMBERED, _KEPT = 512, 64
"""Capacity of the caches of questions and answers: GPU code and copies of a function repeat them
under other names. `_KEPT` answers may stay when another program comes, which is often a
variation of the last."""
_MOST = 24
"""Maximum number of facts for one question: those that share names with it, nearest first."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions of a question: bounds, equalities, names; `lines` prove bounds."""

    bounds: tuple[Poly, ...]
    equalities: tuple[tuple[Name, Poly], ...]
    names: tuple[Name, ...]
    lines: Mapping[Poly, Lemma] = field(compare=False)

    def facts(self) -> Facts:
        """Return them as facts."""
        found = _facts(self.bounds, self.equalities, self.names)
        return replace(found, lines=self.lines) if self.lines else found


class Assumptions:
    """Facts by scope, computed on demand."""

    def __init__(
        self, now: Edited, terms: Terms, given: Context = NOTHING, budget: Budget | None = None
    ) -> None:
        """`given` holds in the whole function; `budget` limits proofs."""
        self.given = given
        self.now = now
        self.terms = terms
        self.budget = budget or Budget()
        self._sizes_known: dict[tuple[Poly, Context], bool] = {}
        self._contexts = Contexts()
        self._outer: dict[TreeBody, Context] = {}
        self._inner: dict[TreeBody, tuple[tuple[Item, ...], list[Context]]] = {}
        """Statements of bodies, with the facts that hold before each."""
        self._said: dict[Item, Context] = {}
        self._stated: dict[Poly, Context] = {}
        self.proved: list[Argument] = []
        """Inequalities proved so far."""
        self._quotients: dict[tuple[object, ...], dict[Poly, Lemma]] = {}
        self._ranges: dict[TreeBody, tuple[Range, ...]] = {}

    def at(self, scope: TreeBody, before: int | None = None) -> Context:
        """Return the facts of a scope; with `before`, also from checks before that statement."""
        found = self._around(scope)
        if before is None:
            return found
        items, known = self._inner.get(scope, ((), [found]))
        now = self.now.items(scope)
        if items is not now:
            same = takewhile(lambda pair: pair[0] is pair[1], zip(items, now, strict=False))
            del known[sum(1 for _ in same) + 1 :]
            self._inner[scope] = now, known
        while len(known) <= before:
            known.append(known[-1].plus(self._says(now[len(known) - 1])))
        return known[before]

    def in_front(self, item: Item) -> Context:
        """Return the facts that hold before a statement."""
        return self.at(item.scope, self.now.at(item))

    def _around(self, scope: TreeBody) -> Context:
        found = self._outer.get(scope)
        if found is None:
            item = scope.parent
            if item is None:
                found = self._sizes()
            else:
                found = self.in_front(item).plus(self._entering(scope, item))
            self._outer[scope] = found
        return found

    def _sizes(self) -> Context:
        found: dict[Poly, None] = {}
        for param in self.now.tree.fun.params:
            if isinstance(param.type, ir.Array):
                found.update((self.terms.normal(size), None) for size in param.type.shape)
        return Context(tuple(size for size in found if size.constant is None)).plus(self.given)

    def stated(self, bound: Poly) -> Context:
        """Return the context of one bound; interned, so that consequences are computed once."""
        return self._stated.setdefault(bound, Context((bound,)))

    def checked(self, items: Iterable[Item]) -> Context:
        """Return the facts from the checks among statements."""
        found = NOTHING
        for item in items:
            found = found.plus(self._says(item))
        return found

    def _says(self, item: Item) -> Context:
        """Return the facts from a statement that is a check."""
        if not isinstance(item.stm.exp, ir.Assert):
            return NOTHING
        found = self._said.get(item)
        if found is None:
            found = self._said[item] = self.condition(item.stm.exp.cond, True)
        return found

    def _entering(self, scope: TreeBody, item: Item) -> Context:
        exp = item.stm.exp
        found = NOTHING
        if isinstance(exp, ir.If):
            found = self.condition(exp.cond, scope.kind == "then")
        for over in self.ranges(scope):
            index = Poly.var(over.name)
            bounds = (index, over.count - 1 - index, over.count - 1)
            found = found.plus(Context(tuple(b for b in bounds if b.constant is None)))
        return found

    def ranges(self, scope: TreeBody) -> tuple[Range, ...]:
        """Return the index ranges of a loop or kernel, outermost first."""
        found = self._ranges.get(scope)
        if found is None:
            found = self._ranges[scope] = self._indices(scope)
        return found

    def _indices(self, scope: TreeBody) -> tuple[Range, ...]:
        exp = scope.parent.stm.exp if scope.parent is not None else None
        if isinstance(exp, ir.Loop) and isinstance(exp.form, ir.ForLoop):
            form = exp.form
            if form.prim == "i64":
                return (Range(form.index, ZERO, self.terms.poly(form.bound)),)
            if form.prim == "u64":
                return ()
            index = self.terms.poly(
                ir.Conv(form.prim, "i64", ir.Var(form.index, form.prim))
            ).as_name
            bound = self.terms.poly(ir.Conv(form.prim, "i64", form.bound))
            return () if index is None else (Range(index, ZERO, bound),)
        if isinstance(exp, ir.SegOp) and scope.kind == "kernel":
            dims = exp.space.dims
            return tuple(Range(index, ZERO, self.terms.normal(bound)) for index, bound in dims)
        return ()

    def condition(self, cond: ir.SE, holds: bool) -> Context:
        """Return the facts that a condition, or its negation, implies."""
        match cond:
            case ir.Var(name, _) if name in self.terms.defs:
                return self.condition(self.terms.defs[name], holds)
            case ir.Un("not", _, arg):
                return self.condition(arg, not holds)
            case ir.Bin("&&" | "||" as op, _, a, b):
                left, right = self.condition(a, holds), self.condition(b, holds)
                if (op == "&&") == holds:
                    return left.plus(right).flat()
                if left is not NOTHING and right is not NOTHING:
                    return Context(_in_common(left, right), either=((left, right),))
            case ir.Bin("<" | "<=" | ">" | ">=" | "==" | "!=" as op, "i64", a, b):
                return _compared(op if holds else _CONTRARY[op], a, b, self.terms)
            case ir.Fun(fun, _, args) if holds and fun.startswith("inside_"):
                return self._inside([self.terms.poly(arg) for arg in args])
        return NOTHING

    def _inside(self, args: Sequence[Poly]) -> Context:
        """Return the fact that an LMAD is empty or lies inside its array."""
        length, start, *rest = args
        dims = tuple(map(Dim, rest[::2], rest[1::2]))
        ends = Lmad(start, dims).corners()
        found = Context(tuple(p for end in ends for p in (end, length - 1 - end)))
        for dim in dims:
            found = Context(either=((Context((-dim.size,)), found),))
        return found

    def disjoint(self, write: Lmad[Poly], use: Lmad[Poly], known: Context) -> Verdict:
        """Decide whether two sets of cells are disjoint."""
        found = _verdict(write, use, self._matter(known, (write, use)))
        self.budget.spend(found.steps)
        return found

    def unproved(self, claims: Sequence[Poly], known: Context, where: Lmad[Poly]) -> Poly | None:
        """Return the first claim that cannot be proved, provided `where` is not empty."""
        prover = self.prover(claims, known, where)
        found = next((claim for claim in claims if not self.shows(prover, claim)), None)
        self.budget.spend(prover.steps)
        return found

    def shows(self, prover: Prover, claim: Poly) -> bool:
        """True if a prover shows that `claim >= 0`; keeps the argument."""
        line = prove_inequality(prover, claim)
        if line is not None and line.claim.constant is None:
            says = Saying("compare", (">=", claim, ZERO))
            self.proved.append(Argument(says, (line,), prover.facts.given))
        return line is not None

    def is_size(self, value: Poly, known: Context) -> bool:
        """True if a number is provably natural, from facts about the arguments or at this place."""
        if value.constant is not None:
            return value.constant >= 0
        if value.as_name is None and all(coeff > 0 for coeff in value.terms.values()):
            names = map(Poly.var, sorted(value.names()))
            if all(self.is_size(name, known) for name in names):
                return True
        for context in (self.at(self.now.tree.root), known):
            found = self._sizes_known.get((value, context))
            if found is None:
                found = self.unproved([value], context, Lmad(ZERO, ())) is None
                self._sizes_known[value, context] = found
            if found:
                return True
        return False

    def prover(self, claims: Sequence[Poly], known: Context, where: Lmad[Poly]) -> Prover:
        """Return a prover for claims about the cells of `where`, which is not empty."""
        facts = self.facts(known, (where, *(Lmad(claim, ()) for claim in claims)))
        sizes = [dim.size - 1 for dim in where.dims]
        return Prover(facts.with_bounds(*(facts.normal(size) for size in sizes)))

    def facts(self, known: Context, lmads: Sequence[Lmad[Poly]]) -> Facts:
        """Select the facts relevant for these non-empty LMADs."""
        return self._matter(known, lmads).facts()

    def _matter(self, known: Context, lmads: Sequence[Lmad[Poly]]) -> Assumed:
        sizes = {dim.size - 1 for lmad in lmads for dim in lmad.dims}
        resolved = self._contexts.resolved(known).with_certain(sizes)
        wanted: set[Name] = set()
        for lmad in lmads:
            wanted |= lmad.names()
        chosen: dict[Poly, None] = {}
        equalities: dict[Name, Poly] = {}
        atoms: dict[Poly, Name] = {}
        for _ in range(_ROUNDS):
            new = set(wanted)
            known_equal = [name for name in wanted if name in resolved.equal]
            for name in sorted(known_equal, key=lambda name: resolved.equal[name][0]):
                values = [v for v in resolved.equal[name][1] if name not in v.names()]
                if values and name not in equalities:
                    equalities[name] = values[0]
                    new |= values[0].names()
            found = self.terms.atoms.facts(sorted(wanted))
            atoms |= found
            more = resolved.about(wanted, _MOST - len(chosen), chosen.keys() | found.keys())
            for fact in [*found, *self.terms.atoms.roots(wanted), *more]:
                if fact not in chosen and len(chosen) < _MOST:
                    chosen[fact] = None
                    new |= fact.names()
            for _, a, b in self.terms.atoms.quotients(wanted):
                new |= a.names() | b.names()
            if new == wanted:
                break
            wanted = new
        lines = self._lines(atoms, chosen, equalities)
        self._divided(chosen, equalities, wanted, sizes, lines)
        return Assumed(tuple(chosen), tuple(equalities.items()), tuple(sorted(wanted)), lines)

    def _lines(
        self, atoms: Mapping[Poly, Name], chosen: Iterable[Poly], equalities: Mapping[Name, Poly]
    ) -> dict[Poly, Lemma]:
        """Prove the facts that define atoms."""
        solved = solve(equalities.items()) if atoms else {}
        found: dict[Poly, Lemma] = {}
        for fact in chosen:
            if fact in atoms:
                line = self._atom(atoms[fact], fact.subst(solved), (), solved)
                found.setdefault(line.claim, line)
        return found

    def _atom(
        self, name: Name, claim: Poly, premises: tuple[Lemma, ...], solved: Mapping[Name, Poly]
    ) -> Lemma:
        """Return the line of a fact about an atom; `solved` has been substituted."""
        atom = self.terms.atoms[name]
        one, other = (arg.subst(solved) for arg in atom.args)
        source = Source("atom", (name, atom.op, one, other, Poly.var(name).subst(solved)))
        because = Deduction("quotient", (source,)) if atom.op == "/" else source
        return Lemma(claim, because, premises, 0)

    def _divided(
        self,
        chosen: dict[Poly, None],
        equalities: dict[Name, Poly],
        wanted: set[Name],
        sizes: set[Poly],
        lines: dict[Poly, Lemma],
    ) -> None:
        """Add facts about quotients by positive divisors, and about natural values."""
        quotients = self.terms.atoms.quotients(wanted)
        if not quotients:
            return
        key = (*chosen, *equalities.items(), *sorted(sizes, key=str), *quotients)
        found = self._quotients.get(key)
        if found is None:
            found = self._quotients[key] = {}
            names = wanted.union(*(a.names() | b.names() for _, a, b in quotients))
            facts = Facts.of((*chosen, *sizes), equalities, names, lines)
            for name, a, b in quotients:
                prover = Prover(replace(facts.with_bounds(*found), lines=lines))
                positive = prove_inequality(prover, b - 1)
                if positive is None:
                    continue
                natural = prove_inequality(prover, a)
                known: list[tuple[Poly, tuple[Lemma, ...]]] = []
                known += [(fact, (positive,)) for fact in divided(name, a, b)]
                if natural is not None:
                    known.append((Poly.var(name), (positive, natural)))
                for fact, premises in known:
                    line = self._atom(name, facts.normal(fact), premises, facts.equalities)
                    found.setdefault(fact, line)
                    lines.setdefault(line.claim, line)
        chosen.update(dict.fromkeys(found))
        for line in found.values():
            lines.setdefault(line.claim, line)


@lru_cache(maxsize=_REMEMBERED)
def _facts(
    bounds: tuple[Poly, ...],
    equalities: tuple[tuple[Name, Poly], ...],
    names: tuple[Name, ...],
) -> Facts:
    return Facts.of(bounds, dict(equalities), names)


_answers: dict[Key, tuple[tuple[Name, ...], Verdict]] = {}
"""Verdicts of questions with abstracted names, and the original names."""


def _verdict(write: Lmad[Poly], use: Lmad[Poly], known: Assumed) -> Verdict:
    names, key = question((write, use), known.bounds, known.equalities, known.names)
    found = _answers.get(key)
    if found is None:
        if len(_answers) >= _REMEMBERED:
            del _answers[next(iter(_answers))]
        found = _answers[key] = names, disjoint(write, use, known.facts())
    before, verdict = found
    if before == names:
        return verdict
    return answered(verdict, dict(zip(before, names, strict=True)), write, use, known.lines)


def forget_many() -> None:
    """Drop cached answers if there are many, before another program."""
    if len(_answers) > _KEPT:
        forget()


def forget() -> None:
    """Drop all cached answers, for time measurements."""
    _facts.cache_clear()
    _answers.clear()


def _in_common(left: Context, right: Context) -> tuple[Poly, ...]:
    """Return facts that both alternatives imply: the weaker of two that differ by a constant."""
    found: dict[Poly, None] = {}
    for one in left.bounds:
        for other in right.bounds:
            more = (one - other).constant
            if more is not None:
                found[one if more > 0 else other] = None
    return tuple(found)


_CONTRARY = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _compared(op: str, a: ir.SE, b: ir.SE, terms: Terms) -> Context:
    left, right = terms.compared(a), terms.compared(b)
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
            sides = (left - right - 1, right - left - 1)
            if any(side.constant is not None for side in sides):
                return NOTHING
            return Context(either=((Context((sides[0],)), Context((sides[1],))),))
    equal: list[tuple[Name, Poly]] = []
    if op == "==":
        for one, other in ((left, right), (right, left)):
            if one.as_name is not None:
                equal.append((one.as_name, other))
                break
    bounds = tuple(fact for fact in found if fact.constant is None)
    return Context(bounds, tuple(equal)) if bounds else NOTHING
