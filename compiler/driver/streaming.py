"""Runs FlatPack programs on files that need not fit into memory (seed 002, section 7.3).

A file is read window by window into the sandboxed process of the run. The window that a program
needs comes from `frontend/flatpack/windows.py`; the programs that compute a part of the result are
those of `chunks.py`, and go the way of all others. See Note [Files that change].
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx, Options
from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompileError, InputError, RuntimeError_, TypeError_, UsageError
from compiler.base.prim import BYTES, NUMBERS, Prim
from compiler.driver.pipeline import Compilation
from compiler.frontend import flatpack
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.chunks import Chunk, SinkValues, SizedProgram
from compiler.frontend.flatpack.evaluate import Meaning
from compiler.frontend.flatpack.laws import apply_laws
from compiler.frontend.flatpack.windows import NoWindow, Reading, one_type, windows
from compiler.ir import npy, values
from compiler.runtime import runner
from compiler.runtime.runner_child import MOST_DATA
from compiler.runtime.runs import Value, WindowOf

# Note [Files that change]
# ~~~~~~~~~~~~~~~~~~~~~~~~
# FlatPack takes a file as a value that never changes. A file does change where somebody
# writes to it, and where it is cut the run ends when it comes to what is gone. So it is looked at
# before and after: its size, its time of change and its number. If one differs the result is not
# given, whatever it is. A write that keeps all three, within a tick of the system's clock, is not
# noticed.

WINDOW_BYTES = 1 << 23
"""Bytes of data in memory, unless a step needs more."""
MOST_STEPS = 4000
"""Steps of one reading; a larger file gets larger windows."""


@dataclass(slots=True)
class Streamed:
    """A result, and its cost."""

    values: list[values.Value]
    readings: int = 0
    """Passes over the data."""
    windows: int = 0
    read_bytes: int = 0
    largest_window: int = 0
    """Bytes of all windows of a step."""
    peak_bytes: int = 0
    """Peak memory of the run's process."""
    ms: float = 0.0
    """Run time of all readings, without compiling."""


@dataclass(slots=True)
class _File:
    """A file of packed elements; `.npy` files also give their type and shape."""

    name: str
    path: str
    fd: int
    seen: os.stat_result
    begins: int = 0
    shape: tuple[int, ...] | None = None

    @property
    def bytes(self) -> int:
        """Return the bytes of the elements."""
        return self.seen.st_size - self.begins

    def check(self) -> None:
        """Raise InputError if the file has changed."""
        now = os.fstat(self.fd)
        if now.st_size < self.seen.st_size:
            raise InputError(
                f"`{self.name}` was truncated while it was read: from "
                f"{self.seen.st_size} bytes to {now.st_size}."
            )
        if _stamp(now) != _stamp(self.seen):
            raise InputError(
                f"`{self.name}` was changed while it was read.",
                hint="Run the program again: the result would mix old and new contents.",
            )


def _stamp(seen: os.stat_result) -> tuple[int, ...]:
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino


def run(
    source: str,
    options: Options,
    data: Mapping[str, str],
    given: Callable[[], bytes | str] = str,
    seconds: float = 600.0,
    window_bytes: int = WINDOW_BYTES,
) -> Streamed:
    """Run a program whose data comes from files, by the names of parameters or `GetData`.

    `given` returns the other inputs, in order, if there are any. Errors: those of the program,
    `InputError` for files and inputs that do not fit, `TypeError_` with `codes.flatpack.WINDOW`
    where a window would have to be the whole file, and those of a run.
    """
    meaning = apply_laws(flatpack.read(source), Ctx(options=options))
    try:
        one_type(meaning)
    except NoWindow as why:
        raise refusal(why) from None
    with contextlib.ExitStack() as opened:
        files = _opened(meaning, data, opened)
        inputs, sizes = _given(meaning, files, given)
        known = SizedProgram(meaning, sizes).program()
        for one in known.sources:
            if one.name in files:
                _fits(files[one.name], one, known.element)
        try:
            plan = windows(known, files)
        except NoWindow as why:
            raise refusal(why) from None
        work = _Run(options, known, files, inputs, seconds, window_bytes, SinkValues(plan))
        try:
            return work.result()
        finally:
            for file in files.values():
                file.check()


def refusal(why: NoWindow) -> TypeError_:
    """Make the error for a program that cannot be streamed."""
    hint = why.hint or "If the data fits into memory, pass it as an input instead."
    return TypeError_(codes.flatpack.WINDOW, why.because, why.span, hint)


def _opened(
    meaning: Meaning, data: Mapping[str, str], opened: contextlib.ExitStack
) -> dict[str, _File]:
    """Open the files, by the names of their sources."""
    names = {one.file or one.name: one for one in meaning.sources}
    if len(data) > MOST_DATA:
        raise UsageError(f"A program can read at most {MOST_DATA} files.")
    found: dict[str, _File] = {}
    for name, path in data.items():
        if name not in names:
            listed = ", ".join(f"`{one}`" for one in names) or "none"
            hint = f"{did_you_mean(name, names)} It has {listed}.".strip()
            raise UsageError(f"The program has no data `{name}`.", hint=hint)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "no such file"
            raise InputError(f"Cannot read `{path}`: {why}.") from None
        opened.callback(os.close, fd)
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode):
            raise InputError(f"`{path}` is not a regular file.")
        with contextlib.suppress(OSError, AttributeError):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        file = _File(name, path, fd, seen)
        if path.endswith(".npy"):
            _read_head(file, meaning.element)
        found[names[name].name] = file
    return found


