"""Apply functional values: inline them, or specialise a definition.

Lambdas and the small or higher-order definitions of the prelude are inlined where they are called.
Other code gets one version per type instance (sizes do not count: those of instantiated type
parameters become size parameters) and per functional argument, whose free variables become
parameters. A large lambda is inlined once; from its second call on it has a definition.

A recursive definition calls the version that is being made: its functional arguments are the
parameters themselves. These, and names that come with them, are left out in such calls, and the
code that lowers them passes the version's own leading parameters on. Calls in such a definition
with functional arguments, which may call it in turn, are inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from compiler import codes
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import typed as ty
from compiler.frontend.intrinsics import ACCUMULATING, DERIVATIVES
from compiler.frontend.types import (
    ANY_SIZE,
    UNIT,
    Arrow,
    Size,
    SizeVar,
    Type,
)
from compiler.lower.expression_size import is_larger
from compiler.lower.function_constants import bind_sizes, functional_constant
from compiler.lower.naming import (
    Binding,
    Instance,
    Making,
    Specialiser,
    bind,
    called,
    definition,
    fresh_sizes,
    instantiated,
    pattern,
    residual,
    trivial,
    type_of,
    user_span,
    wrap,
)
from compiler.lower.static import (
    Accumulator,
    Barrier,
    Closure,
    Env,
    Rec,
    Tagged,
    Value,
    collect_sizes,
    has_function,
    map_sizes,
    type_key,
    value_key,
)
from compiler.lower.traced import is_traced

SMALL = 40
"""Definitions of the prelude up to this many nodes are inlined."""
LARGE = 60
"""Lambdas above this many nodes are inlined only once."""

OPERATORS = ("reduce", "reduce_comm", "scan", "hist_1d", "hist_2d", "hist_3d")
_NAMES_BY_ARITY = {
    1: "unzip iota transpose flatten unflatten copy scratch opaque",
    2: "map zip replicate concat",
    3: "reduce reduce_comm scan scatter_1d scatter_2d scatter_3d scatter_stream acc_write jvp2 vjp2"
    " jmp2 mjp2 with_vjp",
    5: "hist_stream hist_1d hist_2d hist_3d flat_update_2d",
    6: "flat_index_2d flat_update_3d",
    7: "flat_update_4d",
    8: "flat_index_3d",
    10: "flat_index_4d",
}
ARITY = {name: count for count, names in _NAMES_BY_ARITY.items() for name in names.split()}
"""The number of arguments of each intrinsic."""


# --- definitions -------------------------------------------------------------------------


def global_function(sp: Specialiser, e: ty.Var, env: Env, out: list[Binding]) -> Value:
    """Return the value of a global name of functional type."""
    if e.name.startswith("intrinsics."):
        return instantiated(sp, e.name.removeprefix("intrinsics."), e, env)
    code = definition(sp, e)
    fun = instantiated(sp, code, e, env)
    if code.ext and not code.params:
        return functional_constant(sp, fun, out)
    return fun if code.params else sp.static(code.body, fun.enter(), out)


def sized_constant(sp: Specialiser, e: ty.Var, env: Env) -> ty.Exp:
    """Inline the body of a definition that depends on sizes known here."""
    code = definition(sp, e)
    return sp.ev(code.body, instantiated(sp, code, e, env).enter())


# --- application -------------------------------------------------------------------------


class Result(NamedTuple):
    """The result of a call, in residual names: its type, place, and existential sizes."""

    type: Type
    span: Span
    ext: tuple[Name, ...] = ()


def call(
    sp: Specialiser, fun: Value, args: tuple[Value, ...], to: Result, out: list[Binding]
) -> Value:
    """Apply `fun` to `args` (any residual expressions)."""
    if not isinstance(fun, Closure):
        raise CompilerBug("something else than a function is applied", to.span)
    wanted = arity(fun.code)
    have = fun.args + args
    if len(have) < wanted:
        return replace(fun, args=tuple(trivial(sp, a, out) for a in have))
    if len(have) > wanted:
        function = Result(Arrow(to.type, to.type), to.span)
        first = call(sp, replace(fun, args=()), have[:wanted], function, out)
        return call(sp, first, have[wanted:], to, out)
    if fun.code in ACCUMULATING:
        return accumulating(sp, fun, have, to, out)
    if isinstance(fun.code, str):
        return intrinsic(sp, fun, have, to)
    if has_function(to.type) or _is_open(sp, fun) or in_place(sp, fun.code, have, to.ext):
        return inline(sp, fun, have, to, out)
    return call_instance(sp, fun, have, to)


def _is_open(sp: Specialiser, fun: Closure) -> bool:
    """Return True if its types have existential sizes, which no call can mention."""
    sizes: list[Size] = []
    for t in (sp.open_sizes and fun.types) or ():
        collect_sizes(t, sizes)
    return ANY_SIZE in sizes


def arity(code: ty.Def | ty.Lambda | str) -> int:
    """Return the number of arguments that the code takes at once."""
    return ARITY[code] if isinstance(code, str) else len(code.params)


def in_place(
    sp: Specialiser, code: ty.Def | ty.Lambda, args: tuple[Value, ...], ext: tuple[Name, ...]
) -> bool:
    """Return True if a saturated call is inlined."""
    functional = any(isinstance(a, Closure | Rec | Tagged | Accumulator) for a in args)
    local = isinstance(code, ty.Lambda) or code.name not in sp.defs
    recursive = isinstance(code, ty.Def) and code.recursive
    if sp.inside is not None and not recursive and (functional or local):
        return True
    if isinstance(code, ty.Lambda) or local:
        if ext and isinstance(code, ty.Lambda):
            return True
        key = (id(code), sp.owner)
        if key in sp.placed and not code.span.in_prelude and is_larger(code.body, LARGE):
            return False
        sp.placed.add(key)
        return True
    if not code.span.in_prelude or "noinline" in code.attrs:
        return False
    if functional:
        return True
    if isinstance(code, ty.Def) and sp.ctx.options.traced and is_traced(code):
        return False
    small = sp.higher.get(code.name)
    if small is None:
        small = sp.higher[code.name] = not is_larger(code.body, SMALL)
    return small


def inline(
    sp: Specialiser, fun: Closure, args: tuple[Value, ...], to: Result, out: list[Binding]
) -> Value:
    """Inline the body of `fun` in place of a call."""
    code, env, site = fun.code, fun.enter(), sp.site
    assert not isinstance(code, str)
    _go_into(sp, code, to.span)
    for p, arg in zip(code.params, args, strict=True):
        bind(sp, p, arg, env, out)
    if isinstance(code, ty.Def):
        fresh_sizes(sp, code.ext, env)
    if has_function(to.type):
        result = sp.static(code.body, env, out)
        if to.ext:
            have = type_of(sp, code.body.type, env)
            bind_sizes(to.ext, to.type, have, result, to.span, out)
    else:
        result = _with_sizes(sp, sp.ev(code.body, env), to)
    sp.site = site
    return result


def _go_into(sp: Specialiser, code: ty.Def | ty.Lambda, span: Span) -> None:
    """Let prelude code called by the user's code take the place of the call."""
    if code.span.in_prelude and not span.in_prelude:
        sp.site = span


