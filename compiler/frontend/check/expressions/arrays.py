"""Array literals, ranges, indexing, slicing and in-place updates, with their sizes."""

from __future__ import annotations

from dataclasses import field

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import Related, TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.expressions.apply import Lets, argument_size, wrap_lets
from compiler.frontend.check.expressions.operators import require_prim
from compiler.frontend.check.expressions.spines import replace_spine, spine
from compiler.frontend.check.scope.hints import indexed_by_text, not_indexed
from compiler.frontend.check.scope.names import lookup, use
from compiler.frontend.check.scope.scope import Local
from compiler.frontend.check.scope.state import INT_SET, SIGNED_SET, Checker
from compiler.frontend.check.types.metas import I64, MetaT, resolve, resolve_size
from compiler.frontend.check.types.sizes import combine
from compiler.frontend.check.types.wording import describe
from compiler.frontend.types import (
    Array,
    Arrow,
    PrimT,
    Size,
    SizeConst,
    SizeVar,
    Type,
    array_of,
)


def infer_array(st: Checker, exp: ast.ArrayExp, expected: Type | None) -> t.Exp:
    """Infer `[a, b]`: all elements have the type, sizes included, of the first."""
    hint: Type | None = None
    if expected is not None:
        known = resolve(expected)
        if isinstance(known, Array):
            hint = known.elem if len(known.dims) == 1 else Array(known.dims[1:], known.elem)
    if not exp.elems:
        elem: Type = st.meta(exp.span)
        return t.ArrayLit(array_of(SizeConst(0), elem), exp.span, ())
    first = st.infer(exp.elems[0], hint)
    elem = first.type
    st.element(elem, exp.elems[0].span)
    elems = [first]
    decided = Related(first.span, "This is the first element.")
    for e in exp.elems[1:]:
        typed = st.infer(e, elem)
        before = _numbers(elem)
        st.unify(elem, typed.type, e.span, "An element after the first", "", decided)
        if before != _numbers(elem):
            decided = Related(typed.span, "This element determines the type.")
        elems.append(typed)
    return t.ArrayLit(array_of(SizeConst(len(elems)), resolve(elem)), exp.span, tuple(elems))


def _numbers(type_: Type) -> frozenset[str] | None:
    """Return the candidates of an undetermined number type; None for others."""
    type_ = resolve(type_)
    return type_.prims if isinstance(type_, MetaT) else None


# --- ranges ------------------------------------------------------------------------------------


def infer_range(st: Checker, exp: ast.RangeExp, expected: Type | None) -> t.Exp:
    """Infer `a..b..<c`.

    The size is known for i64 without a step, and for `0..1..<n` and `1..2...n`.
    """
    first = st.infer(exp.first)
    second = None if exp.second is None else st.infer(exp.second, first.type)
    end = st.infer(exp.end, first.type)
    for part in (second, end):
        if part is not None:
            st.unify(
                first.type, part.type, part.span, "All parts of a range must have one type: this"
            )
    elem = _integer(st, first.type, exp.span, "A range")
    lets: Lets = []
    ext: tuple[Name, ...] = ()
    size: Size | None = None
    if resolve(elem) == I64 or _defaults_to_i64(first, end):
        first, end, size = _range_size(st, exp, first, second, end, lets)
    if size is None:
        name = st.fresh("d")
        size, ext = SizeVar(name), (name,)
    made = t.Range(Array((size,), elem), exp.span, first, second, exp.kind, end, ext)
    return wrap_lets(made, lets)


def _defaults_to_i64(first: t.Exp, end: t.Exp) -> bool:
    return resolve(end.type) == I64 and resolve(first.type) == I64


def _range_size(
    st: Checker, exp: ast.RangeExp, first: t.Exp, second: t.Exp | None, end: t.Exp, lets: Lets
) -> tuple[t.Exp, t.Exp, Size | None]:
    if exp.kind == "..>" or not (second is None or _is_plain(exp.kind, first, second)):
        return first, end, None
    first, low = argument_size(st, first, lets)
    end, high = argument_size(st, end, lets)
    size = combine("-", high, low)
    if exp.kind == "...":
        size = combine("+", size, SizeConst(1))
    return first, end, size


def _is_plain(kind: str, first: t.Exp, second: t.Exp) -> bool:
    """Test whether a second element changes nothing: `0..1..<n` or `1..2...n`."""
    if not (isinstance(first, t.Const) and isinstance(second, t.Const)):
        return False
    return (first.value, second.value, kind) in ((0, 1, "..<"), (1, 2, "..."))


