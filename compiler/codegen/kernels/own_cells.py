"""Recognise kernels that access only cells of their own points, valid even after failed checks.

In a copy, or a map over arrays as long as its points, no index depends on a checked number: it is
the number of the point, and the block has as many cells as there are points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import bodies, holds_block
from compiler.codegen.index import product, row_major
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.threads import POINT, i64
from compiler.codegen.stm_uses import StmUses, cell_access
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


_PLAIN = imp.Define | imp.Declare | imp.Assign | imp.Load | imp.Store | imp.If | imp.Assert


def _is_own(stm: imp.Stm, dims: Sequence[tuple[Name, SE]], counts: Counts) -> bool:
    """True if a statement, with those nested in it, cannot fail and accesses own cells only."""
    if not isinstance(stm, _PLAIN | k.Fetch | k.Scope) or holds_block(stm):
        return False
    needed = [stm.cond] if isinstance(stm, imp.Assert) else StmUses(stm).expressions
    cells = cell_access(stm)
    if cells and not _is_there(cells.block, cells.at, dims, counts):
        return False
    inside = (one for body in bodies(stm) for one in body)
    return all(map(cannot_fail, needed)) and all(_is_own(one, dims, counts) for one in inside)


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
