"""Type expressions: from syntax to types, with names and sizes resolved.

What `[]` means depends on where it stands: a new size parameter (function parameters), anything
(ascriptions and patterns), or a size that the function alone knows (results). The caller says so by
passing `anon`, which makes the size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug, Limitation, TypeError_
from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.scope.hints import (
    not_applied,
    unknown_module,
    unknown_size,
    unknown_type,
)
from compiler.frontend.check.scope.scope import (
    DATA,
    LIFTED,
    SIZE_LIFTED,
    Abbreviation,
    TypeParamInfo,
    did_you_mean,
)
from compiler.frontend.check.scope.state import Checker, Silent
from compiler.frontend.check.types.metas import I64, PRIM_T, resolve
from compiler.frontend.check.types.size_exps import key_of, symbolic
from compiler.frontend.check.types.substitute import subst
from compiler.frontend.check.types.walks import dimensions, names_in_type
from compiler.frontend.check.types.wording import show
from compiler.frontend.parts import parts
from compiler.frontend.types import (
    ANY_SIZE,
    Array,
    Arrow,
    PrimT,
    Record,
    Size,
    SizeExp,
    SizeVar,
    Sum,
    Type,
    array_of,
    is_plain,
    tuple_type,
)

Anon = Callable[[Span], Size]

MOST_CONSTRUCTORS = 255


@dataclass(frozen=True, slots=True)
class Resolved:
    """A type with its uniqueness (a `*` anywhere in it) and the sizes that `?[k].` binds."""

    type: Type
    unique: bool = False
    ext: tuple[Name, ...] = ()
    fresh: bool = False
    """For a result: all of it is fresh."""
    fresh_fields: tuple[str, ...] = ()
    """For a result: its fresh fields, if not all are."""
    lift: int = DATA
    """Kind of the values, as in `scope/scope.py`: with sizes of their own, or functions."""
    span: Span = NOWHERE
    """Place of the type expression, such as a result's."""


@dataclass(slots=True)
class _TypeContext:
    st: Checker
    anon: Anon
    """Makes the size for a written `[]`."""
    opened: Anon
    """Makes the size for one that an abbreviation leaves open."""
    unique: bool = False
    ext: list[Name] = field(default_factory=list)
    lift: int = DATA


def resolve_type(st: Checker, exp: ast.TypeExp, anon: Anon, opened: Anon | None = None) -> Resolved:
    """Resolve a type expression; `opened` makes open sizes of abbreviations, by default `anon`.

    Errors: unknown names (with near misses), wrong arguments of abbreviations, duplicate fields.
    """
    ctx = _TypeContext(st, anon, opened or anon)
    result = _type(ctx, exp)
    return Resolved(result, ctx.unique, tuple(ctx.ext), lift=ctx.lift)


def resolve_result(st: Checker, exp: ast.TypeExp) -> Resolved:
    """Resolve a function's result type: anonymous sizes become names in `ext`."""
    ext: list[Name] = []

    def anon(span: Span) -> Size:
        name = st.fresh("d")
        ext.append(name)
        return SizeVar(name)

    found = resolve_type(st, exp, anon)
    fresh, fields = _freshness(st, exp)
    return Resolved(found.type, found.unique, (*found.ext, *ext), fresh, fields)


def _freshness(st: Checker, exp: ast.TypeExp) -> tuple[bool, tuple[str, ...]]:
    """Return whether a result of this type is fresh; if only in part, its fresh fields."""
    match exp:
        case ast.TUnique():
            return True, ()
        case ast.TExists(elem=elem):
            return _freshness(st, elem)
        case ast.TName(name=name) | ast.TApply(fn=ast.TName(name=name)):
            return lookup_type(st, name, exp.span).unique, ()
        case ast.TTuple(elems=elems):
            return _fresh_record(st, [(str(i), e) for i, e in enumerate(elems)])
        case ast.TRecord(fields=fields):
            return _fresh_record(st, list(fields))
    return False, ()


def _fresh_record(
    st: Checker, fields: list[tuple[str, ast.TypeExp]]
) -> tuple[bool, tuple[str, ...]]:
    starred = [f for f, e in fields if _freshness(st, e)[0]]
    scalar = [f for f, e in fields if isinstance(e, ast.TName) and e.name[0] in PRIM_T]
    if starred and len(starred) + len(scalar) == len(fields):
        return True, ()
    return False, tuple(starred)


