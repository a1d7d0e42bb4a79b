"""Code of a single thread: IMP without inner kernels, and the choice of its point."""

from __future__ import annotations

from dataclasses import replace

from compiler import codes
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.target import PRIVATE_BYTES
from compiler.codegen.imp.nodes import Alloc, Copy, Define, Free, Kernel, Stm, Stms
from compiler.codegen.imp.parts import map_bodies
from compiler.codegen.index import product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.nodes import OWN, PLACE, THREAD, THREADS, Scope
from compiler.codegen.sequential import copy_body, copy_dims, loops, sequential
from compiler.ir.nodes import SE, ZERO, Bin, Lit, Var

POINT = f"{OWN}point"


def i64(name: Name) -> SE:
    """Return an i64 variable that counts threads, points or cells."""
    return Var(name, "i64")


FIRST: SE = Bin("==", "i64", i64(THREAD), ZERO)
"""True in the thread that works on behalf of its block."""


def is_local(stm: Alloc) -> bool:
    """True for a thread's block of constant, small size."""
    return isinstance(stm.count, Lit) and int(stm.count.value) * BYTES[stm.prim] <= PRIVATE_BYTES


def thread_code(stms: Stms) -> Stms:
    """Return the code of a single thread: inner kernels and copies become loops."""
    out: list[Stm] = []
    for stm in stms:
        match stm:
            case Kernel():
                out.extend(thread_code(sequential(stm)))
            case Copy():
                body = loops(copy_dims(stm), copy_body(stm), stm.prov)
                out.append(Scope(body, prov=stm.prov))
            case Alloc():
                out.append(shared(stm) if stm.space == "shared" else private(stm))
            case Free():
                pass
            case _:
                out.append(map_bodies(stm, thread_code))
    return tuple(out)


def private(stm: Alloc) -> Alloc:
    """Return a private block. Raises Limitation if it is not small."""
    if not is_local(stm):
        raise _unsupported(stm, "a thread's own array whose size is not a small constant")
    return stm


def shared(stm: Alloc) -> Alloc:
    """Return a shared block. Raises Limitation for a private one of variable size."""
    if not isinstance(stm.count, Lit) and stm.space != "shared":
        raise _unsupported(stm, "a shared array whose size is not a constant")
    return replace(stm, space="shared")


def _unsupported(stm: Alloc, what: str) -> Limitation:
    return Limitation.at(
        codes.limits.GPU_MEMORY, f"{what} is not supported on the GPU yet", stm.prov
    )


def point(stms: Stms) -> Scope:
    """Return the code of a thread for one point."""
    return Scope(thread_code(stms), point=True)


def all_points(kernel: Kernel) -> Stms:
    """Distribute the points of an inner map over the threads of a block."""
    total = product([size for _, size in kernel.dims])
    body = (k.Indices(kernel.dims, i64(POINT)), point(kernel.body))
    return (k.Stride(POINT, "i64", i64(THREAD), total, "+", i64(THREADS), body, kernel.prov),)


def own_point(kernel: Kernel) -> Stms:
    """Define a thread's point: that of its number, if it exists."""
    prov = kernel.prov
    total = product([size for _, size in kernel.dims])
    return (
        Define(POINT, "i64", i64(PLACE), prov),
        k.Exit(Bin(">=", "i64", i64(POINT), total), prov),
        k.Indices(kernel.dims, i64(POINT), prov),
    )
