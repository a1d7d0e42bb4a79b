"""Metavariables of types and sizes, and their resolution.

A metavariable is bound at most once, by setting `ref`. `level` counts the functions around its
creation: one that is deeper than the current level when a function ends may be generalised. Only
this folder ever sees metavariables; `finish/zonk.py` removes them.
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
    """An unknown type, and the constraints on it.

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
        """Metavariables of the same type up to sizes: branches of an `if`, and its result."""
        self.equality = False
        self.named = False
        """A sum whose value has a name: it may be compared although some variants are unknown."""
        self.data = False
        self.regular = False
        """An array's element type: it has no sizes of its own."""
        self.lifted = False
        """An instance of `'~t` or `'^t`, which admit types with sizes of their own."""
        self.own: tuple[Name, ...] = ()
        """The sizes in it that differ from value to value: those of results of a functional
        argument, as in `apply iota n`. Each application has new ones in its result."""


class MetaS(Size):
    """An unknown size."""

    __slots__ = ("key", "known", "level", "ref", "span", "start", "until", "unused")

    def __init__(self, level: int, span: Span = NOWHERE) -> None:
        self.ref: Size | None = None
        self.known = False
        """True if `ref` contains no unknowns; that stays so, and need not be computed again."""
        self.start: Size | None = None
        """For a parameter's size, which branches must not determine: the only size that a branch
        may unify it with. For a loop's parameter, its initial size; otherwise itself."""
        self.unused = False
        """A size of a variant that the value does not have: nothing has to determine it."""
        self.level = level
        self.until = sys.maxsize
        """For a size of a parameter without a written type: the serial number of the first name
        bound after it in its function; branches unify it with no size over later names."""
        self.span = span
        self.key = f"?{next(_SERIAL)}"


def resolve(t: Type) -> Type:
    """Return `t` with its outermost constructor visible, and arrays flattened."""
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
    """Return `s` without bound metavariables around it."""
    while type(s) is MetaS and s.ref is not None:
        s = s.ref
    return s