def _integer(st: Checker, type_: Type, span: Span, what: str) -> Type:
    return require_prim(st, type_, INT_SET, span, what)


# --- indexing ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Dims:
    """Typed indexes with the symbolic bounds of slices."""

    dims: list[t.DimIndex] = field(default_factory=list)
    bounds: list[tuple[Size | None, Size | None, int | None] | None] = field(default_factory=list)
    """Per dimension: None for a position; start, stop (None: omitted) and step (None: unknown)."""
    lets: Lets = field(default_factory=list)


def check_dims(st: Checker, dims: tuple[ast.DimIndex, ...]) -> Dims:
    """Infer indexes: positions of any signed integer type, bounds of type i64."""
    out = Dims()
    for dim in dims:
        match dim:
            case ast.IndexFix(at=at):
                out.dims.append(t.IndexFix(_position(st, at)))
                out.bounds.append(None)
            case ast.IndexSlice(start=start, stop=stop, step=step):
                _slice(st, out, start, stop, step)
    return out


def _position(st: Checker, at: ast.Exp) -> t.Exp:
    """Infer an index of one element; a literal by itself is an i64."""
    typed = st.infer(at, I64 if isinstance(at, ast.IntLit) else None)
    if resolve(typed.type) != I64:
        hint = indexed_by_text(at.value) if isinstance(at, ast.StringLit) else ""
        require_prim(st, typed.type, SIGNED_SET, at.span, "An index", hint)
    return typed


def _slice(
    st: Checker, out: Dims, start: ast.Exp | None, stop: ast.Exp | None, step: ast.Exp | None
) -> None:
    lower, low = _bound(st, start, out.lets, "The start of a slice")
    upper, high = _bound(st, stop, out.lets, "The end of a slice")
    stride = None if step is None else st.check(step, I64, "The step of a slice")
    by: int | None = 1
    if stride is not None:
        by = int(stride.value) if isinstance(stride, t.Const) else None
    out.dims.append(t.IndexSlice(lower, upper, stride))
    out.bounds.append((low, high, by))


def _bound(
    st: Checker, exp: ast.Exp | None, lets: Lets, what: str
) -> tuple[t.Exp | None, Size | None]:
    if exp is None:
        return None, None
    typed = st.check(exp, I64, what)
    return argument_size(st, typed, lets)


def infer_index(st: Checker, exp: ast.Index, expected: Type | None) -> t.Exp:
    """`a[i, j:k]`."""
    array = st.infer(exp.array)
    dims = check_dims(st, exp.dims)
    return wrap_lets(result_of_index(st, array, dims, exp.span), dims.lets)


def result_of_index(st: Checker, array: t.Exp, dims: Dims, span: Span) -> t.Exp:
    """Build `array[dims]` with its type; sizes of slices that have no form go to `ext`."""
    ext: list[Name] = []
    type_ = _indexed(st, array.type, dims, span, ext)
    return t.Index(type_, span, array, tuple(dims.dims), tuple(ext))


def as_array(st: Checker, type_: Type, rank: int, span: Span, number: str = "") -> Array:
    """View `type_` as an array of at least `rank` dimensions.

    Errors: fewer dimensions, no array, with the hint `number` if it is one.
    """
    known = resolve(type_)
    if isinstance(known, MetaT) or (
        isinstance(known, Array) and len(known.dims) < rank and isinstance(known.elem, MetaT)
    ):
        wanted = Array(tuple(st.size_meta(span) for _ in range(rank)), st.meta(span))
        st.unify(wanted, known, span, "The indexed value")
        known = resolve(wanted)
    if not isinstance(known, Array):
        message = f"Only arrays can be indexed, but this is {describe(known)}."
        hint = number if isinstance(known, PrimT) else not_indexed(known)
        raise TypeError_(codes.types.INDEX, message, span, hint)
    if len(known.dims) < rank:
        raise TypeError_(
            codes.types.INDEX,
            f"Too many indices: {rank} for an array of type {describe(known)}.",
            span,
        )
    return known


def _indexed(st: Checker, type_: Type, dims: Dims, span: Span, ext: list[Name] | None) -> Type:
    """Return the type of `type_` indexed; sizes without a form go to `ext`.

    Without `ext`, where a slice is written to, the value may have any size there: a check at run
    time compares them.
    """
    array = as_array(st, type_, len(dims.dims), span)
    kept: list[Size] = []
    for size, bounds in zip(array.dims, dims.bounds, strict=False):
        if bounds is None:
            continue
        new = slice_size(st, resolve_size(size), *bounds)
        if ext is None and new is not resolve_size(size):
            new = st.size_meta(span)
        if new is None:
            assert ext is not None
            name = st.fresh("d")
            ext.append(name)
            new = SizeVar(name)
        kept.append(new)
    kept.extend(array.dims[len(dims.dims) :])
    return Array(tuple(kept), array.elem) if kept else array.elem


