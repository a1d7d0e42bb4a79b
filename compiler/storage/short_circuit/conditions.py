"""The numbered conditions under which an array may be built in its destination.

`guards.py` has the seventh, `budget.py` the eighth, `costs.py` the ninth.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.protocol.refusals import Refusal

TITLES = {
    1: "The source has memory of its own, made in the same body.",
    2: "The source is created by one statement, and views of it can be undone.",
    3: "The source is used no more.",
    4: "The place is known where the source is created.",
    5: "What is written early does not meet what is still needed.",
    6: "What is overwritten is used no more.",
    7: "What is checked follows from what is known.",
    8: "Proving takes no more steps than a program gets.",
    9: "Building in place takes less time than the copy.",
}


CELLS, GUARD = 5, 7
"""Conditions that a run can refute."""


class Failed(Exception):
    """A condition that does not hold: the kind of refusal, and the reason as a sentence."""

    def __init__(
        self, refusal: Refusal, because: str, hint: str = "", missing: tuple[Poly, ...] = ()
    ) -> None:
        """`missing`: claims `>= 0` that are not proved."""
        super().__init__(because)
        self.missing = missing
        self.refusal = refusal
        self.condition = refusal.condition
        self.because = because[:1].upper() + because[1:]
        self.hint = hint


def out_of_budget() -> Failed:
    """Return the failure of an attempt with an exhausted budget."""
    return Failed(Refusal.SPENT, "The steps that proving may take in one program are used up.")
