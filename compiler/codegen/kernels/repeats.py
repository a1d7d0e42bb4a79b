"""Loops of the host whose rounds ask a device for the same, which the host need not say each time.

Note [Rounds]. Statements that read no cell, and no number that the loop changes, are a function of
the blocks that the loop's variables hold: where those hold what they held some rounds ago, and no
block has been made since, all rounds to come ask for what these have, in turn. The variables are
found here; what they hold, and whether a block is made, is seen when the loop runs
(`Device.rounds`).
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.base.names import Name
from compiler.base.remarks import NOTHING, Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.host_numbers import mentioned, names_of, whole
from compiler.codegen.kernels.walk import launch_sized
from compiler.ir.nodes import ZERO

GRAPHS = Rule("cuda/graphs", "Launches that rounds of a loop have in common are captured once.")
_MAKES = imp.Alloc | k.Part | k.Zeros


def turning(loop: imp.For, called: Callable[[Name], str]) -> Outcome[tuple[Name, ...]]:
    """The variables for blocks that a loop changes, if its rounds depend on nothing else.

    None for a loop that launches nothing. `called` gives the names for readers.
    """
    body = tuple(whole(loop.body))
    if not any(isinstance(stm, k.Launch) for stm in body):
        return None
    because = _differs(loop, body, called)
    if because:
        return Missed(f"The host launches in each round of this loop: {because}.", NOTHING)
    own = {stm.name for stm in body if isinstance(stm, imp.Declare | _MAKES)}
    changed = {stm.name: None for stm in body if isinstance(stm, imp.Assign | imp.Free)}
    return Applied(
        tuple(name for name in changed if name not in own),
        "What this loop launches depends on which block is where, and nothing else that changes: "
        "rounds that come again are captured in a graph, and the host launches that.",
    )


def _differs(loop: imp.For, body: tuple[imp.Stm, ...], called: Callable[[Name], str]) -> str:
    """Why rounds may be different, or cannot be captured; "" if neither."""
    own = {stm.name for stm in body if isinstance(stm, imp.Declare)}
    for stm in body:
        match stm:
            case imp.Load(name) | k.Fetch(name):
                return f"it waits for `{called(name)}`"
            case imp.Store():
                return "it writes a cell itself"
            case imp.For() | imp.While():
                return "there is a loop in it"
            case imp.Assign(name, value) if not isinstance(value, str) and name not in own:
                return f"`{called(name)}` is another number in each"
        bytes_ = launch_sized(stm.kernel)[1] if isinstance(stm, k.Launch) else ZERO
        if loop.index in mentioned(stm) | names_of(bytes_):
            return f"they depend on `{called(loop.index)}`"
    if any(isinstance(stm, _MAKES) for stm in loop.body):
        return "each makes a block of memory"
    return ""