def _with_sizes(sp: Specialiser, body: ty.Exp, to: Result) -> ty.Exp:
    """Bind the existential sizes of the type of `body`."""
    if not to.ext:
        return body
    t, span, name = to.type, to.span, sp.ctx.fresh("res")
    return ty.Let(t, span, to.ext, ty.PVar(t, span, name), body, ty.Var(t, span, name))


def call_instance(sp: Specialiser, fun: Closure, args: tuple[Value, ...], to: Result) -> ty.Exp:
    """Call the version of `fun` for these types and functional arguments.

    Errors: `Limitation` for mutually recursive functions.
    """
    made = sp.making.get(_version(fun))
    if made is not None and made.code is not sp.inside:
        raise Limitation(
            codes.limits.MUTUAL,
            f"`{made.code.source_name}` calls itself through another recursive function.",
            to.span,
            "Write one of the two as a `loop`.",
        )
    root, walls = behind_walls(fun, args)
    instance = made or instance_of(sp, root, args)
    if walls and not all(isinstance(v, ty.Var) for v in instance.brought):
        instance, walls = instance_of(sp, fun, args), []
    brought: tuple[ty.Exp, ...] = instance.brought
    for wall in reversed(walls):
        brought = tuple(wall.variable(v) for v in brought if isinstance(v, ty.Var))
    sizes = list(fun.sizes)
    for ta in fun.types or ():
        collect_sizes(ta, sizes)
    dynamic = tuple(a for a in args if isinstance(a, ty.Exp))
    operands = brought + dynamic
    if not operands and made is None:
        operands = (ty.RecordExp(UNIT, to.span, ()),)
    fn_type = to.type
    for operand in reversed(operands):
        fn_type = Arrow(operand.type, fn_type)
    fn = ty.Var(fn_type, to.span, instance.name, (), tuple(sizes))
    return ty.Apply(to.type, to.span, fn, operands, to.ext)