def _read_head(file: _File, element: Prim) -> None:
    """Read the header of an `.npy` file."""
    with open(file.fd, "rb", closefd=False) as text:
        shape, by_columns, dtype = npy.header(text, f"`{file.name}`")
        file.begins = text.tell()
    if dtype != DTYPE[element]:
        raise InputError(
            f"`{file.name}` has elements of type {dtype}, but the program computes with {element}.",
            hint=_way_out(dtype),
        )
    if by_columns and len(shape) > 1:
        raise InputError(
            f"`{file.name}` lies in memory column by column.",
            hint="Store it row by row, or declare its dimensions in reverse order.",
        )
    file.shape = tuple(shape)


def _way_out(dtype: np.dtype[Any]) -> str:
    """Suggest a fix for elements of another type."""
    if not dtype.isnative:
        return "Its byte order is that of another machine: store it in this machine's byte order."
    found = next((prim for prim in NUMBERS if DTYPE[prim] == dtype), None)
    return f"Write `type {found}` in the first line of the program." if found else ""


def _given(
    meaning: Meaning, files: Mapping[str, _File], given: Callable[[], bytes | str]
) -> tuple[dict[str, Value], dict[str, int]]:
    """Return the inputs that are not files, by name, and all sizes."""
    others = [one for one in meaning.sources if one.name not in files]
    prims = [meaning.element for _ in others]
    prims[:0] = ["i64"] * len(meaning.ints)
    found: list[Any] = []
    if prims:
        data = given()
        found = (
            values.parse(data, prims) if isinstance(data, str) else values.from_bytes(data, prims)
        )
    if len(found) != len(prims):
        names = ", ".join([*meaning.ints, *(one.name for one in others)])
        wanted = f"({names})" if names else ""
        raise InputError(
            f"The program takes {len(prims)} values {wanted} in addition to its files, "
            f"not {len(found)}."
        )
    for name, prim, value in zip(
        [*meaning.ints, *(one.name for one in others)], prims, found, strict=True
    ):
        if value.dtype != DTYPE[prim]:
            raise InputError(f"`{name}` must be of type {prim}, not {values.prim_of(value)}.")
    ints = {name: int(value) for name, value in zip(meaning.ints, found, strict=False)}
    inputs = {one.name: v for one, v in zip(others, found[len(ints) :], strict=True)}
    sizes = dict(ints)
    for one in others:
        _bind(one, inputs[one.name].shape, sizes)
    for one in meaning.sources:
        if one.name in files:
            _from_file(files[one.name], one, meaning, sizes)
    return inputs, sizes


