"""Names, types, sizes and patterns of specialised code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from compiler import codes
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name, base_of
from compiler.base.spans import NOWHERE, Span
from compiler.frontend import typed as ty
from compiler.frontend.check.types.size_exps import size_to_exp
from compiler.frontend.types import (
    ANY_SIZE,
    UNIT,
    Array,
    Arrow,
    PrimT,
    Record,
    Size,
    SizeConst,
    SizeExp,
    SizeOp,
    SizeVar,
    Sum,
    Type,
    TypeVar,
)
from compiler.lower.expression_size import key_of
from compiler.lower.static import (
    I64,
    Closure,
    Env,
    Rec,
    Tagged,
    Value,
    has_function,
    map_sizes,
)

Binding = tuple[tuple[Name, ...], ty.Pat, ty.Exp]


@dataclass(slots=True, eq=False)
class Instance:
    """A version: its name, and the outer variables that its calls pass first."""

    name: Name
    brought: tuple[ty.Exp, ...]
    keep: tuple[object, ...]
    """Objects whose identities the key holds."""
    type: Type
    """The type of the result."""


@dataclass(slots=True, eq=False)
class Making:
    """A version of a recursive definition under construction."""

    code: ty.Def
    name: Name
    brought: tuple[ty.Exp, ...] = ()


class Specialiser:
    """The state of specialising a program.

    `rules` rebuild data, by the class of the expression; `values` evaluate expressions that are or
    hold functions, with the rule of `Exp` as default.
    """

    def __init__(
        self,
        defs: dict[Name, ty.Def],
        ctx: Ctx,
        rules: Mapping[type, Callable[..., ty.Exp]],
        values: Mapping[type, Callable[..., Value]],
    ) -> None:
        self.defs = defs
        self.ctx = ctx
        self.rules = rules
        self.values = values
        self.done: list[ty.Def] = []
        self.instances: dict[object, Instance] = {}
        self.site: Span | None = None
        """The user's call that led into the current prelude code."""
        self.size_owner = {s: d.name for d in defs.values() if not d.params for s in d.ext}
        """The constant that each existential size belongs to."""
        self.global_sizes: dict[Name, Name] = {}
        """Names of these sizes, once the constant is specialised."""
        self.held: dict[object, tuple[Value, list[Binding]]] = {}
        """Constants with such sizes that hold functions: their values, and their checks."""
        self.versions = self.owner = 0
        """The version of a top-level definition being made."""
        self.placed: set[tuple[int, int]] = set()
        """Lambdas that have been inlined, and the version."""
        self.open_sizes = False
        """True if there are instances with existential sizes."""
        self.inside_arrow = 0
        """Inside a function's type sizes may mention its parameters: expressions stay unevaluated.
        """
        self.once: dict[Span, ty.Var] = {}
        """Expressions that the syntax tree holds twice, bound to a name."""
        self.making: dict[object, Making] = {}
        """Versions of recursive definitions under construction."""
        self.inside: ty.Def | None = None
        """The recursive definition whose version is being made, if any."""
        self.higher: dict[Name, bool] = {}
        self.scalars: dict[int, tuple[Type, bool]] = {}
        """Records and sums by their `id`, True if they hold scalars only."""

    def ev(self, e: ty.Exp, env: Env) -> ty.Exp:
        """Return the residual expression of `e`, which is not a function."""
        return self.rules[type(e)](self, e, env)

    def static(self, e: ty.Exp, env: Env, out: list[Binding]) -> Value:
        """Evaluate `e`, which is or holds a function; its computations go to `out`."""
        return self.values.get(type(e), self.values[ty.Exp])(self, e, env, out)


# --- spans, types, sizes ----------------------------------------------------------------


def user_span(sp: Specialiser, span: Span) -> Span:
    """Return the place of code: prelude code takes the user's call that led there."""
    return sp.site if span.in_prelude and sp.site is not None else span


def type_of(sp: Specialiser, t: Type, env: Env) -> Type:
    """Substitute type parameters and sizes of the environment in `t`."""
    cls = type(t)
    if cls is PrimT:
        return t
    if isinstance(t, Array):
        result = type_of(sp, t.elem, env)
        dims = tuple(size_of(sp, d, env) for d in t.dims)
        if isinstance(result, Array):
            return Array(dims + result.dims, result.elem)
        return Array(dims, result)
    if _holds_scalars(sp, t):
        return t
    if isinstance(t, TypeVar):
        value = env.lookup(t.name)
        if isinstance(value, Type):
            return value
        raise CompilerBug(f"type parameter {t.name} has no instance")
    is_arrow = type(t) is Arrow
    sp.inside_arrow += is_arrow
    t = t.map_parts(lambda part: type_of(sp, part, env))
    sp.inside_arrow -= is_arrow
    return t


