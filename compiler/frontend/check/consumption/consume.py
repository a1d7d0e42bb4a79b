"""Uniqueness: what is consumed is not used again, and only what one owns is consumed.

Runs over the typed expression of a definition in the order of evaluation. Every variable has its
aliases; consuming a value consumes all names that it aliases. Rules:

1. a name that was consumed, or aliases one that was, is not used after that;
2. a parameter is consumed only if its type has `*`; constants of the program never are;
3. a lambda, a local function or a loop's body consumes nothing that is bound outside of it;
4. what a consuming loop parameter becomes in the next iteration aliases nothing from outside;
5. a result whose type has `*` aliases no parameter without `*`, and no other part of the result;
6. the arrays that a function's result shows alias no constant of the program, unless the function
   is written as a partial application to that constant, or the constant's type is abstract; nobody
   consumes a result that aliases one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler import codes
from compiler.base.by_class import handles
from compiler.base.errors import Related, TypeError_
from compiler.base.names import Name
from compiler.frontend import typed as t
from compiler.frontend.check.consumption.aliases import (
    NONE,
    Aliases,
    Names,
    broadcast,
    components,
    flat,
    returned,
    shown,
    union_of,
    with_field,
    without,
)
from compiler.frontend.check.consumption.aliases import field as field_aliases
from compiler.frontend.check.consumption.consume_loops import walk_loop
from compiler.frontend.check.consumption.freshness import (
    constants_in,
    consumes,
    is_fresh,
    may_alias,
    must_be_fresh,
    no_constants,
)
from compiler.frontend.check.consumption.ownership import COPY, OF_LAMBDA, Variable, Walk
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import resolve
from compiler.frontend.parts import free_variables, pattern_variables, without_stars
from compiler.frontend.types import Arrow, PrimT, Type

_EXPS: dict[type, Callable[..., Aliases]] = {t.Loop: walk_loop}


# --- definitions -------------------------------------------------------------------------------


def check_definition(d: t.Def, annotated: bool, partial: bool, shown: Type, st: Checker) -> t.Def:
    """Check one definition and return it with the facts about its result and its loops.

    Its `unique` says whether its result is fresh, and a loop's variable has a `*` only if the loop
    consumes its initial value.

    `partial`: it is written without parameters, as `def f = g c`; then its result may alias
    constants. `shown` is its type, with what is abstract in it.
    Errors: `TypeError_` where one of the rules is broken.
    """
    walk = Walk(
        _EXPS, given=st.given, applying=st.applying, kept=st.kept, of_constants=st.of_constants
    )
    unique = _function(walk, d, annotated, shown, partial, st.apart)
    if walk.needless_stars:
        d = without_stars(d, walk.needless_stars)
    return d if unique == d.unique else replace(d, unique=unique)


def _function(
    walk: Walk,
    d: t.Def,
    annotated: bool,
    shown: Type,
    partial: bool = False,
    apart: set[Name] | None = None,
) -> bool:
    """Test whether the function's result is fresh.

    If so, and its type claims that only of parts, add its name to `apart`.
    """
    owned: set[Name] = set()
    for pat in d.params:
        owns = consumes(pat)
        what = "a parameter whose type has no `*`"
        walk.bind(pat, NONE, owns, what)
        if owns:
            owned |= {v.name for v in pattern_variables(pat)}
    result = walk.exp(d.body)
    if not d.params and not isinstance(d.ret, Arrow):
        return d.unique
    what = f"`{d.source_name}`"
    if not partial:
        no_constants(walk, what, d.body, _result_of(shown), result)
    if constants := constants_in(walk, result):
        walk.of_constants[d.name] = returned(constants)
    if annotated:
        if d.unique:
            must_be_fresh(walk, what, d.body, result, owned)
        for f in d.fresh_fields:
            must_be_fresh(walk, what, d.body, field_aliases(result, f), owned)
        if apart is not None and d.fresh_fields and is_fresh(walk, result, owned):
            apart.add(d.name)
        return d.unique
    return may_alias(d.ret) and is_fresh(walk, result, owned)


def _result_of(type_: Type) -> Type:
    """Return a function's result type after all its arguments."""
    while isinstance(type_ := resolve(type_), Arrow):
        type_ = type_.result
    return type_


# --- expressions -------------------------------------------------------------------------------


@handles(_EXPS, t.Const, t.StringConst, t.Hole)
def _nothing(walk: Walk, e: t.Exp) -> Aliases:
    return NONE


@handles(_EXPS, t.Var)
def _var(walk: Walk, e: t.Var) -> Aliases:
    return walk.use(e)


@handles(_EXPS, t.PrimOp, t.PrimFun)
def _operation(walk: Walk, e: t.PrimOp | t.PrimFun) -> Aliases:
    walk.all(e.args)
    return NONE


@handles(_EXPS, t.Convert)
def _convert(walk: Walk, e: t.Convert) -> Aliases:
    walk.exp(e.exp)
    return NONE


