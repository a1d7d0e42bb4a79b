"""All warnings about a program that is otherwise right."""

from __future__ import annotations

from compiler.frontend import decs
from compiler.frontend.certain import certain
from compiler.frontend.typed import TypedProg
from compiler.frontend.unused import unused
from compiler.frontend.warning import Warning_


def warnings(program: decs.Program, typed: TypedProg) -> list[Warning_]:
    """The warnings, in the order of their spans, each once."""
    found = dict.fromkeys([*unused(program), *certain(typed)])
    return sorted(found, key=lambda w: w.span)
