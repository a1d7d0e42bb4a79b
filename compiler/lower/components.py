"""How a source type lies in arrays and scalars of primitives: its components, in order.

Records give the components of their fields in order, arrays those of their elements with the
array's sizes in front, so that arrays of tuples become tuples of arrays. A sum type gives an i8 tag
(the variant's position in alphabetical order), then slots for the payloads; variants share those of
one primitive type. Arrays have slots of their own, whatever their sizes: where a type parameter
stands for a sum, its sizes have other names inside than outside, and the slots are the same.
Elements without components (unit) take one bool, so that an array of them still has a size.
"""

from __future__ import annotations

from functools import lru_cache

from compiler.base.errors import CompilerBug
from compiler.base.prim import Prim
from compiler.frontend.types import Array, PrimT, Record, Size, Sum, Type

ComponentType = tuple[Prim, tuple[Size, ...], str]
"""Primitive type, sizes, and a suffix that tells components of one value apart in names."""


def components(t: Type) -> tuple[ComponentType, ...]:
    """The components of `t`, which is monomorphic and holds no function."""
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
            return tuple(
                (prim, sizes, _suffix(name, rest))
                for name, ft in fields
                for prim, sizes, rest in components(ft)
            )
        case Sum():
            slots, _ = sum_slots(t)
            return (("i8", (), "tag"), *slots)
    raise CompilerBug(f"a type without a representation: {t}")


def _suffix(name: str, rest: str) -> str:
    if name.isdigit():
        return f"{name}{rest}"
    return f"_{name}{rest}"


@lru_cache(maxsize=256)
def sum_slots(t: Sum) -> tuple[tuple[ComponentType, ...], tuple[tuple[int, ...], ...]]:
    """The payload slots of a sum type, and for each variant those of its payload's components."""
    slots: list[ComponentType] = []
    uses: list[tuple[int, ...]] = []
    for _, payload in t.variants:
        taken: list[int] = []
        for prim, sizes, _ in (component for pt in payload for component in components(pt)):
            for k, slot in enumerate(slots):
                if k not in taken and not sizes and slot[:2] == (prim, ()):
                    break
            else:
                k = len(slots)
                slots.append((prim, sizes, f"p{k}"))
            taken.append(k)
        uses.append(tuple(taken))
    return tuple(slots), tuple(uses)


def field_at(t: Record, field: str) -> tuple[int, int]:
    """Where the components of a field lie among those of the record: start and end."""
    start = 0
    for name, ft in t.fields:
        count = len(components(ft))
        if name == field:
            return start, start + count
        start += count
    raise CompilerBug(f"no field {field}")