def _version(fun: Closure) -> object:
    """Return a key shared by a recursive definition and its calls of itself."""
    return (id(fun.code), *(type_key(t) for t in fun.types or ()))


def instance_of(sp: Specialiser, fun: Closure, args: tuple[Value, ...]) -> Instance:
    """Return the version for the type arguments and the functional arguments."""
    key = (
        id(fun.code),
        0 if fun.env is None else id(fun.env),
        tuple(type_key(t) for t in fun.types or ()),
        tuple(None if isinstance(a, ty.Exp) else value_key(a) for a in args),
    )
    known = sp.instances.get(key)
    if known is None:
        known = _make(sp, fun, args)
        sp.instances[key] = known
    return known


def _make(sp: Specialiser, fun: Closure, args: tuple[Value, ...]) -> Instance:
    site, owner, inside = sp.site, sp.owner, sp.inside
    code = as_definition(fun.code)
    sp.site, sp.inside = None, None
    own = ""
    if code.recursive:
        own, sp.inside = sp.ctx.fresh(code.name), code
        sp.making[_version(fun)] = Making(code, own)
    if fun.env is None:
        sp.versions += 1
        sp.owner = sp.versions
    barrier = Barrier(sp.ctx.fresh)
    env = Env(fun.env, barrier)
    sizes = list(fresh_sizes(sp, code.size_params, env))
    ext = fresh_sizes(sp, code.ext, env)
    for name, t in zip(code.type_params, fun.types or (), strict=True):
        env.names[name] = _erase(sp, t, sizes, barrier)
    params: list[ty.Pat] = []
    out: list[Binding] = []
    for p, arg in zip(code.params, args, strict=True):
        if isinstance(arg, ty.Exp):
            params.append(pattern(sp, p, env))
        else:
            bind(sp, p, barrier.bring(arg), env, out)
    body = wrap(out, sp.ev(code.body, env))
    ret = type_of(sp, code.ret, env)
    outer = tuple(pair[0] for pair in barrier.brought.values())
    inner = [ty.PVar(v.type, v.span, v.name) for _, v in barrier.brought.values()]
    made = replace(
        code,
        name=own or sp.ctx.fresh(code.name),
        type_params=(),
        size_params=tuple(sizes),
        params=(*inner, *params) or (ty.PWild(UNIT, code.span),),
        ret=ret,
        ext=ext,
        body=body,
        is_entry=False,
    )
    sp.done.append(made)
    sp.making.pop(_version(fun), None)
    sp.site, sp.owner, sp.inside = site, owner, inside
    return Instance(made.name, outer, (fun, args), ret)


def _erase(sp: Specialiser, t: Type, sizes: list[Name], barrier: Barrier) -> Type:
    """Replace each size of `t` by a new size parameter; arrows pass the barrier."""
    if has_function(t):
        return map_sizes(t, barrier.size)

    def parameter(_: Size) -> Size:
        name = sp.ctx.fresh("n")
        sizes.append(name)
        return SizeVar(name)

    return map_sizes(t, parameter)


# --- intrinsics --------------------------------------------------------------------------


def intrinsic(sp: Specialiser, fun: Closure, args: tuple[Value, ...], to: Result) -> ty.Exp:
    """Apply a saturated intrinsic; its functional arguments become lambdas."""
    name = fun.code
    assert isinstance(name, str)
    assert fun.types is not None
    operands: list[ty.Exp] = []
    for arg in args:
        if isinstance(arg, ty.Exp):
            operands.append(arg)
        elif isinstance(arg, Closure):
            params, result = _signature(name, fun.types, len(operands))
            operands.append(as_lambda(sp, arg, params, Result(result, to.span)))
        else:
            operands.append(residual(sp, arg, to.type, to.span))
    fn = ty.Var(to.type, to.span, f"intrinsics.{name}", fun.types, fun.sizes)
    return ty.Apply(to.type, to.span, fn, tuple(operands), to.ext)


def _signature(name: str, types: Sequence[Type], position: int) -> tuple[tuple[Type, ...], Type]:
    """Return parameter types and result type of an intrinsic's functional argument."""
    elem = types[0]
    if name == "with_vjp" and position == 1:
        return (types[1], types[1]), elem
    unary = name in ("map", "with_vjp", *DERIVATIVES)
    return ((elem,), types[1]) if unary else ((elem, elem), elem)


