"""When an array may be built where it ends up: the conditions, by the numbers that texts give them.

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
"""The conditions of which a run can show that they do not hold."""


class Failed(Exception):
    """A condition does not hold: the kind of refusal, and why in a sentence."""

    def __init__(
        self, refusal: Refusal, because: str, hint: str = "", missing: tuple[Poly, ...] = ()
    ) -> None:
        """`missing`: polynomials that are not proved not to be negative."""
        super().__init__(because)
        self.missing = missing
        self.refusal = refusal
        self.condition = refusal.condition
        self.because = because[:1].upper() + because[1:]
        self.hint = hint


def spent() -> Failed:
    """The failure of an attempt that begins, or goes on, when no steps are left."""
    return Failed(Refusal.SPENT, "The steps that proving may take in one program are used up.")
