"""Find kernels and host loops that must not proceed after a failed check in a kernel.

A kernel continues after a failed check, and the host tests the flag later: whenever it reads a
cell. Until then the kernel's outputs may be garbage, and everything computed from them; code that
relies on the check itself, such as an index that it bounds, may access any address. So a kernel
after a check tests the flag first, and does nothing if it is set. It need not if it reads no
possibly unwritten block, and accesses only cells of its own points (`own_cells.py`). The trip count
of a host loop may have been checked in a kernel as well. The host tests the flag periodically in a
loop that begins before it was tested (`Device.sure`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import NamedTuple

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.own_cells import of_own_points
from compiler.codegen.kernels.same_blocks import points_to
from compiler.codegen.stm_uses import BlockUses
from compiler.ir.nodes import Array, Lit
from compiler.ir.sizes import poly_of

Blocks = frozenset[Name]
NONE: Blocks = frozenset()
WAITING = ""
"""Stands for blocks that the caller of a function may have left unwritten, until a
synchronisation."""
CHECKED = "?"
"""Stands for code that relies on a check not tested yet."""


class AfterChecks(NamedTuple):
    """Names of `kernels` that test the flag first, and ids of `loops` in which the host tests it.

    The statements of a function are shared by all its calls.
    """

    kernels: frozenset[str]
    loops: frozenset[int]


def after_checks(prog: imp.ImpProg) -> AfterChecks:
    """Return the kernels and loops that must test whether an earlier check failed."""
    found = _AfterChecks(prog)
    for fun in prog.funs:
        if fun.entry:
            found.walk(fun.body, NONE)
    return AfterChecks(frozenset(found.kernels), frozenset(found.asking))


class _AfterChecks:
    """Walks over host statements; `unwritten`: blocks possibly unwritten after a failed check."""

    def __init__(self, prog: imp.ImpProg) -> None:
        self.kernels = set[str]()
        self.asking = set[int]()
        self.funs = {fun.name: fun for fun in prog.funs}
        self.held = {name: of for fun in prog.funs for name, of in points_to(fun).items()}
        counts = dict(pair for fun in prog.funs for pair in _counts(fun))
        self.counts = {
            name: [counts[one] for one in blocks] if blocks <= counts.keys() else []
            for name, blocks in {**{name: {name} for name in counts}, **self.held}.items()
        }
        self.loops: dict[int, tuple[Blocks, Blocks]] = {}
        """Possibly unwritten blocks at the start of an iteration and after the loop."""
        self.calls: dict[tuple[str, Blocks], Blocks] = {}
        """Possibly unwritten blocks after a call, by function and unwritten parameters, with
        WAITING."""

    def of(self, names: Iterable[Name]) -> Blocks:
        """Return the blocks that variables may hold."""
        return frozenset(one for name in names for one in self.held.get(name, (name,)))

    def walk(self, stms: imp.Stms, unwritten: Blocks) -> Blocks:
        """Return the possibly unwritten blocks after the statements."""
        for stm in stms:
            match stm:
                case k.Launch(kernel):
                    unwritten |= self.kernel(kernel, unwritten)
                case imp.Copy(dest=dest, source=source) if not unwritten.isdisjoint(
                    self.of((source,))
                ):
                    unwritten |= self.of((dest,))
                case imp.Load() | k.Fetch():
                    unwritten = NONE
                case imp.Call():
                    unwritten = self.call(stm, unwritten)
                case imp.If():
                    then = self.walk(stm.then, unwritten)
                    unwritten = self.walk(stm.orelse, unwritten) | then
                case imp.For() | imp.While():
                    unwritten = self.loop(stm, unwritten)
        return unwritten

    def kernel(self, kernel: k.Kernel, unwritten: Blocks) -> Blocks:
        """Return the blocks that a kernel may leave unwritten."""
        uses = BlockUses(kernel.body)
        looks = not unwritten.isdisjoint(self.of(uses.read.keys() | uses.aliased.keys()))
        if not looks and CHECKED in unwritten:
            looks = not of_own_points(kernel, self.counts)
        if looks:
            self.kernels.add(kernel.name)
        fails = any(isinstance(stm, imp.Assert) for stm in statements(kernel.body))
        left = self.of(uses.written.keys() | uses.aliased.keys()) if looks or fails else NONE
        return left | {CHECKED} if fails else left

    def call(self, stm: imp.Call, unwritten: Blocks) -> Blocks:
        """Return the blocks possibly unwritten after a call.

        The caller's stay unless it synchronises.
        """
        fun = self.funs[stm.fun]
        pairs = list(zip(fun.params, stm.args, strict=True))
        blocks = [(param.name, arg) for param, arg in pairs if isinstance(arg, str)]
        given = {name for name, arg in blocks if not unwritten.isdisjoint(self.of((arg,)))}
        key = stm.fun, frozenset((*given, WAITING, *(unwritten & {CHECKED})))
        if key not in self.calls:
            self.calls[key] = self.walk(fun.body, key[1])
        behind = self.calls[key]
        values = zip(stm.results, fun.values, strict=True)
        gives = [(one.name, value) for one, value in values if isinstance(value, str)]
        made = {name for name, value in gives if not behind.isdisjoint(self.of((value,)))}
        return frozenset(made) | (behind & {CHECKED}) | (unwritten if WAITING in behind else NONE)

    def loop(self, stm: imp.For | imp.While, unwritten: Blocks) -> Blocks:
        """Return the blocks possibly unwritten after a loop of any number of iterations."""
        begins, behind = self.loops.get(id(stm), (NONE, NONE))
        if id(stm) not in self.loops or not unwritten <= begins:
            begins |= unwritten
            while True:
                behind = self.walk(stm.body, begins)
                if behind <= begins:
                    break
                begins |= behind
            self.loops[id(stm)] = begins, behind
        if isinstance(stm, imp.While):
            asks = CHECKED in behind
        else:
            asks = CHECKED in unwritten and not isinstance(stm.bound, Lit)
        if asks:
            self.asking.add(id(stm))
        return unwritten | behind


def _counts(fun: imp.ImpFun) -> Iterator[tuple[Name, Poly]]:
    """Yield the cell counts of allocated or given blocks, in terms of fixed names."""
    fixed = {param.name for param in fun.params}
    for one in fun.inputs:
        if isinstance(one.type, Array):
            yield one.block, prod(one.type.shape, start=Poly.const(1))
    for stm in fun.body:
        if isinstance(stm, imp.Define | imp.Load | k.Fetch):
            fixed.add(stm.name)
    for stm in statements(fun.body):
        if isinstance(stm, imp.Alloc):
            count = poly_of(stm.count)
            if count is not None and count.names() <= fixed:
                yield stm.name, count
