"""Plot lines as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from compiler.base.errors import InputError
from compiler.ir.values import Value

_COLOURS = ("#0b62a4", "#b8430f", "#23772f", "#8a2e8a", "#7a6400", "#0a7373")
_MARGIN, _TOP = 60, 14
_MOST = 100_000
"""Points of a line that are drawn; of longer ones every n-th point is."""
_LARGEST = 4000
"""Largest width or height, in pixels."""


def svg(series: Sequence[tuple[str, Value, Value]], width: int, height: int) -> str:
    """Plot lines by name, each with its x and y. Raises InputError."""
    if not (100 <= width <= _LARGEST and 100 <= height <= _LARGEST):
        raise InputError(f"A plot is 100 to {_LARGEST} pixels wide and high.")
    lines = [(name, *_finite(x, y)) for name, x, y in series]
    across = _Axis.of([x for _, x, _ in lines], _MARGIN, width - _TOP)
    up = _Axis.of([y for _, _, y in lines], height - 30, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for tick in across.ticks():
        at = across.at(tick)
        parts.append(f'<path d="M{at:.1f} {_TOP}V{height - 30}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{height - 12}" text-anchor="middle">{tick:.6g}</text>')
    for tick in up.ticks():
        at = up.at(tick)
        parts.append(f'<path d="M{_MARGIN} {at:.1f}H{width - _TOP}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{_MARGIN - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:.6g}</text>'
        )
    for number, (name, x, y) in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(f"{across.at(a):.1f},{up.at(b):.1f}" for a, b in zip(x, y, strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        if name:
            spot = f'x="{width - _TOP - 6}" y="{_TOP + 16 * (number + 1)}" text-anchor="end"'
            parts.append(f'<text {spot} fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"])


def _finite(x: Value, y: Value) -> tuple[list[float], list[float]]:
    """Return the points that can be drawn."""
    if any(one.dtype.kind not in "iuf" for one in (x, y)):
        raise InputError("The points of a line are numbers.")
    step = max(1, math.ceil(x.size / _MOST))
    a, b = (np.asarray(one, np.float64)[::step] for one in (x, y))
    seen = np.isfinite(a) & np.isfinite(b)
    return a[seen].tolist(), b[seen].tolist()


class _Axis:
    """A linear map from numbers to pixels."""

    def __init__(self, low: float, high: float, first: float, last: float) -> None:
        self.low, self.high, self.first, self.last = low, high, first, last

    @classmethod
    def of(cls, numbers: Sequence[Sequence[float]], first: float, last: float) -> _Axis:
        every = [number for one in numbers for number in one] or [0.0]
        low, high = min(every), max(every)
        if low == high:
            low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
        return cls(low, high, first, last)

    def at(self, number: float) -> float:
        """Return the pixel of a number."""
        part = number / (self.high - self.low) - self.low / (self.high - self.low)
        return self.first + part * (self.last - self.first)

    def ticks(self) -> list[float]:
        """Return about five round numbers on the axis."""
        rough = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough)
        first = math.ceil(self.low / step)
        return [step * k for k in range(first, math.floor(self.high / step) + 1)]
