"""Lambdas, local functions and definitions: their parameters and generalisation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import Related, TypeError_
from compiler.base.names import Name, base_of
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.defaults import apply_defaults, default_of, solve_sizes
from compiler.frontend.check.definitions.existentials import (
    close_constructors,
    computed,
    hide,
)
from compiler.frontend.check.definitions.patterns import Bound, bind_pattern, pattern_names
from compiler.frontend.check.definitions.recursion import result_is_written
from compiler.frontend.check.definitions.type_exps import Resolved, resolve_result
from compiler.frontend.check.scope.hints import one_by_one
from compiler.frontend.check.scope.operator_names import LOGIC, is_operator
from compiler.frontend.check.scope.scope import (
    DATA,
    LIFTED,
    SIZE_LIFTED,
    Abbreviation,
    Recursive,
    Scheme,
)
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import I64, MetaS, MetaT, resolve, resolve_size
from compiler.frontend.check.types.size_exps import names_in_size
from compiler.frontend.check.types.sizes import unify_size
from compiler.frontend.check.types.substitute import map_sizes, subst
from compiler.frontend.check.types.walks import dimensions, metas_in, names_in_type, sizes_of
from compiler.frontend.check.types.wording import show
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.parts import pattern_variables
from compiler.frontend.show_type import show_size
from compiler.frontend.types import (
    ANY_SIZE,
    UNIT,
    Arrow,
    Record,
    Size,
    SizeVar,
    Type,
    TypeVar,
)

LIFTS = {"type": DATA, "sizelifted": SIZE_LIFTED, "lifted": LIFTED}


def simple_names(pats: list[t.Pat]) -> set[Name]:
    """Return the parameters that are plain names: sizes in the function's type may mention them."""
    return {p.name for p in pats if isinstance(p, t.PVar)}


@dataclass(frozen=True, slots=True)
class FunctionResult:
    """A function's result: its type, its existential sizes, and its fresh parts."""

    type: Type
    ext: tuple[Name, ...]
    unique: bool = False
    fresh_fields: tuple[str, ...] = ()


def function_type(pats: list[Bound], final: FunctionResult) -> Type:
    """Build the chain of arrows from parameters to result; name those that sizes mention."""
    result = final.type
    mentioned = names_in_type(result)
    last = True
    for bound in reversed(pats):
        pat = bound.pat
        name = pat.name if isinstance(pat, t.PVar) and pat.name in mentioned else ""
        if last:
            result = Arrow(
                pat.type, result, name, bound.unique, final.unique, final.ext, final.fresh_fields
            )
        else:
            result = Arrow(pat.type, result, name, bound.unique)
        last = False
        mentioned |= names_in_type(pat.type)
    return result


# --- lambdas -----------------------------------------------------------------------------------


def infer_lambda(st: Checker, exp: ast.Lambda, expected: Type | None) -> t.Exp:
    """Infer a lambda; the expected type provides its parameters' types before the body."""
    mark, since = st.scope.mark(), len(st.serials)
    bounds: list[Bound] = []
    want = None if expected is None else resolve(expected)
    renamed: dict[Name, Size] = {}
    for param in exp.params:
        hint: Type | None = None
        if isinstance(want, Arrow):
            hint = subst(want.param, {}, renamed) if renamed else want.param
            if renamed and not isinstance(param, ast.PTyped):
                _says_its_size(hint, renamed.values(), param.span)
        try:
            bound = bind_pattern(st, param, hint, st.param_size)
        except TypeError_ as error:
            if isinstance(want, Arrow) and len(exp.params) == 1:
                error.hint = one_by_one(param, want) or error.hint
            raise
        bounds.append(bound)
        if isinstance(want, Arrow):
            if want.name and isinstance(bound.pat, t.PWild):
                pat = t.PVar(bound.pat.type, bound.pat.span, st.fresh(want.name))
                bound = bounds[-1] = Bound(pat, bound.unique)
            if want.name and isinstance(bound.pat, t.PVar):
                renamed[want.name] = SizeVar(bound.pat.name)
            want = resolve(want.result)
    _known_until_here(st, bounds)
    pats = [b.pat for b in bounds]
    ret = None if exp.ret is None else _written_result(st, exp.ret, simple_names(pats), since)
    hint = ret.type if ret is not None else want
    body = st.infer(exp.body, hint if not renamed or hint is None else subst(hint, {}, renamed))
    st.scope.leave(mark)
    bounds = _with_told_sizes(st, bounds, set(), since)
    pats = [b.pat for b in bounds]
    check_parameters(st, bounds, set(), since)
    result = finish_result(st, ret, body, since, simple_names(pats), "The lambda's body")
    type_ = function_type(bounds, result)
    return t.Lambda(type_, exp.span, tuple(pats), body)


