"""Open the devices of a process, by CuPy or by the observer's library."""

from __future__ import annotations

from compiler.runtime.cupy_gpu import CupyGpus
from compiler.runtime.gpu import Gpus
from compiler.runtime.observer.gpu import ObservedGpus


def gpus(library: str, own: bool) -> Gpus:
    """Return CuPy's devices, or those of a library of the observer, by its path.

    `own`: no other code of this process uses them. Raises UsageError where there are none.
    """
    return ObservedGpus(library) if library else CupyGpus(own)
