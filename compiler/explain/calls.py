"""Find the calls that led to the place of a failure.

An inlined statement has the place of the call behind its own, so that the provenance of a
check holds its own place and those of callers. The program tells which of them called which:
each must mention the function around the one before.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov, Span
from compiler.frontend import typed as t
from compiler.frontend.parts import free_variables, parts


def calls(prog: t.TypedProg, prov: Prov) -> Prov:
    """Return the calls that led to the first place of a provenance, innermost first."""
    functions = [one for d in prog.defs if d.span.is_own for one in _functions(d)]
    left = list(prov[1:])
    mentioned = {span: _mentioned(prog, span) for span in left}
    found: list[Span] = []
    here: Span | None = prov[0] if prov else None
    while here is not None:
        around = {one.name for one in functions if one.span.holds(here)}
        here = next((one for one in left if mentioned[one] & around), None)
        if here is not None:
            left.remove(here)
            found.append(here)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Function:
    """A definition or nested function, from its name to its end."""

    name: Name
    span: Span

    @staticmethod
    def of(d: t.Def) -> _Function:
        return _Function(d.name, d.span.to(d.body.span))


def _functions(d: t.Def) -> Iterator[_Function]:
    yield _Function.of(d)
    for e in _inside(d.body):
        if isinstance(e, t.LetFun):
            yield _Function.of(e.fun)


def _inside(e: t.Exp) -> Iterator[t.Exp]:
    todo = [e]
    while todo:
        one = todo.pop()
        yield one
        todo.extend(parts(one))


def _mentioned(prog: t.TypedProg, span: Span) -> set[Name]:
    """Return the free variables of expressions with that span."""
    found: set[Name] = set()
    for d in prog.defs:
        if d.span.to(d.body.span).holds(span):
            for e in _inside(d.body):
                if e.span == span:
                    found |= free_variables(e)
    return found