def _says_its_size(type_: Type, before: Iterable[Size], span: Span) -> None:
    """Errors: the size of a parameter without a type is a parameter `before`."""
    for size in before:
        if isinstance(size, SizeVar) and size.name in names_in_type(type_):
            own = base_of(size.name)
            raise TypeError_(
                codes.sizes.INSIDE,
                f"This parameter has the size of the one before it, `{own}`, but its "
                "type does not say so.",
                span,
                f"Write both with their types, as in `\\({own}: i64) (xs: {show(type_)}) -> ..`.",
            )


def _known_until_here(st: Checker, bounds: list[Bound]) -> None:
    """Forbid branches to unify parameters' sizes with names bound from now on."""
    types: list[MetaT] = []
    sizes: list[MetaS] = []
    for bound in bounds:
        metas_in(bound.pat.type, types, sizes)
    now = len(st.serials)
    for unknown in types:
        unknown.until = min(unknown.until, now)
    for size in sizes:
        size.until = min(size.until, now)


def _written_result(st: Checker, exp: ast.TypeExp, visible: set[Name], since: int) -> Resolved:
    """Resolve a function's annotated result type.

    Errors: a size is a name from inside of a tuple or record, which no caller knows.
    """
    ret = resolve_result(st, exp)
    for name in _as_bound(st, ret.type):
        if name not in visible and name not in ret.ext and st.serials.get(name, -1) >= since:
            base = base_of(name)
            raise TypeError_(
                codes.sizes.INSIDE,
                f"The result's size `{base}` is a component of a tuple or record, so "
                "callers cannot name it.",
                exp.span,
                f"Make it a separate parameter, `({base}: i64)`, or leave the size open, `[]`.",
            )
    if ret.fresh:
        st.starred(ret.type, exp.span)
    return replace(ret, span=exp.span)


def _as_bound(st: Checker, type_: Type) -> list[Name]:
    """Return the names in a type's sizes, in the order in which they were bound."""
    return sorted(names_in_type(type_), key=lambda name: (st.serials.get(name, -1), name))


def finish_result(
    st: Checker,
    ret: Resolved | None,
    body: t.Exp,
    since: int,
    visible: set[Name],
    what: str,
) -> FunctionResult:
    """Determine a function's result; sizes that its annotation leaves open are the body's.

    `visible`: names bound inside that its type may mention.
    """
    serial = st.serials

    def is_visible(name: Name) -> bool:
        return name in visible or serial.get(name, -1) < since

    if ret is None:
        return FunctionResult(*hide(st, body.type, is_visible, computed=True))
    holes: dict[Name, Size] = {name: st.size_meta() for name in ret.ext}
    wanted = subst(ret.type, {}, holes) if holes else ret.type
    written = Related(ret.span, "This is the type of the result.")
    st.unify(wanted, body.type, body.span, what, "", written, is_result=True)
    return FunctionResult(*hide(st, wanted, is_visible, computed=True), ret.fresh, ret.fresh_fields)


# --- definitions and local functions -------------------------------------------------------------


@dataclass(slots=True)
class CheckedDef:
    """A checked definition; `definition` contains metavariables until it is zonked."""

    scheme: Scheme
    definition: t.Def
    params: list[Bound]
    since: int
    """Mark in `Checker.serials`: names with lower numbers were bound before."""


@dataclass(slots=True)
class _Params:
    st: Checker
    types: list[Name] = field(default_factory=list)
    sizes: list[Name] = field(default_factory=list)
    lifted: set[Name] = field(default_factory=set)
    open: set[Name] = field(default_factory=set)
    bounds: list[Bound] = field(default_factory=list)
    visible: set[Name] = field(default_factory=set)
    """Names that the result type may mention."""
    own: Recursive = field(default_factory=lambda: Recursive(""))


