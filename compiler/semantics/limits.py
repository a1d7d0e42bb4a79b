"""The memory that a run may use, and errors that know where the program was: for all interpreters.

Time is bounded from outside, by `base/deadline.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from compiler.base.errors import RuntimeError_
from compiler.base.spans import NOWHERE, Prov, merge_prov

USUAL_BYTES = 1 << 33


class Watched:
    """A run within `most_bytes`, of an array or in all; `prov` is the current statement's."""

    __slots__ = ("most_bytes", "prov")

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.prov: Prov = ()

    def error(self, message: str, code: str = "") -> RuntimeError_:
        """Make an error at the current statement."""
        error = RuntimeError_(message, self.prov[0] if self.prov else NOWHERE, code=code)
        error.prov = self.prov
        return error

    @contextmanager
    def called(self) -> Iterator[None]:
        """While a function's body runs: errors in it know the call."""
        call = self.prov
        try:
            yield
        except RuntimeError_ as error:
            error.prov = merge_prov(error.prov, call)
            raise

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
        if total > self.most_bytes:
            wanted = f"An array of shape {list(shape)} needs {total} bytes"
            raise self.error(f"{wanted}, which is more than the {self.most_bytes} allowed.")
