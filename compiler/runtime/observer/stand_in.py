"""As much of CuPy as the host's program of a CUDA text needs, over kernels that are watched."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from compiler.base.errors import CompilerBug

ORDERS = ("ascending", "descending", "random")
Order = Literal["ascending", "descending", "random"]
MOST_BYTES = 1 << 30
"""Of one block of memory: all of it is filled with random bytes, and has its shadow."""
ALIGNED = 256
"""Bytes that an address of a device's block of memory is a multiple of."""


class Stopped(Exception):
    """A kernel was left before its end."""


class Fault(CompilerBug):
    """What no program may do on a device."""


class Cells:
    """A block of memory of the device, or a part of one."""

    def __init__(self, device: StandIn, cells: Any) -> None:
        self.device, self.cells = device, cells

    @property
    def pointer(self) -> ctypes.c_void_p:
        """Its address."""
        return ctypes.c_void_p(self.cells.ctypes.data)

    def __getitem__(self, at: int | slice) -> Any:
        """A cell, which must have been written; or a part."""
        if isinstance(at, slice):
            return Cells(self.device, self.cells[at])
        return Cells(self.device, self.cells[at : at + 1]).get()[0]

    def __setitem__(self, at: int | slice, value: Any) -> None:
        """The host writes a cell, or copies some."""
        part = self.cells[at] if isinstance(at, slice) else self.cells[at : at + 1]
        source = value if isinstance(value, Cells) else None
        part[...] = source.cells if source else value
        come = source.pointer if source else None
        to = ctypes.c_void_p(part.ctypes.data)
        self.device.watch.observer_written(to, come, ctypes.c_longlong(part.nbytes))

    def copy(self) -> Cells:
        """A block of its own with the same contents."""
        made = self.device.block(self.cells.size, self.cells.dtype, True)
        made.cells[...] = self.cells
        return made

    def get(self) -> Any:
        """The contents, all of which must have been written."""
        if not self.device.watch.observer_is_written(
            self.pointer, ctypes.c_longlong(self.cells.nbytes)
        ):
            raise Fault("The host reads a cell that nothing has written.")
        return np.array(self.cells)


class StandIn:
    """The module: memory, and launches of the kernels of a library."""

    float16 = np.float16
    cuda = SimpleNamespace(
        memory=SimpleNamespace(OutOfMemoryError=MemoryError),
        runtime=SimpleNamespace(deviceSynchronize=lambda: None),
    )

    def __init__(
        self,
        watch: str,
        kernels: str,
        order: Order,
        records: bool,
        seconds: float,
        without: int = 0,
    ) -> None:
        self.watch = ctypes.CDLL(watch, mode=ctypes.RTLD_GLOBAL)
        self.kernels = ctypes.CDLL(kernels)
        self.watch.observer_report.restype = ctypes.c_char_p
        edges = []
        for name in ("observer_low", "observer_high"):
            function = getattr(self.kernels, name)
            function.restype = ctypes.c_void_p
            edges.append(ctypes.c_void_p(function()))
        number = ORDERS.index(order)
        until = ctypes.c_double(seconds)
        self.watch.observer_begin(number, int(records), until, without, *edges)
        self.random = np.random.default_rng(number)
        self.launches: list[tuple[str, int]] = []
        self.bytes = 0

    def block(self, count: int, dtype: Any, written: bool) -> Cells:
        """A block with any contents."""
        kind = np.dtype(dtype)
        size = count * kind.itemsize
        if size > MOST_BYTES:
            raise MemoryError
        area = np.frombuffer(bytearray(self.random.bytes(size + 2 * ALIGNED)), np.uint8)
        start = -area.ctypes.data % ALIGNED
        made = Cells(self, area[start : start + size].view(kind))
        self.bytes += size
        length = ctypes.c_longlong(size)
        self.watch.observer_memory(made.pointer, length, kind.itemsize, int(written))
        return made

    def empty(self, count: int, dtype: Any) -> Cells:
        """A block with any contents."""
        return self.block(count, dtype, False)

    def zeros(self, count: int, dtype: Any) -> Cells:
        """A block of zeros."""
        made = self.block(count, dtype, True)
        made.cells[...] = 0
        return made

    def asarray(self, array: Any) -> Cells:
        """What the host gives to the device, with `copy`."""
        return Cells(self, np.asarray(array))

    def RawModule(self, **_: Any) -> StandIn:  # noqa: N802
        """The kernels; they are compiled already."""
        return self

    def compile(self) -> None:
        """Nothing is left to do."""

    def get_function(self, name: str) -> Any:
        """A kernel."""
        function = getattr(self.kernels, f"launch_{name}")

        def start(grid: tuple[int], threads: tuple[int], given: Sequence[Any]) -> None:
            cells = [a.pointer if isinstance(a, Cells) else np.array([a]) for a in given]
            addresses = [
                c.ctypes.data if isinstance(c, np.ndarray) else ctypes.addressof(c) for c in cells
            ]
            pointers = (ctypes.c_void_p * len(cells))(*addresses)
            done = function(ctypes.c_longlong(grid[0]), ctypes.c_int(threads[0]), pointers)
            self.launches.append((name, grid[0]))
            if not done:
                raise Stopped

        return start

    def get_default_memory_pool(self) -> Any:
        """All that was allocated."""
        return SimpleNamespace(total_bytes=lambda: self.bytes)

    def report(self) -> str:
        """What was seen, as `watch.cpp` tells it."""
        said: bytes = self.watch.observer_report()
        return said.decode()
