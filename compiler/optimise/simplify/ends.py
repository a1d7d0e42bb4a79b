"""What a body of the simplifier knows of arrays of whole numbers (`elements.py` finds it out)."""

from __future__ import annotations

from dataclasses import field, fields

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir.nodes import SE


@dataclass(frozen=True, slots=True)
class Ends:
    """Polynomials that no element of an array is below, and that none is above."""

    lows: tuple[Poly, ...] = ()
    highs: tuple[Poly, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lows or self.highs)


@dataclass(frozen=True, slots=True)
class CountedPlace:
    """Places of the elements that `counts` count, one after the other; `all`: of the others too.

    The others go behind them.
    """

    counts: Name
    all: bool


@dataclass(slots=True)
class KnownElements:
    """What is known in one body of its arrays and of those around it."""

    ends: dict[Name, Ends] = field(default_factory=dict)
    bits: dict[Name, SE] = field(default_factory=dict)
    """For an array that is 1 where a condition holds, and 0 elsewhere: that condition."""
    counts: dict[Name, SE] = field(default_factory=dict)
    """For an array that counts how often a condition holds up to each place: that condition.

    In these, the names of arrays stand for their elements at that place."""
    totals: dict[Name, Name] = field(default_factory=dict)
    """For a number that is the last of such counts, or 0 if there are none: these counts."""
    places: dict[Name, CountedPlace] = field(default_factory=dict)
    """For an array of places that counts say: what is written by who writes to all of them."""
    prefixes: dict[Name, tuple[Name, Ends]] = field(default_factory=dict)
    """For an array whose elements before the last count are written: the counts, and their ends."""

    def copy(self) -> KnownElements:
        """The same, to which more can be added."""
        return KnownElements(*(dict(getattr(self, one.name)) for one in fields(self)))
