"""Select maps for tiling by thread blocks, and plan the tiles (`tiled.py` generates the code).

The points of a matrix product read rows and columns in a loop, and each number is read by as many
points as there are columns or rows. A thread block takes a tile of points: two dimensions whose
operands each depend on one of them, or one dimension that no operand depends on. Its threads read
the operands of some steps into shared memory, and each keeps the variables of several points.

The tile's reads are the loop's own loads, so each is one that some point performs: an index beyond
the last tile is clamped (`min`), and only the code after the loop is skipped for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.base.target import Target
from compiler.codegen.free_names import FreeNames
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import names, statements
from compiler.codegen.kernels.shifts import expanded
from compiler.codegen.traits import assigned, reads, traits_of
from compiler.ir.nodes import SE, Bin, Lit, Mem, Scalar
from compiler.ir.sizes import poly_of

TILED = Rule("kernels/tiled", "Lets the points of a tile share what they read in a loop.")
SQUARE = 16
"""Threads along each side of a two-dimensional tile."""
LEAST = 32
"""Minimum points along a side: fewer leave most threads idle."""
LEAST_LINE = 128
"""Minimum points of a one-dimensional tile."""
ROOM = 24 << 10
"""Bytes of shared memory for the operands of a tile."""
READ_AT_ONCE = 16
"""Bytes of shared memory read by one instruction."""
OWN_BYTES = 384
"""Bytes that a thread keeps for its points: 96 registers."""
MOST_CODE = 1024
"""Maximum statements of a thread, unrolled over its points."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a tile: its `index` and `size`, the threads, and the points of each.

    `together`: a thread's points are consecutive, so that it reads several numbers at once; else
    adjacent threads have adjacent points.
    """

    index: Name
    size: SE
    threads: int
    each: int
    together: bool = False

    @property
    def points(self) -> int:
        """Length of the tile's side."""
        return self.threads * self.each


