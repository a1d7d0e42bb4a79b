"""Run programs on arrays that lie on this process's GPU already, such as CuPy's.

An array is an object with `__cuda_array_interface__`, or DLPack from a GPU; results have both. Work
goes to the caller's stream, CuPy's current one if none is named.

Nothing protects the process here: a fault on the device ends its context.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.prim import INTS
from compiler.base.text import Text, plain
from compiler.codegen.cuda.program import split, widened
from compiler.codegen.signature import Plain, choose_entry
from compiler.ir import values
from compiler.runtime.cuda_device import Device, DeviceBlock, TooWide, about, host_functions
from compiler.runtime.device_process import GPUS, Toolkit
from compiler.runtime.gpu import SharedGpu
from compiler.runtime.interface import ArrayOnGpu, has_dlpack_of_gpu, is_on_gpu, near, told
from compiler.runtime.open_devices import gpus
from compiler.runtime.runs import Cells, arguments, fitting, results, sizes_of

Strided = Callable[[str, tuple[int, ...]], tuple[str, str]]
"""Makes a text, and the name of its entry point, that takes some inputs as cells with strides."""
REMEMBERED = 64
"""Calls, by shapes and integers, whose derived sizes are cached."""
DEFAULT_STREAM = 1
"""The default stream's number in an array interface."""


class Borrowed(DeviceBlock):
    """Cells of another owner, which is kept alive as long as they are used."""

    def __init__(self, device: Device, told: ArrayOnGpu, count: int, owner: object) -> None:
        self.device, self.count, self.owner = device, count, owner
        self.address, self.constant, self.dtype = told.address, told.constant, told.kind
        self.bytes = count * told.kind.itemsize
        device.made += 1
        self.serial = device.made

    def __del__(self) -> None:
        """Do nothing: the cells belong to another owner."""


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """A row-major array on the device; read-only if it is a read-only input."""

    block: DeviceBlock
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    stream: int = DEFAULT_STREAM

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3: a reader on another stream waits for the stream of the run."""
        size = math.prod(self.shape)
        where = self.block.address if size else 0
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (where, self.block.constant),
            "strides": None,
            "stream": self.stream,
            "version": 3,
        }

    def __dlpack__(self, **named: Any) -> Any:
        """Export as a DLPack capsule. Raises BufferError for read-only memory."""
        with self._gpu.current(), self._gpu.on(self.stream):
            return self.exported().__dlpack__(**named)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind of the device and its number, in DLPack's terms."""
        kind, number = self.exported().__dlpack_device__()
        return int(kind), int(number)

    def exported(self) -> Any:
        """Return a CuPy array over the same memory."""
        if self.block.constant:
            raise BufferError("this result is a read-only input")
        return self._gpu.array(self.block.address, self.shape, self.dtype, self.block)

    def reshape(self, shape: Sequence[int]) -> DeviceArray:
        """Return the same cells in another shape."""
        return DeviceArray(self.block, tuple(shape), self.dtype, self.stream)

    def get(self) -> Cells:
        """Copy to the host."""
        device = self.block.device
        with self._gpu.current(), self._gpu.on(self.stream):
            found = device.taken(self.block, math.prod(self.shape), self.dtype)
            device.gpu.wait()
        return found.reshape(self.shape)

    @property
    def _gpu(self) -> SharedGpu:
        gpu: Any = self.block.device.gpu
        return gpu  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Given:
    """An input: its place, and properties known without reading it."""

    told: ArrayOnGpu
    shape: tuple[int, ...]
    owner: object
    unique: bool

    def reshape(self, _: int) -> _Given:
        """Return the cells in order, which they are in already."""
        return self


@dataclass(slots=True)
class _Version:
    """A text, its host functions, and the device with its kernels."""

    code: str
    about: Plain
    functions: dict[str, Any]
    device: Device


