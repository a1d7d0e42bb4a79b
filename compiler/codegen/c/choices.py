"""What the rules of the back end decide while a text is printed, each decision made once."""

from __future__ import annotations

from compiler.base.context import Ctx
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import Prov


class Choices:
    """Asked in the order of the statements; a text that is printed again is told the same again."""

    def __init__(self, ctx: Ctx) -> None:
        self.ctx = ctx
        self.made: list[bool] = []
        self.told = 0

    def again(self) -> None:
        """Begin with the first decision once more."""
        self.told = 0

    def take(self, rule: Rule, at: Prov, because: str) -> bool:
        """Whether to do what a rule could do here."""
        if self.told == len(self.made):
            self.made.append(self.ctx.commit(rule, at, Applied(True, because)) is True)
        self.told += 1
        return self.made[self.told - 1]
