"""Scans in one pass over memory: a block of threads looks back at what those before it came to.

Each takes a tile, folds it, and publishes what that comes to. Then its first warp looks at the
tiles before, WARP at a time, back to one that has published what all up to it come to; and with
what it finds it publishes the same of its own tile. So elements are read once and written once, and
what is published of a tile are a few cells.

Note [Forward progress]. A block waits for tiles that are not its own. Tiles are given out by
tickets, the first thing that a block does, so each tile that is waited for was taken by a block
that has begun, and one that has not is never waited for: blocks that run one after the other, in
any order, end. A block publishes the sum of its tile before it waits for another one, and all that
it does until then are loads, and barriers of its own threads. So it is enough that a block whose
first thread has done something is never kept from going on for good. That is what CUDA promises of
a device's threads (CUDA Programming Guide, "CUDA C++ Execution Model": "parallel forward progress",
and "once a device thread makes progress" all threads of its block shall, eventually); nothing is
promised to blocks that have not begun, and nothing is asked of them. A block that leaves because a
check has failed before has taken no ticket.

It is done where a user asks for it (LOOK_BACK): of large arrays an H200 makes scans faster by three
stages (`folds.py`), of short ones in one pass, and nothing has been measured elsewhere.

Note [What is seen]. A thread stores what it publishes, comes to a fence, and then sets the flag by
an atomic operation; a lane reads the flag by volatile loads until it is not 0, comes to a fence,
and then loads the cells. In the memory model of PTX the fences synchronise, so that the stores come
before the loads in causality order, whatever caches hold. The sum of a tile, and what all up to it
come to, are different cells, each written once before the flag gets its value: who has seen SUM
reads the one, and the other may be written meanwhile. Cells are the scan's own, and the host has
set flags and the counter of tickets to 0.
"""

from __future__ import annotations

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.imp.nodes import (
    Alloc,
    Assign,
    Cell,
    Declare,
    Define,
    Fold,
    If,
    Kernel,
    Stm,
    Stms,
    Store,
    While,
)
from compiler.codegen.index import add, minimum, mul, parts_of, product, sub
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import (
    ITEMS,
    LANE,
    SEGMENT,
    STEP,
    TILE,
    WARP_OF,
    Tile,
    by_first,
    carries,
    combine,
    components,
    doubling,
    one_tile,
    own,
    segment,
    totals,
)
from compiler.codegen.kernels.fuse_scan_map import Handed
from compiler.codegen.kernels.nodes import OWN, THREAD, THREADS, WARP, Barrier
from compiler.codegen.kernels.threads import FIRST, i64
from compiler.codegen.traits import traits_of
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Conv, Lit, Scalar, Var

LOOK_BACK = Rule(
    "kernels/look-back",
    "A scan is one pass over memory on a GPU, whose blocks of threads wait for those before them.",
    asked=True,
)
BECAUSE = (
    "Each element is read and written once, where stages would read it twice: blocks of threads "
    "look back at what those came to that have begun before them."
)
SUM, PREFIX = Lit(1, "i32"), Lit(2, "i32")
"""What a flag says: the sum of its tile is known, or that of all up to it."""
WANTED_TILES, FEWEST = 256, 5
"""Where there are few elements, threads take fewer of them, so that there are so many tiles; but no
fewer than FEWEST, so that what is published of a tile is little beside it; one where an element
takes a loop, which is work for more blocks."""
TICKET, FAR, LOOKED, SEEN, NEAREST, OTHER, MORE = (
    f"{OWN}{name}" for name in ("ticket", "far", "looked", "seen", "nearest", "other", "more")
)
NONE = Lit(-1, "i32")


