"""The GPU interface of the host program of a CUDA text.

`cupy_gpu.py` implements it by CuPy, `observer/gpu.py` by devices in the processor's memory, whose
kernels are observed: so tests without a GPU exercise the same host code. Addresses, modules and
kernels are numbers. Calls raise the errors of `gpu_errors.py`.

All work goes to the stream of the run in order; only `wait` and `elapsed_ms` wait for it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, Self

from compiler.base.dataclass import dataclass
from compiler.runtime.runs import Cells

LANDING = 32
"""Words of 64 bits of host memory for copies that the host waits for."""
BEGIN, END = 0, 1
"""The marks of a run's time."""
OLDEST = 70
"""The least compute capability, 7.0: it schedules the threads of a warp independently."""


@dataclass(frozen=True, slots=True)
class Found:
    """A device: its name, its CUDA_VISIBLE_DEVICES name, 90 for 9.0, bytes of memory."""

    name: str
    identity: str
    capability: int
    bytes: int
    driver: tuple[int, int]


class LaunchGraph(Protocol):
    """A graph that captures work inside `with`, executed by each launch only."""

    def __enter__(self) -> Self:
        """Start capturing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop capturing."""

    def launch(self) -> None:
        """Launch the captured work."""

    def close(self) -> None:
        """Free the graph; launches already requested still complete."""


class Gpu(Protocol):
    """A device opened by this process."""

    capability: int
    """90 for 9.0."""
    landing: Cells
    """Host words that copies reach while the host goes on."""
    capturing: bool
    """True while work is captured, when no block can be allocated."""

    @property
    def watches(self) -> bool:
        """True if accesses are observed, and launches recorded."""

    @property
    def keeps(self) -> bool:
        """True if freed memory is kept for the program's next block."""

    def load(self, image: bytes) -> int:
        """Load a cubin as a module."""

    def unload(self, module: int) -> None:
        """Unload a module."""

    def kernel(self, module: int, name: str) -> int:
        """Return a kernel of a module."""

    def launch(self, kernel: int, blocks: int, threads: int, shared: int, places: int) -> None:
        """Launch a kernel with so many bytes of dynamic shared memory per block of threads.

        The addresses of its arguments are at `places`, and are read before the call returns.
        """

    def allocate(self, size: int, cell: int) -> int:
        """Allocate so many bytes for cells of `cell` bytes; return the address."""

    def free(self, address: int) -> None:
        """Free memory after all requested work, whatever device is current."""

    def copy_in(self, to: int, source: int, size: int) -> None:
        """Copy from the host, whose memory may change after the call."""

    def copy_out(self, to: int, source: int, size: int) -> None:
        """Copy to the host."""

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy within the device."""

    def zero(self, to: int, size: int) -> None:
        """Fill bytes with zeros."""

    def wait(self) -> None:
        """Wait until all requested work is done."""

    def mark(self, which: int) -> None:
        """Record the time at which the device gets here, as BEGIN or END."""

    def elapsed_ms(self) -> float:
        """Wait for both marks; return the time between them by the device's clock."""

    def capture(self) -> LaunchGraph:
        """Return a graph that captures work inside `with`."""

    def free_bytes(self) -> int:
        """Return the device's free memory."""

    def trim(self) -> None:
        """Wait, and release cached memory to others."""


class SharedGpu(Gpu, Protocol):
    """A device shared with other code of this process, whose arrays are inputs and results."""

    main: int
    """The stream of all work outside captures."""

    def current(self) -> AbstractContextManager[None]:
        """Make this device current, and restore the former one afterwards."""

    def on(self, stream: Any) -> AbstractContextManager[None]:
        """Use the caller's stream (None: the current one), after the previous run's work."""

    def follow(self, stream: int) -> None:
        """Order work after all requested of another stream."""

    def owns(self, address: int) -> bool:
        """Return True if an address is in the memory of this device."""

    def imported(self, array: Any) -> Any:
        """Convert an array with DLPack alone to one with `__cuda_array_interface__`."""

    def array(self, address: int, shape: tuple[int, ...], kind: Any, owner: object) -> Any:
        """Return an array with DLPack over memory that `owner` keeps alive, without copying."""


class Gpus(Protocol):
    """The devices visible to this process."""

    version: tuple[int, int]
    """The newest CUDA version that the driver supports."""

    def found(self) -> list[Found]:
        """Describe each device, without opening it."""

    def open(self, number: int = 0) -> SharedGpu:
        """Open a device."""