@handles(_EXPS, t.Apply)
def _apply(walk: Walk, e: t.Apply) -> Aliases:
    given: list[Aliases] = [NONE] * len(e.args)
    for i in range(len(e.args) - 1, -1, -1):
        given[i] = walk.exp(e.args[i])
    fn = walk.exp(e.fn)
    _still_there(walk, e, given)
    arrow: Type = e.fn.type
    shared: Names = flat(fn)
    unique = False
    fields: tuple[str, ...] = ()
    for i, aliases in enumerate(given):
        if not isinstance(arrow, Arrow):
            break
        if arrow.consumes:
            if isinstance(e.type, Arrow) and flat(aliases):
                raise TypeError_(
                    codes.uniqueness.PARTIAL,
                    "This argument is consumed, so the function must get all of its arguments.",
                    e.args[i].span,
                    "Give all arguments at once, or write a lambda.",
                )
            _consume_argument(walk, e, i, given)
        else:
            shared |= flat(aliases)
        unique, fields = arrow.unique, arrow.fresh_fields
        arrow = arrow.result
    if isinstance(e.fn, t.Var) and walk.fresh_results.get(e.fn.name):
        unique = unique or not isinstance(e.type, Arrow)
    if unique or isinstance(e.type, PrimT):
        return NONE
    result = broadcast(e.type, shared)
    if len(components(result)) > 1:
        result = broadcast(e.type, shared | walk.nameless())
    for f in fields:
        result = with_field(result, (f,), NONE)
    return result


def _still_there(walk: Walk, e: t.Apply, given: list[Aliases]) -> None:
    """Reject an argument that the evaluation of another one consumes."""
    if walk.consumed:
        for arg, aliases in zip(e.args, given, strict=True):
            for name in flat(aliases):
                if name in walk.consumed:
                    where = walk.consumed[name].position
                    raise TypeError_(
                        codes.uniqueness.SHARED,
                        f"This argument aliases `{shown(name)}`, which another argument consumes"
                        f" at {where}.",
                        arg.span,
                        COPY,
                    )


def _consume_argument(walk: Walk, e: t.Apply, index: int, given: list[Aliases]) -> None:
    aliases = given[index]
    names = flat(aliases)
    for k, other in enumerate(given):
        common = names & flat(other)
        if k != index and common:
            raise TypeError_(
                codes.uniqueness.SHARED,
                f"This call consumes `{shown(min(common))}`, which another argument also contains.",
                e.args[index].span,
                COPY,
                (Related(e.args[k].span, "This is the other argument."),),
            )
    seen: set[Name] = set()
    for part in components(aliases):
        if seen & part:
            raise TypeError_(
                codes.uniqueness.SHARED,
                "Two components of this consumed argument share the memory of "
                f"`{shown(min(seen & part))}`.",
                e.args[index].span,
                COPY,
            )
        seen |= part
    walk.consume(aliases, e.args[index].span)


@handles(_EXPS, t.Lambda)
def _lambda(walk: Walk, e: t.Lambda) -> Aliases:
    before = walk.inside("the lambda")
    for pat in e.params:
        walk.bind(pat, NONE, consumes(pat), OF_LAMBDA)
    own = {v.name for pat in e.params for v in pattern_variables(pat)}
    result = walk.exp(e.body)
    no_constants(walk, "the lambda", e.body, e.body.type, result)
    if _declares_fresh(e):
        owned = {v.name for p in e.params if consumes(p) for v in pattern_variables(p)}
        must_be_fresh(walk, "the lambda", e.body, result, owned)
    walk.leave(before)
    return _captured(walk, e.body, own) | constants_in(walk, result)


def _declares_fresh(e: t.Lambda) -> bool:
    arrow: Type = e.type
    for _ in e.params[:-1]:
        assert isinstance(arrow, Arrow)
        arrow = arrow.result
    return isinstance(arrow, Arrow) and arrow.unique


def _captured(walk: Walk, body: t.Exp, own: set[Name]) -> Names:
    """Return the free variables of a function's body, and their aliases."""
    names = NONE
    for name in free_variables(body):
        if name not in own and name in walk.variables:
            variable = walk.variables[name]
            if variable.depth <= walk.depth:
                names |= flat(variable.aliases)
    return names


@handles(_EXPS, t.Let)
def _let(walk: Walk, e: t.Let) -> Aliases:
    exp: t.Exp = e
    while type(exp) is t.Let:
        walk.bind(exp.pat, walk.exp(exp.rhs), consumable=True)
        exp = exp.body
    return walk.exp(exp)


