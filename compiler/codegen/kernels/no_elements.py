"""Suppress checks of operators on empty reductions and scans.

Threads without elements combine neutral elements. For those an operator's checks hold if they hold
for any element; but on an empty array nothing is required of it.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.names import Name
from compiler.codegen.imp.nodes import Assign, Declare, Fold, If, Kernel
from compiler.codegen.traits import traits_of
from compiler.ir.nodes import SE, ZERO, Bin, Scalar, Var


def of_elements(kernel: Kernel, folds: tuple[Fold, ...]) -> tuple[Fold, ...]:
    """Return operators that do nothing if there are no elements."""
    some = Bin("<", "i64", ZERO, kernel.dims[-1][1])
    return tuple(_guarded(fold, some) for fold in folds)


def _guarded(fold: Fold, some: SE) -> Fold:
    """Return the operator guarded by `some`, else its left operand."""
    op = fold.op
    if not traits_of(op.body).asserts:
        return fold
    parts = list(zip(op.lhs, op.prims, op.results, strict=True))
    first = (Declare(_joined(n), Scalar(p), Var(n, p), op.prov) for n, p, _ in parts)
    joined = (Assign(_joined(n), result, op.prov) for n, _, result in parts)
    body = (*first, If(some, (*op.body, *joined), (), op.prov))
    results = tuple(Var(_joined(n), p) for n, p, _ in parts)
    return replace(fold, op=replace(op, body=body, results=results))


def _joined(lhs: Name) -> Name:
    """Return the name of the operator's result."""
    return f"{lhs}_joined"
