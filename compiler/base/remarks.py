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
NOTHING = "Nothing is known to help."
"""How a refusal ends that leads nowhere: its `hint`."""


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
    """The number of the attempt that it tells of, which its pass keeps as a record."""
    refusal: str = ""
    """The kind of refusal that it tells of, by its id; empty where kinds are not told apart."""
    fused: tuple[Prov, ...] = ()
    """Of a fusion: the places of the reader, then those of what was fused with it; `at` has all."""
    blocks: tuple[Name, ...] = ()
    """Of a kernel's accesses: the blocks of memory that it tells of."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What a stage has decided about the check of an access to an array.

    `made`: as it stands, or the part of it that is needed; `dropped`: it holds, by the arguments
    `why`; `repeated`: the same was checked before; `outside`: it is made once, before a loop or
    parallel operation; `unsafe`: its author asked for none; `joined`: it is a part of the access
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
