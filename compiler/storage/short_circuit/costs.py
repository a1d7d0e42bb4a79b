"""Refuse attempts where building in place would be slower than the copy.

A CPU thread keeps a small private array in registers or nearby: creating it costs nothing, moving
it one or two instructions. The C compiler unrolls and vectorises short loops that fill it, as their
reads cannot alias their writes. Elements written to program memory may alias the next iteration's
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
"""Iterations that C compilers unroll completely; longer loops are vectorised with checks."""


def why_slower(now: Edited, source: Name, scope: TreeBody) -> Failed | None:
    """Return why building a thread's row in place does not pay without lockstep execution, or None.

    It does not if the row is small and filled by a loop that also reads other memory.
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
                f"Building in place would take longer. A thread computes the {count} "
                f"elements of {called(now, source)} privately and stores them together; "
                f"in the destination, each would be stored before {called(now, read)} "
                "is read for the next one.",
            )
    return None


def _read_while_filling(now: Edited, item: Item, block: Name) -> Name | None:
    """Return an array that a short loop reads from outside, in another block than it fills."""
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
    """True if an array's memory was allocated outside a body."""
    made = now.scope_of(now.mem[name].block)
    return made is None or made.depth < scope.depth
