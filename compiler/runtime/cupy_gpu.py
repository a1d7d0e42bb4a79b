"""Implement `gpu.py`'s protocol with CuPy's modules, streams, events, graphs and memory.

CuPy loads our machine code: its own compiler is not used, since it would flush numbers below the
normal ones to zero. Kernels are launched by CuPy's binding of the driver, with arguments prepared
in memory: `Function` would make an object of each.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from compiler.runtime.gpu import LANDING, OLDEST, Found
from compiler.runtime.gpu_errors import (
    BROKEN_CUPY,
    CAPTURED,
    NO_BINDINGS,
    NO_CUPY,
    NO_DEVICE,
    NO_DRIVER,
    OLD_CUPY,
    OLD_GPU,
    OTHER_CUPY,
    OUT_OF_MEMORY,
    TOO_OLD,
    TWO_CUPYS,
    DeviceError,
    failure,
    usage,
)
from compiler.runtime.runs import Cells

OLDEST_CUPY = 14
"""Oldest major version; it accepts streams of others (`Stream.from_external`)."""
DEFAULT, LEGACY = 0, 1
"""Both numbers denote the default stream."""
P = ParamSpec("P")
T = TypeVar("T")


def packages() -> list[str]:
    """List the installed packages of CuPy; all of them write to the same folder."""
    named = (one.metadata["Name"] or "" for one in importlib.metadata.distributions())
    return sorted({name for name in named if name == "cupy" or name.startswith("cupy-")})


def imported() -> Any:
    """Import CuPy. Raises UsageError where it is missing or broken."""
    found = [name for name in packages() if name == "cupy" or name.startswith(_KINDS)]
    if len(found) > 1:
        raise usage(TWO_CUPYS, ", ".join(found))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about CUDA's compiler, which is not needed
            cupy = importlib.import_module("cupy")
    except ModuleNotFoundError as problem:
        if problem.name != "cupy":
            raise usage(BROKEN_CUPY, f"it needs `{problem.name}`") from None
        raise usage(NO_CUPY) from None
    except Exception as problem:
        first = str(problem).strip().partition("\n")[0]
        raise usage(BROKEN_CUPY, f"{type(problem).__name__}: {first}") from None
    if int(str(cupy.__version__).partition(".")[0]) < OLDEST_CUPY:
        raise usage(OLD_CUPY, f"it is {cupy.__version__}, and {OLDEST_CUPY} or later is needed")
    if cupy.cuda.runtime.is_hip:
        raise usage(OTHER_CUPY)
    return cupy


_KINDS = ("cupy-cuda", "cupy-rocm")


def _told(
    call: Callable[Concatenate[CupyGpu, P], T],
) -> Callable[Concatenate[CupyGpu, P], T]:
    """Decorate a call to convert errors of CuPy to those of `gpu_errors.py`."""
    name = call.__name__

    def called(self: CupyGpu, /, *given: P.args, **named: P.kwargs) -> T:
        try:
            return call(self, *given, **named)
        except self.errors as error:
            raise named_error(name, error) from None

    called.__doc__ = call.__doc__
    return called


def named_error(call: str, error: Exception) -> Exception:
    """Convert an error of CuPy."""
    if isinstance(error, MemoryError):
        return failure(call, OUT_OF_MEMORY, "out of memory")
    number = int(getattr(error, "status", 999))
    return failure(call, number, str(error).partition(":")[0])


class CupyGpus:
    """The devices visible to this process; `own`: no other code of the process uses them.

    Raises UsageError where CuPy and the driver do not match.
    """

    def __init__(self, own: bool, cupy: Any = None) -> None:
        self.own, self.cupy = own, cupy or imported()
        self.runtime = self.cupy.cuda.runtime
        try:
            number = self.runtime.driverGetVersion()
            built = self.runtime.runtimeGetVersion()
            self.count = 0 if not number else self.runtime.getDeviceCount()
        except self.runtime.CUDARuntimeError as error:
            raise named_error("getDeviceCount", error) from None
        if not number:
            raise usage(NO_DRIVER)
        self.version = number // 1000, number % 1000 // 10
        if number // 1000 < built // 1000:
            known = ".".join(map(str, self.version))
            raise usage(TOO_OLD, f"it knows CUDA {known}, CuPy is for CUDA {built // 1000}")

    def found(self) -> list[Found]:
        """Describe each device, without opening it."""
        return [self._about(k) for k in range(self.count)]

    def _about(self, number: int) -> Found:
        told = self.runtime.getDeviceProperties(number)
        name = bytes(told["name"]).rstrip(b"\0").decode(errors="replace")
        identity = f"{'MIG' if ' MIG ' in name else 'GPU'}-{_mark(number)}"
        capability = 10 * int(told["major"]) + int(told["minor"])
        return Found(name, identity, capability, int(told["totalGlobalMem"]), self.version)

    def open(self, number: int = 0) -> CupyGpu:
        """Open a device. Raises UsageError for one that is too old or does not exist."""
        if not 0 <= number < self.count:
            raise usage(NO_DEVICE, f"it has {self.count}, none of number {number}")
        return CupyGpu(self.cupy, number, self.own)


def _mark(number: int) -> uuid.UUID:
    """Return a device's UUID; CuPy's is cut at its first zero byte.

    Raises UsageError without NVIDIA's own bindings.
    """
    try:
        driver: Any = importlib.import_module("cuda.bindings.driver")
    except ImportError:
        raise usage(NO_BINDINGS) from None
    ask = getattr(driver, "cuDeviceGetUuid_v2", driver.cuDeviceGetUuid)
    driver.cuInit(0)
    code, found = ask(driver.cuDeviceGet(number)[1])
    if int(code):
        raise failure("cuDeviceGetUuid", int(code), str(code))
    return uuid.UUID(bytes=bytes(found.bytes)[:16])


class CupyGpu:
    """A device of CuPy's; `own`: no other code of this process uses it."""

    watches = False

    def __init__(self, cupy: Any, number: int, own: bool) -> None:
        self.cupy, self.number, self.own = cupy, number, own
        self.keeps = own  # else CuPy's pool does, which others share
        self.cuda, self.runtime, self.driver = cupy.cuda, cupy.cuda.runtime, cupy.cuda.driver
        driver_error = self.driver.CUDADriverError
        self.errors = (self.runtime.CUDARuntimeError, driver_error, MemoryError)
        self.capturing = self.has_run = False
        self.held: dict[int, Any] = {}
        """Allocated memory by address."""
        self.stream = self.main = DEFAULT
        """The current stream, and the one outside captures."""
        self._open()

    @_told
    def _open(self) -> None:
        runtime, cuda, own = self.runtime, self.cuda, self.own
        self.capability = int(cuda.Device(self.number).compute_capability)
        if self.capability < OLDEST:
            raise usage(OLD_GPU, f"its compute capability is {self.capability / 10}")
        before = runtime.getDevice(), None if own else self.driver.ctxGetCurrent()
        runtime.setDevice(self.number)
        runtime.memGetInfo()  # has the device's context made, which others share
        self.context = self.driver.ctxGetCurrent()
        pooled = runtime.deviceGetAttribute(runtime.cudaDevAttrMemoryPoolsSupported, self.number)
        self.pool = runtime.deviceGetDefaultMemPool(self.number) if own and pooled else 0
        if self.pool:
            kept = runtime.cudaMemPoolAttrReleaseThreshold  # between runs; `trim` ends it
            runtime.memPoolSetAttribute(self.pool, kept, 2**64 - 1)
            cuda.set_allocator(cuda.malloc_async)
        locked = cuda.alloc_pinned_memory(8 * LANDING)
        self.landing: Cells = np.frombuffer(locked, np.int64, LANDING)
        self.marks = cuda.Event(), cuda.Event()
        self.order, self.last = cuda.Event(disable_timing=True), cuda.Event(disable_timing=True)
        self.aside = cuda.Stream(non_blocking=True)
        """The stream whose work is captured and not executed."""
        if not own:
            self._restore(*before)

    def _restore(self, device: int, context: int | None) -> None:
        if context:
            self.driver.ctxSetCurrent(context)
        else:
            self.runtime.setDevice(device)

    @_told
    def load(self, image: bytes) -> int:
        """Load a cubin as a module."""
        return int(self.driver.moduleLoadData(image))

    @_told
    def unload(self, module: int) -> None:
        """Unload a module."""
        self.driver.moduleUnload(module)

    @_told
    def kernel(self, module: int, name: str) -> int:
        """Return a kernel of a module."""
        return int(self.driver.moduleGetFunction(module, name))

    @_told
    def launch(self, kernel: int, blocks: int, threads: int, shared: int, places: int) -> None:
        """Launch a kernel; CuPy reads the arguments before it returns."""
        self.driver.launchKernel(
            *(kernel, blocks, 1, 1, threads, 1, 1, shared, self.stream, places, 0)
        )

    @_told
    def allocate(self, size: int, cell: int) -> int:
        """Allocate so many bytes by CuPy's current allocator; return the address."""
        memory = self.cuda.alloc(size)
        address = int(memory.ptr)
        self.held[address] = memory
        return address

    @_told
    def free(self, address: int) -> None:
        """Free memory on its own device and stream."""
        del self.held[address]

    @_told
    def copy_in(self, to: int, source: int, size: int) -> None:
        """Copy from the host, whose memory is not page-locked."""
        kind = self.runtime.memcpyHostToDevice
        self.runtime.memcpyAsync(to, source, size, kind, self.stream)

    @_told
    def copy_out(self, to: int, source: int, size: int) -> None:
        """Copy to the host."""
        kind = self.runtime.memcpyDeviceToHost
        self.runtime.memcpyAsync(to, source, size, kind, self.stream)

    @_told
    def copy(self, to: int, source: int, size: int) -> None:
        """Copy within the device."""
        kind = self.runtime.memcpyDeviceToDevice
        self.runtime.memcpyAsync(to, source, size, kind, self.stream)

    @_told
    def zero(self, to: int, size: int) -> None:
        """Fill bytes with zeros."""
        self.runtime.memsetAsync(to, 0, size, self.stream)

    @_told
    def wait(self) -> None:
        """Wait until all requested work is done."""
        self.runtime.streamSynchronize(self.main)

    @_told
    def mark(self, which: int) -> None:
        """Record an event: the time at which the device gets here."""
        self.runtime.eventRecord(self.marks[which].ptr, self.main)

    @_told
    def elapsed_ms(self) -> float:
        """Return the time between the marks, by the device's clock."""
        begin, end = self.marks
        end.synchronize()
        return float(self.cuda.get_elapsed_time(begin, end))

    def capture(self) -> CupyGraph:
        """Return a graph that captures work inside `with`."""
        return CupyGraph(self)

    @_told
    def free_bytes(self) -> int:
        """Return the device's free memory."""
        return int(self.runtime.memGetInfo()[0])

    @_told
    def trim(self) -> None:
        """Wait, and free cached memory if no other code shares it."""
        self.runtime.streamSynchronize(self.main)
        if self.pool:
            self.runtime.memPoolTrimTo(self.pool, 0)
        elif self.own:
            self.cupy.get_default_memory_pool().free_all_blocks()

    # --- what other users of the device in this process have ----------------------------------

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this device current, and restore the former one afterwards."""
        context = self.driver.ctxGetCurrent()
        if context == self.context:
            yield
            return
        device = self.runtime.getDevice()
        self.runtime.setDevice(self.number)
        try:
            yield
        finally:
            self._restore(device, context)

    @contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        """Use the caller's stream (None: CuPy's current one) for all work.

        Its work is ordered after the previous run. Raises UsageError for a stream under capture:
        the host has to wait for values.
        """
        if stream is not None:
            given = stream if hasattr(stream, "__cuda_stream__") else _Stream(stream)
            with self.cuda.Stream.from_external(given), self.on(None):
                yield
            return
        number = int(self.cuda.get_current_stream().ptr)
        if number not in (DEFAULT, LEGACY) and self._is_captured(number):
            raise usage(CAPTURED)
        if number != self.main:
            self.main = self.stream = number
            self._after_the_last()
        try:
            yield
        finally:
            with suppress(DeviceError):  # the next call fails as well
                self._note_the_last()

    @_told
    def _after_the_last(self) -> None:
        """Order work after the last run, whose stream may be gone."""
        if self.has_run:
            self.runtime.streamWaitEvent(self.main, self.last.ptr)

    @_told
    def _note_the_last(self) -> None:
        self.runtime.eventRecord(self.last.ptr, self.main)
        self.has_run = True

    @_told
    def _is_captured(self, stream: int) -> bool:
        """Return True if a stream is under capture or in a failed one, for which CuPy raises."""
        try:
            return bool(self.runtime.streamIsCapturing(stream))
        except self.errors:
            raise
        except RuntimeError:
            return True

    @_told
    def follow(self, stream: int) -> None:
        """Order work after all requested of another stream, without a host wait."""
        if {stream, self.stream} <= {DEFAULT, LEGACY} or stream == self.stream:
            return
        self.runtime.eventRecord(self.order.ptr, stream)
        self.runtime.streamWaitEvent(self.stream, self.order.ptr)

    def owns(self, address: int) -> bool:
        """Return True if an address is in the memory of this device."""
        runtime = self.runtime
        try:
            told = runtime.pointerGetAttributes(address)
        except self.errors:
            return False
        kinds = runtime.memoryTypeDevice, runtime.memoryTypeManaged
        return told.type in kinds and told.device == self.number

    def imported(self, array: Any) -> Any:
        """Import an array by DLPack as CuPy's."""
        return self.cupy.from_dlpack(array)

    def array(self, address: int, shape: tuple[int, ...], kind: Any, owner: object) -> Any:
        """Return a CuPy array over memory that `owner` keeps alive."""
        size = math.prod(shape) * np.dtype(kind).itemsize
        memory = self.cuda.UnownedMemory(address, size, owner, self.number)
        return self.cupy.ndarray(shape, kind, self.cuda.MemoryPointer(memory, 0))


