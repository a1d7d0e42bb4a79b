"""The kernel IR: what the threads of a launch run. Below it, targets with blocks only print.

Grammar, one line per form. `verify.py` says what a program is, `semantics` what it means.

    fun    ::= name(param..) -> (result..) = host..
    host   ::= a statement of IMP, but no kernel | launch | ranges | part | zeros | fetch
    kernel ::= name(param..) = thread..
    thread ::= define | declare | assign | alloc | load | store | if | for | while | assert
             | fetch | loads | stores | indices | stride | scope | exit | barrier | shuffle
             | atomic | exchange | locked | ticket | publish | await

Every thread of every block runs a kernel's statements. THREAD is its number in its block, BLOCK the
number of the block, THREADS how many threads a block has; PLACE is its number among all threads.

Note [Barriers]. A barrier lets no thread of a block pass before all have come, and what they have
written before it they all see behind it. So all threads of a block come to it, equally often, or
none: it stands under no condition that differs between threads, and behind no exit for some.

Note [Shuffles]. WARP threads of a block that follow each other are a warp, and have a lane each. By
a shuffle they see each other's values without memory: all of them come to it, as to a barrier.

Note [Shared memory] belongs to a block of threads: an `alloc` of constant size, or of one that is
computed from the kernel's parameters, which the host computes as well, for the launch.

Note [Races]. Two threads may touch one cell, and one of them write it, if a barrier of their block
stands between, or if both do it by atomic operations or under the cell's lock, or if one publishes
and the other one waits for that, or if both write the same bits. All else is a race.

Note [Publications]. Threads of a launch may wait for what one of another block publishes: what it
has written when it sets a flag, an i32 that was 0. Blocks come in any order, and maybe one by one.
So a block waits for none but those with a smaller ticket, which have begun. Flags, and what tickets
are counted with, are zeros when the launch begins.

Names of the kernel IR's own begin with OWN, which is not printed; those of IMP carry a tag.
"""

from __future__ import annotations

from typing import Literal

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.codegen.imp.nodes import IMP, Stm, Stms
from compiler.dialect.table import Dialect
from compiler.ir.nodes import SE

KERNELS = Dialect("the kernel IR", extends=IMP)
"""IMP's nodes, and those of launches and threads."""

OWN = "%"
THREAD, BLOCK, THREADS, PLACE = (f"{OWN}{name}" for name in ("thread", "block", "threads", "place"))
IDS = (THREAD, BLOCK, THREADS, PLACE)
WARP = 32

# --- what a thread runs ----------------------------------------------------------------------


@KERNELS.node(
    "{name} <- {block}[{at:index}]",
    finds={"prim": "prim_of_name name"},
    parts="assigns:name reads:block se:at",
    method="fetch",
)
@dataclass(frozen=True, slots=True)
class Fetch(Stm):
    """Load a cell into the variable `name`."""

    name: Name
    prim: Prim
    block: Name
    at: SE
    prov: Prov = ()


@KERNELS.node(
    "wide ({*names: prims}) = {block}[{at:index}]",
    binds={"names": "scalar prims"},
    parts="binds:names reads:block se:at",
    method="loads",
)
@dataclass(frozen=True, slots=True)
class Loads(Stm):
    """Load neighbouring cells of a block, from cell `at` on.

    One access where the first cell is aligned to the bytes of all, else one for each.
    """

    names: tuple[Name, ...]
    prims: tuple[Prim, ...]
    block: Name
    at: SE
    prov: Prov = ()

    @property
    def prim(self) -> Prim:
        """The type of each."""
        return self.prims[0]

    @property
    def number(self) -> int:
        """Number of cells."""
        return len(self.names)