def _holds_scalars(sp: Specialiser, t: Type) -> bool:
    """Return True if a type holds scalars only: it is the same in all environments.

    Results are cached: every expression of a large record has its type.
    """
    if isinstance(t, PrimT):
        return True
    if not isinstance(t, Record | Sum):
        return False
    found = sp.scalars.get(id(t))
    if found is None:
        found = sp.scalars[id(t)] = t, all(_holds_scalars(sp, part) for part in t.parts)
    return found[1]


def with_sizes(
    sp: Specialiser, t: Type, ext: tuple[Name, ...], env: Env
) -> tuple[Type, tuple[Name, ...]]:
    """Return the type of an expression's value, and the sizes that it introduces.

    These include existential sizes of an instance of `'~t`.
    """
    names = fresh_sizes(sp, ext, env)
    residual_type, told = named_sizes(sp, type_of(sp, t, env))
    return residual_type, (*names, *told)


def named_sizes(sp: Specialiser, t: Type) -> tuple[Type, tuple[Name, ...]]:
    """Name the existential sizes of a residual type; return it with these names."""
    names: list[Name] = []
    if not sp.open_sizes:
        return t, ()

    def named(size: Size) -> Size:
        if size is not ANY_SIZE:
            return size
        names.append(sp.ctx.fresh("d"))
        return SizeVar(names[-1])

    return map_sizes(t, named), tuple(names)


def is_functional(sp: Specialiser, t: Type, env: Env) -> bool:
    """Return True if `t`, in this environment, holds a function."""
    if isinstance(t, Array) or _holds_scalars(sp, t):
        return False
    if isinstance(t, Record):
        return any(is_functional(sp, part, env) for part in t.parts)
    if isinstance(t, TypeVar):
        value = env.lookup(t.name)
        return isinstance(value, Type) and has_function(value)
    return has_function(t)


def size_of(sp: Specialiser, s: Size, env: Env) -> Size:
    """Return a size in residual names."""
    if isinstance(s, SizeConst):
        return s
    if isinstance(s, SizeVar):
        return _size_name(sp, s, env)
    if s is ANY_SIZE:
        sp.open_sizes = True
    if isinstance(s, SizeOp):
        return _size_op(sp, s, env)
    if isinstance(s, SizeExp) and isinstance(s.exp, ty.Exp) and not sp.inside_arrow:
        exp = sp.ev(s.exp, env)
        if isinstance(exp, ty.Const):
            return SizeConst(int(exp.value))
        return SizeVar(exp.name) if isinstance(exp, ty.Var) else SizeExp(key_of(exp), exp)
    return s


def _size_op(sp: Specialiser, s: SizeOp, env: Env) -> Size:
    """Evaluate a size operation, once per environment: parts of a long sum are shared."""
    known = env.sizes.get(id(s))
    if known is None:
        lhs, rhs = size_of(sp, s.lhs, env), size_of(sp, s.rhs, env)
        known = (s, fold_size(s.op, lhs, rhs))
        if _has_value(s.lhs, lhs, env) and _has_value(s.rhs, rhs, env):
            env.sizes[id(s)] = known
    return known[1]


def _size_name(sp: Specialiser, s: SizeVar, env: Env) -> Size:
    value = env.lookup(s.name)
    if isinstance(value, Size):
        return value
    if isinstance(value, ty.Var):
        return SizeVar(value.name)
    if isinstance(value, ty.Const):
        return SizeConst(int(value.value))
    if value is not None:
        return s
    if s.name in sp.defs:
        exp = constant(sp, ty.Var(I64, NOWHERE, s.name), env)
        return SizeConst(int(exp.value)) if isinstance(exp, ty.Const) else SizeVar(exp.name)
    owner = sp.size_owner.get(s.name)
    if owner is not None:
        if s.name not in sp.global_sizes:
            _evaluate(sp, sp.defs[owner], env)
        return SizeVar(sp.global_sizes[s.name])
    return s


def _evaluate(sp: Specialiser, code: ty.Def, env: Env) -> None:
    """Specialise a constant for its sizes, which are the same for all types."""
    var = ty.Var(code.ret, NOWHERE, code.name, (UNIT,) * len(code.type_params))
    if is_functional(sp, code.ret, env):
        sp.static(var, env, [])
    else:
        constant(sp, var, env)


