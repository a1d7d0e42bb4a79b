"""Update the layouts of views after their source arrays got other offsets and strides.

A branch may come to return an array with its own offset and strides. Views of the array follow by
what they select, in-place updates by the binding that they shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.nodes import SE
from compiler.ir.sizes import poly_of
from compiler.ir.slices import itself, sliced

_Place = tuple[Name, Poly, tuple[Poly, ...]]
"""A block, and the offset and strides of an array in it."""


class Followers:
    """Arrays of one kernel whose bindings changed, before and after."""

    def __init__(self, ctx: Ctx) -> None:
        self.ctx = ctx
        self.places: dict[_Place, ir.MemBind] = {}
        self.blocks: set[Name] = set()

    def moved(self, old: ir.Param, new: ir.Param) -> None:
        """Record an array whose binding changed."""
        before, after = _mem(old), _mem(new)
        if before is None or after is None or before == after:
            return
        self.places[_place(before)] = after
        self.blocks.add(before.block)

    def stm(self, stm: ir.Stm, mem: Callable[[Name], ir.MemBind], out: list[ir.Stm]) -> ir.Stm:
        """Update the bindings of a statement; `mem` returns the current one of an operand.

        Names for view offsets are bound in `out`. Branches and loops return layouts explicitly.
        """
        pat: list[ir.Param] = []
        if isinstance(stm.exp, ir.If | ir.Loop):
            return stm
        for param in stm.pat:
            old = _mem(param)
            if old is None or old.block not in self.blocks:
                pat.append(param)
                continue
            new = _with(param, self._seen(stm, mem, out) or self._like(old))
            self.moved(param, new)
            pat.append(new)
        return replace(stm, pat=tuple(pat))

    def _like(self, old: ir.MemBind) -> ir.MemBind:
        """Return the new binding for arrays that shared `old`."""
        found = self.places.get(_place(old))
        if found is None:
            raise CompilerBug(f"what lies in `{old.block}` follows nothing")
        pairs = zip(old.lmad.dims, found.lmad.strides, strict=True)
        dims = tuple(Dim(dim.size, stride) for dim, stride in pairs)
        return ir.MemBind(found.block, Lmad(found.lmad.offset, dims))

    def _seen(
        self, stm: ir.Stm, mem: Callable[[Name], ir.MemBind], out: list[ir.Stm]
    ) -> ir.MemBind | None:
        """Return the new binding of a view, or None for other statements."""
        exp = stm.exp
        if not isinstance(exp, ir.Slice | ir.Rearrange | ir.Reshape):
            return None
        of = mem(exp.array)
        match exp:
            case ir.Slice(dims=dims):
                lmad = sliced(of.lmad, dims, lambda se: self._poly(se, stm.prov, out), itself)
            case ir.Rearrange(perm):
                lmad = of.lmad.permute(perm)
            case ir.Reshape(shape):
                found = reshaped(of.lmad, shape)
                if found is None:
                    raise CompilerBug(f"`{exp.array}` has no such view")
                lmad = found
        return ir.MemBind(of.block, lmad)

    def _poly(self, se: SE, prov: Prov, out: list[ir.Stm]) -> Poly:
        poly = poly_of(se)
        if poly is not None:
            return poly
        name = self.ctx.fresh("i")
        out.append(ir.Stm((ir.Param(name, ir.I64),), se, prov))
        return Poly.var(name)


def reshaped(lmad: Lmad[Poly], shape: Iterable[Poly]) -> Lmad[Poly] | None:
    """Return an index function under a new shape, if its strides permit it."""
    sizes = tuple(shape)
    seen = lmad.reshape(sizes)
    if isinstance(seen, Lmad):
        return seen
    if len(sizes) == lmad.rank and lmad.size != Poly.product(sizes):
        # As in `allocate.py`: the sizes were checked pairwise.
        pairs = zip(sizes, lmad.strides, strict=True)
        return Lmad(lmad.offset, tuple(Dim(size, stride) for size, stride in pairs))
    return None


def _mem(param: ir.Param) -> ir.MemBind | None:
    return param.type.mem if isinstance(param.type, ir.Array) else None


def _place(mem: ir.MemBind) -> _Place:
    return mem.block, mem.lmad.offset, mem.lmad.strides


def _with(param: ir.Param, mem: ir.MemBind) -> ir.Param:
    kind = param.type
    assert isinstance(kind, ir.Array)
    return ir.Param(param.name, ir.Array(kind.prim, kind.shape, mem), param.unique)
