"""The kernel IR: what the threads of a launch run. Below it, targets with blocks only print.

Grammar, one line per form. `verify.py` says what a program is, `semantics` what it means.

    fun    ::= name(param..) -> (result..) = host..
    host   ::= a statement of IMP, but no kernel | launch | ranges | part | zeros | fetch
    kernel ::= name(param..) = thread..
    thread ::= define | declare | assign | alloc | load | store | if | for | while | assert
             | fetch | indices | stride | scope | exit | barrier | shuffle
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
    parts="reads:block se:at",
    method="fetch",
)
@dataclass(frozen=True, slots=True)
class Fetch(Stm):
    """The variable `name` becomes the value of a cell."""

    name: Name
    prim: Prim
    block: Name
    at: SE
    prov: Prov = ()


@KERNELS.node(
    "indices ({dims:point}) of {flat:index}",
    parts="numbers:dims se:flat sizes:dims",
    method="indices",
)
@dataclass(frozen=True, slots=True)
class Indices(Stm):
    """Define indices, i64: those of number `flat` in the row-major order of `dims`."""

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
    """`index` is `start`, then `index op by` again and again while it is less than `end`."""

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
    """Statements whose names are their own; of a `point`, a failed check leaves no more than them.

    Elsewhere a failed check ends the thread.
    """

    body: Stms
    point: bool = False
    prov: Prov = ()


@KERNELS.node("exit if {cond}", parts="se:cond", method="exit")
@dataclass(frozen=True, slots=True)
class Exit(Stm):
    """The thread has nothing to do if `cond`."""

    cond: SE
    prov: Prov = ()


@KERNELS.node(
    "shuffle {name} <- {value} of {lane}",
    finds={"prim": "prim_of_name name", "lane": "as_lane lane"},
    parts="se:value se:lane",
    method="shuffle",
)
@dataclass(frozen=True, slots=True)
class Shuffle(Stm):
    """The variable `name` becomes `value` as it is in another lane of the warp, modulo WARP.

    Where there is no such lane it becomes the thread's own.
    """

    name: Name
    prim: Prim
    value: SE
    lane: SE
    prov: Prov = ()


@KERNELS.node("barrier{asks? asking}", parts="", method="barrier")
@dataclass(frozen=True, slots=True)
class Barrier(Stm):
    """Wait for all threads of the block; if it `asks`, all leave if a check of one has failed.

    What stands behind may rely on checks in front of it, whose failure ends a point alone.
    """

    prov: Prov = ()
    asks: bool = False


@KERNELS.node(
    "atomic {op:step} {block}[{at:index}] <- {value}",
    finds={"prim": "element block"},
    parts="writes:block se:at se:value",
    method="atomic",
)
@dataclass(frozen=True, slots=True)
class Atomic(Stm):
    """A cell becomes `cell op value`, at once."""

    op: str
    prim: Prim
    block: Name
    at: SE
    value: SE
    prov: Prov = ()


@KERNELS.node(
    "exchange {name}: {prim} = {block}[{at:index}] {body}",
    binds={"name": "scalar prim"},
    parts="bind:name writes:block se:at stms:body",
    method="exchange",
)
@dataclass(frozen=True, slots=True)
class Exchange(Stm):
    """A cell's value is `name`, a variable; it becomes what `body` makes of that, at once.

    `body` runs again where another thread has written the cell in between: it writes nothing else.
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
    """One thread at a time runs `body` for lock `at`, and sees what those before have written."""

    locks: Name
    at: SE
    body: Stms
    prov: Prov = ()


@KERNELS.node(
    "ticket {name} of {block}[{at:index}]",
    binds={"name": "i64"},
    parts="bind:name flag:block se:at",
    method="ticket",
)
@dataclass(frozen=True, slots=True)
class Ticket(Stm):
    """Define `name`, i64: how many blocks of threads were here before. A barrier.

    They are counted in a cell, i32.
    """

    name: Name
    block: Name
    at: SE
    prov: Prov = ()


@KERNELS.node(
    "publish {block}[{at:index}] <- {value}", parts="flag:block se:at se:value", method="publish"
)
@dataclass(frozen=True, slots=True)
class Publish(Stm):
    """A flag, i32, becomes `value`: who awaits it sees what the thread has written before."""

    block: Name
    at: SE
    value: SE
    prov: Prov = ()


@KERNELS.node(
    "await {name} of {block}[{at:index}]",
    binds={"name": "i32"},
    parts="bind:name flag:block se:at",
    method="wait",
)
@dataclass(frozen=True, slots=True)
class Await(Stm):
    """Define `name`, i32: a flag, once it is not 0. What was published with it is seen behind."""

    name: Name
    block: Name
    at: SE
    prov: Prov = ()


# --- what the host runs ----------------------------------------------------------------------


@KERNELS.node()
@dataclass(frozen=True, slots=True)
class Param:
    """A kernel's parameter: a scalar, or a block of the device."""

    name: Name
    prim: Prim
    block: bool


@KERNELS.node()
@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of the device. `threads`: how many its blocks must have; 0 if any will do."""

    name: str
    params: tuple[Param, ...]
    body: Stms
    prov: Prov = ()
    threads: int = 0


@KERNELS.node(begins=("launch",), parts="se:count named:times operand:busy", method="launch")
@dataclass(frozen=True, slots=True)
class Launch(Stm):
    """Run a kernel by blocks of threads: `count` (times `times`), or enough for `count` threads.

    `busy`: so many threads of a block are enough, in whole warps; None if they have as many as
    those of the device have.
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
    """Define how many `blocks` of threads share each of `segments`, and the `chunk` of each.

    No more of them than have `least` elements each.
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
    """A block of the device for `count` (times `times`) partial results, with any contents."""

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
    """A block of the device with `count` zeros."""

    name: Name
    prim: Prim
    count: SE
    prov: Prov = ()
