"""Which variables for blocks may hold the same one where a kernel starts, of IMP or launched.

Note [Two buffers in turn]. A loop may write one buffer while it reads another one, and let them
change places. Of each of its variables more than one block is known, so what it may hold does not
tell two of them apart; which pairs of variables may be equal does. Blocks that are allocated, and
those that a program is given, are different ones; those that a function is given may be one, but
nothing writes to them. An assignment makes a variable equal to another
one, and to what that may be equal to. What holds where loops begin is remembered, and all is gone
through again until that stays: a loop inside of others is gone through once each time.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import statements
from compiler.ir.nodes import Mem

Blocks = Mapping[Name, frozenset[Name]]
"""For a variable the blocks that it may ever hold."""
Same = Mapping[Name, frozenset[Name]]
"""For a name those that may be equal to it, both ways."""
MOST = 64
"""Others that a variable may be equal to: programs are done with a block before it has as many."""
NOBODY: frozenset[Name] = frozenset()


class _TooManyError(Exception):
    """A variable may be equal to more than MOST others."""


def at_kernels(stms: imp.Stms) -> dict[int, Same]:
    """By the identity of each of the host's kernels or launches, which blocks may be the same.

    Nothing where a variable may be equal to more than MOST others.
    """
    search = _Search()
    try:
        while search.grows:
            search.grows = False
            search.walk(stms, {})
    except _TooManyError:
        return {}
    return search.found


class _Search:
    """Goes through statements once: `grows` if a loop begins with more than was known before."""

    def __init__(self) -> None:
        self.found: dict[int, Same] = {}
        self.starts: dict[int, Same] = {}
        """By the identity of a loop, what may be the same where an iteration begins."""
        self.grows = True

    def walk(self, stms: imp.Stms, same: Same) -> Same:
        """What may be the same behind the statements."""
        for stm in stms:
            match stm:
                case imp.Kernel() | k.Launch():
                    self.found[id(stm)] = same
                case imp.Alloc(name) | imp.Free(name) | k.Part(name) | k.Zeros(name):
                    same = _without(same, name)
                case imp.Call(results):
                    for one in results:
                        same = _without(same, one.name)
                case imp.Declare(name, _, str() as value) | imp.Assign(name, str() as value):
                    if value != name:
                        same = _without(same, name)
                        same = _joined(same, {name: same.get(value, NOBODY) | {value}})
                case imp.If():
                    then = self.walk(stm.then, same)
                    same = _joined(self.walk(stm.orelse, same), then)
                case imp.For() | imp.While():
                    same = self.loop(stm, same)
        return same

    def loop(self, stm: imp.For | imp.While, same: Same) -> Same:
        """The same behind a loop, which is what may be where an iteration begins."""
        known = self.starts.get(id(stm), {})
        start = _joined(known, same)
        start = _joined(start, self.walk(stm.body, start))
        if start != known:
            self.starts[id(stm)] = start
            self.grows = True
        return start


def _without(same: Same, name: Name) -> Same:
    """A name that holds something else now."""
    if name not in same:
        return same
    out = {one: others for one, others in same.items() if one != name}
    for other in same[name]:
        out[other] -= {name}
    return out


def _joined(same: Same, more: Same) -> Same:
    """Both, with each pair both ways."""
    out = dict(same)
    for one, others in more.items():
        out[one] = out.get(one, NOBODY) | others
        if len(out[one]) > MOST:
            raise _TooManyError
        for other in others:
            out[other] = out.get(other, NOBODY) | {one}
    return out


def held(fun: imp.ImpFun) -> Blocks:
    """The blocks that each variable for blocks may ever hold: any of those that it is given.

    For who looks at several statements at once.

    A name that is no variable is a block of its own: allocations are fresh, so is what calls give,
    and so are parameters, or they are only read.
    """
    given: dict[Name, set[Name]] = {}
    for stm in statements(fun.body):
        if isinstance(stm, imp.Declare) and isinstance(stm.type, Mem):
            given.setdefault(stm.name, set())
        if isinstance(stm, imp.Declare | imp.Assign) and isinstance(stm.value, str):
            given.setdefault(stm.name, set()).add(stm.value)
    found = {name: names - given.keys() for name, names in given.items()}
    takers: dict[Name, list[Name]] = {name: [] for name in given}
    for name, names in given.items():
        for other in names & given.keys():
            takers[other].append(name)
    pending = list(given)
    while pending:
        name = pending.pop()
        for taker in takers[name]:
            if not found[name] <= found[taker]:
                found[taker] |= found[name]
                pending.append(taker)
    return {name: frozenset(names) for name, names in found.items()}
