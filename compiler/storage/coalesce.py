"""Coalesce memory accesses: adjacent threads access adjacent elements (thesis 4.6).

A thread that traverses a row of its own touches cells a row apart from its neighbours', each in its
own sector. Arrays read like this are copied into another order, in which the index of adjacent
threads is the last; results written like this get such an index function, and are copied into place
after the kernel. A later kernel that reads in that order reads the uncopied result, and the copy is
removed if nothing else needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.prim import BYTES
from compiler.base.remarks import NOTHING, Applied, Missed
from compiler.base.rules import Pass, Rule
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.aliases import consumed
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.slices import dim_index, selected, sliced_poly
from compiler.ir.source_names import Spelling
from compiler.ir.walk import NESTED, all_stms, count_uses, free, map_stms
from compiler.parallel.versions import COLUMNS
from compiler.storage.strided_rows import Relaid
from compiler.storage.strides import (
    Flat,
    Read,
    are_columns,
    flat_reads,
    in_order,
    reads,
    reads_across,
    sectors,
)

READS = Rule(
    "coalesce/reads",
    "Copies an array to another layout so that neighbouring threads read neighbouring elements.",
)
WRITES = Rule(
    "coalesce/writes",
    "Lays out rows that threads write so that neighbouring threads write neighbouring elements.",
)
MAP_SQUARES = Rule(
    "coalesce/squares",
    "Reads square tiles of a transposed matrix in a map.",
)
Order = tuple[int, ...]
_FAR = "Neighbouring threads read elements of {} that are far apart."
_FAR_ROWS = "Neighbouring threads write rows of {} that are far apart."
_COSTS = "Copying it to another layout would take at least as many sectors as it saves."
_PART = (
    "They read only a part of it, and the compiler changes the layout only of arrays that "
    "are read as a whole."
)
_WHOLE = "Copy the part that is read to a new array, or transpose the array where it is computed."
_WRITTEN = "The kernel also writes to it, and a copy would miss these writes."
_TOGETHER = (
    "The kernel builds them from other arrays, or their places are unknown before the kernel."
)

_AS_THEY_LIE = (
    (
        COLUMNS,
        are_columns,
        "Columns are reduced in their row-major layout: neighbouring threads take neighbouring "
        "columns, and each block of threads takes some of the rows. Nothing is copied.",
    ),
    (
        MAP_SQUARES,
        reads_across,
        "Neighbouring threads read elements that lie far apart, each of them once: blocks of "
        "threads read squares of them as they lie, and put them in order in shared memory. "
        "Nothing is copied.",
    ),
)
"""Kernels of a GPU that need no copy for their order: rule, condition and reason."""


def coalesce(prog: ir.Prog, ctx: Ctx) -> ir.Prog:
    """Lay arrays out in another order where threads in lockstep access distant cells.

    Needs: memory, no allocations in kernels. Keeps: values; where results of functions lie.
    """
    funs = tuple(_Coalescing(fun, ctx).function() for fun in prog.funs)
    return prog if all(map(is_, funs, prog.funs)) else ir.Prog(funs)


class _Scope:
    """Host statements: names in scope, and arrays with a copy in another order."""

    def __init__(self, outer: _Scope | None = None, of: ir.Exp | None = None) -> None:
        self.out: list[ir.Stm] = []
        self.outer = outer
        self.is_loop = isinstance(of, ir.Loop)
        self.thresholds: set[Name] = set(outer.thresholds) if outer else set()
        self.decided_by = free(of.cond) - self.thresholds if isinstance(of, ir.If) else set()
        """Names that the condition depends on, except thresholds, which choose code versions."""
        self.types: dict[Name, ir.Type] = dict(outer.types) if outer else {}
        self.ordered: dict[tuple[Name, Order], Name] = dict(outer.ordered) if outer else {}
        self.by_rows: dict[tuple[Name, tuple[Poly, Poly]], Name] = (
            dict(outer.by_rows) if outer else {}
        )
        """Two-dimensional views of one-dimensional arrays."""
        if isinstance(of, ir.Loop):
            self.types.update((param.name, param.type) for param in of.params)


class _Coalescing:
    """One function."""

    def __init__(self, fun: ir.Function, ctx: Ctx) -> None:
        self.fun = fun
        self.ctx = ctx
        self.spell = Spelling.of(fun, ctx.names.said)
        self.back: set[Name] = set()
        """Arrays that kernels wrote in another order, and that are copied into place."""

    def function(self) -> ir.Function:
        """Return the transformed function; the same object if nothing changes."""
        scope = _Scope()
        scope.types.update((param.name, param.type) for param in self.fun.params)
        stms = self.host(self.fun.body.stms, scope)
        if stms is self.fun.body.stms:
            return self.fun
        return _without(self.back, replace(self.fun, body=ir.Body(stms, self.fun.body.results)))

    def host(self, stms: tuple[ir.Stm, ...], scope: _Scope) -> tuple[ir.Stm, ...]:
        """Transform statements outside kernels; the same object if nothing changes."""
        for stm in stms:
            exp = stm.exp
            if isinstance(exp, ir.SegOp):
                self.kernel(stm, exp, scope)
                continue
            if type(exp) in NESTED:
                new = map_stms(exp, partial(self.inside, exp, scope))
                stm = stm if new is exp else ir.Stm(stm.pat, new, stm.prov)
            self.bind(stm, scope)
        same = len(stms) == len(scope.out) and all(map(is_, stms, scope.out))
        return stms if same else tuple(scope.out)

    def inside(self, of: ir.Exp, scope: _Scope, stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        """Transform statements in a loop or a branch."""
        return self.host(stms, _Scope(scope, of))

    def bind(self, stm: ir.Stm, scope: _Scope) -> None:
        """Append a statement to a scope."""
        scope.types.update((param.name, param.type) for param in stm.pat)
        if isinstance(stm.exp, ir.Threshold):
            scope.thresholds.update(param.name for param in stm.pat)
        scope.out.append(stm)

    def kernel(self, stm: ir.Stm, exp: ir.SegOp, scope: _Scope) -> None:
        """Transform a kernel, with copies before and after it."""
        moved = self.moved(stm, exp, scope)
        if moved:
            for each in moved:
                self.bind(each, scope)
            return
        for rule, holds, because in _AS_THEY_LIE if self.ctx.target.in_step else ():
            reason = Applied(True, because)
            if holds(exp, scope.types) and self.ctx.commit(rule, stm.prov, reason) is not None:
                self.bind(stm, scope)
                return
        by_rows, views = self.by_rows(exp, scope)
        instead = self.reads(stm, by_rows, scope)
        if instead:
            exp = replace(exp, body=_reading(by_rows.body, instead, scope.types))
            stm = ir.Stm(stm.pat, exp, stm.prov)
        elif views:
            scope.out[:] = [one for one in scope.out if one not in views]
            made = {one.pat[0].name for one in views}
            scope.by_rows = {of: view for of, view in scope.by_rows.items() if view not in made}
        behind: list[ir.Stm] = []
        if not isinstance(exp, ir.SegHist) and not (isinstance(exp, ir.SegMap) and exp.per_block):
            for at, param in enumerate(stm.pat):
                stm = self.row(stm, at, param, scope, behind)
        for each in (stm, *behind):
            self.bind(each, scope)

    # --- what is read ---

    def reads(self, stm: ir.Stm, exp: ir.SegOp, scope: _Scope) -> dict[Name, Name]:
        """Choose the arrays to read from instead, by the names that statements bind."""
        groups: dict[tuple[Name, Order], list[Read]] = {}
        for read in reads(exp, scope.types):
            groups.setdefault((read.array, read.order), []).append(read)
        instead: dict[Name, Name] = {}
        if not groups or not self.ctx.target.in_step:
            return instead
        taken = consumed(exp)
        best: dict[Name, tuple[int, Order]] = {}
        for (array, order), found in groups.items():
            gain = sum(one.before - one.after for one in found if one.whole or one.again)
            if array not in taken and gain > best.get(array, (0, ()))[0]:
                best[array] = gain, order
        kinds = scope.types
        for array in dict.fromkeys(array for array, _ in groups):
            if array in taken:
                self.missed(READS, stm.prov, array, kinds[array], f"{_FAR} {_WRITTEN}")
            elif array not in best:
                self.missed(READS, stm.prov, array, kinds[array], f"{_FAR} {_PART}", _WHOLE)
        for array, (gain, order) in best.items():
            found = groups[array, order]
            there = self.in_order(array, order, gain, found, stm.prov, scope)
            if there is not None:
                instead |= dict.fromkeys((one.name for one in found), there)
        return instead

    def by_rows(self, exp: ir.SegOp, scope: _Scope) -> tuple[ir.SegOp, list[ir.Stm]]:
        """Read rows of a one-dimensional array from two-dimensional views, and return both.

        The views are created here, after the checks of their sizes.
        """
        views = scope.by_rows
        made: list[ir.Stm] = []
        found: dict[Name, tuple[Name, Flat]] = {}
        flats = tuple(flat_reads(exp, scope.types)) if self.ctx.target.in_step else ()
        taken = consumed(exp) if flats else ()
        for flat in flats:
            kind = scope.types[flat.array]
            assert isinstance(kind, ir.Array)
            assert kind.mem is not None
            if flat.array in taken or not free(flat.shape) <= scope.types.keys():
                continue
            if not kind.mem.lmad.is_row_major():
                continue
            key = flat.array, flat.shape
            if key not in views:
                mem = ir.MemBind(kind.mem.block, Lmad.row_major(flat.shape))
                views[key] = self.ctx.fresh(flat.array)
                view = ir.Param(views[key], ir.Array(kind.prim, flat.shape, mem))
                made.append(ir.Stm((view,), ir.Reshape(flat.shape, flat.array)))
                self.bind(made[-1], scope)
            found[flat.name] = views[key], flat
        return replace(exp, body=_as_rows(exp.body, found)) if found else exp, made

    def moved(self, stm: ir.Stm, exp: ir.SegOp, scope: _Scope) -> tuple[ir.Stm, ...]:
        """Replace a kernel that only reorders an array by a copy of a view."""
        if not isinstance(exp, ir.SegMap) or exp.per_block:
            return ()
        match exp.body.stms:
            case (ir.Stm((element,), ir.Index(array, at)),):
                part = _part(at, exp.space.dims)
            case _:
                return ()
        kind = scope.types[array]
        assert isinstance(kind, ir.Array)
        assert kind.mem is not None
        if part is None or exp.body.results != (ir.Var(element.name, kind.prim),):
            return ()
        dims, order = part
        lmad = sliced_poly(kind.mem.lmad, dims)
        if lmad is None or not _is_turned(lmad.permute(order)) or not self.ctx.target.in_step:
            return ()
        because = (
            f"The kernel only reorders {self.spell.array(array)}, so it becomes a copy "
            "in which neighbouring threads access neighbouring elements."
        )
        if self.ctx.commit(READS, stm.prov, Applied(True, because), blocks=(_block(kind),)) is None:
            return ()
        out: list[ir.Stm] = []
        if lmad != kind.mem.lmad:
            mem = ir.MemBind(kind.mem.block, lmad)
            of = ir.Slice(array, dims)
            array, kind = self.ctx.fresh(array), ir.Array(kind.prim, selected(dims), mem)
            out.append(ir.Stm((ir.Param(array, kind),), of, stm.prov))
        if order != tuple(range(kind.rank)):
            shape = tuple(kind.shape[dim] for dim in order)
            kind = ir.Array(kind.prim, shape, ir.MemBind(_block(kind), lmad.permute(order)))
            view = ir.Param(self.ctx.fresh(array), kind)
            out.append(ir.Stm((view,), ir.Rearrange(order, array), stm.prov))
            array = view.name
        return (*out, ir.Stm(stm.pat, ir.Copy(array), stm.prov))

    def in_order(
        self,
        array: Name,
        order: Order,
        gain: int,
        found: Sequence[Read],
        prov: Prov,
        scope: _Scope,
    ) -> Name | None:
        """Return the array in that order: an existing copy, or a new one hoisted out of loops.

        Also for reads in a branch inside the loop that is always or never taken: at worst one
        useless copy.
        """
        read, again = found[0], any(one.again for one in found)
        kind = scope.types[array]
        assert isinstance(kind, ir.Array)
        there, cost = scope.ordered.get((array, order)), 0 if again else 2 * BYTES[kind.prim]
        called = self.spell.array(array)
        how = ", because it has that layout already" if there else " in a copy with another layout"
        because = (
            f"Neighbouring threads would read elements of {called} that are far apart; "
            f"they read neighbouring elements{how}."
        )
        numbers: tuple[tuple[str, str], ...] = (
            ("sectors for 32 threads", f"{read.before} -> {read.after}"),
        )
        if not there:
            numbers += (("for the copy", str(cost) if cost else "once for many threads"),)
        if not there and gain <= cost:
            saved = (("saved for 32 threads", f"{gain} sectors"), ("for the copy", str(cost)))
            self.missed(READS, prov, array, kind, f"{_FAR} {_COSTS}", numbers=saved)
            return None
        block = _block(scope.types[there]) if there else self.ctx.fresh(f"{base_of(array)}_mem")
        done = Applied(True, because, numbers)
        if self.ctx.commit(READS, prov, done, blocks=(_block(kind), block)) is None:
            return None
        if there:
            return there
        path = [scope]
        needed = {array, *free(kind)}
        while (outer := path[-1].outer) and needed | path[-1].decided_by <= outer.types.keys():
            needed |= path[-1].decided_by
            path.append(outer)
        while len(path) > 1 and not path[-2].is_loop:
            path.pop()
        new = self.make(array, block, kind, order, prov, path[-1])
        self.bind(ir.Stm((new,), ir.Copy(array), prov), path[-1])
        for each in path:
            each.types[new.name] = new.type
            each.ordered[array, order] = new.name
        return new.name

    def missed(
        self,
        rule: Rule,
        prov: Prov,
        array: Name,
        kind: ir.Type,
        because: str,
        hint: str = NOTHING,
        numbers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Explain why an array keeps its order; `because` has a placeholder for its name."""
        outcome = Missed(because.format(self.spell.array(array)), hint, numbers)
        self.ctx.commit(rule, prov, outcome, blocks=(_block(kind),))

    def make(
        self, name: Name, block: Name, kind: ir.Array, order: Order, prov: Prov, scope: _Scope
    ) -> ir.Param:
        """Allocate an array like another, in that order, in a fresh block."""
        alloc = ir.Alloc(Poly.product(kind.shape), kind.prim)
        self.bind(ir.Stm((ir.Param(block, ir.Mem(kind.prim)),), alloc, prov), scope)
        mem = ir.MemBind(block, in_order(kind.shape, order))
        return ir.Param(self.ctx.fresh(name), ir.Array(kind.prim, kind.shape, mem))

    # --- what is written ---

    def row(
        self, stm: ir.Stm, at: int, param: ir.Param, scope: _Scope, behind: list[ir.Stm]
    ) -> ir.Stm:
        """Lay out the rows of a kernel's result in another order if that is better."""
        exp, kind = stm.exp, param.type
        assert isinstance(exp, ir.SegMapping)
        outer = len(exp.space.dims)
        if not isinstance(kind, ir.Array) or kind.mem is None or kind.rank <= outer:
            return stm
        if isinstance(exp.body.results[at], ir.Write) or not kind.mem.lmad.is_row_major():
            return stm
        size = BYTES[kind.prim]
        before, cost = sectors(Poly.product(kind.shape[outer:]), size), 2 * size
        order = (*range(outer, kind.rank), *range(outer))
        if before <= size or not self.ctx.target.in_step:
            return stm
        relaid = Relaid(exp, at, kind)
        saved = (("saved for 32 threads", f"{before - size} sectors"), ("for the copy", str(cost)))
        if before - size <= cost or not relaid.is_possible:
            why = f"{_FAR_ROWS} {_COSTS if before - size <= cost else _TOGETHER}"
            self.missed(WRITES, stm.prov, param.name, kind, why, numbers=saved)
            return stm
        block = self.ctx.fresh(f"{base_of(param.name)}_mem")
        because = (
            f"Neighbouring threads would write rows of {self.spell.array(param.name)} "
            "that are far apart. They write neighbouring elements instead, and a copy "
            "moves these to their place."
        )
        numbers = (("sectors for 32 threads", f"{before} -> {size}"), ("for the copy", str(cost)))
        done = Applied(True, because, numbers)
        if self.ctx.commit(WRITES, stm.prov, done, blocks=(_block(kind), block)) is None:
            return stm
        new = self.make(param.name, block, kind, order, stm.prov, scope)
        relaid.block = block
        pat = tuple(new if k == at else other for k, other in enumerate(stm.pat))
        body = replace(exp.body, stms=relaid.stms(exp.body.stms))
        behind.append(ir.Stm((param,), ir.Copy(new.name), stm.prov))
        self.back.add(param.name)
        scope.ordered[param.name, order] = new.name
        return ir.Stm(pat, replace(exp, body=body), stm.prov)


