"""Kinds of refusals by passes, each with the way out that it leaves the author.

Each ends in a change that the author can make, tried before it is offered, or says that there is
none (`Ending`). Attempts and remarks carry the kind's id.
"""

from __future__ import annotations

from enum import Enum

from compiler.base.remarks import NOTHING


class Ending(Enum):
    """The way out that a refusal leaves."""

    CHANGE = "a change to the program, offered only if every other condition holds"
    CONDITION = "a condition to assert, if one is found that makes the attempt succeed"
    SAID = "none, because the reason itself says what to change"
    NOTHING = "no known change"


class Kind(Enum):
    """A kind of refusal: its ending, its subject, and the change that it offers."""

    def __init__(self, ending: Ending, about: str, change: str = "") -> None:
        self.ending = ending
        self.about = about
        self.change = change

    @property
    def id(self) -> str:
        """Return its name among all kinds."""
        return self.name.lower().replace("_", "-")

    def offer(self, *names: str) -> str:
        """Return the change, with the author's names filled in."""
        return self.change.format(*names)

    def hint(self, given: str = "") -> str:
        """Return the advice to the author: `given`, or that nothing is known."""
        if given or self.ending in (Ending.SAID, Ending.CONDITION):
            return given
        return NOTHING


class Refusal(Kind):
    """An array is not built in place, with the number of the condition that failed."""

    ELSEWHERE_IN_IT = (
        1,
        Ending.NOTHING,
        "it already lies in the destination's memory, at another place",
    )
    THERE_ALREADY = (1, Ending.SAID, "its elements exist before and would have to be moved")
    MOVING = (1, Ending.NOTHING, "a loop gives it another memory block in every iteration")
    OF_FUNCTION = (
        1,
        Ending.NOTHING,
        "a function that is not inlined creates it or takes it as an argument",
    )
    OTHER_SPACE = (1, Ending.NOTHING, "it lies in another kind of memory")
    OTHER_SHAPE = (2, Ending.NOTHING, "it changes its shape in a way that needs a copy")
    A_PART = (2, Ending.NOTHING, "only a part of it goes into the destination")
    SKIPPING = (2, Ending.NOTHING, "a view of it skips elements")
    BUILT_OTHERWISE = (2, Ending.NOTHING, "its memory block is also written in another way")
    OTHER_LAYOUT = (2, Ending.NOTHING, "its layout changes between creation and destination")
    USED_AGAIN = (
        3,
        Ending.CHANGE,
        "it is used after it was copied into the destination",
        "Use the part of the result instead of {}.",
    )
    RESULT_AS_WELL = (3, Ending.NOTHING, "it is also a result of the body")
    HANDED_ON = (3, Ending.NOTHING, "a loop or branch returns its memory block")
    NO_NAME = (4, Ending.NOTHING, "an index has no name")
    COMPUTED_LATER = (
        4,
        Ending.CHANGE,
        "the destination is computed after the array",
        "Compute {} before {}.",
    )
    DEPENDS_ON_IT = (4, Ending.NOTHING, "the destination is computed from the array")
    DIVIDED = (4, Ending.CONDITION, "the destination is computed by a division that may fail")
    NO_ROOM = (4, Ending.CONDITION, "sizes next to the destination may be negative")
    OUTSIDE = (4, Ending.CONDITION, "the slice may lie outside the destination")
    IN_OPERATOR = (5, Ending.NOTHING, "an operator uses it")
    COMPUTED_CELLS = (
        5,
        Ending.NOTHING,
        "the indices of the elements that are used are computed at run time",
    )
    ANY_CELL = (5, Ending.NOTHING, "any element of the destination may be used")
    UNKNOWN_CELLS = (5, Ending.NOTHING, "the elements that are used are not known")
    NOT_APART = (5, Ending.CONDITION, "writing early may overwrite elements that are still needed")
    MADE_OUTSIDE = (6, Ending.NOTHING, "the overwritten array is created outside")
    KEPT = (6, Ending.NOTHING, "the overwritten array is used again or returned")
    CALLERS = (
        6,
        Ending.CHANGE,
        "the overwritten array belongs to the caller",
        "Give it a unique type, `{}: *[]..`, to allow reuse.",
    )
    FROM_BRANCH = (6, Ending.NOTHING, "a branch returns memory that is used elsewhere")
    FROM_LOOP = (6, Ending.NOTHING, "the overwritten array is the result of a loop")
    LOOP_SHARES = (6, Ending.NOTHING, "a loop returns a memory block that is used elsewhere")
    START_KEPT = (
        6,
        Ending.CHANGE,
        "the initial value of a loop is used elsewhere",
        "Start the loop with a copy of {}.",
    )
    GUARD = (7, Ending.CONDITION, "the checked condition does not follow from the known facts")
    SPENT = (8, Ending.NOTHING, "the proof budget of the program is used up")
    SLOWER = (9, Ending.SAID, "building it in place would take longer")

    def __init__(self, condition: int, ending: Ending, about: str, change: str = "") -> None:
        super().__init__(ending, about, change)
        self.condition = condition


class NotMerged(Kind):
    """Two blocks that do not interfere are not merged."""

    OUTLIVES = (Ending.NOTHING, "it outlives its body, and no free block has exactly its size")
    LATER_SIZE = (Ending.NOTHING, "its size is not known yet when the free block is made")
    A_RESULT = (Ending.NOTHING, "the block of its size is a result of the body")


class NotHoisted(Kind):
    """A loop allocates memory in every iteration."""

    OWN_SIZE = (Ending.NOTHING, "its size depends on a value computed in the loop")
    KEPT_FOR_LONG = (Ending.NOTHING, "the number of iterations for which it is live is unknown")


KINDS: dict[str, type[Kind]] = {
    "`shortcircuit`": Refusal,
    "`merge/blocks`": NotMerged,
    "`merge/hoist`, `merge/double-buffer`": NotHoisted,
}
"""All kinds, by the pass or rules whose remarks use them."""
