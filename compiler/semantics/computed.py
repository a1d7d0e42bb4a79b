"""Evaluate functions without parameters at compile time, within a budget of steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from compiler.base.errors import RuntimeError_
from compiler.ir.nodes import Function, Prog, Stm
from compiler.semantics.evaluator import Data, Evaluator
from compiler.semantics.interp import RULES

_BYTES = 1 << 20
"""Bytes of the largest intermediate array."""


class _TooLong(Exception):
    """The budget of steps is used up."""


class _Short(Evaluator):
    """A run of a limited number of statements; each body counts as one more."""

    __slots__ = ("left",)

    left: int

    def stms(self, stms: Sequence[Stm]) -> None:
        self.left -= len(stms) + 1
        if self.left < 0:
            raise _TooLong
        super().stms(stms)


def results_of(
    fun: Function, others: Iterable[Function], steps: int
) -> tuple[list[Data] | None, int]:
    """Return the results of a function and the steps left; None if they do not suffice.

    Also None where the run fails, or needs too much memory for a compiler.
    `others`: functions that it may call.
    """
    run = _Short(Prog((fun, *others)), RULES, _BYTES, {})
    run.left = steps
    with np.errstate(all="ignore"):
        try:
            return run.body(fun.body), run.left
        except (_TooLong, RuntimeError_):
            return None, max(run.left, 0)
