"""Which arrays of a program may share memory, under any name and in any body.

`aliases.py` says of one statement what its results may be views of. Here what it says, and what
goes in and out of bodies, is closed over the program: arrays that may share memory are in one class
(union-find). A class is unique as soon as one member is overwritten, or given away as a unique
result; every other array is a plain value, which may be shared, computed earlier or once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.aliases import overwritten, viewed

_SCALARS = frozenset(ir.SE_NODES)
Link = tuple[ir.Param, ir.Operand]


class Classes:
    """Arrays by what they may share memory with."""

    __slots__ = ("_marked", "_parent", "funs")

    def __init__(self, funs: Mapping[str, ir.Function] | None = None) -> None:
        self.funs = funs or {}
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

    def join(self, one: Name, other: ir.Operand) -> None:
        """The two may share memory."""
        if type(other) is not str:
            return
        a, b = self.find(one), self.find(other)
        self._parent.setdefault(one, a)
        self._parent.setdefault(other, b)
        if a != b:
            self._parent[a] = b

    def mark(self, value: ir.Operand) -> None:
        """It is overwritten, or must be fresh."""
        if type(value) is str:
            self._parent.setdefault(value, self.find(value))
            self._marked.add(value)

    def unique(self) -> set[Name]:
        """All members of classes with a marked member."""
        roots = {self.find(name) for name in self._marked}
        return {name for name in list(self._parent) if self.find(name) in roots}


def classes(prog: ir.Prog) -> Classes:
    """The sharing classes of all arrays of a program, for all calls of a function together."""
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
    """The sharing classes within one iteration of a loop; the program's are `whole`.

    Two buffers that change places with each iteration are one class of the program. But in an
    iteration nothing else shares memory with `own`, unique parameters of the loop, than what its
    statements make of them. `around` are the other arrays that they use and do not bind.
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
    """The sharing classes within statements that call nothing."""
    found = Classes()
    for stm in walk.all_stms(stms):
        if type(stm.exp) not in _SCALARS:
            _learn(stm, found, _links(stm, {}))
    return found


def unique_arrays(prog: ir.Prog) -> set[Name]:
    """The names of all arrays that are overwritten or must be fresh, and of what shares memory."""
    return classes(prog).unique()


def _call(pat: tuple[ir.Param, ...], exp: ir.Call, fun: ir.Function) -> Iterator[Link]:
    """What one call by itself gives, with the arrays that it is given: it may be any of them."""
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
    """What statements bind, in their patterns and bodies, with what that may lie in."""
    exp, pat = stm.exp, stm.pat
    view = viewed(exp)
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
    """The parameters of an operator with what they stand for at first, and later on."""
    width = len(op.neutral)
    for at, param in enumerate(op.fn.params):
        k = at % width
        yield param, op.neutral[k]
        yield param, op.fn.body.results[k]
        if values:
            yield param, values[k]
