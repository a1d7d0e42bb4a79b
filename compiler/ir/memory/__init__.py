"""Where arrays lie, checked after each pass that has to do with memory, from the text alone.

Two questions: does each index function stay inside of its block; and does no write meet a cell of
an array that is needed later, or that another thread touches. Nothing of what the passes think of
goes into it: when arrays are needed, which blocks names mean and what holds of sizes is found here,
once more, in a simpler way. Only inequalities over integers are proved by the same algebra.

    known.py    what holds of integers at a place
    integers.py which polynomials numbers are, and what conditions say of them
    blocks.py   what names of blocks mean, what passes from array to array
    decide.py   questions: proved, refuted by numbers, or open
    accesses.py what is read and written, and what is needed
    meetings.py whether two accesses meet
    cells.py    goes through a function, and asks

An answer is only refuted by numbers that do occur: sizes and indices of an entry point, within
their bounds. All else is left open, and counted.
"""

from __future__ import annotations

from compiler.ir import nodes as ir
from compiler.ir.memory.accesses import Tally
from compiler.ir.memory.cells import Cells


def check(prog: ir.Prog, stage: str, strict: bool = False) -> Tally:
    """What was proved and what stays open. Raises CompilerBug where arrays lie wrong.

    A strict check takes no sum or product for one of integers unless it is known not to wrap.
    """
    tally = Tally()
    for fun in prog.funs:
        Cells(fun, stage, tally, strict).run()
    return tally
