"""What a run may use, and errors that know where the program was: for all interpreters."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.base.errors import RuntimeError_
from compiler.base.spans import NOWHERE, Prov


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run: seconds (None: none) and bytes of a single array."""

    seconds: float | None = None
    bytes: int = 1 << 33


USUAL = Limits()


class Watched:
    """A run that is stopped at its limits; `prov` is the current statement's."""

    __slots__ = ("_steps", "_stop", "limits", "prov")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.prov: Prov = ()
        self._steps = 0
        self._stop = None if limits.seconds is None else time.monotonic() + limits.seconds

    def error(self, message: str, code: str = "") -> RuntimeError_:
        """Make an error at the current statement."""
        return RuntimeError_(message, self.prov[0] if self.prov else NOWHERE, code=code)

    def tick(self) -> None:
        """Count a step, and stop if the time is over."""
        self._steps += 1
        if self._stop is not None and self._steps & 63 == 0 and time.monotonic() > self._stop:
            error = self.error(f"The run was stopped after {self.limits.seconds} seconds.")
            error.kind = "timeout"
            raise error

    def room(self, shape: Sequence[int], itemsize: int) -> None:
        """Refuse an array of negative size, or of more bytes than allowed."""
        total = rows = itemsize
        for size in shape:
            if size < 0:
                raise self.error(f"An array cannot have the negative size {size}.")
            total *= size
            rows *= max(size, 1)
        if rows >= 1 << 63:
            wanted = f"An array of shape {list(shape)} has rows of {rows} bytes"
            raise self.error(f"{wanted}, which is more than can be told in 64 bits.")
        if total > self.limits.bytes:
            wanted = f"An array of shape {list(shape)} needs {total} bytes"
            raise self.error(f"{wanted}, which is more than the {self.limits.bytes} allowed.")
