"""Read the `__cuda_array_interface__` (version 2 or 3) of foreign arrays."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.errors import UsageError

INTERFACE = "__cuda_array_interface__"
VERSIONS = (2, 3)
ON_GPU = (2, 13)
"""DLPack's device types of GPU memory, and of managed memory."""


@dataclass(frozen=True, slots=True)
class ArrayOnGpu:
    """The interface of an array; `constant`: read-only; strides are in bytes.

    `together`: contiguous and row-major.
    """

    address: int
    constant: bool
    shape: tuple[int, ...]
    kind: np.dtype[np.generic]
    strides: tuple[int, ...]
    stream: int | None
    together: bool

    def spread(self) -> tuple[int, int, tuple[int, ...]]:
        """Return the cells before the first element, the cells spanned, and strides in cells.

        Errors: `ValueError` where strides are not multiples of the element size.
        """
        size = self.kind.itemsize
        if 0 in self.shape:
            return 0, 0, (0,) * len(self.shape)
        steps = tuple(0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True))
        if any(step % size for step in steps):
            raise ValueError
        ends = [(n - 1) * (s // size) for n, s in zip(self.shape, steps, strict=True)]
        before = -sum(min(0, end) for end in ends)
        count = before + sum(max(0, end) for end in ends) + 1
        return before, count, tuple(step // size for step in steps)


def told(value: object, name: str) -> ArrayOnGpu:
    """Read an array's interface, once. Raises UsageError for a malformed one."""
    try:
        given: Any = getattr(value, INTERFACE)
    except Exception as problem:  # as of a tensor with gradients, or one whose memory is gone
        raise UsageError(f"{name} gives no array: {problem}") from None
    try:
        shape, kind = tuple(map(index, given["shape"])), np.dtype(given["typestr"])
        address, constant = given["data"]
        steps, plain = given.get("strides"), row_major(shape, kind)
        strides = plain if steps is None else tuple(map(index, steps))
        stream = given.get("stream") if given["version"] == 3 else None
        together = steps is None or strides == plain or _meets(shape, strides, plain)
        made = ArrayOnGpu(index(address), bool(constant), shape, kind, strides, stream, together)
        fits = len(strides) == len(shape) and min(shape, default=0) >= 0
        known = stream is None or index(stream) > 0
        known = known and given.get("mask") is None
    except (KeyError, TypeError, ValueError, AttributeError):
        fits = False
    if not fits or given["version"] not in VERSIONS or not known or address % kind.itemsize:
        raise UsageError(
            f"{name} has no `{INTERFACE}` of version 2 or 3 that makes sense.",
            hint=(
                "It needs a shape, a type, an aligned address, no mask, and a stream other than 0."
            ),
        )
    return made


def is_on_gpu(value: object) -> bool:
    """Return True if an array declares that it lies on a GPU, in either way."""
    if isinstance(value, np.ndarray | np.generic | int | float):
        return False
    return _has(value, INTERFACE) or has_dlpack_of_gpu(value)


def has_dlpack_of_gpu(value: object) -> bool:
    """Return True if an array can be imported by DLPack, from a GPU."""
    device = getattr(value, "__dlpack_device__", None)
    return callable(device) and int(device()[0]) in ON_GPU


def near(value: Any) -> Any:
    """Convert a host array of another library to NumPy by DLPack. UsageError if that fails."""
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__dlpack_device__"):
        return value
    try:
        return np.from_dlpack(value)
    except Exception as problem:  # of a type that NumPy has not, or with gradients
        raise UsageError(f"An array cannot be taken by DLPack: {problem}") from None


def _has(value: object, name: str) -> bool:
    try:
        return hasattr(value, name)
    except Exception:  # there is one, which is not given now: whoever asks for it is told why
        return True


def row_major(shape: tuple[int, ...], kind: np.dtype[np.generic]) -> tuple[int, ...]:
    """Return row-major strides in bytes."""
    step, steps = kind.itemsize, []
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def _meets(shape: tuple[int, ...], strides: tuple[int, ...], plain: tuple[int, ...]) -> bool:
    """Return True if strides are equivalent to row-major ones.

    Dimensions of one element are free.
    """
    steps = zip(shape, strides, plain, strict=False)
    return 0 in shape or all(n == 1 or s == w for n, s, w in steps)
