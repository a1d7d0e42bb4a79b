"""Which kernels may run after a check has failed in another one.

A kernel goes on when a check fails, and the host asks later: whenever it reads a cell. Up to there
kernels must look at the flag first, because what they read may be anything.
"""

from __future__ import annotations

from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import statements


def after_checks(fun: imp.ImpFun) -> frozenset[str]:
    """The names of the kernels of an entry point that may run after a failed check."""
    found = _AfterChecks()
    found.walk(fun.body, failed=False)
    return frozenset(found.kernels)


class _AfterChecks:
    """Walks over what the host does; `failed`: a check may have failed that it has not seen."""

    def __init__(self) -> None:
        self.kernels = set[str]()
        self.behind: dict[tuple[int, bool], bool] = {}
        """Whether a check may have failed behind a loop that was walked over, and before it."""

    def walk(self, stms: imp.Stms, failed: bool) -> bool:
        """Whether a check may have failed behind the statements."""
        for stm in stms:
            match stm:
                case k.Launch(kernel):
                    if failed:
                        self.kernels.add(kernel.name)
                    inside = statements(kernel.body)
                    failed = failed or any(isinstance(s, imp.Assert) for s in inside)
                case imp.Load() | k.Fetch():
                    failed = False
                case imp.If():
                    then = self.walk(stm.then, failed)
                    failed = self.walk(stm.orelse, failed) or then
                case imp.For() | imp.While():
                    failed = self.loop(stm, failed)
        return failed

    def loop(self, stm: imp.For | imp.While, failed: bool) -> bool:
        """The same of a loop, which may run often or not at all."""
        key = id(stm), failed
        if key not in self.behind:
            again = self.walk(stm.body, failed)
            if again and not failed:
                self.loop(stm, True)
            self.behind[key] = failed or again
        return self.behind[key]
