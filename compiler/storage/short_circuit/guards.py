"""Remove checks of LMAD slices that provably hold.

A slice lies inside its array if a few inequalities hold. Its elements are distinct cells dimension
by dimension: elements that first differ in dimension k are a multiple of `s_k` apart there, which
the later dimensions never compensate for. Each such step is a pair of disjoint LMADs, proved as for
short-circuiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from compiler.algebra.disjoint import Disjoint, Overlap, Unknown
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.prim import FUNS
from compiler.base.remarks import Applied, Missed
from compiler.ir.nodes import SE, Assert, Bin, DimLmad, Fun, MemBind, Slice, Update, Var
from compiler.ir.slices import as_lmad
from compiler.protocol.refusals import Refusal
from compiler.storage.short_circuit import edits
from compiler.storage.short_circuit.access import Obligation
from compiler.storage.short_circuit.analyses import Analyses
from compiler.storage.short_circuit.attempts import GUARD, Attempt
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.terms import ZERO
from compiler.storage.short_circuit.tree import Item, TreeBody
from compiler.storage.short_circuit.wording import called


class Guards:
    """Guards of one function."""

    def __init__(
        self,
        state: Analyses,
        ctx: Ctx,
        numbers: Iterator[int],
    ) -> None:
        """`numbers`: numbers of future attempts."""
        self.numbers = numbers
        self.state = state
        self.ctx = ctx

    def prove(self, scope: TreeBody) -> Iterator[Attempt]:
        """Try to prove each guard in a body, and remove those that hold."""
        for item in self.state.now.items(scope):
            for child in item.children:
                yield from self.prove(child)
            guard = self._guard(item)
            if guard is not None:
                yield self._try(*guard, item)

    def _guard(self, item: Item) -> tuple[Fun, Context] | None:
        """Return the guard that a statement asserts, and the assumptions under which it does.

        For `a || guard` that is the negation of `a`.
        """
        exp = item.stm.exp
        cond: SE | None = exp.cond if isinstance(exp, Assert) else None
        known = NOTHING
        while isinstance(cond, Var) or (isinstance(cond, Bin) and cond.op == "||"):
            if isinstance(cond, Var):
                cond = self.state.terms.defs.get(cond.name)
            else:
                known = known.plus(self.state.assumptions.condition(cond.lhs, False))
                cond = cond.rhs
        if isinstance(cond, Fun) and FUNS[cond.fun][1] == "lmad":
            return cond, known
        return None

    def _try(self, guard: Fun, more: Context, item: Item) -> Attempt:
        known = self.state.assumptions.in_front(item).plus(more)
        parts = [self.state.terms.poly(arg) for arg in guard.args]
        inside = guard.fun.startswith("inside")
        dims = tuple(map(Dim, *(parts[2 if inside else 0 :][k::2] for k in (0, 1))))
        name, array, mem = self._guarded(dims, item)
        attempt = Attempt(
            next(self.numbers), GUARD, name, array, item.stm.prov, mem, check=item.stm
        )
        what = f"the slice of {called(self.state.now, array)}" if array else "the slice"
        because = ""
        if self.state.assumptions.budget.is_spent:
            claim = f"All of {what} lies inside" if inside else f"No two elements of {what} meet"
            because = "the proof budget is used up"
        elif inside:
            claim = f"All of {what} lies inside"
            missing = self._inside(parts[0], Lmad(parts[1], dims), known)
            if missing is not None:
                attempt.missing = (missing,)
                because = f"{self.state.now.spell.poly(missing)} >= 0 is not proved"
        else:
            claim = f"No two elements of {what} share a cell"
            attempt.obligations = list(self._apart(dims, known))
            because = next(
                filter(
                    None, (_unproved(o, self.state.now.spell.poly) for o in attempt.obligations)
                ),
                "",
            )
        if because:
            attempt.refusal, attempt.condition = Refusal.GUARD, Refusal.GUARD.condition
            attempt.because = f"{claim}: this is checked when the program runs, as {because}."
            self.ctx.commit(
                GUARD,
                item.stm.prov,
                Missed(attempt.because, refusal=Refusal.GUARD.id),
                attempt.number,
            )
            return attempt
        applied = Applied(
            attempt, f"Check removed, as it is proved: {claim[0].lower()}{claim[1:]}."
        )
        attempt.because = applied.because
        if self.ctx.commit(GUARD, item.stm.prov, applied, attempt.number) is not None:
            attempt.done = True
            self.state.apply(edits.RemoveCheck(item))
        return attempt

    def _guarded(
        self, dims: tuple[Dim[Poly], ...], item: Item
    ) -> tuple[Name, Name, MemBind | None]:
        """Return the guarded slice: its name, its array, and its binding."""
        mem = self.state.now.mem
        for later in self.state.now.items(item.scope)[self.state.now.at(item) + 1 :]:
            exp = later.stm.exp
            if not isinstance(exp, Slice | Update) or not isinstance(exp.dims[0], DimLmad):
                continue
            if as_lmad(exp.dims[0], self.state.terms.poly, self.state.terms.normal).dims == dims:
                full = mem[exp.array]
                part = MemBind(full.block, self.state.terms.sliced(full.lmad, exp.dims))
                return later.stm.pat[0].name, exp.array, part
        return "", "", None

    # --- what a guard says ---

    def _inside(self, length: Poly, lmad: Lmad[Poly], known: Context) -> Poly | None:
        """Return the first unproved claim that all cells are below a length, or None."""
        assumptions = self.state.assumptions
        prover = assumptions.prover((length,), known, lmad)
        lows, highs = [lmad.offset], [lmad.offset]
        for dim in lmad.dims:
            extent = (dim.size - 1) * dim.stride
            if assumptions.shows(prover, dim.stride):
                highs = [cell + extent for cell in highs]
            elif assumptions.shows(prover, -dim.stride):
                lows = [cell + extent for cell in lows]
            else:
                lows += [cell + extent for cell in lows]
                highs += [cell + extent for cell in highs]
        claims = [*lows, *(length - 1 - cell for cell in highs)]
        return next((claim for claim in claims if not assumptions.shows(prover, claim)), None)

    def _apart(self, dims: Sequence[Dim[Poly]], known: Context) -> Iterator[Obligation]:
        """Yield for each dimension that elements which first differ there are distinct cells."""
        for k, dim in enumerate(dims):
            rest = tuple(dims[k + 1 :])
            ahead = Lmad(dim.stride, (Dim(dim.size - 1, dim.stride), *rest))
            here = Lmad(ZERO, rest)
            verdict = self.state.assumptions.disjoint(ahead, here, known)
            yield Obligation(ahead, here, f"dimension {k + 1} of the slice", verdict)
            if not isinstance(verdict, Disjoint):
                return


def _unproved(obligation: Obligation, spell: Callable[[Poly], str]) -> str:
    """Return why a step is unproved, as the second half of a sentence; "" if it is proved."""
    match obligation.verdict:
        case Overlap():
            return "it is not proved for all values"
        case Unknown(reason, missing):
            if missing is None:
                return reason.rstrip(".")
            return f"{spell(missing)} >= 0 is not proved"
    return ""
