"""A part of what a map makes: only that part is computed.

The cut moves from the map's result to its inputs, where it is a view, and the map can then go into
its reader as any other. Needs: nothing else reads the result; the map makes no checks (those of
the elements cut away would be lost); nothing that it reads is overwritten between the two.
"""

from __future__ import annotations

from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.spans import merge_prov
from compiler.ir import effects, walk
from compiler.ir.nodes import Array, DimIndex, DimSlice, Lit, Map, Operand, Param, Slice, Stm
from compiler.optimise.consumption import Classes
from compiler.optimise.dead import has_effects

RULE = "fuse/cut-map"
_ZERO = Lit(0, "i64")
_ONE = Lit(1, "i64")


def cut_maps(
    stms: tuple[Stm, ...], results: tuple[Operand, ...], found: Classes, ctx: Ctx
) -> tuple[Stm, ...]:
    """Apply `cut_map` to every cut of a map's result in a body, in order."""
    if not any(type(stm.exp) is Slice for stm in stms):
        return stms
    maps = {stm.pat[0].name: at for at, stm in enumerate(stms) if _is_single_map(stm)}
    if not maps:
        return stms
    counts = walk.count_uses(results)
    for stm in stms:
        walk.count_uses(stm, counts)
    new: list[list[Stm]] = [[stm] for stm in stms]
    changed = False
    for at, stm in enumerate(stms):
        made = maps.get(stm.exp.array) if isinstance(stm.exp, Slice) else None
        if made is None or not new[made]:
            continue
        between = stms[made + 1 : at]
        replaced = ctx.settle(
            RULE, stm.prov, cut_map(new[made][-1], stm, counts, between, found, ctx)
        )
        if replaced is not None:
            new[made] = new[made][:-1]
            new[at] = replaced
            changed = True
    return tuple(stm for group in new for stm in group) if changed else stms


def _is_single_map(stm: Stm) -> bool:
    return type(stm.exp) is Map and len(stm.pat) == 1


def cut_map(
    producer: Stm,
    cut: Stm,
    counts: dict[Name, int],
    between: tuple[Stm, ...],
    found: Classes,
    ctx: Ctx,
) -> Outcome[list[Stm]]:
    """`(map f xs)[a:b:c] ==> map f xs[a:b:c]`."""
    exp, view = producer.exp, cut.exp
    kind = producer.pat[0].type
    assert isinstance(exp, Map)
    assert isinstance(view, Slice)
    assert isinstance(kind, Array)
    first = view.dims[0]
    if not isinstance(first, DimSlice) or not exp.arrays or not _rest_is_whole(view, kind):
        return None
    name = base_of(view.array)
    if counts[view.array] > 1:
        return Missed(f"`{name}` is read elsewhere as well, so all of it is computed.")
    if has_effects(exp):
        return Missed(f"The checks for all elements of `{name}` have to be made.")
    reads = {found.find(n) for n in walk.free(exp)}
    if any(found.find(n) in reads for stm in between for n in effects.consumed(stm.exp)):
        return Missed(f"What `{name}` is computed from is overwritten before it is cut.")
    stms: list[Stm] = []
    arrays: list[Name] = []
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        part = _part(param, first, ctx.fresh(array))
        stms.append(Stm(part, Slice(array, _dims(first, param)), cut.prov))
        arrays.append(part[0].name)
    prov = merge_prov(cut.prov, producer.prov)
    stms.append(Stm(cut.pat, Map(first.count, exp.fn, tuple(arrays)), prov))
    return Applied(stms, f"Only the elements of `{name}` that are needed are computed.")


def _rest_is_whole(view: Slice, kind: Array) -> bool:
    pairs = zip(view.dims[1:], kind.shape[1:], strict=True)
    return all(
        isinstance(d, DimSlice) and d.start == _ZERO and d.stride == _ONE and d.count == size
        for d, size in pairs
    )


def _part(param: Param, first: DimSlice, name: Name) -> tuple[Param, ...]:
    row = param.type
    inner = row.shape if isinstance(row, Array) else ()
    return (Param(name, Array(row.prim, (first.count, *inner))),)


def _dims(first: DimSlice, param: Param) -> tuple[DimIndex, ...]:
    inner = param.type.shape if isinstance(param.type, Array) else ()
    return (first, *(DimSlice(_ZERO, size, _ONE) for size in inner))
