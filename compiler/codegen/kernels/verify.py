"""Verify a program of the kernel IR: scopes and types as in IMP, and cooperation of threads.

- Barriers are uniform: all threads of a block reach one, or none (Note [Barriers] in `nodes.py`).
- A kernel's parameters are its free names; its launch has them in scope.
- Shared memory fits the target's, and atomic operations are supported by it.
- A block has as many threads as the kernel requires.
- Atomic bodies do not synchronise and write nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.target import Target
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.imp.verify import ImpChecker
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.printer import show_stm
from compiler.codegen.kernels.walk import shared_bytes
from compiler.codegen.traits import reads
from compiler.ir.nodes import SE, Bin, Lit, Mem, Scalar, Type, Var


def verify(prog: imp.ImpProg, target: Target) -> None:
    """Check a program for `target`. Raises `CompilerBug` with violation and place."""
    checker = _Checker(target)
    for applied in prog.applied:
        checker.scalar_function(applied)
    for fun in prog.funs:
        checker.function(fun)


WARP_NUMBER = Bin("//", "i32", Var(k.THREAD, "i32"), Lit(k.WARP, "i32"))
"""The number of a thread's warp, uniform within the warp."""


class _Checker(ImpChecker):
    """Checks launches of the host, and thread code."""

    language = k.KERNELS

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.target = target

    def shown(self, stm: imp.Stm) -> str:
        """Format a statement for messages."""
        return show_stm(stm)

    def bind(self, name: Name, kind: Type) -> None:
        """Bring a name into scope; shadowing is an error."""
        self.must(name not in self.types, f"`{name}` is bound in its own scope")
        self.types[name] = kind

    def se(self, se: SE) -> Prim:
        """Check an expression; thread numbers may have either width."""
        if isinstance(se, Var) and se.name in k.IDS:
            self.must(self.where == "block", f"`{se.name}` is no number of the host")
            self.must(se.prim in ("i32", "i64"), f"`{se.name}` is no {se.prim}")
            return se.prim
        return super().se(se)

    def cell(self, block: Name, prim: Prim, at: SE) -> None:
        """Check a cell; numbers of threads and warps are narrow."""
        self.block(block, prim)
        self.must(self.se(at) in ("i32", "i64"), "an index is no i64")

    def kernel(self, s: imp.Kernel) -> None:
        self.fail("a kernel of IMP is left")

    # --- the host ----------------------------------------------------------------------------

    def launch(self, s: k.Launch) -> None:
        self.must(self.where == "host", "a thread launches nothing")
        self.scalar(s.count, "i64", "the number of threads")
        self.factor(s.times)
        if s.busy is not None:
            self.scalar(s.busy, "i64", "the number of busy threads")
            self.must(s.unit == "blocks", "blocks that share out points have all threads")
            self.must(not s.kernel.threads, f"`{s.kernel.name}` has the number of its threads")
        for param in s.kernel.params:
            kind = self.types.get(param.name)
            wanted = Mem(param.prim) if param.block else Scalar(param.prim)
            self.must(kind == wanted, f"`{param.name}` is no such value of the host")
            self.must(param.name not in self.freed, f"`{param.name}` has been freed")
        need, there = shared_bytes(s.kernel), self.target.shared_bytes
        self.must(need <= there, f"`{s.kernel.name}` needs {need} bytes of shared memory")
        wrong = s.kernel.threads not in (0, self.target.threads)
        self.must(not wrong, f"blocks of the target do not have {s.kernel.threads} threads")
        scope = self.types, self.where, self.variables, self.unset, self.owned
        self.types = {p.name: Mem(p.prim) if p.block else Scalar(p.prim) for p in s.kernel.params}
        self.where, self.variables, self.unset, self.owned = "block", set(), set(), set()
        self.stms(s.kernel.body)
        self.types, self.where, self.variables, self.unset, self.owned = scope
        for together in ("block", "warp"):
            _Divergence(self, together).stms(s.kernel.body, False)

    def factor(self, name: Name) -> None:
        """Check a multiplier."""
        if name:
            self.scalar(Var(name, "i64"), "i64", "a number of blocks")

    def ranges(self, s: k.Ranges) -> None:
        self.scalar(s.segments, "i64", "the number of segments")
        self.scalar(s.size, "i64", "the size of a segment")
        self.scalar(s.least, "i64", "the size of a range")
        for name in (s.blocks, s.chunk):
            self.types[name] = Scalar("i64")

    def part(self, s: k.Part) -> None:
        self.scalar(s.count, "i64", "the number of cells")
        self.factor(s.times)
        self.types[s.name] = Mem(s.prim)

    def zeros(self, s: k.Zeros) -> None:
        self.scalar(s.count, "i64", "the number of cells")
        self.types[s.name] = Mem(s.prim)

    # --- threads -----------------------------------------------------------------------------

    def fetch(self, s: k.Fetch) -> None:
        self.may_assign(s.name)
        self.must(self.types[s.name] == Scalar(s.prim), f"`{s.name}` is no {s.prim}")
        self.cell(s.block, s.prim, s.at)
        self.unset.discard(s.name)

    def loads(self, s: k.Loads) -> None:
        self.neighbours(s, len(s.names))
        self.must(set(s.prims) == {s.prim}, "neighbouring cells have one type")
        for name in s.names:
            self.bind(name, Scalar(s.prim))

    def stores(self, s: k.Stores) -> None:
        self.neighbours(s, len(s.values))
        for value in s.values:
            self.scalar(value, s.prim, "what is stored")

    def neighbours(self, s: k.Loads | k.Stores, number: int) -> None:
        """Check an access to neighbouring cells."""
        self.cell(s.block, s.prim, s.at)
        self.must(self.types.get(s.block) == Mem(s.prim), f"`{s.block}` is not the device's")
        size = number * BYTES[s.prim]
        self.must(size in (2, 4, 8, 16), f"{size} bytes are no access")

    def indices(self, s: k.Indices) -> None:
        self.scalar(s.flat, "i64", "a number")
        for _, size in s.dims[1:]:
            self.scalar(size, "i64", "a size")
        for name, _ in s.dims:
            self.bind(name, Scalar("i64"))

    def stride(self, s: k.Stride) -> None:
        for se in (s.start, s.end, s.by):
            self.scalar(se, s.prim, "the range of a loop")
        self.bind(s.index, Scalar(s.prim))
        self.loop_body(s.body)
        self.leave([s.index])

    def scope(self, s: k.Scope) -> None:
        self.stms(s.body)

    def exit(self, s: k.Exit) -> None:
        self.scalar(s.cond, "bool", "the condition")

    def barrier(self, s: k.Barrier) -> None:
        self.must(self.where == "block", "the host waits for no block")

    def shuffle(self, s: k.Shuffle) -> None:
        self.must(self.target.warp == k.WARP, "the target has no warps")
        self.may_assign(s.name)
        self.must(self.types[s.name] == Scalar(s.prim), f"`{s.name}` is no {s.prim}")
        self.scalar(s.value, s.prim, "what is shuffled")
        self.scalar(s.lane, "i32", "the number of a lane")
        self.unset.discard(s.name)

    def atomic(self, s: k.Atomic) -> None:
        there = (s.op, s.prim) in self.target.atomics
        self.must(there, f"`{s.op}` of {s.prim} is no atomic operation of the target")
        self.cell(s.block, s.prim, s.at)
        self.scalar(s.value, s.prim, "what is combined")

    def exchange(self, s: k.Exchange) -> None:
        self.must(BYTES[s.prim] in (4, 8), f"a {s.prim} is no word")
        self.cell(s.block, s.prim, s.at)
        self.at_once(s.body, (imp.Store, k.Locked))
        self.bind(s.name, Scalar(s.prim))
        self.variables.add(s.name)
        self.stms(s.body)
        self.leave([s.name])

    def locked(self, s: k.Locked) -> None:
        self.cell(s.locks, "i32", s.at)
        self.at_once(s.body, (k.Locked,))
        self.stms(s.body)

    def ticket(self, s: k.Ticket) -> None:
        self.must(self.where == "block", "the host takes no ticket")
        self.cell(s.block, "i32", s.at)
        self.bind(s.name, Scalar("i64"))

    def publish(self, s: k.Publish) -> None:
        self.cell(s.block, "i32", s.at)
        self.scalar(s.value, "i32", "a flag")

    def wait(self, s: k.Await) -> None:
        self.must(self.where == "block", "the host waits for no thread")
        self.cell(s.block, "i32", s.at)
        self.bind(s.name, Scalar("i32"))

    def at_once(self, body: imp.Stms, but: tuple[type[imp.Stm], ...]) -> None:
        """Check that an atomic body does not synchronise, and lacks these classes."""
        for stm in statements(body):
            wrong = type(stm) in _WAITS or isinstance(stm, but)
            self.must(not wrong, f"`{type(stm).__name__}` in what is done at once")


