"""Read arrays in NumPy's `.npy` format."""

from __future__ import annotations

import io
import math
import warnings
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from compiler.base.dtypes import DTYPE
from compiler.base.errors import InputError
from compiler.ir.read_values import shape_problem

MAGIC = np.lib.format.MAGIC_PREFIX
_LARGEST_HEADER = 1 << 16


def header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, column-major flag and element type; leaves the file after the header.

    Raises InputError, which calls the file by `name`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files written by Python 2
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, by_columns, dtype = read(file, max_header_size=_LARGEST_HEADER)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        said = str(error).partition("\n")[0].rstrip(".")[:200]
        raise InputError(f"{name} is no array in NumPy's format: {said}.") from None
    if any(size < 0 for size in shape):
        raise InputError(f"{name} has the shape {list(shape)}: no size is negative.")
    return shape, by_columns, dtype


def array(data: bytes) -> np.generic | npt.NDArray[np.generic]:
    """Return the array of an `.npy` file, row-major and in native byte order.

    Raises InputError for a malformed or truncated file, or an unsupported element type.
    """
    file = io.BytesIO(data)
    shape, by_columns, dtype = header(file, "The file")
    own = dtype.newbyteorder("=")
    prim = next((prim for prim, known in DTYPE.items() if known == own), None)
    if prim is None:
        raise InputError(
            f"The file has elements of type {dtype}, which the language does not have.",
            hint="Convert them with NumPy's `astype`, for example to `np.float32`.",
        )
    if problem := shape_problem(shape, prim):
        raise InputError(problem)
    begin, count = file.tell(), math.prod(shape)
    if len(data) < begin + count * dtype.itemsize:
        raise InputError(
            f"The file ends early: {count} elements of type {prim} are {count * dtype.itemsize} "
            f"bytes, and {len(data) - begin} are there."
        )
    if len(data) > begin + count * dtype.itemsize:
        raise InputError("The file goes on behind its array.")
    flat = np.frombuffer(data, dtype, count, begin).astype(own)
    if prim == "bool":
        flat = np.frombuffer(data, np.uint8, count, begin) != 0
    if not shape:
        scalar: np.generic = flat[0]
        return scalar
    return np.ascontiguousarray(flat.reshape(shape, order="F" if by_columns else "C"))
