"""What may not go on after a check has failed in a kernel: other kernels, and loops of the host.

A kernel goes on when a check fails, and the host asks later: whenever it reads a cell. Up to there
what the kernel ought to have written may be anything, and so may all that is made of it; and what
relies on the check itself, such as an index that it is about, may lead anywhere. So a kernel that
comes after a check looks at the flag first, and does nothing if that has failed. One runs for
nobody where neither matters: it reads nothing that may be left unwritten, and touches cells of its
own points alone (`own_cells.py`).

How often a loop of the host goes round may have been checked in a kernel as well. The host asks now
and then in one that begins before it has asked (`Device.sure`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import NamedTuple

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.own_cells import of_own_points
from compiler.codegen.kernels.read_only import Touched
from compiler.codegen.kernels.same_blocks import held
from compiler.codegen.kernels.walk import statements
from compiler.ir.nodes import Array, Lit
from compiler.ir.sizes import poly_of

Blocks = frozenset[Name]
NONE: Blocks = frozenset()
WAITING = ""
"""Stands for what the caller of a function may have left unwritten, up to where that waits."""
CHECKED = "?"
"""Stands for what relies on a check that nobody has asked for."""


class AfterChecks(NamedTuple):
    """The names of `kernels` that look first, and the identities of `loops` in which the host asks.

    The statements of a function are the same ones wherever it is called.
    """

    kernels: frozenset[str]
    loops: frozenset[int]


def after_checks(prog: imp.ImpProg) -> AfterChecks:
    """What comes after a check that may have failed, and matters if it has."""
    found = _AfterChecks(prog)
    for fun in prog.funs:
        if fun.entry:
            found.walk(fun.body, NONE)
    return AfterChecks(frozenset(found.kernels), frozenset(found.asking))


class _AfterChecks:
    """Walks over what the host does; `unwritten`: blocks that a failed check may have left so."""

    def __init__(self, prog: imp.ImpProg) -> None:
        self.kernels = set[str]()
        self.asking = set[int]()
        self.funs = {fun.name: fun for fun in prog.funs}
        self.held = {name: of for fun in prog.funs for name, of in held(fun).items()}
        counts = dict(pair for fun in prog.funs for pair in _counts(fun))
        self.counts = {
            name: [counts[one] for one in blocks] if blocks <= counts.keys() else []
            for name, blocks in {**{name: {name} for name in counts}, **self.held}.items()
        }
        self.loops: dict[int, tuple[Blocks, Blocks]] = {}
        """Of a loop that was walked over what may be unwritten where a round begins, and behind."""
        self.calls: dict[tuple[str, Blocks], Blocks] = {}
        """Of a function and those of its parameters, with WAITING, what may be unwritten behind."""

    def of(self, names: Iterable[Name]) -> Blocks:
        """The blocks that variables may hold."""
        return frozenset(one for name in names for one in self.held.get(name, (name,)))

    def walk(self, stms: imp.Stms, unwritten: Blocks) -> Blocks:
        """What may be unwritten behind the statements."""
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
        """What a kernel may leave unwritten."""
        touched = Touched()
        touched.stms(kernel.body)
        looks = not unwritten.isdisjoint(self.of(touched.read))
        if not looks and CHECKED in unwritten:
            looks = not of_own_points(kernel, self.counts)
        if looks:
            self.kernels.add(kernel.name)
        fails = any(isinstance(stm, imp.Assert) for stm in statements(kernel.body))
        left = self.of(touched.written) if looks or fails else NONE
        return left | {CHECKED} if fails else left

    def call(self, stm: imp.Call, unwritten: Blocks) -> Blocks:
        """The same of a function; what its caller may have left so stays, unless it waits."""
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
        """The same of a loop, which may run often or not at all."""
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
    """The cells of blocks that are allocated or given, in numbers that are the same everywhere."""
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
