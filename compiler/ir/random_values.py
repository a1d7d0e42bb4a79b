"""Random inputs for an entry point, from a seed and sizes.

Sizes go by the names that the author used (`n` for `n_3`); one that is not given is `DEFAULT_SIZE`.
Floats lie in [0, 1), integers within -1000 .. 1000 (unsigned: 0 .. 1000) or their range where that
is smaller. A scalar of type i64 that is a size of another parameter gets that size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from compiler.base.errors import UsageError
from compiler.base.names import Name, base_of
from compiler.base.prim import DTYPE, Prim, int_range
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.ir.nodes import Array, Function, Param, Scalar
from compiler.ir.values import Value

DEFAULT_SIZE = 16
LARGEST = 1 << 31
"""Elements; more than this is refused."""
FEWER = "Choose smaller sizes, or run with sizes alone: then inputs are made where they are used."
_SPREAD = 1000


@dataclass(frozen=True, slots=True)
class RandomInputs:
    """The values in the order of the parameters, and the sizes that were used."""

    values: list[Value]
    sizes: dict[str, int]


def check_names(fun: Function, names: Iterable[str]) -> None:
    """Refuse names that are neither sizes nor scalar parameters of an entry point."""
    params = fun.params[fun.implicit :]
    sizes = {name for p in params if isinstance(p.type, Array) for name in _names(p.type)}
    scalars = [p.name for p in params if isinstance(p.type, Scalar)]
    known = dict.fromkeys(base_of(name) for name in (*sorted(sizes), *scalars))
    for name in names:
        if name not in known:
            listed = f"There are {', '.join(known)}." if known else "It takes none."
            raise UsageError(
                f"The entry point has no size or number `{name}`.",
                hint=f"{did_you_mean(name, known)} {listed}".strip(),
            )


def _names(array: Array) -> set[Name]:
    return {name for size in array.shape for name in size.names()}


def inputs(
    fun: Function, sizes: Mapping[str, int], seed: int, most: int | None = None
) -> RandomInputs:
    """Values for all parameters of an entry point before memory is introduced.

    Names in `sizes` that the entry point does not have are ignored, see `check_names`. Raises
    UsageError for negative or far too large sizes, for more than `most` elements in all, numbers
    that do not fit, and a negative seed.
    """
    if seed < 0:
        raise UsageError("`seed` is a whole number, 0 or more.")
    rng = np.random.default_rng(seed)
    params = [p for p in fun.params[fun.implicit :] if isinstance(p.type, Scalar | Array)]
    shapes = [p.type.shape for p in params if isinstance(p.type, Array)]
    symbols = {name for shape in shapes for size in shape for name in size.names()}
    symbols |= {p.name for p in fun.params[: fun.implicit]}
    known = {name: sizes.get(base_of(name), DEFAULT_SIZE) for name in sorted(symbols)}
    if most is not None:
        _refuse_many([[dim.evaluate(known) for dim in shape] for shape in shapes], most)
    made: list[Value] = []
    for param in params:
        match param.type:
            case Array(prim, shape):
                extent = tuple(dim.evaluate(known) for dim in shape)
                _refuse_bad(param.name, extent)
                made.append(_random(rng, prim, extent))
            case Scalar(prim):
                given = known.get(param.name, sizes.get(base_of(param.name)))
                value = _random(rng, prim, ()) if given is None else _given(param, prim, given)
                made.append(value)
            case _:
                continue
    return RandomInputs(made, {base_of(name): size for name, size in known.items()})


def _given(param: Param, prim: Prim, number: int) -> Value:
    """A number that was given for a scalar, in its type."""
    if prim != "bool" and prim[0] != "f":
        low, high = int_range(prim)
        if not low <= number <= high:
            raise UsageError(f"`{base_of(param.name)}` is {prim}: {number} does not fit.")
    value: Value = DTYPE[prim].type(number)
    return value


def _refuse_bad(name: str, extent: tuple[int, ...]) -> None:
    if any(size < 0 for size in extent):
        raise UsageError(f"`{base_of(name)}` cannot have the shape {list(extent)}.")
    if np.prod([float(size) for size in extent]) > LARGEST:
        raise UsageError(f"`{base_of(name)}` would have more than {LARGEST} elements.")


def _refuse_many(extents: list[list[int]], most: int) -> None:
    total = sum(math.prod(extent) for extent in extents if min(extent) > 0)
    if total > most:
        raise UsageError(
            f"The inputs would have {total} elements; at most {most} are given as text.",
            hint=FEWER,
        )


def _random(rng: np.random.Generator, prim: Prim, extent: tuple[int, ...]) -> Value:
    if prim == "bool":
        array = rng.integers(0, 2, extent).astype(np.bool_)
    elif prim[0] == "f":
        array = rng.random(extent).astype(DTYPE[prim])
    else:
        low, high = int_range(prim)
        array = rng.integers(max(low, -_SPREAD), min(high, _SPREAD) + 1, extent, dtype=DTYPE[prim])
    return DTYPE[prim].type(array) if extent == () else np.asarray(array)
