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


def after_checks(fun: imp.ImpFun) -> frozenset[str]:
    """The names of the kernels of an entry point that look first whether a check has failed."""
    found = _AfterChecks(fun)
    found.walk(fun.body, NONE)
    return frozenset(found.kernels)


class _AfterChecks:
    """Walks over what the host does; `unwritten`: blocks that a failed check may have left so."""

    def __init__(self, fun: imp.ImpFun) -> None:
        self.kernels = set[str]()
        self.held = held(fun)
        self.loops: dict[int, tuple[Blocks, Blocks]] = {}
        """Of a loop that was walked over what may be unwritten where a round begins, and behind."""

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