@dataclass(frozen=True, slots=True)
class FunctionSyntax:
    """The common part of a definition and a local function."""

    name: str
    span: Span
    type_params: tuple[ast.TypeParam, ...]
    params: tuple[ast.Pat, ...]
    ret: ast.TypeExp | None
    body: ast.Exp


def bind_type_params(
    st: Checker,
    type_params: tuple[ast.TypeParam, ...],
    types: list[Name],
    sizes: list[Name],
    open_types: set[Name] | None = None,
) -> set[Name]:
    """Bind `[n]` and `'t`; return the names of those that may stand for functions.

    Errors: a name that is bound twice.
    """
    seen: set[str] = set()
    lifted: set[Name] = set()
    for param in type_params:
        if param.name in seen:
            raise TypeError_(
                codes.names.BOUND_TWICE, f"The parameter `{param.name}` is bound twice.", param.span
            )
        seen.add(param.name)
        if param.kind == "size":
            sizes.append(st.bind_local(param.name, I64, param.span))
        else:
            name = st.fresh(param.name)
            types.append(name)
            st.type_levels[name] = st.level
            lift = LIFTS[param.kind]
            st.scope.bind_type(param.name, Abbreviation((), TypeVar(name), lift=lift))
            if param.kind != "type":
                st.sized.add(name)
            if param.kind == "lifted":
                lifted.add(name)
                st.functional.add(name)
            elif param.kind == "sizelifted" and open_types is not None:
                open_types.add(name)
    return lifted


def define(st: Checker, source: FunctionSyntax, top: bool) -> CheckedDef:
    """Check a definition and generalise its type.

    Errors: everything that can be wrong in it.
    """
    if source.name in LOGIC:
        raise TypeError_(
            codes.syntax.OPERATOR, f"The operator `{source.name}` cannot be redefined.", source.span
        )
    since, open_sizes = len(st.serials), len(st.open_sizes)
    st.level += 1
    params = _Params(st, own=Recursive(source.name))
    body, result = _inside(st, source, params, since, top)
    st.level -= 1
    for size, given in st.open_sizes[open_sizes:]:
        if isinstance(resolve_size(size), MetaS):
            unify_size(size, given, st.alias)
    del st.open_sizes[open_sizes:]
    if top:
        _guessed(st, params.bounds)
        solve(st)
    type_, ext = hide(
        st,
        result.type,
        lambda n: n in params.visible or n in result.ext or st.serials.get(n, -1) < since,
    )
    result = replace(result, type=type_, ext=(*result.ext, *ext))
    params.bounds = _with_told_sizes(st, params.bounds, set(params.sizes), since)
    _takes_known_sizes(st, source, result.type, params, since)
    type_ = function_type(params.bounds, result)
    _all_sizes_used(source, params, type_)
    close_constructors(result.type, st.level, [b.pat.type for b in params.bounds])
    _generalise(st, type_, params)
    check_parameters(st, params.bounds, set(params.sizes), since)
    return _checked_def(st, source, params, type_, body, result, since)


def _guessed(st: Checker, bounds: list[Bound]) -> None:
    """Warn of parameters whose number types only defaults determine."""
    for variable in (v for bound in bounds for v in pattern_variables(bound.pat)):
        found = resolve(variable.type)
        if isinstance(found, MetaT) and found.prims is not None:
            base, prim = base_of(variable.name), default_of(found.prims)
            message = (
                f"The type of this number is ambiguous; the compiler takes `{base}` for `{prim}`."
            )
            hint = f"Write `({base}: {prim})`, or another type."
            st.warned.add(Warning_(codes.warnings.GUESSED, message, variable.span, hint))


def _takes_known_sizes(
    st: Checker, source: FunctionSyntax, result: Type, params: _Params, since: int
) -> None:
    """Demand that a function in a result takes arrays of sizes that its caller can know.

    Errors: a size is bound inside, and is not that of an array in the result.
    """
    known = params.visible | dimensions(result) | st.alias.keys()
    for name in sorted(_taken(result) - known):
        if st.serials.get(name, -1) >= since:
            raise TypeError_(
                codes.sizes.INSIDE,
                f"`{source.name}` returns a function that takes arrays of size "
                f"`{base_of(name)}`, which callers cannot know.",
                source.span,
                "Also return an array of that size, or make the size a parameter.",
            )


