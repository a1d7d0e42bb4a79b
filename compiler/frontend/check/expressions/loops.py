"""Loops: `for i < n`, `for x in xs`, `while c`, and sizes that an iteration changes.

Every size of the loop's parameters is an unknown while the body is checked. A size that the body
constrains or preserves is loop-invariant; one that the body changes is a name that each iteration
binds anew (`Loop.sizes`), and existential in the result.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug, Related, TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.patterns import bind_pattern
from compiler.frontend.check.definitions.type_exps import field_order, resolve_type
from compiler.frontend.check.expressions.arrays import as_array
from compiler.frontend.check.expressions.operators import require_prim
from compiler.frontend.check.scope.state import INT_SET, Checker
from compiler.frontend.check.types.metas import BOOL, I64, MetaS, MetaT, resolve, resolve_size
from compiler.frontend.check.types.sizes import same_size, unify_size
from compiler.frontend.check.types.substitute import map_sizes, subst
from compiler.frontend.check.types.unify import Mismatch, in_own_sizes, unify, unify_sizes
from compiler.frontend.check.types.walks import metas_in
from compiler.frontend.check.types.wording import Maker
from compiler.frontend.parts import pattern_variables
from compiler.frontend.types import (
    Array,
    Opaque,
    Record,
    Size,
    SizeVar,
    Sum,
    Type,
    row_of,
    tuple_type,
)

Pairs = list[tuple[MetaS, Size]]
"""Unknown sizes that stand for the sizes of a type."""


def infer_loop(st: Checker, exp: ast.Loop, expected: Type | None) -> t.Exp:
    """`loop [sizes] pat = init form do body`.

    Errors: the body's type differs from the parameter's, or a size that may not change does.
    """
    init = _initial(st, exp)
    _shape_initial(st, exp, init.type, expected)
    st.data(init.type, exp.pat.span, "A loop parameter", accumulators=False)
    outer = _outer_form(st, exp.form)
    mark, since = st.scope.mark(), len(st.serials)
    explicit = tuple([st.bind_local(n, I64, exp.pat.span) for n in exp.sizes])
    initial: Pairs = []
    type_ = _open(st, init.type, initial, initial=True)
    bound = bind_pattern(st, exp.pat, type_, st.size_meta)
    st.kept |= _kept(exp.pat, bound.pat)
    form = _inner_form(st, exp.form, outer)
    body = st.infer(exp.body, type_)
    st.scope.leave(mark)
    final: Pairs = []
    _shape(st, type_, body.type)
    start = Related(init.span, "The loop starts with this value.")
    found = _open(st, body.type, final)
    st.unify(type_, found, exp.body.span, "The loop's body", _next_round(type_, found), start)
    sizes = _solve_sizes(_LoopSizes(st, since, exp.body.span, explicit, initial, final))
    maker = Maker("the loop", exp.span, "is the size that this loop ends with")
    ext = tuple([st.made_by(maker, "k") for _ in sizes])
    renamed: dict[Name, Size] = {s: SizeVar(e) for s, e in zip(sizes, ext, strict=True)}
    result = subst(type_, {}, renamed) if renamed else type_
    return t.Loop(result, exp.span, sizes, bound.pat, init, form, body, ext)


def _initial(st: Checker, exp: ast.Loop) -> t.Exp:
    """Infer a loop's initial value.

    Errors: a name without a value, which the loop does not give it.
    """
    if exp.init is not None:
        return st.infer(exp.init)
    try:
        return st.infer(_pattern_value(exp.pat))
    except TypeError_ as error:
        if error.code is codes.names.UNKNOWN:
            error.hint = "Give the loop an initial value: `loop x = 0 for i < n do x + i`."
        raise


def _shape_initial(st: Checker, exp: ast.Loop, init: Type, expected: Type | None) -> None:
    """Unify an initial sum type with its pattern's type or the expected one.

    It gets sizes of its own: those inside a variant may change per iteration.
    """
    unknown: list[MetaT] = []
    metas_in(init, unknown, [])
    if not any(meta.variants for meta in unknown):
        return
    mark = st.scope.mark()
    for name in exp.sizes:
        st.bind_local(name, I64, exp.pat.span)
    written = _written(st, exp.pat)
    st.scope.leave(mark)
    for known in (written, expected):
        if known is not None:
            _shape(st, known, init)


def _written(st: Checker, pat: ast.Pat) -> Type | None:
    """Return the type that a pattern states, as far as it does."""
    match pat:
        case ast.PTyped(type=type_):
            return resolve_type(st, type_, st.size_meta).type
        case ast.PTuple(elems=elems):
            parts = [_written(st, part) for part in elems]
            return tuple_type(tuple(part or st.meta(pat.span) for part in parts))
        case ast.PRecord(fields=fields):
            found = [(f, _written(st, part) or st.meta(pat.span)) for f, part in fields]
            return Record(tuple(sorted(found, key=lambda field: field_order(field[0]))))
        case ast.PAttr(pat=inner):
            return _written(st, inner)
    return None


def _next_round(start: Type, body: Type) -> str:
    """Explain what the body of a loop over a record must return; "" if it does."""
    if isinstance(resolve(start), Record) and not isinstance(resolve(body), Record):
        return "The loop's body must return the complete value for the next iteration."
    return ""


def _open(st: Checker, type_: Type, pairs: Pairs, initial: bool = False) -> Type:
    def fresh(size: Size) -> Size:
        meta = st.size_meta()
        if initial:
            meta.start, meta.until = size, len(st.serials) + 1
        pairs.append((meta, size))
        return meta

    return map_sizes(type_, fresh)


def _shape(st: Checker, known: Type, type_: Type) -> None:
    """Give unknown parts of `type_` the shape of `known`, with sizes of their own."""
    known, type_ = resolve(known), resolve(type_)
    match known, type_:
        case Sum(), MetaT(variants=dict()):
            with suppress(Mismatch):
                unify(st, type_, in_own_sizes(type_, known))
        case Array() | Record() | Sum() | Opaque(), MetaT():
            with suppress(Mismatch):
                unify(st, type_, map_sizes(known, lambda _: st.size_meta()))
        case Array(dims, elem), Array(others, MetaT() as inner) if len(dims) >= len(others):
            _shape(st, row_of(Array(dims, elem), len(others)), inner)
        case Record(fields), Record(parts) if len(fields) == len(parts):
            for (_, field), (_, part) in zip(fields, parts, strict=True):
                _shape(st, field, part)


def _kept(pat: ast.Pat, typed: t.Pat) -> set[Name]:
    """Return the variables of a pattern whose types are written without a `*`."""
    match pat:
        case ast.PTyped():
            return {v.name for v in pattern_variables(typed) if not v.consumes}
        case ast.PTuple(elems=elems) if isinstance(typed, t.PRecord):
            pairs = zip(elems, [p for _, p in typed.fields], strict=False)
            return set().union(*[_kept(p, q) for p, q in pairs])
    return set()


def _pattern_value(pat: ast.Pat) -> ast.Exp:
    """Return the default initial value: the pattern's own names."""
    match pat:
        case ast.PName(span=span, name=name):
            return ast.Var(span, (name,))
        case ast.PTuple(span=span, elems=elems):
            return ast.TupleExp(span, tuple(_pattern_value(p) for p in elems))
        case ast.PRecord(span=span, fields=fields):
            return ast.RecordExp(span, tuple((f, _pattern_value(p)) for f, p in fields))
        case ast.PTyped(pat=inner) | ast.PAttr(pat=inner):
            return _pattern_value(inner)
    raise TypeError_(
        codes.types.LOOP, "A loop without an initial value needs names here.", pat.span
    )


