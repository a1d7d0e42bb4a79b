"""What the host's program of a CUDA text asks a GPU for, whoever answers.

`cupy_gpu.py` answers by CuPy, `observer/gpu.py` by devices in the processor's memory, whose kernels
are watched: so tests without a GPU go through the same code of the host. Addresses, modules and
kernels are numbers. Calls raise what `gpu_errors.py` names.

All work goes to the stream of the run, one piece after the other, and calls do not wait for it but
`wait` and `elapsed_ms`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, Self

from compiler.base.dataclass import dataclass
from compiler.runtime.runs import Cells

LANDING = 32
"""Words of 64 bits of the host to which a device copies what the host waits for."""
BEGIN, END = 0, 1
"""The marks of a run's time."""
OLDEST = 70
"""The compute capability that kernels need: 7.0, whose threads of a warp go on by themselves."""


@dataclass(frozen=True, slots=True)
class Found:
    """A device: its name, what CUDA_VISIBLE_DEVICES calls it, 90 for 9.0, bytes of memory."""

    name: str
    identity: str
    capability: int
    bytes: int
    driver: tuple[int, int]


class LaunchGraph(Protocol):
    """What is asked for inside of `with`: not done then, but by each launch."""

    def __enter__(self) -> Self:
        """From now on work is captured."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Work is done again."""

    def launch(self) -> None:
        """Ask for all of it once more."""

    def close(self) -> None:
        """Give it back; what has been asked for is done all the same."""


class Gpu(Protocol):
    """A device that is open for this process."""

    capability: int
    """90 for 9.0."""
    landing: Cells
    """Words of the host to which copies go while it does something else."""
    capturing: bool
    """Whether what is asked for is captured, and no block can be made."""

    @property
    def watches(self) -> bool:
        """Whether accesses are watched, and launches noted."""

    @property
    def keeps(self) -> bool:
        """Whether memory that a program gives back is kept at hand for its next block."""

    def load(self, image: bytes) -> int:
        """The module of a cubin."""

    def unload(self, module: int) -> None:
        """Give a module back."""

    def kernel(self, module: int, name: str) -> int:
        """A kernel of a module."""

    def launch(self, kernel: int, blocks: int, threads: int, shared: int, places: int) -> None:
        """Ask for a kernel with so many bytes of shared memory for each block of threads.

        At `places` are the addresses of its arguments, which are read before the call returns.
        """

    def allocate(self, size: int, cell: int) -> int:
        """The address of so many bytes, for cells of `cell` bytes."""

    def free(self, address: int) -> None:
        """Give memory back when all is done that was asked for, whatever device is current."""

    def copy_in(self, to: int, source: int, size: int) -> None:
        """Copy from the host, whose memory may be changed afterwards."""

    def copy_out(self, to: int, source: int, size: int) -> None:
        """Copy to the host."""

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy within the device."""

    def zero(self, to: int, size: int) -> None:
        """Fill bytes with zeros."""

    def wait(self) -> None:
        """Until all that was asked for is done."""

    def mark(self, which: int) -> None:
        """Note the time at which the device comes here, as BEGIN or END."""

    def elapsed_ms(self) -> float:
        """Between the marks, on the device's clock, when it has come to both."""

    def capture(self) -> LaunchGraph:
        """A graph of what will be asked for inside of `with`."""

    def free_bytes(self) -> int:
        """Memory of the device that nobody has."""

    def trim(self) -> None:
        """Wait, and give memory that no block lies in back to others."""


class SharedGpu(Gpu, Protocol):
    """A device that others of this process use as well, whose arrays are taken and given."""

    main: int
    """The stream that work goes to, unless it is captured."""

    def current(self) -> AbstractContextManager[None]:
        """Calls are about this device, and then again about that of before."""

    def on(self, stream: Any) -> AbstractContextManager[None]:
        """Work goes to a stream of the caller (None: the current one), after that of before."""

    def follow(self, stream: int) -> None:
        """Work comes after what has been asked of another stream."""

    def owns(self, address: int) -> bool:
        """Whether an address is in the memory of this device."""

    def imported(self, array: Any) -> Any:
        """An array that has DLPack alone, as one with `__cuda_array_interface__`."""

    def array(self, address: int, shape: tuple[int, ...], kind: Any, owner: object) -> Any:
        """An array with DLPack of memory that `owner` keeps, which is not copied."""


class Gpus(Protocol):
    """The devices that this process may see."""

    version: tuple[int, int]
    """The newest CUDA that the driver knows."""

    def found(self) -> list[Found]:
        """What is known of each, without opening it."""

    def open(self, number: int = 0) -> SharedGpu:
        """One of them."""