def _taken(type_: Type) -> set[Name]:
    """Return the sizes of the parameters of functions in values of this type."""
    type_ = resolve(type_)
    match type_:
        case Record(fields):
            return {name for _, u in fields for name in _taken(u)}
        case Arrow(param, result, name):
            return names_in_type(param) | _taken(result) - {name, *type_.ext}
    return set()


def _inside(
    st: Checker, source: FunctionSyntax, params: _Params, since: int, top: bool
) -> tuple[t.Exp, FunctionResult]:
    """Check the body and result of a definition; bind its parameters."""
    mark = st.scope.mark()
    known = source.name in st.scope.values or source.name in st.scope.modules
    if source.params and not known and not is_operator(source.name):
        st.scope.bind(source.name, params.own)
    params.lifted = bind_type_params(
        st, source.type_params, params.types, params.sizes, params.open
    )
    _distinct(source)
    params.bounds = [bind_pattern(st, p, None, st.param_size) for p in source.params]
    _known_until_here(st, params.bounds)
    params.visible = simple_names([b.pat for b in params.bounds]) | set(params.sizes)
    ret = None if source.ret is None else _written_result(st, source.ret, params.visible, since)
    own = st.meta(source.span) if top and ret is None else None
    if top:
        result = FunctionResult(own or UNIT, ())
        if ret is not None:
            result = FunctionResult(ret.type, ret.ext, ret.fresh, ret.fresh_fields)
        params.own.type = function_type(params.bounds, result)
        params.own.size_params = tuple(params.sizes)
    try:
        body = st.infer(source.body, None if ret is None else ret.type)
        st.scope.leave(mark)
        result = finish_result(st, ret, body, since, params.visible, f"The body of `{source.name}`")
        if own is not None and params.own.name:
            st.unify(own, result.type, source.span, f"The result of `{source.name}`")
    except TypeError_:
        result_is_written(params.own, own, source.span)
        raise
    result_is_written(params.own, own, source.span)
    return body, result


def _checked_def(
    st: Checker,
    source: FunctionSyntax,
    params: _Params,
    type_: Type,
    body: t.Exp,
    result: FunctionResult,
    since: int,
) -> CheckedDef:
    """Build the checked definition under a fresh name."""
    name = params.own.name or st.authored(source.name)
    scheme = Scheme(
        name,
        tuple(params.types),
        tuple(params.sizes),
        type_,
        frozenset(params.lifted),
        source.span,
        frozenset(params.open),
    )
    definition = t.Def(
        name,
        source.name,
        scheme.type_params,
        scheme.size_params,
        tuple(b.pat for b in params.bounds),
        result.type,
        result.unique,
        result.ext,
        body,
        False,
        source.span,
        fresh_fields=result.fresh_fields,
        recursive=bool(params.own.name),
    )
    return CheckedDef(scheme, definition, params.bounds, since)


def _distinct(source: FunctionSyntax) -> None:
    seen = {p.name for p in source.type_params if p.kind == "size"}
    for param in source.params:
        for name in pattern_names(param):
            if name in seen:
                raise TypeError_(
                    codes.names.BOUND_TWICE, f"Two parameters are called `{name}`.", param.span
                )
            seen.add(name)


def _all_sizes_used(source: FunctionSyntax, params: _Params, type_: Type) -> None:
    """Demand that every size parameter is the size of something."""
    used = names_in_type(type_)
    explicit = [p for p in source.type_params if p.kind == "size"]
    for param, name in zip(explicit, params.sizes, strict=False):
        if name not in used:
            raise TypeError_(
                codes.sizes.UNDETERMINED,
                f"No call can determine the size parameter `{param.name}`: it is not "
                f"the size of an array in the type of `{source.name}`.",
                param.span,
                f"Remove it, or take the number as an argument: `({param.name}: i64)`.",
            )


