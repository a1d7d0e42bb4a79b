"""External values of entry points, and their components.

Beside Futhark's notation for arrays and scalars (`ir/values.py`) there are `{a = 1, b = [1, 2]}`,
`(1, 2)`, `#some 3`, `#both (#some 3) (#none)`, and arrays of these, such as `[(1, true)]` and
`empty([0][3](i32, bool))`. `read_external.py` parses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import InputError
from compiler.frontend.show_type import is_tuple, show_type
from compiler.frontend.typed import TypedProg
from compiler.frontend.types import Array, PrimT, Record, SizeConst, Sum, Type
from compiler.ir import values
from compiler.ir.nodes import Function
from compiler.ir.values import Value
from compiler.lower.components import components, sum_slots

T = TypeVar("T")
Cells = npt.NDArray[np.generic]
Mask = npt.NDArray[np.bool_]
Tags = Callable[[int, int, Mask], None]
"""Called for each component with tags: the number of variants, and the mask of elements."""
_ALL = np.array(True)


@dataclass(frozen=True, slots=True)
class Outside:
    """An entry point: its function at stage `soa`, and its source types."""

    fun: Function
    params: tuple[Type, ...]
    results: tuple[Type, ...]


def outside(mono: TypedProg, fun: Function) -> Outside:
    """Return an entry point from the program at stage `mono` and its function at `soa`."""
    (definition,) = [one for one in mono.defs if one.is_entry and one.source_name == fun.name]
    return Outside(fun, tuple(pat.type for pat in definition.params), parts(definition.ret))


def parts(kind: Type) -> tuple[Type, ...]:
    """Return the parts of a tuple type, or the type itself: the results of a function."""
    if isinstance(kind, Record) and is_tuple(kind.fields):
        return tuple(of for _, of in kind.fields)
    return (kind,)


def divided(kinds: Sequence[Type], flat: Sequence[T]) -> list[list[T]]:
    """Split components by value."""
    rest = iter(flat)
    return [[one for _, one in zip(components(kind), rest, strict=False)] for kind in kinds]


def is_plain(kind: Type) -> bool:
    """Return True for a type that is one array or scalar in every notation."""
    return isinstance(kind, PrimT) or (isinstance(kind, Array) and isinstance(kind.elem, PrimT))


# --- text ------------------------------------------------------------------------------------


def show(kinds: Sequence[Type], flat: Sequence[Value], most: int | None = None) -> list[str]:
    """Render several values, each in about `most` characters as `values.beginning`."""
    if sum(len(components(kind)) for kind in kinds) != len(flat):
        return [values.show(one) for one in flat]
    pairs = zip(kinds, divided(kinds, flat), strict=True)
    return [_text(kind, own, most) for kind, own in pairs]


def _text(kind: Type, flat: Sequence[Value], most: int | None) -> str:
    if is_plain(kind):
        return values.show(flat[0]) if most is None else values.beginning(flat[0], most)
    whole = [np.asarray(one)[None] for one in flat]
    few = max((one.size for one in whole), default=1)
    if most is not None:
        few = max(1, min(few, most // values.LEAST_CHARACTERS))
    while True:
        (text,) = _texts(kind, whole, 1, few)
        if most is None or len(text) <= most or few == 1:
            return text
        few = max(1, min(few - 1, few * most // len(text)))


def _texts(kind: Type, flat: Sequence[Cells], count: int, few: int) -> list[str]:
    """Render `count` values, the rows of the components, with at most `few` elements of arrays."""
    match kind:
        case PrimT(prim):
            return values.elements(flat[0], prim)
        case Array():
            return _array_texts(kind, flat, count, few)
        case Record(fields):
            kinds = [of for _, of in fields]
            own = [
                _texts(of, part, count, few)
                for of, part in zip(kinds, divided(kinds, flat), strict=True)
            ]
            if is_tuple(fields):
                return [f"({', '.join(row)})" for row in zip(*own, strict=True)] or ["()"] * count
            names = [f"{name} = " for name, _ in fields]
            return [
                f"{{{', '.join(map(str.__add__, names, row))}}}" for row in zip(*own, strict=True)
            ]
        case Sum(variants):
            found = [""] * count
            for k, (name, _) in enumerate(variants):
                rows = np.flatnonzero(flat[0] == k)
                texts: list[list[str]] = [[f"#{name}"] * len(rows)]
                for of, own_flat in _payload(kind, k, [part[rows] for part in flat]):
                    inner = _texts(of, own_flat, len(rows), few)
                    texts.append([f"({one})" for one in inner] if isinstance(of, Sum) else inner)
                for row, words in zip(rows.tolist(), zip(*texts, strict=True), strict=True):
                    found[row] = " ".join(words)
            return found
    raise TypeError(kind)


def _payload(kind: Sum, variant: int, flat: Sequence[T]) -> list[tuple[Type, list[T]]]:
    """Return the parts of a payload, with their components among those of the sum."""
    slots, payload = sum_slots(kind)[1][variant], kind.variants[variant][1]
    own = divided(payload, [flat[1 + slot] for slot in slots])
    return list(zip(payload, own, strict=True))


def _array_texts(kind: Array, flat: Sequence[Cells], count: int, few: int) -> list[str]:
    rank = len(kind.dims)
    shape = flat[0].shape[1 : 1 + rank]
    if 0 in shape:
        elem = sized(kind.elem, [one.shape[1 + rank :] for one in flat])
        return [f"empty({''.join(f'[{size}]' for size in shape)}{show_type(elem)})"] * count
    part = values.first_of(shape, few)
    cut = [one[(slice(None), *map(slice, part))] for one in flat]
    total = count * math.prod(part)
    rows = _texts(
        kind.elem, [one.reshape(total, *one.shape[1 + rank :]) for one in cut], total, few
    )
    for size, here in zip(reversed(shape), reversed(part), strict=True):
        more = f", … and {size - here} more" if size > here else ""
        rows = [f"[{', '.join(rows[at : at + here])}{more}]" for at in range(0, len(rows), here)]
    return rows


def type_texts(kinds: Sequence[Type], flat: Sequence[Value]) -> list[str]:
    """Render the types of several values with their sizes."""
    if sum(len(components(kind)) for kind in kinds) != len(flat):
        return [values.type_text(one) for one in flat]
    shapes = divided(kinds, [one.shape for one in flat])
    return [show_type(sized(kind, own)) for kind, own in zip(kinds, shapes, strict=True)]


def sized(kind: Type, shapes: Sequence[tuple[int, ...]]) -> Type:
    """Return a type with the actual sizes of its components."""
    match kind:
        case Array(dims, elem):
            own = tuple(map(SizeConst, shapes[0][: len(dims)]))
            return Array(own, sized(elem, [shape[len(dims) :] for shape in shapes]))
        case Record(fields):
            inner = divided([of for _, of in fields], shapes)
            both = zip(fields, inner, strict=True)
            return Record(tuple((name, sized(of, part)) for (name, of), part in both))
        case Sum(variants):
            return Sum(
                tuple(
                    (name, tuple(sized(of, part) for of, part in _payload(kind, k, shapes)))
                    for k, (name, _) in enumerate(variants)
                )
            )
    return kind


# --- what variants use -----------------------------------------------------------------------


class TagError(InputError):
    """A tag without a variant; `component` is its position in the value."""

    component = 0


def check_tags(kind: Type, flat: Sequence[Value]) -> None:
    """Raise TagError for a tag without a variant."""

    def look(k: int, count: int, live: Mask) -> None:
        tags = np.asarray(flat[k], np.int8)
        bad = tags[live & ((tags < 0) | (tags >= count))]
        if bad.size:
            error = TagError(
                f"The tag {bad[0]} is not a tag of the {count} variants of `{show_type(kind)}`.",
                hint="Tags number the variants in the order of their names, from 0.",
            )
            error.component = k
            raise error

    if _has_sum(kind):
        for _ in _uses(kind, range(len(flat)), _ALL, flat, look):
            pass


def possible(kinds: Sequence[Type], flat: Sequence[Value]) -> list[Value]:
    """Make random components valid: tags of variants, 0 in unused slots."""
    return [
        one
        for kind, own in zip(kinds, divided(kinds, flat), strict=True)
        for one in (_tidy(kind, own, True) if _has_sum(kind) else own)
    ]


def comparable(kinds: Sequence[Type], flat: Sequence[Value | None]) -> list[Value]:
    """Normalise the components of values: unused slots are 0, without a size of their own."""
    return [
        one
        for kind, own in zip(kinds, divided(kinds, flat), strict=True)
        for one in (_tidy(kind, own, False) if _has_sum(kind) else own)
        if one is not None
    ]


def _tidy(kind: Type, flat: Sequence[Value | None], drawn: bool) -> list[Value]:
    arrays = [None if one is None else np.array(one) for one in flat]
    used: dict[int, Mask] = {}
    least: dict[int, tuple[int, ...]] = {}
    there: set[int] = set()

    def wrap(k: int, count: int, live: Mask) -> None:
        tags = arrays[k]
        if drawn and tags is not None:
            tags[live] = np.mod(tags[live].astype(np.int64), count)

    for k, live in _uses(kind, range(len(flat)), _ALL, arrays, wrap):
        if arrays[k] is not None:
            used[k] = used.get(k, np.False_) | _spread(live, arrays[k])
        least[k] = min(least.get(k, live.shape), live.shape, key=len)
        if live.any() or not live.size:
            there.add(k)
    made: list[Value] = []
    for k, (prim, dims, _) in enumerate(components(kind)):
        array = arrays[k]
        if array is None or (not drawn and k not in there):
            made.append(np.zeros(least[k] + (0,) * (len(dims) - len(least[k])), DTYPE[prim])[()])
        else:
            array[~used[k]] = 0
            made.append(array[()])
    return made


def _has_sum(kind: Type) -> bool:
    match kind:
        case Array(_, elem):
            return _has_sum(elem)
        case Record(fields):
            return any(_has_sum(of) for _, of in fields)
    return isinstance(kind, Sum)


def _uses(
    kind: Type, at: Sequence[int], live: Mask, flat: Sequence[Value | None], tags: Tags
) -> Iterator[tuple[int, Mask]]:
    """Yield the components at these positions, each with the mask of values that use it.

    `live` is the mask of existing values. Missing components are skipped, and so is a sum that no
    value uses.
    """
    match kind:
        case Record(fields):
            kinds = [of for _, of in fields]
            for of, own in zip(kinds, divided(kinds, at), strict=True):
                yield from _uses(of, own, live, flat, tags)
        case Array(_, elem) if components(elem) and not isinstance(elem, PrimT):
            yield from _uses(elem, at, live, flat, tags)
        case Sum(variants) if flat[at[0]] is not None and (live.any() or not live.size):
            here = _spread(live, flat[at[0]])
            tags(at[0], len(variants), here)
            yield at[0], live
            for k in range(len(variants)):
                mine = here & (np.asarray(flat[at[0]]) == k)
                for of, own in _payload(kind, k, at):
                    yield from _uses(of, own, mine, flat, tags)
        case _:
            yield from ((k, live) for k in at)


def _spread(live: Mask, over: Value | None) -> Mask:
    """Broadcast the mask of existing values to the elements of an array."""
    if over is None:
        return live
    inner = (1,) * (over.ndim - live.ndim)
    return np.broadcast_to(live.reshape(live.shape + inner), over.shape)