_WAITS = k.KERNELS.trait("waits")


class _Divergence:
    """Divergence between threads that are `together`: variables and control flow.

    Threads of a `block` synchronise at barriers, those of a `warp` at shuffles. `names`: divergent
    variables. `gone`: some threads may have exited. `counted`: others may wait for the block, which
    holds a ticket.
    """

    def __init__(self, checker: ImpChecker, together: str) -> None:
        self.checker, self.of_warp = checker, together == "warp"
        self.names: set[Name] = {k.THREAD, k.PLACE}
        self.gone = self.counted = False

    def differs(self, *ses: SE) -> bool:
        """True if a value may differ between threads."""
        return any(reads(se) & self.names for se in ses if se != WARP_NUMBER or not self.of_warp)

    def assign(self, name: Name, differs: bool) -> None:
        """Record an assignment."""
        (self.names.add if differs else self.names.discard)(name)

    def stms(self, stms: imp.Stms, apart: bool) -> None:
        """Visit statements that all threads run, or, if `apart`, only some."""
        for stm in stms:
            self.stm(stm, apart)

    def stm(self, stm: imp.Stm, apart: bool) -> None:
        match stm:
            case imp.Define(name, _, value):
                self.assign(name, self.differs(value))
            case imp.Apply() | k.Loads():
                read = stm.args if isinstance(stm, imp.Apply) else (stm.at,)
                for name in stm.names:
                    self.assign(name, self.differs(*read))
            case imp.Declare(name, _, value) | imp.Assign(name, value):
                if not isinstance(value, str):
                    self.assign(name, apart or (value is not None and self.differs(value)))
            case imp.Load() | k.Fetch() | k.Await():
                private = stm.block in self.names
                self.assign(stm.name, apart or private or self.differs(stm.at))
            case imp.Alloc():
                self.assign(stm.name, stm.space == "private")
            case k.Indices():
                for name, _ in stm.dims:
                    self.assign(name, self.differs(stm.flat))
            case k.Barrier() | k.Shuffle() | k.Ticket():
                self.meet(stm, apart)
                self.counted |= isinstance(stm, k.Ticket)
                leaves = isinstance(stm, k.Barrier) and stm.asks
                self.checker.must(not (self.counted and leaves), "others wait for who leaves here")
            case k.Exit(cond) | imp.Assert(cond):
                self.gone |= apart or self.differs(cond)
            case imp.If(cond, then, orelse):
                self.branches((then, orelse), apart or self.differs(cond))
            case imp.For(index, _, bound, body):
                self.loop(index, apart or self.differs(bound), body)
            case k.Stride(index, _, start, end, _, by, body):
                self.loop(index, apart or self.differs(start, end, by), body)
            case imp.While(cond, body):
                self.loop(cond, apart, body)
            case k.Scope(body, point):
                gone = self.gone
                self.stms(body, apart)
                self.gone = gone if point else self.gone
            case k.Exchange() | k.Locked():
                self.stms(stm.body, True)

    def meet(self, stm: k.Barrier | k.Shuffle | k.Ticket, apart: bool) -> None:
        """Check a synchronisation of all threads."""
        what, of_warp = type(stm).__name__.lower(), isinstance(stm, k.Shuffle)
        if of_warp == self.of_warp:
            together = "warp" if of_warp else "block"
            self.checker.must(not apart, f"not all threads of a {together} come to this {what}")
            self.checker.must(not self.gone, f"some threads have left before this {what}")
        if isinstance(stm, k.Shuffle):
            self.assign(stm.name, not self.of_warp or self.differs(stm.lane))
        if isinstance(stm, k.Ticket):
            self.assign(stm.name, False)

    def branches(self, arms: Iterable[imp.Stms], apart: bool) -> None:
        """Visit alternatives."""
        before, after = set(self.names), set[Name]()
        for arm in arms:
            self.names = set(before)
            self.stms(arm, apart)
            after |= self.names
        self.names = after

    def loop(self, name: Name, apart: bool, body: imp.Stms) -> None:
        """Visit a loop controlled by `name`: an index, or a condition."""
        before: set[Name] = set()
        self.assign(name, apart or name in self.names)
        while before != self.names:
            before = set(self.names)
            self.stms(body, apart or name in self.names)
            self.names |= before


KernelChecker = _Checker