def solve(st: Checker) -> None:
    """End a top-level definition: decide open sizes, apply defaults.

    Errors: sizes that cannot be shown equal, types that are not known.
    """
    solve_sizes(st)
    apply_defaults(st)


def _with_told_sizes(st: Checker, bounds: list[Bound], known: set[Name], since: int) -> list[Bound]:
    """Replace sizes bound inside, after `since`, where parameters before them determine these.

    In `def f (h: i32 -> i64) xs = zip (iota (h 3)) xs` the size of `xs` is `h 3`; a name bound by
    `let` determines none. `known`: names that are known before the first parameter.
    """
    told: list[Bound] = []
    before = set(known)

    def is_visible(name: Name) -> bool:
        return name in before or st.serials.get(name, -1) < since

    def size_told(size: Size) -> Size:
        return computed(st, size, is_visible, by_said=False) or size

    for bound in bounds:
        if not all(map(is_visible, names_in_type(bound.pat.type))):
            bound = replace(bound, pat=_with_sizes(bound.pat, size_told))
        told.append(bound)
        if isinstance(bound.pat, t.PVar):
            before.add(bound.pat.name)
    return told


def _with_sizes(pat: t.Pat, change: Callable[[Size], Size]) -> t.Pat:
    """Change every array size in a parameter's type."""
    pat = replace(pat, type=map_sizes(pat.type, lambda size: change(resolve_size(size))))
    if isinstance(pat, t.PRecord):
        inner = tuple([(field, _with_sizes(one, change)) for field, one in pat.fields])
        pat = replace(pat, fields=inner)
    return pat


def check_parameters(st: Checker, bounds: list[Bound], known: set[Name], since: int) -> None:
    """Demand that parameters' types mention only what a caller can know.

    Errors: a size is a name bound inside, after `since`, and not in `known` or a parameter before.
    """
    for bound in bounds:
        pat = bound.pat
        for name in _as_bound(st, pat.type):
            if name not in known and st.serials.get(name, -1) >= since:
                own, size = base_of(name), _size_over(pat.type, name)
                reason, hint = "is bound inside the function", _left_open(pat, name)
                if size != own:
                    reason = f"needs `{own}`, which has no value before it"
                    if isinstance(pat, t.PVar) and pat.name == name:
                        named = f"`[n] ({own}: [n]..)`, and `n` for `{size}`"
                        hint = f"Name its size: {named}."
                    elif name in simple_names([other.pat for other in bounds]):
                        hint = f"Move the parameter `{own}` before it."
                maker = st.makers.get(name)
                raise TypeError_(
                    codes.sizes.INSIDE,
                    f"The size of this parameter would have to be `{size}`, which {reason}.",
                    pat.span,
                    hint,
                    (Related(maker.span, f"`{own}` {maker.of_size}."),) if maker else (),
                )
        if isinstance(pat, t.PVar):
            known.add(pat.name)


def _left_open(pat: t.Pat, name: Name) -> str:
    """Suggest how to write a parameter whose size is bound inside, as `name`."""
    if isinstance(resolve(pat.type), Arrow):
        return "Pass that size to the function, too: `(f: (n: i64) -> [n]i32 -> i32)`."

    def sized(new: Size) -> str:
        return show(map_sizes(pat.type, lambda size: new if _mentions(size, name) else size))

    own = base_of(pat.name) if isinstance(pat, t.PVar) else "x"
    return (
        f"Leave it open, `({own}: {sized(ANY_SIZE)})`. Where you need an array of that "
        f"size, name the size, `let [k] (ys: [k]t) = ..`, and claim `{own} :> "
        f"{sized(SizeVar(Name('k')))}`."
    )


def _size_over(type_: Type, name: Name) -> str:
    """Return the first size in a type that mentions `name`, or that name."""
    over = (size for size in map(resolve_size, sizes_of(type_)) if _mentions(size, name))
    return next(map(show_size, over), base_of(name))


def _mentions(size: Size, name: Name) -> bool:
    mentioned: set[Name] = set()
    names_in_size(size, mentioned)
    return name in mentioned