def accumulating(
    sp: Specialiser, fun: Closure, args: tuple[Value, ...], to: Result, out: list[Binding]
) -> Value:
    """Lower accumulator operations: a write goes to `out`, a stream names one for its lambda.

    That lambda returns nothing; its first parameter is the accumulator's token. Errors:
    `Limitation` where the lambda returns anything but its accumulator.
    """
    assert fun.types is not None
    elem, span, name = fun.types[0], to.span, f"intrinsics.{fun.code}"
    if fun.code == "acc_write":
        acc, *operands = args
        if not isinstance(acc, Accumulator):
            raise CompilerBug("a write to something that is no accumulator", span)
        given = [operand for operand in operands if isinstance(operand, ty.Exp)]
        if isinstance(acc.op, Closure):
            given.append(as_lambda(sp, acc.op, (elem, elem), Result(elem, span)))
        fn = ty.Var(UNIT, span, name, fun.types, fun.sizes)
        out.append(((), ty.PWild(UNIT, span), ty.Apply(UNIT, span, fn, (acc.token, *given))))
        return acc
    dest, *combining, f, rows = args
    assert isinstance(dest, ty.Exp)
    assert isinstance(f, Closure)
    assert isinstance(rows, ty.Exp)
    token = ty.Var(dest.type, span, sp.ctx.fresh(called(dest) or "acc"))
    own = Accumulator(token, combining[0] if combining else None)

    def nothing(value: Value) -> ty.Exp:
        if not isinstance(value, Accumulator) or value.token.name != token.name:
            raise Limitation(
                codes.limits.FUNCTION,
                "This function must return the accumulator that it is given.",
                user_span(sp, span),
                "Return the result of the last `write` to it.",
            )
        return ty.RecordExp(UNIT, span, ())

    partial = replace(f, args=(*f.args, own))
    lam = as_lambda(sp, partial, fun.types[1:], Result(Arrow(UNIT, UNIT), span), nothing)
    lam = replace(lam, params=(ty.PVar(dest.type, span, token.name), *lam.params))
    neutral = [value for value in combining if isinstance(value, ty.Exp)]
    fn = ty.Var(to.type, span, name, fun.types, fun.sizes)
    return ty.Apply(to.type, span, fn, (dest, *neutral, lam, rows), to.ext)


def as_lambda(
    sp: Specialiser,
    fun: Closure,
    params: tuple[Type, ...],
    to: Result,
    data: Callable[[Value], ty.Exp] | None = None,
) -> ty.Lambda:
    """Turn a functional value into a lambda of exactly these parameters.

    `data`: converts a static result to data.
    """
    fn_type = to.type
    for p in reversed(params):
        fn_type = Arrow(p, fn_type)
    out: list[Binding] = []
    code, span, have = fun.code, to.span, len(fun.args)
    direct = arity(code) == have + len(params)
    if direct and not isinstance(code, str) and in_place(sp, code, fun.args, ()):
        env, site = fun.enter(), sp.site
        _go_into(sp, code, span)
        for given_pat, arg in zip(code.params, fun.args, strict=False):
            bind(sp, given_pat, arg, env, out)
        pats = tuple(pattern(sp, p, env) for p in code.params[have:])
        span = user_span(sp, code.span)
        body = data(sp.static(code.body, env, out)) if data else sp.ev(code.body, env)
        body = wrap(out, body)
        sp.site = site
        return ty.Lambda(fn_type, span, pats, body)
    given = tuple(ty.Var(p, span, sp.ctx.fresh("x")) for p in params)
    value = call(sp, fun, given, to, out)
    body = wrap(out, data(value) if data else residual(sp, value, to.type, span))
    return ty.Lambda(fn_type, span, tuple(ty.PVar(v.type, span, v.name) for v in given), body)


def as_definition(code: ty.Def | ty.Lambda | str) -> ty.Def:
    """Return the code of a function as a definition."""
    if isinstance(code, ty.Def):
        return code
    assert isinstance(code, ty.Lambda)
    params, ret = code.params, code.body.type
    return ty.Def("lambda", "lambda", (), (), params, ret, False, (), code.body, False, code.span)


def behind_walls(fun: Closure, args: tuple[Value, ...]) -> tuple[Closure, list[Barrier]]:
    """Return a local function as it was before it passed barriers, innermost barrier first.

    Calls from behind different barriers can share one version, unless functional arguments tie it
    to one of them.
    """
    walls: list[Barrier] = []
    env = fun.env
    if not (
        any(map(has_function, fun.types or ())) or any(not isinstance(a, ty.Exp) for a in args)
    ):
        while env is not None and env.barrier is not None and not env.names:
            walls.append(env.barrier)
            env = env.parent
    return (replace(fun, env=env) if walls else fun), walls
