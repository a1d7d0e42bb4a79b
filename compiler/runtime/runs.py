"""Inputs, answers and errors shared by all runs of compiled programs."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.prim import INTS
from compiler.base.spans import NOWHERE, Span
from compiler.codegen.signature import Plain, check_shapes, shape_of, solve_sizes
from compiler.ir import values
from compiler.ir.entry import check_extent
from compiler.runtime import runner_child as child
from compiler.sandbox import walls

Cells = npt.NDArray[np.generic]
Value = Cells | np.generic | int | float | bool
"""An array or a scalar; results are arrays and NumPy scalars."""

LONGEST_ANSWER = 1 << 20
"""Bytes of a run's answer, beside its results."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """Results in the entry point's order; `ms` is the best run, `times` all of them.

    A single run that takes a few milliseconds or less is repeated.
    `peak_bytes`: peak of inputs, results and everything that the program allocates.
    For one run: blocks allocated, their bytes, and, for the back end C, the number and
    bytes of copies of each `protocol.runs.CopyKind` and inside kernels, in turn. Allocations and
    copies of threads are counted if the program was compiled with `cc.COUNTING`.
    """

    values: list[values.Value]
    ms: float
    times: tuple[float, ...]
    peak_bytes: int
    cores: int
    allocations: int = 0
    allocated_bytes: int = 0
    copies: tuple[int, ...] = ()
    compile_ms: float = 0.0
    """Time of the back end's own compiler."""
    profile: tuple[int, ...] = ()
    """Nanoseconds and calls of each section, in the last run of C that measures itself."""

    @property
    def copied_bytes(self) -> int:
        """Return the bytes of all counted copies."""
        return sum(self.copies[1::2])


@dataclass(frozen=True, slots=True)
class WindowOf:
    """An input that is a part of a file: the file's number, the first byte, and the length."""

    file: int
    first: int
    bytes: int


def senseless() -> RuntimeError_:
    """Make the error of a run whose process gave a malformed answer."""
    return RuntimeError_("The program overwrote the description of its results.")


# --- values ----------------------------------------------------------------------------------


def prepare(entry: Plain, values: Sequence[Value]) -> tuple[list[Cells], dict[str, int]]:
    """Convert values to the types of the parameters; return them with all integer parameters.

    Errors: `UsageError` for another number of values or other types, `RuntimeError_` for shapes
    that do not agree.
    """
    takes = entry["takes"]
    if len(values) != len(takes):
        raise UsageError(
            f"The entry point `{entry['name']}` takes {len(takes)} values, not {len(values)}."
        )
    arrays = [
        fitting(taken, value, k)
        for k, (taken, value) in enumerate(zip(takes, values, strict=True), 1)
    ]
    return arrays, sizes_of(entry, arrays)


def sizes_of(entry: Plain, arrays: Sequence[Any]) -> dict[str, int]:
    """Return all integer parameters of an entry point.

    Raises RuntimeError_ where shapes disagree.
    """
    takes = entry["takes"]
    shapes = [
        a.shape if t["shape"] is not None else None for t, a in zip(takes, arrays, strict=True)
    ]
    sizes = solve_sizes(entry, shapes)
    for taken, array in zip(takes, arrays, strict=True):
        if taken["shape"] is None and taken["prim"] in INTS:
            sizes[taken["name"]] = int(array)
    check_shapes(entry, shapes, sizes)
    return sizes


def fitting(taken: Plain, value: Value, number: int) -> Cells:
    """Convert a value to the type of a parameter. Raises UsageError for another type."""
    array: Cells = np.asarray(value)
    rank = 0 if taken["shape"] is None else len(taken["shape"])
    want = DTYPE[taken["prim"]]
    if array.ndim != rank:
        kind = "a scalar" if rank == 0 else f"an array of {rank} dimensions"
        got = "a scalar" if array.ndim == 0 else f"one of {array.ndim} dimensions"
        raise UsageError(f"Input {number} must be {kind}, not {got}.")
    check_extent(f"Input {number}", array)
    if array.dtype != want:
        if not isinstance(value, (int, float, bool)) and array.size:
            raise UsageError(
                f"Input {number} must be of type {taken['prim']}, not {array.dtype.name}."
            )
        array = array.astype(want)
    return np.ascontiguousarray(array) if rank else array


