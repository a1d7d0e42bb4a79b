"""The memory that a run may use, and errors that know where the program was: for all interpreters.

Time is bounded from outside, by `base/deadline.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from compiler.base.errors import RuntimeError_
from compiler.base.names import Name, base_of
from compiler.base.spans import NOWHERE, Prov, merge_prov

USUAL_BYTES = 1 << 33
DEEPEST = 500
"""How many calls of one function may lie within one another."""


class Watched:
    """A run within `most_bytes`, of an array or in all; `prov` is the current statement's."""

    __slots__ = ("calls", "env", "most_bytes", "prov")

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.prov: Prov = ()
        self.env: dict[Name, Any] = {}
        self.calls: dict[str, int] = {}
        """How many calls of each function are at work."""

    def error(self, message: str) -> RuntimeError_:
        """Make an error at the current statement."""
        error = RuntimeError_(message, self.prov[0] if self.prov else NOWHERE)
        error.prov = self.prov
        return error

    @contextmanager
    def called(self, fun: str) -> Iterator[None]:
        """While a function's body runs: errors in it know the call.

        Names of a function that calls itself have their values again when the inner call is over.
        """
        call, depth = self.prov, self.calls.get(fun, 0)
        too_deep = (
            f"`{base_of(fun)}` has called itself {depth} times, one call within the other,"
            " which is as deep as the interpreter of this stage goes."
        )
        if depth == DEEPEST:
            raise self.error(too_deep)
        own = dict(self.env) if depth else None
        self.calls[fun] = depth + 1
        try:
            yield
        except RuntimeError_ as error:
            error.prov = merge_prov(error.prov, call)
            raise
        except RecursionError:
            raise self.error(too_deep) from None
        finally:
            self.calls[fun] = depth
            if own is not None:
                self.env = own

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
            error = self.error(f"{wanted}, which is more than the {self.most_bytes} allowed.")
            error.cause = "memory"
            raise error
