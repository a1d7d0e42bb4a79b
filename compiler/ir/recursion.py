"""Functions that call themselves: how deep they may, and which of the calls end the function.

A call that is the last thing that its function does is an iteration of a loop, for which nothing
has to be kept: what counts is how many calls lie within one another that have more to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.base.names import Name, base_of
from compiler.ir.nodes import Body, Call, Copy, Function, If, Operand, Param, Stm, Var
from compiler.ir.walk import all_stms

DEEPEST = 100_000
"""How many calls of a function may lie within one another."""


def too_deep(name: str) -> str:
    """What a run is told that goes deeper."""
    return f"Calls of `{base_of(name)}` nest deeper than {DEEPEST:,}."


def calls(stms: Iterable[Stm], name: str) -> bool:
    """Whether a function is called, at any depth."""
    return any(isinstance(stm.exp, Call) and stm.exp.fun == name for stm in all_stms(stms))


def calls_itself(fun: Function) -> bool:
    """Whether a function calls itself."""
    return calls(fun.body.stms, fun.name)


def is_result(pat: Sequence[Param], rest: Sequence[Stm], results: Sequence[Operand]) -> bool:
    """Whether a body's results are these names or copies of them: what a call gives is fresh."""
    copies: dict[Name, Name] = {}
    for stm in rest:
        if not isinstance(stm.exp, Copy):
            return False
        copies[stm.pat[0].name] = stm.exp.array
    found = [x.name if isinstance(x, Var) else x for x in results]
    return [copies.get(x, x) if isinstance(x, str) else x for x in found] == [p.name for p in pat]


def ending(body: Body, name: str) -> int | None:
    """Which statement ends a body with calls of a function: such a call, or branches with some."""
    stms = body.stms
    at = next((k for k in reversed(range(len(stms))) if type(stms[k].exp) is not Copy), None)
    if at is None or not isinstance(stms[at].exp, Call | If) or not calls(stms[at : at + 1], name):
        return None
    return at if is_result(stms[at].pat, stms[at + 1 :], body.results) else None
