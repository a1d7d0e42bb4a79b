"""Common subexpression elimination, within a body and its enclosing ones.

Statements without bodies are looked up by value. Those with bodies (parallel operators, loops,
branches) are looked up by their operands, then by the kinds of statements in their bodies, and
finally compared up to renaming of bound names. Arrays that are consumed or must be fresh are never
shared: the simplifier does not ask for them.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.parts import NODES

_Key = object
_MAX_COMPARED = 8


class _Computed(NamedTuple):
    """A statement with bodies, or a call, that was computed."""

    exp: ir.Exp
    names: tuple[Name, ...]


class Table:
    """Available expressions, by scope; entries of a scope are dropped at its end."""

    __slots__ = ("_added", "_by_key", "_many", "_shapes")

    def __init__(self) -> None:
        self._by_key: dict[_Key, Name] = {}
        self._many: dict[_Key, list[_Computed]] = {}
        self._added: list[list[tuple[_Key, _Computed | None]]] = []
        self._shapes: dict[int, tuple[ir.Exp, int]] = {}
        """Cached shapes of expressions that had a candidate."""

    def enter(self) -> None:
        """Begin a scope."""
        self._added.append([])

    def leave(self) -> None:
        """End a scope."""
        for key, computed in self._added.pop():
            if computed is None:
                del self._by_key[key]
            else:
                self._many[key] = [x for x in self._many[key] if x is not computed]

    def find(self, exp: ir.Exp) -> Name | None:
        """Return the name of an equal expression without bodies, or None."""
        return self._by_key.get(exp)

    def add(self, exp: ir.Exp, name: Name, depth: int) -> None:
        """Record that `name`, bound at `depth`, is the value of `exp`."""
        before = len(self._by_key)
        self._by_key.setdefault(exp, name)
        if len(self._by_key) > before:
            self._added[depth].append((exp, None))

    def find_many(self, exp: ir.Exp) -> tuple[Name, ...] | None:
        """Return the results of an operator or call equal up to bound names, or None."""
        candidates = self._many.get(_read(exp))
        if not candidates:
            return None
        shape = self._shape(exp)
        alike = [one for one in candidates if self._shape(one.exp) == shape]
        for other, names in alike[-_MAX_COMPARED:]:
            if same_up_to_names(exp, other, {}):
                return names
        return None

    def add_many(self, exp: ir.Exp, names: tuple[Name, ...], depth: int) -> None:
        """Record the results of a statement with bodies, or of a call."""
        key = _read(exp)
        if key is not None:
            computed = _Computed(exp, names)
            self._many.setdefault(key, []).append(computed)
            self._added[depth].append((key, computed))

    def _shape(self, exp: ir.Exp) -> int:
        """Return a hash of the structure of an expression's bodies, equal for equal expressions."""
        found = self._shapes.get(id(exp))
        if found is None:
            parts = walk.children(exp)
            bodies = [part.body if isinstance(part, ir.Lambda) else part for part in parts]
            shapes = tuple(_shape(body) for body in bodies if isinstance(body, ir.Body))
            found = self._shapes[id(exp)] = exp, hash(shapes)
        return found[1]


def _read(exp: ir.Exp) -> _Key | None:
    """Return the operands that equal expressions share, without those used in bodies."""
    match exp:
        case ir.Apply():
            return exp
        case ir.Map() | ir.Reduce() | ir.Scan():
            return type(exp), exp.width, exp.arrays
        case ir.Loop(_, init, ir.ForLoop(_, prim, bound), _):
            return ir.ForLoop, init, prim, bound
        case ir.Loop(_, init, _, _):
            return ir.Loop, init
        case ir.If(cond, _, _):
            return ir.If, cond
    return None


def _shape(body: ir.Body) -> _Key:
    """Return the kinds of statements and literals of a body, without names."""
    stms = tuple(
        _se_shape(stm.exp) if isinstance(stm.exp, ir.SE_NODES) else type(stm.exp)
        for stm in body.stms
    )
    return stms, tuple(None if isinstance(r, str) else _se_shape(r) for r in body.results)


def _se_shape(se: ir.SE) -> _Key:
    if isinstance(se, ir.Lit):
        return se
    if isinstance(se, ir.Var):
        return None
    return se.operator, tuple(map(_se_shape, walk.se_parts(se)))


_PARTS = {
    cls: [one.name for one in fields(cls) if one.name != "prov"]
    for cls in NODES.values()
    if cls is not ir.Lit
}


def same_up_to_names(one: Any, other: Any, names: dict[Name, Name]) -> bool:
    """True if two expressions are alpha-equivalent, ignoring provenance.

    Compares them in lockstep up to the first difference; `names` maps the names bound in the second
    to those of the first.
    """
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is str:
        return bool(names.get(other, other) == one)
    if kind is tuple:
        if len(one) != len(other):
            return False
        if one and type(one[0]) is ir.Param:
            names.update((b.name, a.name) for a, b in zip(one, other, strict=True))
        return all(same_up_to_names(a, b, names) for a, b in zip(one, other, strict=True))
    if kind is Poly:
        mine = {x: Poly.var(names[x]) for x in other.names() if x in names}
        return bool(one == other.subst(mine))
    if kind is ir.ForLoop:
        names[other.index] = one.index
    if kind not in _PARTS:
        return bool(one == other)
    return all(same_up_to_names(getattr(one, x), getattr(other, x), names) for x in _PARTS[kind])
