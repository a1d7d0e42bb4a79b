"""Generate code for tiled maps, whose points share operands in a loop.

Note [A tile]. For some steps of the loop at a time:
- the threads read the operands of the tile's points, coalesced, into shared memory; operands
  of a step are contiguous there, with a pitch that avoids bank conflicts in both directions;
- each thread performs these steps for all of its points, whose variables are private arrays
  in registers, since loops over them are unrolled and indices constant.
Each point combines its operands in the order of the loop, as it would alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.nodes import Alloc, Declare, Define, For, If, Load, Stm, Stms, Store
from compiler.codegen.index import add, minimum, mul, product, row_major, sub
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import own
from compiler.codegen.kernels.nodes import BLOCK, OWN, THREAD, THREADS, Barrier, Scope
from compiler.codegen.kernels.threads import i64, point, thread_code
from compiler.codegen.kernels.tiles import Axis, Shared, Tiling, needs
from compiler.codegen.traits import assigned, loaded
from compiler.ir.build import conjunction
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Conv, Lit, Scalar, Var

STEP, START, COLUMN, AT = (f"{OWN}{name}" for name in ("step", "start", "column", "at"))


def tile_count(kernel: imp.Kernel, axes: Sequence[Axis]) -> SE:
    """Return the number of tiles."""
    return product([size for _, size in _tiles(kernel, axes)])


def of_block(kernel: imp.Kernel, axes: Sequence[Axis]) -> Stms:
    """Define a block's tile, and each thread's position in it, as indices."""
    places = tuple((own(a.index, "thread"), Lit(a.threads, "i64")) for a in axes)
    return (
        k.Indices(_tiles(kernel, axes), i64(BLOCK), kernel.prov),
        k.Indices(places, i64(THREAD), kernel.prov),
    )


def _tiles(kernel: imp.Kernel, axes: Sequence[Axis]) -> tuple[tuple[Name, SE], ...]:
    sides = {axis.index: Lit(axis.points, "i64") for axis in axes}
    more = {name: Lit(int(side.value) - 1, "i64") for name, side in sides.items()}
    return tuple(
        (own(name, "tile"), Bin("//", "i64", add(size, more[name]), sides[name]))
        if name in sides
        else (name, size)
        for name, size in kernel.dims
    )


def tiled_code(kernel: imp.Kernel, plan: Tiling) -> Stms:
    """Return the code of each thread of a block for its points of a tile."""
    return _Writer(kernel, plan).code()


class _Writer:
    """Generates the code of a thread."""

    def __init__(self, kernel: imp.Kernel, plan: Tiling) -> None:
        self.kernel, self.plan, self.prov = kernel, plan, kernel.prov

    def code(self) -> Stms:
        """Return the whole code."""
        plan, prov = self.plan, self.prov
        code: list[Stm] = [*of_block(self.kernel, plan.axes), *plan.head]
        for one in plan.shared:
            room = Lit(plan.steps * one.pitch, "i64")
            code.append(Alloc(own(one.load.name, "tile"), room, one.load.prim, "shared", prov))
        each = product([Lit(axis.each, "i64") for axis in plan.axes])
        code += [Alloc(own(n, "own"), each, p, "private", prov) for n, p in plan.kept.items()]
        code += [
            Alloc(own(one.load.name, "own"), Lit(one.side.each, "i64"), one.load.prim, "private")
            for one in self.inner()
            if one.side is not None
        ]
        code += self.first()
        if loaded((*plan.head, *plan.before)):
            code.append(Barrier(prov))  # finished points may write after this
        code.append(self.steps())
        code += self.last()
        return tuple(code)

    # --- points ------------------------------------------------------------------------------

    def points(self, body: Stms, axes: Iterable[Axis] | None = None, outside: Stms = ()) -> Stms:
        """Run `body` for all points of a thread; `outside` once per outermost position."""
        return loop_over_points(body, self.plan.axes if axes is None else axes, self.prov, outside)

    def slot(self) -> SE:
        """Return the position of a point's variables in the private arrays."""
        axes = self.plan.axes
        return row_major(list(map(_number, axes)), [Lit(axis.each, "i64") for axis in axes])

    def index(self, axis: Axis, along: SE) -> Define:
        """Define a point's index, clamped to the last existing one."""
        at = minimum(add(first_of(axis), along), sub(axis.size, ONE))
        return Define(axis.index, "i64", at, self.prov)

    def point(self, stms: Stms, step: bool = False) -> Stms:
        """Define the indices, and derived scalars, that statements need."""
        defs, names = self.plan.needed(needs(stms))
        indices = [self.index(axis, _along(axis)) for axis in self.plan.axes if axis.index in names]
        steps = [self.step()] if step and self.plan.loop.index in names else []
        return (*indices, *steps, *defs, *stms)

    def kept(self, stms: Stms) -> tuple[Stms, Stms]:
        """Load the variables that statements use from private arrays, and store changed ones."""
        names, changed = needs(stms), assigned(stms)
        get: list[Stm] = []
        put: list[Stm] = []
        for name, prim in self.plan.kept.items():
            if name in changed:
                get.append(Declare(name, Scalar(prim), None, self.prov))
                get.append(k.Fetch(name, prim, own(name, "own"), self.slot(), self.prov))
                put.append(self.keep(name))
            elif name in names:
                get.append(Load(name, prim, own(name, "own"), self.slot(), self.prov))
        return tuple(get), tuple(put)

    def keep(self, name: Name) -> Store:
        """Store a variable in the private array."""
        prim = self.plan.kept[name]
        return Store(own(name, "own"), prim, self.slot(), Var(name, prim), self.prov)

    # --- the three parts ---------------------------------------------------------------------

    def first(self) -> Stms:
        """Return the code before the loop."""
        before = self.plan.before
        if not before:
            return ()
        puts = tuple(map(self.keep, self.plan.kept))
        return _alone(self.points((*self.point(thread_code(before)), *puts)), self.prov)

    def last(self) -> Stms:
        """Return the code after the loop, for existing points."""
        plan = self.plan
        get, _ = self.kept(plan.after)
        defs, _ = plan.needed(needs(plan.after))
        return each_point((*defs, *get, point(plan.after)), plan.axes, self.prov)

    def steps(self) -> Stm:
        """Return the loop over groups of steps: read operands, then compute."""
        plan, prov = self.plan, self.prov
        groups: dict[tuple[Axis | None, bool], list[Shared]] = {}
        for one in plan.shared:
            groups.setdefault((one.side, one.along_steps), []).append(one)
        reads = [self.read(loads) for loads in groups.values()]
        here = minimum(Lit(plan.steps, "i64"), sub(self.bound(), i64(START)))
        turn = (*reads, Barrier(prov), For(STEP, "i64", here, self.compute(), prov), Barrier(prov))
        by = Lit(plan.steps, "i64")
        return k.Stride(START, "i64", ZERO, self.bound(), "+", by, turn, prov)

    def bound(self) -> SE:
        """Return the number of steps."""
        loop = self.plan.loop
        return loop.bound if loop.prim == "i64" else Conv(loop.prim, "i64", loop.bound)

    def step(self) -> Define:
        """Define the loop's index."""
        loop, at = self.plan.loop, add(i64(START), i64(STEP))
        value = at if loop.prim == "i64" else Conv("i64", loop.prim, at)
        return Define(loop.index, loop.prim, value, self.prov)

    def read(self, loads: list[Shared]) -> Stm:
        """Read operands of some steps, by loads with the same access pattern."""
        plan, prov = self.plan, self.prov
        side, width, along = loads[0].side, loads[0].width, loads[0].along_steps
        dims = ((COLUMN, Lit(width, "i64")), (STEP, Lit(plan.steps, "i64")))
        body: list[Stm] = []
        for one in loads:
            load = one.load
            cell = add(mul(i64(STEP), Lit(one.pitch, "i64")), i64(COLUMN))
            value = Var(load.name, load.prim)
            body += [load, Store(own(load.name, "tile"), load.prim, cell, value, prov)]
        defs, names = plan.needed(needs(tuple(one.load for one in loads)))
        head: list[Stm] = [self.step()] if plan.loop.index in names else []
        if side is not None:
            head.append(self.index(side, i64(COLUMN)))
        there = Bin("<", "i64", add(i64(START), i64(STEP)), self.bound())
        code = (
            k.Indices(dims if along else dims[::-1], i64(AT), prov),
            If(there, (*head, *defs, *body), (), prov),
        )
        cells = Lit(width * plan.steps, "i64")
        return k.Stride(AT, "i64", i64(THREAD), cells, "+", i64(THREADS), code, prov)

    def inner(self) -> list[Shared]:
        """Return the operands that a thread keeps for all points along the innermost axis."""
        axis = self.plan.axes[-1]
        many = len(self.plan.axes) > 1 and axis.each > 1
        return [one for one in self.plan.shared if one.side == axis and many]

    def compute(self) -> Stms:
        """Return a step of all points of a thread."""
        plan, inner = self.plan, self.inner()
        once: list[Stm] = []
        outer: list[Stm] = []
        stms: list[Stm] = []
        loads = {one.load.name: one for one in plan.shared}
        for one in plan.shared:
            load = one.load
            along = ZERO if one.side is None else _along(one.side)
            at = add(mul(i64(STEP), Lit(one.pitch, "i64")), along)
            found = Load(load.name, load.prim, own(load.name, "tile"), at, load.prov)
            if one in inner and one.side is not None:
                turn = _number(one.side)
                keep = Store(
                    own(load.name, "own"), load.prim, turn, Var(load.name, load.prim), load.prov
                )
                once += self.points((found, keep), [one.side])
                stms.append(Load(load.name, load.prim, own(load.name, "own"), turn, load.prov))
            elif one.side == plan.axes[0] and plan.axes[0].each > 1:
                outer.append(found)
            else:
                once.append(found)
        stms += [s for s in plan.loop.body if not (isinstance(s, Load) and s.name in loads)]
        body = thread_code(tuple(stms))
        get, put = self.kept(body)
        return (*once, *self.points((*get, *self.point(body, True), *put), outside=tuple(outer)))