class DeviceProgram:
    """A generated CUDA text, whose entry points take arrays of this process's device.

    `number` is the index among visible devices. `strided` makes the texts for inputs that are not
    row-major. Raises UsageError where there is no such device.
    """

    def __init__(
        self,
        code: str | Text,
        number: int = 0,
        toolkit: Toolkit = GPUS,
        strided: Strided | None = None,
    ) -> None:
        self.code = code if isinstance(code, str) else plain(code)
        self.toolkit, self.strided = toolkit, strided
        visible = gpus(str(toolkit.driver or ""), own=False)
        self.cuda = visible.version
        self.gpu = visible.open(number)
        self.versions: dict[tuple[str, tuple[int, ...]], tuple[_Version, str]] = {}
        self.sizes: dict[tuple[Any, ...], dict[str, int]] = {}
        """Derived sizes by entry point, shapes and integers."""
        self.turn = Lock()
        """Serialises runs, which share the failure flag and the landing area."""
        with self.gpu.current():
            self.main = self._version(self.code)

    @property
    def device(self) -> Device:
        """Return the device with the kernels of the text."""
        return self.main.device

    def _version(self, code: str) -> _Version:
        return _Version(code, about(code), host_functions(code), self._opened(code, False))

    def _opened(self, code: str, wide: bool) -> Device:
        """Open the device with kernels, whose indices are `wide` (64 bits) or not."""
        kernels = split(code)[0]
        text = widened(kernels) if wide else kernels
        image = self.toolkit.image(text, self.gpu.capability, self.cuda)
        return Device(self.gpu, image.read_bytes(), about(code), sys.maxsize, wide)

    def run(
        self, entry: str, given: Sequence[Any], out: Sequence[Any] = (), stream: Any = None
    ) -> list[DeviceArray | values.Value]:
        """Run an entry point; return arrays on the device, and NumPy scalars.

        Inputs are arrays of the device, with any strides, arrays of the host, or numbers. None of
        them is overwritten; a result may be one of them. Where `out` has an array for a result,
        that is filled and returned instead. Raises UsageError for values that do not fit, and
        errors of the run.
        """
        with self.turn, self.gpu.current(), self.gpu.on(stream):
            found = self._run(entry, given)
            return [*map(self._filled, out, found, range(len(out))), *found[len(out) :]]

    def _run(self, entry: str, given: Sequence[Any]) -> list[DeviceArray | values.Value]:
        chosen = choose_entry(self.main.about, entry)
        takes = chosen["takes"]
        if len(given) != len(takes):
            told = f"takes {len(takes)} values, not {len(given)}"
            raise UsageError(f"The entry point `{chosen['name']}` {told}.")
        numbered = enumerate(zip(takes, given, strict=True), 1)
        arrays = [
            self._taken(taken, value, k) if is_on_gpu(value) else fitting(taken, near(value), k)
            for k, (taken, value) in numbered
        ]
        sizes = self._sizes(chosen, arrays)
        version = self.main
        apart = _apart(arrays)
        if apart:
            version, name = self._for_strides(entry, apart)
            arrays = _with_steps(chosen, arrays, sizes)
            chosen = choose_entry(version.about, name)
            sizes = self._sizes(chosen, arrays)
        return self._called(version, chosen, arrays, sizes)

    def _sizes(self, chosen: Plain, arrays: Sequence[Any]) -> dict[str, int]:
        """Return the sizes and integers of a call; those of recent calls are cached."""
        key = (
            chosen["name"],
            *(
                one.shape if taken["shape"] is not None else taken["prim"] in INTS and int(one)
                for taken, one in zip(chosen["takes"], arrays, strict=True)
            ),
        )
        if key not in self.sizes:
            if len(self.sizes) == REMEMBERED:
                self.sizes.clear()
            self.sizes[key] = sizes_of(chosen, arrays)
        return self.sizes[key]

    def _called(
        self, version: _Version, chosen: Plain, arrays: Sequence[Any], sizes: dict[str, int]
    ) -> list[DeviceArray | values.Value]:
        """Call an entry point of a version; recompile with wide indices where needed."""
        function = version.functions[chosen["symbol"]]
        outcome: Any = None

        def call() -> Any:
            device = version.device
            return device.call(
                function, arguments(chosen, arrays, sizes, lambda a: self._block(device, a))
            )

        try:
            with suppress(TooWide):
                outcome = call()
            if outcome is None:
                self.gpu.wait()
                version.device.close()
                version.device = self._opened(version.code, True)
                outcome = call()
        except RuntimeError_:
            version.device.forgive()
            raise
        stream = self.gpu.main or DEFAULT_STREAM

        def array(block: DeviceBlock, count: int, kind: np.dtype[np.generic]) -> DeviceArray:
            return DeviceArray(block, (count,), kind, stream)

        return results(chosen, outcome, sizes, array)

    def _for_strides(self, entry: str, apart: tuple[int, ...]) -> tuple[_Version, str]:
        """Return the version for strided inputs with these numbers, and its entry point."""
        if self.strided is None:
            raise UsageError(
                f"Input {apart[0] + 1} is not row-major with all of its elements next to each "
                "other, for which the program has not been compiled.",
                hint="Call it by `stridescope.compile`, or copy it: `cupy.ascontiguousarray`.",
            )
        key = entry, apart
        if key not in self.versions:
            code, name = self.strided(entry, apart)
            self.versions[key] = self._version(code), name
        return self.versions[key]

    def _taken(self, taken: Plain, value: Any, number: int) -> _Given:
        """Read an array's interface. Raises UsageError if it does not fit the entry point."""
        name = f"Input {number}"
        if not hasattr(type(value), "__cuda_array_interface__") and has_dlpack_of_gpu(value):
            value = self.gpu.imported(value)
        found = told(value, name)
        shape, kind = found.shape, found.kind
        if taken["shape"] is None or len(taken["shape"]) != len(shape):
            rank = "a number" if taken["shape"] is None else f"of {len(taken['shape'])} dimensions"
            raise UsageError(f"{name} must be {rank}, not of {len(shape)} dimensions.")
        if kind != DTYPE[taken["prim"]]:
            raise UsageError(
                f"{name} must be of type {taken['prim']}, not {kind.name}.",
                hint=f'Convert it on the device: `.astype("{DTYPE[taken["prim"]].name}")`.',
            )
        self._check_place(found, name)
        if found.stream is not None:
            self.gpu.follow(found.stream)
        return _Given(found, shape, value, taken["unique"])

    def _check_place(self, found: ArrayOnGpu, name: str) -> None:
        """Raise UsageError unless an array is on this device and its strides are whole cells."""
        if 0 not in found.shape and not self.gpu.owns(found.address):
            raise UsageError(
                f"{name} is not in the memory of the device of this program.",
                hint=(
                    "All arrays of a call must be on one device: copy it to the device of "
                    "the first."
                ),
            )
        try:
            if not found.together:
                found.spread()
        except ValueError:
            raise UsageError(
                f"The elements of {name} are not aligned to their size.",
                hint="Copy it on the device: `cupy.ascontiguousarray`.",
            ) from None

    def _block(self, device: Device, array: Cells | _Given) -> DeviceBlock:
        """Return an input's block; a copy if the program may overwrite it."""
        if not isinstance(array, _Given):
            return device.given(array)
        count = math.prod(array.shape)
        there = Borrowed(device, array.told, count, array.owner)
        if not array.unique:
            return there
        made = DeviceBlock(device, count, there.dtype)
        device.copy(made, 0, there, 0, count)
        return made

    def _filled(self, out: Any, found: DeviceArray | values.Value, number: int) -> Any:
        """Copy a result into the caller's array, or return the result if `out` is None."""
        if out is None:
            return found
        name = f"`out` of result {number + 1}"
        if not isinstance(found, DeviceArray):
            raise UsageError(f"{name} must be None: the result is a number.")
        there = told(out, name)
        if (there.shape, there.kind) != (found.shape, found.dtype):
            kinds = f"{found.dtype.name} of shape {found.shape}"
            raise UsageError(f"{name} must be an array of {kinds}.")
        if there.constant or not there.together:
            raise UsageError(f"{name} must be row-major and writable.")
        self._check_place(there, name)
        if there.stream is not None:
            self.gpu.follow(there.stream)
        size = math.prod(found.shape) * found.dtype.itemsize
        if size and there.address != found.block.address:
            self.gpu.copy(there.address, found.block.address, size)
        return out


def _apart(arrays: Sequence[Any]) -> tuple[int, ...]:
    """Return the numbers of device inputs that are not row-major."""
    return tuple(
        k for k, one in enumerate(arrays) if isinstance(one, _Given) and not one.told.together
    )


def _with_steps(chosen: Plain, arrays: Sequence[Any], sizes: dict[str, int]) -> list[Any]:
    """Return the arguments of the strided version: sizes, and for strided arrays cells and strides.

    `lower/strided.py` has the same order.
    """
    found: list[Any] = [np.int64(sizes[name]) for name in chosen["implicit"]]
    for one in arrays:
        if not isinstance(one, _Given) or one.told.together:
            found.append(one)
            continue
        before, count, steps = one.told.spread()
        cells = replace(one.told, address=one.told.address - before * one.told.kind.itemsize)
        found += [_Given(cells, (count,), one.owner, False), np.int64(before)]
        found += map(np.int64, steps)
    return found
