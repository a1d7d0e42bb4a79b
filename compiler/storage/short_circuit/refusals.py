"""Why an array is not built in its place: every kind of refusal, and what it leaves the author.

Each ends in something that the author can do, tried before it is offered, or says that there is
nothing: `Ending` has the choice.
"""

from __future__ import annotations

from enum import Enum

from compiler.base.remarks import NOTHING


class Ending(Enum):
    """What a refusal leaves the author."""

    CHANGE = "a change of the text, offered only if all else is well"
    CONDITION = "a condition to state, if one is found with which the attempt succeeds"
    SAID = "nothing, as the reason itself says"
    NOTHING = "nothing that is known"


class Refusal(Enum):
    """A kind of refusal: the number of the condition that does not hold, and how it ends."""

    ELSEWHERE_IN_IT = (1, Ending.NOTHING, "it is in the destination's memory at another place")
    THERE_ALREADY = (1, Ending.SAID, "its elements were there before")
    MOVING = (1, Ending.NOTHING, "a loop gives it another block in every iteration")
    OTHER_SPACE = (1, Ending.NOTHING, "it lies in memory of another kind")
    OTHER_TYPE = (1, Ending.NOTHING, "its elements are of another type")
    BRANCHED = (2, Ending.NOTHING, "it comes from a branch in a way that is not followed")
    SEVERAL = (2, Ending.NOTHING, "several arrays are built in its memory at once")
    NO_WAY_BACK = (2, Ending.NOTHING, "views of it cannot be undone")
    NOT_CREATED = (2, Ending.NOTHING, "what creates it was not found")
    HELD_ANOTHER = (2, Ending.NOTHING, "its memory held another array before")
    OTHER_SHAPE = (2, Ending.NOTHING, "it changes its shape in a way that is no view")
    A_PART = (2, Ending.NOTHING, "only a part of it goes into the place")
    SKIPPING = (2, Ending.NOTHING, "a view of it skips elements")
    BUILT_OTHERWISE = (2, Ending.NOTHING, "its memory is built in another way as well")
    OTHER_LAYOUT = (2, Ending.NOTHING, "its layout changes on the way")
    MOVES_IN_LOOP = (2, Ending.NOTHING, "it moves from one iteration to the next")
    INNER_BODY = (2, Ending.NOTHING, "it is created in an inner body")
    USED_AGAIN = (3, Ending.CHANGE, "it is used after it was put into its place")
    RESULT_AS_WELL = (3, Ending.NOTHING, "it is a result of the body as well")
    HANDED_ON = (3, Ending.NOTHING, "a loop or branch hands its memory on")
    NO_NAME = (4, Ending.NOTHING, "an index has no name")
    OUT_OF_SCOPE = (4, Ending.NOTHING, "the place is known in an inner body only")
    COMPUTED_LATER = (4, Ending.CHANGE, "the place is computed after the array")
    DEPENDS_ON_IT = (4, Ending.NOTHING, "the place is computed from the array")
    DIVIDED = (4, Ending.CONDITION, "the place is computed by a division that may fail")
    NOT_EXPRESSIBLE = (4, Ending.NOTHING, "a view's place has no name there")
    NO_ROOM = (4, Ending.CONDITION, "sizes beside the place may be negative")
    OUTSIDE = (4, Ending.CONDITION, "the place may be outside of the destination")
    GIVEN_AWAY = (5, Ending.NOTHING, "it is given to a function")
    IN_OPERATOR = (5, Ending.NOTHING, "an operator uses it")
    COMPUTED_CELLS = (5, Ending.NOTHING, "which elements are used is computed")
    ANY_CELL = (5, Ending.NOTHING, "any element of the destination may be used")
    NOT_APART = (5, Ending.CONDITION, "what is written early may meet what is still needed")
    MADE_OUTSIDE = (6, Ending.NOTHING, "what would be overwritten is made outside")
    KEPT = (6, Ending.NOTHING, "what would be overwritten is used again, or handed on")
    CALLERS = (6, Ending.CHANGE, "what would be overwritten belongs to the caller")
    FROM_BRANCH = (6, Ending.NOTHING, "a branch returns memory that is used elsewhere")
    FROM_LOOP = (6, Ending.NOTHING, "what would be overwritten comes out of a loop")
    LOOP_SHARES = (6, Ending.NOTHING, "a loop hands memory on that is used elsewhere")
    START_KEPT = (6, Ending.NOTHING, "what a loop starts with is used elsewhere")
    GUARD = (7, Ending.CONDITION, "what is checked does not follow from what is known")
    SPENT = (8, Ending.NOTHING, "the steps for proofs are used up")
    SLOWER = (9, Ending.SAID, "building it in place would take longer")

    def __init__(self, condition: int, ending: Ending, about: str) -> None:
        self.condition = condition
        self.ending = ending
        self.about = about

    def hint(self, given: str) -> str:
        """What the author is told to do: what is `given`, or that nothing is known."""
        if given or self.ending in (Ending.SAID, Ending.CONDITION):
            return given
        return NOTHING
