"""Limit the proof steps of one program: counted, so that each run stops at the same place."""

from __future__ import annotations

from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.base.rules import Limit, Rule

STEPS = Limit("shortcircuit/budget/steps", "steps of proofs for a program", 100_000)
"""Limit of inequalities for one program: the examples take 2,200 at most, a body with 200 rows
at unknown indices 50,000; a second suffices for about 20,000."""
QUESTION = 20
"""Constant cost of a question, in steps."""
BUDGET = Rule(
    "shortcircuit/budget",
    f"Reports that the proofs of a program have used up their {STEPS.usual:,} steps.",
    optional=False,
    limits=(STEPS,),
)


@dataclass(slots=True)
class Budget:
    """Remaining steps of a program, out of `given`."""

    given: int = STEPS.usual
    told: bool = False
    left: int = field(init=False)

    def __post_init__(self) -> None:
        """Initialise the remaining steps."""
        self.left = self.given

    def spend(self, steps: int) -> None:
        """Subtract the steps of one question."""
        self.left -= QUESTION + steps

    @property
    def is_spent(self) -> bool:
        """True if no steps are left."""
        return self.left <= 0

    @property
    def said(self) -> str:
        """Remark for an exhausted budget."""
        return (
            f"The proofs of this program have used up their {self.given:,} steps. From "
            "here on arrays are copied and accesses are checked; the results are the "
            "same."
        )
