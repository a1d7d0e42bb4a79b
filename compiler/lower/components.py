"""Represent source types by arrays and scalars of primitives: their components, in order.

Records give the components of their fields in order, arrays those of their elements with the
array's sizes in front, so that arrays of tuples become tuples of arrays. A sum type gives an i8 tag
(the variant's position in alphabetical order), then slots for the payloads; variants share those of
one primitive type. Arrays have slots of their own, whatever their sizes: where a type parameter
stands for a sum, its sizes have other names inside than outside, and the slots are the same.
Elements without components (unit) take one bool, so that an array of them still has a size.

Note [Payload sizes]. The sizes of an array in a slot are `PayloadSize`: those that its type names
where the variant is chosen, and others where it is not, initially 0. So they are sizes of the
value, passed beside it like existential sizes, and a variant that is not chosen
holds no elements. A `match` binds payloads with the sizes of their type (`exps.py`). In an
array all rows have the sizes of the largest, or 0 if none has chosen the variant
(`payloads.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import prod

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug
from compiler.base.prim import Prim
from compiler.frontend.types import Array, PrimT, Record, Size, SizeConst, Sum, Type

ComponentType = tuple[Prim, tuple[Size, ...], str]
"""Primitive type, sizes, and a suffix for names of components."""

FEW = 64
"""An array up to this constant size occupies its slot whatever variant is chosen."""


@dataclass(frozen=True, slots=True)
class PayloadSize(Size):
    """A size of an array that a variant holds. See Note [Payload sizes].

    In one type, sizes of one `group` belong to one variant: they are equal if `size` is.
    """

    size: Size
    group: int
    always: bool = False
    """True for a small array: it has this size even if the variant is not chosen."""


def components(t: Type) -> tuple[ComponentType, ...]:
    """Return the components of `t`, which is monomorphic and holds no function."""
    return ((t.prim, (), ""),) if isinstance(t, PrimT) else _components(t)


@lru_cache(maxsize=4096)
def _components(t: Type) -> tuple[ComponentType, ...]:
    match t:
        case PrimT(prim):
            return ((prim, (), ""),)
        case Array(dims, elem):
            inner = components(elem) or (("bool", (), ""),)
            return tuple((prim, dims + sizes, suffix) for prim, sizes, suffix in inner)
        case Record(fields):
            apart = _apart(components(ft) for _, ft in fields)
            return tuple(
                (prim, sizes, _suffix(name, rest))
                for (name, _), part in zip(fields, apart, strict=True)
                for prim, sizes, rest in part
            )
        case Sum():
            slots, _ = sum_slots(t)
            return (("i8", (), "tag"), *slots)
    raise CompilerBug(f"a type without a representation: {t}")


def _suffix(name: str, rest: str) -> str:
    if name.isdigit():
        return f"{name}{rest}"
    return f"_{name}{rest}"


def _apart(parts: Iterable[tuple[ComponentType, ...]]) -> list[tuple[ComponentType, ...]]:
    """Concatenate components of several types, with distinct groups."""
    found: list[tuple[ComponentType, ...]] = []
    groups = 0
    for part in parts:
        own = [
            size.group for _, sizes, _ in part for size in sizes if isinstance(size, PayloadSize)
        ]
        if groups and own:
            part = tuple((p, tuple(_moved(d, groups) for d in sizes), x) for p, sizes, x in part)
        groups += 1 + max(own, default=-1)
        found.append(part)
    return found


def _moved(size: Size, by: int) -> Size:
    return replace(size, group=size.group + by) if isinstance(size, PayloadSize) else size


@lru_cache(maxsize=256)
def sum_slots(t: Sum) -> tuple[tuple[ComponentType, ...], tuple[tuple[int, ...], ...]]:
    """Return the payload slots of a sum type, and for each variant the slots of its components."""
    slots: list[ComponentType] = []
    uses: list[tuple[int, ...]] = []
    payloads = _apart(_payload(payload) for _, payload in t.variants)
    for payload in payloads:
        taken: list[int] = []
        for prim, sizes, _ in payload:
            for k, slot in enumerate(slots):
                if k not in taken and not sizes and slot[:2] == (prim, ()):
                    break
            else:
                k = len(slots)
                slots.append((prim, sizes, f"p{k}"))
            taken.append(k)
        uses.append(tuple(taken))
    return tuple(slots), tuple(uses)


def _payload(payload: tuple[Type, ...]) -> tuple[ComponentType, ...]:
    """Return the components of a variant's payload; its sizes are a group of their own."""
    inner = [part for some in _apart(components(pt) for pt in payload) for part in some]
    return tuple((prim, _payload_sizes(sizes), suffix) for prim, sizes, suffix in inner)


def _payload_sizes(sizes: tuple[Size, ...]) -> tuple[Size, ...]:
    """Return the sizes of an array in a slot; group 0 is that of the variant."""
    own = [size for size in sizes if not isinstance(size, PayloadSize)]
    known = [size.value for size in own if isinstance(size, SizeConst)]
    small = len(known) == len(own) and min(known, default=0) >= 0 and prod(known) <= FEW
    return tuple(
        replace(size, group=size.group + 1)
        if isinstance(size, PayloadSize)
        else PayloadSize(size, 0, small)
        for size in sizes
    )


def payload_dims(payload: tuple[Type, ...]) -> list[tuple[Size, ...]]:
    """Return the sizes of the components of a payload, as its type names them."""
    return [dims for t in payload for _, dims, _ in components(t)]


def field_at(t: Record, field: str) -> tuple[int, int]:
    """Return start and end of a field's components among those of the record."""
    start = 0
    for name, ft in t.fields:
        count = len(components(ft))
        if name == field:
            return start, start + count
        start += count
    raise CompilerBug(f"no field {field}")