def first_of(axis: Axis) -> SE:
    """Return the index of a tile's first point."""
    return mul(i64(own(axis.index, "tile")), Lit(axis.points, "i64"))


def each_point(body: Stms, axes: Sequence[Axis], prov: Prov) -> Stms:
    """Run `body` for all existing points of a thread, with their indices."""
    there = conjunction(Bin("<", "i64", i64(axis.index), axis.size) for axis in axes)
    indices = [Define(a.index, "i64", add(first_of(a), _along(a)), prov) for a in axes]
    return _alone(loop_over_points((*indices, If(there, body, (), prov)), axes, prov), prov)


def loop_over_points(body: Stms, axes: Iterable[Axis], prov: Prov, outside: Stms = ()) -> Stms:
    """Run `body` for all points of a thread; `outside` once per outermost position."""
    for at, axis in reversed(list(enumerate(axes))):
        if at == 0:
            body = (*outside, *body)
        if axis.each > 1:
            body = (For(_turn(axis), "i64", Lit(axis.each, "i64"), body, prov),)
    return body


def _alone(stms: Stms, prov: Prov) -> Stms:
    """Wrap statements in a scope, unless they are a single loop."""
    is_loop = len(stms) == 1 and isinstance(stms[0], For)
    return stms if is_loop else (Scope(stms, prov=prov),)


def _turn(axis: Axis) -> Name:
    """Return the name of a thread's point number along an axis."""
    return own(axis.index, "turn")


def _number(axis: Axis) -> SE:
    return i64(_turn(axis)) if axis.each > 1 else ZERO


def _along(axis: Axis) -> SE:
    """Return a thread's point along a side of the tile, according to `Axis.together`."""
    first = i64(own(axis.index, "thread"))
    if axis.together:
        return add(mul(first, Lit(axis.each, "i64")), _number(axis))
    return add(mul(_number(axis), Lit(axis.threads, "i64")), first)
