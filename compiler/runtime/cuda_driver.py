"""CUDA's driver, called through ctypes: `libcuda`, or a library that stands in for it.

What fails has a name and a way out, in one table. Integers are passed as words of 64 bits, of which
a function reads as many as it needs, on the machines that CUDA's driver is made for.
"""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, RuntimeError_, UsageError

LIBRARY = "libcuda.so.1"
OUT_OF_MEMORY = 2
_MAJOR, _MINOR, _RELEASE_THRESHOLD, _NON_BLOCKING, _RELAXED = 75, 76, 4, 1, 2
"""Attributes and modes, by the numbers that CUDA's headers give them."""

_INSTEAD = "Run with the C back end, or"
NO_DRIVER = (
    f"This machine has no driver for NVIDIA's GPUs ({LIBRARY}).",
    f"{_INSTEAD} on a machine with a GPU; there, install NVIDIA's driver.",
)
NO_DEVICE = (
    "The driver finds no GPU.",
    f"{_INSTEAD} see what `nvidia-smi -L` lists; a container must be given the GPU.",
)
TOO_OLD = (
    "The GPU's driver is too old",
    "Update the driver; for one of CUDA 12 install `stridescope[cuda12]`.",
)
UNREADABLE = (
    "The driver does not take the machine code",
    "Update the driver, or install the NVRTC that fits it (`stridescope[cuda12]`, `[cuda13]`).",
)
IN_USE = (
    "Another process has the GPU for itself, or it is not ready",
    "Ask again later; `nvidia-smi -q -d COMPUTE` tells the mode, which should be `Default`.",
)
FULL = (
    "There is not enough memory on the GPU",
    "Try smaller inputs; `nvidia-smi` tells who else has memory of it.",
)
STOPPED = (
    "The GPU stopped the program at an access or an instruction that it may not make",
    "That is a defect of Stridescope: please report the program and its inputs.",
)
LOST = (
    "The GPU was lost while the program ran",
    "Ask again: the next run starts anew. If it goes again, see `dmesg` for `Xid`; restart it.",
)
SLOW = (
    "The machine ended a kernel that ran too long",
    "Try smaller inputs; a GPU with a screen has a time limit of its own.",
)
OTHER = ("CUDA's driver refused a call", "See NVIDIA's documentation of the driver for this name.")

LANDING = 256
"""Bytes of the host to which a device copies what the host waits for."""
_SETUP = (NO_DEVICE, TOO_OLD, UNREADABLE, IN_USE)
"""What no run on this machine gets around, as it is."""
_CODES: dict[int, tuple[str, str]] = {
    OUT_OF_MEMORY: FULL,
    100: NO_DEVICE,
    101: NO_DEVICE,
    **dict.fromkeys((35, 801, 803, 804), TOO_OLD),
    **dict.fromkeys((200, 209, 222, 223), UNREADABLE),
    **dict.fromkeys((46, 802), IN_USE),
    **dict.fromkeys((700, 714, 715, 716, 717, 718, 719), STOPPED),
    **dict.fromkeys((205, 214, 220, 226, 709, 999), LOST),
    702: SLOW,
}


class DeviceError(RuntimeError_):
    """A call failed; the process that uses the device has to be replaced."""

    number = 0


class Driver:
    """A driver that is ready. Raises UsageError where there is none that can be used."""

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            self.library = ctypes.CDLL(library)
        except OSError:
            raise UsageError(NO_DRIVER[0], hint=NO_DRIVER[1]) from None
        self.functions: dict[str, Any] = {}
        """Those that have been called; their types are told once."""
        self("cuInit", 0)

    def __call__(self, name: str, *given: Any) -> None:
        """Call a function. Raises DeviceError or UsageError, by the table, where it fails."""
        code = self.asked(name, *given)
        if code:
            raise self.failure(name, code)

    def asked(self, name: str, *given: Any) -> int:
        """What a function answers, 0 if it did what it is for."""
        function = self.functions.get(name) or self._function(name, len(given))
        return int(function(*given))

    def _function(self, name: str, parameters: int) -> Any:
        """A function of the library, which takes words."""
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise UsageError(f"{TOO_OLD[0]}: it has no `{name}`.", hint=TOO_OLD[1]) from None
        function.argtypes = [ctypes.c_void_p] * parameters
        self.functions[name] = function
        return function

    def number(self, name: str, *given: Any) -> int:
        """What a function leaves at its first parameter: a number, a handle or an address."""
        found = ctypes.c_uint64()
        self(name, ctypes.byref(found), *given)
        return found.value

    def failure(self, name: str, code: int) -> CompileError:
        """The error for a code that a function returned."""
        said = ctypes.c_char_p()
        self.library.cuGetErrorName(code, ctypes.byref(said))
        called = (said.value or b"error %d" % code).decode()
        kind = _CODES.get(code, OTHER)
        message = f"{kind[0].removesuffix('.')} ({called} in `{name}`)."
        if kind in _SETUP:
            return UsageError(message, hint=kind[1])
        error = DeviceError(message, hint=kind[1])
        error.number = code
        return error

    @property
    def version(self) -> tuple[int, int]:
        """The newest CUDA that it knows."""
        number = self.number("cuDriverGetVersion")
        return number // 1000, number % 1000 // 10

    def found(self) -> list[Found]:
        """The devices that this process may see."""
        return [self.about(k) for k in range(self.number("cuDeviceGetCount"))]

    def about(self, number: int) -> Found:
        """What is known of a device without opening it."""
        handle = self.number("cuDeviceGet", number)
        name, mark = ctypes.create_string_buffer(256), ctypes.create_string_buffer(16)
        self("cuDeviceGetName", name, len(name), handle)
        self("cuDeviceGetUuid_v2", mark, handle)
        major, minor = (self.number("cuDeviceGetAttribute", a, handle) for a in (_MAJOR, _MINOR))
        size = self.number("cuDeviceTotalMem_v2", handle)
        called = name.value.decode(errors="replace")
        identity = f"{'MIG' if ' MIG ' in called else 'GPU'}-{uuid.UUID(bytes=mark.raw)}"
        return Found(called, identity, 10 * major + minor, size, self.version)


