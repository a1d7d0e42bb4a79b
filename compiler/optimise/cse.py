"""Common subexpressions: an expression that was computed before, in this body or around it.

Statements without bodies are looked up by value. Those with bodies, parallel operators, loops and
branches, are looked up by what they read and then compared up to the names bound inside. What is
consumed or must be fresh is never shared: the simplifier does not ask for it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.parts import NODES

_Key = object
_MAX_COMPARED = 8


class Table:
    """Expressions computed so far, by scope; the names of a scope's own are dropped with it."""

    __slots__ = ("_added", "_by_key", "_last", "_many")

    def __init__(self) -> None:
        self._by_key: dict[_Key, Name] = {}
        self._many: dict[_Key, list[tuple[ir.Exp, tuple[Name, ...]]]] = {}
        self._added: list[list[tuple[_Key, tuple[ir.Exp, tuple[Name, ...]] | None]]] = []
        self._last: tuple[ir.Exp | None, _Key | None] = (None, None)
        """The operator that was looked up last, which is added if it was not found."""

    def enter(self) -> None:
        """Begin a scope."""
        self._added.append([])

    def leave(self) -> None:
        """End a scope."""
        for key, soac in self._added.pop():
            if soac is None:
                del self._by_key[key]
            else:
                self._many[key] = [x for x in self._many[key] if x is not soac]

    def find(self, exp: ir.Exp) -> Name | None:
        """The name of an equal expression without bodies."""
        return self._by_key.get(exp)

    def add(self, exp: ir.Exp, name: Name, depth: int) -> None:
        """Remember that `name`, bound at `depth`, is the value of `exp`."""
        before = len(self._by_key)
        self._by_key.setdefault(exp, name)
        if len(self._by_key) > before:
            self._added[depth].append((exp, None))

    def find_many(self, exp: ir.Exp) -> tuple[Name, ...] | None:
        """The results of an equal operator or function, equal up to the names bound inside."""
        self._last = (exp, _hashed(exp))
        candidates = self._many.get(self._last[1])
        if not candidates:
            return None
        for other, names in candidates[-_MAX_COMPARED:]:
            if same_up_to_names(exp, other, {}):
                return names
        return None

    def add_many(self, exp: ir.Exp, names: tuple[Name, ...], depth: int) -> None:
        """Remember the results of a statement with bodies, or of a function."""
        key = self._last[1] if self._last[0] is exp else _hashed(exp)
        if key is not None:
            entry = (exp, names)
            self._many.setdefault(key, []).append(entry)
            self._added[depth].append((key, entry))


def _hashed(exp: ir.Exp) -> _Key | None:
    """What equal operators have in common as a number, which is looked up at once."""
    key = _key(exp)
    return None if key is None else hash(key)


def _key(exp: ir.Exp) -> _Key | None:
    """What equal operators have in common; few others have it too."""
    if isinstance(exp, ir.Apply):
        return exp
    if isinstance(exp, ir.Map):
        return (ir.Map, exp.width, exp.arrays, _shape(exp.fn.body))
    if isinstance(exp, (ir.Reduce, ir.Scan)):
        ops = tuple(_shape(op.fn.body) for op in exp.ops)
        return (type(exp), exp.width, exp.arrays, ops, _shape(exp.fn.body))
    if isinstance(exp, ir.Loop):
        form = (exp.form.prim, exp.form.bound) if isinstance(exp.form, ir.ForLoop) else None
        return (ir.Loop, exp.init, form, _shape(exp.body))
    if isinstance(exp, ir.If):
        return (ir.If, exp.cond, _shape(exp.then), _shape(exp.orelse))
    return None


def _shape(body: ir.Body) -> _Key:
    """A body's kinds of statements and literals, without names."""
    stms = tuple(
        _se_shape(stm.exp) if isinstance(stm.exp, ir.SE_NODES) else type(stm.exp)
        for stm in body.stms
    )
    return stms, tuple(None if isinstance(r, str) else _se_shape(r) for r in body.results)


def _se_shape(se: ir.SE) -> _Key:
    match se:
        case ir.Lit():
            return se
        case ir.Var():
            return None
        case ir.Bin(op, _, _, _) | ir.Un(op, _, _):
            return op, tuple(map(_se_shape, walk.se_parts(se)))
        case ir.Fun(fun, _, _):
            return fun, tuple(map(_se_shape, walk.se_parts(se)))
    return type(se), tuple(map(_se_shape, walk.se_parts(se)))


_PARTS = {
    cls: [one.name for one in fields(cls) if one.name != "prov"]
    for cls in NODES.values()
    if cls is not ir.Lit
}


def same_up_to_names(one: Any, other: Any, names: dict[Name, Name]) -> bool:
    """Whether two expressions differ in nothing but names bound inside and places in the text.

    They are gone through side by side up to the first difference; `names` gets the names that the
    second binds, with what the first calls them.
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