def arguments(
    entry: Plain,
    arrays: Sequence[Any],
    sizes: Mapping[str, int],
    block: Callable[[Any], object],
) -> list[object]:
    """Return the arguments of an entry point: sizes, numbers, and `block` of each array."""
    by_name: dict[str, object] = dict(sizes)
    for taken, array in zip(entry["takes"], arrays, strict=True):
        if taken["shape"] is None:
            by_name[taken["name"]] = array.item()
        else:
            by_name[taken["block"]] = block(array.reshape(-1))
    return [by_name[slot["name"]] for slot in entry["params"]]


def results(
    entry: Plain,
    outcome: Iterable[Any],
    sizes: Mapping[str, int],
    cells: Callable[[Any, int, np.dtype[np.generic]], Any],
) -> list[Any]:
    """Return the external results of a call; `cells` takes so many cells of a block."""
    given = {slot["name"]: v for slot, v in zip(entry["results"], outcome, strict=True)}
    numbers = {**sizes, **{name: v for name, v in given.items() if isinstance(v, int)}}
    found: list[Any] = []
    for give in entry["gives"]:
        dtype = DTYPE[give["prim"]]
        if give["shape"] is None:
            found.append(dtype.type(given[give["name"]]))
            continue
        shape = shape_of(give["shape"], numbers)
        found.append(shaped(cells(given[give["block"]], math.prod(shape), dtype), shape))
    return found


def shaped(cells: Any, shape: Sequence[int]) -> Any:
    """Reshape a result.

    Raises RuntimeError_ where it is empty and NumPy cannot represent its shape.
    """
    try:
        return cells.reshape(shape)
    except ValueError:
        words = " by ".join(map(str, shape))
        raise RuntimeError_(f"A result of {words} elements is too large to show.") from None


def memory_file() -> int:
    """Make an anonymous file, in memory where the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("values", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as made:
        return os.dup(made.fileno())


def apart() -> dict[str, Any]:
    """Return `Popen` options for a process group of its own, which can be killed at once.

    Children of a server's worker stay in its session, because the kernel may divide the processor
    among sessions first: so the server lowers the priority of both together.
    """
    return {"process_group": 0} if walls.is_confined() else {"start_new_session": True}


def seal(file: int) -> None:
    """Seal a file, so that its other holders cannot change its size while it is read."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)


# --- answers ---------------------------------------------------------------------------------


def exchange(channel: socket.socket, request: bytes, until: float) -> bytes | None:
    """Send a request and read the answer; None if the other end is gone before that.

    Raises TimeoutError, and RuntimeError_ for an answer that is too long.
    """
    data = bytearray()
    wanted = child.HEAD.size
    try:
        channel.settimeout(max(0.001, until - time.monotonic()))
        channel.sendall(child.HEAD.pack(len(request)) + request)
        while len(data) < wanted:
            channel.settimeout(max(0.001, until - time.monotonic()))
            piece = channel.recv(min(1 << 16, wanted - len(data)))
            if not piece:
                return None
            data += piece
            if len(data) == child.HEAD.size:
                (length,) = child.HEAD.unpack(data)
                if length > LONGEST_ANSWER:
                    raise senseless()
                wanted += length
    except ConnectionError:
        return None
    return bytes(data[child.HEAD.size :])


def failed_check(about: Plain, answer: Plain) -> RuntimeError_:
    """Make the error of a failed check, with its values and place."""
    if not 0 <= answer["site"] < len(about["sites"]):
        raise senseless()
    site = about["sites"][answer["site"]]
    values = iter(answer["values"])
    parts = [p if isinstance(p, str) else _shown(next(values, 0), p["prim"]) for p in site["parts"]]
    span = NOWHERE if site["span"] is None else Span(*site["span"])
    error = RuntimeError_("".join(parts), span)
    error.site = answer["site"]
    return error


def _shown(bits: int, prim: str) -> str:
    if prim[0] == "f":
        return str(struct.unpack("<d", struct.pack("<q", bits))[0])
    if prim == "bool":
        return "true" if bits else "false"
    return str(bits % (1 << 64) if prim == "u64" else bits)
