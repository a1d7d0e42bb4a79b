"""Unknowns of inference: type and size metavariables, and how to see through them.

A metavariable is bound at most once, by setting `ref`. `level` counts the functions around the
place that made it: what is deeper than the current level when a function ends may become a
parameter of that function. Only this folder ever sees metavariables; `finish/zonk.py` removes them.
"""

from __future__ import annotations

import sys
from itertools import count

from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Span
from compiler.frontend.types import (
    Array,
    PrimT,
    Size,
    Type,
)

_SERIAL = count()

PRIM_T = {
    p: PrimT(p)
    for p in (
        "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool",
    )
}  # fmt: skip
I64 = PRIM_T["i64"]
BOOL = PRIM_T["bool"]


class MetaT(Type):
    """A type not known yet, and what is known about it.

    `prims`: it is one of these primitive types. `fields`, `variants`: it is a record or sum with at
    least these. `equality`, `data`: it may not contain functions.
    """

    __slots__ = (
        "alike",
        "data",
        "equality",
        "fields",
        "level",
        "lifted",
        "named",
        "own",
        "prims",
        "ref",
        "regular",
        "span",
        "until",
        "variants",
    )

    def __init__(self, level: int, span: Span = NOWHERE) -> None:
        self.ref: Type | None = None
        self.level = level
        self.until = sys.maxsize
        self.span = span
        self.prims: frozenset[str] | None = None
        self.fields: dict[str, Type] | None = None
        self.variants: dict[str, tuple[Type, ...]] | None = None
        self.alike: list[MetaT] = []
        """Others that are the same type but for their sizes: branches of an `if`, and its own."""
        self.equality = False
        self.named = False
        """A sum whose value has a name: it may be compared although not all variants are known."""
        self.data = False
        self.regular = False
        """It may be the type of an array's elements, so it is no type with sizes of its own."""
        self.lifted = False
        """An instance of `'~t` or `'^t`, which take types with sizes of their own."""
        self.own: tuple[Name, ...] = ()
        """The sizes in it that differ from value to value: those of results of a function that is
        an argument, as in `apply iota n`. Each application has new ones in its result."""


class MetaS(Size):
    """A size not known yet."""

    __slots__ = ("key", "known", "level", "ref", "span", "start", "until", "unused")

    def __init__(self, level: int, span: Span = NOWHERE) -> None:
        self.ref: Size | None = None
        self.known = False
        """Whether nothing in `ref` is unknown: that stays so, and nobody has to look again."""
        self.start: Size | None = None
        """For a parameter's size, which branches must not settle: the only size that a branch may
        take it to be. For a loop's parameter, what it is before the loop; otherwise itself."""
        self.unused = False
        """It is of a variant that the value is made without: nothing has to determine it."""
        self.level = level
        self.until = sys.maxsize
        """For a size of a parameter without a written type: the serial number of the first name
        that its function binds after it; branches take it to be no size that mentions a later one.
        """
        self.span = span
        self.key = f"?{next(_SERIAL)}"


def resolve(t: Type) -> Type:
    """`t` with its outermost constructor visible, arrays flattened."""
    while type(t) is MetaT:
        if t.ref is None:
            return t
        t = t.ref
    if type(t) is Array:
        elem = t.elem
        if type(elem) is MetaT and elem.ref is not None:
            elem = resolve(elem)
            if type(elem) is Array:
                return Array(t.dims + elem.dims, elem.elem)
            return Array(t.dims, elem)
    return t


def resolve_size(s: Size) -> Size:
    """`s` without bound metavariables around it."""
    while type(s) is MetaS and s.ref is not None:
        s = s.ref
    return s
