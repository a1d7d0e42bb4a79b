"""Decide which expressions can be speculated, and which must stay although unused.

An expression may be *speculated*, that is computed before the checks in front of it, once too
often, or for nothing, if it cannot fail, nor run for ever. Which scalar operators fail on which
operands is told by `ir/may_fail.py`, what an expression overwrites by `ir/aliases.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from compiler.algebra.poly import Poly
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.fails import Fails
from compiler.ir.may_fail import cannot_fail

WHEN: Mapping[type, Fails] = ir.CORE.trait("fails")
"""Fails trait of each expression class."""


class LocalFacts(Protocol):
    """Facts that hold where an expression would be computed."""

    def is_size(self, size: Poly) -> bool:
        """True if an array can have that size."""

    def is_inside(self, exp: ir.Index | ir.Slice | ir.Update) -> bool:
        """True if all accessed positions are in bounds."""

    def keeps_count(self, exp: ir.Reshape) -> bool:
        """True if the new shape has as many elements as the array."""


def may_fail(exp: ir.Exp, facts: LocalFacts | None = None) -> bool:
    """True if an expression may fail or diverge when no check precedes it."""
    if not operands_cannot_fail(exp):
        return True
    match WHEN[type(exp)]:
        case Fails.STOPS:
            return True
        case Fails.NEVER:
            pass
        case _ if facts is None:
            return True
        case Fails.OUTSIDE:
            assert isinstance(exp, ir.Index | ir.Slice | ir.Update)
            return not facts.is_inside(exp)
        case Fails.SIZE:
            return not all(map(facts.is_size, _sizes(exp)))
        case Fails.COUNT:
            assert isinstance(exp, ir.Reshape)
            return not facts.keeps_count(exp)
    if isinstance(exp, ir.Loop) and isinstance(exp.form, ir.WhileLoop):
        return True
    for part in walk.children(exp):
        results = part.body.results if isinstance(part, ir.Lambda) else part.results
        if not results_cannot_fail(results):
            return True
        if any(may_fail(stm.exp, facts) for stm in walk.stms_of(part)):
            return True
    return False


def must_stay(exp: ir.Exp) -> bool:
    """True if an unused expression must stay because it may hold a check.

    A push to an accumulator is kept alive by the enclosing stream.
    """
    return _must_stay(exp, isinstance(exp, ir.Stream | ir.SegOp))


def _must_stay(exp: ir.Exp, streams: bool) -> bool:
    kind = type(exp)
    if WHEN[kind] is Fails.STOPS and not (streams and kind is ir.Push):
        return True
    if kind not in walk.NESTED:
        return False
    streams = streams or kind is ir.Stream
    return any(_must_stay(s.exp, streams) for p in walk.children(exp) for s in walk.stms_of(p))


def results_cannot_fail(values: Iterable[ir.KernelResult]) -> bool:
    """True if results of a body have values for all values of their variables."""
    for value in values:
        if isinstance(value, ir.Write):
            if not all(results_cannot_fail((*at, written)) for at, written in value.writes):
                return False
        elif not isinstance(value, str) and not cannot_fail(value):
            return False
    return True


def operands_cannot_fail(exp: ir.Exp) -> bool:
    """True if the scalar operands of an expression cannot fail; nested bodies are skipped."""
    if isinstance(exp, ir.SE_NODES):
        return cannot_fail(exp)
    partial = False

    def look(se: ir.SE) -> ir.SE:
        nonlocal partial
        partial = partial or not cannot_fail(se)
        return se

    walk.rewrite(exp, walk.Rewrite(se=look, body=_same, fn=_same, kernel=_same))
    return not partial


def _same(part: walk.Node) -> walk.Node:
    return part


def _sizes(exp: ir.Exp) -> tuple[Poly, ...]:
    match exp:
        case ir.Iota(count, _, _, _) | ir.Alloc(count, _, _):
            return (count,)
        case ir.Replicate(shape, _) | ir.Scratch(_, shape):
            return shape
    return ()
