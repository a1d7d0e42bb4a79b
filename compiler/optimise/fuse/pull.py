"""Move views of a map's result to the map's inputs, so that the map can be fused with its reader.

`cut_map` computes only the part of a map that is read. `transpose_map` turns a transposed map of
maps into one over transposed inputs, `flatten_map` a flattened one into one map over flat inputs;
views cost nothing.

All need: nothing else reads the result; the map makes no checks (those of elements cut away would
be lost, others would run in another order); no input is overwritten between the map and its view.
"""

from __future__ import annotations

from itertools import chain

from compiler.analysis.effects import must_stay
from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule
from compiler.base.spans import merge_prov
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.aliases import consumed
from compiler.ir.build import full_slices
from compiler.ir.sharing import Classes
from compiler.ir.types import shape_of, with_dims
from compiler.optimise.fuse.nest import flatten_map, transpose_map

_VIEWS = (ir.Slice, ir.Rearrange, ir.Reshape)
_SOACS = frozenset(ir.Soac.__args__)


def pull_views(
    stms: tuple[ir.Stm, ...], results: tuple[ir.Operand, ...], found: Classes, ctx: Ctx
) -> tuple[ir.Stm, ...]:
    """Apply the rules to every view of a map's result in a body, in order."""
    if not any(type(stm.exp) in _RULE_FOR for stm in stms):
        return stms
    maps = {stm.pat[0].name: at for at, stm in enumerate(stms) if _is_single_map(stm)}
    if not maps:
        return stms
    counts = walk.count_uses(results)
    for stm in stms:
        walk.count_uses(stm, counts)
    new: list[list[ir.Stm]] = [[stm] for stm in stms]
    changed = False
    for at, stm in enumerate(stms):
        made = maps.get(stm.exp.array) if isinstance(stm.exp, _VIEWS) else None
        if made is None:
            continue
        if not isinstance(stm.exp, ir.Slice) and not _goes_on(stm, stms[at + 1 :]):
            continue
        rule = _RULE_FOR[type(stm.exp)]
        outcome = rule.apply(new[made][-1], stm, ctx)
        if isinstance(outcome, Applied):
            outcome = _refused(new[made][-1], stm, counts, stms[made + 1 : at], found) or outcome
        replaced = ctx.commit(rule, stm.prov, outcome, fused=stms[made].prov)
        if replaced is not None:
            new[made] = new[made][:-1]
            new[at] = replaced
            changed = True
            for part in replaced:
                if isinstance(part.exp, _VIEWS):
                    found.join(part.pat[0].name, part.exp.array)
    return tuple(chain.from_iterable(new)) if changed else stms


def _is_single_map(stm: ir.Stm) -> bool:
    return type(stm.exp) is ir.Map and len(stm.pat) == 1


def _goes_on(view: ir.Stm, after: tuple[ir.Stm, ...]) -> bool:
    """True if a parallel operator takes the view as its input."""
    name = view.pat[0].name
    return any(name in getattr(stm.exp, "arrays", ()) for stm in after if type(stm.exp) in _SOACS)


def _refused(
    producer: ir.Stm,
    view: ir.Stm,
    counts: dict[Name, int],
    between: tuple[ir.Stm, ...],
    found: Classes,
) -> Missed | None:
    """Return the condition that does not hold, or None."""
    name = base_of(producer.pat[0].name)
    if counts[producer.pat[0].name] > 1:
        return Missed(f"`{name}` is also read elsewhere, so all of it is computed.")
    if must_stay(producer.exp):
        return Missed(f"The checks for all elements of `{name}` must run, in order.")
    reads = {found.find(n) for n in walk.free(producer.exp)}
    if any(found.find(n) in reads for stm in between for n in consumed(stm.exp)):
        return Missed(f"An input of `{name}` is overwritten in between.")
    return None


# --- cutting ---------------------------------------------------------------------------------


def cut_map(producer: ir.Stm, cut: ir.Stm, ctx: Ctx) -> Outcome[list[ir.Stm]]:
    """`(map f xs)[a:b:c] ==> map f xs[a:b:c]`."""
    exp, view = producer.exp, cut.exp
    kind = producer.pat[0].type
    assert isinstance(exp, ir.Map)
    assert isinstance(view, ir.Slice)
    assert isinstance(kind, ir.Array)
    first = view.dims[0]
    if not isinstance(first, ir.DimSlice) or not exp.arrays or not _rest_is_full(view, kind):
        return None
    stms: list[ir.Stm] = []
    arrays: list[Name] = []
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        part = ir.Param(ctx.fresh(array), with_dims((first.count,), param.type))
        dims = (first, *full_slices(shape_of(param.type)))
        stms.append(ir.Stm((part,), ir.Slice(array, dims), cut.prov))
        arrays.append(part.name)
    prov = merge_prov(cut.prov, producer.prov)
    stms.append(ir.Stm(cut.pat, ir.Map(first.count, exp.fn, tuple(arrays)), prov))
    return Applied(
        stms, f"The map computes only the elements of `{base_of(view.array)}` that are read."
    )


def _rest_is_full(view: ir.Slice, kind: ir.Array) -> bool:
    pairs = zip(view.dims[1:], kind.shape[1:], strict=True)
    return all(
        isinstance(d, ir.DimSlice) and d.start == ir.ZERO and d.stride == ir.ONE and d.count == size
        for d, size in pairs
    )


RULES = (
    NodeRule("fuse/cut-map", "Computes only the part of a map that is read.", (ir.Slice,), cut_map),
    NodeRule(
        "fuse/transpose-map",
        "Turns a transposed map of maps into a map of maps over transposed inputs.",
        (ir.Rearrange,),
        transpose_map,
    ),
    NodeRule(
        "fuse/flatten-map",
        "Turns a flattened map of maps into one map over flat inputs.",
        (ir.Reshape,),
        flatten_map,
    ),
)
_RULE_FOR: dict[type, NodeRule] = {kind: rule for rule in RULES for kind in rule.on}
