"""The numbered conditions under which an array may be built in its destination.

`guards.py` has the seventh, `budget.py` the eighth, `costs.py` the ninth.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.protocol.refusals import Refusal

TITLES = {
    1: "The source has its own memory block, allocated in the same body.",
    2: "One statement creates the source, and its views can be inverted.",
    3: "The source is not used afterwards.",
    4: "The destination is known where the source is created.",
    5: "The early writes do not overlap elements that are still needed.",
    6: "The overwritten array is not used afterwards.",
    7: "The checked condition follows from the known facts.",
    8: "The proofs stay within the program's budget of steps.",
    9: "Building in place is faster than the copy.",
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
    return Failed(Refusal.SPENT, "The proof budget of the program is used up.")
