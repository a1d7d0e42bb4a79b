"""Fuel: a budget of rewrites, for stepping through a pass and for bisecting a wrong one."""

from __future__ import annotations


class Fuel:
    """Counts rewrites; `spend()` is False once the budget (None: no limit) is used up."""

    __slots__ = ("budget", "spent")

    def __init__(self, budget: int | None = None) -> None:
        self.budget = budget
        self.spent = 0

    def fork_at(self, spent: int) -> Fuel:
        """Return a budget like this one, with `spent` units used."""
        other = Fuel(self.budget)
        other.spent = spent
        return other

    def spend(self) -> bool:
        """Take one unit; ask right before a rewrite, and skip the rewrite on False."""
        if self.budget is not None and self.spent >= self.budget:
            return False
        self.spent += 1
        return True
