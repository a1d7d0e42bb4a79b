"""Views of what a map makes move to the map's inputs, so that the map can go into its reader.

`cut_map`: only the part of a map that is read is computed. `transpose_map`: a map of maps whose
result is transposed becomes the map of maps over transposed inputs, and `flatten_map`: one whose
result is flattened becomes one map over flat inputs; views cost nothing.

Both need: nothing else reads the result; the map makes no checks (those of elements cut away
would be lost, others would be made in another order); nothing that it reads is overwritten between
the map and its view.
"""

from __future__ import annotations

from itertools import chain

from compiler.analysis.effects import must_stay
from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule
from compiler.base.spans import merge_prov
from compiler.ir import walk
from compiler.ir.aliases import consumed
from compiler.ir.build import full_slices
from compiler.ir.nodes import (
    ONE,
    ZERO,
    Array,
    DimSlice,
    Map,
    Operand,
    Param,
    Rearrange,
    Reshape,
    Slice,
    Soac,
    Stm,
)
from compiler.ir.sharing import Classes
from compiler.ir.types import shape_of, with_dims
from compiler.optimise.fuse.nest import flatten_map, transpose_map

_VIEWS = (Slice, Rearrange, Reshape)
_SOACS = frozenset(Soac.__args__)


def pull_views(
    stms: tuple[Stm, ...], results: tuple[Operand, ...], found: Classes, ctx: Ctx
) -> tuple[Stm, ...]:
    """Apply the rules to every view of a map's result in a body, in order."""
    if not any(type(stm.exp) in _RULE_FOR for stm in stms):
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
        made = maps.get(stm.exp.array) if isinstance(stm.exp, _VIEWS) else None
        if made is None:
            continue
        if not isinstance(stm.exp, Slice) and not _goes_on(stm, stms[at + 1 :]):
            continue
        rule = _RULE_FOR[type(stm.exp)]
        outcome = rule.apply(new[made][-1], stm, ctx)
        if isinstance(outcome, Applied):
            outcome = _refused(new[made][-1], stm, counts, stms[made + 1 : at], found) or outcome
        replaced = ctx.commit(rule, stm.prov, outcome)
        if replaced is not None:
            new[made] = new[made][:-1]
            new[at] = replaced
            changed = True
            for part in replaced:
                if isinstance(part.exp, _VIEWS):
                    found.join(part.pat[0].name, part.exp.array)
    return tuple(chain.from_iterable(new)) if changed else stms


def _is_single_map(stm: Stm) -> bool:
    return type(stm.exp) is Map and len(stm.pat) == 1


def _goes_on(view: Stm, after: tuple[Stm, ...]) -> bool:
    """Whether a parallel operator takes the view as its input."""
    name = view.pat[0].name
    return any(name in getattr(stm.exp, "arrays", ()) for stm in after if type(stm.exp) in _SOACS)


def _refused(
    producer: Stm, view: Stm, counts: dict[Name, int], between: tuple[Stm, ...], found: Classes
) -> Missed | None:
    """Which of the conditions does not hold."""
    name = base_of(producer.pat[0].name)
    if counts[producer.pat[0].name] > 1:
        return Missed(f"`{name}` is read elsewhere as well, so all of it is computed as it is.")
    if must_stay(producer.exp):
        return Missed(f"The checks for all elements of `{name}` have to be made, in order.")
    reads = {found.find(n) for n in walk.free(producer.exp)}
    if any(found.find(n) in reads for stm in between for n in consumed(stm.exp)):
        return Missed(f"What `{name}` is computed from is overwritten in between.")
    return None


# --- cutting ---------------------------------------------------------------------------------


def cut_map(producer: Stm, cut: Stm, ctx: Ctx) -> Outcome[list[Stm]]:
    """`(map f xs)[a:b:c] ==> map f xs[a:b:c]`."""
    exp, view = producer.exp, cut.exp
    kind = producer.pat[0].type
    assert isinstance(exp, Map)
    assert isinstance(view, Slice)
    assert isinstance(kind, Array)
    first = view.dims[0]
    if not isinstance(first, DimSlice) or not exp.arrays or not _rest_is_full(view, kind):
        return None
    stms: list[Stm] = []
    arrays: list[Name] = []
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        part = Param(ctx.fresh(array), with_dims((first.count,), param.type))
        dims = (first, *full_slices(shape_of(param.type)))
        stms.append(Stm((part,), Slice(array, dims), cut.prov))
        arrays.append(part.name)
    prov = merge_prov(cut.prov, producer.prov)
    stms.append(Stm(cut.pat, Map(first.count, exp.fn, tuple(arrays)), prov))
    return Applied(stms, f"Computes only the elements of `{base_of(view.array)}` that are read.")


def _rest_is_full(view: Slice, kind: Array) -> bool:
    pairs = zip(view.dims[1:], kind.shape[1:], strict=True)
    return all(
        isinstance(d, DimSlice) and d.start == ZERO and d.stride == ONE and d.count == size
        for d, size in pairs
    )


RULES = (
    NodeRule("fuse/cut-map", "Only the part of a map that is read is computed.", (Slice,), cut_map),
    NodeRule(
        "fuse/transpose-map",
        "A transposed map of maps is one over transposed inputs.",
        (Rearrange,),
        transpose_map,
    ),
    NodeRule(
        "fuse/flatten-map",
        "A flattened map of maps is one map over flat inputs.",
        (Reshape,),
        flatten_map,
    ),
)
_RULE_FOR: dict[type, NodeRule] = {kind: rule for rule in RULES for kind in rule.on}