@dataclass(frozen=True, slots=True)
class Shared:
    """A load of the loop: the axis it depends on, and whether it is contiguous along the loop."""

    load: imp.Load
    side: Axis | None
    along_steps: bool

    @property
    def width(self) -> int:
        """Numbers per step."""
        return self.side.points if self.side else 1

    @property
    def pitch(self) -> int:
        """Cells per step, padded against bank conflicts."""
        if not self.side:
            return 1
        apart = READ_AT_ONCE if self.side.together else 4
        return self.width + max(1, apart // BYTES[self.load.prim])


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tiling of a map: `axes` of a tile, outermost first, and `steps` of the loop at a time.

    `head` is uniform over a tile, `before` the other inputs of the loop, `after` the rest. `kept`
    are variables that live across these parts. `defs` are scalars computed from indices, recomputed
    where needed.
    """

    axes: tuple[Axis, ...]
    steps: int
    loop: imp.For
    shared: tuple[Shared, ...]
    head: imp.Stms
    before: imp.Stms
    after: imp.Stms
    kept: dict[Name, Prim]
    defs: dict[Name, imp.Define]

    @property
    def points(self) -> int:
        """Points of a tile."""
        count = 1
        for axis in self.axes:
            count *= axis.points
        return count

    def needed(self, names: Iterable[Name]) -> tuple[imp.Stms, set[Name]]:
        """Return the definitions that `names` depend on, in order, and all names then needed."""
        wanted = set(names)
        found: list[imp.Stm] = []
        for name, stm in reversed(self.defs.items()):
            if name in wanted:
                wanted |= reads(stm.value)
                found.append(stm)
        return tuple(reversed(found)), wanted


def tiling(kernel: imp.Kernel, target: Target) -> Outcome[Tiling]:
    """Plan the tiling of a map whose points share operands in a loop."""
    if kernel.per_block or target.threads != SQUARE * SQUARE:
        return None
    missed: Missed | None = None
    bound = bound_names(kernel.body)
    for at, loop in enumerate(kernel.body):
        if not (isinstance(loop, imp.For) and _shares(kernel, loop, bound)):
            continue
        found = [_try(kernel, at, loop, sides) for sides in _sides(kernel)]
        plans = [plan for plan in found if isinstance(plan, Tiling)]
        if plans:
            best = max(plans, key=_score)
            return Applied(best, _because(best), _numbers(best))
        reasons = [one for one in found if isinstance(one, Missed)]
        missed = missed or (reasons[0] if reasons else None)
    return missed


def _shares(kernel: imp.Kernel, loop: imp.For, bound: set[Name]) -> bool:
    """True if a load of a loop is equal for points that differ in one index alone.

    `bound`: all names of the kernel's body.
    """
    loads = [stm for stm in loop.body if isinstance(stm, imp.Load)]
    if not loads:
        return False
    indices = {name for name, _ in kernel.dims}
    defs = whole_numbers((*kernel.body, *loop.body), bound, indices | {loop.index})
    data = bound - {loop.index}
    used = [reads(expanded(load.at, defs)) for load in loads]
    return any(not (one & data or indices <= one) for one in used)


def _sides(kernel: imp.Kernel) -> list[tuple[int, ...]]:
    """Return candidate dimensions of a tile, those with contiguous results first."""
    numbers = range(len(kernel.dims))[::-1]
    pairs = [(y, x) for x in numbers for y in numbers if y != x]
    return [*pairs, (len(kernel.dims) - 1,)]


def _score(plan: Tiling) -> int:
    """Rank plans: two shared sides, then one long side, then one of two."""
    sides = {one.side.index for one in plan.shared if one.side}
    return 3 if len(sides) == 2 else 2 if len(plan.axes) == 1 else 1


def _because(plan: Tiling) -> str:
    before, after = _loads(plan)
    sides = " by ".join(str(axis.points) for axis in plan.axes)
    least = _least(len(plan.axes))
    return (
        f"Where there are at least {least} points{' along each side' * (len(plan.axes) == 2)}, a "
        f"block of threads takes {sides} of them, and reads what they need for {plan.steps} steps "
        f"of the loop into shared memory: {after} loads for each step of a point in place of "
        f"{before}, since neighbouring points read the same numbers."
    )


def _loads(plan: Tiling) -> tuple[int, Fraction]:
    """Return the loads from memory per point and step, without and with tiles."""
    after = Fraction(sum(one.width for one in plan.shared), plan.points)
    return len(plan.shared), after


def _numbers(plan: Tiling) -> tuple[tuple[str, str], ...]:
    before, after = _loads(plan)
    return (("loads for each point and step", f"{before} -> {after}"),)


# --- one choice of dimensions ----------------------------------------------------------------


def _try(
    kernel: imp.Kernel, at: int, loop: imp.For, sides: tuple[int, ...]
) -> Tiling | Missed | None:
    """Plan a tile of those dimensions for the loop at `at` of the body; or return the reason."""
    dims = [kernel.dims[side] for side in sides]
    tile = {name for name, _ in dims}
    if _changes(loop.body):
        return Missed("Points do more in the loop than read and compute, so they cannot share it.")
    before, rest = _sliced(kernel.body[:at], loop)
    if _changes(before) or traits_of(kernel.body[:at]).asserts:
        return Missed(
            "The code before the loop writes memory or checks something, and the "
            "points of a tile must all reach the loop."
        )
    head, before, varying = _uniform(before, tile)
    if reads(loop.bound) & varying:
        return Missed("Points of a tile would have different numbers of iterations.")
    parts = (*before, *loop.body)
    defs = whole_numbers(parts, varying | bound_names(parts), tile | {loop.index})
    before = tuple(s for s in before if not (isinstance(s, imp.Define) and s.name in defs))
    found = _shared_loads(loop, defs, tile, varying | bound_names(loop.body))
    if isinstance(found, Missed):
        return found
    if len(sides) == 2 and not any(side for _, side in found):
        return None
    if len(sides) == 1 and any(side for _, side in found):
        return Missed("Each point reads its own numbers in the loop.")
    small = [s for _, s in dims if isinstance(s, Lit) and int(s.value) < _least(len(sides))]
    if small:
        return Missed(
            f"A side has only {small[0].value} points, which leave most threads of a tile idle."
        )
    after = rest + kernel.body[at + 1 :]
    kept = _kept(before, (loop, *after))
    if kept is None:
        return Missed("A variable has no value before the loop, or is a memory block.")
    return _sized(kernel, loop, dims, found, (head, before, after), kept, defs)


def _sized(
    kernel: imp.Kernel,
    loop: imp.For,
    dims: Sequence[tuple[Name, SE]],
    found: Sequence[tuple[imp.Load, Name]],
    parts: tuple[imp.Stms, imp.Stms, imp.Stms],
    kept: dict[Name, Prim],
    defs: dict[Name, imp.Define],
) -> Tiling | Missed:
    """Choose points per thread by registers, and steps by shared memory."""
    line = len(dims) == 1
    head, before, after = parts
    words = sum(BYTES[prim] for prim in kept.values())
    operands = sum(BYTES[load.prim] for load, _ in found)
    code = max(traits_of(loop.body).weight, traits_of(after).weight)
    for each in (1,) if line else (4, 2):
        if each**2 * words + each * operands > OWN_BYTES or each**2 * code > MOST_CODE:
            continue
        threads = SQUARE * SQUARE if line else SQUARE
        axes = tuple(Axis(name, size, threads, each) for name, size in dims)
        shared = tuple(
            Shared(
                load,
                next((axis for axis in axes if axis.index == side), None),
                _is_next(load.at, loop.index, defs) or not (side and _is_next(load.at, side, defs)),
            )
            for load, side in found
        )
        for steps in (256, 128, 64, 32, 16, 8)[0 if line else 3 :]:
            if isinstance(loop.bound, Lit):
                steps = max(1, min(steps, int(loop.bound.value)))
            if steps * sum(one.pitch * BYTES[one.load.prim] for one in shared) <= ROOM:
                return Tiling(axes, steps, loop, shared, head, before, after, kept, defs)
    return Missed(
        f"A point keeps {words} bytes and reads {operands} in each step, with {code} "
        "statements: too much for a thread with several points, or for shared memory."
    )


def _least(sides: int) -> int:
    return LEAST if sides == 2 else LEAST_LINE


def worth(plan: Tiling) -> list[SE]:
    """Return the conditions under which tiles pay; none if that is known."""
    least = Lit(_least(len(plan.axes)), "i64")
    return [Bin("<=", "i64", least, a.size) for a in plan.axes if not isinstance(a.size, Lit)]


# --- the parts of a body ---------------------------------------------------------------------


_QUIET = imp.Define | imp.Declare | imp.Assign | imp.Load | imp.If | imp.For | imp.While
"""Scalars, loads and control flow: other threads may repeat these."""


def _changes(stms: imp.Stms) -> bool:
    """True if statements do what another thread, or a repetition, must not do."""
    return not all(isinstance(stm, _QUIET) for stm in statements(stms))


def needs(stms: imp.Stms) -> set[Name]:
    """Return the free names of statements, and those that they assign."""
    uses = FreeNames()
    uses.stms(stms)
    return ({*uses.scalars, *uses.blocks} | assigned(stms)) - uses.bound


def bound_names(stms: imp.Stms) -> set[Name]:
    """Return all names that statements bind, nested ones included."""
    return names(stms, "bind")


def _sliced(stms: imp.Stms, loop: imp.For) -> tuple[imp.Stms, imp.Stms]:
    """Split the statements before a loop into its dependences and the rest, which moves after it.

    A statement that reads a variable changed later, in the loop or before it, stays.
    """
    wanted, changed = needs((loop,)), assigned((loop,))
    before: list[imp.Stm] = []
    after: list[imp.Stm] = []
    for stm in reversed(stms):
        own = needs((stm,))
        if (bound_names((stm,)) | assigned((stm,))) & wanted or own & changed:
            wanted |= own
            changed |= assigned((stm,))
            before.append(stm)
        else:
            after.append(stm)
    return tuple(reversed(before)), tuple(reversed(after))


def _uniform(stms: imp.Stms, tile: set[Name]) -> tuple[imp.Stms, imp.Stms, set[Name]]:
    """Split statements into tile-uniform ones and the rest; also returns the varying names."""
    head: list[imp.Stm] = []
    rest: list[imp.Stm] = []
    varying = set(tile)
    for stm in stms:
        same = isinstance(stm, imp.Define | imp.Load) and not needs((stm,)) & varying
        (head if same else rest).append(stm)
        if not same:
            varying |= bound_names((stm,)) | assigned((stm,))
    return tuple(head), tuple(rest), varying


def whole_numbers(
    stms: Iterable[imp.Stm], varying: set[Name], indices: set[Name]
) -> dict[Name, imp.Define]:
    """Return integers computed from indices and invariant names alone.

    `varying` are all names that the statements bind.
    """
    found: dict[Name, imp.Define] = {}
    data = varying - indices
    for stm in stms:
        if not isinstance(stm, imp.Define) or stm.prim[0] == "f":
            continue
        if data.isdisjoint(reads(stm.value)):
            found[stm.name] = stm
            data.discard(stm.name)
    return found


def _shared_loads(
    loop: imp.For, defs: dict[Name, imp.Define], tile: set[Name], data: set[Name]
) -> list[tuple[imp.Load, Name]] | Missed:
    """Return the loads of a loop, each with the tile's index that it depends on, if any."""
    loads = [stm for stm in loop.body if isinstance(stm, imp.Load)]
    if sum(isinstance(stm, imp.Load) for stm in statements(loop.body)) != len(loads):
        return Missed(
            "The loop reads something under a condition, or in an inner loop, that "
            "other points do not read."
        )
    found = []
    for load in loads:
        used = reads(expanded(load.at, defs))
        if used & (data - tile - {loop.index}):
            return Missed(
                "The cells that the loop reads depend on values that it read or computed before."
            )
        sides = used & tile
        if len(sides) > 1:
            return Missed(
                "No two points read the same cells in the loop: the cells depend on both indices."
            )
        found.append((load, next(iter(sides), "")))
    return found


def _is_next(at: SE, index: Name, defs: dict[Name, imp.Define]) -> bool:
    """True if consecutive indices address adjacent cells."""
    poly = poly_of(expanded(at, defs))
    return poly is not None and poly.coefficient(index) == 1 and poly.degree(index) == 1


def _kept(before: imp.Stms, users: imp.Stms) -> dict[Name, Prim] | None:
    """Return the variables of `before` that are used later; None if one is unset, or a block."""
    wanted, kept = needs(users), dict[Name, Prim]()
    for stm in before:
        match stm:
            case imp.Declare(name, Scalar(prim), value) if name in wanted:
                if value is None and name not in assigned(before):
                    return None
                kept[name] = prim
            case imp.Declare(_, Mem()):
                return None
            case imp.Define(name, prim) | imp.Load(name, prim) if name in wanted:
                kept[name] = prim
    return kept
