"""What a function without parameters gives, where finding that out takes few steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from compiler.base.errors import RuntimeError_
from compiler.ir.nodes import Function, Prog, Stm
from compiler.semantics.evaluator import Data, Evaluator
from compiler.semantics.interp import RULES

_BYTES = 1 << 20
"""Of the largest array on the way."""


class _TooLong(Exception):
    """The steps are used up."""


class _Short(Evaluator):
    """A run of so many statements; each body counts as one more."""

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
    """The results of a function, and how many steps are left; None if they are too few.

    None as well where the run fails, or needs more memory than a compiler should take for it.
    `others`: functions that it may call.
    """
    run = _Short(Prog((fun, *others)), RULES, _BYTES, {})
    run.left = steps
    with np.errstate(all="ignore"):
        try:
            return run.body(fun.body), run.left
        except (_TooLong, RuntimeError_):
            return None, max(run.left, 0)
