"""Devices in the processor's memory, whose kernels are observed: `driver.cpp` through ctypes."""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np

from compiler.base.errors import CompileError, UsageError
from compiler.runtime.gpu import LANDING, Found
from compiler.runtime.gpu_errors import failure
from compiler.runtime.runs import Cells

CAPABILITY = 90


class Library:
    """`driver.cpp`, compiled. Integers are passed as words of 64 bits."""

    def __init__(self, path: str) -> None:
        try:
            self.handle = ctypes.CDLL(path)
        except OSError as error:
            raise UsageError(f"The library of the observer cannot be loaded: {error}.") from None
        self.functions: dict[str, Any] = {}
        """Functions called so far, with their types declared."""

    def __call__(self, name: str, *given: Any) -> None:
        """Call a function. Raises the errors of `gpu_errors.py`."""
        code = self.asked(name, *given)
        if code:
            raise self.failure(name, code)

    def asked(self, name: str, *given: Any) -> int:
        """Call a function; return its status, 0 for success."""
        function = self.functions.get(name)
        if function is None:
            function = self.functions[name] = getattr(self.handle, f"observer_{name}")
            function.argtypes = [ctypes.c_void_p] * len(given)
        return int(function(*given))

    def number(self, name: str, *given: Any) -> int:
        """Call a function.

        Return the number, handle or address that it stores at its first parameter.
        """
        found = ctypes.c_uint64()
        self(name, ctypes.byref(found), *given)
        return found.value

    def failure(self, name: str, code: int) -> CompileError:
        """Make the error for a status."""
        return failure(name, code)


class ObservedGpus:
    """The devices that the library exposes to this process."""

    version = 13, 0

    def __init__(self, path: str, library: Library | None = None) -> None:
        self.library = library or Library(path)
        self.library("start")

    def found(self) -> list[Found]:
        """Describe each device."""
        return [self._about(k) for k in range(self.library.number("count"))]

    def _about(self, number: int) -> Found:
        name, mark = ctypes.create_string_buffer(256), ctypes.create_string_buffer(16)
        size = ctypes.c_size_t()
        self.library("about", number, name, len(name), mark, ctypes.byref(size))
        called = name.value.decode(errors="replace")
        identity = f"GPU-{uuid.UUID(bytes=mark.raw)}"
        return Found(called, identity, CAPABILITY, size.value, self.version)

    def open(self, number: int = 0) -> ObservedGpu:
        """Open a device, and make it current."""
        return ObservedGpu(self.library, number)


class ObservedGpu:
    """A device of the library."""

    watches, keeps = True, False
    capability = CAPABILITY

    def __init__(self, library: Library, number: int) -> None:
        self.library, self.capturing = library, False
        self.handle = library.number("open", number)
        library.asked("use", self.handle)
        self.landing: Cells = np.zeros(LANDING, np.int64)
        self.aside = library.number("stream")
        """The stream whose work is captured and not executed."""
        self.stream = self.main = 0
        self.times = (ctypes.c_double * 2)()

    def load(self, image: bytes) -> int:
        """Load a library of kernels as a module."""
        return self.library.number("load", image)

    def unload(self, module: int) -> None:
        """Unload a module."""
        self.library("unload", module)

    def kernel(self, module: int, name: str) -> int:
        """Return a kernel of a module."""
        return self.library.number("kernel", module, name.encode())

    def launch(self, kernel: int, blocks: int, threads: int, shared: int, places: int) -> None:
        """Run or capture a kernel."""
        self.library("launch", kernel, blocks, threads, shared, self.stream, places)

    def allocate(self, size: int, cell: int) -> int:
        """Allocate so many bytes, with shadow memory; return the address."""
        made = self.library.number("allocate", size, self.stream)
        self.library.asked("memory", made, size, cell, 0)
        return made

    def free(self, address: int) -> None:
        """Free memory, whatever device is current."""
        before = self.library.number("current")
        self.library.asked("use", self.handle)
        self.library.asked("free", address, 0)
        self.library.asked("use", before)

    def copy_in(self, to: int, source: int, size: int) -> None:
        """Copy from the host."""
        self.library("copy_in", to, source, size, self.stream)

    def copy_out(self, to: int, source: int, size: int) -> None:
        """Copy to the host."""
        self.library("copy_out", to, source, size, self.stream)

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy within the device."""
        self.library("copy", to, source, size, self.stream)

    def zero(self, to: int, size: int) -> None:
        """Fill bytes with zeros."""
        self.library("zero", to, size, self.stream)

    def wait(self) -> None:
        """Check the stream; work is done already."""
        self.library("wait", self.stream)

    def mark(self, which: int) -> None:
        """Record the time."""
        self.library("mark", ctypes.addressof(self.times) + which * ctypes.sizeof(ctypes.c_double))

    def elapsed_ms(self) -> float:
        """Return the time between the marks."""
        begin, end = self.times
        return float(end - begin) * 1000

    def capture(self) -> ObservedGraph:
        """Return a graph that captures work inside `with`."""
        return ObservedGraph(self)

    def free_bytes(self) -> int:
        """Return the device's free memory."""
        return self.library.number("free_bytes")

    def trim(self) -> None:
        """Wait; no memory is cached."""
        self.wait()

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this device current, and restore the former one afterwards."""
        before = self.library.number("current")
        self.library.asked("use", self.handle)
        try:
            yield
        finally:
            self.library.asked("use", before)

    @contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        """Use a stream of the library for all work."""
        self.stream = self.main = 0 if stream in (None, 1) else int(stream)
        try:
            yield
        finally:
            self.stream = self.main = 0

    def follow(self, stream: int) -> None:
        """Check that the stream exists; its work is done already."""
        self.library("wait", stream)

    def owns(self, address: int) -> bool:
        """Return True if an address is in the memory of this device."""
        with self.current():
            return bool(self.library.asked("owns", address))

    def imported(self, array: Any) -> Any:
        """Import an array; the devices lie in the processor's memory."""
        return Exported(np.from_dlpack(array))

    def array(self, address: int, shape: tuple[int, ...], kind: Any, owner: object) -> Any:
        """Return an array over the device's memory, which is the processor's."""
        told = {"data": (address, False), "shape": shape, "typestr": np.dtype(kind).str}
        return np.asarray(_Memory({**told, "version": 3}, owner))


class _Memory:
    """Memory with its owner, for NumPy."""

    def __init__(self, told: dict[str, Any], owner: object) -> None:
        self.__array_interface__, self.owner = told, owner


class Exported:
    """An array in a device's memory that exports itself as CuPy's do."""

    def __init__(self, array: Cells) -> None:
        self.array = array
        told = array.__array_interface__
        keys = "shape", "typestr", "data", "strides"
        self.__cuda_array_interface__ = {key: told[key] for key in keys} | {"version": 3}


class ObservedGraph:
    """Work captured from the stream `aside`."""

    def __init__(self, gpu: ObservedGpu) -> None:
        self.gpu, self.ready = gpu, 0

    def __enter__(self) -> Self:
        gpu = self.gpu
        gpu.library("begin_capture", gpu.aside)
        self.before, gpu.stream, gpu.capturing = gpu.stream, gpu.aside, True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.gpu.stream, self.gpu.capturing = self.before, False
        self.ready = self.gpu.library.number("end_capture", self.gpu.aside)
        if kind is not None:
            self.close()

    def launch(self) -> None:
        """Run the captured work."""
        self.gpu.library("repeat", self.ready, self.gpu.stream)

    def close(self) -> None:
        """Free the graph."""
        self.gpu.library("forget", self.ready)
