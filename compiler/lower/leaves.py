"""How a source type lies in arrays and scalars of primitives: its leaves, in order.

Records give the leaves of their fields in order, arrays those of their elements with the array's
sizes in front, so that arrays of tuples become tuples of arrays. A sum type gives an i8 tag (the
variant's place in alphabetical order), then slots for the payloads; variants share slots of equal
type. Elements without leaves (unit) take one bool, so that an array of them still has a size.
"""

from __future__ import annotations

from functools import lru_cache

from compiler.base.errors import CompilerBug
from compiler.base.prim import Prim
from compiler.frontend.types import Array, PrimT, Record, Size, Sum, Type

Leaf = tuple[Prim, tuple[Size, ...], str]
"""Primitive type, sizes, and a suffix that tells leaves of one value apart in names."""


def leaves(t: Type) -> tuple[Leaf, ...]:
    """The leaves of `t`, which is monomorphic and holds no function."""
    return ((t.prim, (), ""),) if isinstance(t, PrimT) else _leaves(t)


@lru_cache(maxsize=4096)
def _leaves(t: Type) -> tuple[Leaf, ...]:
    match t:
        case PrimT(prim):
            return ((prim, (), ""),)
        case Array(dims, elem):
            inner = leaves(elem) or (("bool", (), ""),)
            return tuple((prim, dims + sizes, suffix) for prim, sizes, suffix in inner)
        case Record(fields):
            return tuple(
                (prim, sizes, _suffix(name, rest))
                for name, ft in fields
                for prim, sizes, rest in leaves(ft)
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
def sum_slots(t: Sum) -> tuple[tuple[Leaf, ...], tuple[tuple[int, ...], ...]]:
    """The payload slots of a sum type, and for each variant the slots of its payload's leaves."""
    slots: list[Leaf] = []
    uses: list[tuple[int, ...]] = []
    for _, payload in t.variants:
        taken: list[int] = []
        for prim, sizes, _ in (leaf for pt in payload for leaf in leaves(pt)):
            for k, slot in enumerate(slots):
                if k not in taken and slot[:2] == (prim, sizes):
                    break
            else:
                k = len(slots)
                slots.append((prim, sizes, f"p{k}"))
            taken.append(k)
        uses.append(tuple(taken))
    return tuple(slots), tuple(uses)


def field_at(t: Record, field: str) -> tuple[int, int]:
    """Where the leaves of a field lie among those of the record: start and end."""
    start = 0
    for name, ft in t.fields:
        count = len(leaves(ft))
        if name == field:
            return start, start + count
        start += count
    raise CompilerBug(f"no field {field}")
