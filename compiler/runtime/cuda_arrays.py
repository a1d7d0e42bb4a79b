"""Programs over arrays that lie on a GPU already, as those of CuPy, in the process that has them.

An array is whatever has `__cuda_array_interface__` (version 2 or 3 of it); results have it too, so
that `cupy.asarray` makes an array of CuPy's of one without a copy. The device's primary context is
used, as CuPy does, and its default stream.

Nothing protects the process here: what a program does wrong on the device ends its context.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from contextlib import suppress
from operator import index
from typing import Any

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.text import Text, plain
from compiler.codegen.cuda.program import split, widened
from compiler.codegen.signature import Plain, choose_entry
from compiler.ir import values
from compiler.runtime.cuda_device import Device, DeviceBlock, TooWide, about, host_functions
from compiler.runtime.cuda_driver import Driver, Gpu
from compiler.runtime.device_process import GPUS, Toolkit
from compiler.runtime.runs import Cells, arguments, fitting, results, sizes_of

INTERFACE = "__cuda_array_interface__"
VERSIONS = (2, 3)
ORDERED = (None, 1)
"""Streams of an array whose writes come before what the default stream does."""
_DEVICE_ORDINAL = 9
"""An attribute of addresses, by the number that CUDA's headers give it."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What an array's interface says; `constant`: nobody may write to it."""

    address: int
    constant: bool
    shape: tuple[int, ...]
    kind: np.dtype[np.generic]
    strides: tuple[int, ...]
    stream: int | None
    masked: bool

    @property
    def together(self) -> bool:
        """Whether the elements lie next to each other, row by row; one of a kind has no step."""
        steps = zip(self.shape, self.strides, row_major(self.shape, self.kind), strict=True)
        return not self.masked and (0 in self.shape or all(n == 1 or s == w for n, s, w in steps))


class Borrowed(DeviceBlock):
    """Cells that somebody else has, who is kept as long as they are used."""

    def __init__(self, device: Device, told: _Told, count: int, owner: object) -> None:
        self.device, self.count, self.owner = device, count, owner
        self.address, self.constant, self.dtype = told.address, told.constant, told.kind
        self.bytes = count * told.kind.itemsize
        device.made += 1
        self.serial = device.made

    def __del__(self) -> None:
        """They are not ours to give back."""


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array on the device, row-major; read-only if it is an input that was."""

    block: DeviceBlock
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3: whoever reads it on another stream waits for the default one first."""
        size = math.prod(self.shape)
        where = self.block.address if size else 0
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (where, self.block.constant),
            "strides": None,
            "stream": 1,
            "version": 3,
        }

    def reshape(self, shape: Sequence[int]) -> DeviceArray:
        """The same cells in another shape."""
        return DeviceArray(self.block, tuple(shape), self.dtype)

    def get(self) -> Cells:
        """A copy for the host."""
        device = self.block.device
        with device.gpu.current():
            found = device.taken(self.block, math.prod(self.shape), self.dtype)
            device.gpu.wait()
        return found.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class _Given:
    """An input: where it lies, and what is known of it without reading it."""

    told: _Told
    shape: tuple[int, ...]
    owner: object
    unique: bool

    def reshape(self, _: int) -> _Given:
        """Its cells in order, which they are in."""
        return self


class DeviceProgram:
    """A CUDA text of ours, whose entry points are called with arrays of this process's device.

    `number` is the device's among those that are visible. Raises UsageError where there is none.
    """

    def __init__(self, code: str | Text, number: int = 0, toolkit: Toolkit = GPUS) -> None:
        self.code = code if isinstance(code, str) else plain(code)
        self.toolkit, self.driver = toolkit, Driver(str(toolkit.driver))
        before = self.driver.number("cuCtxGetCurrent")
        self.found, self.gpu = self.driver.about(number), Gpu(self.driver, number)
        self.device = self.opened(False)
        if before:  # the device that the user's own calls are about
            self.driver("cuCtxSetCurrent", before)
        self.functions = host_functions(self.code)

    def opened(self, wide: bool) -> Device:
        """The device, with kernels whose indices are `wide` or not."""
        kernels = split(self.code)[0]
        text = widened(kernels) if wide else kernels
        image = self.toolkit.image(text, self.found.capability, self.found.driver)
        return Device(self.gpu, image.read_bytes(), about(self.code), self.gpu.free_bytes(), wide)

    def run(self, entry: str, given: Sequence[Any]) -> list[DeviceArray | values.Value]:
        """The results of an entry point: arrays on the device, and NumPy's scalars.

        Inputs are arrays of the device, of NumPy, or numbers. None of them is overwritten; a result
        may be one of them. Raises UsageError for values that do not fit, and what a run raises.
        """
        with self.gpu.current():
            return self._run(entry, given)

    def _run(self, entry: str, given: Sequence[Any]) -> list[DeviceArray | values.Value]:
        chosen = choose_entry(self.device.about, entry)
        takes = chosen["takes"]
        if len(given) != len(takes):
            told = f"takes {len(takes)} values, not {len(given)}"
            raise UsageError(f"The entry point `{chosen['name']}` {told}.")
        numbered = enumerate(zip(takes, given, strict=True), 1)
        arrays = [
            self.given(taken, value, k) if hasattr(value, INTERFACE) else fitting(taken, value, k)
            for k, (taken, value) in numbered
        ]
        sizes = sizes_of(chosen, arrays)
        function = self.functions[chosen["symbol"]]
        outcome: Any = None
        try:
            with suppress(TooWide):
                outcome = self.device.call(function, arguments(chosen, arrays, sizes, self.block))
            if outcome is None:
                self.gpu.wait()
                self.device.close()
                self.device = self.opened(True)
                outcome = self.device.call(function, arguments(chosen, arrays, sizes, self.block))
        except RuntimeError_:
            self.device.forgive()
            raise
        return results(chosen, outcome, sizes, lambda b, n, kind: DeviceArray(b, (n,), kind))

    def given(self, taken: Plain, value: Any, number: int) -> _Given:
        """An array of the device. Raises UsageError if it is not what the entry point takes."""
        told = _told(value, number)
        shape, kind = told.shape, told.kind
        if taken["shape"] is None or len(taken["shape"]) != len(shape):
            kind_of = (
                "a number" if taken["shape"] is None else f"of {len(taken['shape'])} dimensions"
            )
            raise UsageError(f"Input {number} must be {kind_of}, not of {len(shape)} dimensions.")
        if kind != DTYPE[taken["prim"]]:
            raise UsageError(
                f"Input {number} must be of type {taken['prim']}, not {kind.name}.",
                hint=f'Convert it on the device: `.astype("{DTYPE[taken["prim"]].name}")`.',
            )
        if not told.together:
            raise UsageError(
                f"Input {number} is not row-major with all of its elements next to each other.",
                hint="Copy it on the device: `cupy.ascontiguousarray`.",
            )
        if 0 not in shape:
            self.check_place(told.address, number)
        if told.stream not in ORDERED:
            self.gpu.driver("cuStreamSynchronize", told.stream)
        return _Given(told, shape, value, taken["unique"])

    def check_place(self, address: int, number: int) -> None:
        """Raise UsageError unless that is an address of this device."""
        place = ctypes.c_int()
        asked = "cuPointerGetAttribute", ctypes.byref(place), _DEVICE_ORDINAL, address
        if self.driver.asked(*asked) or place.value != self.gpu.handle:
            raise UsageError(
                f"Input {number} is not in the memory of the device of this program.",
                hint="Copy it there; `DeviceProgram(text, number)` chooses another device.",
            )

    def block(self, array: Cells | _Given) -> DeviceBlock:
        """Where an input's cells are; a copy of those that the program may overwrite."""
        if not isinstance(array, _Given):
            return self.device.given(array)
        count = math.prod(array.shape)
        there = Borrowed(self.device, array.told, count, array.owner)
        if not array.unique:
            return there
        made = DeviceBlock(self.device, count, there.dtype)
        self.device.copy(made, 0, there, 0, count)
        return made