def fresh_sizes(sp: Specialiser, names: tuple[Name, ...], env: Env) -> tuple[Name, ...]:
    """Make new names for sizes that an expression introduces."""
    result = []
    for name in names:
        new = sp.ctx.fresh(name)
        env.names[name] = SizeVar(new)
        result.append(new)
    return tuple(result)


# --- constants ----------------------------------------------------------------------------


def definition(sp: Specialiser, e: ty.Var) -> ty.Def:
    """Return the definition of a global name."""
    code = sp.defs.get(e.name)
    if code is None:
        raise CompilerBug(f"{e.name} is not defined", e.span)
    return code


def instantiated(sp: Specialiser, code: ty.Def | str, e: ty.Var, env: Env) -> Closure:
    """Return the code of a global name, with its type and size arguments."""
    types = tuple(type_of(sp, t, env) for t in e.type_args)
    return Closure(code, None, types, tuple(size_of(sp, s, env) for s in e.size_args))


def constant(sp: Specialiser, e: ty.Var, env: Env) -> ty.Var | ty.Const:
    """Return a constant's value if it is a literal, else a name for it."""
    code = definition(sp, e)
    if isinstance(code.body, ty.Const):
        return replace(code.body, span=user_span(sp, e.span))
    types = tuple(type_of(sp, t, env) for t in e.type_args)
    key = (e.name, *types)
    known = sp.instances.get(key)
    if known is None:
        known = sp.instances[key] = _specialised(sp, code, types)
    return ty.Var(known.type, user_span(sp, e.span), known.name)


def _specialised(sp: Specialiser, code: ty.Def, types: tuple[Type, ...]) -> Instance:
    """Specialise a constant."""
    inner, site = Closure(code, None, types).enter(), sp.site
    sp.site = None
    name = sp.ctx.fresh(code.name)
    ext = own_sizes(sp, code, inner)
    body = sp.ev(code.body, inner)
    ret = type_of(sp, code.ret, inner)
    sp.done.append(
        ty.Def(name, code.source_name, (), (), (), ret, code.unique, ext, body, False, code.span)
    )
    sp.site = site
    return Instance(name, (), (), ret)


def own_sizes(sp: Specialiser, code: ty.Def, env: Env) -> tuple[Name, ...]:
    """Make new names for the existential sizes of a constant."""
    ext = fresh_sizes(sp, code.ext, env)
    sp.global_sizes.update(zip(code.ext, ext, strict=True))
    return ext


# --- patterns ----------------------------------------------------------------------------


def pattern(sp: Specialiser, p: ty.Pat, env: Env) -> ty.Pat:
    """Rename the variables of `p`, recording the names in the environment."""
    t, span = type_of(sp, p.type, env), user_span(sp, p.span)
    match p:
        case ty.PVar(name=name, consumes=consumes):
            new = sp.ctx.fresh(name)
            env.names[name] = ty.Var(t, span, new)
            return ty.PVar(t, span, new, consumes)
        case ty.PRecord(fields=fields):
            return ty.PRecord(t, span, tuple((name, pattern(sp, q, env)) for name, q in fields))
        case ty.PConstr(name=name, args=args):
            return ty.PConstr(t, span, name, tuple(pattern(sp, q, env) for q in args))
    return replace(p, type=t, span=span)


def bind(sp: Specialiser, p: ty.Pat, value: Value, env: Env, out: list[Binding]) -> None:
    """Bind `p` to `value`; values that cannot be substituted are bound in `out`."""
    match p, value:
        case ty.PVar(), _:
            _bind_variable(sp, p, value, env, out)
        case ty.PRecord(), Rec(fields=fields) | ty.RecordExp(fields=fields):
            parts = dict(fields)
            for name, q in p.fields:
                bind(sp, q, parts[name], env, out)
        case ty.PConstr(), Tagged(args=args):
            for q, part in zip(p.args, args, strict=True):
                bind(sp, q, part, env, out)
        case ty.PRecord() | ty.PConstr(), ty.Exp():
            out.append(((), pattern(sp, p, env), value))
        case _, ty.Exp() if not isinstance(value, ty.Const | ty.Var):
            out.append(((), pattern(sp, p, env), value))


def _bind_variable(sp: Specialiser, p: ty.PVar, value: Value, env: Env, out: list[Binding]) -> None:
    """Substitute names, literals, functions and small sizes of the prelude; bind other values."""
    if not isinstance(value, ty.Exp) or isinstance(value, ty.Const | ty.Var):
        env.names[p.name] = value
        return
    from_prelude = p.span.in_prelude
    size = exp_size(value, 3) if from_prelude and p.type == I64 else None
    if size is not None:
        env.names[p.name] = size
        return
    named = replace(p, name=called(value) or p.name) if from_prelude else p
    pat = pattern(sp, named, env)
    env.names[p.name] = env.names[named.name]
    out.append(((), pat, value))


