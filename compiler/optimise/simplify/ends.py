"""Data types for the known element bounds of integer arrays (computed by `elements.py`)."""

from __future__ import annotations

from dataclasses import field, fields

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir.nodes import SE


@dataclass(frozen=True, slots=True)
class Ends:
    """Lower and upper bounds of all elements of an array, as polynomials."""

    lows: tuple[Poly, ...] = ()
    highs: tuple[Poly, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lows or self.highs)


@dataclass(frozen=True, slots=True)
class CountedPlace:
    """Consecutive places of the counted elements; `all`: of the others too, after them."""

    counts: Name
    all: bool


@dataclass(slots=True)
class KnownElements:
    """Known facts about the arrays of one body and the enclosing ones."""

    ends: dict[Name, Ends] = field(default_factory=dict)
    bits: dict[Name, SE] = field(default_factory=dict)
    """Condition of an array that is 1 where it holds and 0 elsewhere."""
    counts: dict[Name, SE] = field(default_factory=dict)
    """Condition of an array that counts how often it holds up to each place. Names of arrays
    stand for their elements at that place."""
    totals: dict[Name, Name] = field(default_factory=dict)
    """Counts of a number that is the last of them, or 0 if there are none."""
    places: dict[Name, CountedPlace] = field(default_factory=dict)
    """Counted places that an array holds; a scatter to all of them writes them all."""
    prefixes: dict[Name, tuple[Name, Ends]] = field(default_factory=dict)
    """Counts whose last one bounds the written prefix of an array, and the prefix's bounds."""

    def copy(self) -> KnownElements:
        """Return an independent copy."""
        return KnownElements(*(dict(getattr(self, one.name)) for one in fields(self)))
