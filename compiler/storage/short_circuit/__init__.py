"""Short-circuiting: build arrays in their destinations where that is provably safe (thesis ch. 6).

circuit_point.py     data type of points
points.py            finds the points and makes the attempts, outer and late ones first
guards.py            removes checks of LMAD slices that provably hold (7)
in_place.py          lets kernels overwrite arrays that they read (6)
conditions.py        the numbered conditions
project.py           projected index functions, and statements to lift for them (1 to 4)
available.py         the place is known, and in bounds, at the creation (4)
safety.py            access summaries (5)
comparison.py        pairwise comparison of writes and uses
access.py            data type of accesses
outer_accesses.py    aggregates accesses over loops and kernels, and over other iterations
quotients.py         aggregation of accesses with quotients of an index
covers.py            covers many sets of cells by few
uses.py              trees of accesses with parts shared by attempts
summaries.py         cache of accesses across attempts
budget.py            limit of proof steps (8)
costs.py             cases in which a copy is faster (9)
assumptions.py       facts that hold at a place of the program
contexts.py          growing sets of facts, indexed by name
terms.py             index arithmetic as polynomials
analyses.py          what the attempts on a function share, kept in step with edits
tree.py              immutable index of a function: parents, binders, users
edit_state.py        edits so far, and the resulting program
edits.py             edits as values
origins.py           origins of the facts of a proof
attempts.py          attempts as plain data
trial.py             forces refused attempts and runs them
clash.py             result of such a run
sufficient_facts.py  conditions that the author could state to make an attempt succeed
wording.py           descriptions of arrays for remarks

Note: why a function is edited in place of being rebuilt after each attempt. An attempt asks for the
parents of a statement, for earlier statements and for the users of an array. There may be hundreds
of attempts, and each changes the bindings of a few arrays and the order of a few statements:
rebuilding the program would cost the size of the function per attempt, with a new index, and cached
results about statements (facts, summaries) would be lost with the old nodes. So there is one
immutable index: items keep their identity through all edits, and caches are keyed by item. The
changes are small (`Edited`), made by edits only, and `rebuilt` produces one program from both at
the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from compiler.algebra.argument import Argument
from compiler.algebra.gate import forget
from compiler.analysis.no_wrap import exactness
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.lazy import later
from compiler.base.rules import Pass
from compiler.ir.nodes import Prog
from compiler.protocol.kinds import Json
from compiler.storage.short_circuit.assumptions import forget_many
from compiler.storage.short_circuit.attempts import RULES, Attempt, Record
from compiler.storage.short_circuit.budget import BUDGET, STEPS, Budget
from compiler.storage.short_circuit.points import Shortcut

ID = "shortcircuit"
_tried = later("compiler.storage.short_circuit.attempt_data", "all_attempts")


def short_circuit(prog: Prog, ctx: Ctx) -> Prog:
    """Build arrays in their destinations; attempts are kept as the record `ID`, an `Attempted`.

    Needs: memory, allocations inside kernels. Keeps: values, names and provenance of statements;
    results of entry points stay where they are.
    """
    if ctx.is_shown:
        forget_many()
    budget, numbers = Budget(ctx.options.limit(STEPS)), count()
    shortcuts = tuple(Shortcut(fun, ctx, budget=budget, numbers=numbers) for fun in prog.funs)
    funs = tuple(shortcut.run() for shortcut in shortcuts)
    for shortcut in shortcuts:
        for attempt in shortcut.attempts:
            attempt.meant = shortcut.meant
    records = tuple(
        Record(tuple(one.attempts), one.state.terms.atoms, tuple(one.state.assumptions.proved))
        for one in shortcuts
    )
    for record in records:
        forget(record.proved)
    ctx.records[ID] = Attempted(prog, _bare(ctx), records)
    same = all(new is old for new, old in zip(funs, prog.funs, strict=True))
    return prog if same else Prog(funs)


@dataclass(slots=True)
class Attempted:
    """Attempts that `short_circuit` made on `prog`, function by function."""

    prog: Prog
    ctx: Ctx
    """Context of the pass, without records and remarks of others."""
    records: tuple[Record, ...]
    _told: list[Json] | None = None

    def all(self) -> Iterator[Attempt]:
        """Yield all attempts in order."""
        for record in self.records:
            yield from record.attempts

    def told(self) -> list[Json]:
        """Return all attempts as plain data; refused ones are run on the first call."""
        if self._told is None:
            self._told = list(_tried(self.prog, self.ctx, self.records))
        return [dict(one) for one in self._told]

    def theorems(self) -> tuple[list[Json], list[Argument]]:
        """Return the claims that the program rests on: one with its proof per pair of accesses.

        Also the arguments for inequalities, and for readings as polynomials.
        """
        made = list(self.all())
        pairs = [theorem for one in made if one.done for theorem in one.theorems()]
        shown = [argument for one in self.records for argument in one.proved]
        funs = self.prog.funs if made else ()
        return pairs, [*shown, *(found for fun in funs for found in exactness(fun).shown)]


def _bare(ctx: Ctx) -> Ctx:
    return Ctx(ctx.options, ctx.names, target=ctx.target, stage=ctx.stage)


SHORT_CIRCUIT = Pass(
    ID,
    "Builds arrays directly in their destination, if that is proved to be safe.",
    short_circuit,
    (*RULES, BUDGET),
)
