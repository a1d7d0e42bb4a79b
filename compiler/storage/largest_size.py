"""Measure the largest size of a block allocated inside a kernel, by another kernel.

That kernel is the slice of the original that the size depends on, with the enclosing branches and
loops; the sizes are reduced with `max`. A size that depends on an array which the kernel overwrites
is not measured, since the overwriting cannot be repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.analysis.effects import may_fail
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.aliases import aliases, consumed
from compiler.ir.build import Builder, var
from compiler.ir.sizes import se_of
from compiler.ir.walk import all_stms, children, free, rename, stms_of
from compiler.storage.blocks import classes
from compiler.storage.saturate import saturated

_Part = tuple[list[ir.Stm], ir.SE]
"""Statements, and the size that they compute."""


class LargestSizes:
    """Largest sizes of the blocks of one kernel."""

    def __init__(
        self,
        ctx: Ctx,
        space: ir.SegSpace,
        stms: Sequence[ir.Stm],
        fun: ir.Function,
        outer: Mapping[Name, ir.Type],
    ) -> None:
        """`outer`: types of outer names, in the function `fun`."""
        self.ctx = ctx
        self.space = space
        self.stms = stms
        self.fun = fun
        self.outer = outer
        self._known: dict[tuple[int, Poly], Poly | None] = {}
        """Results by allocating body and size."""

    def of(self, block: Name, out: list[ir.Stm]) -> Poly | None:
        """Return the largest size of a block over the space; None if it cannot be measured.

        The measuring statements go to `out`. They may allocate and need expansion themselves.
        """
        body, made = _maker(self.stms, block)
        assert isinstance(made.exp, ir.Alloc)
        key = id(body), made.exp.count
        if key not in self._known:
            part = self._part(self.stms, block)
            self._known[key] = None
            if part is not None and self._can_be_done_twice(part[0]):
                self._known[key] = Poly.var(self._over_space(*part, made.prov, out))
        return self._known[key]

    def _can_be_done_twice(self, stms: list[ir.Stm]) -> bool:
        """True if the statements overwrite nothing that the kernel reads from outside."""
        written = _written(stms)
        if not written:
            return written is not None
        read = _blocks(self.outer[name] for name in free(tuple(self.stms)) if name in self.outer)
        same = classes(self.fun.body.stms)
        return {same.find(block) for block in written}.isdisjoint(map(same.find, read))

    def _over_space(self, stms: list[ir.Stm], size: ir.SE, prov: Prov, out: list[ir.Stm]) -> Name:
        """Append a reduction with `max` over a one-dimensional space.

        Indices of several dimensions are computed from the flat one.
        """
        fresh = self.ctx.fresh
        dims = tuple((fresh(index), bound) for index, bound in self.space.dims)
        renamed = {old: new for (old, _), (new, _) in zip(self.space.dims, dims, strict=True)}
        body = rename(ir.KernelBody(tuple(stms), (size,), (ir.I64,)), fresh, renamed)
        (first, _), *others = dims
        flat = fresh("point") if others else first
        indices: list[ir.Stm] = []
        rest: ir.SE = var(flat)
        for index, limit in reversed(others):
            step = ir.Bin("max", "i64", se_of(limit), ir.ONE)
            at = ir.Bin("%%", "i64", rest, step)
            indices.append(ir.Stm((ir.Param(index, ir.I64),), at, prov))
            rest = ir.Bin("//", "i64", rest, step)
        if others:
            indices.append(ir.Stm((ir.Param(first, ir.I64),), rest, prov))
        a, b = fresh("a"), fresh("b")
        larger = ir.Body((), (ir.Bin("max", "i64", var(a), var(b)),))
        fn = ir.Lambda((ir.Param(a, ir.I64), ir.Param(b, ir.I64)), larger, (ir.I64,))
        body = replace(body, stms=(*indices, *body.stms))
        total = ir.SegSpace(((flat, Poly.product(limit for _, limit in dims)),))
        result = ir.Param(fresh("size"), ir.I64)
        reduction = ir.SegRed("grid", total, (ir.Operator(fn, (ir.ZERO,), True),), body)
        out.append(ir.Stm((result,), reduction, prov))
        return result.name

    def _part(self, stms: Sequence[ir.Stm], block: Name) -> _Part | None:
        """Return the largest size of the block within a body of these statements."""
        at = _position(stms, block)
        last = self._inside(stms[at], block)
        before = last and needed(stms[:at], free(tuple(last[0])) | free(last[1]))
        return None if last is None or before is None else ([*before, *last[0]], last[1])

    def _inside(self, stm: ir.Stm, block: Name) -> _Part | None:
        """Return the largest size for the statement that allocates the block, nested or not."""
        made = Builder(self.ctx.fresh, stm.prov)
        match stm.exp:
            case ir.Alloc(count):
                return saturated(count, self.ctx.fresh, stm.prov)
            case ir.If(cond, then, orelse):
                own = _makes(then.stms, block)
                part = self._part((then if own else orelse).stms, block)
                if part is None:
                    return None
                sides = [ir.Body(tuple(part[0]), (part[1],)), ir.Body((), (ir.ZERO,))]
                found = made.bind("size", ir.I64, ir.If(cond, *(sides if own else sides[::-1])))
                return made.stms, var(found.name)
            case ir.Loop():
                return self._in_loop(stm, stm.exp, block)
            case exp if isinstance(exp, ir.SegOp):
                return self._in_space(exp.space, exp.body, block, made)
        return None

    def _in_space(
        self, space: ir.SegSpace, body: ir.KernelBody, block: Name, made: Builder
    ) -> _Part | None:
        """Return the largest size for an operator inside the kernel: loops over its points."""
        part = self._part(body.stms, block) if _makes(body.stms, block) else None
        if part is None:
            return None
        for index, limit in reversed(space.dims):
            loop = ir.Loop((), (), ir.ForLoop(index, "i64", se_of(limit)), ir.Body((), ()))
            part = self._most(ir.Stm((), loop, made.prov), loop, [], part)
        return part

    def _in_loop(self, stm: ir.Stm, loop: ir.Loop, block: Name) -> _Part | None:
        """Return the largest size for a loop, which carries dependencies and the maximum."""
        stms = loop.body.stms
        at = _position(stms, block)
        last = self._inside(stms[at], block)
        if last is None:
            return None
        wanted = free(tuple(last[0])) | free(last[1])
        if isinstance(loop.form, ir.WhileLoop):
            wanted.add(loop.form.cond)
        kept: list[int] = []
        while True:
            body = needed(stms, wanted)
            if body is None or _makes(body, block):
                return None
            names = wanted.union(*map(free, body))
            more = [k for k, p in enumerate(loop.params) if p.name in names and k not in kept]
            if not more:
                break
            kept = sorted(kept + more)
            wanted |= free(tuple(loop.params[k].type for k in more))
            wanted |= free(tuple(loop.body.results[k] for k in more))
        before = {id(one) for one in stms[:at]}
        first = [one for one in body if id(one) in before]
        rest = [one for one in body if id(one) not in before]
        return self._most(stm, loop, kept, ([*first, *last[0], *rest], last[1]))

    def _most(self, stm: ir.Stm, loop: ir.Loop, kept: Sequence[int], part: _Part) -> _Part:
        """Return a loop with those parameters, and the maximum over its iterations."""
        so_far, most = (ir.Param(self.ctx.fresh("size"), ir.I64) for _ in range(2))
        larger = ir.Bin("max", "i64", var(so_far.name), part[1])
        new = ir.Loop(
            (*(loop.params[k] for k in kept), so_far),
            (*(loop.init[k] for k in kept), ir.ZERO),
            loop.form,
            ir.Body(tuple(part[0]), (*(loop.body.results[k] for k in kept), larger)),
        )
        pat = (*(stm.pat[k] for k in kept), most)
        return [ir.Stm(pat, new, stm.prov)], var(most.name)


def _makes(stms: Iterable[ir.Stm], block: Name) -> bool:
    """True if one of the statements allocates the block, nested or not."""
    return any(stm.pat and stm.pat[0].name == block for stm in all_stms(stms))


def _position(stms: Sequence[ir.Stm], block: Name) -> int:
    return next(k for k, stm in enumerate(stms) if _makes((stm,), block))


def _maker(stms: Sequence[ir.Stm], block: Name) -> tuple[Sequence[ir.Stm], ir.Stm]:
    """Return the statement that allocates a block, after its body."""
    while True:
        stm = stms[_position(stms, block)]
        if isinstance(stm.exp, ir.Alloc):
            return stms, stm
        stms = next(inner for x in children(stm.exp) if _makes(inner := stms_of(x), block))


def needed(stms: Sequence[ir.Stm], names: Iterable[Name]) -> list[ir.Stm] | None:
    """Return the statements that compute names, in order; None if some cannot be moved.

    Includes the checks before them: a division or an index is valid only after these passed. Checks
    that cannot be moved are left out if nothing needs them.
    """
    found = _computing(stms, names)
    if found is None:
        return None
    last = max((k for k, stm in enumerate(stms) if id(stm) in found), default=0)
    checks = {id(stm): stm for stm in stms[:last] if isinstance(stm.exp, ir.Assert)}
    of_checks = _computing(stms, (x for stm in checks.values() for x in free(stm)))
    if of_checks is not None:
        found |= of_checks | checks
    elif any(may_fail(stm.exp) for stm in found.values()):
        return None
    return [stm for stm in stms if id(stm) in found]


def _computing(stms: Sequence[ir.Stm], names: Iterable[Name]) -> dict[int, ir.Stm] | None:
    """Return the statements that names depend on; None if some cannot be moved."""
    own = {param.name: stm for stm in stms for param in stm.pat}
    wanted = [name for name in names if name in own]
    found: dict[int, ir.Stm] = {}
    while wanted:
        stm = own[wanted.pop()]
        if not _may_move(stm):
            return None
        if id(stm) not in found:
            found[id(stm)] = stm
            wanted += [x for x in free(stm) if x in own]
    return found


def _may_move(stm: ir.Stm) -> bool:
    """True if a kernel's statement is also valid in a kernel of single threads."""
    return not any(
        isinstance(inner.exp, ir.SegOp) and inner.exp.level == "block" for inner in all_stms((stm,))
    )


def _written(stms: Sequence[ir.Stm]) -> set[Name] | None:
    """Return the outer blocks that statements write; None if they push to an accumulator."""
    inner = list(all_stms(stms))
    if any(isinstance(stm.exp, ir.Push) for stm in inner):
        return None
    found: set[Name] = set()
    for stm in inner:
        if not isinstance(stm.exp, ir.If | ir.Loop | ir.Scratch):
            for param, sources in zip(stm.pat, aliases(stm), strict=True):
                if not sources or consumed(stm.exp):
                    found |= _blocks((param.type,))
    return found - {stm.pat[0].name for stm in inner if isinstance(stm.exp, ir.Alloc)}


def _blocks(types: Iterable[ir.Type]) -> set[Name]:
    """Return the blocks of array types."""
    return {kind.mem.block for kind in types if isinstance(kind, ir.Array) and kind.mem is not None}
