"""Read the records of an observed run: problems, and the cost of each access.

A request is the simultaneous access by those threads of a warp in the same iteration of all loops.
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
    """A request: the byte of its block that each lane touches, -1 for an inactive lane.

    `step` is the number of the request among those of the warp, from 0.
    """

    warp: int
    step: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """An access of the text, by its line, from 1, over all launches.

    `visits` of threads, of `size` bytes, in so many `requests`, which touch `bytes` distinct ones
    each, added up. In global memory `sectors` of 32 bytes are fetched, where `fewest` would do
    for as many bytes; in shared memory there are `passes` over the banks, where `least` would
    suffice. `partial`: only the first requests of a block of threads were analysed.
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
    """Undefined behaviour: its count, its line, and the first thread."""

    says: str
    line: int
    count: int
    block: int
    thread: int


@dataclass(frozen=True, slots=True)
class Observation:
    """An observed run, with its launches and their blocks of threads, in order.

    `barriers` counts, by line, arrivals of all threads of a block. `results` are
    None where it did not finish, because of a problem or a failed check (`error`).
    `copied`: bytes of copies between blocks of device memory.
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
    """The raw output of the process that ran the kernels; `report` is that of `watch.cpp`."""

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
    """Run an entry point of a generated CUDA text in this process under observation.

    The barrier in line `without` is skipped, to see the race that it prevents. Raises UsageError
    for values that do not fit, or where there is no C++ compiler.
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
    """Return the driver of this process; a second one from another path would be shadowed by it."""
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
    """Run compiled kernels under the observing driver; return raw records.

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
    """Parse the records by lines of the text; drop accesses outside kernel lines.

    Those belong to the report of a failed check.
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
