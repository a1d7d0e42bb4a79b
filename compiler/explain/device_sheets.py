"""Data sheets of GPUs, as far as predictions need them."""

from __future__ import annotations

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DataSheet:
    """A device's data sheet. Rates are totals per second; clocks are those under load."""

    id: str
    name: str
    multiprocessors: int
    clock: float
    """Hz"""
    memory: float
    """bytes a second"""
    second_cache: int
    """bytes"""
    threads: int
    """resident threads of a multiprocessor"""
    shared: int
    """bytes of shared memory of a multiprocessor for them"""
    plain: int
    """f32 operations that a multiprocessor starts per clock"""
    double: int
    """f64 operations that a multiprocessor starts per clock"""
    measured: bool = False
    """True if predictions were compared with measurements on it."""


_KB, _MB = 1 << 10, 1 << 20

SHEETS = (
    DataSheet(
        "h200", "H200", 132, 1.755e9, 4.8e12, 50 * _MB, 2048, 228 * _KB, 128, 64, measured=True
    ),
    DataSheet("h100", "H100 SXM", 132, 1.755e9, 3.35e12, 50 * _MB, 2048, 228 * _KB, 128, 64),
    DataSheet("a100", "A100 80 GB", 108, 1.41e9, 2.04e12, 40 * _MB, 2048, 164 * _KB, 64, 32),
    DataSheet("l4", "L4", 58, 2.04e9, 0.3e12, 48 * _MB, 1536, 100 * _KB, 128, 2),
    DataSheet("rtx4090", "RTX 4090", 128, 2.52e9, 1.008e12, 72 * _MB, 1536, 100 * _KB, 128, 2),
)
BY_ID = {sheet.id: sheet for sheet in SHEETS}