class _Stream:
    """A stream given as a number, or as an object with one."""

    def __init__(self, stream: Any) -> None:
        told = getattr(stream, "ptr", getattr(stream, "cuda_stream", stream))
        self.number, self.owner = int(told), stream

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return version and number, as CuPy expects."""
        return 0, self.number


class CupyGraph:
    """A CuPy graph captured from the stream `aside`."""

    def __init__(self, gpu: CupyGpu) -> None:
        self.gpu = gpu
        self.made: Any = None

    @property
    def ptr(self) -> int:
        """The stream that it is launched on, where CuPy looks for it."""
        return self.gpu.stream

    def __enter__(self) -> Self:
        gpu = self.gpu
        try:
            gpu.aside.begin_capture(gpu.runtime.streamCaptureModeRelaxed)
        except gpu.errors as error:
            raise named_error("begin_capture", error) from None
        gpu.stream, gpu.capturing = int(gpu.aside.ptr), True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        gpu = self.gpu
        gpu.stream, gpu.capturing = gpu.main, False
        if kind is not None:
            with suppress(*gpu.errors):
                gpu.aside.end_capture()
            return
        try:
            self.made = gpu.aside.end_capture()
        except gpu.errors as problem:
            raise named_error("end_capture", problem) from None

    def launch(self) -> None:
        """Launch the graph."""
        gpu = self.gpu
        try:
            self.made.launch(self)  # it takes whatever has `ptr`
        except gpu.errors as error:
            raise named_error("repeat", error) from None

    def close(self) -> None:
        """Free the graph; launches already requested still complete."""
        self.made = None