def _block(kind: ir.Type) -> Name:
    assert isinstance(kind, ir.Array)
    assert kind.mem is not None
    return kind.mem.block


def _part(
    at: tuple[ir.SE, ...], space: tuple[tuple[Name, Poly], ...]
) -> tuple[tuple[ir.DimIndex, ...], Order] | None:
    """Return the part of an array that threads read one element each of, and its order.

    None if a thread's index occurs in no index of the array, in two, or not with factor 1.
    """
    dims: list[ir.DimIndex] = []
    taken: list[Name] = []
    bounds = dict(space)
    for se in at:
        start = poly_of(se)
        if start is None:
            return None
        inside = [name for name in bounds if name in start.names()]
        strides = [start.coefficient(name) for name in inside]
        for name, stride in zip(inside, strides, strict=True):
            start -= stride * Poly.var(name)
        if any(poly.names() & bounds.keys() for poly in (start, *strides)):
            return None
        counts = [bounds[name] for name in inside]
        dims.append(dim_index(se_of(start), counts, [se_of(stride) for stride in strides]))
        taken += inside
    if sorted(taken) != sorted(bounds):
        return None
    return tuple(dims), tuple(map(taken.index, bounds))


def _is_turned(lmad: Lmad[Poly]) -> bool:
    """True if neighbours are adjacent along another dimension than the last."""
    *others, last = (dim.stride for dim in lmad.dims)
    return Poly.const(1) in others and sectors(last, 1) > 1


