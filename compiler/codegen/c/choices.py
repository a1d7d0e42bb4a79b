"""Record the back end's rule decisions, so that a text printed twice gets the same ones."""

from __future__ import annotations

from compiler.base.context import Ctx
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import Prov


class Choices:
    """Decisions in statement order; a second printing replays them."""

    def __init__(self, ctx: Ctx) -> None:
        self.ctx = ctx
        self.made: list[bool] = []
        self.told = 0

    def again(self) -> None:
        """Restart at the first decision."""
        self.told = 0

    def take(self, rule: Rule, at: Prov, because: str) -> bool:
        """Decide whether to apply a rule here, or replay the decision."""
        if self.told == len(self.made):
            self.made.append(self.ctx.commit(rule, at, Applied(True, because)) is True)
        self.told += 1
        return self.made[self.told - 1]
