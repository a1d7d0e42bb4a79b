"""How much proving one program gets: a number of steps, so that each run ends in one place."""

from __future__ import annotations

from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.base.rules import Limit, Rule

STEPS = Limit("shortcircuit/budget/steps", "steps of proofs for a program", 100_000)
"""Inequalities looked at for one program: the examples take 2,200 at most, a body with 200 rows at
indices of which nothing is known 50,000; a second has about 20,000 of them."""
QUESTION = 20
"""Steps that each question counts for beside its inequalities."""
BUDGET = Rule(
    "shortcircuit/budget",
    f"Tells that the proofs of a program have taken the {STEPS.usual:,} steps that they get.",
    optional=False,
    limits=(STEPS,),
)


@dataclass(slots=True)
class Budget:
    """The steps that are left to a program, of `given`."""

    given: int = STEPS.usual
    told: bool = False
    left: int = field(init=False)

    def __post_init__(self) -> None:
        """All of them are left."""
        self.left = self.given

    def spend(self, steps: int) -> None:
        """Take away the steps of one question."""
        self.left -= QUESTION + steps

    @property
    def is_spent(self) -> bool:
        """Whether there are none left."""
        return self.left <= 0

    @property
    def said(self) -> str:
        """What is told when there are none left."""
        return (
            f"Proofs for this program have taken the {self.given:,} steps that they get. From here "
            "on arrays are copied into their places and checks are made: what the program computes "
            "is the same."
        )
