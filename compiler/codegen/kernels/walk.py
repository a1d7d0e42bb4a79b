"""The parts of statements of kernels: bodies, and names that are used and not defined."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.base.prim import BYTES
from compiler.base.target import Target
from compiler.codegen.free_names import VISIT, FreeNames
from compiler.codegen.imp.nodes import Alloc, For, If, Stm, Stms, While
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import Lit


def bodies(stm: Stm) -> tuple[Stms, ...]:
    """The statement lists in a statement."""
    match stm:
        case If(_, then, orelse):
            return then, orelse
        case For() | While() | k.Stride() | k.Scope() | k.Exchange() | k.Locked():
            return (stm.body,)
        case k.Launch():
            return (stm.kernel.body,)
    return ()


def statements(stms: Stms) -> Iterator[Stm]:
    """All statements, also those in others."""
    for stm in stms:
        yield stm
        for body in bodies(stm):
            yield from statements(body)


def pool_bytes(kernel: k.Kernel) -> int:
    """The size of the pool for each thread: that of the largest of all slots' ends."""
    slots = (stm for stm in statements(kernel.body) if isinstance(stm, k.Slots))
    return max((stm.offset + k.slot_bytes(stm.prim) for stm in slots), default=0)


def shared_bytes(kernel: k.Kernel, target: Target) -> int:
    """The shared memory of a block of threads."""
    own = 0
    for stm in statements(kernel.body):
        if isinstance(stm, Alloc) and stm.space == "shared" and isinstance(stm.count, Lit):
            own += max(1, int(stm.count.value)) * BYTES[stm.prim]
    return pool_bytes(kernel) * target.threads + own


def free_names(stms: Stms) -> FreeNames:
    """What a kernel's body uses and defines."""
    names = _KernelNames()
    names.stms(stms)
    return names


class _KernelNames(FreeNames):
    """With the statements that only threads run."""

    def fetch(self, s: k.Fetch) -> None:
        """A read into a variable."""
        self.blocks.setdefault(s.block, s.prim)
        self.se(s.at)

    def indices(self, s: k.Indices) -> None:
        """Indices from a number, all of whose sizes but the first one are used."""
        self.bound.update(name for name, _ in s.dims)
        self.se(s.flat)
        self.ses(size for _, size in s.dims[1:])

    def stride(self, s: k.Stride) -> None:
        """A loop."""
        self.bound.add(s.index)
        self.ses((s.start, s.end, s.by))
        self.stms(s.body)

    def slots(self, s: k.Slots) -> None:
        """Shared memory."""
        self.bound.add(s.name)

    def atomic(self, s: k.Atomic) -> None:
        """An update at once."""
        self.blocks.setdefault(s.block, s.prim)
        self.ses((s.at, s.value))

    def exchange(self, s: k.Exchange) -> None:
        """An update that is tried again."""
        self.bound.add(s.name)
        self.blocks.setdefault(s.block, s.prim)
        self.se(s.at)
        self.stms(s.body)

    def locked(self, s: k.Locked) -> None:
        """An update under a lock."""
        self.blocks.setdefault(s.locks, "i32")
        self.se(s.at)
        self.stms(s.body)

    visits = {
        **VISIT,
        k.Fetch: fetch,
        k.Indices: indices,
        k.Stride: stride,
        k.Scope: lambda u, s: u.stms(s.body),
        k.Exit: lambda u, s: u.se(s.cond),
        k.Slots: slots,
        k.Barrier: lambda u, s: None,
        k.Atomic: atomic,
        k.Exchange: exchange,
        k.Locked: locked,
    }
