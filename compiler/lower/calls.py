"""Function values put to use: inlined, or given a definition of their own.

Lambdas and the small or higher-order definitions of the prelude are put in place where they are
called. Other code gets one version per type instance (sizes do not count: those of instantiated
type parameters become size parameters) and per functional argument, whose free variables become
parameters. A large lambda is put in place once; from its second call on it has a definition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.base.context import Ctx
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Span
from compiler.frontend.typed import (
    Apply,
    Const,
    Def,
    Exp,
    Lambda,
    Let,
    Pat,
    PRecord,
    PVar,
    PWild,
    RecordExp,
    Var,
)
from compiler.frontend.types import (
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
from compiler.lower.measure import is_larger, key_of
from compiler.lower.static import (
    I64,
    Barrier,
    Frame,
    Fun,
    Rec,
    Value,
    collect_sizes,
    has_function,
    map_sizes,
    type_key,
    value_key,
)

Binding = tuple[tuple[Name, ...], Pat, Exp]
SMALL = 40
"""Definitions of the prelude up to this many nodes are put in place."""
LARGE = 60
"""Lambdas above this many nodes are put in place only once."""

OPERATORS = ("reduce", "reduce_comm", "scan", "hist_1d", "hist_2d", "hist_3d")
ARITY = {
    "map": 2,
    "reduce": 3,
    "reduce_comm": 3,
    "scan": 3,
    "zip": 2,
    "unzip": 1,
    "scatter_1d": 3,
    "scatter_2d": 3,
    "scatter_3d": 3,
    "hist_1d": 5,
    "hist_2d": 5,
    "hist_3d": 5,
    "iota": 1,
    "replicate": 2,
    "concat": 2,
    "transpose": 1,
    "flatten": 1,
    "unflatten": 1,
    "copy": 1,
    "opaque": 1,
}


@dataclass(slots=True, eq=False)
class Instance:
    """A version that exists: its name and the outer variables that its calls pass first."""

    name: Name
    brought: tuple[Exp, ...]
    keep: tuple[object, ...]
    """What the key's identities refer to."""