@KERNELS.node(
    "wide {block}[{at:index}] <- ({values})",
    finds={"prim": "element block"},
    parts="writes:block se:at ses:values",
    method="stores",
)
@dataclass(frozen=True, slots=True)
class Stores(Stm):
    """Store to neighbouring cells of a block, from cell `at` on.

    One access where the first cell is aligned to the bytes of all, else one for each.
    """

    block: Name
    prim: Prim
    at: SE
    values: tuple[SE, ...]
    prov: Prov = ()

    @property
    def number(self) -> int:
        """Number of cells."""
        return len(self.values)


@KERNELS.node(
    "indices ({dims:point}) of {flat:index}",
    parts="numbers:dims se:flat sizes:dims",
    method="indices",
)
@dataclass(frozen=True, slots=True)
class Indices(Stm):
    """Define i64 indices: unflatten `flat` in the row-major order of `dims`."""

    dims: tuple[tuple[Name, SE], ...]
    flat: SE
    prov: Prov = ()


@KERNELS.node(
    "for {index}: {prim} from {start} to {end} by {op:step} {by} {body}",
    binds={"index": "scalar prim"},
    finds={field: f"wide {field} prim" for field in ("start", "end", "by")},
    parts="bind:index se:start se:end se:by stms:body",
    method="stride",
)
@dataclass(frozen=True, slots=True)
class Stride(Stm):
    """Loop with `index` = `start`, then `index op by` repeatedly, while less than `end`."""

    index: Name
    prim: Prim
    start: SE
    end: SE
    op: Literal["+", "*"]
    by: SE
    body: Stms
    prov: Prov = ()


@KERNELS.node("{point?point|scope} {body}", parts="stms:body", method="scope")
@dataclass(frozen=True, slots=True)
class Scope(Stm):
    """A scope of names; in a `point`, a failed check leaves only the scope.

    Elsewhere a failed check ends the thread.
    """

    body: Stms
    point: bool = False
    prov: Prov = ()


@KERNELS.node("exit if {cond}", parts="se:cond", method="exit")
@dataclass(frozen=True, slots=True)
class Exit(Stm):
    """End the thread if `cond`."""

    cond: SE
    prov: Prov = ()


@KERNELS.node(
    "shuffle {name} <- {value} of {lane}",
    finds={"prim": "prim_of_name name", "lane": "as_lane lane"},
    parts="assigns:name se:value se:lane",
    method="shuffle",
    waits=True,
)
@dataclass(frozen=True, slots=True)
class Shuffle(Stm):
    """Read `value` of another lane of the warp, modulo WARP, into the variable `name`.

    Without such a lane, the thread's own value.
    """

    name: Name
    prim: Prim
    value: SE
    lane: SE
    prov: Prov = ()


@KERNELS.node("barrier{asks? asking}", parts="", method="barrier", waits=True)
@dataclass(frozen=True, slots=True)
class Barrier(Stm):
    """Wait for all threads of the block; if it `asks`, all exit if a check of one has failed.

    Later code may rely on earlier checks, whose failure ends only a point.
    """

    prov: Prov = ()
    asks: bool = False


@KERNELS.node(
    "atomic {op:step} {block}[{at:index}] <- {value}",
    finds={"prim": "element block"},
    parts="updates:block se:at se:value",
    method="atomic",
)
@dataclass(frozen=True, slots=True)
class Atomic(Stm):
    """Atomically replace a cell by `cell op value`."""

    op: str
    prim: Prim
    block: Name
    at: SE
    value: SE
    prov: Prov = ()


@KERNELS.node(
    "exchange {name}: {prim} = {block}[{at:index}] {body}",
    binds={"name": "scalar prim"},
    parts="bind:name updates:block se:at stms:body",
    method="exchange",
)
@dataclass(frozen=True, slots=True)
class Exchange(Stm):
    """Atomically replace a cell, bound to the variable `name`, by the result of `body`.

    `body` is repeated if another thread has written the cell meanwhile (compare-and-swap): it
    writes nothing else.
    """

    name: Name
    prim: Prim
    block: Name
    at: SE
    body: Stms
    prov: Prov = ()