def slice_size(
    st: Checker, size: Size, start: Size | None, stop: Size | None, step: int | None
) -> Size | None:
    """Return the size of `a[start:stop:step]`; None if it has no simple form."""
    if start is None and stop is None and step in (1, -1):
        return size
    if step != 1:
        return None
    high = size if stop is None else stop
    return high if start is None else combine("-", high, start)


# --- updates -----------------------------------------------------------------------------------


def infer_update(st: Checker, exp: ast.Update, expected: Type | None) -> t.Exp:
    """`a with [dims] = v`."""
    return _update(st, st.infer(exp.src, expected), exp.dims, exp.value, exp.span)


def _update(
    st: Checker, array: t.Exp, dims: tuple[ast.DimIndex, ...], value: ast.Exp, span: Span
) -> t.Exp:
    dims, value, last = _flattened(dims, value)
    if _rewrites_part(value, last):
        return _update_part(st, array, dims, value, span)
    checked = check_dims(st, dims)
    wanted = _indexed(st, array.type, checked, span, None)
    typed = st.check(value, wanted, "The new value")
    made = t.Update(array.type, span, array, tuple(checked.dims), typed)
    return wrap_lets(made, checked.lets)


def _flattened(
    dims: tuple[ast.DimIndex, ...], value: ast.Exp
) -> tuple[tuple[ast.DimIndex, ...], ast.Exp, tuple[ast.DimIndex, ...]]:
    """Merge nested updates: `a with [i][j] = v` becomes `a with [i, j] = v`.

    It is parsed as `a with [i] = a[i] with [j] = v`. Returns the indexes, the new value, and the
    last of the merged steps.
    """
    last = dims
    while (
        isinstance(value, ast.Update)
        and isinstance(value.src, ast.Index)
        and value.src.dims is last
        and all(isinstance(d, ast.IndexFix) for d in dims)
    ):
        last = value.dims
        dims, value = dims + value.dims, value.value
    return dims, value, last


def _rewrites_part(value: ast.Exp, last: tuple[ast.DimIndex, ...]) -> bool:
    """Test whether the new value updates a part of the old one, as in `a with [i].f = v`."""
    old = spine(value)
    return isinstance(old, ast.Index) and old.dims is last


def _update_part(
    st: Checker, array: t.Exp, dims: tuple[ast.DimIndex, ...], value: ast.Exp, span: Span
) -> t.Exp:
    """Copy the old part, update it, and write it back."""
    checked = check_dims(st, dims)
    lets = checked.lets
    if not isinstance(array, t.Var):
        name = st.fresh("array")
        lets.append((name, array))
        array = t.Var(array.type, array.span, name)
    old = result_of_index(st, array, checked, span)
    copied = t.Apply(old.type, span, _copy_of(old.type, span), (old,))
    part = st.fresh("part")
    lets.append((part, copied))
    mark = st.scope.mark()
    st.scope.bind(part, Local(part, old.type, span))
    typed = st.check(replace_spine(value, part), old.type, "The new value")
    st.scope.leave(mark)
    made = t.Update(array.type, span, array, tuple(checked.dims), typed)
    return wrap_lets(made, lets)


def _copy_of(type_: Type, span: Span) -> t.Var:
    return t.Var(Arrow(type_, type_, unique=True), span, "intrinsics.copy", (type_,))


def infer_let_with(st: Checker, exp: ast.LetWith, expected: Type | None) -> t.Exp:
    """`let a[dims] = v in body` is `let a = a with [dims] = v in body`."""
    found = lookup(st, (exp.name,), exp.name_span)
    array = use(st, found, exp.name_span)
    span = exp.name_span.to(exp.value.span)
    update = _update(st, array, exp.dims, exp.value, span)
    mark = st.scope.mark()
    name = st.fresh(exp.name)
    st.scope.bind(exp.name, Local(name, update.type, exp.name_span))
    body = st.infer(exp.body, expected)
    st.scope.leave(mark)
    pat = t.PVar(update.type, exp.name_span, name)
    return t.Let(body.type, exp.span, (), pat, update, body)
