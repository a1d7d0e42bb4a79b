"""Where building in place would take longer than the copy that it saves.

A thread of the processor keeps a small array to itself, next to its registers: making it costs
nothing, moving it to its place one or two instructions. Loops of a few iterations that fill it are
unrolled by the C compiler and computed several elements at a time, as nothing that they read can be
what they write. Elements that are written to memory of the program might be what the next iteration
reads, as far as the C compiler knows, and are computed one by one.
"""

from __future__ import annotations

from compiler.base.names import Name
from compiler.ir.nodes import Alloc, ForLoop, Index, Lit, Loop, Update
from compiler.protocol.refusals import Refusal
from compiler.storage.short_circuit.conditions import Failed
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.tree import Item, TreeBody
from compiler.storage.short_circuit.wording import called

TOGETHER = 16
"""Iterations of a loop that C compilers unroll wholly; longer ones they vectorise with checks."""


def slower(now: Edited, source: Name, scope: TreeBody) -> Failed | None:
    """Why building a thread's row in its place does not pay where threads do not run in step.

    It does not if the row is small and filled by a loop that reads memory of others as well.
    """
    block = now.mem[source].block
    made = now.binder(block)
    if made is None or made.scope is not scope or not isinstance(made.stm.exp, Alloc):
        return None
    count = made.stm.exp.count.constant
    if count is None or count > TOGETHER:
        return None
    for item in now.items(scope):
        read = _read_while_filling(now, item, block)
        if read is not None:
            return Failed(
                Refusal.SLOWER,
                f"In place it would take longer: the {count} elements of {called(now, source)} are"
                f" computed together while a thread keeps them to itself, and moved at once; in the"
                f" destination each would be written before {called(now, read)} is read for the "
                "next one.",
            )
    return None


def _read_while_filling(now: Edited, item: Item, block: Name) -> Name | None:
    """What a short loop reads from outside of its body, and from another block than it fills."""
    exp = item.stm.exp
    if not isinstance(exp, Loop) or not isinstance(exp.form, ForLoop):
        return None
    bound = exp.form.bound
    if not isinstance(bound, Lit) or bound.value > TOGETHER:
        return None
    inner = [one.stm.exp for one in item.children[0].items]
    fills = any(
        isinstance(one, Update)
        and not isinstance(one.value, str)
        and now.mem[one.array].block == block
        for one in inner
    )
    reads = [one.array for one in inner if isinstance(one, Index)]
    outside = (name for name in reads if _is_outside(now, name, item.scope))
    return next(outside, None) if fills else None


def _is_outside(now: Edited, name: Name, scope: TreeBody) -> bool:
    """Whether an array lies in memory that was made outside of a body."""
    made = now.scope_of(now.mem[name].block)
    return made is None or made.depth < scope.depth