class Calls:
    """The part of the specialiser that deals with names, types and function values."""

    def __init__(self, defs: dict[Name, Def], ctx: Ctx) -> None:
        self.defs = defs
        self.ctx = ctx
        self.done: list[Def] = []
        self.instances: dict[object, Instance] = {}
        self.site: Span | None = None
        """The user's call that led into the prelude code at hand."""
        self.placed: set[int] = set()
        self.higher: dict[Name, bool] = {}

    def ev(self, e: Exp, fr: Frame) -> Exp:
        """The residual expression of an `e` that is no function."""
        raise NotImplementedError

    def static(self, e: Exp, fr: Frame, out: list[Binding]) -> Value:
        """The value of an `e` that is a function or holds one; what it computes goes to `out`."""
        raise NotImplementedError

    # --- places, types, sizes ----------------------------------------------------------------

    def place(self, span: Span) -> Span:
        """The span for code from `span`: prelude code takes the user's call that led there."""
        return span if not span.file or self.site is None else self.site

    def type(self, t: Type, fr: Frame) -> Type:
        """`t` with type parameters and sizes as the frame has them."""
        cls = type(t)
        if cls is PrimT:
            return t
        if isinstance(t, Array):
            result = self.type(t.elem, fr)
            dims = tuple(self.size(d, fr) for d in t.dims)
            if isinstance(result, Array):
                return Array(dims + result.dims, result.elem)
            return Array(dims, result)
        if isinstance(t, Record):
            return Record(tuple((name, self.type(ft, fr)) for name, ft in t.fields))
        if isinstance(t, TypeVar):
            value = fr.lookup(t.name)
            if isinstance(value, Type):
                return value
            raise CompilerBug(f"type parameter {t.name} has no instance")
        if isinstance(t, Arrow):
            return replace(t, param=self.type(t.param, fr), result=self.type(t.result, fr))
        if isinstance(t, Sum):
            return Sum(tuple((c, tuple(self.type(p, fr) for p in ps)) for c, ps in t.variants))
        return t

    def size(self, s: Size, fr: Frame) -> Size:
        """A size in residual names."""
        if isinstance(s, SizeConst):
            return s
        if isinstance(s, SizeVar):
            return self._size_name(s, fr)
        if isinstance(s, SizeOp):
            return fold_size(s.op, self.size(s.lhs, fr), self.size(s.rhs, fr))
        if isinstance(s, SizeExp) and isinstance(s.exp, Exp):
            exp = self.ev(s.exp, fr)
            if isinstance(exp, Const):
                return SizeConst(int(exp.value))
            return SizeVar(exp.name) if isinstance(exp, Var) else SizeExp(key_of(exp), exp)
        return s

    def _size_name(self, s: SizeVar, fr: Frame) -> Size:
        value = fr.lookup(s.name)
        if isinstance(value, Size):
            return value
        if isinstance(value, Var):
            return SizeVar(value.name)
        if isinstance(value, Const):
            return SizeConst(int(value.value))
        if value is None and s.name in self.defs:
            exp = self.global_value(Var(I64, NOWHERE, s.name), fr)
            return SizeConst(int(exp.value)) if isinstance(exp, Const) else SizeVar(exp.name)
        return s

    def fresh_sizes(self, names: tuple[Name, ...], fr: Frame) -> tuple[Name, ...]:
        """New names for sizes that an expression brings forth."""
        result = []
        for name in names:
            new = self.ctx.fresh(name)
            fr.names[name] = SizeVar(new)
            result.append(new)
        return tuple(result)

    # --- patterns ----------------------------------------------------------------------------

    def pat(self, p: Pat, fr: Frame) -> Pat:
        """`p` with new names, which the frame maps to."""
        t, span = self.type(p.type, fr), self.place(p.span)
        match p:
            case PVar(name=name, consumes=consumes):
                new = self.ctx.fresh(name)
                fr.names[name] = Var(t, span, new)
                return PVar(t, span, new, consumes)
            case PRecord(fields=fields):
                return PRecord(t, span, tuple((name, self.pat(q, fr)) for name, q in fields))
        return replace(p, type=t, span=span)

    def bind(self, p: Pat, value: Value, fr: Frame, out: list[Binding]) -> None:
        """Make `p` stand for `value`; what cannot be substituted is bound in `out`."""
        if isinstance(p, PVar):
            if isinstance(value, Exp) and not isinstance(value, Const | Var):
                out.append(((), self.pat(p, fr), value))
            else:
                fr.names[p.name] = value
        elif isinstance(p, PRecord) and isinstance(value, Rec):
            parts = dict(value.fields)
            for name, q in p.fields:
                self.bind(q, parts[name], fr, out)
        elif isinstance(p, PRecord) and isinstance(value, RecordExp):
            exps = dict(value.fields)
            for name, q in p.fields:
                self.bind(q, exps[name], fr, out)
        elif (isinstance(value, Exp) and not isinstance(value, Const | Var)) or (
            isinstance(value, Exp) and isinstance(p, PRecord)
        ):
            out.append(((), self.pat(p, fr), value))

    def trivial(self, value: Value, out: list[Binding]) -> Value:
        """`value` as something that may be used any number of times."""
        if not isinstance(value, Exp) or isinstance(value, Const | Var):
            return value
        var = Var(value.type, value.span, self.ctx.fresh("arg"))
        out.append(((), PVar(value.type, value.span, var.name), value))
        return var

    def residual(self, value: Value, t: Type, span: Span) -> Exp:
        """`value` as an expression."""
        if isinstance(value, Exp):
            return replace(value, span=span) if isinstance(value, Var | Const) else value
        if isinstance(value, Size):
            return size_exp(value, span)
        if isinstance(value, Rec):
            types = dict(t.fields) if isinstance(t, Record) else {}
            return RecordExp(
                t,
                span,
                tuple((n, self.residual(v, types.get(n, UNIT), span)) for n, v in value.fields),
            )
        raise Limitation(
            "A function is used here as if it were data.",
            self.place(span),
            "Functions can be passed, bound and put into tuples, but not chosen or stored.",
        )

    # --- definitions -------------------------------------------------------------------------

    def global_function(self, e: Var, fr: Frame, out: list[Binding]) -> Value:
        """The value of a global name of functional type."""
        types = tuple(self.type(t, fr) for t in e.type_args)
        sizes = tuple(self.size(s, fr) for s in e.size_args)
        if e.name.startswith("intrinsics."):
            return Fun(e.name.removeprefix("intrinsics."), None, types, sizes)
        code = self.defs.get(e.name)
        if code is None:
            raise CompilerBug(f"{e.name} is not defined", e.span)
        if code.params:
            return Fun(code, None, types, sizes)
        inner = Frame()
        self.instantiate(Fun(code, None, types, sizes), inner)
        return self.static(code.body, inner, out)

    def global_value(self, e: Var, fr: Frame) -> Var | Const:
        """A constant definition: its value if that is a literal, else a name for it."""
        code = self.defs.get(e.name)
        if code is None:
            raise CompilerBug(f"{e.name} is not defined", e.span)
        if isinstance(code.body, Const):
            return replace(code.body, span=self.place(e.span))
        types = tuple(self.type(t, fr) for t in e.type_args)
        key = (e.name, tuple(type_key(t) for t in types), types)
        known = self.instances.get(key)
        if known is None:
            known = Instance(self._constant(code, types), (), ())
            self.instances[key] = known
        return Var(self.type(e.type, fr), self.place(e.span), known.name)

    def _constant(self, code: Def, types: tuple[Type, ...]) -> Name:
        inner, site = Frame(), self.site
        self.site = None
        self.instantiate(Fun(code, None, types), inner)
        name = self.ctx.fresh(code.name)
        ext = self.fresh_sizes(code.ext, inner)
        body = self.ev(code.body, inner)
        ret = self.type(code.ret, inner)
        self.done.append(
            Def(name, code.source_name, (), (), (), ret, code.unique, ext, body, False, code.span)
        )
        self.site = site
        return name

    def instantiate(self, fun: Fun, fr: Frame) -> None:
        """Bind the type and size parameters of `fun`'s code."""
        if isinstance(fun.code, Def):
            fr.names.update(zip(fun.code.type_params, fun.types or (), strict=False))
            fr.names.update(zip(fun.code.size_params, fun.sizes, strict=False))

    # --- application -------------------------------------------------------------------------

    def call(
        self,
        fun: Value,
        args: tuple[Value, ...],
        t: Type,
        span: Span,
        ext: tuple[Name, ...],
        out: list[Binding],
    ) -> Value:
        """`fun` applied to `args` (any residual expressions); `t` and `ext` are residual."""
        if not isinstance(fun, Fun):
            raise CompilerBug("something else than a function is applied", span)
        arity = self.arity(fun.code)
        have = fun.args + args
        if len(have) < arity:
            kept = tuple(self.trivial(a, out) for a in have)
            return Fun(fun.code, fun.frame, fun.types, fun.sizes, kept)
        if len(have) > arity:
            first = self.call(replace(fun, args=()), have[:arity], Arrow(t, t), span, (), out)
            return self.call(first, have[arity:], t, span, ext, out)
        if isinstance(fun.code, str):
            return self.intrinsic(fun, have, t, span, ext)
        if has_function(t) or self.in_place(fun.code, have, ext):
            return self.inline(fun, have, t, span, ext, out)
        return self.call_instance(fun, have, t, span, ext)

    def arity(self, code: Def | Lambda | str) -> int:
        """How many arguments the code takes at once."""
        return ARITY[code] if isinstance(code, str) else len(code.params)

    def in_place(self, code: Def | Lambda, args: tuple[Value, ...], ext: tuple[Name, ...]) -> bool:
        """Whether a saturated call is replaced by the body."""
        if isinstance(code, Lambda) or code.name not in self.defs:
            if ext and isinstance(code, Lambda):
                return True
            if id(code) in self.placed and is_larger(code.body, LARGE):
                return False
            self.placed.add(id(code))
            return True
        if not code.span.file or "noinline" in code.attrs:
            return False
        if any(isinstance(a, Fun | Rec) for a in args):
            return True
        small = self.higher.get(code.name)
        if small is None:
            small = self.higher[code.name] = not is_larger(code.body, SMALL)
        return small

    def inline(
        self,
        fun: Fun,
        args: tuple[Value, ...],
        t: Type,
        span: Span,
        ext: tuple[Name, ...],
        out: list[Binding],
    ) -> Value:
        """The body of `fun` in place of a call."""
        code, fr, site = fun.code, Frame(fun.frame), self.site
        assert not isinstance(code, str)
        if code.span.file:
            self.site = span if not span.file else site
        self.instantiate(fun, fr)
        for p, arg in zip(code.params, args, strict=True):
            self.bind(p, arg, fr, out)
        if isinstance(code, Def):
            self.fresh_sizes(code.ext, fr)
        if has_function(t):
            result = self.static(code.body, fr, out)
        else:
            body = self.ev(code.body, fr)
            result = self.name_sizes(body, t, span, ext)
        self.site = site
        return result

    def name_sizes(self, body: Exp, t: Type, span: Span, ext: tuple[Name, ...]) -> Exp:
        """`body`, with the sizes of its type `t` that only its value tells bound to `ext`."""
        if not ext:
            return body
        name = self.ctx.fresh("res")
        return Let(t, span, ext, PVar(t, span, name), body, Var(t, span, name))

    def call_instance(
        self, fun: Fun, args: tuple[Value, ...], t: Type, span: Span, ext: tuple[Name, ...]
    ) -> Exp:
        """A call of the version of `fun` for these types and functional arguments."""
        instance = self.instance(fun, args)
        sizes = list(fun.sizes)
        for ta in fun.types or ():
            collect_sizes(ta, sizes)
        dynamic = tuple(a for a in args if isinstance(a, Exp))
        operands = instance.brought + dynamic or (RecordExp(UNIT, span, ()),)
        fn_type: Type = t
        for operand in reversed(operands):
            fn_type = Arrow(operand.type, fn_type)
        fn = Var(fn_type, span, instance.name, (), tuple(sizes))
        return Apply(t, span, fn, operands, ext)

    def instance(self, fun: Fun, args: tuple[Value, ...]) -> Instance:
        """The version for the type arguments and the functional ones among `args`."""
        key = (
            id(fun.code),
            0 if fun.frame is None else id(fun.frame),
            tuple(type_key(t) for t in fun.types or ()),
            tuple(None if isinstance(a, Exp) else value_key(a) for a in args),
        )
        known = self.instances.get(key)
        if known is None:
            known = self._make(fun, args)
            self.instances[key] = known
        return known

    def _make(self, fun: Fun, args: tuple[Value, ...]) -> Instance:
        code, site = fun.code, self.site
        assert not isinstance(code, str)
        self.site = None
        barrier = Barrier(self.ctx.fresh)
        fr = Frame(fun.frame, barrier)
        sizes: list[Name] = []
        ext: tuple[Name, ...] = ()
        if isinstance(code, Def):
            sizes.extend(self.fresh_sizes(code.size_params, fr))
            ext = self.fresh_sizes(code.ext, fr)
            for name, t in zip(code.type_params, fun.types or (), strict=True):
                fr.names[name] = self._erase(t, sizes, barrier)
        params: list[Pat] = []
        out: list[Binding] = []
        for p, arg in zip(code.params, args, strict=True):
            if isinstance(arg, Exp):
                params.append(self.pat(p, fr))
            else:
                self.bind(p, barrier.bring(arg), fr, out)
        body = wrap(out, self.ev(code.body, fr))
        ret = self.type(code.ret if isinstance(code, Def) else code.body.type, fr)
        outer = tuple(pair[0] for pair in barrier.brought.values())
        inner = [PVar(v.type, v.span, v.name) for _, v in barrier.brought.values()]
        every = (*inner, *params) or (PWild(UNIT, code.span),)
        source = code.source_name if isinstance(code, Def) else "lambda"
        name = self.ctx.fresh(code.name if isinstance(code, Def) else "lambda")
        unique = isinstance(code, Def) and code.unique
        attrs = code.attrs if isinstance(code, Def) else ()
        self.done.append(
            Def(
                name,
                source,
                (),
                tuple(sizes),
                every,
                ret,
                unique,
                ext,
                body,
                False,
                code.span,
                attrs,
            )
        )
        self.site = site
        return Instance(name, outer, (fun, args))

    def _erase(self, t: Type, sizes: list[Name], barrier: Barrier) -> Type:
        """`t` with a new size parameter for each size; arrows are brought through the barrier."""
        if has_function(t):
            return map_sizes(t, barrier.size)

        def parameter(_: Size) -> Size:
            name = self.ctx.fresh("n")
            sizes.append(name)
            return SizeVar(name)

        return map_sizes(t, parameter)

    # --- intrinsics --------------------------------------------------------------------------

    def intrinsic(
        self, fun: Fun, args: tuple[Value, ...], t: Type, span: Span, ext: tuple[Name, ...]
    ) -> Exp:
        """A saturated intrinsic; its functional arguments become lambdas."""
        name = fun.code
        assert isinstance(name, str)
        assert fun.types is not None
        operands: list[Exp] = []
        for arg in args:
            if isinstance(arg, Exp):
                operands.append(arg)
            elif isinstance(arg, Fun):
                elem = fun.types[0]
                params, result = ((elem,), fun.types[1]) if name == "map" else ((elem, elem), elem)
                operands.append(self.as_lambda(arg, params, result, span))
            else:
                operands.append(self.residual(arg, t, span))
        fn = Var(t, span, f"intrinsics.{name}", fun.types, fun.sizes)
        return Apply(t, span, fn, tuple(operands), ext)

    def as_lambda(self, fun: Fun, params: tuple[Type, ...], result: Type, span: Span) -> Lambda:
        """A function value as a lambda of exactly these parameters."""
        fn_type: Type = result
        for p in reversed(params):
            fn_type = Arrow(p, fn_type)
        out: list[Binding] = []
        code = fun.code
        have = len(fun.args)
        direct = not isinstance(code, str) and self.arity(code) == have + len(params)
        if direct and not isinstance(code, str) and self.in_place(code, fun.args, ()):
            fr, site = Frame(fun.frame), self.site
            if code.span.file:
                self.site = span if not span.file else site
            self.instantiate(fun, fr)
            for given_pat, arg in zip(code.params, fun.args, strict=False):
                self.bind(given_pat, arg, fr, out)
            pats = tuple(self.pat(p, fr) for p in code.params[have:])
            at = self.place(code.span)
            body = wrap(out, self.ev(code.body, fr))
            self.site = site
            return Lambda(fn_type, at, pats, body)
        given = tuple(Var(p, span, self.ctx.fresh("x")) for p in params)
        value = self.call(fun, given, result, span, (), out)
        body = wrap(out, self.residual(value, result, span))
        return Lambda(fn_type, span, tuple(PVar(v.type, span, v.name) for v in given), body)


