"""Stand in for the part of CuPy that `runtime/cupy_gpu.py` calls, with the observer's devices.

Names and parameters are those of CuPy 14, which a test compares where CuPy is installed, so that
what goes through here goes to CuPy as it should. What a GPU answers is not known here.
"""

# ruff: noqa: N802, N815

from __future__ import annotations

import ctypes
import weakref
from collections import Counter
from types import SimpleNamespace
from typing import Any

from compiler.runtime.observer import build
from compiler.runtime.observer.gpu import ObservedGpu, ObservedGpus

VERSION = "14.2.0"
NAMES = {
    2: "cudaErrorMemoryAllocation",
    35: "cudaErrorInsufficientDriver",
    719: "cudaErrorLaunch",
    100: "cudaErrorNoDevice",
    900: "cudaErrorStreamCaptureUnsupported",
}


class CUDARuntimeError(RuntimeError):
    """An error of CUDA's runtime, by its number."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"{NAMES.get(status, f'cudaError{status}')}: what it is about")


class CUDADriverError(CUDARuntimeError):
    """An error of the driver."""


class OutOfMemoryError(MemoryError):
    """CuPy's error for exhausted memory."""


class _Calls:
    """The observer's library, whose codes become CuPy's errors, and a count of what is asked."""

    error: type[CUDARuntimeError] = CUDARuntimeError

    def __init__(self, path: str) -> None:
        self.library = ObservedGpus(path).library
        self.asked: Counter[str] = Counter()

    def __call__(self, name: str, *given: Any) -> None:
        self.asked[name] += 1
        code = self.library.asked(name, *given)
        if code:
            raise self.error(code)

    def number(self, name: str, *given: Any) -> int:
        found = ctypes.c_uint64()
        self(name, ctypes.byref(found), *given)
        return found.value


class Runtime:
    """`cupy.cuda.runtime`."""

    CUDARuntimeError = CUDARuntimeError
    is_hip = False
    memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice = 1, 2, 3
    memoryTypeDevice, memoryTypeManaged = 2, 3
    streamCaptureModeRelaxed = 2
    cudaDevAttrMemoryPoolsSupported, cudaMemPoolAttrReleaseThreshold = 115, 4

    def __init__(self, calls: _Calls) -> None:
        self.calls, self.device = calls, 0
        self.version, self.built, self.major, self.minor, self.pooled = 13000, 13020, 9, 0, 1
        self.events: dict[int, int] = {}
        self.freed_after = 0

    def driverGetVersion(self) -> int:
        return self.version

    def runtimeGetVersion(self) -> int:
        return self.built

    def getDeviceCount(self) -> int:
        return self.calls.number("count")

    def getDevice(self) -> int:
        return self.device

    def setDevice(self, device: int) -> None:
        self.calls("use", self.calls.number("open", device))
        self.device = device

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        told = {"name": f"Observer {device}".encode(), "totalGlobalMem": 1 << 30}
        return {**told, "major": self.major, "minor": self.minor, "uuid": b""}

    def deviceGetAttribute(self, attrib: int, device: int) -> int:
        return {75: self.major, 76: self.minor, 115: self.pooled}[attrib]

    def memGetInfo(self) -> tuple[int, int]:
        return self.calls.number("free_bytes"), 1 << 30

    def memcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        name = {1: "copy_in", 2: "copy_out", 3: "copy"}[kind]
        self.calls(name, dst, src, size, stream)

    def memsetAsync(self, ptr: int, value: int, size: int, stream: int) -> None:
        assert value == 0
        self.calls("zero", ptr, size, stream)

    def pointerGetAttributes(self, ptr: int) -> Any:
        found = [n for n in range(2) if self._owns(n, ptr)]
        return SimpleNamespace(type=2 if found else 0, device=found[0] if found else -2)

    def _owns(self, device: int, ptr: int) -> bool:
        library, before = self.calls.library, self.calls.number("current")
        library.asked("use", self.calls.number("open", device))
        found = bool(library.asked("owns", ptr))
        library.asked("use", before)
        return found

    def deviceGetDefaultMemPool(self, device: int) -> int:
        return 77

    def memPoolSetAttribute(self, pool: int, attr: int, value: Any) -> None:
        assert (pool, attr, value) == (77, 4, 2**64 - 1)

    def memPoolTrimTo(self, pool: int, size: int) -> None:
        assert (pool, size) == (77, 0)

    def streamSynchronize(self, stream: int) -> None:
        self.calls("wait", stream)

    def streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        assert event in self.events
        self.calls.asked["streamWaitEvent"] += 1

    def streamIsCapturing(self, stream: int) -> bool:
        return self.calls.library.asked("wait", stream) == 900

    def eventRecord(self, event: int, stream: int) -> None:
        self.events[event] = stream
        self.calls("wait", stream)
        seconds = ctypes.c_double.from_address(event)
        self.calls("mark", ctypes.addressof(seconds))


