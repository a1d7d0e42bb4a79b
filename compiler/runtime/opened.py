"""The devices of a process, by CuPy or by the observer's library."""

from __future__ import annotations

from compiler.runtime.cupy_gpu import CupyGpus
from compiler.runtime.gpu import Gpus
from compiler.runtime.observer.gpu import ObservedGpus


def gpus(library: str, own: bool) -> Gpus:
    """The devices that CuPy finds, or those of a library of the observer, by its path.

    `own`: nobody else in this process uses them. Raises UsageError where there are none.
    """
    return ObservedGpus(library) if library else CupyGpus(own)
