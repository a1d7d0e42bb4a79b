"""Count the calls of our host code to a GPU; the device is the observer's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from compiler.codegen.cuda.program import split
from compiler.runtime.cuda_device import Device, about, run_on
from compiler.runtime.observer import build
from compiler.runtime.observer.gpu import Library, ObservedGpus


class CountedLibrary(Library):
    """The observer's library, which notes its calls."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        super().__init__(str(build.driver()))

    def __call__(self, name: str, *given: Any) -> None:
        self.calls[name] += 1
        super().__call__(name, *given)


def calls(code: str, entry: str, args: Sequence[Any]) -> Counter[str]:
    """The calls of `runtime/gpu.py` by an entry point of a CUDA text, by their names."""
    library = CountedLibrary()
    gpu = ObservedGpus("", library).open()
    device = Device(gpu, build.library(split(code)[0]).read_bytes(), about(code), 1 << 30)
    before = Counter(library.calls)
    run_on(device, code, entry, args)
    found = library.calls - before
    device.close()
    return found
