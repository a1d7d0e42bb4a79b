"""Predict the time of kernels on a device that is not at hand.

Note [Predicted times]. A kernel's bottleneck decides its time: bytes of the device's
memory, of its L2 cache, requests to the L1 cache and to shared memory, instructions, atomic
operations, memory latency of warps. Each of them is counted (`warps.Spent`) and
divided by the device's rate. Several that are about equal take longer than one: their norm of order
OVERLAP is taken. Reads of a block of memory are served from the L2 cache where kernels
have used it within as many bytes as that holds.

The factors of `Rates` were fitted to half of 53 programs of futhark-benchmarks on an H200, and
compared with the other half: `python -m bench.foretold` prints their error. On devices that
were not measured they are taken to be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.codegen.kernels.nodes import WARP
from compiler.explain.device_sheets import DataSheet
from compiler.explain.predictions import Prediction, Work
from compiler.explain.requests import SECTOR
from compiler.explain.warp_work import Traffic


@dataclass(frozen=True, slots=True)
class Rates:
    """Fractions of a data sheet's rates that our kernels reach, and rates outside data sheets."""

    memory: float = 0.67
    wide_memory: float = 0.83
    """the same where threads ask for 16 bytes at once: what CUB and PyTorch reach; none of ours has
    been measured"""
    copies: float = 0.75
    second_cache: float = 31.0
    """bytes that a multiprocessor receives per clock"""
    first_cache: float = 0.59
    """requests of a multiprocessor, or groups of four sectors, per clock"""
    banks: float = 0.54
    """passes over the banks of shared memory per clock"""
    instructions: float = 0.95
    whole: float = 0.47
    """cost of a warp's integer instruction, relative to those that a unit of 64 lanes starts per \
clock"""
    special: float = 1.45
    """clocks of a warp's special function"""
    request: float = 1.6
    """instructions per request"""
    busy_warps: float = 12.5
    """warps of a multiprocessor that saturate its units"""
    fed_warps: float = 23.0
    """warps of a multiprocessor that saturate the memory"""
    atomics: float = 70e9
    """of all threads, per second"""
    shared_atomics: float = 0.62
    """clocks of a thread's atomic operation in shared memory"""
    wait: float = 456e-9
    """latency of a request, in seconds"""
    requests: float = 3.4
    """outstanding requests of a warp"""
    first_wait: float = 0.47
    barrier: float = 39e-9
    again: float = 0.15
    """fraction of repeated requests that miss the L2 cache when the block does not fit"""
    small: int = 100_000
    """bytes of a block that stays in the L1 cache"""
    small_times: float = 2.3
    """times that each multiprocessor fetches such a block"""
    held: float = 0.8
    """usable fraction of the L2 cache"""
    launch: float = 1.94e-6
    host_reads: float = 11.75e-6
    run: float = 21.4e-6
    """seconds of a run without launches"""


RATES = Rates()
OVERLAP = 3.15
MOST_BLOCKS = 32
"""Resident blocks of threads per multiprocessor."""
RESERVED = 1 << 10
"""Bytes of shared memory that the device reserves per block of threads."""


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of all launches of a kernel, and of each bound by itself."""

    seconds: float
    launches: int
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def bound(self) -> str:
        """Name the bottleneck."""
        if not self.parts or max(self.parts.values()) < self.launches * RATES.launch:
            return "launches"
        return max(self.parts, key=lambda name: self.parts[name])


def of_kernel(work: Work, sheet: DataSheet, rates: Rates = RATES) -> Time:
    """Predict the time of a kernel's launches on a device."""
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
        wide = traffic.wide / traffic.sectors if traffic.sectors else 0.0
        rate = wide / rates.wide_memory + (1 - wide) / rates.memory
        memory, cache = memory + from_memory * rate, cache + from_cache
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
        "memory": memory / (sheet.memory * fed),
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
    """Return bytes that all launches move of a block: from device memory, and from the L2 cache."""
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
    """Predict the seconds of a run on a device, and of each kernel."""
    times = {name: of_kernel(work, sheet, rates) for name, work in found.works.items()}
    copies = sum(2 * size / (sheet.memory * rates.copies) + rates.launch for size in found.copies)
    waits = rates.run + found.reads * rates.host_reads
    return waits + copies + sum(one.seconds for one in times.values()), times
