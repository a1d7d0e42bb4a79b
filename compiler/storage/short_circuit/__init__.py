"""Short-circuiting: arrays are built where they end up, where that is proved safe (thesis ch. 6).

points.py            finds the points, makes the attempts, outer and late ones first
guards.py            checks of slices by LMADs, proved to be needless (7)
in_place.py          kernels that write over what they read (6)
conditions.py        the numbered conditions
project.py           the new index functions, and what has to move up for them (1 to 4)
safety.py            access summaries (5)
comparison.py        writes against uses, pair by pair
access.py            one access
outer_accesses.py    accesses seen from outside of a loop or kernel, and in its other iterations
quotients.py         the same where an index is divided
covers.py            many accesses as few
uses.py              what statements touch, in parts that attempts share
summaries.py         what is kept from attempt to attempt
budget.py            what proofs may take (8)
costs.py             where a copy takes less time (9)
assumptions.py       what holds at a place of the program
contexts.py          facts that grow, by their names
terms.py             index arithmetic as polynomials
tree.py              a function as it was: what is around a statement, who binds and uses a name
edit_state.py        what has been edited in it so far, and the program that comes of it
edits.py             what attempts change, as values
origins.py           where the facts of a proof come from
attempts.py          attempts as plain data
trial.py             refused attempts, made all the same and run
clash.py             what such a run has shown
sufficient_facts.py  what the author could state so that an attempt is made
wording.py           what arrays are called in remarks

Note: why a function is edited, and not made anew by each attempt. An attempt asks what is around a
statement, what comes before it and who uses an array. There may be hundreds of attempts, and each
changes where a few arrays are and the order of a few statements: a program made anew after each
would be as much work as all statements for each attempt, with a new index, and what is known of a
statement (its facts, its summary) would have to be found again under another node. So there is one
index, which nothing writes: items are the same through all edits, and what is kept is kept by item.
What changes is small (`Edited`), is changed by edits only, and `rebuilt` makes one program of both
at the end.
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
_tried = later("compiler.storage.short_circuit.attempt_data", "tried")


def short_circuit(prog: Prog, ctx: Ctx) -> Prog:
    """Build arrays in their places; the attempts are kept as the record `ID`, an `Attempted`.

    Needs: memory, allocations inside kernels. Keeps: values, names and provenance of statements;
    results of entry points stay where they are.
    """
    if ctx.is_shown:
        forget_many()
    budget, numbers = Budget(ctx.options.limit(STEPS)), count()
    shortcuts = tuple(Shortcut(fun, ctx, budget=budget, numbers=numbers) for fun in prog.funs)
    funs = tuple(shortcut.run() for shortcut in shortcuts)
    records = tuple(
        Record(tuple(one.attempts), one.terms.atoms, tuple(one.assumptions.proved))
        for one in shortcuts
    )
    for record in records:
        forget(record.proved)
    ctx.records[ID] = Attempted(prog, _bare(ctx), records)
    same = all(new is old for new, old in zip(funs, prog.funs, strict=True))
    return prog if same else Prog(funs)


@dataclass(slots=True)
class Attempted:
    """The attempts that `short_circuit` has made on `prog`, function by function."""

    prog: Prog
    ctx: Ctx
    """Of the pass, without what others have told or kept."""
    records: tuple[Record, ...]
    _told: list[Json] | None = None

    def all(self) -> Iterator[Attempt]:
        """All attempts, in the order in which they were made."""
        for record in self.records:
            yield from record.attempts

    def told(self) -> list[Json]:
        """All attempts as plain data; refused ones are tried when this is first asked."""
        if self._told is None:
            self._told = list(_tried(self.prog, self.ctx, self.records))
        return [dict(one) for one in self._told]

    def theorems(self) -> tuple[list[Json], list[Argument]]:
        """What the program rests on: a claim with its proof for each pair of accesses.

        And the arguments for inequalities, and for what is read as polynomials.
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
    "Builds arrays where they end up, where that is proved to be safe.",
    short_circuit,
    (*RULES, BUDGET),
)
