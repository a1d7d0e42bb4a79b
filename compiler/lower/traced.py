"""Find the calls of `trace` and `break`, two functions of the prelude, and their attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from compiler.base.names import Name
from compiler.frontend import typed as t
from compiler.frontend.check.prelude import load
from compiler.frontend.parts import parts
from compiler.frontend.types import Arrow
from compiler.lower.static import has_function

TRACING = ("trace", "break")
_ATTRIBUTE = re.compile(r"(?:#\[)?\s*(trace|break)\b")


def is_traced(code: t.Def) -> bool:
    """Return True for the prelude's definitions that show their argument."""
    return code.source_name in TRACING and code.span.in_prelude


def has_traces(prog: t.TypedProg) -> bool:
    """Return True if a program may trace anything."""
    todo = [d.body for d in prog.defs if not d.span.in_prelude]
    while todo:
        exp = todo.pop()
        if isinstance(exp, t.Attr) and _ATTRIBUTE.match(exp.attr):
            return True
        todo.extend(parts(exp))
    return any(map(is_traced, prog.defs))


def with_calls(prog: t.TypedProg) -> t.TypedProg:
    """Replace the attributes by calls of the functions."""
    functions = {d.source_name: d for d in load().defs.values() if is_traced(d)}
    names = {source: d.name for source, d in functions.items()}
    there = {d.name for d in prog.defs}
    more = tuple(d for d in functions.values() if d.name not in there)
    return replace(prog, defs=(*more, *(_called(d, names) for d in prog.defs)))


def _called(node: Any, functions: Mapping[str, Name]) -> Any:
    if type(node) is tuple:
        return tuple([_called(part, functions) for part in node])
    if type(node).__module__ != t.__name__:
        return node
    new = replace(node, **{f.name: _called(getattr(node, f.name), functions) for f in fields(node)})
    found = _ATTRIBUTE.match(new.attr) if isinstance(new, t.Attr) else None
    if found is None or has_function(new.type):
        return new
    kind = Arrow(new.type, new.type)
    function = t.Var(kind, new.span, functions[found[1]], (new.type,))
    return t.Apply(new.type, new.span, function, (new.exp,))
