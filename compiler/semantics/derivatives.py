"""What `jvp` and `vjp` mean: a function run on numbers that know their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.base.errors import CompilerBug
from compiler.base.prim import Prim
from compiler.ir import nodes as ir
from compiler.semantics.duals import Level, TapeNode, Tracked, zero
from compiler.semantics.elements import Data, Elements, cells_of, shape_of

Row = list[Data]


def _level(m: Any, reverse: bool) -> Level:
    """A level inside of all others."""
    m.levels += 1
    return Level(m.levels, [] if reverse else None)


def _with_cells(like: Data, cells: list[Any]) -> Data:
    return Elements(shape_of(like), cells) if isinstance(like, Elements) else cells[0]


def _slope(cell: Any, level: Level) -> Any:
    """How a result depends on the inputs of a level; None if it does not."""
    return cell.slope if type(cell) is Tracked and cell.level is level else None


def _value(cell: Any, level: Level) -> Any:
    return cell.value if type(cell) is Tracked and cell.level is level else cell


def _values(results: Row, level: Level) -> Row:
    return [_with_cells(r, [_value(cell, level) for cell in cells_of(r)]) for r in results]


def _jvp(m: Any, exp: ir.Jvp, pat: Sequence[ir.Param]) -> Row:
    level = _level(m, reverse=False)
    args: Row = []
    for arg, seed in zip(map(m.operand, exp.args), map(m.operand, exp.seeds), strict=True):
        pairs = zip(cells_of(arg), cells_of(seed), strict=True)
        args.append(_with_cells(arg, [Tracked(cell, level, slope) for cell, slope in pairs]))
    results = m.apply(exp.fn, args)
    tangents: Row = []
    for result, kind in zip(results, exp.fn.returns, strict=True):
        slopes = [_slope(cell, level) for cell in cells_of(result)]
        tangents.append(_with_cells(result, [_or_zero(s, kind) for s in slopes]))
    return [*_values(results, level), *tangents]


def _or_zero(slope: Any, kind: ir.Type) -> Any:
    return zero(_prim(kind)) if slope is None else slope


def _prim(kind: ir.Type) -> Prim:
    if isinstance(kind, ir.Mem):
        raise CompilerBug("the derivative of a block")
    return kind.prim


def _vjp(m: Any, exp: ir.Vjp, pat: Sequence[ir.Param]) -> Row:
    level = _level(m, reverse=True)
    args: Row = []
    inputs: list[list[TapeNode]] = []
    for arg, param in zip(map(m.operand, exp.args), exp.fn.params, strict=True):
        nodes = [level.node(_prim(param.type), []) for _ in cells_of(arg)]
        pairs = zip(cells_of(arg), nodes, strict=True)
        args.append(_with_cells(arg, [Tracked(cell, level, node) for cell, node in pairs]))
        inputs.append(nodes)
    results = m.apply(exp.fn, args)
    for result, seed in zip(results, map(m.operand, exp.seeds), strict=True):
        for cell, adjoint in zip(cells_of(result), cells_of(seed), strict=True):
            node = _slope(cell, level)
            if node is not None:
                node.take(adjoint)
    _go_back(level)
    adjoints: Row = []
    for arg, nodes, param in zip(args, inputs, exp.fn.params, strict=True):
        cells = [_or_zero(node.adjoint, param.type) for node in nodes]
        adjoints.append(_with_cells(arg, cells))
    return [*_values(results, level), *adjoints]


def _go_back(level: Level) -> None:
    """Hand adjoints on, from the last number of the tape to the first."""
    assert level.tape is not None
    for node in reversed(level.tape):
        if node.adjoint is not None:
            for parent, back in node.parents:
                parent.take(back(node.adjoint))


EXPS: dict[type, Callable[[Any, Any, Sequence[ir.Param]], Row]] = {ir.Jvp: _jvp, ir.Vjp: _vjp}
