"""Maps that read matrices across, through squares in shared memory.

A block of threads takes a square of points: it reads their cells along the rows of what is read,
waits, and computes the points along its own rows. Both accesses coalesce.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import add, mul, parts_of, poly_exp, product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.nodes import BLOCK, OWN, THREAD, THREADS
from compiler.codegen.kernels.threads import i64, point
from compiler.codegen.turned_loads import TurnedLoads
from compiler.ir.build import conjunction
from compiler.ir.nodes import SE, Bin, Lit, Var
from compiler.storage.strides import PITCH, SIDE, SMALL

_AT, _ROW, _LANE = (f"{OWN}{name}" for name in ("at", "row", "lane"))
_SIDE = Lit(SIDE, "i64")


def squares(kernel: imp.Kernel, plan: TurnedLoads) -> tuple[imp.Stms, SE, list[SE]]:
    """Return the code of a block of threads, the number of blocks, and where that pays."""
    prov, sizes = kernel.prov, dict(kernel.dims)
    ends = (plan.across, plan.lane)
    of_block = {name: f"{OWN}{name}_square" if name in ends else name for name in sizes}
    tiles = [(of_block[n], parts_of(s, _SIDE) if n in ends else s) for n, s in kernel.dims]
    slot = add(mul(i64(_ROW), Lit(PITCH, "i64")), i64(_LANE))

    def cells(row: str, lane: str, body: imp.Stms) -> k.Stride:
        """Go through a square, neighbouring threads along `lane`; `body` has both indices."""
        places = [
            imp.Define(name, "i64", add(mul(i64(of_block[of]), _SIDE), i64(at)), prov)
            for name, of, at in ((row, plan.across, _ROW), (lane, plan.lane, _LANE))
        ]
        inside = (
            Bin("<", "i64", i64(row), sizes[plan.across]),
            Bin("<", "i64", i64(lane), sizes[plan.lane]),
        )
        turned = row != plan.across
        dims = ((_LANE, _SIDE), (_ROW, _SIDE)) if turned else ((_ROW, _SIDE), (_LANE, _SIDE))
        stms = (
            k.Indices(dims, i64(_AT), prov),
            *places,
            imp.If(conjunction(inside), body, (), prov),
        )
        count = Lit(SIDE * SIDE, "i64")
        return k.Stride(_AT, "i64", i64(THREAD), count, "+", i64(THREADS), stms, prov)

    across, lane = (f"{OWN}{name}_read" for name in ends)
    put_in = {plan.across: Poly.var(across), plan.lane: Poly.var(lane)}
    moved: list[imp.Stm] = []
    for one in plan.loads:
        load, value = one.load, f"{OWN}{one.load.name}_cell"
        place = poly_exp(one.place.put_in(put_in))
        moved.append(imp.Load(value, load.prim, load.block, place, load.prov))
        moved.append(imp.Store(one.square, load.prim, slot, Var(value, load.prim), load.prov))
    room = Lit(SIDE * PITCH, "i64")
    code = (
        k.Indices(tuple(tiles), i64(BLOCK), prov),
        *(imp.Alloc(one.square, room, one.load.prim, "shared", prov) for one in plan.loads),
        cells(across, lane, tuple(moved)),
        k.Barrier(prov),
        cells(plan.across, plan.lane, (point(plan.served(kernel.body, slot)),)),
    )
    where: list[SE] = [Bin("<=", "i64", Lit(SMALL, "i64"), sizes[end]) for end in ends]
    return code, product([size for _, size in tiles]), where
