"""Generate random inputs for an entry point, from a seed and sizes.

Sizes are given by source names (`n` for `n_3`); a missing one is `DEFAULT_SIZE`. Floats lie in [0,
1), integers within -1000 .. 1000 (unsigned: 0 .. 1000) or their range where that is smaller, unless
another distribution is asked for. A scalar of type i64 that is a size of another parameter gets
that size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import UsageError
from compiler.base.names import Name, base_of
from compiler.base.prim import BYTES, Prim, int_range
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.ir.nodes import Array, Function, Param, Scalar
from compiler.ir.values import Value

DEFAULT_SIZE = 16
ROOM = 1 << 33
"""Default limit of bytes of all arrays; more is refused."""
FEWER = "Choose smaller sizes, or run with sizes alone: then inputs are made where they are used."
SMALLER = (
    "Choose smaller sizes; what accesses cost is predicted without arrays, by "
    "`stridescope accesses --predict`."
)
_SPREAD = 1000


@dataclass(frozen=True, slots=True)
class RandomInputs:
    """Values in the order of the parameters, and the sizes used."""

    values: list[Value]
    sizes: dict[str, int]


def check_names(fun: Function, names: Iterable[str]) -> None:
    """Refuse names that are neither sizes nor scalar parameters of an entry point.

    Errors: `UsageError` with near misses.
    """
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


def whole_numbers(fun: Function) -> list[str]:
    """Return the source names of an entry point's integer scalar parameters."""
    scalars = (p for p in fun.params[fun.implicit :] if isinstance(p.type, Scalar))
    return [base_of(p.name) for p in scalars if p.type.prim[0] in "iu"]


def _names(array: Array) -> set[Name]:
    return {name for size in array.shape for name in size.names()}


