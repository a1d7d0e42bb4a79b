"""The semantics of `jvp` and `vjp`: run a function on numbers with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.base.errors import CompilerBug
from compiler.base.prim import Prim
from compiler.ir import nodes as ir
from compiler.ir.walk import free
from compiler.semantics.duals import Level, TapeNode, Tracked, zero
from compiler.semantics.elements import Data, Elements, cells_of, shape_of

Row = list[Data]


def _level(m: Any, reverse: bool) -> Level:
    """Make a level inside all others."""
    m.levels += 1
    return Level(m.levels, [] if reverse else None)


def _with_cells(like: Data, cells: list[Any]) -> Data:
    return Elements(shape_of(like), cells) if isinstance(like, Elements) else cells[0]


def _slope(cell: Any, level: Level) -> Any:
    """Return the derivative of a result at a level; None if it does not depend on its inputs."""
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
    results = _derived(m, exp.fn, args, level)
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
    results = _derived(m, exp.fn, args, level)
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


def _derived(m: Any, fn: ir.Lambda, args: Row, level: Level) -> Row:
    """Apply a function while a level is active."""
    m.deriving.append(level)
    results: Row = m.apply(fn, args)
    m.deriving.pop()
    return results


def _with_vjp(m: Any, exp: ir.WithVjp, pat: Sequence[ir.Param]) -> Row:
    """Run the function; a reverse mode that is active on its arguments uses the custom adjoint."""
    args = [m.operand(arg) for arg in exp.args]
    around: list[Level] = m.deriving
    inside: list[Level] = []
    heeding: Level | None = None
    for level in reversed(around):
        if level.tape is None:
            break
        inside.append(level)
        if any(_slope(cell, level) is not None for arg in args for cell in cells_of(arg)):
            heeding = level
            break
    given = args if heeding is None else _values(args, heeding)
    m.deriving = around[: len(around) - len(inside)]
    results: Row = m.apply(exp.fn, given)
    m.deriving = around
    for level in inside:
        results = _values(results, level)
    return results if heeding is None else _with_own_adjoints(m, exp, args, results, heeding)


def _with_own_adjoints(m: Any, exp: ir.WithVjp, args: Row, results: Row, level: Level) -> Row:
    """Return results whose adjoints are passed to the arguments by the custom function."""
    known = {name: m.env[name] for name in free(exp.back) if name in m.env}
    around = m.deriving[: m.deriving.index(level)]
    told: list[list[Any]] = []
    kinds = exp.fn.returns

    def adjoints() -> list[list[Any]]:
        if not told:
            seeds = [
                _with_cells(r, [_or_zero(node.adjoint, kind) for node in row])
                for r, row, kind in zip(results, nodes, kinds, strict=True)
            ]
            before, m.env = m.env, {**m.env, **known}
            outer, m.deriving = m.deriving, around
            told.extend(cells_of(x) for x in m.apply(exp.back, [*results, *seeds]))
            m.env, m.deriving = before, outer
        return told

    def at(arg: int, cell: int) -> Any:
        return lambda _: adjoints()[arg][cell]

    parents = [
        (node, at(j, k))
        for j, arg in enumerate(args)
        for k, cell in enumerate(cells_of(arg))
        if (node := _slope(cell, level)) is not None
    ]
    joint = level.node("i64", parents)
    asked = [(joint, lambda _: np.int64(0))]
    nodes = [
        [level.node(_prim(kind), asked) for _ in cells_of(r)]
        for r, kind in zip(results, kinds, strict=True)
    ]
    return [
        _with_cells(r, [Tracked(c, level, node) for c, node in zip(cells_of(r), row, strict=True)])
        for r, row in zip(results, nodes, strict=True)
    ]


def _go_back(level: Level) -> None:
    """Propagate adjoints from the last number of the tape to the first."""
    assert level.tape is not None
    for node in reversed(level.tape):
        if node.adjoint is not None:
            for parent, back in node.parents:
                parent.take(back(node.adjoint))


EXPS: dict[type, Callable[[Any, Any, Sequence[ir.Param]], Row]] = {
    ir.Jvp: _jvp,
    ir.Vjp: _vjp,
    ir.WithVjp: _with_vjp,
}