def _told(value: object, number: int) -> _Told:
    """What an array tells of itself, read once. Raises UsageError for what makes no sense."""
    told = getattr(value, INTERFACE)
    try:
        shape, kind = tuple(map(index, told["shape"])), np.dtype(told["typestr"])
        address, constant = told["data"]
        steps = told.get("strides")
        strides = row_major(shape, kind) if steps is None else tuple(map(index, steps))
        stream = told.get("stream") if told["version"] == 3 else None
        masked = told.get("mask") is not None
        made = _Told(index(address), bool(constant), shape, kind, strides, stream, masked)
        fits = len(strides) == len(shape) and min(shape, default=0) >= 0
        known = stream is None or index(stream) > 0
    except (KeyError, TypeError, ValueError, AttributeError):
        fits = False
    if not fits or told["version"] not in VERSIONS or not known or address % kind.itemsize:
        raise UsageError(
            f"Input {number} has no `{INTERFACE}` of version 2 or 3 that makes sense.",
            hint="A shape, a type, an aligned address and, of version 3, a stream other than 0.",
        )
    return made


def row_major(shape: tuple[int, ...], kind: np.dtype[np.generic]) -> tuple[int, ...]:
    """Steps in bytes."""
    return tuple(kind.itemsize * math.prod(shape[at + 1 :]) for at in range(len(shape)))
