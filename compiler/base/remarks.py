"""Remarks: every decision of the compiler, phrased for the author of the program.

A rewrite rule returns `None` (not its business), `Missed(because, hint)` (the shape matched and a
named precondition failed) or `Applied(new, because)`.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov

T = TypeVar("T")
Kind = Literal["applied", "missed", "note"]
NOTHING = "No change to the program is known to avoid this."
"""The `hint` of a refusal without a known way out."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One decision. `numbers` are (name, value with unit), such as ("bytes saved", "4*n")."""

    kind: Kind
    rule: str
    at: Prov
    because: str
    hint: str = ""
    numbers: tuple[tuple[str, str], ...] = ()
    stage: str = ""
    attempt: int | None = None
    """The number of the attempt that it reports, under which its pass keeps a record."""
    refusal: str = ""
    """The id of the kind of refusal; empty where kinds are not told apart."""
    fused: tuple[Prov, ...] = ()
    """For a fusion: places of the consumer, then of each producer; `at` has all of them."""
    blocks: tuple[Name, ...] = ()
    """For a kernel's accesses: the memory blocks concerned."""


@dataclass(frozen=True, slots=True)
class Fate:
    """The outcome of the bounds check of an array access at a stage.

    `made`: kept, in full or in part; `dropped`: proved to hold, by the arguments
    `why`; `repeated`: checked before; `outside`: hoisted, made once before a loop or
    parallel operation; `unsafe`: the author asked for none; `joined`: part of the access
    around it.
    """

    at: Prov
    how: Literal["made", "dropped", "repeated", "outside", "unsafe", "joined"]
    why: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied(Generic[T]):
    """The rule fired: `new` replaces the old; `because` is the precondition that held."""

    new: T
    because: str
    numbers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Missed:
    """The shape matched, but not the precondition named in `because`."""

    because: str
    hint: str = ""
    numbers: tuple[tuple[str, str], ...] = ()
    refusal: str = ""


Outcome = Applied[T] | Missed | None
