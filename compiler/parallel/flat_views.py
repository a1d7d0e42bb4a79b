"""Give kernels over a flattened view the dimensions of the view, so that nothing is copied.

`flatten (transpose xss)` has no LMAD: as an array of its own it is a copy. A kernel that reads
element `i` of it for each `i < m*n` reads element `j`, `k` of the transposed view for each `j < m`,
`k < n` instead; its result is flattened, which is a view of what the kernel has written in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import is_
from typing import NamedTuple

from compiler.algebra.lmad import Lmad, NoView
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.sizes import se_of
from compiler.ir.slices import sliced_poly
from compiler.ir.source_names import Spelling
from compiler.ir.walk import all_stms, count_uses, map_stms

FLAT_VIEWS = Rule(
    "flatten/flat-views",
    "A kernel over a flattened view has the dimensions of the view, so that nothing is copied.",
)


class _Flat(NamedTuple):
    """`array`, whose first dimensions `split` are flattened to one."""

    array: Name
    split: tuple[Poly, ...]
    prov: Prov


def flat_views(fun: ir.Function, ctx: Ctx) -> ir.Function:
    """Read flattened views in their own dimensions where all that reads them are kernels.

    Needs: flat code. Keeps: values, checks, provenance.
    """
    found = _flattened(fun)
    if not found:
        return fun
    uses = count_uses(fun.body)
    kernels = [stm.exp for stm in _kernels(fun.body.stms)]
    read: dict[Name, int] = dict.fromkeys(found, 0)
    for kernel in kernels:
        for name, _ in _reads(kernel, found):
            read[name] += 1
    chosen = {name: one for name, one in found.items() if read[name] == uses.get(name)}
    for kernel in kernels:
        taken: dict[Name, tuple[Poly, ...]] = {}
        for name, index in _reads(kernel, chosen):
            if taken.setdefault(index, chosen[name].split) != chosen[name].split:
                del chosen[name]
    spell = Spelling.of(fun, ctx.names.said)
    for name, one in list(chosen.items()):
        because = (
            f"{spell.array(name)} is no view that an index function can describe, and all that "
            "reads it are kernels with an index for each of its elements or rows: these get an "
            f"index for each dimension of {spell.array(one.array)}, and nothing is copied."
        )
        if ctx.commit(FLAT_VIEWS, one.prov, Applied(True, because)) is None:
            del chosen[name]
    if not chosen:
        return fun
    stms = _Splitting(chosen, ctx).host(fun.body.stms)
    return replace(fun, body=replace(fun.body, stms=stms))


def _flattened(fun: ir.Function) -> dict[Name, _Flat]:
    """Return the flattened views that would be copies."""
    found: dict[Name, _Flat] = {}
    lmads: dict[Name, Lmad[Poly] | None] = {}
    if not any(isinstance(stm.exp, ir.Reshape) for stm in all_stms(fun.body.stms)):
        return found
    types = {p.name: p.type for p in fun.params}
    for stm in all_stms(fun.body.stms):
        if isinstance(stm.exp, ir.Loop):
            types.update((p.name, p.type) for p in stm.exp.params)
        types.update((p.name, p.type) for p in stm.pat)
    for stm in all_stms(fun.body.stms):
        exp = stm.exp
        if not isinstance(exp, ir.Rearrange | ir.Slice | ir.Reshape):
            continue
        kind = types.get(exp.array)
        if not isinstance(kind, ir.Array):
            continue
        lmad = lmads.get(exp.array) or Lmad.row_major(kind.shape)
        name = stm.pat[0].name
        match exp:
            case ir.Rearrange(perm):
                lmads[name] = lmad.permute(perm)
            case ir.Slice(_, dims):
                lmads[name] = sliced_poly(lmad, dims)
            case ir.Reshape(shape):
                seen = lmad.reshape(shape)
                lmads[name] = None if isinstance(seen, NoView) else seen
                split = _split(kind.shape, shape)
                if split and isinstance(seen, NoView):
                    found[name] = _Flat(exp.array, split, stm.prov)
    return found


def _split(old: tuple[Poly, ...], new: tuple[Poly, ...]) -> tuple[Poly, ...]:
    """Return the first dimensions of `old` if `new` has them as one, else ()."""
    count = len(old) - len(new) + 1
    if count < 2 or old[count:] != new[1:] or Poly.product(old[:count]) != new[0]:
        return ()
    return old[:count]


def _kernels(stms: Iterable[ir.Stm]) -> Iterator[ir.Stm]:
    """Yield the statements of the host that run kernels."""
    for stm in stms:
        match stm.exp:
            case ir.If(_, then, orelse):
                yield from _kernels((*then.stms, *orelse.stms))
            case ir.Loop(body=body):
                yield from _kernels(body.stms)
            case exp if isinstance(exp, ir.SegOp):
                yield stm


def _own(kernel: ir.SegOp) -> tuple[tuple[Name, Poly], ...]:
    """Return the dimensions along which points are independent."""
    if isinstance(kernel, ir.SegHist):
        return ()
    return kernel.space.dims[: None if isinstance(kernel, ir.SegMap) else -1]


def _reads(kernel: ir.Exp, found: Mapping[Name, _Flat]) -> Iterator[tuple[Name, Name]]:
    """Yield the views that a kernel reads at a point's own place, and the index."""
    assert isinstance(kernel, ir.SegOp)
    bounds = dict(_own(kernel))
    for stm in all_stms(kernel.body.stms) if bounds else ():
        first = _first(stm.exp)
        if first is None or first not in bounds:
            continue
        assert isinstance(stm.exp, ir.Index | ir.Slice)
        one = found.get(stm.exp.array)
        if one is not None and bounds[first] == Poly.product(one.split):
            yield stm.exp.array, first