def wrap(out: list[Binding], body: Exp) -> Exp:
    """`body` under the bindings of `out`, first outermost."""
    for sizes, p, rhs in reversed(out):
        body = Let(body.type, rhs.span, sizes, p, rhs, body)
    return body


def fold_size(op: str, lhs: Size, rhs: Size) -> Size:
    """`lhs op rhs`, computed where both are literals."""
    if isinstance(lhs, SizeConst) and isinstance(rhs, SizeConst):
        a, b = lhs.value, rhs.value
        if op in "+-*":
            return SizeConst(a + b if op == "+" else a - b if op == "-" else a * b)
        if b:
            return SizeConst(a // b if op == "/" else a % b)
    return SizeOp(op, lhs, rhs)


def size_exp(size: Size, span: Span) -> Exp:
    """A size as an i64 expression."""
    from compiler.frontend.typed import PrimOp

    match size:
        case SizeConst(value):
            return Const(I64, span, value)
        case SizeVar(name):
            return Var(I64, span, name)
        case SizeOp(op, lhs, rhs):
            return PrimOp(I64, span, op, "i64", (size_exp(lhs, span), size_exp(rhs, span)))
        case SizeExp(_, exp) if isinstance(exp, Exp):
            return exp
    raise CompilerBug(f"no such size: {size}", span)