@handles(_EXPS, t.LetFun)
def _let_fun(walk: Walk, e: t.LetFun) -> Aliases:
    before = walk.inside(f"the function `{e.fun.source_name}`")
    fresh = _function(
        walk, e.fun, annotated=e.fun.unique or bool(e.fun.fresh_fields), shown=e.fun.ret
    )
    walk.leave(before)
    own = {v.name for pat in e.fun.params for v in pattern_variables(pat)}
    captured = _captured(walk, e.fun.body, own) | walk.of_constants.get(e.fun.name, NONE)
    walk.fresh_results[e.fun.name] = fresh
    walk.variables[e.fun.name] = Variable(captured, walk.depth, consumable=False, what="a function")
    return walk.exp(e.body)


@handles(_EXPS, t.If)
def _if(walk: Walk, e: t.If) -> Aliases:
    walk.exp(e.cond)
    return _branches(walk, (e.then, e.orelse))


def _branches(walk: Walk, bodies: tuple[t.Exp, ...]) -> Aliases:
    before = walk.consumed
    after = dict(before)
    result: Aliases | None = None
    for body in bodies:
        walk.consumed = dict(before)
        aliases = walk.exp(body)
        result = aliases if result is None else union_of(result, aliases)
        after.update(walk.consumed)
    walk.consumed = after
    if result is None:
        return NONE
    return without(result, frozenset(n for n in after if n not in before))


@handles(_EXPS, t.Match)
def _match(walk: Walk, e: t.Match) -> Aliases:
    aliases = walk.exp(e.exp)
    for case in e.cases:
        walk.bind(case.pat, aliases, consumable=True)
    return _branches(walk, tuple(c.body for c in e.cases))


@handles(_EXPS, t.RecordExp)
def _record(walk: Walk, e: t.RecordExp) -> Aliases:
    result: dict[str, Aliases] = {f: walk.exp(v) for f, v in e.fields}
    if walk.consumed:
        for f, v in e.fields:
            for name in flat(result[f]):
                if name in walk.consumed:
                    where = walk.consumed[name].position
                    raise TypeError_(
                        codes.uniqueness.SHARED,
                        f"This aliases `{shown(name)}`, which is consumed at {where}.",
                        v.span,
                        COPY,
                    )
    return result


@handles(_EXPS, t.Project)
def _project(walk: Walk, e: t.Project) -> Aliases:
    path: tuple[str, ...] = ()
    exp: t.Exp = e
    while isinstance(exp, t.Project):
        path = (exp.field, *path)
        exp = exp.exp
    if isinstance(exp, t.Var):
        return walk.use(exp, path)
    return field_aliases(walk.exp(e.exp), e.field)


@handles(_EXPS, t.RecordUpdate)
def _record_update(walk: Walk, e: t.RecordUpdate) -> Aliases:
    """Walk `r with f = v`: the field's old value is not read, and `v` may have consumed it."""
    if isinstance(e.exp, t.Var):
        value = walk.exp(e.value)
        record = walk.use(e.exp, e.path, but=True)
    else:
        record = walk.exp(e.exp)
        value = walk.exp(e.value)
    return with_field(record, e.path, value)


@handles(_EXPS, t.ArrayLit)
def _array_lit(walk: Walk, e: t.ArrayLit) -> Aliases:
    walk.all(e.elems)
    return NONE


@handles(_EXPS, t.Range)
def _range(walk: Walk, e: t.Range) -> Aliases:
    walk.exp(e.first)
    if e.second is not None:
        walk.exp(e.second)
    walk.exp(e.end)
    return NONE


def _dims(walk: Walk, dims: tuple[t.DimIndex, ...]) -> None:
    for dim in dims:
        if isinstance(dim, t.IndexFix):
            walk.exp(dim.at)
        else:
            walk.all(tuple(b for b in (dim.start, dim.stop, dim.step) if b is not None))


@handles(_EXPS, t.Index)
def _index(walk: Walk, e: t.Index) -> Aliases:
    array = walk.exp(e.array)
    _dims(walk, e.dims)
    return NONE if isinstance(e.type, PrimT) else broadcast(e.type, flat(array))


@handles(_EXPS, t.Update)
def _update(walk: Walk, e: t.Update) -> Aliases:
    _dims(walk, e.dims)
    value = walk.exp(e.value)
    array = walk.exp(e.array)
    common = flat(array) & flat(value)
    if common:
        raise TypeError_(
            codes.uniqueness.VALUE_ALIASES,
            f"The new value may alias `{shown(min(common))}`, the updated array.",
            e.value.span,
            COPY,
        )
    walk.consume(array, e.array.span)
    return NONE


@handles(_EXPS, t.Coerce, t.Attr)
def _through(walk: Walk, e: t.Coerce | t.Attr) -> Aliases:
    return walk.exp(e.exp)


@handles(_EXPS, t.Assert)
def _assert(walk: Walk, e: t.Assert) -> Aliases:
    walk.exp(e.cond)
    return walk.exp(e.exp)


@handles(_EXPS, t.Constr)
def _constr(walk: Walk, e: t.Constr) -> Aliases:
    names = NONE
    for arg in e.args:
        names |= flat(walk.exp(arg))
    return names
