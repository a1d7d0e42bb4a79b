"""How long a program's kernels take on a device that is not at hand.

Note [Times that are foretold]. A kernel takes as long as what it has most of: bytes of the device's
memory, of its second cache, requests to the first cache and to shared memory, instructions, atomic
operations, waits of a warp for what it has asked for. Each of them is counted (`warps.Spent`) and
divided by the device's rate. Several that are about equal take longer than one: their norm of order
OVERLAP is taken. What a kernel asks of a block of memory comes from the second cache where kernels
have had it within as many bytes as that holds.

The factors of `Rates` were fitted to half of 53 programs of futhark-benchmarks on an H200, and
compared with the other half: `python -m bench.foretold` tells how far off they are. On devices that
were not measured they are taken to be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.codegen.kernels.nodes import WARP
from compiler.explain.device_sheets import DataSheet
from compiler.explain.predictions import Prediction, Work
from compiler.explain.spent import Traffic
from compiler.explain.warps import SECTOR


@dataclass(frozen=True, slots=True)
class Rates:
    """What of a data sheet's rates kernels of ours reach, and what data sheets do not tell."""

    memory: float = 0.67
    copies: float = 0.75
    second_cache: float = 31.0
    """bytes that a multiprocessor gets in a clock"""
    first_cache: float = 0.59
    """requests of a multiprocessor, or four sectors, in a clock"""
    banks: float = 0.54
    """passes over the banks of shared memory in a clock"""
    instructions: float = 0.95
    whole: float = 0.47
    """a warp's instruction on whole numbers, in those that a unit of 64 lanes begins in a clock"""
    special: float = 1.45
    """a warp's special function, in clocks"""
    request: float = 1.6
    """instructions that a request takes"""
    busy_warps: float = 12.5
    """warps of a multiprocessor that keep its units busy"""
    fed_warps: float = 23.0
    """warps of a multiprocessor that keep the memory busy"""
    atomics: float = 70e9
    """of all threads, in a second"""
    shared_atomics: float = 0.62
    """clocks of a thread's atomic operation in shared memory"""
    wait: float = 456e-9
    """for a request, in seconds"""
    requests: float = 3.4
    """that a warp has under way at once"""
    first_wait: float = 0.47
    barrier: float = 39e-9
    again: float = 0.15
    """of what is asked for again, as it does not fit the second cache"""
    small: int = 100_000
    """bytes of a block that stays in the first cache"""
    small_times: float = 2.3
    """how often each multiprocessor fetches such a block"""
    held: float = 0.8
    """of the second cache"""
    launch: float = 1.94e-6
    host_reads: float = 11.75e-6
    run: float = 21.4e-6
    """what a run takes that launches nothing"""


RATES = Rates()
OVERLAP = 3.15
MOST_BLOCKS = 32
"""Blocks of threads that a multiprocessor holds at once."""
RESERVED = 1 << 10
"""Bytes of shared memory that the device takes for a block of threads."""


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of all launches of a kernel, and of each bound by itself."""

    seconds: float
    launches: int
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def bound(self) -> str:
        """What it is bound by, in words."""
        if not self.parts or max(self.parts.values()) < self.launches * RATES.launch:
            return "launches"
        return max(self.parts, key=lambda name: self.parts[name])


def of_kernel(work: Work, sheet: DataSheet, rates: Rates = RATES) -> Time:
    """What the launches of a kernel take on a device."""
    launches = max(1, work.launches)
    blocks, each = work.blocks / launches, work.threads / max(1, work.blocks)
    multiprocessors = max(1.0, min(sheet.multiprocessors, blocks))
    fit = min(
        sheet.threads // max(WARP, round(each)),
        MOST_BLOCKS,
        sheet.shared // (work.shared + RESERVED),
    )
    fit = max(1, fit)
    warps = min(blocks / multiprocessors, fit) * each / WARP
    fed = min(1.0, warps * multiprocessors / (sheet.multiprocessors * rates.fed_warps))
    busy = min(1.0, warps / rates.busy_warps)
    memory = cache = 0.0
    for name, traffic in work.spent.traffic.items():
        from_memory, from_cache = _bytes(traffic, work, name, multiprocessors, sheet, rates)
        memory, cache = memory + from_memory, cache + from_cache
    asked = sum(one.requests for one in work.spent.traffic.values())
    first = sum(max(one.requests, one.sectors / 4) for one in work.spent.traffic.values())
    atomics = sum(one.atomic for one in work.spent.traffic.values())
    plain, whole, double, special = (float(one) for one in work.spent.instructions)
    issued = plain + whole + double + special + rates.request * asked + work.spent.passes
    units = max(
        issued / 4,
        plain * WARP / sheet.plain,
        rates.whole * whole,
        double * WARP / sheet.double,
        rates.special * special,
    )
    turns = max(1.0, blocks / (multiprocessors * fit))
    all_warps = max(1.0, work.threads / WARP)
    waits = rates.wait * (rates.first_wait + asked / all_warps / rates.requests)
    waits += rates.barrier * work.spent.barriers / all_warps
    per_clock = sheet.clock * multiprocessors
    parts = {
        "memory": memory / (sheet.memory * rates.memory * fed),
        "the second cache": cache
        / (rates.second_cache * sheet.multiprocessors * sheet.clock * fed),
        "the first cache": first / (rates.first_cache * per_clock),
        "shared memory": work.spent.passes / (rates.banks * per_clock),
        "instructions": units / (rates.instructions * busy * per_clock),
        "atomic operations": atomics / rates.atomics
        + work.spent.atomics * rates.shared_atomics / per_clock,
        "waits": turns * waits * launches,
    }
    total = sum(one**OVERLAP for one in parts.values()) ** (1 / OVERLAP)
    return Time(total + launches * rates.launch, launches, parts)


def _bytes(
    traffic: Traffic, work: Work, name: str, multiprocessors: float, sheet: DataSheet, rates: Rates
) -> tuple[float, float]:
    """What all launches move of a block of memory: from the device's memory, and from its cache."""
    had = work.memory.get(name, [])
    missed = traffic.missed * SECTOR
    if not had:
        return missed, missed
    room = rates.held * sheet.second_cache
    size = sum(of for of, _ in had) / len(had)
    cold = sum(distance < 0 or distance > room for _, distance in had) / len(had)
    whole = size * len(had)
    once = min(missed, whole) if whole else missed
    again = 0.0 if size <= room else rates.again * (missed - once)
    if 0 < size <= rates.small:
        missed = min(missed, multiprocessors * len(had) * size * rates.small_times)
    return cold * once + again, missed


def of_run(
    found: Prediction, sheet: DataSheet, rates: Rates = RATES
) -> tuple[float, dict[str, Time]]:
    """Seconds of a run on a device, and of each kernel."""
    times = {name: of_kernel(work, sheet, rates) for name, work in found.works.items()}
    copies = sum(2 * size / (sheet.memory * rates.copies) + rates.launch for size in found.copies)
    waits = rates.run + found.reads * rates.host_reads
    return waits + copies + sum(one.seconds for one in times.values()), times
