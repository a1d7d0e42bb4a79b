"""Choose calls to inline before memory is introduced, to avoid copies.

A function takes and returns arrays that fill their blocks, row-major: its layout is fixed once. A
call needs a copy for an argument that is a view, and an array that is put into another one cannot
be built there if a call creates it or takes it. So such calls are inlined before memory is
introduced, unless the functions are too large; then arrays are copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.rules import Pass
from compiler.ir import nodes as ir
from compiler.ir.walk import all_stms
from compiler.optimise.inline import inline_some
from compiler.storage.origin import source_array

MOST = 250
"""Maximum number of statements added by inlining one function."""


def look_inside(prog: ir.Prog, ctx: Ctx) -> ir.Prog:
    """Inline the calls that would need copies."""
    while gone := _small_calls(prog):
        prog = inline_some(prog, ctx, lambda stm: id(stm) in gone)
    return prog


def _small_calls(prog: ir.Prog) -> set[int]:
    """Return the calls to inline, by `id`: those of functions that are small enough."""
    gone = [(stm, stm.exp.fun) for stm in _gone(prog) if isinstance(stm.exp, ir.Call)]
    many = Counter(fun for _, fun in gone)
    large = {
        fun.name
        for fun in prog.funs
        if fun.name in many and many[fun.name] * sum(1 for _ in all_stms(fun.body.stms)) > MOST
    }
    return {id(stm) for stm, fun in gone if fun not in large}


def _gone(prog: ir.Prog) -> Iterator[ir.Stm]:
    """Yield the calls that would need copies."""
    views: set[tuple[str, int]] = set()
    """Functions with the positions of results that are views."""
    for fun in prog.funs:
        arrays = _Arrays(fun, views)
        yield from arrays.gone()
        results = enumerate(fun.body.results)
        views.update((fun.name, k) for k, r in results if isinstance(r, str) and arrays.is_view(r))


class _Arrays:
    """Definitions of the arrays of a function."""

    def __init__(self, fun: ir.Function, views: Set[tuple[str, int]]) -> None:
        self.views = views
        self.stms = list(all_stms(fun.body.stms))
        self.made = {p.name: (stm, k) for stm in self.stms for k, p in enumerate(stm.pat)}

    def gone(self) -> Iterator[ir.Stm]:
        """Yield the calls that would need copies."""
        calls = [(stm, stm.exp) for stm in self.stms if isinstance(stm.exp, ir.Call)]
        if not calls:
            return
        parts = [name for stm in self.stms for name in _parts(stm.exp) if isinstance(name, str)]
        put = {self.behind(name) for name in parts} & self.made.keys()
        for stm, call in calls:
            given = [arg for arg in call.args if isinstance(arg, str)]
            names = {param.name for param in stm.pat}.union(map(self.behind, given))
            if any(map(self.is_view, given)) or not put.isdisjoint(names):
                yield stm

    def behind(self, name: Name) -> Name:
        """Return the array of which a name is a view or a later state."""
        while name in self.made and (source := source_array(self.made[name][0].exp)) is not None:
            name = source
        return name

    def is_view(self, name: Name) -> bool:
        """True if an array does not fill its block, or not in row-major order."""
        while name in self.made:
            stm, k = self.made[name]
            if isinstance(stm.exp, ir.Slice | ir.Rearrange):
                return True
            source = source_array(stm.exp)
            if source is None:
                return isinstance(stm.exp, ir.Call) and (stm.exp.fun, k) in self.views
            name = source
        return False


def _parts(exp: ir.Exp) -> tuple[ir.Operand, ...]:
    """Return the operands that are put into another array."""
    match exp:
        case ir.Update(_, _, value):
            return (value,)
        case ir.Concat(parts) | ir.ArrayLit(parts):
            return parts
    return ()


LOOK_INSIDE = Pass(
    "look-inside",
    "Inlines calls whose arguments are views, or whose results become parts of other arrays.",
    look_inside,
)
