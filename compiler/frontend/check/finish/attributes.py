"""Collect the attributes of expressions for the passes: words by span.

A statement of the core language knows the spans that it came from, so that nothing else has to
carry attributes. `#[incremental_flattening(no_outer)]` gives `incremental_flattening`, `no_outer`.
An attribute before `map f xs |> head` is one of all applications there: of what is applied, and of
what it is applied to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.parts import parts
from compiler.frontend.types import PrimT

Words = dict[Span, frozenset[str]]

_last: dict[int, tuple[t.Exp, Words]] = {}
"""Cache of the previous program: definitions in unchanged files are the same objects."""


def attributes(defs: Iterable[t.Def]) -> Words:
    """Return the words of all attributes on the expression at each span."""
    now: dict[int, tuple[t.Exp, Words]] = {}
    found: Words = {}
    for body in (d.body for d in defs):
        known = now[id(body)] = _last.get(id(body)) or (body, _in_body(body))
        for span, words in known[1].items():
            found[span] = found.get(span, frozenset()) | words
    _last.clear()
    _last.update(now)
    return found


def _in_body(body: t.Exp) -> Words:
    found: Words = {}
    todo = [body]
    while todo:
        e = todo.pop()
        if isinstance(e, t.Attr):
            inner = e.exp
            while isinstance(inner, t.Attr):
                inner = inner.exp
            words = _words(e.attr)
            for one in _applications(inner):
                found[one.span] = found.get(one.span, frozenset()) | words
        todo.extend(parts(e))
    return found


def _applications(e: t.Exp) -> Iterator[t.Exp]:
    """Yield an expression, and the applications that directly produce its value."""
    yield e
    if isinstance(e, t.Apply):
        for part in (e.fn, *e.args):
            if isinstance(part, t.Apply):
                yield from _applications(part)


def parameters(defs: Iterable[t.Def]) -> list[str]:
    """Return the names of tuning parameters, in order of definitions."""
    found: dict[str, None] = {}
    todo = [d.body for d in defs]
    while todo:
        e = todo.pop()
        if isinstance(e, t.Attr) and e.parameter and e.type == PrimT("i64"):
            found[e.parameter] = None
        todo.extend(parts(e))
    return list(found)


def _words(text: str) -> frozenset[str]:
    return frozenset("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
