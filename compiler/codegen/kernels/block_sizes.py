"""Blocks of threads that are no larger than what they go through together.

Where a block of threads works on one point of a map, its threads share out the turns of the loops
inside: those beyond the longest of these would do nothing but wait at barriers, in the place of
threads of other blocks. The host computes how many find something to do, for each launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.remarks import NOTHING, Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.codegen.imp.nodes import Define
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import statements
from compiler.codegen.traits import reads
from compiler.ir.nodes import SE, Bin, Lit, Var
from compiler.ir.show_scalar import show_se
from compiler.ir.sizes import poly_of
from compiler.ir.walk import map_se

FITTED = Rule(
    "kernels/fitted", "A block of threads for one point has no more threads than find work to do."
)


def busy_threads(kernel: k.Kernel, most: int) -> Outcome[SE]:
    """How many threads of a block find something to do, where a block has `most` otherwise.

    By the kernel's parameters, which the host knows.
    """
    stms = statements(kernel.body)
    defined = {stm.name: stm.value for stm in stms if isinstance(stm, Define)}
    shared_out = (stm for stm in stms if isinstance(stm, k.Stride) and _by_threads(stm.by))
    ends = [_outside(stm.end, defined) for stm in shared_out]
    given = {param.name for param in kernel.params if not param.block}
    if not all(reads(end) <= given for end in ends):
        because = "How many elements a block of threads goes through is known only inside of it."
        return Missed(because, NOTHING)
    sizes = _longest(ends)
    if not sizes or any(isinstance(size, Lit) and int(size.value) >= most for size in sizes):
        return None
    busy = sizes[0]
    for size in sizes[1:]:
        busy = Bin("max", "i64", busy, size)
    because = (
        f"No more threads of a block find something to do in `{kernel.name}` than the longest of "
        f"its loops has turns: a block has so many, in whole warps, and {most} at most."
    )
    return Applied(busy, because, (("turns", " or ".join(map(_shown, sizes))),))


def _by_threads(by: SE) -> bool:
    """Whether the threads of a block share out the turns of a loop with that step."""
    return isinstance(by, Var) and by.name == k.THREADS


def _outside(se: SE, defined: Mapping[Name, SE]) -> SE:
    """An expression without names that a kernel defines itself."""
    return map_se(se, lambda v: _outside(defined[v.name], defined) if v.name in defined else v)


def _longest(ends: Sequence[SE]) -> list[SE]:
    """Sizes without those that others are as large as: none is negative."""
    found: dict[Poly | SE, SE] = {}
    for end in ends:
        found.setdefault(poly_of(end) or end, end)
    return [end for key, end in found.items() if not any(_exceeds(one, key) for one in found)]


def _exceeds(large: Poly | SE, small: Poly | SE) -> bool:
    if not isinstance(large, Poly) or not isinstance(small, Poly) or large == small:
        return False
    return all(factor > 0 for factor in (large - small).terms.values())


def _shown(size: SE) -> str:
    poly = poly_of(size)
    if poly is None:
        return show_se(size)
    return str(poly.subst({name: Poly.var(base_of(name)) for name in poly.names()}))
