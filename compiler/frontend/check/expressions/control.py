"""`let`, `if`, `match`, ascription, coercion, assertions and attributes."""

from __future__ import annotations

from compiler import codes
from compiler.base.errors import Related, TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.existentials import bound_before, hide, join
from compiler.frontend.check.definitions.patterns import bind_pattern, pattern_names
from compiler.frontend.check.definitions.type_exps import resolve_type
from compiler.frontend.check.expressions.show_exp import show_exp
from compiler.frontend.check.scope.builtins import member_names
from compiler.frontend.check.scope.hints import unknown_module
from compiler.frontend.check.scope.scope import Builtin
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import BOOL, I64, MetaS, MetaT, resolve
from compiler.frontend.check.types.size_exps import as_size, symbolic
from compiler.frontend.check.types.substitute import map_sizes, subst
from compiler.frontend.check.types.walks import names_in_data, names_in_type, sizes_of
from compiler.frontend.check.types.wording import Maker
from compiler.frontend.types import Size, Type


def infer_parens(st: Checker, exp: ast.Parens, expected: Type | None) -> t.Exp:
    """`(e)`."""
    return st.infer(exp.exp, expected)


def infer_let(st: Checker, exp: ast.Let, expected: Type | None) -> t.Exp:
    """Infer `let [sizes] pat = rhs in body`; the body's type may mention what was bound."""
    rhs = st.infer(exp.rhs)
    mark = st.scope.mark()
    sizes: tuple[Name, ...] = ()
    if exp.sizes:
        _distinct(exp)
        sizes = tuple([st.bind_local(n, I64, exp.pat.span) for n in exp.sizes])
        bound = bind_pattern(st, exp.pat, None, st.size_meta)
        holes: dict[Name, Size] = {name: st.size_meta(exp.pat.span) for name in sizes}
        wanted = subst(bound.pat.type, {}, holes)
        st.unify(wanted, rhs.type, exp.pat.span, "The value bound here")
        for name, hole in holes.items():
            st.means(name, hole)
        st.let_sizes += [
            (n, h, exp.pat.span) for n, h in zip(exp.sizes, holes.values(), strict=True)
        ]
        _all_used(exp, sizes, bound.pat.type)
    else:
        bound = bind_pattern(st, exp.pat, rhs.type, st.size_meta)
        if isinstance(bound.pat, t.PVar) and _may_be_size(rhs.type):
            size = symbolic(rhs, keyed=True) or as_size(rhs)
            if size is not None:
                st.means(bound.pat.name, size)
    body = st.infer(exp.body, expected)
    st.scope.leave(mark)
    return t.Let(body.type, exp.span, sizes, bound.pat, rhs, body)


def _may_be_size(type_: Type) -> bool:
    type_ = resolve(type_)
    return type_ == I64 or (isinstance(type_, MetaT) and "i64" in (type_.prims or ()))


def _distinct(exp: ast.Let) -> None:
    names = [*exp.sizes, *pattern_names(exp.pat)]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise TypeError_(
                codes.names.BOUND_TWICE, f"The name `{name}` is bound twice here.", exp.pat.span
            )


def _all_used(exp: ast.Let, sizes: tuple[Name, ...], type_: Type) -> None:
    used = names_in_type(type_)
    concrete = names_in_data(type_)
    for source, name in zip(exp.sizes, sizes, strict=True):
        if name not in used:
            raise TypeError_(
                codes.sizes.UNDETERMINED,
                f"The size `{source}` does not occur in the pattern.",
                exp.pat.span,
                f"Write the type of the array that has it: `let [{source}] (ys: "
                f"[{source}]i32) = ..`.",
            )
        if name not in concrete:
            raise TypeError_(
                codes.sizes.UNDETERMINED,
                f"The size `{source}` is only part of a function's type, so it has no value.",
                exp.pat.span,
            )


def infer_if(st: Checker, exp: ast.If, expected: Type | None) -> t.Exp:
    """Infer `if`: sizes that differ between the branches become existential."""
    cond = st.check(exp.cond, BOOL, "The condition of `if`")
    mark = len(st.serials)
    then = st.infer(exp.then, expected)
    orelse = st.infer(exp.orelse, expected if expected is not None else then.type)
    other = Related(exp.then.span, "This is the other branch.")
    what = "The branches of `if` differ"
    maker = Maker("the `if`", exp.span, "is the size of one branch or the other of this `if`")
    type_, ext = join(st, then.type, orelse.type, mark, exp.orelse.span, what, other, maker)
    st.data(type_, exp.span, "The result of `if`", accumulators=False)
    return t.If(type_, exp.span, cond, then, orelse, ext)