# --- forms -------------------------------------------------------------------------------------


def _outer_form(st: Checker, form: ast.LoopForm) -> t.Exp | None:
    """Infer the bound or array, outside the scope of the loop's parameters."""
    match form:
        case ast.For(bound=bound):
            return st.infer(bound)
        case ast.ForIn(array=array):
            return st.infer(array)
    return None


def _inner_form(st: Checker, form: ast.LoopForm, outer: t.Exp | None) -> t.For | t.ForIn | t.While:
    match form:
        case ast.For(span=span, name=name):
            assert outer is not None
            what = "The bound of a loop"
            over = isinstance(resolve(outer.type), Array)
            hint = "To loop over the elements of an array, write `for x in xs`." if over else ""
            type_ = require_prim(st, outer.type, INT_SET, outer.span, what, hint)
            return OpenFor(st.bind_local(name, type_, span), "i64", outer)
        case ast.ForIn(pat=pat):
            assert outer is not None
            counts = "To count, write `for i < n`."
            array = as_array(st, outer.type, 1, outer.span, counts)
            row = row_of(Array(array.dims, array.elem))
            return t.ForIn(bind_pattern(st, pat, row, st.size_meta).pat, outer)
        case ast.While(cond=cond):
            return t.While(st.check(cond, BOOL, "The condition of `while`"))
    raise CompilerBug("A loop needs `for` or `while`.", form.span)


