"""Record the values of every statement, by the reference interpreters.

Stages without memory use the value semantics, those with memory the heap semantics, where
an array is cells of a block. Each execution inside loops and operators is a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.base.deadline import within
from compiler.base.errors import CompileError, TimeoutError_
from compiler.ir import entry as entries
from compiler.ir import nodes as ir
from compiler.ir.printer import numbered
from compiler.ir.syntax import literal_text
from compiler.ir.values import Value, beginning, prim_of
from compiler.protocol import flows
from compiler.semantics import heap, value
from compiler.semantics.elements import Elements
from compiler.semantics.machine import Block, Location, Machine

MOST = 1000
"""Steps that are recorded."""
LONGEST, CELLS = 120, 48
"""The longest value, in characters, and the most cells of a block."""
SECONDS, BYTES = 5.0, 1 << 24


class _Enough(Exception):
    """The limit of steps is reached."""


class _Steps:
    """The steps so far."""

    def __init__(self, prog: ir.Prog) -> None:
        self.numbers = {id(stm): k for k, stm in enumerate(numbered(prog))}
        self.found: list[flows.FlowStep] = []
        self.blocks: dict[int, Block] = {}

    def add(self, stm: ir.Stm, results: Sequence[Any]) -> None:
        """Record a statement with its results."""
        if len(self.found) == MOST:
            raise _Enough
        step: flows.FlowStep = {"node": self.numbers[id(stm)], "values": []}
        cells: list[list[str]] = []
        for param, result in zip(stm.pat, results, strict=True):
            told: flows.FlowValue = {"name": param.name, "text": _text(result)}
            if isinstance(result, Location):
                self.blocks.setdefault(id(result.block), result.block)
                told["block"] = [*self.blocks].index(id(result.block))
                told["at"] = result.cells()[:CELLS].tolist()
                cells.append([_literal(one) for one in result.block.cells[:CELLS]])
            if result is not None and not isinstance(result, Block):
                step["values"].append(told)
        if cells:
            step["cells"] = cells
        self.found.append(step)


def _literal(one: Any) -> str:
    return literal_text(one.item(), prim_of(one), suffix=False)


def _text(result: Any) -> str:
    """Render a value, or its first elements."""
    if isinstance(result, Location):
        result = result.block.cells[result.cells()].reshape(result.lmad.shape)
    if isinstance(result, Elements):
        if None in result.cells:
            return "not written yet"
        shown = np.array(result.cells, result.cells[0].dtype if result.cells else np.int64)
        result = shown.reshape(result.shape)
    return "" if result is None or isinstance(result, Block) else beginning(result, LONGEST)


class _Values(value.Interpreter):
    """The value semantics, recording each statement."""

    taken: _Steps

    def stms(self, stms: Sequence[ir.Stm]) -> None:
        """Run and record statements in order."""
        for stm in stms:
            super().stms((stm,))
            self.taken.add(stm, [self.env[param.name] for param in stm.pat])


class _Cells(Machine):
    """The heap semantics, recording each statement."""

    taken: _Steps

    def stms(self, code: Sequence[ir.Stm]) -> None:
        """Run and record statements in order."""
        for stm in code:
            super().stms((stm,))
            self.taken.add(stm, [self.env.get(param.name) for param in stm.pat])


def flow(
    prog: ir.Prog, in_heap: bool, entry: str, args: Sequence[Value], seconds: float = SECONDS
) -> flows.FlowAnswer:
    """Run a stage and return its steps. An error ends the run, and is reported with them."""
    steps, note = _Steps(prog), ""
    fun = entries.find(prog, entry)
    entries.bind(fun, args)
    machine: _Values | _Cells
    if in_heap:
        machine = _Cells({one.name: one for one in prog.funs}, {}, heap.STEPS, BYTES)
    else:
        machine = _Values(prog, BYTES, {})
    machine.taken = steps

    def run() -> None:
        if isinstance(machine, _Cells):
            heap.execute(machine, fun, args, tracing=False)
        else:
            value.execute(machine, fun, args)

    try:
        within(seconds, run)
    except _Enough:
        note = f"These are the first {MOST} steps: try a smaller input."
    except TimeoutError_:
        note = f"These are the steps of the first {seconds:g} s: try a smaller input."
    except CompileError as error:
        note = f"The run fails here: {error.message}"
    labels = [block.label for block in steps.blocks.values()]
    return {"ok": True, "heap": in_heap, "steps": steps.found, "blocks": labels, "note": note}
