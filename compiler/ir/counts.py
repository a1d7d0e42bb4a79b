"""Count operators, allocations and copies of a program."""

from __future__ import annotations

from typing import get_args

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes
from compiler.ir import nodes as ir
from compiler.ir.known import Known
from compiler.ir.sizes import poly_of
from compiler.ir.slices import sliced_poly
from compiler.ir.walk import all_stms

_COUNTED: dict[type, str] = {
    cls: cls.__name__.lower()
    for cls in (
        *get_args(nodes.Soac),
        *get_args(nodes.SegOp),
        nodes.Loop,
        nodes.If,
        nodes.Alloc,
        nodes.Assert,
        nodes.Call,
        nodes.Apply,
        nodes.Threshold,
        nodes.Iota,
        nodes.Replicate,
        nodes.Concat,
        nodes.Update,
        nodes.Index,
        nodes.Slice,
        nodes.Rearrange,
        nodes.Reshape,
    )
}


def counts(prog: ir.Prog) -> dict[str, int]:
    """Return the number of statements of each kind, by lower-case class name, and `copy`.

    A copy is a statement that moves an array's elements: a `Copy`, an update with an array, a
    concatenation; with memory, those (and kernel results) whose source is not already at the place
    of the result.
    """
    found = dict.fromkeys((*_COUNTED.values(), "copy"), 0)
    types = types_of(prog)
    known = Known()
    for fun in prog.funs:
        for stm in all_stms(fun.body.stms):
            kind = _COUNTED.get(type(stm.exp))
            if kind is not None:
                found[kind] += 1
            elif isinstance(stm.exp, nodes.SE_NODES) and stm.pat[0].type == nodes.I64:
                known.define(stm.pat[0].name, stm.exp)
            if is_copy(stm, types, known):
                found["copy"] += 1
    return found


def types_of(prog: ir.Prog) -> dict[Name, ir.Type]:
    """Return the type of every name that has memory."""
    found: dict[Name, ir.Type] = {}
    for fun in prog.funs:
        for param in fun.params:
            found[param.name] = param.type
        for stm in all_stms(fun.body.stms):
            for param in stm.pat:
                found[param.name] = param.type
            if isinstance(stm.exp, nodes.Loop):
                for param in stm.exp.params:
                    found[param.name] = param.type
    return found


def is_copy(stm: ir.Stm, types: dict[Name, ir.Type], known: Known) -> bool:
    """True if a statement moves an array's elements; `types` are those of all arrays."""
    exp = stm.exp
    if isinstance(exp, ir.SegMapping):
        return _moves_result(stm, exp, types, known)
    if not isinstance(exp, ir.Copy | ir.Concat | ir.Update | ir.Reshape):
        return False
    target = _binding(stm.pat[0].name, types)
    if isinstance(exp, ir.Update):
        if not isinstance(exp.value, str):
            return False
        return not _at(target, exp.dims, _binding(exp.value, types), known)
    if target is None:
        return not isinstance(exp, ir.Reshape)
    if isinstance(exp, ir.Copy):
        source = _binding(exp.array, types)
        return source is None or not known.equal_bindings(target, source)
    if isinstance(exp, ir.Reshape):
        source = _binding(exp.array, types)
        return source is not None and source.block != target.block
    return not _joined(target, exp, types, known)


def _binding(name: Name, types: dict[Name, ir.Type]) -> ir.MemBind | None:
    kind = types.get(name)
    return kind.mem if isinstance(kind, ir.Array) else None


def _at(
    target: ir.MemBind | None, dims: tuple[ir.DimIndex, ...], part: ir.MemBind | None, known: Known
) -> bool:
    """True if an array is bound exactly to that slice of another one."""
    if target is None or part is None or target.block != part.block:
        return False
    lmad = sliced_poly(target.lmad, dims)
    return lmad is not None and known.equal_bindings(ir.MemBind(target.block, lmad), part)


def _joined(target: ir.MemBind, exp: ir.Concat, types: dict[Name, ir.Type], known: Known) -> bool:
    """True if all operands of a concatenation are already in place."""
    start = Poly.const(0)
    for name in exp.arrays:
        kind = types.get(name)
        if not isinstance(kind, ir.Array) or kind.mem is None or kind.mem.block != target.block:
            return False
        part: Lmad[Poly] = target.lmad.slice(0, start, kind.shape[0], Poly.const(1))
        if not known.equal_bindings(ir.MemBind(target.block, part), kind.mem):
            return False
        start = start + kind.shape[0]
    return True


def _moves_result(
    stm: ir.Stm, exp: ir.SegMapping, types: dict[Name, ir.Type], known: Known
) -> bool:
    """True if a thread copies an array into its row of a result (only with memory)."""
    skip = 0 if isinstance(exp, ir.SegMap) else sum(len(op.neutral) for op in exp.ops)
    indices = tuple(Poly.var(index) for index, _ in exp.space.dims)
    for param, result in zip(stm.pat[skip:], exp.body.results[skip:], strict=True):
        target = param.type.mem if isinstance(param.type, ir.Array) else None
        if target is None:
            continue
        if isinstance(result, ir.Write):
            if any(_moves_write(target, at, value, types, known) for at, value in result.writes):
                return True
        elif isinstance(result, str):
            source = _binding(result, types)
            row = target.row(*indices)
            if source is None or not known.equal_bindings(row, source):
                return True
    return False


def _moves_write(
    target: ir.MemBind,
    at: tuple[nodes.SE, ...],
    value: ir.Operand,
    types: dict[Name, ir.Type],
    known: Known,
) -> bool:
    if not isinstance(value, str):
        return False
    source = _binding(value, types)
    indices = [poly_of(index) for index in at]
    if source is None or any(p is None for p in indices):
        return True
    row = target.row(*(p for p in indices if p is not None))
    return not known.equal_bindings(row, source)
