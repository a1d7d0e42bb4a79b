"""How much proving one program gets: a number of steps, so that each run ends in one place."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.base.rules import Rule

STEPS = 100_000
"""Inequalities looked at for one program: the examples take 2,200 at most, a body with 200 rows at
indices of which nothing is known 50,000; a second has about 20,000 of them."""
QUESTION = 20
"""Steps that each question counts for beside its inequalities."""
BUDGET = Rule(
    "shortcircuit/budget",
    f"Tells that the proofs of a program have taken the {STEPS:,} steps that they get.",
    optional=False,
)
SPENT = (
    f"Proofs for this program have taken the {STEPS:,} steps that they get. From here on arrays "
    "are copied into their places and checks are made: what the program computes is the same."
)


@dataclass(slots=True)
class Budget:
    """The steps that are left to a program."""

    left: int = STEPS
    told: bool = False

    def spend(self, steps: int) -> None:
        """Take away the steps of one question."""
        self.left -= QUESTION + steps

    @property
    def is_spent(self) -> bool:
        """Whether there are none left."""
        return self.left <= 0
