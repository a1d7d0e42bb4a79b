"""Verify the memory layout of a program after each pass that affects it, from the text alone.

Checks that each index function stays inside its block, and that no write overlaps cells that are
needed later or accessed by another thread. Independent of the passes: liveness of arrays, meanings
of block names and facts about sizes are recomputed here in a simpler way. Only the prover of
integer inequalities is shared.

    known.py    facts about integers at a place
    integers.py reads numbers as polynomials, and conditions as facts
    blocks.py   the blocks that a name may mean, and the flow of arrays
    decide.py   questions: proved, refuted by numbers, or open
    accesses.py reads, writes and liveness
    meetings.py whether two accesses overlap
    cells.py    walks a function and asks

A question is refuted only by numbers that do occur: sizes and indices of an entry point, within
their bounds. All else is left open, and counted.
"""

from __future__ import annotations

from compiler.ir import nodes as ir
from compiler.ir.memory.accesses import Tally
from compiler.ir.memory.cells import Cells


def check(prog: ir.Prog, stage: str, strict: bool = False) -> Tally:
    """Count what was proved and what stays open. Raises CompilerBug for a wrong layout.

    `strict`: treat a sum or product as an integer only if it provably does not wrap.
    """
    tally = Tally()
    for fun in prog.funs:
        Cells(fun, stage, tally, strict).run()
    return tally