def _reading(
    body: ir.KernelBody, instead: Mapping[Name, Name], types: Mapping[Name, ir.Type]
) -> ir.KernelBody:
    """Redirect reads in a kernel's body to other arrays, by the names they bind."""

    def elsewhere(stm: ir.Stm) -> ir.Stm | None:
        array = instead.get(stm.pat[0].name)
        if array is None:
            return None
        if isinstance(stm.exp, ir.Index):
            return replace(stm, exp=ir.Index(array, stm.exp.at))
        assert isinstance(stm.exp, ir.Slice)
        whole, kind = types[array], stm.pat[0].type
        assert isinstance(whole, ir.Array)
        assert isinstance(kind, ir.Array)
        assert whole.mem is not None
        lmad = sliced_poly(whole.mem.lmad, stm.exp.dims)
        assert lmad is not None
        there = replace(kind, mem=ir.MemBind(whole.mem.block, lmad))
        pat = (replace(stm.pat[0], type=there),)
        return replace(stm, pat=pat, exp=replace(stm.exp, array=array))

    return _changed(body, elsewhere)


def _changed(body: ir.KernelBody, change: Callable[[ir.Stm], ir.Stm | None]) -> ir.KernelBody:
    """Replace statements of a kernel's body for which `change` returns one."""

    def inside(stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        return tuple(map(one, stms))

    def one(stm: ir.Stm) -> ir.Stm:
        changed = change(stm) if stm.pat else None
        if changed is not None:
            return changed
        exp = map_stms(stm.exp, inside)
        return stm if exp is stm.exp else replace(stm, exp=exp)

    return replace(body, stms=inside(body.stms))


def _as_rows(body: ir.KernelBody, found: Mapping[Name, tuple[Name, Flat]]) -> ir.KernelBody:
    """Read these names from two-dimensional views in a kernel's body."""

    def row(stm: ir.Stm) -> ir.Stm | None:
        if stm.pat[0].name not in found:
            return None
        view, flat = found[stm.pat[0].name]
        return replace(stm, exp=ir.Index(view, tuple(map(se_of, flat.at))))

    return _changed(body, row)


def _without(names: set[Name], fun: ir.Function) -> ir.Function:
    """Remove those of the statements that nothing needs, and their blocks."""
    if not names:
        return fun
    uses = count_uses(fun.body)
    gone = {name for name in names if not uses.get(name)}
    if not gone:
        return fun
    kept = _dropping(gone, fun)
    uses = count_uses(kept.body)
    allocs = (stm for stm in all_stms(kept.body.stms) if isinstance(stm.exp, ir.Alloc))
    unused = {stm.pat[0].name for stm in allocs if not uses.get(stm.pat[0].name)}
    return _dropping(unused, kept)


def _dropping(names: set[Name], fun: ir.Function) -> ir.Function:
    def inside(stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        return tuple(one(stm) for stm in stms if not (stm.pat and stm.pat[0].name in names))

    def one(stm: ir.Stm) -> ir.Stm:
        exp = map_stms(stm.exp, inside)
        return stm if exp is stm.exp else ir.Stm(stm.pat, exp, stm.prov)

    return replace(fun, body=replace(fun.body, stms=inside(fun.body.stms)))


COALESCE = Pass(
    "coalesce",
    "Changes layouts so that neighbouring threads of a GPU access neighbouring elements.",
    coalesce,
    (READS, WRITES, COLUMNS, MAP_SQUARES),
    optional=True,
)
