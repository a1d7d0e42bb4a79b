"""What was seen of a run: problems, and for each access what its requests cost.

A request is what the threads of a warp that are in the same iteration of all loops ask for at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from compiler.base.dataclass import dataclass
from compiler.base.errors import RuntimeError_
from compiler.codegen.cuda.program import split, widened
from compiler.codegen.cuda.runtime import NEXT
from compiler.ir import values
from compiler.runtime.cuda_device import Device, TooWide, about, run_on
from compiler.runtime.gpu_errors import DeviceError
from compiler.runtime.observer import build
from compiler.runtime.observer.gpu import ObservedGpus
from compiler.runtime.runs import Value

Kind = Literal["reads", "writes", "both"]
_KINDS: tuple[Kind, ...] = ("reads", "writes", "both")
Order = Literal["ascending", "descending", "random"]
ORDERS: tuple[Order, ...] = ("ascending", "descending", "random")
LATE = "the deadline has passed"
UNWRITTEN = "The host reads a cell that nothing has written."


@dataclass(frozen=True, slots=True)
class Sample:
    """A request: the byte of its block of memory that each lane touches, -1 for a lane that rests.

    `step` is the number of the request among those of the warp, from 0.
    """

    warp: int
    step: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """An access of the text, by its line, from 1, over all launches.

    `visits` of threads, of `size` bytes, in so many `requests`, which touch `bytes` different ones
    each, added up. Of global memory `sectors` of 32 bytes are fetched, where `fewest` would do for
    as many bytes; of shared memory `passes` are made over the banks, and `least` would do.
    `partial`: only the first requests of a block of threads were taken apart.
    """

    line: int
    shared: bool
    kind: Kind
    partial: bool
    size: int
    visits: int
    requests: int
    lanes: int
    bytes: int
    sectors: int
    fewest: int
    passes: int
    least: int
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What no program may do on a device: how often, in which line, and who did it first."""

    says: str
    line: int
    count: int
    block: int
    thread: int


@dataclass(frozen=True, slots=True)
class Observation:
    """A run that was watched: also its launches, with their blocks of threads, in order.

    `barriers` tells how often all threads of a block came to that in each line. `results` are
    None where it did not come to its end, because of a problem or, `error`, a check that failed.
    `copied`: bytes that the host had copied from one block of memory of the device to another.
    """

    results: list[values.Value] | None
    error: RuntimeError_ | None
    problems: tuple[Finding, ...]
    sites: tuple[Site, ...]
    barriers: dict[int, int]
    launches: tuple[tuple[str, int], ...]
    copied: int = 0


@dataclass(frozen=True, slots=True)
class Raw:
    """What the process in which the kernels run tells; `report` is that of `watch.cpp`."""

    results: list[values.Value] | None
    error: RuntimeError_ | None
    report: str
    launches: list[tuple[str, int]]


def observe(
    code: str,
    entry: str,
    given: Sequence[Value],
    order: Order = "ascending",
    records: bool = True,
    seconds: float = 60.0,
    without: int = 0,
) -> Observation:
    """Run an entry point of a CUDA text of ours in this process, and watch it.

    The barrier in line `without` is skipped: what is wrong then is what it is there for.
    Raises UsageError for values that do not fit, or where there is no C++ compiler.
    """
    texts, watch = split(code)[0], _driver()
    for wide in (False, True):
        kernels = build.library(widened(texts) if wide else texts)
        image = kernels.read_bytes()
        with suppress(TooWide):
            raw = run(watch, image, code, entry, given, order, records, seconds, without, wide=wide)
            break
    return read(raw, kernels)


@cache
def _driver() -> str:
    """The driver of this process: a second one, from elsewhere, would be asked in its place."""
    return str(build.driver())


def run(
    watch: str,
    image: bytes,
    code: str,
    entry: str,
    given: Sequence[Value],
    order: Order,
    records: bool,
    seconds: float,
    without: int = 0,
    wide: bool = False,
) -> Raw:
    """The run, with kernels that are compiled and the driver that watches; not yet read.

    Raises TooWide where indices need 64 bits, unless the kernels are `wide`.
    """
    found = ObservedGpus(watch)
    library = found.library.handle
    library.observer_report.restype = ctypes.c_char_p
    library.observer_begin(ORDERS.index(order), int(records), ctypes.c_double(seconds), without)
    gpu = found.open()
    device = Device(gpu, image, about(code), gpu.free_bytes(), wide)
    results, error = None, None
    try:
        results = run_on(device, code, entry, given).values
    except DeviceError:
        pass  # a kernel was left before its end: the report says why
    except RuntimeError_ as problem:
        error = problem
    finally:
        report = library.observer_report().decode()
        device.close()
    return Raw(results, error, report, device.launches)


def read(raw: Raw, kernels: Path) -> Observation:
    """What was seen, by the lines of the text; accesses to what no line of a kernel names are out.

    Those are the accesses of what reports a failed check.
    """
    rows = [line.split(" ", 5) for line in raw.report.splitlines()]
    lines = build.places(kernels, sorted({int(row[1]) for row in rows}))
    barriers = {-int(row[1]): int(row[2]) for row in rows if row[0] == "barrier"}
    (copied,), (launched,) = (
        [int(row[2]) for row in rows if row[0] == what] for what in ("copied", "launched")
    )
    # What was asked for may have ended before; the count of rounds is no kernel of the program.
    launches = tuple(one for one in raw.launches[:launched] if one[0] != NEXT)
    problems, sites, samples = [], dict[int, Site](), dict[int, list[Sample]]()
    for kind, place, *rest in rows:
        at = int(place)
        if kind == "problem":
            count, block, thread, says = rest
            if raw.error is not None and says == UNWRITTEN:
                continue  # it is read at once with the flag of the check that failed
            problems.append(Finding(says, lines[at], int(count), int(block), int(thread)))
        elif kind == "site":
            shared, partial, what, more = rest
            kinds = lines[at], shared == "1", _KINDS[int(what)], partial == "1"
            size, *counts = map(int, more.split(" "))
            sites[at] = Site(*kinds, size, *counts)  # type: ignore[arg-type]
        elif kind == "sample":
            warp, step, first, more = rest
            lanes = tuple(map(int, (first, *more.split(" "))))
            samples.setdefault(at, []).append(Sample(int(warp), int(step), lanes))
    found = (replace(s, samples=tuple(samples.get(at, ()))) for at, s in sites.items() if s.line)
    return Observation(
        *(raw.results, raw.error, tuple(problems), tuple(found), barriers, launches),
        copied=copied,
    )