def _type(ctx: _TypeContext, exp: ast.TypeExp) -> Type:
    match exp:
        case ast.TName(name=name):
            return _apply(ctx, exp, name, ())
        case ast.TArray(size=size, elem=elem):
            dim = _size(ctx, size, exp.span)
            return array_of(dim, _element(ctx, exp.span, elem))
        case ast.TTuple(elems=elems):
            return tuple_type(tuple(_type(ctx, e) for e in elems))
        case ast.TRecord(fields=fields):
            return _record(ctx, exp.span, fields)
        case ast.TUnique(elem=elem):
            ctx.unique = True
            return _type(ctx, elem)
        case ast.TApply(fn=ast.TName(name=name), args=args):
            return _apply(ctx, exp, name, args)
        case ast.TApply(args=args):
            raise TypeError_(
                codes.types.TYPE_ARGUMENTS,
                "Only a named type takes arguments, and this type has no name.",
                args[0].span.to(args[-1].span),
            )
        case ast.TArrow():
            return _arrow(ctx, exp)
        case ast.TSum(variants=variants):
            return _sum(ctx, exp.span, variants)
        case ast.TExists():
            return _exists(ctx, exp)
        case ast.TSize():
            raise TypeError_(
                codes.types.TYPE_ARGUMENTS, "A size stands where a type is needed.", exp.span
            )
    raise CompilerBug("This is not a type.", exp.span)


def _element(ctx: _TypeContext, span: Span, exp: ast.TypeExp) -> Type:
    """Resolve an array's element type: no function, and of one size."""
    outer, ctx.lift = ctx.lift, DATA
    elem = _type(ctx, exp)
    ctx.st.element(elem, span)
    if ctx.lift == LIFTED:
        raise TypeError_(
            codes.types.FUNCTION,
            f"An array element of type `{show(elem)}` might be a function.",
            span,
        )
    if ctx.lift == SIZE_LIFTED:
        raise TypeError_(
            codes.sizes.OPEN_TYPE,
            "The elements of this array might differ in size, because the size is not "
            "part of their type.",
            span,
            "Make the size a parameter of the type, as in `type t [n] = [n]i32`.",
        )
    ctx.lift = outer
    return elem


def record_type(fields: list[tuple[str, Type]]) -> Record:
    """Build a record with its fields sorted: numbers by value, then names."""
    return Record(tuple(sorted(fields, key=lambda item: field_order(item[0]))))


def field_order(name: str) -> tuple[int, int, str]:
    """Return the sort key of a field."""
    return (0, int(name), "") if name.isdigit() else (1, 0, name)


def _record(ctx: _TypeContext, span: Span, fields: tuple[tuple[str, ast.TypeExp], ...]) -> Type:
    seen: set[str] = set()
    for name, _ in fields:
        if name in seen:
            raise TypeError_(codes.names.BOUND_TWICE, f"The field `{name}` occurs twice.", span)
        seen.add(name)
    return record_type([(name, _type(ctx, e)) for name, e in fields])


def _sum(
    ctx: _TypeContext, span: Span, variants: tuple[tuple[str, tuple[ast.TypeExp, ...]], ...]
) -> Type:
    table: dict[str, tuple[Type, ...]] = {}
    for name, args in variants:
        if name in table:
            raise TypeError_(
                codes.names.BOUND_TWICE, f"The constructor `#{name}` occurs twice.", span
            )
        if len(table) == MOST_CONSTRUCTORS:
            raise TypeError_(
                codes.types.TOO_MANY_CONSTRUCTORS,
                f"A sum type has at most {MOST_CONSTRUCTORS} constructors.",
                span,
            )
        table[name] = tuple(_type(ctx, a) for a in args)
    return Sum(tuple(sorted(table.items())))


def _exists(ctx: _TypeContext, exp: ast.TExists) -> Type:
    """Resolve `?[names].elem`.

    Errors: a name twice; one that is not by itself the size of an array.
    """
    st = ctx.st
    mark = st.scope.mark()
    ctx.lift = max(ctx.lift, SIZE_LIFTED)
    if len(set(exp.names)) < len(exp.names):
        said = "Two of these sizes have the same name."
        raise TypeError_(codes.names.BOUND_TWICE, said, exp.span)
    unique_names = [st.bind_local(name, I64, exp.elem.span) for name in exp.names]
    result = _type(ctx, exp.elem)
    st.scope.leave(mark)
    told = dimensions(result)
    for name, unique in zip(exp.names, unique_names, strict=True):
        if unique not in told:
            raise TypeError_(
                codes.sizes.UNDETERMINED,
                f"The size `{name}` alone is not the size of an array in this type, so "
                "no value determines it.",
                exp.span,
                "Remove it, or also return the number.",
            )
    ctx.ext.extend(unique_names)
    return result