class Driver:
    """`cupy.cuda.driver`."""

    CUDADriverError = CUDADriverError

    def __init__(self, calls: _Calls) -> None:
        self.calls = calls

    def ctxGetCurrent(self) -> int:
        return self.calls.number("current")

    def ctxSetCurrent(self, ctx: int) -> None:
        self.calls("use", ctx)

    def moduleLoadData(self, image: bytes) -> int:
        return self.calls.number("load", image)

    def moduleUnload(self, module: int) -> None:
        self.calls("unload", module)

    def moduleGetFunction(self, module: int, funcname: str) -> int:
        return self.calls.number("kernel", module, funcname.encode())

    def launchKernel(  # noqa: PLR0913
        self,
        f: int,
        grid_dim_x: int,
        grid_dim_y: int,
        grid_dim_z: int,
        block_dim_x: int,
        block_dim_y: int,
        block_dim_z: int,
        shared_mem_bytes: int,
        stream: int,
        kernel_params: int,
        extra: int,
    ) -> None:
        assert (grid_dim_y, grid_dim_z, block_dim_y, block_dim_z, extra) == (1, 1, 1, 1, 0)
        given = f, grid_dim_x, block_dim_x, shared_mem_bytes, stream, kernel_params
        self.calls("launch", *given)


class Memory:
    """A `MemoryPointer`, given back with its last holder."""

    def __init__(self, calls: _Calls, size: int) -> None:
        self.ptr, self.size = calls.number("allocate", size, 0), size
        calls.library.asked("memory", self.ptr, size, 1, 1)
        weakref.finalize(self, calls.library.asked, "free", self.ptr, 0)


class FakeCupy:
    """The module `cupy`, as far as it is called."""

    __version__ = VERSION

    def __init__(self, path: str = "") -> None:
        self.calls = calls = _Calls(path or str(build.driver()))
        self.streams: list[Any] = []
        runtime = Runtime(calls)
        self.cuda = SimpleNamespace(
            runtime=runtime,
            driver=Driver(calls),
            Device=lambda device: SimpleNamespace(
                compute_capability=f"{runtime.major}{runtime.minor}"
            ),
            Event=lambda block=False, disable_timing=False, interprocess=False: _Event(),
            Stream=type(
                "Stream", (_Stream,), {"cupy": self, "from_external": classmethod(_external)}
            ),
            alloc=self._alloc,
            alloc_pinned_memory=lambda size: bytearray(size),
            malloc_async=object(),
            set_allocator=lambda allocator: None,
            get_elapsed_time=lambda start, end: (end.seconds.value - start.seconds.value) * 1000,
            get_current_stream=lambda: self.streams[-1] if self.streams else _Null(),
            UnownedMemory=_Unowned,
            MemoryPointer=lambda mem, offset: mem,
        )

    def _alloc(self, size: int) -> Memory:
        try:
            return Memory(self.calls, size)
        except CUDARuntimeError as error:
            raise OutOfMemoryError if error.status == 2 else error from None

    def ndarray(self, shape: tuple[int, ...], dtype: Any, memptr: Any) -> Any:
        """An array of the processor's memory, where the device is."""
        return ObservedGpu.array(None, memptr.ptr, shape, dtype, memptr)  # type: ignore[arg-type]

    def from_dlpack(self, array: Any) -> Any:
        """An array of the device, by its interface."""
        return ObservedGpu.imported(None, array)  # type: ignore[arg-type]

    def get_default_memory_pool(self) -> Any:
        """A pool that keeps nothing."""
        return SimpleNamespace(free_all_blocks=lambda: None)


class _Null:
    ptr = 0


class _Event:
    def __init__(self) -> None:
        self.seconds = ctypes.c_double()
        self.ptr = ctypes.addressof(self.seconds)

    def synchronize(self) -> None:
        """It has come to pass."""


class _Stream:
    cupy: FakeCupy

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.ptr = self.cupy.calls.number("stream")

    def __enter__(self) -> Any:
        self.cupy.streams.append(self)
        return self

    def __exit__(self, *args: object) -> None:
        self.cupy.streams.pop()

    def begin_capture(self, mode: Any = None) -> None:
        self.cupy.calls("begin_capture", self.ptr)

    def end_capture(self) -> Any:
        return _Graph(self.cupy.calls, self.cupy.calls.number("end_capture", self.ptr))


def _external(kind: type[_Stream], obj: Any) -> _Stream:
    version, number = obj.__cuda_stream__()
    assert version == 0
    made = kind.__new__(kind)
    made.ptr = number
    return made


class _Graph:
    def __init__(self, calls: _Calls, ready: int) -> None:
        self.calls, self.ready = calls, ready
        weakref.finalize(self, calls.library.asked, "forget", ready)

    def launch(self, stream: Any = None) -> None:
        self.calls("repeat", self.ready, stream.ptr)


class _Unowned:
    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id