@KERNELS.node(
    "locked {locks}[{at:index}] {body}", parts="lock:locks se:at stms:body", method="locked"
)
@dataclass(frozen=True, slots=True)
class Locked(Stm):
    """Run `body` in one thread at a time per lock `at`; earlier writes under it are visible."""

    locks: Name
    at: SE
    body: Stms
    prov: Prov = ()


@KERNELS.node(
    "ticket {name} of {block}[{at:index}]",
    binds={"name": "i64"},
    parts="bind:name flag:block se:at",
    method="ticket",
    waits=True,
)
@dataclass(frozen=True, slots=True)
class Ticket(Stm):
    """Define `name`, i64: the number of thread blocks that drew a ticket before. A barrier.

    The counter is an i32 cell.
    """

    name: Name
    block: Name
    at: SE
    prov: Prov = ()


@KERNELS.node(
    "publish {block}[{at:index}] <- {value}",
    parts="flag:block se:at se:value",
    method="publish",
    waits=True,
)
@dataclass(frozen=True, slots=True)
class Publish(Stm):
    """Set an i32 flag to `value`; a thread that awaits it sees all earlier writes."""

    block: Name
    at: SE
    value: SE
    prov: Prov = ()


@KERNELS.node(
    "await {name} of {block}[{at:index}]",
    binds={"name": "i32"},
    parts="bind:name awaits:block se:at",
    method="wait",
    waits=True,
)
@dataclass(frozen=True, slots=True)
class Await(Stm):
    """Define `name`, i32: a flag, once it is nonzero. Writes before its publication are visible."""

    name: Name
    block: Name
    at: SE
    prov: Prov = ()


# --- what the host runs ----------------------------------------------------------------------


@KERNELS.node()
@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter: a scalar, or a device block."""

    name: Name
    prim: Prim
    block: bool


@KERNELS.node()
@dataclass(frozen=True, slots=True)
class Kernel:
    """A device function. `threads`: required threads per block; 0 if any number will do."""

    name: str
    params: tuple[Param, ...]
    body: Stms
    prov: Prov = ()
    threads: int = 0


@KERNELS.node(
    begins=("launch",),
    parts="se:count named:times operand:busy launched:kernel",
    method="launch",
)
@dataclass(frozen=True, slots=True)
class Launch(Stm):
    """Run a kernel in thread blocks: `count` (times `times`), or enough for `count` threads.

    `busy`: number of useful threads per block, rounded up to warps; None for the device's default.
    """

    kernel: Kernel
    unit: Literal["blocks", "points"]
    count: SE
    times: Name = ""
    prov: Prov = ()
    busy: SE | None = None


@KERNELS.node(
    "let {blocks}, {chunk} = ranges({segments:index}, {size:index}, {least:index})",
    binds={"blocks": "i64", "chunk": "i64"},
    parts="bind:blocks bind:chunk se:segments se:size se:least",
    method="ranges",
)
@dataclass(frozen=True, slots=True)
class Ranges(Stm):
    """Define the number of `blocks` of threads per segment, and the `chunk` of each.

    As many blocks at most as have `least` elements each.
    """

    blocks: Name
    chunk: Name
    segments: SE
    size: SE
    least: SE
    prov: Prov = ()


@KERNELS.node(
    "let {name}: mem({prim}) = part({count:index}{times? times {}})",
    binds={"name": "mem prim"},
    parts="bind:name se:count named:times",
    method="part",
)
@dataclass(frozen=True, slots=True)
class Part(Stm):
    """An uninitialised device block for `count` (times `times`) partial results."""

    name: Name
    prim: Prim
    count: SE
    times: Name = ""
    prov: Prov = ()


@KERNELS.node(
    "let {name}: mem({prim}) = zeros({count:index})",
    binds={"name": "mem prim"},
    parts="bind:name se:count",
    method="zeros",
)
@dataclass(frozen=True, slots=True)
class Zeros(Stm):
    """A device block of `count` zeros."""

    name: Name
    prim: Prim
    count: SE
    prov: Prov = ()
