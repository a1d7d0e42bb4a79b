"""The analyses of a function that its attempts share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compiler.base.names import Name
from compiler.ir.nodes import Function
from compiler.storage.blocks import Meanings
from compiler.storage.short_circuit import edits
from compiler.storage.short_circuit.assumptions import Assumptions
from compiler.storage.short_circuit.budget import Budget
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.summaries import Summaries
from compiler.storage.short_circuit.terms import Terms
from compiler.storage.short_circuit.tree import Item


class Analyses:
    """A function as edited so far, with what is known about it; `apply` keeps both in step."""

    def __init__(
        self,
        fun: Function,
        said: Callable[[Name], str | None],
        given: Context = NOTHING,
        budget: Budget | None = None,
    ) -> None:
        """`given`: additional facts in the function; `budget`: proof steps of the program."""
        self.now = Edited(fun, said)
        self.terms = Terms(self.now)
        self.assumptions = Assumptions(self.now, self.terms, given, budget)
        self.meanings = Meanings(fun.body.stms, self.now.block)
        self.summaries = Summaries(self.now)

    def apply(self, edit: edits.Edit, point: Item | None = None) -> None:
        """Apply an edit, and drop what it makes stale: blocks, or arrays and a `point`."""
        edits.apply(self.now, edit)
        if isinstance(edit, edits.TakeBlock | edits.StopCarrying):
            self.meanings.changed()
            self.summaries.forget()
        elif isinstance(edit, edits.BuildInPlace):
            self.summaries.moved(edit.mem)
            if point is not None:
                self.summaries.changed(point)

    def known_in_front(self, item: Item, checks: Iterable[Item] = ()) -> Context:
        """Return the facts in front of a statement, if these checks are made there."""
        return self.assumptions.in_front(item).plus(self.assumptions.checked(checks))
