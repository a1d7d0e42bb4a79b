"""Which arrays are unique: consumed, or required to be fresh, or sharing memory with one that is.

Everything else in a program is a plain value: it may be shared, computed earlier or again.
Arrays that may share memory are put in one class (union-find over the whole program); a class is
unique as soon as one member is overwritten, or given away as a unique result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from compiler.base.names import Name
from compiler.ir import walk
from compiler.ir.nodes import (
    Array,
    Hist,
    If,
    Loop,
    Map,
    Operand,
    Operator,
    Prog,
    Rearrange,
    Reduce,
    Reshape,
    Scan,
    Scatter,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    Slice,
    Stm,
    Update,
    Write,
)


class Classes:
    """Arrays by what they may share memory with."""

    __slots__ = ("_marked", "_parent")

    def __init__(self) -> None:
        self._parent: dict[Name, Name] = {}
        self._marked: set[Name] = set()

    def find(self, name: Name) -> Name:
        """The class of a name, by a representative."""
        parent = self._parent
        root = name
        while (above := parent.get(root, root)) != root:
            root = above
        while name != root:
            parent[name], name = root, parent.get(name, name)
        return root

    def join(self, one: Name, other: Operand) -> None:
        """The two may share memory."""
        if type(other) is not str:
            return
        a, b = self.find(one), self.find(other)
        self._parent.setdefault(one, a)
        self._parent.setdefault(other, b)
        if a != b:
            self._parent[a] = b

    def mark(self, value: Operand) -> None:
        """It is overwritten, or must be fresh."""
        if type(value) is str:
            self._parent.setdefault(value, self.find(value))
            self._marked.add(value)

    def unique(self) -> set[Name]:
        """All members of classes with a marked member."""
        roots = {self.find(name) for name in self._marked}
        return {name for name in list(self._parent) if self.find(name) in roots}


def classes(prog: Prog) -> Classes:
    """The sharing classes of all arrays of a program."""
    found = Classes()
    for fun in prog.funs:
        for param, value in zip(fun.results, fun.body.results, strict=True):
            if param.unique:
                found.mark(value)
        _stms(fun.body.stms, found)
    return found


def unique_arrays(prog: Prog) -> set[Name]:
    """The names of all unique arrays."""
    return classes(prog).unique()


def _stms(stms: Iterable[Stm], found: Classes) -> None:
    for stm in stms:
        rule: _Rule | None = _RULES.get(type(stm.exp))
        if rule is not None:
            rule(stm, stm.exp, found)
        if type(stm.exp) in walk.NESTED:
            for part in walk.children(stm.exp):
                _stms(walk.stms_of(part), found)


def _view(stm: Stm, exp: Slice | Rearrange | Reshape, found: Classes) -> None:
    found.join(stm.pat[0].name, exp.array)


def _update(stm: Stm, exp: Update, found: Classes) -> None:
    found.join(stm.pat[0].name, exp.array)
    found.mark(exp.array)


def _if(stm: Stm, exp: If, found: Classes) -> None:
    for param, one, other in zip(stm.pat, exp.then.results, exp.orelse.results, strict=True):
        if type(param.type) is Array:
            found.join(param.name, one)
            found.join(param.name, other)


def _loop(stm: Stm, exp: Loop, found: Classes) -> None:
    for pat, param, start, end in zip(stm.pat, exp.params, exp.init, exp.body.results, strict=True):
        if type(param.type) is not Array:
            continue
        found.join(param.name, start)
        found.join(param.name, end)
        found.join(pat.name, end)
        if param.unique:
            found.mark(param.name)


def _rows(stm: Stm, exp: Map | Reduce | Scan | Scatter | Hist, found: Classes) -> None:
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        if type(param.type) is Array:
            found.join(param.name, array)


def _reduction(stm: Stm, exp: Reduce | Scan, found: Classes) -> None:
    _rows(stm, exp, found)
    values = iter(exp.fn.body.results)
    for op in exp.ops:
        _operator(op, [next(values) for _ in op.neutral], found)


def _operator(op: Operator, values: list[Operand], found: Classes) -> None:
    width = len(op.neutral)
    for k, neutral in enumerate(op.neutral):
        if type(op.fn.params[k].type) is Array:
            for param in (op.fn.params[k], op.fn.params[k + width]):
                found.join(param.name, neutral)
                found.join(param.name, op.fn.body.results[k])
                if k < len(values):
                    found.join(param.name, values[k])


def _scatter(stm: Stm, exp: Scatter, found: Classes) -> None:
    _rows(stm, exp, found)
    for param, dest in zip(stm.pat, exp.dests, strict=False):
        found.join(param.name, dest.array)
        found.mark(dest.array)


def _hist(stm: Stm, exp: Hist | SegHist, found: Classes) -> None:
    if isinstance(exp, Hist):
        _rows(stm, exp, found)
    dests = [dest for op in exp.ops for dest in op.dests]
    for param, dest in zip(stm.pat, dests, strict=True):
        found.join(param.name, dest)
        found.mark(dest)
    for op in exp.ops:
        _operator(op.op, [], found)


def _kernel(stm: Stm, exp: SegMap | SegRed | SegScan, found: Classes) -> None:
    for param, result in zip(reversed(stm.pat), reversed(exp.body.results), strict=False):
        if isinstance(result, Write):
            found.join(param.name, result.dest)
            found.mark(result.dest)


_Rule = Callable[[Stm, Any, Classes], None]
_RULES: dict[type, _Rule] = {
    Slice: _view,
    Rearrange: _view,
    Reshape: _view,
    Update: _update,
    If: _if,
    Loop: _loop,
    Map: _rows,
    Reduce: _reduction,
    Scan: _reduction,
    Scatter: _scatter,
    Hist: _hist,
    SegHist: _hist,
    SegMap: _kernel,
    SegRed: _kernel,
    SegScan: _kernel,
}