def _size_name(st: Checker, params: _Params) -> Name:
    """Choose a name for an inferred size parameter that resembles none of the others."""
    taken = {base_of(n) for n in params.sizes}
    free = next((b for b in ("n", "m", "k", "l", "o", "p", "q") if b not in taken), "n")
    return st.fresh(free)


def _generalise(st: Checker, type_: Type, params: _Params) -> None:
    """Turn the unknowns of a function's type into its parameters."""
    types: list[MetaT] = []
    sizes: list[MetaS] = []
    metas_in(type_, types, sizes)
    for meta in types:
        if meta.prims is not None or meta.fields or meta.variants or meta.equality:
            _keep_open(meta, st.level)
    for meta in types:
        if meta.ref is not None or meta.level <= st.level:
            continue
        name = st.fresh("t")
        meta.ref = TypeVar(name)
        params.types.append(name)
        if not meta.data:
            params.lifted.add(name)
        elif not meta.regular:
            params.open.add(name)
    for size in sizes:
        if size.ref is None and size.level > st.level:
            name = _size_name(st, params)
            size.ref = SizeVar(name)
            params.sizes.append(name)


def _keep_open(meta: MetaT, level: int) -> None:
    """Exclude an overloaded or partially known type from generalisation."""
    types: list[MetaT] = []
    sizes: list[MetaS] = []
    metas_in(meta, types, sizes)
    for inner in types:
        inner.level = min(inner.level, level)
    for size in sizes:
        size.level = min(size.level, level)


def infer_let_fun(st: Checker, exp: ast.LetFun, expected: Type | None) -> t.Exp:
    """Infer a local function, which is generalised and in scope in the body."""
    source = FunctionSyntax(exp.name, exp.span, exp.type_params, exp.params, exp.ret, exp.rhs)
    made = define(st, source, top=False)
    mark = st.scope.mark()
    st.scope.bind(exp.name, made.scheme)
    body = st.infer(exp.body, expected)
    st.scope.leave(mark)
    return t.LetFun(body.type, exp.span, made.definition, body)


# --- definitions without parameters whose value is a function ------------------------------------


def expand(st: Checker, definition: t.Def) -> t.Def:
    """Eta-expand a definition of function type."""
    type_ = resolve(definition.ret)
    if not isinstance(type_, Arrow):
        return definition
    params: list[t.Pat] = list(definition.params)
    args: list[t.Exp] = []
    renamed: dict[Name, Size] = {}
    span = definition.span
    arrow = type_
    while True:
        name = st.fresh("x")
        param = subst(arrow.param, {}, renamed)
        params.append(t.PVar(param, span, name, arrow.consumes))
        args.append(t.Var(param, span, name))
        if arrow.name:
            renamed[arrow.name] = SizeVar(name)
        result = resolve(arrow.result)
        if not isinstance(result, Arrow):
            break
        arrow = result
    final = subst(result, {}, renamed)
    inner, call = _renamed_ext(st, arrow.ext, final)
    body = _applied(definition.body, tuple(args), call, inner)
    outer, ret = _renamed_ext(st, arrow.ext, final)
    return t.Def(
        definition.name,
        definition.source_name,
        definition.type_params,
        definition.size_params,
        tuple(params),
        ret,
        arrow.unique,
        (*definition.ext, *outer),
        body,
        definition.is_entry,
        definition.span,
        definition.attrs,
        arrow.fresh_fields,
        definition.recursive,
    )


def _renamed_ext(st: Checker, ext: tuple[Name, ...], type_: Type) -> tuple[tuple[Name, ...], Type]:
    """Rename existential sizes in a type."""
    new = {name: st.fresh(name) for name in ext}
    return tuple(new.values()), subst(type_, {}, {n: SizeVar(m) for n, m in new.items()})


def _applied(body: t.Exp, args: tuple[t.Exp, ...], type_: Type, ext: tuple[Name, ...]) -> t.Exp:
    match body:
        case t.Apply(fn=fn, args=given, ext=first):
            return t.Apply(type_, body.span, fn, (*given, *args), (*first, *ext))
        case t.Let(sizes=sizes, pat=pat, rhs=rhs, body=inner):
            return t.Let(type_, body.span, sizes, pat, rhs, _applied(inner, args, type_, ext))
    return t.Apply(type_, body.span, body, args, ext)
