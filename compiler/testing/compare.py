"""Compare results with expected ones, and find the first difference.

Floating-point numbers are equal if they differ by 0.002 at most, or by 0.002 of the largest number
expected in the same value if that is larger than 1. NaN equals NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.frontend.types import Array, PrimT, Record, SizeConst, Type
from compiler.ir import values
from compiler.ir.values import Value
from compiler.lower.components import components
from compiler.lower.external_values import comparable, divided, show, type_texts
from compiler.protocol.tests import Difference

TOLERANCE = 0.002
_LONGEST = 200
"""Characters of a value shown in a sentence."""


def same(found: Sequence[Value], expected: Sequence[Value]) -> bool:
    """Return True if there is no difference."""
    return difference(found, expected) is None


def difference(
    found: Sequence[Value], expected: Sequence[Value], kinds: Sequence[Type] = ()
) -> Difference | None:
    """Return the first difference of values of these types (or of plain components), or None."""
    if len(found) != len(expected):
        said = f"Expected {_count(expected)}, found {len(found)}."
        return {"says": said, "expected": _all(expected), "found": _all(found)}
    if sum(len(components(kind)) for kind in kinds) != len(found):
        kinds = [_plain(value) for value in expected]
    left, right = (divided(kinds, comparable(kinds, flat)) for flat in (found, expected))
    for number, kind in enumerate(kinds):
        what = f"result {number}" if len(kinds) > 1 else "the result"
        if wrong := _of_value(kind, left[number], right[number], what, ""):
            return {**wrong, "value": number}
    return None


def _plain(value: Value) -> Type:
    """Return the type of a component by itself."""
    elem = PrimT(values.prim_of(value))
    return Array(tuple(map(SizeConst, value.shape)), elem) if value.ndim else elem


def _of_value(
    kind: Type, found: Sequence[Value], expected: Sequence[Value], what: str, field: str
) -> Difference | None:
    """Return the first difference of two values, a result or a field of one."""
    if isinstance(kind, Record):
        inner = [of for _, of in kind.fields]
        parts = zip(kind.fields, divided(inner, found), divided(inner, expected), strict=True)
        made = (_of_value(of, f, e, what, f"{field}.{name}") for (name, of), f, e in parts)
        return next(filter(None, made), None)
    what = f"`{field}` of {what}" if field else what[0].upper() + what[1:]
    rank = len(kind.dims) if isinstance(kind, Array) else 0
    pairs = list(zip(found, expected, strict=True))
    outside = [found[0].shape[:rank], expected[0].shape[:rank]]
    if outside[0] != outside[1] or any((f.dtype, f.ndim) != (e.dtype, e.ndim) for f, e in pairs):
        kinds = [_type(kind, side) for side in (expected, found)]
        shown = [show([kind], side, _LONGEST)[0] for side in (expected, found)]
        said = f"{what} should be {kinds[0]} and is {kinds[1]}."
        return {"says": said, "expected": shown[0], "found": shown[1]}
    wrong = np.zeros(outside[0], np.bool_)
    for f, e in pairs:
        if f.shape == e.shape:
            inner_axes = tuple(range(rank, f.ndim))
            wrong |= _wrong(np.asarray(f), np.asarray(e)).any(axis=inner_axes)
    if not wrong.any() and any(f.shape != e.shape for f, e in pairs):
        wrong[...] = True
    if not wrong.any():
        return None
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    at = [int(index) for index in first]
    elem = kind.elem if isinstance(kind, Array) else kind
    one, other = (
        show([elem], [np.asarray(part)[first][()] for part in side], _LONGEST)[0]
        for side in (expected, found)
    )
    where = f" at {''.join(f'[{index}]' for index in at)}" if at else ""
    count = int(wrong.sum())
    more = f" {count} of {wrong.size} elements differ." if wrong.size > 1 else ""
    return {
        "says": f"{what}{where} should be {one} and is {other}.{more}",
        "at": at,
        "expected": one,
        "found": other,
    }


def _type(kind: Type, flat: Sequence[Value]) -> str:
    """Describe the type of a value with its sizes, or the types of unexpected components."""
    if [values.prim_of(one) for one in flat] == [prim for prim, _, _ in components(kind)]:
        return type_texts([kind], flat)[0]
    return " ".join(map(values.type_text, flat))


def _wrong(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return a mask of differing elements, of values of one type and shape."""
    if found.dtype.kind != "f":
        return np.asarray(found != expected)
    finite = expected[np.isfinite(expected)].astype(np.float64)
    most = TOLERANCE * max(1.0, float(finite.max(initial=1.0)))
    left, right = found.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = (left == right) | (np.abs(left - right) <= most)
    return np.asarray(~(near | (np.isnan(left) & np.isnan(right))))


def _count(expected: Sequence[Value]) -> str:
    return f"{len(expected)} result{'s' * (len(expected) != 1)}"


def _all(found: Sequence[Value]) -> str:
    return "\n".join(values.beginning(value, _LONGEST) for value in found)
