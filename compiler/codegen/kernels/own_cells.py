"""Recognise kernels that access only cells of their own points, valid even after failed checks.

In a copy, or a map over arrays as long as its points, no index depends on a checked number: it is
the number of the point, and the block has as many cells as there are points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import product, row_major
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.threads import POINT, i64
from compiler.codegen.traits import reads
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import SE, Var
from compiler.ir.sizes import poly_of

Counts = Mapping[Name, Sequence[Poly]]
"""Numbers of cells of the blocks that a name may mean; absent names are unknown."""


def of_own_points(kernel: k.Kernel, counts: Counts) -> bool:
    """True if each access is to a cell of the thread's point, and nothing else can fail."""
    match kernel.body:
        case (imp.Define(name=point), k.Exit(cond=end), *body) if point == POINT:
            dims, others = _dims(body, end)
            return all(_is_own(stm, dims, counts) for stm in others)
    return False


def _dims(
    body: Sequence[imp.Stm], end: SE
) -> tuple[tuple[tuple[Name, SE], ...], Sequence[imp.Stm]]:
    """Return the dimensions of the points, each with its index, and the statements after them."""
    match body:
        case (k.Indices(dims=dims, flat=Var(name=flat)), *rest) if flat == POINT:
            return dims, rest
    return ((POINT, getattr(end, "rhs", i64(POINT))),), body


def _is_own(stm: imp.Stm, dims: Sequence[tuple[Name, SE]], counts: Counts) -> bool:
    match stm:
        case imp.Define(value=value) | imp.Assign(value=value):
            return not isinstance(value, str) and cannot_fail(value)
        case imp.Declare(value=value):
            return value is None or (not isinstance(value, str) and cannot_fail(value))
        case imp.Load(block=block, at=at) | k.Fetch(block=block, at=at):
            return _is_there(block, at, dims, counts)
        case imp.Store(block=block, at=at, value=value):
            return cannot_fail(value) and _is_there(block, at, dims, counts)
        case imp.If(cond=cond, then=then, orelse=orelse):
            return cannot_fail(cond) and all(_is_own(s, dims, counts) for s in (*then, *orelse))
        case imp.Assert(cond=cond):
            return cannot_fail(cond)
        case k.Scope(body=body):
            return all(_is_own(s, dims, counts) for s in body)
    return False


def _is_there(block: Name, at: SE, dims: Sequence[tuple[Name, SE]], counts: Counts) -> bool:
    """True if an index numbers the points of some dimensions, and the block has a cell for each."""
    place, known = poly_of(at), counts.get(block, ())
    if place is None or not known:
        return False
    return any(
        place == cells and all(count == size for count in known)
        for cells, size in _counted(dims, reads(at))
    )


def _counted(dims: Sequence[tuple[Name, SE]], used: set[Name]) -> Iterator[tuple[Poly, Poly]]:
    """Yield the flat index and total size over the dimensions that an index uses, and over all."""
    chosen = [(name, size) for name, size in dims if name in used]
    for some in (chosen, dims):
        size = poly_of(product([size for _, size in some]))
        flat = poly_of(row_major([i64(name) for name, _ in some], [size for _, size in some]))
        if size is not None and flat is not None:
            yield flat, size
            if some is dims:
                yield Poly.var(POINT), size
