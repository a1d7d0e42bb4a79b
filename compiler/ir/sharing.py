"""Compute sharing classes of arrays: those that may share memory, under any name.

`aliases.py` describes one statement. Here aliases, and the flow into and out of bodies, are closed
over the program: arrays that may share memory are in one class (union-find). A class is unique as
soon as one member is overwritten, or returned as a unique result; every other array is an immutable
value, which may be shared, computed earlier or recomputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.aliases import overwritten, viewed_array

_SCALARS = frozenset(ir.SE_NODES)
Link = tuple[ir.Param, ir.Operand]


class Classes:
    """Union-find of arrays that may share memory."""

    __slots__ = ("_marked", "_parent", "funs")

    def __init__(self, funs: Mapping[str, ir.Function] | None = None) -> None:
        self.funs = funs or {}
        self._parent: dict[Name, Name] = {}
        self._marked: set[Name] = set()

    def find(self, name: Name) -> Name:
        """Return the representative of a name's class."""
        parent = self._parent
        root = name
        while (above := parent.get(root, root)) != root:
            root = above
        while name != root:
            parent[name], name = root, parent.get(name, name)
        return root

    def join(self, one: Name, other: ir.Operand) -> None:
        """Merge two classes."""
        if type(other) is not str:
            return
        a, b = self.find(one), self.find(other)
        self._parent.setdefault(one, a)
        self._parent.setdefault(other, b)
        if a != b:
            self._parent[a] = b

    def mark(self, value: ir.Operand) -> None:
        """Mark a value as overwritten, or required to be fresh."""
        if type(value) is str:
            self._parent.setdefault(value, self.find(value))
            self._marked.add(value)

    def unique(self) -> set[Name]:
        """Return all members of classes with a marked member."""
        roots = {self.find(name) for name in self._marked}
        return {name for name in list(self._parent) if self.find(name) in roots}


def classes(prog: ir.Prog) -> Classes:
    """Return the sharing classes of a program, merged over all calls of a function."""
    found = Classes({fun.name: fun for fun in prog.funs})
    for fun in prog.funs:
        for param, value in zip(fun.results, fun.body.results, strict=True):
            if param.unique:
                found.mark(value)
        for stm in walk.all_stms(fun.body.stms):
            if type(stm.exp) not in _SCALARS:
                _learn(stm, found, _links(stm, found.funs))
    return found


def in_loop(
    stms: tuple[ir.Stm, ...], own: Iterable[Name], around: Iterable[Name], whole: Classes
) -> Classes:
    """Return the sharing classes within one iteration of a loop; `whole` are the program's.

    Two buffers that are swapped in each iteration are one class of the program. But within an
    iteration `own`, the loop's unique parameters, share memory only with what its statements derive
    from them. `around` are the other arrays used and not bound.
    """
    found = Classes(whole.funs)
    for stm in walk.all_stms(stms):
        if isinstance(stm.exp, ir.Call):
            _learn(stm, found, _call(stm.pat, stm.exp, whole.funs[stm.exp.fun]))
        elif type(stm.exp) not in _SCALARS:
            _learn(stm, found, _links(stm, whole.funs))
    for name in set(around).difference(own):
        found.join(name, f"around {whole.find(name)}")
    return found


def of_statements(stms: tuple[ir.Stm, ...]) -> Classes:
    """Return the sharing classes of statements without calls."""
    found = Classes()
    for stm in walk.all_stms(stms):
        if type(stm.exp) not in _SCALARS:
            _learn(stm, found, _links(stm, {}))
    return found


def unique_arrays(prog: ir.Prog) -> set[Name]:
    """Return all arrays that are overwritten or must be fresh, and those sharing their memory."""
    return classes(prog).unique()


def _call(pat: tuple[ir.Param, ...], exp: ir.Call, fun: ir.Function) -> Iterator[Link]:
    """Link the results of a call to its array arguments: each may alias any of them."""
    arrays = [a for a, p in zip(exp.args, fun.params, strict=True) if isinstance(p.type, ir.Array)]
    for param, result in zip(pat, fun.results, strict=True):
        if not result.unique:
            yield from ((param, array) for array in arrays)


def _learn(stm: ir.Stm, found: Classes, links: Iterable[Link]) -> None:
    for param, other in links:
        if type(param.type) is ir.Array:
            found.join(param.name, other)
    for name in overwritten(stm.exp):
        found.mark(name)
    if isinstance(stm.exp, ir.Loop):
        for param in stm.exp.params:
            if param.unique and type(param.type) is ir.Array:
                found.mark(param.name)


def _links(stm: ir.Stm, funs: Mapping[str, ir.Function]) -> Iterable[Link]:
    """Link names bound by a statement, in its pattern and bodies, to what they may alias."""
    exp, pat = stm.exp, stm.pat
    view = viewed_array(exp)
    if view is not None:
        return ((pat[0], view),)
    match exp:
        case ir.If(_, then, orelse):
            return zip((*pat, *pat), (*then.results, *orelse.results), strict=True)
        case ir.Loop(params, init, _, body):
            ends = body.results
            return zip((*params, *params, *pat), (*init, *ends, *ends), strict=True)
        case ir.Call(name, args):
            fun = funs[name]
            return zip((*fun.params, *pat), (*args, *fun.body.results), strict=True)
        case _ if isinstance(exp, ir.SegMapping):
            kept = zip(reversed(pat), reversed(exp.body.results), strict=False)
            return [(p, r.dest) for p, r in kept if isinstance(r, ir.Write)]
    links: list[Link] = list(zip(pat, overwritten(exp), strict=False))
    if isinstance(exp, ir.Soac):
        links += zip(exp.fn.params, exp.arrays, strict=True)
    if isinstance(exp, ir.Fold):
        values = iter(exp.fn.body.results)
        for op in exp.ops:
            links += _operator(op, [next(values) for _ in op.neutral])
    elif isinstance(exp, ir.Hist | ir.SegHist):
        for hist in exp.ops:
            links += _operator(hist.op, [])
    return links


def _operator(op: ir.Operator, values: list[ir.Operand]) -> Iterator[Link]:
    """Link the parameters of an operator to their initial and later values."""
    width = len(op.neutral)
    for at, param in enumerate(op.fn.params):
        k = at % width
        yield param, op.neutral[k]
        yield param, op.fn.body.results[k]
        if values:
            yield param, values[k]
