"""When an array may be built where it ends up, as conditions with numbers.

1. The source's memory is made in the body that puts it into its place, in the same kind of memory.
2. The source can be traced to the one statement that creates it, through views that lose nothing.
3. Nothing else uses the source's memory afterwards.
4. The place is known where the source is created: its block, its indices, and that it fits.
5. No write to the source meets a use of the destination that comes later, or may.
6. What an in-place map overwrites belongs to the kernel alone and is used no more.
7. What a check of a slice by an LMAD says follows from what is known (`guards.py`).
8. There are steps left of those that proofs for one program may take (`budget.py`).
9. Building in place takes no longer than the copy that it saves (`costs.py`).
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
