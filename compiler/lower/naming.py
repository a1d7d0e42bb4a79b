"""Names, types, sizes and patterns while code is specialised."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.base.context import Ctx
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name, base_of
from compiler.base.spans import NOWHERE, Span
from compiler.frontend.typed import (
    Apply,
    ArrayLit,
    Coerce,
    Const,
    Def,
    Exp,
    Index,
    Let,
    Pat,
    PConstr,
    PRecord,
    PrimOp,
    PVar,
    RecordExp,
    Update,
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
from compiler.lower.measure import key_of
from compiler.lower.static import I64, Frame, Rec, Tagged, Value, has_function

Binding = tuple[tuple[Name, ...], Pat, Exp]


@dataclass(slots=True, eq=False)
class Instance:
    """A version that exists: its name and the outer variables that its calls pass first."""

    name: Name
    brought: tuple[Exp, ...]
    keep: tuple[object, ...]
    """What the key's identities refer to."""
    type: Type
    """Of the result."""


class Naming:
    """The part of the specialiser that deals with names, types and function values."""

    def __init__(self, defs: dict[Name, Def], ctx: Ctx) -> None:
        self.defs = defs
        self.ctx = ctx
        self.done: list[Def] = []
        self.instances: dict[object, Instance] = {}
        self.site: Span | None = None
        """The user's call that led into the prelude code at hand."""
        self.size_owner = {s: d.name for d in defs.values() if not d.params for s in d.ext}
        """The constant that each size which only its value tells belongs to."""
        self.global_sizes: dict[Name, Name] = {}
        """Those sizes, once the constant is specialised."""
        self.versions = self.owner = 0
        """Which version of a top-level definition is at work."""
        self.placed: set[tuple[int, int]] = set()
        """Lambdas that have been put in place, and in which version."""
        self.inside_arrow = 0
        """Sizes in a function's type may mention its parameters: expressions stay as they are."""
        self.once: dict[Span, Var] = {}
        """Expressions of the text that the syntax tree holds twice, bound to a name."""
        self.higher: dict[Name, bool] = {}

    def ev(self, e: Exp, fr: Frame) -> Exp:
        """The residual expression of an `e` that is no function."""
        raise NotImplementedError

    def global_value(self, e: Var, fr: Frame) -> Var | Const:
        """A constant definition: its value if that is a literal, else a name for it."""
        raise NotImplementedError

    def static(self, e: Exp, fr: Frame, out: list[Binding]) -> Value:
        """The value of an `e` that is a function or holds one; what it computes goes to `out`."""
        raise NotImplementedError

    # --- places, types, sizes ----------------------------------------------------------------

    def user_span(self, span: Span) -> Span:
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
            self.inside_arrow += 1
            t = replace(t, param=self.type(t.param, fr), result=self.type(t.result, fr))
            self.inside_arrow -= 1
            return t
        if isinstance(t, Sum):
            return Sum(tuple((c, tuple(self.type(p, fr) for p in ps)) for c, ps in t.variants))
        return t

    def is_functional(self, t: Type, fr: Frame) -> bool:
        """Whether `t`, as the frame has it, holds a function."""
        if isinstance(t, PrimT | Array):
            return False
        if isinstance(t, Record):
            return any(self.is_functional(ft, fr) for _, ft in t.fields)
        if isinstance(t, TypeVar):
            value = fr.lookup(t.name)
            return isinstance(value, Type) and has_function(value)
        return has_function(t)

    def size(self, s: Size, fr: Frame) -> Size:
        """A size in residual names."""
        if isinstance(s, SizeConst):
            return s
        if isinstance(s, SizeVar):
            return self._size_name(s, fr)
        if isinstance(s, SizeOp):
            return self._size_op(s, fr)
        if isinstance(s, SizeExp) and isinstance(s.exp, Exp) and not self.inside_arrow:
            exp = self.ev(s.exp, fr)
            if isinstance(exp, Const):
                return SizeConst(int(exp.value))
            return SizeVar(exp.name) if isinstance(exp, Var) else SizeExp(key_of(exp), exp)
        return s

    def _size_op(self, s: SizeOp, fr: Frame) -> Size:
        """Found out once for each frame: the parts of a long sum are the sums before it."""
        known = fr.sizes.get(id(s))
        if known is None:
            lhs, rhs = self.size(s.lhs, fr), self.size(s.rhs, fr)
            known = (s, fold_size(s.op, lhs, rhs))
            if _has_value(s.lhs, lhs, fr) and _has_value(s.rhs, rhs, fr):
                fr.sizes[id(s)] = known
        return known[1]

    def _size_name(self, s: SizeVar, fr: Frame) -> Size:
        value = fr.lookup(s.name)
        if isinstance(value, Size):
            return value
        if isinstance(value, Var):
            return SizeVar(value.name)
        if isinstance(value, Const):
            return SizeConst(int(value.value))
        if value is not None:
            return s
        if s.name in self.defs:
            exp = self.global_value(Var(I64, NOWHERE, s.name), fr)
            return SizeConst(int(exp.value)) if isinstance(exp, Const) else SizeVar(exp.name)
        owner = self.size_owner.get(s.name)
        if owner is not None:
            self.global_value(Var(UNIT, NOWHERE, owner), fr)
            return SizeVar(self.global_sizes[s.name])
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
        t, span = self.type(p.type, fr), self.user_span(p.span)
        match p:
            case PVar(name=name, consumes=consumes):
                new = self.ctx.fresh(name)
                fr.names[name] = Var(t, span, new)
                return PVar(t, span, new, consumes)
            case PRecord(fields=fields):
                return PRecord(t, span, tuple((name, self.pat(q, fr)) for name, q in fields))
            case PConstr(name=name, args=args):
                return PConstr(t, span, name, tuple(self.pat(q, fr) for q in args))
        return replace(p, type=t, span=span)

    def bind(self, p: Pat, value: Value, fr: Frame, out: list[Binding]) -> None:
        """Make `p` stand for `value`; what cannot be substituted is bound in `out`."""
        match p, value:
            case PVar(), _:
                self._bind_variable(p, value, fr, out)
            case PRecord(), Rec(fields=fields) | RecordExp(fields=fields):
                parts = dict(fields)
                for name, q in p.fields:
                    self.bind(q, parts[name], fr, out)
            case PConstr(), Tagged(args=args):
                for q, part in zip(p.args, args, strict=True):
                    self.bind(q, part, fr, out)
            case PRecord() | PConstr(), Exp():
                out.append(((), self.pat(p, fr), value))
            case _, Exp() if not isinstance(value, Const | Var):
                out.append(((), self.pat(p, fr), value))

    def _bind_variable(self, p: PVar, value: Value, fr: Frame, out: list[Binding]) -> None:
        """Substitute names, literals, functions and small sizes of the prelude; bind the rest."""
        if not isinstance(value, Exp) or isinstance(value, Const | Var):
            fr.names[p.name] = value
            return
        from_prelude = bool(p.span.file)
        size = exp_size(value, 3) if from_prelude and p.type == I64 else None
        if size is not None:
            fr.names[p.name] = size
            return
        named = replace(p, name=called(value) or p.name) if from_prelude else p
        pat = self.pat(named, fr)
        fr.names[p.name] = fr.names[named.name]
        out.append(((), pat, value))

    def trivial(self, value: Value, out: list[Binding]) -> Value:
        """`value` as something that may be used any number of times."""
        if not isinstance(value, Exp) or isinstance(value, Const | Var):
            return value
        return self.named(value, "arg", out)

    def named(self, value: Exp, base: str, out: list[Binding]) -> Var:
        """A new variable for `value`."""
        var = Var(value.type, value.span, self.ctx.fresh(base))
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
            self.user_span(span),
            "Functions can be passed, bound and put into tuples, but not chosen or stored.",
        )


