"""Choose the number of threads per block, for kernels in which a block processes one point.

The threads of a block share the iterations of the loops inside: threads beyond the longest trip
count would only wait at barriers, and keep other blocks from running. The host computes the number
of useful threads for each launch. With so many points that blocks fill the GPU anyway, fewer
threads suffice: with several elements each, less time goes into combining results and
synchronising.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.remarks import NOTHING, Applied, Missed, Outcome
from compiler.base.rules import Limit, Rule
from compiler.codegen.imp.nodes import Define, For, Stm, While
from compiler.codegen.imp.parts import statements
from compiler.codegen.index import parts_of
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import launch_sized, shared_bytes
from compiler.codegen.traits import reads
from compiler.ir.build import conjunction
from compiler.ir.nodes import SE, TRUE, ZERO, Bin, Lit, Select, Var
from compiler.ir.show_scalar import show_se
from compiler.ir.sizes import poly_of
from compiler.ir.walk import map_se

FITTED = Rule(
    "kernels/fitted", "Limits a block of threads for one point to the threads that have work."
)

POINTS = Limit("kernels/fewer-threads/points", "points that have a block of threads each", 1 << 12)
"""About as many blocks fit all multiprocessors of a GPU at once."""
FEWER = Rule(
    "kernels/fewer-threads",
    "Gives a thread several elements if many points each have a block of threads.",
    limits=(POINTS,),
)
EACH = 8
"""Elements per thread in that case."""
MOST_SHARED = 4 << 10
"""Shared memory of a block up to which that many blocks are resident at once, in bytes."""


def busy_threads(kernel: k.Kernel, most: int) -> Outcome[SE]:
    """Return the number of useful threads of a block, where the default is `most`.

    In terms of kernel parameters, which the host knows.
    """
    sizes = _trip_counts(kernel)
    if sizes is None:
        because = "The number of elements of a block of threads is known only inside the block."
        return Missed(because, NOTHING)
    if not sizes or any(isinstance(size, Lit) and int(size.value) >= most for size in sizes):
        return None
    busy = _largest(sizes)
    because = (
        f"In `{kernel.name}` only as many threads of a block have work as its longest "
        "loop has iterations. A block has that many threads, rounded up to whole "
        f"warps, and at most {most}."
    )
    return Applied(busy, because, (("turns", " or ".join(map(_shown, sizes))),))


def fewer_threads(kernel: k.Kernel, points: SE, otherwise: SE, many: int) -> Outcome[SE]:
    """Return the threads of a block for at least `many` points, else `otherwise`.

    For kernels with cheap elements, so that none waits long for a thread's next one.
    """
    shared_out = [stm for stm in statements(kernel.body) if _is_shared_out(stm)]
    inside = [one for stm in shared_out for one in statements(stm.body)]
    slow = For | While | k.Stride | k.Barrier | k.Atomic | k.Exchange | k.Locked
    sizes = _trip_counts(kernel)
    if not sizes or any(isinstance(one, slow) for one in inside):
        return None
    room = _room(kernel)
    if room is None:
        return Missed(
            f"A thread of a block in `{kernel.name}` has few elements: the shared "
            "memory of a block is known only inside it, or leaves no room for many "
            "blocks at once.",
            NOTHING,
        )
    longest = _largest(sizes)
    few = parts_of(longest, Lit(EACH, "i64"))
    there = conjunction([Bin("<=", "i64", Lit(many, "i64"), points), room])
    because = (
        f"With at least {many} points, a block of threads in `{kernel.name}` has one "
        f"thread for {EACH} of its elements: that many blocks keep a GPU busy, and "
        "combining the threads' results costs less."
    )
    numbers = (("elements of a thread", str(EACH)),)
    return Applied(Select(there, few, otherwise), because, numbers)


def _room(kernel: k.Kernel) -> SE | None:
    """Return the condition that shared memory permits many resident blocks; None if unknown."""
    left = MOST_SHARED - shared_bytes(kernel)
    defined = {stm.name: stm.value for stm in statements(kernel.body) if isinstance(stm, Define)}
    size = _expanded(launch_sized(kernel)[1], defined)
    if left < 0 or not reads(size) <= {param.name for param in kernel.params if not param.block}:
        return None
    return TRUE if size == ZERO else Bin("<=", "i64", size, Lit(left, "i64"))


def _trip_counts(kernel: k.Kernel) -> list[SE] | None:
    """Return the largest trip counts of loops that threads share; None if the host cannot know."""
    stms = statements(kernel.body)
    defined = {stm.name: stm.value for stm in stms if isinstance(stm, Define)}
    ends = [_expanded(stm.end, defined) for stm in stms if _is_shared_out(stm)]
    given = {param.name for param in kernel.params if not param.block}
    return _longest(ends) if all(reads(end) <= given for end in ends) else None


def _largest(sizes: Sequence[SE]) -> SE:
    largest, *others = sizes
    for size in others:
        largest = Bin("max", "i64", largest, size)
    return largest


def _is_shared_out(stm: Stm) -> TypeGuard[k.Stride]:
    """True for a loop whose iterations the threads of a block share."""
    return isinstance(stm, k.Stride) and _by_threads(stm.by)


def _by_threads(by: SE) -> bool:
    """True if a loop step distributes iterations over the threads of a block."""
    return isinstance(by, Var) and by.name == k.THREADS


def _expanded(se: SE, defined: Mapping[Name, SE]) -> SE:
    """Expand the names that a kernel defines itself."""
    return map_se(se, lambda v: _expanded(defined[v.name], defined) if v.name in defined else v)


def _longest(ends: Sequence[SE]) -> list[SE]:
    """Drop sizes that do not exceed others; all are natural."""
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
