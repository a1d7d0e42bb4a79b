"""Find block variables that may hold the same block where a kernel starts.

Note [Two buffers in turn]. A loop may write one buffer while it reads another, and swap them. Each
variable may then hold several blocks, so points-to sets do not separate the two; pairs of possibly
equal variables do. Allocated blocks, and inputs of the program, are distinct; arguments of a
function may be equal, but are not written. An assignment makes a variable equal to another, and
possibly equal to that one's aliases. The state at the start of loops is recorded, and the analysis
repeated until it is stable; each repetition visits a nested loop once.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import Mem

Blocks = Mapping[Name, frozenset[Name]]
"""Blocks that each variable may ever hold."""
Same = Mapping[Name, frozenset[Name]]
"""Possibly equal names, symmetric."""
MOST = 64
"""Maximum number of aliases per variable: programs free a block before it has so many."""
NOBODY: frozenset[Name] = frozenset()


class _TooManyError(Exception):
    """A variable has more than MOST aliases."""


def at_kernels(stms: imp.Stms) -> dict[int, Same]:
    """Return the alias relation at each host kernel or launch, by id.

    Empty if a variable has more than MOST aliases.
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
    """One pass over statements; `grows` if a loop begins with more aliases than before."""

    def __init__(self) -> None:
        self.found: dict[int, Same] = {}
        self.starts: dict[int, Same] = {}
        """Alias relation at the start of iterations, by id of the loop."""
        self.grows = True

    def walk(self, stms: imp.Stms, same: Same) -> Same:
        """Return the alias relation after the statements."""
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
        """Return the relation after a loop, equal to that at the start of an iteration."""
        known = self.starts.get(id(stm), {})
        start = _joined(known, same)
        start = _joined(start, self.walk(stm.body, start))
        if start != known:
            self.starts[id(stm)] = start
            self.grows = True
        return start


def _without(same: Same, name: Name) -> Same:
    """Remove a reassigned name."""
    if name not in same:
        return same
    out = {one: others for one, others in same.items() if one != name}
    for other in same[name]:
        out[other] -= {name}
    return out


def _joined(same: Same, more: Same) -> Same:
    """Return the symmetric union."""
    out = dict(same)
    for one, others in more.items():
        out[one] = out.get(one, NOBODY) | others
        if len(out[one]) > MOST:
            raise _TooManyError
        for other in others:
            out[other] = out.get(other, NOBODY) | {one}
    return out


def points_to(fun: imp.ImpFun) -> Blocks:
    """Return the blocks that each block variable may ever hold (flow-insensitive).

    A name that is no variable is a distinct block: allocations and call results are fresh, and
    parameters are distinct or only read.
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