def _arrow(ctx: _TypeContext, exp: ast.TArrow) -> Type:
    st = ctx.st
    inner = _TypeContext(st, ctx.anon, ctx.opened)
    ctx.lift = LIFTED
    param = _type(inner, exp.param)
    mark = st.scope.mark()
    name = ""
    if exp.name is not None and exp.name != "_":
        name = st.bind_local(exp.name, param, exp.span)
    if isinstance(exp.result, ast.TArrow):
        found = Resolved(_type(_TypeContext(st, ctx.anon, ctx.opened), exp.result))
    else:
        found = resolve_result(st, exp.result)
    st.scope.leave(mark)
    if name and name not in names_in_type(found.type):
        name = ""
    return Arrow(param, found.type, name, inner.unique, found.fresh, found.ext, found.fresh_fields)


# --- abbreviations -----------------------------------------------------------------------------


def lookup_type(st: Checker, name: ast.QualName, span: Span) -> Abbreviation:
    """Look up a type name.

    Errors: unknown types and modules, with near misses.
    """
    scope = st.scope
    if len(name) == 1:
        found = scope.types.get(name[0])
        if found is None:
            if name[0] in PRIM_T:
                return _PRIMS[name[0]]
            if name[0] in st.wrong_types:
                raise Silent("", span)
            known = [*scope.types, *PRIM_T]
            raise TypeError_(
                codes.names.TYPE,
                f"Unknown type `{name[0]}`.",
                span,
                unknown_type(st, name[0], known, span),
            )
        return found
    module = scope.module(name[:-1])
    if module is not None and module.wrong:
        raise Silent("", span)
    if module is None:
        path = ".".join(name[:-1])
        raise TypeError_(
            codes.names.MODULE, f"Unknown module `{path}`.", span, unknown_module(st, path, span)
        )
    found = module.types.get(name[-1])
    if found is None and name[0] == "intrinsics":
        raise Limitation(
            codes.limits.INTRINSIC, f"Programs cannot use the type `{'.'.join(name)}`.", span
        )
    if found is None:
        hint = not_applied(".".join(name[:-1]), module.parameters)
        hint = hint or did_you_mean(name[-1], module.types)
        raise TypeError_(codes.names.TYPE, f"Unknown type `{'.'.join(name)}`.", span, hint)
    return found


_PRIMS = {name: Abbreviation((), type_) for name, type_ in PRIM_T.items()}


def _applied(name: str, params: tuple[TypeParamInfo, ...], args: tuple[ast.TypeExp, ...]) -> str:
    """Suggest how to write a type with too few or too many arguments; "" if unknown."""
    if params and not args:
        given = " ".join("[n]" if param.is_size else "i32" for param in params)
        return f"Give it all of its arguments, as in `{name} {given}`."
    is_array = [
        isinstance(arg, ast.TSize) or (isinstance(arg, ast.TName) and arg.name == ("array",))
        for arg in args
    ]
    return f"Write an array of it as `[]{name}`." if not params and all(is_array) else ""


def _apply(
    ctx: _TypeContext, exp: ast.TypeExp, name: ast.QualName, args: tuple[ast.TypeExp, ...]
) -> Type:
    abbreviation = lookup_type(ctx.st, name, exp.span)
    params = abbreviation.params
    if len(args) != len(params):
        raise TypeError_(
            codes.types.TYPE_ARGUMENTS,
            f"The type `{'.'.join(name)}` takes {_count(params)}, but is given {len(args)}.",
            exp.span,
            _applied(".".join(name), params, args),
        )
    ctx.unique = ctx.unique or abbreviation.unique
    ctx.lift = max(ctx.lift, abbreviation.lift)
    if not params and not abbreviation.ext and not has_any_size(abbreviation.type):
        return abbreviation.type
    types: dict[Name, Type] = {}
    sizes: dict[Name, Size] = {}
    for param, arg in zip(params, args, strict=True):
        if param.is_size:
            sizes[param.name] = _size_argument(ctx, arg, param.name)
        else:
            types[param.name] = _type(ctx, arg)
    for ext in abbreviation.ext:
        sizes[ext] = _exists_anew(ctx, ext, exp.span)
    result = subst(abbreviation.type, types, sizes)
    return _fill(ctx, result, exp.span)


def opened(st: Checker, abbreviation: Abbreviation, span: Span) -> Type:
    """Expand an abbreviation, with unknowns for the sizes that it leaves open."""
    open_sizes: dict[Name, Size] = {name: st.size_meta(span) for name in abbreviation.ext}
    return _fill(
        _TypeContext(st, st.size_meta, st.size_meta), subst(abbreviation.type, {}, open_sizes), span
    )


def _exists_anew(ctx: _TypeContext, ext: Name, span: Span) -> Size:
    """Make the size for an open one of an abbreviation; in an abbreviation it stays open."""
    size = ctx.opened(span)
    if size is not ANY_SIZE:
        return size
    name = ctx.st.fresh(ext)
    ctx.ext.append(name)
    return SizeVar(name)


