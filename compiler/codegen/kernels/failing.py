"""Which kernels may not run after a check has failed in another one.

A kernel goes on when a check fails, and the host asks later: whenever it reads a cell. Up to there
what the kernel ought to have written may be anything, and so may all that is made of it. A kernel
that reads some of that looks at the flag first, and does nothing. One that reads nothing of the
kind runs, for nobody: what it reads is there, whatever has failed.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.read_only import Touched
from compiler.codegen.kernels.same_blocks import held
from compiler.codegen.kernels.walk import statements

Blocks = frozenset[Name]
NONE: Blocks = frozenset()
WAITING = ""
"""Stands for what the caller of a function may have left unwritten, up to where that waits."""


def after_checks(prog: imp.ImpProg) -> frozenset[str]:
    """The names of the kernels that look first whether a check has failed."""
    found = _AfterChecks(prog)
    for fun in prog.funs:
        if fun.entry:
            found.walk(fun.body, NONE)
    return frozenset(found.kernels)


class _AfterChecks:
    """Walks over what the host does; `unwritten`: blocks that a failed check may have left so."""

    def __init__(self, prog: imp.ImpProg) -> None:
        self.kernels = set[str]()
        self.funs = {fun.name: fun for fun in prog.funs}
        self.held = {name: of for fun in prog.funs for name, of in held(fun).items()}
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
        if looks:
            self.kernels.add(kernel.name)
        fails = any(isinstance(stm, imp.Assert) for stm in statements(kernel.body))
        return self.of(touched.written) if looks or fails else NONE

    def call(self, stm: imp.Call, unwritten: Blocks) -> Blocks:
        """The same of a function; what its caller may have left so stays, unless it waits."""
        fun = self.funs[stm.fun]
        pairs = list(zip(fun.params, stm.args, strict=True))
        blocks = [(param.name, arg) for param, arg in pairs if isinstance(arg, str)]
        given = {name for name, arg in blocks if not unwritten.isdisjoint(self.of((arg,)))}
        key = stm.fun, frozenset((*given, WAITING))
        if key not in self.calls:
            self.calls[key] = self.walk(fun.body, key[1])
        behind = self.calls[key]
        values = zip(stm.results, fun.values, strict=True)
        gives = [(one.name, value) for one, value in values if isinstance(value, str)]
        made = {name for name, value in gives if not behind.isdisjoint(self.of((value,)))}
        return frozenset(made).union(unwritten if WAITING in behind else NONE)

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
        return unwritten | behind
