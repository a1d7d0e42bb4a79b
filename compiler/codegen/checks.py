"""Hoist checks before the work of a loop, which then runs without them.

A check inside a loop prevents vectorisation. Where conditions do not depend on code that earlier
checks protect, a loop over the conditions alone runs first; if all hold, the work needs no checks.
Otherwise the loop with checks runs and reports the first failure.
"""

from __future__ import annotations

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.codegen.imp.nodes import Apply, Assert, Declare, Define, If, Load, Stm, Stms, Store
from compiler.codegen.traits import reads, traits_of
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import SE


@dataclass(frozen=True, slots=True)
class Checks:
    """Replacement of a point's body: if `conditions`, computed by `needs`, hold, run `rest`."""

    needs: Stms
    conditions: tuple[SE, ...]
    rest: Stms


def checks_first(body: Stms) -> Checks | None:
    """Return the checks of a loop-free body, if they can be made before everything else."""
    traits = traits_of(body)
    if not traits.asserts or traits.loops or traits.allocs:
        return None
    rest = tuple(stm for stm in body if not isinstance(stm, Assert))
    if traits_of(rest).asserts:
        return None
    conditions = tuple(stm.cond for stm in body if isinstance(stm, Assert))
    wanted: set[Name] = set()
    for cond in conditions:
        wanted |= reads(cond)
    needs: list[Stm] = []
    first = next(k for k, stm in enumerate(body) if isinstance(stm, Assert))
    for k in range(len(body) - 1, -1, -1):
        stm = body[k]
        match stm:
            case Define(name, _, value) if name in wanted:
                if k > first and not cannot_fail(value):
                    return None
                wanted |= reads(value)
                needs.append(stm)
            case Load(name, _, _, at) if name in wanted:
                if k > first:
                    return None
                wanted |= reads(at)
                needs.append(stm)
            case Declare(name, _, _) if name in wanted:
                return None
            case Apply(names, _, _, _) if not wanted.isdisjoint(names):
                return None
            case Store() | If() if k < first:
                return None
    return Checks(tuple(reversed(needs)), conditions, rest)
