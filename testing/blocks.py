"""Read the test blocks of programs on disk, for tests and benchmarks of intermediate stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

import numpy as np

from compiler.ir import entry, values
from compiler.ir.nodes import Array, Function, Param, Prog, Scalar
from compiler.ir.values import Value
from compiler.testing import blocks, inputs
from compiler.testing.blocks import Data, Trial


def read(path: Path) -> list[Trial]:
    """The cases of a program that give an entry point an input."""
    return [case for case in blocks.read(path.read_text("utf-8")).cases if case.kind == "run"]


def arguments(case: Trial, fun: Function) -> list[Value]:
    """The inputs of a case, none of which is in a file, as components of the parameters."""
    return [] if case.input is None else _components(case.input, entry.external(fun))


def given(path: Path, prog: Prog, most: float = inf) -> Iterator[tuple[Trial, list[Value]]]:
    """The cases of a program with their inputs, as `arguments`.

    With `most`: inputs of at most that many scalars, for slow interpreters, which leave out `auto`
    ones as well; those are as large as is worth seeing on the page.
    """
    funs = {fun.name: fun for fun in prog.funs}
    for case in read(path):
        if case.auto and most < inf:
            continue
        args = arguments(case, funs[case.entry])
        if sum(np.size(arg) for arg in args) <= most:
            yield case, args


def expected(case: Trial, fun: Function) -> list[Value] | None:
    """The components of a case's outputs, or None where it does not say."""
    shown = [fun.results[k] for k in entry.visible_results(fun)]
    return None if case.output is None else _components(case.output, shown)


def _components(data: Data, params: Sequence[Param]) -> list[Value]:
    assert data.form in ("values", "random"), f"{data.text} is not read here"
    if data.form == "random":
        return inputs.random(data.text)
    types = [p.type.prim for p in params if isinstance(p.type, Scalar | Array)]
    return values.parse(data.text, types)
