"""Select the scalar functions that survive inlining as calls: `Apply` is as free as an operator.

They take and return scalars, and are total. So a call can be speculated, and no pass has to look
inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from compiler.ir import nodes as ir
from compiler.ir.may_fail import cannot_fail

_NONE: Set[str] = frozenset()


def is_of_scalars(fun: ir.Function, others: Set[str] = _NONE) -> bool:
    """True if a function has only scalars and is total.

    `others` are scalar functions that it may call, before inlining.
    """
    own = not fun.entry and _are_scalars((*fun.params, *fun.results))
    return own and _is_total(fun.body, others)


def _are_scalars(params: Iterable[ir.Param]) -> bool:
    return all(isinstance(param.type, ir.Scalar) for param in params)


def _is_total(body: ir.Body, others: Set[str]) -> bool:
    fine = all(_are_scalars(stm.pat) and _has_value(stm.exp, others) for stm in body.stms)
    return fine and _have_values(body.results)


def _has_value(exp: ir.Exp, others: Set[str]) -> bool:
    match exp:
        case ir.If(cond, then, orelse):
            return cannot_fail(cond) and _is_total(then, others) and _is_total(orelse, others)
        case ir.Loop(params, init, ir.ForLoop(bound=bound), body):
            begun = _are_scalars(params) and _have_values(init) and cannot_fail(bound)
            return begun and _is_total(body, others)
        case ir.Call(name, args):
            return name in others and _have_values(args)
        case ir.Apply(_, args):
            return _have_values(args)
    return isinstance(exp, ir.SE_NODES) and cannot_fail(exp)


def _have_values(operands: Iterable[ir.Operand]) -> bool:
    return all(not isinstance(one, str) and cannot_fail(one) for one in operands)
