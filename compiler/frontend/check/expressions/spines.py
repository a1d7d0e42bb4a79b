"""Updates of parts of parts: `a with [i].f = v` is parsed as `a with [i] = (a[i] with f = v)`.

The old value ends the new one's spine. It may be an expression that must not be evaluated twice;
then the checker binds it to a name and substitutes that.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.names import Name
from compiler.frontend import ast


def spine(value: ast.Exp) -> ast.Exp:
    """Return the value that `value` updates or projects from, or `value` itself."""
    while isinstance(value, (ast.Update, ast.RecordUpdate, ast.Project)):
        value = value.exp if isinstance(value, ast.Project) else value.src
    return value


def replace_spine(value: ast.Exp, name: Name) -> ast.Exp:
    """Substitute a variable for `spine(value)`, everywhere along the updates."""
    return replace_node(value, spine(value), name)


def replace_node(value: ast.Exp, old: ast.Exp, name: Name) -> ast.Exp:
    """Substitute a variable for the node `old` along the updates."""
    if value is old:
        return ast.Var(value.span, (name,))
    match value:
        case ast.Index():
            return replace(value, array=replace_node(value.array, old, name))
        case ast.Project():
            return replace(value, exp=replace_node(value.exp, old, name))
        case ast.Update() | ast.RecordUpdate():
            src, new = replace_node(value.src, old, name), replace_node(value.value, old, name)
            return replace(value, src=src, value=new)
    return value
