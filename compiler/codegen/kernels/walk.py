"""Kernels: their parameters, shared memory, statement lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.codegen.free_names import FreeNames
from compiler.codegen.imp.nodes import Alloc, Stm, Stms
from compiler.codegen.imp.parts import bodies, statements
from compiler.codegen.index import add, mul
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import SE, ZERO, Lit


def lists(stms: Stms) -> Iterator[Stms]:
    """Yield a statement list and those nested in it, except in launches."""
    yield stms
    for stm in stms:
        for body in bodies(stm):
            yield from lists(body)


def shared_bytes(kernel: k.Kernel) -> int:
    """Return the shared memory of a thread block, without launch-sized blocks."""
    found = 0
    for stm in statements(kernel.body):
        if isinstance(stm, Alloc) and stm.space == "shared" and isinstance(stm.count, Lit):
            found += max(1, int(stm.count.value)) * BYTES[stm.prim]
        if isinstance(stm, k.Ticket):
            found += BYTES["i32"]
    return found


def launch_sized(kernel: k.Kernel) -> tuple[dict[Name, SE], SE]:
    """Return the byte offsets of launch-sized shared blocks, and their total size.

    The widest elements come first, so that each block is aligned.
    """
    found = [
        stm
        for stm in statements(kernel.body)
        if isinstance(stm, Alloc) and stm.space == "shared" and not isinstance(stm.count, Lit)
    ]
    places: dict[Name, SE] = {}
    end: SE = ZERO
    for stm in sorted(found, key=lambda stm: -BYTES[stm.prim]):
        places[stm.name] = end
        end = add(end, mul(stm.count, Lit(BYTES[stm.prim], "i64")))
    return places, end


def free_names(stms: Stms) -> FreeNames:
    """Return the names that a kernel's body uses and defines."""
    names = FreeNames()
    names.stms(stms)
    return names


def params(body: Stms) -> tuple[k.Param, ...]:
    """Return the parameters of a kernel: the free names of its body."""
    names = free_names(body)
    scalars = [k.Param(n, p, False) for n, p in names.free_scalars().items() if n not in k.IDS]
    return (*scalars, *(k.Param(n, p, True) for n, p in names.free_blocks().items()))


def with_body(kernel: k.Kernel, body: Iterable[Stm]) -> k.Kernel:
    """Return a kernel with another body, and the parameters for it."""
    body = tuple(body)
    return replace(kernel, params=params(body), body=body)
