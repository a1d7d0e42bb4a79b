"""Simplify indexing, views and copies: read through them, compose views.

A rule gets an expression with simplified operands and returns its replacement: another expression,
or `Same(array)` for an existing array. Reading through a view is always allowed, since a view
cannot be used after its array was consumed. Reading through a copy is not: the array may have been
overwritten since, so it must never be consumed.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import NodeRule
from compiler.ir import nodes as ir
from compiler.ir.may_fail import cannot_fail
from compiler.ir.sizes import se_of
from compiler.ir.slices import composed, selected, source_indices
from compiler.optimise.simplify.scalars import refold
from compiler.optimise.simplify.state import State


@dataclass(frozen=True, slots=True)
class Same:
    """The existing array `array`."""

    array: Name


New = ir.Exp | Same
View = ir.Slice | ir.Rearrange | ir.Reshape


def i64(op: str, lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    """Return `lhs op rhs`, folded."""
    return refold(ir.Bin(op, "i64", lhs, rhs))


def _times(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    return i64("*", lhs, rhs)


def _plus(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    return i64("+", lhs, rhs)


# --- one element -----------------------------------------------------------------------------


def index_of_view(s: State, stm: ir.Stm, exp: ir.Index) -> Outcome[New]:
    """`(view of xs)[i..] ==> xs[where element i.. of the view lies]`."""
    match s.defs.get(exp.array):
        case ir.Slice(source, dims):
            return _read(source, source_indices(dims, exp.at, _times, _plus))
        case ir.Rearrange(perm, source):
            at = list(exp.at)
            for position, dim in enumerate(perm):
                at[dim] = exp.at[position]
            return _read(source, tuple(at))
        case ir.Reshape(_, source):
            inner = s.types.get(source)
            outer = s.types.get(exp.array)
            if inner is None or outer is None:
                return None
            if inner.rank == outer.rank == 1:
                return _read(source, exp.at)
            moved = reshaped(inner.shape, outer.shape, exp.at)
            if moved is None and isinstance(s.defs.get(source), ir.Replicate):
                moved = divided(inner.shape, outer.shape, exp.at)
            return None if moved is None else _read(source, moved)
    return None


def index_of_made(s: State, stm: ir.Stm, exp: ir.Index) -> Outcome[New]:
    """`(iota n)[i] ==> i`; `(replicate n x)[i] ==> x`; `[a, b][1] ==> b`."""
    name = base_of(exp.array)
    delayed = s.delayed.get(exp.array)
    if delayed is not None:
        said = f"`{name}` is a short formula, so it is computed here instead of read."
        return Applied(delayed.element(exp.at[0]), said)
    match s.defs.get(exp.array):
        case ir.Iota(_, start, step, prim):
            at = refold(ir.Conv("i64", prim, exp.at[0]))
            value = refold(ir.Bin("+", prim, refold(ir.Bin("*", prim, at, step)), start))
            return Applied(value, f"Computes element i of `{name}` from i instead of reading it.")
        case ir.Replicate(shape, value):
            rest = exp.at[len(shape) :]
            if not rest:
                return None if isinstance(value, str) else Applied(value, _known(name))
            if isinstance(value, str) and value not in s.unique:
                return _read(value, rest)
        case ir.ArrayLit(elems) if type(exp.at[0]) is ir.Lit and 0 <= exp.at[0].value < len(elems):
            elem = elems[int(exp.at[0].value)]
            if not isinstance(elem, str):
                return Applied(elem, _known(name))
            if elem not in s.unique:
                return _read(elem, exp.at[1:])
        case ir.Concat(arrays):
            return _index_of_concat(s, exp, arrays)
        case ir.Copy(source) if source not in s.unique:
            return _read(source, exp.at)
        case ir.Update(_, dims, value) if not isinstance(value, str):
            if dims == tuple(map(ir.DimFix, exp.at)):
                return Applied(value, f"`{name}` was given this value at this index just before.")
    return None


def _index_of_concat(s: State, exp: ir.Index, arrays: tuple[Name, ...]) -> Outcome[New]:
    """Rewrite `(xs ++ ys)[i] ==> xs[i] or ys[i - n]`, where i provably lies in one of them."""
    before = Poly.const(0)
    for array in arrays:
        kind = s.types.get(array)
        if kind is None or array in s.unique:
            return None
        at = i64("-", exp.at[0], se_of(before)) if before.terms else exp.at[0]
        if s.facts.within(at, kind.shape[0]):
            return _read(array, (at, *exp.at[1:]))
        before = before + kind.shape[0]
    return None


def _read(array: Name, at: tuple[ir.SE, ...]) -> Applied[New]:
    return Applied(ir.Index(array, at), f"Reads the element from `{base_of(array)}` directly.")


def _known(name: str) -> str:
    return f"The elements of `{name}` are known, so nothing is read."


def reshaped(
    inner: tuple[Poly, ...], outer: tuple[Poly, ...], at: tuple[ir.SE, ...]
) -> tuple[ir.SE, ...] | None:
    """Return the index in an array of shape `inner` of element `at` of its reshape to `outer`.

    None if that needs divisions: where several dimensions become several others.
    """
    result: list[ir.SE] = []
    i, o = 0, 0
    while i < len(inner) or o < len(outer):
        if i < len(inner) and o < len(outer) and inner[i] == outer[o]:
            result.append(at[o])
            i, o = i + 1, o + 1
        elif i < len(inner) and inner[i] == 1:
            result.append(ir.ZERO)
            i += 1
        elif i < len(inner):
            flat, o = _flatten(inner[i], outer, at, o)
            if flat is None:
                return None
            result.append(flat)
            i += 1
        elif outer[o] == 1:
            o += 1
        else:
            return None
    return tuple(result)


def divided(
    inner: tuple[Poly, ...], outer: tuple[Poly, ...], at: tuple[ir.SE, ...]
) -> tuple[ir.SE, ...]:
    """Return that index using divisions: cheaper than an array whose rows are all equal."""
    flat: ir.SE = ir.ZERO
    for size, index in zip(outer, at, strict=True):
        flat = i64("+", i64("*", flat, se_of(size)), index)
    found: list[ir.SE] = []
    for size in reversed(inner[1:]):
        found.append(i64("%%", flat, se_of(size)))
        flat = i64("//", flat, se_of(size))
    return (flat, *reversed(found))


def _flatten(
    size: Poly, outer: tuple[Poly, ...], at: tuple[ir.SE, ...], start: int
) -> tuple[ir.SE | None, int]:
    """Return the row-major index over the dimensions of `outer` that make up `size`."""
    flat: ir.SE = ir.ZERO
    covered = Poly.const(1)
    for o in range(start, len(outer)):
        flat = i64("+", i64("*", flat, se_of(outer[o])), at[o])
        covered = covered * outer[o]
        if covered == size:
            return flat, o + 1
    return None, start


# --- views -----------------------------------------------------------------------------------


def view_of_view(s: State, stm: ir.Stm, exp: View) -> Outcome[New]:
    """A slice of a slice, a rearrangement of one, a reshape of one ==> a single one."""
    match exp, s.defs.get(exp.array):
        case ir.Slice(_, outer), ir.Slice(source, inner):
            return _one_view(ir.Slice(source, composed(inner, outer, _times, _plus)), source)
        case ir.Rearrange(outer_perm, _), ir.Rearrange(inner_perm, source):
            perm = tuple(inner_perm[p] for p in outer_perm)
            return _one_view(ir.Rearrange(perm, source), source)
        case ir.Reshape(shape, _), ir.Reshape(_, source) if keeps_count(s, source, shape):
            return _one_view(ir.Reshape(shape, source), source)
    return None


def keeps_count(s: State, array: Name, shape: tuple[Poly, ...]) -> bool:
    """True if an array has as many elements as that shape, without any assertion."""
    kind = s.types.get(array)
    return kind is not None and Poly.product(kind.shape) == Poly.product(shape)


def _one_view(exp: ir.Exp, source: Name) -> Applied[New]:
    return Applied(exp, f"Two views of `{base_of(source)}` become one.")


def view_of_made(s: State, stm: ir.Stm, exp: View) -> Outcome[New]:
    """A slice, rearrangement or reshape of `replicate`, a slice of `iota` ==> a smaller one."""
    if exp.array in s.unique:
        return None
    match exp, s.defs.get(exp.array):
        case ir.Slice(name, (ir.DimSlice(start, count, stride),)), ir.Iota(_, first, step, prim):
            by = refold(ir.Conv("i64", prim, stride))
            begin = refold(ir.Bin("*", prim, refold(ir.Conv("i64", prim, start)), step))
            begin = refold(ir.Bin("+", prim, begin, first))
            made = ir.Iota(count, begin, refold(ir.Bin("*", prim, by, step)), prim)
            return Applied(
                made, f"Computes a part of `{base_of(name)}` by the formula of the whole."
            )
        case ir.Slice(name, dims), ir.Replicate(shape, value) if len(shape) == len(dims):
            part = ir.Replicate(selected(dims), value)
            return Applied(part, f"A part of `{base_of(name)}` has the same elements as the whole.")
        case ir.Rearrange(perm, name), ir.Replicate(shape, value) if len(shape) == len(perm):
            sizes = tuple(shape[p] for p in perm)
            return Applied(
                ir.Replicate(sizes, value), f"All elements of `{base_of(name)}` are equal."
            )
        case ir.Reshape(shape, name), ir.Replicate(_, value) if not isinstance(value, str):
            return Applied(
                ir.Replicate(shape, value), f"All elements of `{base_of(name)}` are equal."
            )
    return None


def full_view(s: State, stm: ir.Stm, exp: View) -> Outcome[New]:
    """`xs[0:n] ==> xs`; `rearrange by (0, 1, ..) ==> xs`; `reshape to the same shape ==> xs`."""
    match exp:
        case ir.Slice(array, dims):
            kind = s.types.get(array)
            if kind is not None and all(_is_full(*d) for d in zip(dims, kind.shape, strict=True)):
                return _same(array)
        case ir.Rearrange(perm, array) if perm == tuple(range(len(perm))):
            return _same(array)
        case ir.Reshape(shape, array):
            kind = s.types.get(array)
            if kind is not None and kind.shape == shape:
                return _same(array)
    return None


def _is_full(dim: ir.DimIndex, size: Poly) -> bool:
    return (
        isinstance(dim, ir.DimSlice)
        and dim.count == size
        and dim.start == ir.ZERO
        and dim.stride == ir.ONE
    )


def _same(array: Name) -> Applied[New]:
    return Applied(Same(array), f"This view is all of `{base_of(array)}`.")


# --- copies ----------------------------------------------------------------------------------


def copy_of(s: State, stm: ir.Stm, exp: ir.Copy) -> Outcome[New]:
    """`copy xs ==> xs`, where neither is overwritten; `copy (replicate n x) ==> replicate n x`.

    Also where this is the only use of `xs`, which was made in the same body.
    """
    array = exp.array
    if array not in s.unique and stm.pat[0].name not in s.unique:
        return Applied(Same(array), f"Neither `{base_of(array)}` nor its copy is ever overwritten.")
    if s.fresh.get(array) == s.depth and s.counts.get(array) == 1:
        s.unique.add(array)
        return Applied(
            Same(array),
            f"Nothing else needs `{base_of(array)}`, so it takes the place of its copy.",
        )
    made = s.defs.get(array)
    if isinstance(made, ir.Iota) or (
        isinstance(made, ir.Replicate) and not isinstance(made.value, str)
    ):
        return Applied(made, f"Computes `{base_of(array)}` again instead of copying it.")
    return None


def replicate_of(s: State, stm: ir.Stm, exp: ir.Replicate) -> Outcome[New]:
    """`replicate n (replicate m x) ==> replicate n m x`."""
    made = s.defs.get(exp.value) if isinstance(exp.value, str) else None
    if not isinstance(made, ir.Replicate):
        return None
    all_equal = ir.Replicate((*exp.shape, *made.shape), made.value)
    return Applied(all_equal, "All rows are equal and so are their elements, so no row is made.")


def join_concats(s: State, stm: ir.Stm, exp: ir.Concat) -> Outcome[New]:
    """`concat (concat a b) c ==> concat a b c`; without empty parts."""
    parts: list[Name] = []
    for array in exp.arrays:
        inner = s.defs.get(array)
        if (
            isinstance(inner, ir.Concat)
            and array not in s.unique
            and s.unique.isdisjoint(inner.arrays)
        ):
            parts.extend(inner.arrays)
        elif array not in s.types or s.types[array].shape[0] != 0:
            parts.append(array)
    if parts == list(exp.arrays):
        return None
    if not parts:
        return None
    return Applied(ir.Concat(tuple(parts)), "Concatenates the arrays once, not twice.")


def is_in_bounds(s: State, exp: ir.Index | ir.Slice | ir.Update, limit: int) -> bool:
    """True if an access is in bounds by the facts of depth `limit`."""
    kind = s.types.get(exp.array)
    if kind is None:
        return False
    if isinstance(exp, ir.Index):
        pairs = zip(exp.at, kind.shape, strict=True)
        return all(cannot_fail(at) and s.facts.within(at, size, limit) for at, size in pairs)
    return all(
        _dim_in_bounds(s, d, size, limit) for d, size in zip(exp.dims, kind.shape, strict=True)
    )


def _dim_in_bounds(s: State, dim: ir.DimIndex, size: Poly, limit: int) -> bool:
    if isinstance(dim, ir.DimFix):
        return cannot_fail(dim.at) and s.facts.within(dim.at, size, limit)
    if isinstance(dim, ir.DimLmad):
        return False
    if dim.start == ir.ZERO and dim.stride == ir.ONE and dim.count == size:
        return True
    if not cannot_fail(dim.start) or not cannot_fail(dim.stride):
        return False
    return s.facts.slice_within(dim.start, dim.count, dim.stride, size, limit)


_VIEWS = (ir.Slice, ir.Rearrange, ir.Reshape)
RULES = (
    NodeRule(
        "simplify/index-view",
        "Reads an element of a view from the array under it.",
        (ir.Index,),
        index_of_view,
    ),
    NodeRule(
        "simplify/index-known",
        "Uses a known element instead of reading it.",
        (ir.Index,),
        index_of_made,
    ),
    NodeRule(
        "simplify/view-whole", "Replaces a view of a whole array by the array.", _VIEWS, full_view
    ),
    NodeRule(
        "simplify/view-view", "Combines a view of a view into one view.", _VIEWS, view_of_view
    ),
    NodeRule(
        "simplify/view-known",
        "Computes a slice of an array that is computed from its index in the same way.",
        _VIEWS,
        view_of_made,
    ),
    NodeRule(
        "simplify/copy",
        "Removes copies of arrays that are never overwritten afterwards.",
        (ir.Copy,),
        copy_of,
    ),
    NodeRule(
        "simplify/replicate",
        "Makes repeated rows of equal elements in one step.",
        (ir.Replicate,),
        replicate_of,
    ),
    NodeRule(
        "simplify/concat", "Flattens a concatenation of concatenations.", (ir.Concat,), join_concats
    ),
)
"""In order of application to one expression."""