def _first(exp: ir.Exp) -> Name | None:
    """Return the variable that is the first index of an access."""
    match exp:
        case ir.Index(_, (ir.Var(name), *_)) | ir.Slice(_, (ir.DimFix(ir.Var(name)), *_)):
            return name
    return None


class _Splitting:
    """Rewrites the kernels that read `chosen` views."""

    def __init__(self, chosen: Mapping[Name, _Flat], ctx: Ctx) -> None:
        self.chosen, self.ctx = chosen, ctx

    def host(self, stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        """Rewrite statements of the host; views that nothing reads any more are gone."""
        out: list[ir.Stm] = []
        for stm in stms:
            if isinstance(stm.exp, ir.SegOp):
                out += self.kernel(stm, stm.exp)
            elif not (stm.pat and stm.pat[0].name in self.chosen):
                exp = map_stms(stm.exp, self.host)
                out.append(stm if exp is stm.exp else replace(stm, exp=exp))
        return stms if len(out) == len(stms) and all(map(is_, out, stms)) else tuple(out)

    def kernel(self, stm: ir.Stm, exp: ir.SegOp) -> Iterator[ir.Stm]:
        """Yield a kernel with more dimensions, and its results with the dimensions they had."""
        split = {index: self.chosen[name].split for name, index in _reads(exp, self.chosen)}
        if not split:
            yield stm
            return
        indices = {name: [self.ctx.fresh(name) for _ in sizes] for name, sizes in split.items()}
        dims: list[tuple[Name, Poly]] = []
        defined: list[ir.Stm] = []
        body = self.body(exp.body, indices)
        uses = count_uses(body)
        for name, size in exp.space.dims:
            parts = list(zip(indices[name], split[name], strict=True)) if name in split else []
            dims += parts or [(name, size)]
            if parts and uses.get(name):
                at = Lmad.row_major(split[name]).index(*map(Poly.var, indices[name]))
                defined.append(ir.Stm((ir.Param(name, ir.I64),), se_of(at), stm.prov))
        body = replace(body, stms=(*defined, *body.stms))
        space = ir.SegSpace(tuple(dims))
        behind: list[ir.Stm] = []
        pat = tuple(
            self.result(param, result, exp, split, behind, stm.prov)
            for param, result in zip(stm.pat, _results(stm, exp), strict=True)
        )
        yield replace(stm, pat=pat, exp=replace(exp, space=space, body=body))
        yield from behind

    def result(
        self,
        param: ir.Param,
        result: ir.KernelResult,
        exp: ir.SegOp,
        split: Mapping[Name, tuple[Poly, ...]],
        behind: list[ir.Stm],
        prov: Prov,
    ) -> ir.Param:
        """Return the result of the kernel; `behind` gets the statement that flattens it."""
        kind = param.type
        if isinstance(result, ir.Write) or not isinstance(kind, ir.Array):
            return param
        shape: list[Poly] = []
        for (name, _), size in zip(exp.space.dims, kind.shape, strict=False):
            shape += split.get(name, (size,))
        made = ir.Array(kind.prim, (*shape, *kind.shape[len(exp.space.dims) :]))
        new = ir.Param(self.ctx.fresh(param.name), made)
        behind.append(ir.Stm((param,), ir.Reshape(kind.shape, new.name), prov))
        return new

    def body(self, body: ir.KernelBody, indices: Mapping[Name, list[Name]]) -> ir.KernelBody:
        """Read the views instead of what is flattened."""

        def inside(stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
            return tuple(map(one, stms))

        def one(stm: ir.Stm) -> ir.Stm:
            first = _first(stm.exp)
            if isinstance(stm.exp, ir.Index | ir.Slice) and stm.exp.array in self.chosen:
                assert first is not None
                return replace(stm, exp=self.access(stm.exp, indices[first]))
            exp = map_stms(stm.exp, inside)
            return stm if exp is stm.exp else replace(stm, exp=exp)

        return replace(body, stms=inside(body.stms))

    def access(self, exp: ir.Index | ir.Slice, at: list[Name]) -> ir.Index | ir.Slice:
        """Return an access of the view."""
        array, places = self.chosen[exp.array].array, tuple(ir.Var(name, "i64") for name in at)
        if isinstance(exp, ir.Index):
            return ir.Index(array, (*places, *exp.at[1:]))
        return ir.Slice(array, (*map(ir.DimFix, places), *exp.dims[1:]))


def _results(stm: ir.Stm, exp: ir.SegOp) -> tuple[ir.KernelResult, ...]:
    """Return what a kernel's body gives for each name of its pattern."""
    assert len(stm.pat) == len(exp.body.results)
    return exp.body.results
