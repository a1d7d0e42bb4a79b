"""The numbered conditions of fusion, one function each.

1. `viewed_between`: the reader takes the array itself, not a transposed or sliced view of it; then
   both have the same width, since sizes are part of types.
2. `reads_by_element`: the reader takes the producer's results as inputs, element by element, and
   does not index them.
3. `nothing_between`: no third statement needs the producer and is needed by the reader; this
   covers arrays that are overwritten in between.
4. `can_keep`: arrays with other users can be results of the merged operator.
5. `no_overwrite`: the reader does not overwrite an array that the producer reads.
6. `fits_a_block`: shared memory suffices for the combined values of both.

Each returns None if it holds, else a `Missed` with the reason.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.names import base_of
from compiler.base.prim import BYTES
from compiler.base.remarks import Missed
from compiler.base.target import TILE_BYTES, TILE_THREADS
from compiler.ir import nodes as ir
from compiler.ir.types import prim_type, shape_of
from compiler.optimise.fuse.graph import Graph, Node
from compiler.optimise.fuse.merge import produced


def viewed_between(graph: Graph, first: Node) -> Missed | None:
    """Check condition 1, for a view `first` of a parallel operator's result."""
    view = first.stm.exp
    if not isinstance(view, (ir.Rearrange, ir.Slice, ir.Reshape)):
        return None
    source = graph.definer.get(view.array)
    if source is None or not isinstance(source.stm.exp, ir.Map):
        return None
    how = {ir.Rearrange: "transposed", ir.Slice: "cut", ir.Reshape: "reshaped"}[type(view)]
    hint = {ir.Rearrange: "Transpose the inputs instead.", ir.Slice: "Slice the inputs instead."}
    return Missed(
        f"`{base_of(view.array)}` is {how} before it is read, so its elements are read "
        "in another order than they are computed.",
        hint.get(type(view), ""),
    )


def reads_by_element(first: Node, second: Node, name: str) -> Missed | None:
    """Check condition 2."""
    inside = second.inside()
    for made in first.stm.pat:
        if made.name in inside:
            return Missed(
                f"The reader also reads elements of `{base_of(made.name)}` other than "
                "its own, so all of it must be computed first."
            )
    return None


def nothing_between(graph: Graph, first: Node, second: Node, name: str) -> Missed | None:
    """Check condition 3."""
    between = graph.path(first, second)
    if between is None:
        return None
    what = names_of(between.stm)
    if graph.overwritten_between(first, second):
        return Missed(
            f"An array that `{base_of(name)}` is computed from is overwritten before "
            f"`{base_of(name)}` is read.",
            "Compute it after the update, or update a copy.",
        )
    return Missed(
        f"{what} needs all of `{base_of(name)}` and is needed by its reader, so "
        f"`{base_of(name)}` must be computed first."
    )


def can_keep(second: Node, needed: set[str]) -> Missed | None:
    """Check condition 4."""
    if not needed or not isinstance(second.stm.exp, ir.Hist | ir.Stream):
        return None
    what = ", ".join(f"`{base_of(name)}`" for name in sorted(needed))
    kind = "histogram" if isinstance(second.stm.exp, ir.Hist) else "stream"
    return Missed(f"{what} is also needed elsewhere, and a {kind} has no other results.")


def no_overwrite(graph: Graph, first: Node, second: Node, name: str) -> Missed | None:
    """Check condition 5."""
    taken = graph.overwrites.get(second)
    if not taken:
        return None
    for read in sorted(first.reads):
        if graph.classes.find(read) in taken:
            return Missed(
                f"`{base_of(name)}` is computed from `{base_of(read)}`, which its reader "
                "overwrites.",
                "Update a copy.",
            )
    return None


_ROOM = {ir.Scan: TILE_BYTES // (3 * TILE_THREADS), ir.Reduce: TILE_BYTES // 32}
"""Maximum combined bytes of scans or reductions over one array: for a scan, a thread block
shares three elements per thread; for a reduction, one per lane of a warp (32)."""


def fits_a_block(first: ir.Stm, second: ir.Stm) -> Missed | None:
    """Check condition 6, regardless of the target, so that all share the stage `fused`."""
    one, other = first.exp, second.exp
    if not isinstance(one, ir.Fold) or type(one) is not type(other):
        return None
    need, room = _combined(one) + _combined(other), _ROOM[type(one)]
    if need <= room:
        return None
    return Missed(
        f"{names_of(first)} and {names_of(second)} in one pass would need {need} bytes of shared "
        f"memory per element, but a block of threads has room for {room}."
    )


def _combined(exp: ir.Soac) -> int:
    """Return the bytes that the operators of a scan or reduction combine per element."""
    ops = exp.ops if isinstance(exp, ir.Fold) else ()
    return sum(BYTES[prim_type(kind)] for op in ops for kind in op.fn.returns)


# --- words -----------------------------------------------------------------------------------


def show(size: Poly) -> str:
    """Format a size in source names."""
    return str(size.subst({name: Poly.var(base_of(name)) for name in size.names()}))


def bytes_of(kind: ir.Type) -> Poly:
    """Return the size of an array in bytes."""
    return Poly.product((Poly.const(BYTES[kind.prim]), *shape_of(kind)))


def names_of(stm: ir.Stm) -> str:
    """Format the names that a statement binds, in source names."""
    if not stm.pat:
        return "A check"
    given = [base_of(param.name) for param in stm.pat[:_MAX_NAMED]]
    words = [f"`{name}`" for name in given if name not in _MADE_UP]
    if len(words) < len(given):
        words.append(_WORDS.get(type(stm.exp), "the result"))
    if len(stm.pat) > _MAX_NAMED:
        words.append(f"{len(stm.pat) - _MAX_NAMED} more")
    return ", ".join(words)


_MAX_NAMED = 5
_MADE_UP = frozenset(("r", "red", "map", "res", "scan"))
"""Names given to unnamed results."""

_WORDS = {cls: ir.CORE.trait("called")[cls] for cls in ir.Soac.__args__}
_WORDS[ir.Map] = "the map's result"


def format_bytes(graph: Graph, arrays: set[str]) -> str:
    """Format the total bytes of arrays, in source names."""
    total = Poly.const(0)
    for name in arrays:
        for param in graph.definer[name].stm.pat:
            if param.name == name and isinstance(param.type, ir.Array):
                total = total + bytes_of(param.type)
    return show(total)


def is_made(stm: ir.Stm, name: str) -> bool:
    """True if the operator that binds `name` computes it element by element."""
    return name in produced(stm)