def _count(params: tuple[TypeParamInfo, ...]) -> str:
    sizes = sum(p.is_size for p in params)
    parts = [(sizes, "size"), (len(params) - sizes, "type")]
    texts = [f"{n} {what}{'s' if n > 1 else ''}" for n, what in parts if n]
    return " and ".join(texts) or "no arguments"


def _size_argument(ctx: _TypeContext, arg: ast.TypeExp, param: Name) -> Size:
    match arg:
        case ast.TSize(size=None):
            return _exists_anew(ctx, param, arg.span)
        case ast.TSize(size=size):
            return _size(ctx, size, arg.span)
        case ast.TName(name=name):
            return _size(ctx, ast.Var(arg.span, name), arg.span)
    raise TypeError_(
        codes.types.TYPE_ARGUMENTS, "A size in brackets is needed here, such as `[n]`.", arg.span
    )


def has_any_size(t: Type) -> bool:
    """Test whether an abbreviation's type leaves a size open."""
    t = resolve(t)
    if isinstance(t, Array) and ANY_SIZE in t.dims:
        return True
    return not is_plain(t) and any(map(has_any_size, t.parts))


def _fill(ctx: _TypeContext, t: Type, span: Span) -> Type:
    """Replace `ANY_SIZE` by the local meaning of `[]`; in results of functions by an `ext`."""
    t = resolve(t)
    match t:
        case Array(dims, elem):
            new = tuple(ctx.opened(span) if d is ANY_SIZE else d for d in dims)
            return Array(new, _fill(ctx, elem, span))
        case _ if is_plain(t):
            return t
        case Arrow(param, result, name, consumes, unique, ext, fields):
            new_param = _fill(ctx, param, span)
            names: list[Name] = []
            collect = _collector(ctx.st, names)
            inner = _TypeContext(ctx.st, collect, collect)
            new_result = _fill(inner, result, span)
            return Arrow(new_param, new_result, name, consumes, unique, (*ext, *names), fields)
    return t.map_parts(lambda u: _fill(ctx, u, span))


def _collector(st: Checker, names: list[Name]) -> Anon:
    def anon(span: Span) -> Size:
        name = st.fresh("d")
        names.append(name)
        return SizeVar(name)

    return anon


# --- sizes -------------------------------------------------------------------------------------


def _size(ctx: _TypeContext, exp: ast.Exp | None, span: Span) -> Size:
    if exp is None:
        return ctx.anon(span)
    return size_from(ctx.st, exp)


def _sizes_in_scope(st: Checker, exp: ast.Exp) -> None:
    match exp:
        case ast.Var(name=(name,)) if name not in st.scope.values:
            raise TypeError_(
                codes.names.SIZE,
                f"Unknown size `{name}`.",
                exp.span,
                unknown_size(st, name, exp.span),
            )
        case ast.BinOp(lhs=lhs, rhs=rhs):
            _sizes_in_scope(st, lhs)
            _sizes_in_scope(st, rhs)
        case ast.Parens(exp=inner):
            _sizes_in_scope(st, inner)


def _size_hint(type_: Type) -> str:
    known = resolve(type_)
    if not isinstance(known, PrimT) or known.prim == "bool" or known == I64:
        return ""
    return f"Bind it as an i64, or write `i64.{known.prim} ..`."


def _consumes(e: t.Exp) -> bool:
    """Test whether an applied function in it consumes a variable."""
    if isinstance(e, t.Apply):
        arrow = resolve(e.fn.type)
        for arg in e.args:
            if isinstance(arrow, Arrow):
                if arrow.consumes and isinstance(arg, t.Var):
                    return True
                arrow = resolve(arrow.result)
    return any(_consumes(part) for part in parts(e))


def size_from(st: Checker, exp: ast.Exp) -> Size:
    """Convert an i64 expression to a size.

    Errors: other types; expressions too complicated to be compared.
    """
    _sizes_in_scope(st, exp)
    typed = st.infer(exp, I64)
    st.unify(I64, typed.type, exp.span, "A size", _size_hint(typed.type))
    size = symbolic(typed, keyed=True)
    if size is not None:
        return size
    if _consumes(typed):
        raise TypeError_(
            codes.sizes.CONSUMING, "A size expression cannot consume an array.", exp.span
        )
    key = key_of(typed)
    if key is None:
        raise Limitation(
            codes.limits.SIZE,
            "This expression is too complicated for a size.",
            exp.span,
            "Bind it to a name with `let`, and use the name as the size.",
        )
    return SizeExp(key, typed)