def _bind(one: t.Source, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    """Bind the sizes in a declared shape to those of an input."""
    if len(shape) != len(one.shape):
        wanted, found = (
            f"{rank} dimension{'s' * (rank != 1)}" for rank in (len(one.shape), len(shape))
        )
        raise InputError(f"`{one.name}` has {wanted} in the program, but {found} here.")
    for size, count in zip(one.shape, shape, strict=True):
        name = size.as_name
        expected = size.constant if name is None else sizes.setdefault(name, count)
        if expected is not None and expected != count:
            raise InputError(
                f"`{one.file or one.name}` has size {count} where its shape says "
                f"{f'{name} = ' if name else ''}{expected}."
            )


def _from_file(file: _File, one: t.Source, meaning: Meaning, sizes: dict[str, int]) -> None:
    """Bind the sizes that a file determines: by its header, or one by its length."""
    if file.shape is not None:
        _bind(one, file.shape, sizes)
        return
    unknown = sorted({n for size in one.shape for n in size.names()} - sizes.keys())
    if not unknown:
        return
    known = {name: Poly.const(number) for name, number in sizes.items()}
    rest = Poly.product(size for size in one.shape if not size.names() & set(unknown)).subst(known)
    row = (rest.constant or 0) * BYTES[meaning.element]
    named = [size for size in one.shape if size.names() & set(unknown)]
    if len(named) > 1:
        shape = " Of ".join(map(str, one.shape))
        raise InputError(
            f"The length of `{file.name}` does not determine {' and '.join(unknown)} of {shape}.",
            hint="Write numbers into the program, or give the data as an `.npy` file.",
        )
    if not row or file.bytes % row:
        raise InputError(
            f"`{file.name}` has {file.bytes} bytes, which is not a multiple of a row of "
            f"{row} bytes.",
            hint="It is shorter than it was, or has elements of another type.",
        )
    sizes[unknown[0]] = file.bytes // row


def _fits(file: _File, one: t.Source, element: Prim) -> None:
    """Check that a file has as many bytes as its shape requires."""
    count = Poly.product(one.shape).constant
    assert count is not None
    wanted = count * BYTES[element]
    if wanted != file.bytes:
        shape = " Of ".join(map(str, one.shape))
        which = "shorter" if file.bytes < wanted else "longer"
        raise InputError(
            f"`{file.name}` is {which} than claimed: {shape} elements of type {element} are "
            f"{wanted} bytes, and the file has {file.bytes}."
        )


@dataclass(slots=True)
class _Run:
    """A run: its files, inputs, and the results of its sinks so far."""

    options: Options
    meaning: Meaning
    files: dict[str, _File]
    inputs: dict[str, Value]
    seconds: float
    window_bytes: int
    stage: SinkValues
    found: dict[str, Value] = field(default_factory=dict)
    told: Streamed = field(default_factory=lambda: Streamed([]))

    def result(self) -> Streamed:
        """Run all readings in turn and combine their results."""
        for one in self.stage.made.readings:
            self.read(one)
            self.told.readings += 1
        program = self.stage.program()
        text, spans = self.compiled(program)
        args = [self.input(one) for one in program.sources]
        with _placed(spans):
            self.told.values = runner.run_c(text, "main", args, self.seconds).values
        return self.told

    def input(self, one: t.Source) -> Value:
        """Return an input that is not a window."""
        return self.found[one.name] if one.name in self.found else self.inputs[one.name]

    def compiled(self, program: Meaning) -> tuple[Any, Sequence[Any]]:
        """Return the C text of a program, and the places of the lines of its Futhark text."""
        made = flatpack.translate(program)
        options = replace(self.options, main="", entry="", target="c", files=())
        with _placed(made.spans):
            return Compilation(made.text, options).result("c").text, made.spans

    def read(self, reading: Reading) -> None:
        """Make one pass over the data."""
        chunk = Chunk(self.stage, reading)
        program = chunk.program()
        rows = reading.sinks[0].rows.constant
        assert rows is not None
        total = rows // reading.per_step
        row_bytes = {}
        for one in self.meaning.sources:
            if id(one) in reading.demands:
                inner = Poly.product(one.shape[1:]).constant or 0
                row_bytes[one.name] = inner * BYTES[self.meaning.element], reading.demands[id(one)]
        each = sum(size * demand.step for size, demand in row_bytes.values())
        at_once = max(1, min(total, self.window_bytes // max(1, each)))
        at_once = max(at_once, -(-total // MOST_STEPS))
        numbers = {name: k for k, name in enumerate(self.files)}
        steps: list[list[Value | WindowOf]] = []
        for first in range(0, total, at_once):
            count = min(at_once, total - first)
            step: list[Value | WindowOf] = [np.int64(count), np.int64(first)]
            here = 0
            for one in program.sources:
                if one.name not in chunk.whole:
                    step.append(self.input(one))
                    continue
                name = chunk.whole[one.name]
                size, demand = row_bytes[name]
                low, need = demand.low.constant, demand.rows.constant
                assert low is not None
                assert need is not None
                begin = (demand.step * first + low) * size
                part = (demand.step * (count - 1) + need) * size
                here += part
                step.append(WindowOf(numbers[name], self.files[name].begins + begin, part))
            self.told.largest_window = max(self.told.largest_window, here)
            self.told.read_bytes += here
            steps.append(step)
        self.told.windows += len(steps)
        given = self.parts(program, steps)
        for k, sink in enumerate(reading.sinks):
            parts = [np.asarray(one[k]) for one in given]
            folds = sink.folds
            axis = 0 if folds else self.stage.made.axes[id(sink.term)]
            if not parts:
                empty = np.empty([*self.empty(sink.term, folds)], DTYPE[self.meaning.element])
                whole = empty
            else:
                whole = np.stack(parts) if folds else np.concatenate(parts, axis)
            self.stage.give(sink, whole.shape)
            self.found[self.stage.sources[id(sink.term)].name] = whole

    def empty(self, term: t.Term, folds: bool) -> Iterable[int]:
        """Return the shape of a result to which no window has contributed."""
        shape = [size.constant or 0 for size in term.shape]
        return [0, *shape] if folds else shape

    def parts(self, program: Meaning, steps: list[list[Value | WindowOf]]) -> list[list[Any]]:
        """Run a program for all steps; return their results."""
        if not steps:
            return []
        text, spans = self.compiled(program)
        files = [file.fd for file in self.files.values()]
        with _placed(spans):
            given, took = runner.stream_c(text, "main", steps, files, self.seconds)
        self.told.ms += took.ms
        self.told.peak_bytes = max(self.told.peak_bytes, took.peak_bytes)
        return given


@contextlib.contextmanager
def _placed(spans: Sequence[Any]) -> Iterator[None]:
    """Move errors to their places in the FlatPack program."""
    try:
        yield
    except CompileError as error:
        if isinstance(error, RuntimeError_) and 0 < error.span.line <= len(spans):
            error.span = spans[error.span.line - 1]
        raise
