"""Describe memory layout as plain data for pictures and tables.

It covers blocks, arrays, cells and threads. Names are the program's own; pictures give them values.
Lists of cells are cut at a limit, and marked as incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from compiler.algebra.as_data import plain, plain_cells
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.errors import UsageError
from compiler.base.names import Called, Name, base_of
from compiler.base.prim import BYTES
from compiler.base.spans import Prov, user_spans
from compiler.explain.thread_cells import touches
from compiler.ir import nodes as ir
from compiler.ir.known import Known
from compiler.ir.walk import all_stms
from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import names_in
from compiler.protocol.storage import ArrayInfo, BlockInfo, KernelInfo, MemoryFunction
from compiler.semantics.indices import all_indices
from compiler.storage.blocks import made_by_call

LIMIT = 4096
"""The most cells, or pairs of a thread and a cell, in one answer."""


def describe(prog: ir.Prog, called: Called = base_of) -> list[MemoryFunction]:
    """Describe each function's blocks, arrays and kernels, in program order.

    `called` names them for display.
    """
    return [_function(fun, called) for fun in prog.funs]


def _function(fun: ir.Function, called: Called) -> MemoryFunction:
    known = _definitions(fun)
    blocks: list[BlockInfo] = []
    arrays: list[ArrayInfo] = []
    kernels: list[KernelInfo] = []
    for param, prov, by in _params(fun):
        kind = param.type
        if isinstance(kind, ir.Mem):
            blocks.append(_block(param, kind, by, prov))
        elif isinstance(kind, ir.Array) and kind.mem is not None:
            arrays.append(_array(param, kind, known, prov, called))
    for stm in all_stms(fun.body.stms):
        if isinstance(stm.exp, ir.SegOp) and stm.pat:
            kernels.append(_kernel(stm, stm.exp))
    return {
        "name": fun.name,
        "names": {name: called(name) for name in names_in([*blocks, *arrays, *kernels])},
        "blocks": blocks,
        "arrays": arrays,
        "kernels": kernels,
    }


def _params(fun: ir.Function) -> Iterator[tuple[ir.Param, Prov, ir.Stm | str]]:
    """Yield every name with its type, provenance, and the statement or role that binds it."""
    for param in fun.params:
        yield param, fun.prov, "parameter"
    for stm in all_stms(fun.body.stms):
        if isinstance(stm.exp, ir.Loop):
            for param in stm.exp.params:
                yield param, stm.prov, "carried"
        for param in stm.pat:
            yield param, stm.prov, stm


def _block(param: ir.Param, kind: ir.Mem, by: ir.Stm | str, prov: Prov) -> BlockInfo:
    count = None if isinstance(by, str) else _count(param.name, by)
    return {
        "name": param.name,
        "prim": kind.prim,
        "space": kind.space,
        "count": None if count is None else plain(count),
        "bytes": None if count is None else plain(count * BYTES[kind.prim]),
        "kind": "alloc" if count is not None else "parameter" if by == "parameter" else "carried",
        "src": user_spans(prov),
    }


def _count(block: Name, stm: ir.Stm) -> Poly | None:
    """Return the number of elements of a block if the statement makes it; else None."""
    return stm.exp.count if isinstance(stm.exp, ir.Alloc) else made_by_call(stm).get(block)


def _array(param: ir.Param, kind: ir.Array, known: Known, prov: Prov, called: Called) -> ArrayInfo:
    assert kind.mem is not None
    lmad = known.normal_lmad(kind.mem.lmad)
    return {
        "name": param.name,
        "base": called(param.name),
        "prim": kind.prim,
        "shape": [plain(size) for size in kind.shape],
        "block": kind.mem.block,
        "lmad": plain_cells(kind.mem.lmad),
        "symbols": sorted(lmad.names()),
        "src": user_spans(prov),
    }


def _kernel(stm: ir.Stm, exp: ir.SegOp) -> KernelInfo:
    return {
        "name": stm.pat[0].name,
        "kind": type(exp).__name__.lower(),
        "level": exp.level,
        "space": [{"index": index, "bound": plain(bound)} for index, bound in exp.space.dims],
        "src": user_spans(stm.prov),
    }


def _definitions(fun: ir.Function) -> Known:
    """Return the definitions of sizes and indices, so that pictures need fewer values."""
    known = Known()
    for stm in all_stms(fun.body.stms):
        if len(stm.pat) == 1 and stm.pat[0].type == ir.I64 and isinstance(stm.exp, ir.SE_NODES):
            known.define(stm.pat[0].name, stm.exp)
    return known


# --- one array ---


def cells(prog: ir.Prog, array: Name, values: Mapping[Name, int], limit: int = LIMIT) -> Json:
    """Map each element of an array to its cell.

    Return block, lmad (numbers), shape, cells (pairs of index and cell), first and last cell,
    complete. Raises UsageError for an unknown array, missing values and negative sizes.
    """
    fun, kind = _find(prog, array)
    assert kind.mem is not None
    lmad = _concrete(_definitions(fun).normal_lmad(kind.mem.lmad), values)
    shown = islice(all_indices(lmad.shape), limit)
    pairs = [{"index": list(at), "cell": lmad.index(*at)} for at in shown]
    normal = [stride * (size - 1) for size, stride in zip(lmad.shape, lmad.strides, strict=True)]
    first = lmad.offset + sum(min(0, reach) for reach in normal)
    return {
        "array": array,
        "block": kind.mem.block,
        "lmad": plain_cells(lmad),
        "shape": list(lmad.shape),
        "cells": pairs,
        "first": first,
        "last": lmad.offset + sum(max(0, reach) for reach in normal),
        "complete": len(pairs) == lmad.size,
    }


def _find(prog: ir.Prog, array: Name) -> tuple[ir.Function, ir.Array]:
    names: list[Name] = []
    for fun in prog.funs:
        for param, _, _ in _params(fun):
            if isinstance(param.type, ir.Array) and param.type.mem is not None:
                if param.name == array:
                    return fun, param.type
                names.append(param.name)
    raise UsageError(f"There is no array `{array}`.", hint=f"There are {', '.join(names)}.")


def _concrete(lmad: Lmad[Poly], values: Mapping[Name, int]) -> Lmad[int]:
    missing = sorted(lmad.names() - values.keys())
    if missing:
        raise UsageError(f"Give values for {', '.join(missing)}.")
    found = lmad.evaluate(values)
    for size in found.shape:
        if size < 0:
            raise UsageError(f"These values make a size negative: {size}.")
    return found


# --- one kernel ---


def threads(prog: ir.Prog, kernel: Name, values: Mapping[Name, int], limit: int = LIMIT) -> Json:
    """Return the cells that each point of a kernel reads and writes, by the index functions.

    `kernel` is the name of its first result. Return space and accesses, see `thread_cells.touches`.
    """
    fun, stm, exp = _find_kernel(prog, kernel)
    kinds = ((param.name, param.type) for param, _, _ in _params(fun))
    mems = {name: kind.mem for name, kind in kinds if isinstance(kind, ir.Array) and kind.mem}
    space = [{"index": index, "bound": plain(bound)} for index, bound in exp.space.dims]
    found = touches(stm, exp, mems, _definitions(fun), values, limit)
    return {"kernel": kernel, "space": space, "accesses": found}


def _find_kernel(prog: ir.Prog, kernel: Name) -> tuple[ir.Function, ir.Stm, ir.SegOp]:
    names: list[Name] = []
    for fun in prog.funs:
        for stm in all_stms(fun.body.stms):
            if isinstance(stm.exp, ir.SegOp) and stm.pat:
                if any(param.name == kernel for param in stm.pat):
                    return fun, stm, stm.exp
                names.append(stm.pat[0].name)
    raise UsageError(f"There is no kernel `{kernel}`.", hint=f"There are {', '.join(names)}.")
