"""Lower slices and updates by LMADs: `flat_index_2d`, `flat_update_2d`, ..

(thesis, 3.3). (thesis, section 3.3).

They are preceded by checks: no count is negative, all cells are in bounds, and no cell is written
twice. Checks of constants are decided here; a proof may drop the others later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name, base_of
from compiler.frontend import typed as ty
from compiler.ir import guards
from compiler.ir import nodes as ir
from compiler.ir.nodes import SE, TRUE, DimLmad, Fun, Lit
from compiler.ir.sizes import se_of
from compiler.lower.arrays import full_slice, names_of_result, simple, written
from compiler.lower.build import Lowering
from compiler.lower.exps import se
from compiler.lower.values import Arr, Message, Value


def _flat_index(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower a slice by an LMAD: a view of the first dimension with several dimensions."""
    source = e.args[0]
    value = s.lower(source)
    start = _number(s, e.args[1], "offset")
    counts = [s.poly(se(s, x, "n"), "n") for x in e.args[2::2]]
    strides = [_number(s, x, "stride") for x in e.args[3::2]]
    s.prov = (e.span,)
    dim = DimLmad(start, tuple(counts), tuple(strides))
    s.shares = s.shares or not is_injective(dim)
    words = show_lmad(dim)
    for count in counts:
        _check_count(s, count, words)
    _check_inside(s, dim, _first_of(s, value, e).shape[0], words)
    named = base_of(source.name) if isinstance(source, ty.Var) else "xs"
    names = s.names(hint or f"{named}_part", e.type)
    result: list[Arr] = []
    for array, name in zip(value, names, strict=True):
        assert isinstance(array, Arr)
        full, shape = full_slice(s, array, (dim,))
        result.append(s.view(ir.Slice(array.name, full), array, shape, name))
    return tuple(result)


def _flat_update(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower an update by an LMAD, component by component."""
    target = e.args[0]
    value = s.lower(target)
    start = _number(s, e.args[1], "offset")
    strides = [_number(s, x, "stride") for x in e.args[2:-1]]
    new = s.lower(e.args[-1])
    s.prov = (e.span,)
    dim = DimLmad(start, _first_of(s, new, e).shape[: len(strides)], tuple(strides))
    words = show_lmad(dim)
    _check_inside(s, dim, _first_of(s, value, e).shape[0], words)
    _check_distinct(s, dim, words)
    names = names_of_result(s, e.type, target, hint)
    return written(s, value, new, (dim,), e.type, names, is_view=False)


def _number(s: Lowering, e: ty.Exp, hint: str) -> SE:
    """Lower an i64 so that it may be repeated."""
    return simple(s, se(s, e, hint), hint)


def _first_of(s: Lowering, value: Value, e: ty.Apply) -> Arr:
    """Return the first component; all have the same outer sizes."""
    first = value[0]
    if not isinstance(first, Arr):
        raise CompilerBug("an LMAD of no array", e.span)
    return first


# --- checks ------------------------------------------------------------------------------------


def _check_count(s: Lowering, count: Poly, words: Message) -> None:
    """Check that a number of cells is not negative."""
    text = ("Slice ", *words, " has a negative size, or one that is too large for an array.")
    s.check_size(count, text)


def _check_inside(s: Lowering, dim: DimLmad, length: Poly, words: Message) -> None:
    """Check that all cells are in bounds of an array of that length."""
    text = ("Slice ", *words, " out of bounds for array of shape [", se_of(length), "].")
    s.check(is_inside(dim, length), text)


def is_inside(dim: DimLmad, length: Poly) -> SE:
    """Return the condition that all cells are in bounds of an array of that length."""
    args = [se_of(length), dim.start, *pairs_of(dim)]
    return _guard("inside", guards.inside, len(dim.counts), args)


def _check_distinct(s: Lowering, dim: DimLmad, words: Message) -> None:
    """Check that no cell is written twice."""
    text = ("Update of ", *words, " would write a cell twice.")
    s.check(_distinct(dim), text)


def pairs_of(dim: DimLmad) -> list[SE]:
    """Return counts and strides, interleaved."""
    return [x for n, s in zip(dim.counts, dim.strides, strict=True) for x in (se_of(n), s)]


def show_lmad(dim: DimLmad) -> Message:
    """Render `{offset + {(n : s), ..}}` for a message."""
    parts: list[str | SE] = ["{", dim.start, " + {"]
    for k, (count, stride) in enumerate(zip(dim.counts, dim.strides, strict=True)):
        parts += [", (" if k else "(", se_of(count), " : ", stride, ")"]
    return (*parts, "}}")


def is_injective(dim: DimLmad) -> bool:
    """Return True if constants prove that no two points are the same cell."""
    return _distinct(dim) == TRUE


def _distinct(dim: DimLmad) -> SE:
    return _guard("distinct", guards.distinct, len(dim.counts), pairs_of(dim))


def _guard(name: str, meaning: Callable[..., bool], rank: int, args: Sequence[SE]) -> SE:
    """Return the guard's condition, `true` if constants prove it."""
    numbers = [int(a.value) for a in args if isinstance(a, Lit)]
    if len(numbers) == len(args) and meaning(*numbers):
        return TRUE
    return Fun(f"{name}_{rank}d", "i64", tuple(args))


INTRINSICS = {
    **{f"flat_index_{rank}d": _flat_index for rank in (2, 3, 4)},
    **{f"flat_update_{rank}d": _flat_update for rank in (2, 3, 4)},
}