def inputs(
    fun: Function,
    sizes: Mapping[str, int],
    seed: int,
    most: int | None = None,
    distribution: str = "uniform",
    room: int = ROOM,
) -> RandomInputs:
    """Return values for all parameters of an entry point before memory is introduced.

    Ignores unknown names in `sizes`, see `check_names`. Raises UsageError, before allocating
    anything, for negative sizes, for more than `most` elements or `room` bytes in all, numbers that
    do not fit, and a negative seed.
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
    _refuse_large(params, known, room)
    made: list[Value] = []
    for param in params:
        match param.type:
            case Array(prim, shape):
                extent = tuple(dim.evaluate(known) for dim in shape)
                made.append(_random(rng, prim, extent, distribution))
            case Scalar(prim):
                given = known.get(param.name, sizes.get(base_of(param.name)))
                if given is None:
                    made.append(_random(rng, prim, (), distribution))
                else:
                    made.append(_given(param, prim, given))
            case _:
                continue
    return RandomInputs(made, {base_of(name): size for name, size in known.items()})


def extents(
    fun: Function, sizes: Mapping[str, int], seed: int
) -> tuple[list[tuple[int, ...] | None], list[Value | None]]:
    """Return the shapes and scalars that `inputs` would generate, without the arrays."""
    params = [p for p in fun.params[fun.implicit :] if isinstance(p.type, Scalar | Array)]
    arrays = [p.type for p in params if isinstance(p.type, Array)]
    names = {name for array in arrays for name in _names(array)}
    known = {name: sizes.get(base_of(name), DEFAULT_SIZE) for name in sorted(names)}
    rng = np.random.default_rng(seed)
    shapes: list[tuple[int, ...] | None] = []
    numbers: list[Value | None] = []
    for param in params:
        kind = param.type
        if isinstance(kind, Array):
            extent = tuple(dim.evaluate(known) for dim in kind.shape)
            _refuse_negative(param.name, extent)
            _refuse_endless(param.name, math.prod(extent) * BYTES[kind.prim])
            shapes.append(extent)
            numbers.append(None)
        elif isinstance(kind, Scalar):
            given = known.get(param.name, sizes.get(base_of(param.name)))
            shapes.append(None)
            drawn = _random(rng, kind.prim, (), "uniform")
            numbers.append(drawn if given is None else _given(param, kind.prim, given))
    return shapes, numbers


def _given(param: Param, prim: Prim, number: int) -> Value:
    """Convert a given number to the type of a scalar parameter."""
    if prim != "bool" and prim[0] != "f":
        low, high = int_range(prim)
        if not low <= number <= high:
            raise UsageError(f"`{base_of(param.name)}` is {prim}: {number} does not fit.")
    value: Value = DTYPE[prim].type(number)
    return value


def _refuse_negative(name: str, extent: tuple[int, ...]) -> None:
    if any(size < 0 for size in extent):
        raise UsageError(f"`{base_of(name)}` cannot have the shape {list(extent)}.")


def _refuse_endless(name: str, size: int) -> None:
    """Refuse an array whose byte count does not fit an i64."""
    most = int_range("i64")[1]
    if size > most:
        raise UsageError(
            f"`{base_of(name)}` would take {size:,} bytes; no array has more than {most:,}.",
            hint="Choose smaller sizes.",
        )


def _refuse_large(params: Iterable[Param], known: Mapping[Name, int], room: int) -> None:
    """Refuse arrays of more than `room` bytes together; names the largest."""
    taken: dict[Name, int] = {}
    for param in params:
        if isinstance(param.type, Array):
            extent = tuple(dim.evaluate(known) for dim in param.type.shape)
            _refuse_negative(param.name, extent)
            taken[param.name] = math.prod(extent) * BYTES[param.type.prim]
    total = sum(taken.values())
    if total > room:
        largest = max(taken, key=taken.__getitem__)
        others = f" of {total:,} in all" if taken[largest] < total else ""
        raise UsageError(
            f"`{base_of(largest)}` would take {taken[largest]:,} bytes{others}; there is room for "
            f"{room:,}.",
            hint=SMALLER,
        )


def _refuse_many(extents: list[list[int]], most: int) -> None:
    total = sum(math.prod(extent) for extent in extents if min(extent) > 0)
    if total > most:
        raise UsageError(
            f"The inputs would have {total} elements; at most {most} are given as text.",
            hint=FEWER,
        )


def _random(
    rng: np.random.Generator, prim: Prim, extent: tuple[int, ...], distribution: str
) -> Value:
    array = _BESIDE.get(distribution, _uniform)(rng, prim, extent)
    return DTYPE[prim].type(array) if extent == () else np.asarray(array)


Cells = npt.NDArray[np.generic]
_Draw = Callable[["np.random.Generator", Prim, tuple[int, ...]], Cells]
"""Quoted: numpy loads its generators when they are first named."""


def _uniform(rng: np.random.Generator, prim: Prim, extent: tuple[int, ...]) -> Cells:
    if prim == "bool":
        return rng.integers(0, 2, extent).astype(np.bool_)
    if prim[0] == "f":
        return np.asarray(rng.random(extent)).astype(DTYPE[prim])
    low, high = _spread(prim)
    return np.asarray(rng.integers(low, high + 1, extent, dtype=DTYPE[prim]))


def _spread(prim: Prim) -> tuple[int, int]:
    low, high = int_range(prim)
    return max(low, -_SPREAD), min(high, _SPREAD)


def _normal(rng: np.random.Generator, prim: Prim, extent: tuple[int, ...]) -> Cells:
    """Draw floats with mean 0 and deviation 1, integers around the middle of their usual range."""
    drawn = np.asarray(rng.normal(size=extent))
    if prim == "bool" or prim[0] == "f":
        return (drawn > 0) if prim == "bool" else drawn.astype(DTYPE[prim])
    low, high = _spread(prim)
    around = (low + high) / 2 + drawn * (high - low) / 6
    return np.clip(np.rint(around), low, high).astype(DTYPE[prim])


def _sorted(rng: np.random.Generator, prim: Prim, extent: tuple[int, ...]) -> Cells:
    made = _uniform(rng, prim, extent)
    return np.sort(made, axis=-1) if extent else made


def _equal(rng: np.random.Generator, prim: Prim, extent: tuple[int, ...]) -> Cells:
    return np.full(extent, _uniform(rng, prim, ()))


def _borders(rng: np.random.Generator, prim: Prim, extent: tuple[int, ...]) -> Cells:
    """Draw edge cases: the ends of the range, and special floats."""
    if prim == "bool":
        return _uniform(rng, prim, extent)
    if prim[0] == "f":
        about: Any = np.finfo(cast(Any, DTYPE[prim]))
        special = [0.0, -0.0, about.tiny, about.eps, about.max, about.min]
        choices = np.array([*special, np.inf, -np.inf, np.nan], DTYPE[prim])
    else:
        low, high = int_range(prim)
        choices = np.array([low, low + 1, 0, 1, high - 1, high], DTYPE[prim])
    return np.asarray(rng.choice(choices, extent))


_BESIDE: dict[str, _Draw] = {
    "normal": _normal,
    "sorted": _sorted,
    "equal": _equal,
    "borders": _borders,
}
"""Distributions other than the default."""
