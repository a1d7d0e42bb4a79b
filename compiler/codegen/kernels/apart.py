"""Which variables for blocks may hold the same one where a kernel of IMP starts.

Note [Two buffers in turn]. A loop may write one buffer while it reads another one, and let them
change places. Of each of its variables more than one block is known, so what it may hold does not
tell two of them apart; which pairs of variables may be equal does. Blocks that are allocated, and
those that a program is given, are different ones. An assignment makes a variable equal to another
one, and to what that may be equal to; a loop goes on until no round adds a pair.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp

Same = Mapping[Name, frozenset[Name]]
"""For a name those that may be equal to it, both ways."""
MOST = 64
"""Others that a variable may be equal to: programs are done with a block before it has as many."""
NOBODY: frozenset[Name] = frozenset()


class _TooManyError(Exception):
    """A variable may be equal to more than MOST others."""


def at_kernels(stms: imp.Stms) -> dict[int, Same]:
    """By the identity of each of the host's kernels, which blocks may be the same there.

    Nothing where a variable may be equal to more than MOST others.
    """
    found: dict[int, Same] = {}
    try:
        _walk(stms, {}, found)
    except _TooManyError:
        return {}
    return found


def _walk(stms: imp.Stms, same: Same, found: dict[int, Same]) -> Same:
    """What may be the same behind the statements."""
    for stm in stms:
        match stm:
            case imp.Kernel():
                found[id(stm)] = same
            case imp.Alloc(name) | imp.Free(name):
                same = _without(same, name)
            case imp.Declare(name, _, str() as value) | imp.Assign(name, str() as value):
                if value != name:
                    same = _without(same, name)
                    same = _joined(same, {name: same.get(value, NOBODY) | {value}})
            case imp.If():
                then = _walk(stm.then, same, found)
                same = _joined(_walk(stm.orelse, same, found), then)
            case imp.For() | imp.While():
                while (behind := _joined(same, _walk(stm.body, same, found))) != same:
                    same = behind
    return same


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