def trivial(sp: Specialiser, value: Value, out: list[Binding]) -> Value:
    """Return `value` in a form that may be repeated."""
    if not isinstance(value, ty.Exp) or isinstance(value, ty.Const | ty.Var):
        return value
    return named(sp, value, "arg", out)


def named(sp: Specialiser, value: ty.Exp, base: str, out: list[Binding]) -> ty.Var:
    """Bind `value` to a new variable."""
    var = ty.Var(value.type, value.span, sp.ctx.fresh(base))
    out.append(((), ty.PVar(value.type, value.span, var.name), value))
    return var


def residual(sp: Specialiser, value: Value, t: Type, span: Span) -> ty.Exp:
    """Return `value` as an expression.

    Errors: `Limitation` for a function.
    """
    if isinstance(value, ty.Exp):
        return replace(value, span=span) if isinstance(value, ty.Var | ty.Const) else value
    if isinstance(value, Size):
        return size_to_exp(value, span)
    if isinstance(value, Rec):
        types = dict(t.fields) if isinstance(t, Record) else {}
        return ty.RecordExp(
            t,
            span,
            tuple((n, residual(sp, v, types.get(n, UNIT), span)) for n, v in value.fields),
        )
    raise Limitation(
        codes.limits.FUNCTION,
        "A function is used as data here.",
        user_span(sp, span),
        "You can pass and bind functions and put them into tuples, but not choose "
        "between them at run time or store them.",
    )


def _has_value(size: Size, value: Size, env: Env) -> bool:
    """Return True if a size has its final value: none of its names is still unbound."""
    if isinstance(size, SizeVar):
        return value is not size
    return isinstance(size, SizeConst) or id(size) in env.sizes


_KEEPS_NAME = (
    "transpose flatten unflatten copy scratch opaque flat_update_2d flat_update_3d"
    " flat_update_4d scatter_1d scatter_2d scatter_3d hist_1d hist_2d hist_3d scatter_stream"
    " hist_stream"
).split()
_MADE_BY = {"map": "map", "scan": "scan", "iota": "iota", "replicate": "rep", "concat": "cat"}


def called(e: ty.Exp) -> Name:
    """Return a name for the array that `e` computes, after the program's names if possible."""
    match e:
        case ty.Var(name=name):
            return base_of(name)
        case ty.Let(body=inner) | ty.Coerce(exp=inner):
            return called(inner)
        case ty.Index(array=array):
            return _part(called(array))
        case ty.ArrayLit():
            return "lit"
        case ty.Update(array=array):
            return called(array)
        case ty.Apply(fn=ty.Var(name=name), args=args) if name.startswith("intrinsics."):
            form = name.removeprefix("intrinsics.")
            if form.startswith("flat_index"):
                return _part(called(args[0]))
            return called(args[0]) if form in _KEEPS_NAME else _MADE_BY.get(form, "")
    return ""


def _part(name: Name) -> Name:
    return name if not name or name.endswith("_part") else f"{name}_part"


def wrap(out: list[Binding], body: ty.Exp) -> ty.Exp:
    """Wrap `body` in the bindings of `out`, first outermost."""
    for sizes, p, rhs in reversed(out):
        body = ty.Let(body.type, rhs.span, sizes, p, rhs, body)
    return body


def fold_size(op: str, lhs: Size, rhs: Size) -> Size:
    """Return `lhs op rhs`, folded for literals."""
    if isinstance(lhs, SizeConst) and isinstance(rhs, SizeConst):
        a, b = lhs.value, rhs.value
        if op in "+-*":
            return SizeConst(a + b if op == "+" else a - b if op == "-" else a * b)
        if b:
            return SizeConst(a // b if op == "/" else a % b)
    return SizeOp(op, lhs, rhs)


def exp_size(e: ty.Exp, depth: int) -> Size | None:
    """Return a short sum, difference or product of i64 atoms as a size, or None."""
    match e:
        case ty.Const(value=value):
            return SizeConst(int(value))
        case ty.Var(name=name):
            return SizeVar(name)
        case ty.PrimOp(op="+" | "-" | "*" as op, at="i64", args=(lhs, rhs)) if depth:
            left, right = exp_size(lhs, depth - 1), exp_size(rhs, depth - 1)
            return None if left is None or right is None else fold_size(op, left, right)
    return None