def infer_match(st: Checker, exp: ast.Match, expected: Type | None) -> t.Exp:
    """`match e case ..`."""
    scrutinee = st.infer(exp.exp)
    mark = len(st.serials)
    cases: list[t.Case] = []
    type_: Type | None = None
    ext: tuple[Name, ...] = ()
    maker = Maker("the `match`", exp.span, "is the size of one case or another of this `match`")
    for case in exp.cases:
        scope = st.scope.mark()
        bound = bind_pattern(st, case.pat, scrutinee.type, st.size_meta, refutable=True)
        body = st.infer(case.body, type_ or expected)
        st.scope.leave(scope)
        cases.append(t.Case(bound.pat, body))
        if type_ is None:
            type_, ext = hide(st, body.type, bound_before(st, mark))
        else:
            other = Related(exp.cases[0].body.span, "This is the first case.")
            what = "The cases of `match` differ"
            type_, new = join(st, type_, body.type, mark, case.body.span, what, other, maker)
            ext = (*ext, *new)
            if not isinstance(resolve(type_), MetaT):
                mark_used = names_in_type(type_)
                ext = tuple(n for n in ext if n in mark_used)
    assert type_ is not None
    st.data(type_, exp.span, "The result of `match`", accumulators=False)
    return t.Match(type_, exp.span, scrutinee, tuple(cases), ext)


def infer_ascript(st: Checker, exp: ast.Ascript, expected: Type | None) -> t.Exp:
    """Infer `e : t`, which leaves no trace beyond its type."""
    return st.check(exp.exp, written_type(st, exp.type), "The annotated expression")


def written_type(st: Checker, exp: ast.TypeExp) -> Type:
    """Return the type of an ascription, with an unknown for every open size."""
    found = resolve_type(st, exp, st.size_meta)
    if not found.ext:
        return found.type
    return subst(found.type, {}, {name: st.size_meta(exp.span) for name in found.ext})


def infer_coerce(st: Checker, exp: ast.Coerce, expected: Type | None) -> t.Exp:
    """Infer `e :> t`: its sizes are compared at run time."""
    written = written_type(st, exp.type)
    inner = st.infer(exp.exp)

    def any_size(size: Size) -> Size:
        return size if isinstance(size, MetaS) else st.size_meta(exp.span)

    st.unify(
        map_sizes(written, any_size),
        map_sizes(inner.type, any_size),
        exp.span,
        "The coerced expression",
    )
    for size, given in zip(sizes_of(written), sizes_of(inner.type), strict=True):
        if isinstance(size, MetaS):
            st.open_sizes.append((size, given))
    return t.Coerce(written, exp.span, inner)


def infer_assert(st: Checker, exp: ast.Assert, expected: Type | None) -> t.Exp:
    """`assert cond e`."""
    cond = st.check(exp.cond, BOOL, "The condition of `assert`")
    inner = st.infer(exp.exp, expected)
    return t.Assert(inner.type, exp.span, cond, inner, show_exp(exp.cond))


def infer_attr(st: Checker, exp: ast.AttrExp, expected: Type | None) -> t.Exp:
    """`#[attr] e`."""
    inner = st.infer(exp.exp, expected)
    return t.Attr(inner.type, exp.span, exp.attr.text, inner)


def infer_hole(st: Checker, exp: ast.Hole, expected: Type | None) -> t.Exp:
    """Infer `???`, which has any type."""
    return t.Hole(st.meta(exp.span), exp.span)


def infer_open(st: Checker, exp: ast.OpenIn, expected: Type | None) -> t.Exp:
    """Infer `m.(e)`: the module's names are in scope in `e`."""
    module = st.scope.module(exp.module)
    if module is None:
        _unknown_module(st, exp.module, exp.span)
    assert module is not None
    mark = st.scope.mark()
    if module.prim:
        for name in member_names(module.prim):
            st.scope.bind(name, Builtin(module.prim, name))
    st.scope.open(module)
    inner = st.infer(exp.exp, expected)
    st.scope.leave(mark)
    return inner


def _unknown_module(st: Checker, name: ast.QualName, span: Span) -> None:
    text = ".".join(name)
    raise TypeError_(
        codes.names.MODULE, f"Unknown module `{text}`.", span, unknown_module(st, text, span)
    )
