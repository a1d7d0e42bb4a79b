"""The attributes of expressions, for the passes: a table by span, in single words.

A statement of the core language knows the spans that it came from, so that nothing else has to
carry attributes. `#[incremental_flattening(no_outer)]` gives `incremental_flattening`, `no_outer`.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.parts import parts


def attributes(defs: Iterable[t.Def]) -> dict[Span, frozenset[str]]:
    """The words of all attributes on the expression at each span."""
    found: dict[Span, frozenset[str]] = {}
    todo = [d.body for d in defs]
    while todo:
        e = todo.pop()
        if isinstance(e, t.Attr):
            inner = e.exp
            while isinstance(inner, t.Attr):
                inner = inner.exp
            found[inner.span] = found.get(inner.span, frozenset()) | _words(e.attr)
        todo.extend(parts(e))
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