@dataclass(frozen=True, slots=True)
class LookBack:
    """A scan in one pass, whose segments are cut into tiles of at most `tile`."""

    kernel: Kernel
    folds: tuple[Fold, ...]
    tile: Tile

    @property
    def _name(self) -> Name:
        return self.folds[0].op.lhs[0]

    @property
    def items(self) -> Name:
        """The elements of a thread, an odd number."""
        return f"{self._name}_items"

    @property
    def tiles(self) -> Name:
        """The tiles of a segment."""
        return f"{self._name}_tiles"

    @property
    def flags(self) -> Name:
        """The block with the counter and the flags."""
        return f"{self._name}_flags"

    @property
    def segments(self) -> SE:
        """How many segments there are."""
        return product([size for _, size in self.kernel.dims[:-1]])

    @property
    def count(self) -> SE:
        """How many tiles there are in all."""
        return mul(self.segments, i64(self.tiles))

    def host(self, threads: int) -> Stms:
        """What the host does before the launch of blocks with so many threads."""
        prov, size = self.kernel.prov, self.kernel.dims[-1][1]
        each = Lit(threads * WANTED_TILES, "i64")
        few = Bin("//", "i64", mul(self.segments, size), each)
        least = Lit(1 if traits_of(self.kernel.body).loops else FEWEST, "i64")
        most = minimum(Bin("max", "i64", few, least), Lit(self.tile.each, "i64"))
        most = minimum(most, parts_of(size, Lit(threads, "i64")))
        items = Bin("|", "i64", most, ONE)
        tiles = parts_of(size, mul(i64(self.items), Lit(threads, "i64")))
        out: list[Stm] = [
            Define(self.items, "i64", items, prov),
            Define(self.tiles, "i64", tiles, prov),
            k.Zeros(self.flags, "i32", add(self.count, ONE), prov),
        ]
        for lhs, prim, _ in components(self.folds):
            out += [k.Part(block(lhs), prim, self.count, "", prov) for block in (_sum, _prefix)]
        return tuple(out)

    def code(self, taken: Handed | None) -> Stms:
        """What each block of threads does."""
        kernel, folds = self.kernel, self.folds
        prov, (index, end) = kernel.prov, kernel.dims[-1]
        parts, size = components(folds), own(index, "size")
        made = one_tile(kernel, folds, end, True, kernel.body, self.tile, taken)
        tiles = ((SEGMENT, self.segments), (TILE, i64(self.tiles)))
        room = (Alloc(_found_shared(n), ONE, p, "shared", prov) for n, p, _ in parts)
        return (
            k.Ticket(TICKET, self.flags, ZERO, prov),
            k.Indices(tiles, i64(TICKET), prov),
            *segment(kernel),
            *totals(kernel, folds),
            *carries(folds),
            *made.room,
            *room,
            Define(ITEMS, "i64", i64(self.items), prov),
            Define(size, "i64", mul(i64(ITEMS), i64(THREADS)), prov),
            Define(own(index, "tile"), "i64", mul(i64(TILE), i64(size)), prov),
            *made.fold,
            *self.publish(SUM, Bin("<", "i64", ZERO, i64(TILE))),
            If(Bin("==", "i32", Var(WARP_OF, "i32"), Lit(0, "i32")), self.look(), (), prov),
            Barrier(prov),
            *(stm for fold in folds for stm in self.behind(fold)),
            *made.ends,
        )

    def publish(self, flag: Lit, if_so: SE | None = None) -> Stms:
        """One thread publishes what its variables have, for the tiles that come behind, if any."""
        prov, parts = self.kernel.prov, components(self.folds)
        block = _sum if flag == SUM else _prefix
        value = [Var(own(n, "carry") if flag == SUM else n, p) for n, p, _ in parts]
        stores = (
            Store(block(n), p, i64(TICKET), v, prov)
            for (n, p, _), v in zip(parts, value, strict=True)
        )
        behind: SE = Bin("<", "i64", add(i64(TILE), ONE), i64(self.tiles))
        if_so = behind if if_so is None else Bin("&&", "bool", behind, if_so)
        told = k.Publish(self.flags, add(i64(TICKET), ONE), flag, prov)
        return (If(Bin("&&", "bool", FIRST, if_so), (*stores, told), (), prov),)

    def look(self) -> Stms:
        """The first warp finds what stands before the tile, and publishes it with the tile."""
        prov, parts = self.kernel.prov, components(self.folds)
        found = tuple(Declare(_found(n), Scalar(p), ne, prov) for n, p, ne in parts)
        kept = tuple(Store(_found_shared(n), p, ZERO, Var(_found(n), p), prov) for n, p, _ in parts)
        whole = (
            combine(f, [_found(n) for n in f.op.lhs], [own(n, "carry") for n in f.op.lhs], prov)
            for f in self.folds
        )
        return (
            *found,
            Declare(FAR, Scalar("i64"), i64(TILE), prov),
            Declare(MORE, Scalar("bool"), Bin("<", "i64", ZERO, i64(TILE)), prov),
            While(MORE, self.step(), prov),
            *whole,
            *self.publish(PREFIX),
            *by_first(kept, prov),
        )

    def step(self) -> Stms:
        """A lane for each of WARP tiles; those before the nearest of which all is known rest."""
        prov, parts = self.kernel.prov, components(self.folds)
        lane, nearest, other = (Var(name, "i32") for name in (LANE, NEAREST, OTHER))
        step, looked = Var(STEP, "i32"), i64(LOOKED)
        first = sub(i64(TICKET), i64(TILE))
        at = add(first, looked)
        look = (
            k.Await(SEEN, self.flags, add(at, ONE), prov),
            If(
                Bin("==", "i32", Var(SEEN, "i32"), PREFIX), (Assign(NEAREST, lane, prov),), (), prov
            ),
        )
        largest = (
            k.Shuffle(OTHER, "i32", nearest, Bin("-", "i32", Var(THREAD, "i32"), step), prov),
            Assign(NEAREST, Bin("max", "i32", nearest, other), prov),
        )
        is_there: SE = Bin("<=", "i64", ZERO, looked)
        all_up_to = tuple(k.Fetch(n, p, _prefix(n), at, prov) for n, p, _ in parts)
        alone = tuple(k.Fetch(n, p, _sum(n), at, prov) for n, p, _ in parts)
        take = If(Bin("==", "i32", lane, nearest), all_up_to, alone, prov)
        counts = Bin("&&", "bool", is_there, Bin("<=", "i32", nearest, lane))
        out: list[Stm] = [
            Define(LOOKED, "i64", add(sub(i64(FAR), Lit(WARP, "i64")), _wide(lane)), prov),
            Declare(NEAREST, Scalar("i32"), NONE, prov),
            If(is_there, look, (), prov),
            Declare(OTHER, Scalar("i32"), None, prov),
            k.Stride(
                STEP, "i32", Lit(1, "i32"), Lit(WARP, "i32"), "*", Lit(2, "i32"), largest, prov
            ),
            k.Shuffle(NEAREST, "i32", nearest, Lit(0, "i32"), prov),
            *(Assign(n, ne, prov) for n, _, ne in parts),
            If(counts, (take,), (), prov),
        ]
        last = Lit(WARP - 1, "i32")
        for fold in self.folds:
            lhs, pairs = fold.op.lhs, list(zip(fold.op.lhs, fold.op.prims, strict=True))
            left, found = [own(n, "left") for n in lhs], [_found(n) for n in lhs]
            out.append(doubling(fold, prov, Lit(WARP, "i32")))
            out += [k.Shuffle(own(n, "left"), p, Var(n, p), last, prov) for n, p in pairs]
            out.append(combine(fold, left, found, prov))
            out += [Assign(_found(n), Var(n, p), prov) for n, p in pairs]
        out.append(Assign(FAR, sub(i64(FAR), Lit(WARP, "i64")), prov))
        out.append(Assign(MORE, Bin("==", "i32", nearest, NONE), prov))
        return tuple(out)

    def behind(self, fold: Fold) -> Stms:
        """All threads put what was found before what stands before them in their tile."""
        prov, lhs = self.kernel.prov, fold.op.lhs
        pairs = list(zip(lhs, fold.op.prims, strict=True))
        cells = [Cell(_found_shared(n), ZERO) for n in lhs]
        joined = combine(fold, cells, [own(n, "before") for n in lhs], prov)
        return (joined, *(Assign(own(n, "before"), Var(n, p), prov) for n, p in pairs))


def _sum(lhs: Name) -> Name:
    """The block with what each tile comes to."""
    return f"{lhs}_sum"


def _prefix(lhs: Name) -> Name:
    """The block with what all up to each tile come to."""
    return f"{lhs}_prefix"


def _found(lhs: Name) -> Name:
    """What stands before the tile."""
    return own(lhs, "found")


def _found_shared(lhs: Name) -> Name:
    """The same, for all threads of the block."""
    return own(lhs, "found_shared")


def _wide(lane: SE) -> SE:
    return Conv("i32", "i64", lane)