@dataclass(frozen=True, slots=True)
class Found:
    """A device: its name, what CUDA_VISIBLE_DEVICES calls it, 90 for 9.0, bytes of memory."""

    name: str
    identity: str
    capability: int
    bytes: int
    driver: tuple[int, int]


class Gpu:
    """A device that is open for this thread, with the driver's pool of memory."""

    def __init__(self, driver: Driver, number: int = 0) -> None:
        self.driver = driver
        self.handle = driver.number("cuDeviceGet", number)
        self.context = driver.number("cuDevicePrimaryCtxRetain", self.handle)
        driver("cuCtxSetCurrent", self.context)
        self.pool = driver.number("cuDeviceGetDefaultMemPool", self.handle)
        keep = ctypes.c_uint64(2**64 - 1)  # between runs of a job; `trim` ends it
        driver("cuMemPoolSetAttribute", self.pool, _RELEASE_THRESHOLD, ctypes.byref(keep))
        self.begin, self.end = driver.number("cuEventCreate", 0), driver.number("cuEventCreate", 0)
        self.landing = driver.number("cuMemHostAlloc", LANDING, 0)
        """Bytes of the host to which copies go while it does something else."""
        self.aside = driver.number("cuStreamCreate", _NON_BLOCKING)
        """A stream whose work is captured, and done by none of it."""
        self.typed = getattr(driver.library, "observer_memory", None)
        """Tells a driver that watches accesses how large the cells of a block are."""

    @contextmanager
    def current(self) -> Iterator[None]:
        """Calls are about this device, and then again about that of before."""
        before = self.driver.number("cuCtxGetCurrent")
        self.driver("cuCtxSetCurrent", self.context)
        try:
            yield
        finally:
            self.driver.asked("cuCtxSetCurrent", before)

    def free(self, address: int) -> None:
        """Give memory back when all is done that has been asked for, whatever device is current."""
        asked, before = self.driver.asked, ctypes.c_uint64()
        asked("cuCtxGetCurrent", ctypes.byref(before))
        if before.value != self.context:
            asked("cuCtxSetCurrent", self.context)
        asked("cuMemFreeAsync", address, 0)
        if before.value != self.context:
            asked("cuCtxSetCurrent", before.value)

    def free_bytes(self) -> int:
        """Memory of the device that nobody has."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.driver("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def wait(self) -> None:
        """Until all that was asked for is done."""
        self.driver("cuStreamSynchronize", 0)

    def mark(self, event: int) -> None:
        """Note the time at which the device comes here."""
        self.driver("cuEventRecord", event, 0)

    def elapsed_ms(self) -> float:
        """Between the marks `begin` and `end`, on the device's clock."""
        self.driver("cuEventSynchronize", self.end)
        found = ctypes.c_float()
        self.driver("cuEventElapsedTime", ctypes.byref(found), self.begin, self.end)
        return found.value

    def trim(self) -> None:
        """Give memory that no block lies in back to others."""
        self.wait()
        self.driver("cuMemPoolTrimTo", self.pool, 0)


class Captured:
    """What is asked of the stream `aside` inside of `with`: not done then, but by each launch."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.ready = gpu, 0

    def __enter__(self) -> Captured:
        self.gpu.driver("cuStreamBeginCapture_v2", self.gpu.aside, _RELAXED)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        driver, graph = self.gpu.driver, ctypes.c_uint64()
        driver("cuStreamEndCapture", self.gpu.aside, ctypes.byref(graph))
        if kind is None:
            self.ready = driver.number("cuGraphInstantiateWithFlags", graph.value, 0)
        driver("cuGraphDestroy", graph.value)

    def launch(self) -> None:
        """Ask for all of it once more."""
        self.gpu.driver("cuGraphLaunch", self.ready, 0)

    def close(self) -> None:
        """Give it back; what has been asked for is done all the same."""
        self.gpu.driver("cuGraphExecDestroy", self.ready)
