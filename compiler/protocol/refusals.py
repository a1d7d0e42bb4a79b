"""Kinds of refusals by passes, each with the way out that it leaves the author.

Each ends in a change that the author can make, tried before it is offered, or says that there is
none (`Ending`). Attempts and remarks carry the kind's id.
"""

from __future__ import annotations

from enum import Enum

from compiler.base.remarks import NOTHING


class Ending(Enum):
    """The way out that a refusal leaves."""

    CHANGE = "a change of the text, offered only if all else is well"
    CONDITION = "a condition to state, if one is found with which the attempt succeeds"
    SAID = "nothing, as the reason itself says"
    NOTHING = "nothing that is known"


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

    ELSEWHERE_IN_IT = (1, Ending.NOTHING, "it is in the destination's memory at another place")
    THERE_ALREADY = (1, Ending.SAID, "its elements were there before")
    MOVING = (1, Ending.NOTHING, "a loop gives it another block in every iteration")
    OF_FUNCTION = (1, Ending.NOTHING, "a function that stays one makes it, or is given it")
    OTHER_SPACE = (1, Ending.NOTHING, "it lies in memory of another kind")
    OTHER_SHAPE = (2, Ending.NOTHING, "it changes its shape in a way that is no view")
    A_PART = (2, Ending.NOTHING, "only a part of it goes into the place")
    SKIPPING = (2, Ending.NOTHING, "a view of it skips elements")
    BUILT_OTHERWISE = (2, Ending.NOTHING, "its memory is built in another way as well")
    OTHER_LAYOUT = (2, Ending.NOTHING, "its layout changes on the way")
    USED_AGAIN = (
        3,
        Ending.CHANGE,
        "it is used after it was put into its place",
        "Use the part of the result instead of {}.",
    )
    RESULT_AS_WELL = (3, Ending.NOTHING, "it is a result of the body as well")
    HANDED_ON = (3, Ending.NOTHING, "a loop or branch hands its memory on")
    NO_NAME = (4, Ending.NOTHING, "an index has no name")
    COMPUTED_LATER = (
        4,
        Ending.CHANGE,
        "the place is computed after the array",
        "Compute {} before {}.",
    )
    DEPENDS_ON_IT = (4, Ending.NOTHING, "the place is computed from the array")
    DIVIDED = (4, Ending.CONDITION, "the place is computed by a division that may fail")
    NO_ROOM = (4, Ending.CONDITION, "sizes beside the place may be negative")
    OUTSIDE = (4, Ending.CONDITION, "the place may be outside of the destination")
    IN_OPERATOR = (5, Ending.NOTHING, "an operator uses it")
    COMPUTED_CELLS = (5, Ending.NOTHING, "which elements are used is computed")
    ANY_CELL = (5, Ending.NOTHING, "any element of the destination may be used")
    UNKNOWN_CELLS = (5, Ending.NOTHING, "which elements are used is not known")
    NOT_APART = (5, Ending.CONDITION, "what is written early may meet what is still needed")
    MADE_OUTSIDE = (6, Ending.NOTHING, "what would be overwritten is made outside")
    KEPT = (6, Ending.NOTHING, "what would be overwritten is used again, or handed on")
    CALLERS = (
        6,
        Ending.CHANGE,
        "what would be overwritten belongs to the caller",
        "With a unique type, `{}: *[]..`, it may be reused.",
    )
    FROM_BRANCH = (6, Ending.NOTHING, "a branch returns memory that is used elsewhere")
    FROM_LOOP = (6, Ending.NOTHING, "what would be overwritten comes out of a loop")
    LOOP_SHARES = (6, Ending.NOTHING, "a loop hands memory on that is used elsewhere")
    START_KEPT = (
        6,
        Ending.CHANGE,
        "what a loop starts with is used elsewhere",
        "Start the loop with a copy of {}.",
    )
    GUARD = (7, Ending.CONDITION, "what is checked does not follow from what is known")
    SPENT = (8, Ending.NOTHING, "the steps for proofs are used up")
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

    OWN_SIZE = (Ending.NOTHING, "its size depends on what is computed in the loop")
    KEPT_FOR_LONG = (Ending.NOTHING, "it is not clear for how many iterations it is kept")


KINDS: dict[str, type[Kind]] = {
    "`shortcircuit`": Refusal,
    "`merge/blocks`": NotMerged,
    "`merge/hoist`, `merge/double-buffer`": NotHoisted,
}
"""All kinds, by the pass or rules whose remarks use them."""
