"""Generic traversal of typed expressions and patterns: parts, rebuilding, variables."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from compiler.base.names import Name
from compiler.frontend import typed as t
from compiler.frontend.types import Type

_Node = TypeVar("_Node")


def free_variables(e: t.Exp) -> set[Name]:
    """Return all variables in `e`; as names are unique, callers subtract their own."""
    found: set[Name] = set()
    todo: list[t.Exp] = [e]
    while todo:
        exp = todo.pop()
        if isinstance(exp, t.Var):
            found.add(exp.name)
        else:
            todo.extend(parts(exp))
    return found


class Rebuilder(Protocol):
    """A transformation of the parts of an expression."""

    def exp(self, exp: t.Exp) -> t.Exp: ...  # noqa: D102

    def pat(self, pat: t.Pat) -> t.Pat: ...  # noqa: D102

    def type(self, ty: Type) -> Type: ...  # noqa: D102

    def definition(self, d: t.Def) -> t.Def: ...  # noqa: D102


class _Field(NamedTuple):
    """A field: its expressions, its reconstruction with other parts, its patterns."""

    parts: Callable[[Any], Iterable[t.Exp]]
    rebuild: Callable[[Rebuilder, Any], Any]
    patterns: Callable[[Any], Iterable[t.Pat]] = lambda _: ()


_ONE = _Field(lambda x: (x,), lambda r, x: r.exp(x))
_INNER = _Field(lambda x: parts(x), lambda r, x: rebuilt(r, x), lambda x: patterns(x))
_FIELDS: dict[str, _Field] = {
    "Exp": _ONE,
    "Exp | None": _Field(
        lambda x: () if x is None else (x,), lambda r, x: None if x is None else r.exp(x)
    ),
    "tuple[Exp, ...]": _Field(lambda xs: xs, lambda r, xs: tuple([r.exp(x) for x in xs])),
    "tuple[tuple[str, Exp], ...]": _Field(
        lambda xs: [x for _, x in xs], lambda r, xs: tuple([(name, r.exp(x)) for name, x in xs])
    ),
    "For | ForIn | While": _INNER,
    "Def": _Field(lambda x: (x.body,), lambda r, x: r.definition(x)),
    "tuple[tuple[str, Pat], ...]": _Field(
        lambda xs: (), lambda r, xs: tuple([(name, r.pat(x)) for name, x in xs])
    ),
    "Pat": _Field(lambda x: (), lambda r, x: r.pat(x), lambda x: (x,)),
    "tuple[Pat, ...]": _Field(
        lambda xs: (), lambda r, xs: tuple([r.pat(x) for x in xs]), lambda xs: xs
    ),
    "Type": _Field(lambda x: (), lambda r, x: r.type(x)),
}
"""By annotations of fields; other fields hold no expressions and never change."""
for _inner in ("DimIndex", "Case"):
    _FIELDS[f"tuple[{_inner}, ...]"] = _Field(
        lambda xs: [part for x in xs for part in parts(x)],
        lambda r, xs: tuple([rebuilt(r, x) for x in xs]),
        lambda xs: [pat for x in xs for pat in patterns(x)],
    )


@cache
def _fields_of(cls: type) -> tuple[tuple[str, _Field | None], ...]:
    """Return the fields of a typed class, or of the one that the checker's class extends."""
    own = next(one for one in cls.__mro__ if one.__module__ == t.__name__)
    return tuple([(f.name, _FIELDS.get(str(f.type))) for f in fields(cast(Any, own))])


@cache
def _with_parts(cls: type) -> tuple[tuple[str, Callable[[Any], Iterable[t.Exp]]], ...]:
    found = _fields_of(cls)
    return tuple([(f, how.parts) for f, how in found if how and f != "type"])


def fields_with_parts(e: t.Exp) -> tuple[str, ...]:
    """Return the names of the fields of an expression that hold expressions."""
    cls: Any = type(e)
    return tuple([name for name, _ in _with_parts(cls)])


def parts(e: t.Exp | t.Case | t.DimIndex) -> tuple[t.Exp, ...]:
    """Return the direct subexpressions in order of evaluation (calls: as written)."""
    cls: Any = type(e)
    return tuple([part for name, how in _with_parts(cls) for part in how(getattr(e, name))])


def patterns(e: t.Exp | t.For | t.ForIn | t.While | t.Case | t.DimIndex) -> tuple[t.Pat, ...]:
    """Return the patterns that an expression binds, but those of a function that it defines."""
    cls: Any = type(e)
    found = ((name, how) for name, how in _fields_of(cls) if how is not None)
    return tuple([pat for name, how in found for pat in how.patterns(getattr(e, name))])


def rebuilt(r: Rebuilder, e: _Node) -> _Node:
    """Rebuild an expression with parts transformed by `r`: its type first, the others in order."""
    cls: Any = type(e)
    new = []
    for name, how in _fields_of(cls):
        old = getattr(e, name)
        new.append(r.exp(old) if how is _ONE else old if how is None else how.rebuild(r, old))
    return cast(_Node, cls(*new))


def pattern_variables(pat: t.Pat) -> list[t.PVar]:
    """Return the variables that a pattern binds."""
    match pat:
        case t.PVar():
            return [pat]
        case t.PRecord(fields=fields):
            return [v for _, p in fields for v in pattern_variables(p)]
        case t.PConstr(args=args):
            return [v for p in args for v in pattern_variables(p)]
    return []


def without_stars(node: _Node, names: Container[Name]) -> _Node:
    """Remove the `*` of these variables from a typed definition, or a part of one."""
    found: object = node
    if type(found) is tuple:
        found = tuple([without_stars(part, names) for part in found])
    elif isinstance(node, t.PVar):
        found = replace(node, consumes=False) if node.name in names else node
    elif type(node).__module__ == t.__name__:
        changes = {
            f.name: without_stars(getattr(node, f.name), names) for f in fields(cast(Any, node))
        }
        found = replace(cast(Any, node), **changes)
    return cast(_Node, found)
