"""Values as NumPy arrays and scalars, and Futhark's two notations for them.

Text: `1i32`, `-2.5f32`, `f64.nan`, `true`, `[[1, 2], [3, 4]]`, `empty([0][3]i32)`, `"text"` (its
bytes as u8); `--` begins a comment. A number without a type is i32, or f64 if it is not an integer.
Output has the type on every element. Binary: Futhark's format, version 2. An `.npy` file is one
value.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from compiler.base.dtypes import DTYPE
from compiler.base.errors import InputError
from compiler.base.prim import PRIMS, Prim
from compiler.ir import npy
from compiler.ir.read_values import BINARY, ValueReader, shape_problem
from compiler.ir.syntax import literal_text

Value = np.generic | npt.NDArray[np.generic]
"""A scalar (of NumPy's type) or a C-ordered array, of a type in `dtypes.DTYPE`."""

_PRIM_OF: dict[np.dtype[np.generic], Prim] = {dtype: prim for prim, dtype in DTYPE.items()}


def parse(text: str, prims: Sequence[Prim] = ()) -> list[Value]:
    """Parse values from text; `prims` are the types of unsuffixed numbers, value by value.

    Raises InputError with a position in the file `input`.
    """
    return ValueReader(text, prims).values()


def prim_of(value: Value) -> Prim:
    """Return the element type of a value."""
    return _PRIM_OF[value.dtype]


def type_text(value: Value) -> str:
    """Return the type of a value with its sizes, such as `[2][3]f32`."""
    return "".join(f"[{size}]" for size in value.shape) + prim_of(value)


def show(value: Value) -> str:
    """Format a value; every element carries its type."""
    prim = prim_of(value)
    if not value.shape:
        return literal_text(value.item(), prim)
    if value.size == 0:
        return f"empty({type_text(value)})"
    return _nested(np.asarray(value), value.shape)


def beginning(value: Value, most: int) -> str:
    """Format a value in about `most` characters: the first elements of each dimension.

    Omitted elements are counted in place: `[[1i32, … and 9 more], … and 4 more]`.
    """
    few = max(1, most // LEAST_CHARACTERS)
    while value.shape and value.size:
        counts = first_of(value.shape, few)
        text = _nested(np.asarray(value)[tuple(map(slice, counts))], value.shape)
        if len(text) <= most or few == 1:
            return text
        few = max(1, min(few - 1, math.prod(counts) * most // len(text)))
    return show(value)


LEAST_CHARACTERS = 5
"""Minimum length of an element and its separator: `1i8, `."""


def first_of(shape: tuple[int, ...], few: int) -> list[int]:
    """Return sizes of a part with at most `few` elements: all dimensions are cut at one size."""
    low, high = 1, max(shape)
    while low < high:
        middle = (low + high + 1) // 2
        if math.prod(min(size, middle) for size in shape) <= few:
            low = middle
        else:
            high = middle - 1
    return [min(size, low) for size in shape]


def _nested(part: npt.NDArray[np.generic], shape: tuple[int, ...]) -> str:
    """Format an array of this shape from the first elements of each dimension."""
    prim = prim_of(part)
    left = [
        f", … and {size - here} more" if size > here else ""
        for size, here in zip(shape, part.shape, strict=True)
    ]
    array = np.ascontiguousarray(part)
    rows = _rows(array.reshape(-1, array.shape[-1]), prim, left[-1])
    for size, more in zip(reversed(array.shape[:-1]), reversed(left[:-1]), strict=True):
        rows = [f"[{', '.join(rows[at : at + size])}{more}]" for at in range(0, len(rows), size)]
    return rows[0]


def _rows(array: npt.NDArray[np.generic], prim: Prim, more: str) -> list[str]:
    """Format the rows of a matrix, each with `more` at its end."""
    cells = elements(array.reshape(-1), prim)
    width = array.shape[1]
    return [f"[{', '.join(cells[at : at + width])}{more}]" for at in range(0, len(cells), width)]


def elements(flat: npt.NDArray[np.generic], prim: Prim) -> list[str]:
    """Format the elements of a one-dimensional array, each with its type."""
    if prim == "bool":
        return ["true" if x else "false" for x in flat.tolist()]
    if prim[0] != "f":
        return [f"{x}{prim}" for x in flat.tolist()]
    if not np.isfinite(flat).all():
        return [literal_text(x, prim) for x in flat.tolist()]
    if prim == "f64":
        return [f"{x!r}f64" for x in flat.tolist()]
    return [f"{x}{prim}" for x in flat.astype(str).tolist()]


# --- the binary format -----------------------------------------------------------------------

_VERSION = 2


def to_binary(values: Sequence[Value]) -> bytes:
    """Encode values in the binary format."""
    parts: list[bytes] = []
    for value in values:
        parts.append(struct.pack("<cBB", b"b", _VERSION, value.ndim))
        parts.append(prim_of(value).rjust(4).encode())
        parts.append(struct.pack(f"<{value.ndim}Q", *value.shape))
        parts.append(np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")).tobytes())
    return b"".join(parts)


_BINARY = re.compile(rb'"(?:[^"\\]|\\.)*"|--[^\n]*|b[\x00-\x1f]', re.DOTALL)
"""Strings, comments, and the start of a value in the binary format."""


def notation(data: bytes) -> tuple[str, dict[int, Value]]:
    """Split data into text with BINARY for each binary value, and these values by offset.

    Both notations may be mixed, with white space and comments between values. Raises InputError.
    """
    if data.startswith(npy.MAGIC):
        return BINARY, {0: npy.array(data)}
    if b"b" + bytes((_VERSION,)) not in data:
        return decoded(data), {}
    text: list[str] = []
    found: dict[int, Value] = {}
    length = at = 0
    while begin := _next_binary(data, at):
        text.append(decoded(data[at : begin - 1]) + BINARY)
        length += len(text[-1])
        found[length - 1], at = _one_from_binary(data, begin - 1)
    return "".join([*text, decoded(data[at:])]), found


def _next_binary(data: bytes, at: int) -> int:
    """Return the offset after the first byte of the next binary value, 0 for none."""
    return next((m.start() + 1 for m in _BINARY.finditer(data, at) if m[0][:1] == b"b"), 0)


def _one_from_binary(data: bytes, at: int) -> tuple[Value, int]:
    if len(data) < at + 7 or data[at : at + 1] != b"b":
        raise InputError(f"No value in the binary format begins at byte {at}.")
    version, rank = data[at + 1], data[at + 2]
    name = data[at + 3 : at + 7].decode("latin-1").strip()
    if version != _VERSION or name not in PRIMS:
        raise InputError(f"Byte {at} begins version {version} of type `{name}`, which is unknown.")
    start = at + 7 + 8 * rank
    if len(data) < start:
        raise InputError(f"The value at byte {at} ends within its shape.")
    shape = struct.unpack_from(f"<{rank}Q", data, at + 7)
    if problem := shape_problem(shape, name):
        raise InputError(f"{problem} (The value at byte {at}.)")
    dtype = DTYPE[name]
    count = math.prod(shape)
    end = start + count * dtype.itemsize
    if len(data) < end:
        raise InputError(f"The value at byte {at} needs {end - start} bytes, and fewer are left.")
    if name == "bool":
        flat = np.frombuffer(data, np.uint8, count, start) != 0
    else:
        flat = np.frombuffer(data, dtype.newbyteorder("<"), count, start).astype(dtype)
    return (flat.reshape(shape) if rank else flat[0]), end


def with_files(text: str, paths: Sequence[str]) -> bytes:
    """A text, with a file's value in the binary format in the place of each BINARY.

    Raises InputError.
    """
    first, *rest = (piece.encode() for piece in text.split(BINARY))
    if len(rest) != len(paths):
        raise InputError(f"The input has room for {len(rest)} files, and there are {len(paths)}.")
    parts = [first]
    for path, piece in zip(paths, rest, strict=True):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            raise InputError("A file of the input is not there any more.") from None
        if data[:2] != b"b" + bytes((_VERSION,)):
            raise InputError("A file of the input has no value in the binary format.")
        parts += [data, piece]
    return b"".join(parts)


def decoded(data: bytes) -> str:
    """Decode UTF-8. Raises InputError."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"The input is no UTF-8 text (byte {error.start}).") from None


def from_bytes(data: bytes, prims: Sequence[Prim] = ()) -> list[Value]:
    """Parse values in any of the formats. Raises InputError."""
    text, binary = notation(data)
    return ValueReader(text, prims, binary).values()
