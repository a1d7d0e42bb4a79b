"""The calls of CUDA's driver by a program of ours, counted: the driver is the observer's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from compiler.codegen.cuda.program import split
from compiler.runtime.cuda_device import Device, about, run_on
from compiler.runtime.cuda_driver import Driver, Gpu
from compiler.runtime.observer import build


class _Counted(Driver):
    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        super().__init__(str(build.driver()))

    def __call__(self, name: str, *given: Any) -> None:
        self.calls[name] += 1
        super().__call__(name, *given)


def calls(code: str, entry: str, args: Sequence[Any]) -> Counter[str]:
    """The calls of the driver by an entry point of a CUDA text, by their names."""
    driver = _Counted()
    device = Device(Gpu(driver), build.library(split(code)[0]).read_bytes(), about(code), 1 << 30)
    before = Counter(driver.calls)
    run_on(device, code, entry, args)
    found = driver.calls - before
    device.close()
    return found