OpenFor = t.For
"""A `For` whose `prim` is set from its bound's type by `finish/zonk.py`."""


# --- sizes -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _LoopSizes:
    st: Checker
    since: int
    span: Span
    explicit: tuple[Name, ...]
    initial: Pairs
    final: Pairs
    sizes: list[Name] = field(default_factory=list)


def _solve_sizes(s: _LoopSizes) -> tuple[Name, ...]:
    """Decide which sizes of the loop's type vary, and return the names of those."""
    s.sizes.extend(s.explicit)
    starts: dict[Size, list[Size]] = {}
    ends: dict[Size, list[Size]] = {}
    for meta, size in s.initial:
        starts.setdefault(resolve_size(meta), []).append(size)
    for meta, size in s.final:
        ends.setdefault(resolve_size(meta), []).append(size)
    left: list[Size] = [*(r for r in ends if r not in starts), *starts]
    while known := [rep for rep in left if not isinstance(rep, MetaS) or rep.ref is not None]:
        # Known sizes first: they may determine others, as where arrays exchange places.
        left = [rep for rep in left if isinstance(rep, MetaS) and rep.ref is None]
        for rep in known:
            _keep_size(s, rep, starts.get(rep, []), ends.get(rep, []))
    for rep in left:
        assert isinstance(rep, MetaS)
        _solve_size(s, rep, starts, ends)
    return tuple(s.sizes)


def _keep_size(s: _LoopSizes, rep: Size, starts: list[Size], ends: list[Size]) -> None:
    """Keep a known size invariant; a size that the loop names may change."""
    if isinstance(rep, SizeVar) and rep.name in s.explicit:
        _all_equal(s, starts)
        _all_equal(s, ends)
        return
    for size in [*starts, *ends]:
        _equal(s, rep, size)


def _solve_size(
    s: _LoopSizes, rep: MetaS, all_starts: dict[Size, list[Size]], all_ends: dict[Size, list[Size]]
) -> None:
    """Decide whether a size that the body does not determine is kept or changed.

    One of a type that nothing was known of before the body is the same before the loop. The size
    of a parameter of a function around the loop is one of its own, if nothing else is said.
    """
    alias = s.st.alias
    starts, ends = all_starts.get(rep, []), all_ends.get(rep, [])
    if rep.ref is not None:
        _keep_size(s, rep, starts, ends)
        return
    changed = [e for e in ends if not same_size(e, rep, alias)]
    unknown = [
        e
        for e in changed
        if isinstance(open_ := resolve_size(e), MetaS)
        and open_ not in all_starts
        and (open_.until > s.since or rep.until <= s.since)
    ]
    for e in unknown:
        unify_size(e, rep, alias)
    changed = [e for e in changed if not same_size(e, rep, alias)]
    if starts and all(same_size(e, starts[0], alias) for e in changed):
        unify_size(rep, starts[0], alias)
        for size in starts[1:]:
            _equal(s, rep, size)
        return
    if changed and not starts:
        for size in ends:
            _equal(s, rep, size)
        return
    if changed:
        _all_equal(s, starts)
        name = s.st.fresh(_base_name(starts))
        rep.ref = SizeVar(name)
        _all_equal(s, ends)
        s.sizes.append(name)


def _base_name(starts: list[Size]) -> str:
    first = resolve_size(starts[0]) if starts else None
    return first.name if isinstance(first, SizeVar) else "n"


def _all_equal(s: _LoopSizes, sizes: list[Size]) -> None:
    for size in sizes[1:]:
        _equal(s, sizes[0], size)


def _equal(s: _LoopSizes, want: Size, got: Size) -> None:
    s.st.span = s.span
    try:
        unify_sizes(s.st, want, got)
    except Mismatch as difference:
        raise TypeError_(
            codes.sizes.LOOP,
            f"A size of the loop parameter must not change. {difference.reason}",
            s.span,
            "If the size may change, bind it at the loop: `loop [k] (xs: [k]t) = ..`.",
        ) from None
