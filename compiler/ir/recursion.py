"""Analyse recursion: depth limit, and which recursive calls are tail calls.

A tail call is an iteration of a loop and keeps no frame: only nesting of other calls counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.base.names import Name, base_of
from compiler.ir.nodes import Body, Call, Copy, Function, If, Operand, Param, Stm, Var
from compiler.ir.walk import all_stms

DEEPEST = 100_000
"""Maximum nesting depth of calls of a function."""


def too_deep(name: str) -> str:
    """Return the error message of a run that exceeds the depth."""
    return f"Calls of `{base_of(name)}` nest deeper than {DEEPEST:,}."


def calls(stms: Iterable[Stm], name: str) -> bool:
    """True if a function is called, at any nesting."""
    return any(isinstance(stm.exp, Call) and stm.exp.fun == name for stm in all_stms(stms))


def calls_itself(fun: Function) -> bool:
    """True if a function is recursive."""
    return calls(fun.body.stms, fun.name)


def is_result(pat: Sequence[Param], rest: Sequence[Stm], results: Sequence[Operand]) -> bool:
    """True if a body's results are these names or copies of them: call results are fresh."""
    copies: dict[Name, Name] = {}
    for stm in rest:
        if not isinstance(stm.exp, Copy):
            return False
        copies[stm.pat[0].name] = stm.exp.array
    found = [x.name if isinstance(x, Var) else x for x in results]
    return [copies.get(x, x) if isinstance(x, str) else x for x in found] == [p.name for p in pat]


def tail_call_index(body: Body, name: str) -> int | None:
    """Return the index of a final tail call, or branch with one; None if there is none."""
    stms = body.stms
    at = next((k for k in reversed(range(len(stms))) if type(stms[k].exp) is not Copy), None)
    if at is None or not isinstance(stms[at].exp, Call | If) or not calls(stms[at : at + 1], name):
        return None
    return at if is_result(stms[at].pat, stms[at + 1 :], body.results) else None
