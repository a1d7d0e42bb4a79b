"""Make the values of a test: literal, from files, or random."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompileError, InputError
from compiler.base.prim import int_range
from compiler.base.spans import INPUT
from compiler.ir import values
from compiler.ir.read_values import shape_problem
from compiler.ir.values import Value
from compiler.lower.external_values import Outside
from compiler.lower.read_external import arguments, results
from compiler.testing.blocks import Data, Load, Trial, place_in

_NUMBER = re.compile(r"[^\s\[]+")
_RANDOM = re.compile(r"((?:\[\s*[0-9]+\s*\])*)\s*([iuf][0-9]+|bool)(?![\w.])")
_LARGEST = 1 << 31
"""The largest random value, in bytes."""
_LONGEST_DATA = 1 << 32
"""The largest file of values, in bytes."""


def given(case: Trial, of: Outside, load: Load) -> list[Value]:
    """Return the inputs of a case without a script; untyped numbers take the parameter's type."""
    return [] if case.input is None else _written(case.input, partial(arguments, of), load)


def wanted(case: Trial, of: Outside, load: Load) -> list[Value] | None:
    """Return the expected outputs of a case, None if it has none."""
    return None if case.output is None else _written(case.output, partial(results, of), load)


def _written(
    data: Data, values_in: Callable[[bytes | str], list[Value]], load: Load
) -> list[Value]:
    """Parse values of a block; errors have their place in the program."""
    read = b""
    try:
        if data.form == "random":
            return random(data.text)
        if data.form == "values":
            return values_in(data.text)
        read = load(data.text)
        return values_in(unpacked(read))
    except CompileError as error:
        if read:
            where = f" ({error.span.position.removeprefix('input:')})" if error.span.line else ""
            error.message = f"`{data.text}`{where}: {error.message}"
        inside = data.form == "values" and error.span.file == INPUT
        error.span = place_in(data, error.span._replace(file="")) if inside else data.span
        raise


def unpacked(data: bytes) -> bytes:
    """Return the content of a file, unpacked if it is gzip. Raises InputError."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(_LONGEST_DATA + 1)
    except EOFError:
        raise InputError("This file is packed, and ends too early.") from None
    except (OSError, zlib.error) as error:
        raise InputError(f"This file cannot be unpacked: {error}.") from None
    if len(found) > _LONGEST_DATA:
        raise InputError(f"More than {_LONGEST_DATA} bytes are packed in this file.")
    return found


def random(text: str) -> list[Value]:
    """Make a random value for each type, such as `[10]f32`; a number stands for itself.

    The same text gives the same values. Floats lie in [0, 1), integers in the range of their type.
    Errors: `InputError` for a malformed type.
    """
    found: list[Value] = []
    rng = np.random.default_rng(zlib.crc32(" ".join(text.split()).encode()))
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        if kind := _RANDOM.match(text, at):
            found.append(_of_type(kind[1], kind[2], rng))
            at = kind.end()
            continue
        number = _NUMBER.match(text, at)
        if number is None:
            raise InputError(f"`{text[at : at + 20]}` is no type of a random value.")
        found += values.parse(number[0])
        at = number.end()
    return found


def _of_type(sizes: str, prim: str, rng: np.random.Generator) -> Value:
    if prim not in DTYPE:
        raise InputError(f"There is no primitive type `{prim}`.")
    shape = tuple(int(size) for size in re.findall(r"[0-9]+", sizes))
    if problem := shape_problem(shape, prim):
        raise InputError(problem)
    dtype = DTYPE[prim]
    if np.prod([float(size) for size in shape]) * dtype.itemsize > _LARGEST:
        raise InputError(f"`{sizes}{prim}` is larger than {_LARGEST} bytes.")
    if prim == "bool":
        array = rng.integers(0, 2, shape).astype(np.bool_)
    elif prim[0] == "f":
        array = rng.random(shape).astype(dtype)
    else:
        low, high = int_range(prim)
        array = rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    return dtype.type(array) if shape == () else np.asarray(array)