def _has_value(size: Size, value: Size, fr: Frame) -> bool:
    """Whether a size stands for this value from now on: none of its names is yet to be bound."""
    if isinstance(size, SizeVar):
        return value is not size
    return isinstance(size, SizeConst) or id(size) in fr.sizes


_KEEPS_NAME = (
    "transpose flatten unflatten copy opaque flat_update_2d flat_update_3d flat_update_4d"
    " scatter_1d scatter_2d scatter_3d hist_1d hist_2d hist_3d"
).split()
_MADE_BY = {"map": "map", "scan": "scan", "iota": "iota", "replicate": "rep", "concat": "cat"}


def called(e: Exp) -> Name:
    """A name for the array that `e` computes, from the program's names where it can be."""
    match e:
        case Var(name=name):
            return base_of(name)
        case Let(body=inner) | Coerce(exp=inner):
            return called(inner)
        case Index(array=array):
            return _part(called(array))
        case ArrayLit():
            return "lit"
        case Update(array=array):
            return called(array)
        case Apply(fn=Var(name=name), args=args) if name.startswith("intrinsics."):
            form = name.removeprefix("intrinsics.")
            if form.startswith("flat_index"):
                return _part(called(args[0]))
            return called(args[0]) if form in _KEEPS_NAME else _MADE_BY.get(form, "")
    return ""


def _part(name: Name) -> Name:
    return name if not name or name.endswith("_part") else f"{name}_part"


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


def exp_size(e: Exp, depth: int) -> Size | None:
    """A short sum, difference or product of i64 variables and literals as a size, else None."""
    match e:
        case Const(value=value):
            return SizeConst(int(value))
        case Var(name=name):
            return SizeVar(name)
        case PrimOp(op="+" | "-" | "*" as op, at="i64", args=(lhs, rhs)) if depth:
            left, right = exp_size(lhs, depth - 1), exp_size(rhs, depth - 1)
            return None if left is None or right is None else fold_size(op, left, right)
    return None
