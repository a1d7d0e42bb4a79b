"""Merge two parallel operators of the same width; callers decide whether that is permitted.

Splits each side into components common to all operators: inputs with parameters, a body, operators
with their operands, writes with their operands, and kept results. Concatenates the components and
chooses the resulting class.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov, merge_prov
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.scatters import places
from compiler.ir.types import as_operand
from compiler.ir.walk import Replacement


@dataclass(frozen=True, slots=True)
class SoacParts:
    """Components of an operator: `fixed` results belong to operators or destinations.

    The others are `kept` as arrays. `fixed_pat` and `kept_pat` are the corresponding results of the
    statement.
    """

    kind: type
    width: Poly
    ops: tuple[object, ...]
    params: tuple[ir.Param, ...]
    arrays: tuple[Name, ...]
    stms: tuple[ir.Stm, ...]
    fixed: tuple[ir.Operand, ...]
    kept: tuple[ir.Operand, ...]
    fixed_types: tuple[ir.Type, ...]
    kept_types: tuple[ir.Type, ...]
    fixed_pat: tuple[ir.Param, ...]
    kept_pat: tuple[ir.Param, ...]
    prov: Prov


def parts(stm: ir.Stm) -> SoacParts:
    """Split a parallel operator into its components."""
    exp = stm.exp
    assert isinstance(exp, ir.Soac)
    ops: tuple[object, ...] = ()
    values = results = 0
    if isinstance(exp, ir.Fold):
        ops = exp.ops
        values = results = sum(len(op.neutral) for op in exp.ops)
    elif isinstance(exp, ir.Scatter):
        ops = exp.dests
        values, results = places(exp.dests), len(exp.dests)
    elif isinstance(exp, ir.Stream):
        ops, results = exp.dests, len(stm.pat)
    elif isinstance(exp, ir.Hist):
        ops = exp.ops
        values, results = len(exp.fn.body.results), len(stm.pat)
    body = exp.fn.body
    return SoacParts(
        type(exp),
        exp.width,
        ops,
        exp.fn.params,
        exp.arrays,
        body.stms,
        body.results[:values],
        body.results[values:],
        exp.fn.returns[:values],
        exp.fn.returns[values:],
        stm.pat[:results],
        stm.pat[results:],
        body.prov,
    )


_MERGED: dict[tuple[type, type], type] = {
    **{(ir.Map, kind): kind for kind in ir.Soac.__args__},
    **{(kind, ir.Map): kind for kind in (ir.Reduce, ir.Scan, ir.Scatter)},
    (ir.Reduce, ir.Reduce): ir.Reduce,
    (ir.Scan, ir.Scan): ir.Scan,
    (ir.Scatter, ir.Scatter): ir.Scatter,
    (ir.Hist, ir.Hist): ir.Hist,
}


def merged_kind(first: ir.Stm, second: ir.Stm) -> type | None:
    """Return the class of the merged operator; None if there is none."""
    return _MERGED.get((type(first.exp), type(second.exp)))


def produced(stm: ir.Stm) -> dict[Name, ir.Operand]:
    """Map each array that the body computes element by element to its element."""
    p = parts(stm)
    return dict(zip((param.name for param in p.kept_pat), p.kept, strict=True))


def merge(first: ir.Stm, second: ir.Stm, needed: set[Name]) -> ir.Stm:
    """Merge two operators; keeps those arrays of the first that are `needed`.

    Uses elements of the first's results directly in `second`.
    """
    a, b = parts(first), parts(second)
    kind = _MERGED[a.kind, b.kind]
    elements = dict(zip((p.name for p in a.kept_pat), a.kept, strict=True))
    own = dict(zip(a.arrays, a.params, strict=True))
    mapping: dict[Name, Replacement] = {}
    binds: list[ir.Stm] = []
    params, arrays = list(a.params), list(a.arrays)
    for param, array in zip(b.params, b.arrays, strict=True):
        if array in elements:
            elements[array] = _bind(param, elements[array], a.prov or first.prov, mapping, binds)
        elif array in own:
            mapping[param.name] = as_operand(own[array])
        else:
            own[array] = param
            params.append(param)
            arrays.append(array)
    stms = walk.subst(b.stms, mapping)
    fixed, kept = walk.subst(b.fixed, mapping), walk.subst(b.kept, mapping)
    stay = [k for k, param in enumerate(a.kept_pat) if param.name in needed]
    body = ir.Body(
        (*a.stms, *binds, *stms),
        (*a.fixed, *fixed, *kept, *(elements[a.kept_pat[k].name] for k in stay)),
        merge_prov(b.prov, a.prov if a.fixed or stay else ()),
    )
    returns = (*a.fixed_types, *b.fixed_types, *b.kept_types, *(a.kept_types[k] for k in stay))
    pat = (*a.fixed_pat, *b.fixed_pat, *b.kept_pat, *(a.kept_pat[k] for k in stay))
    fn = ir.Lambda(tuple(params), body, returns)
    exp = _build(kind, a.width, (*a.ops, *b.ops), fn, tuple(arrays))
    return ir.Stm(pat, exp, merge_prov(second.prov, first.prov))


def _bind(
    param: ir.Param,
    value: ir.Operand,
    prov: Prov,
    mapping: dict[Name, Replacement],
    binds: list[ir.Stm],
) -> ir.Operand:
    """Bind the reader's parameter to the element that the producer computed; return its name."""
    if isinstance(value, str) or walk.se_parts(value) == ():
        mapping[param.name] = value
        return value
    binds.append(ir.Stm((param,), value, prov))
    assert isinstance(param.type, ir.Scalar)
    return ir.Var(param.name, param.type.prim)


def _build(
    kind: type, width: Poly, ops: tuple[object, ...], fn: ir.Lambda, arrays: tuple[Name, ...]
) -> ir.Soac:
    made: ir.Soac = kind(width, fn, arrays) if kind is ir.Map else kind(width, ops, fn, arrays)
    return made
