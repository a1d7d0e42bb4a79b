"""Single-pass scans with decoupled look-back: a thread block inspects the results of earlier ones.

Each block takes a tile, folds it, and publishes the sum. Then its first warp inspects earlier
tiles, WARP at a time, back to one that has published its inclusive prefix; and publishes the prefix
of its own tile. So elements are read and written once, and each tile publishes a few cells.

Note [Forward progress]. A block waits for other tiles. Tiles are assigned by tickets, drawn first,
so each awaited tile belongs to a block that has begun: blocks that run one after the other, in any
order, terminate. A block publishes the sum of its tile before it waits, and until then only
performs loads, and barriers of its own threads. So it suffices that a block with a started thread
is never suspended for good. CUDA promises that for a device's threads (CUDA Programming Guide,
"CUDA C++ Execution Model": "parallel forward progress", and "once a device thread makes progress"
all threads of its block shall, eventually); nothing is promised to blocks that have not begun, and
nothing is required of them. A block that leaves because of an earlier failed check has drawn no
ticket.

Applied only on request (LOOK_BACK): on an H200 three stages (`folds.py`) are faster for large
arrays, one pass for short ones; nothing else has been measured.

Note [What is seen]. A thread stores the published values, executes a fence, and then sets the flag
atomically; a lane polls the flag by volatile loads until it is not 0, executes a fence, and then
loads the cells. In the memory model of PTX the fences synchronise, so that the stores precede the
loads in causality order, regardless of caches. A tile's sum and inclusive prefix are different
cells, each written once before the flag gets its value: a reader of SUM reads the former, while the
latter may be written concurrently. The cells belong to the scan, and the host zeroes flags and
ticket counter.
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
    doubling_loop,
    one_tile,
    own,
    segment,
    totals,
)
from compiler.codegen.kernels.fuse_scan_map import ScanMapFusion
from compiler.codegen.kernels.nodes import OWN, THREAD, THREADS, WARP, Barrier
from compiler.codegen.kernels.threads import FIRST, i64
from compiler.codegen.traits import traits_of
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Conv, Lit, Scalar, Var

LOOK_BACK = Rule(
    "kernels/look-back",
    "Runs a scan on a GPU in one pass over memory, in which blocks of threads wait for "
    "earlier blocks.",
    asked=True,
)
BECAUSE = (
    "Each element is read once and written once, while several kernels would read it "
    "twice: each block of threads reads the results of the blocks before it."
)
SUM, PREFIX = Lit(1, "i32"), Lit(2, "i32")
"""Flag values: the tile's sum is known, or its inclusive prefix."""
WANTED_TILES, FEWEST = 256, 5
"""With few elements, threads take fewer each, to get so many tiles; but at least FEWEST, so that
published cells are few in comparison; one if an element contains a loop, to occupy more blocks."""
TICKET, FAR, LOOKED, SEEN, NEAREST, OTHER, MORE = (
    f"{OWN}{name}" for name in ("ticket", "far", "looked", "seen", "nearest", "other", "more")
)
NONE = Lit(-1, "i32")


@dataclass(frozen=True, slots=True)
class LookBack:
    """A single-pass scan, whose segments are cut into tiles of at most `tile`."""

    kernel: Kernel
    folds: tuple[Fold, ...]
    tile: Tile

    @property
    def _name(self) -> Name:
        return self.folds[0].op.lhs[0]

    @property
    def items(self) -> Name:
        """Elements per thread, an odd number."""
        return f"{self._name}_items"

    @property
    def tiles(self) -> Name:
        """Tiles per segment."""
        return f"{self._name}_tiles"

    @property
    def flags(self) -> Name:
        """Block with the ticket counter and the flags."""
        return f"{self._name}_flags"

    @property
    def segments(self) -> SE:
        """Number of segments."""
        return product([size for _, size in self.kernel.dims[:-1]])

    @property
    def count(self) -> SE:
        """Total number of tiles."""
        return mul(self.segments, i64(self.tiles))

    def host(self, threads: int) -> Stms:
        """Return the host statements before the launch of blocks of so many threads."""
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

    def code(self, taken: ScanMapFusion | None) -> Stms:
        """Return the code of a thread block."""
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
        """Publish values by one thread, for later tiles, under a condition if given."""
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
        """Find the prefix before the tile in the first warp, and publish the inclusive one."""
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
        """Inspect WARP tiles, a lane each; lanes before the nearest known prefix are ignored."""
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
            out.append(doubling_loop(fold, prov, Lit(WARP, "i32")))
            out += [k.Shuffle(own(n, "left"), p, Var(n, p), last, prov) for n, p in pairs]
            out.append(combine(fold, left, found, prov))
            out += [Assign(_found(n), Var(n, p), prov) for n, p in pairs]
        out.append(Assign(FAR, sub(i64(FAR), Lit(WARP, "i64")), prov))
        out.append(Assign(MORE, Bin("==", "i32", nearest, NONE), prov))
        return tuple(out)

    def behind(self, fold: Fold) -> Stms:
        """Combine the found prefix with each thread's prefix within the tile."""
        prov, lhs = self.kernel.prov, fold.op.lhs
        pairs = list(zip(lhs, fold.op.prims, strict=True))
        cells = [Cell(_found_shared(n), ZERO) for n in lhs]
        joined = combine(fold, cells, [own(n, "before") for n in lhs], prov)
        return (joined, *(Assign(own(n, "before"), Var(n, p), prov) for n, p in pairs))


def _sum(lhs: Name) -> Name:
    """Return the name of the block with the tiles' sums."""
    return f"{lhs}_sum"


def _prefix(lhs: Name) -> Name:
    """Return the name of the block with the tiles' inclusive prefixes."""
    return f"{lhs}_prefix"


def _found(lhs: Name) -> Name:
    """Return the name of the prefix before the tile."""
    return own(lhs, "found")


def _found_shared(lhs: Name) -> Name:
    """Return the name of its shared copy for all threads of the block."""
    return own(lhs, "found_shared")


def _wide(lane: SE) -> SE:
    return Conv("i32", "i64", lane)
