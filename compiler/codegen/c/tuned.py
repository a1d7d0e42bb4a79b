"""Emit C whose thresholds are run-time parameters, recording what each is compared with.

So one text is tuned with many thresholds. `ss_profile` has a row of `ROW` numbers for each: the
threshold, the number of distinct amounts, and up to `AMOUNTS` of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.text import Text
from compiler.codegen.c.hists import Kernels
from compiler.codegen.c.program import emit
from compiler.codegen.c.runtime import AMOUNTS
from compiler.codegen.c.scalar import Scalars
from compiler.codegen.c.stms import Sites
from compiler.codegen.c.types import c_name
from compiler.codegen.imp import nodes as imp
from compiler.ir.nodes import Bin

ROW = AMOUNTS + 2


class _Tuned(Kernels):
    """`Kernels` with parametric thresholds."""

    def __init__(
        self,
        numbers_of: Mapping[Name, int],
        scalars: Scalars,
        sites: Sites,
        numbers: Iterator[int],
    ) -> None:
        super().__init__(scalars, sites, numbers)
        self.numbers_of = numbers_of

    def define(self, stm: imp.Define) -> None:
        """Print a constant, or a comparison with a threshold."""
        number = self.numbers_of.get(stm.name)
        if number is None or not isinstance(stm.value, Bin):
            super().define(stm)
            return
        amount = self.show(stm.value.lhs)
        self.line(f"const bool {c_name(stm.name)} = ss_reached({number}, {amount});")


def emit_tuned(prog: imp.ImpProg, thresholds: Mapping[Name, int]) -> Text:
    """Return the C file of a program with parametric thresholds.

    `thresholds`: number of each, by the name of its comparison.
    """
    return emit(prog, Ctx(), partial(_Tuned, thresholds))


def initial_profile(thresholds: Sequence[int]) -> tuple[int, ...]:
    """Return the initial `ss_profile` of a run with thresholds, by number."""
    return tuple(word for one in thresholds for word in (one, *[0] * (ROW - 1)))


def compared(words: Sequence[int], number: int) -> list[int]:
    """Return the amounts that a threshold was compared with in a run."""
    row = words[number * ROW : (number + 1) * ROW]
    return list(row[2 : 2 + min(row[1], AMOUNTS)])
