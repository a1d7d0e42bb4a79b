"""The specialiser's walk over typed expressions.

`ev` gives the residual expression of an expression that is no function; `static` the value of one
that is. Every binding gets a new name, so that code can be put in place any number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend.typed import (
    Apply,
    ArrayLit,
    Assert,
    Attr,
    Case,
    Coerce,
    Const,
    Constr,
    Convert,
    DimIndex,
    Exp,
    For,
    ForIn,
    If,
    Index,
    IndexFix,
    IndexSlice,
    Lambda,
    Let,
    LetFun,
    Loop,
    Match,
    Pat,
    PConstr,
    PLit,
    PRecord,
    PrimFun,
    PrimOp,
    Project,
    Range,
    RecordExp,
    RecordUpdate,
    StringConst,
    Update,
    Var,
    While,
)
from compiler.frontend.types import UNIT, Arrow, PrimT, Record, Size, SizeVar
from compiler.lower.calls import Calls
from compiler.lower.naming import Binding, size_exp, wrap
from compiler.lower.static import Frame, Fun, Rec, Tagged, Value, match_sizes

HINT = "Apply the functions inside the branches instead, so that each branch gives data."
FUNCTION = Arrow(UNIT, UNIT)
"""Stands for a functional type whose details nobody asks for."""


class Specialiser(Calls):
    """Evaluates what is known, rebuilds the rest."""

    def ev(self, e: Exp, fr: Frame) -> Exp:
        """The residual expression of `e`, whose type holds no function."""
        return EV[type(e)](self, e, fr)

    def static(self, e: Exp, fr: Frame, out: list[Binding]) -> Value:
        """The value of an `e` that is a function or holds one; what it computes goes to `out`."""
        match e:
            case Var():
                return self._static_var(e, fr, out)
            case Lambda():
                return Fun(e, fr)
            case Apply(fn=fn, ext=names):
                args = self._args(e, fr, out)
                fun = self.static(fn, fr, out)
                ext = self.fresh_sizes(names, fr)
                plain = not ext and self.is_functional(e.type, fr)
                t = FUNCTION if plain else self.type(e.type, fr)
                return self.call(fun, args, t, self.user_span(e.span), ext, out)
            case Let(sizes=sizes, pat=pat, rhs=rhs, body=body):
                self._let(sizes, pat, rhs, fr, out)
                return self.static(body, fr, out)
            case LetFun(fun=fun_def, body=body):
                fr.names[fun_def.name] = Fun(fun_def, fr, None)
                return self.static(body, fr, out)
            case RecordExp(fields=fields):
                return Rec(tuple((name, self._either(x, fr, out)) for name, x in fields))
            case Project(exp=inner, field=field):
                return self._field(self.static(inner, fr, out), field)
            case RecordUpdate(exp=inner, path=path, value=value):
                base = self.static(inner, fr, out)
                return self._updated(base, path, self._either(value, fr, out))
            case Assert(cond=cond, exp=inner, text=text):
                check = Assert(UNIT, e.span, self.ev(cond, fr), RecordExp(UNIT, e.span, ()), text)
                out.append(((), Pat(UNIT, e.span), check))
                return self.static(inner, fr, out)
            case Attr(exp=inner):
                return self.static(inner, fr, out)
            case Constr(name=name, args=payload):
                return Tagged(name, tuple(self._either(x, fr, out) for x in payload))
            case Match() if self.is_functional(e.exp.type, fr):
                return self.static(self._chosen(e, fr, out), fr, out)
        if self.is_functional(e.type, fr):
            raise Limitation(
                "A function cannot be the result of this kind of expression.",
                self.user_span(e.span),
                HINT,
            )
        return self.trivial(self.ev(e, fr), out)

    def _static_var(self, e: Var, fr: Frame, out: list[Binding]) -> Value:
        value = fr.lookup(e.name)
        if value is None:
            return self.global_function(e, fr, out)
        if isinstance(value, Fun) and value.types is None:
            types = tuple(self.type(t, fr) for t in e.type_args)
            return replace(value, types=types, sizes=tuple(self.size(s, fr) for s in e.size_args))
        return value

    def _either(self, e: Exp, fr: Frame, out: list[Binding]) -> Value:
        """A function's value, or data bound to a name if it is more than that."""
        if self.is_functional(e.type, fr):
            return self.static(e, fr, out)
        return self.trivial(self.ev(e, fr), out)

    def _field(self, value: Value, field: str) -> Value:
        if isinstance(value, Rec):
            return dict(value.fields)[field]
        if isinstance(value, Exp) and isinstance(value.type, Record):
            return Project(dict(value.type.fields)[field], value.span, value, field)
        raise CompilerBug(f"no field {field}")

    def _updated(self, value: Value, path: tuple[str, ...], new: Value) -> Value:
        if not path:
            return new
        if not isinstance(value, Rec):
            raise CompilerBug(f"no field {path[0]}")
        return Rec(
            tuple(
                (name, self._updated(old, path[1:], new) if name == path[0] else old)
                for name, old in value.fields
            )
        )

    # --- names and functions -----------------------------------------------------------------

    def _args(self, e: Apply, fr: Frame, out: list[Binding]) -> tuple[Value, ...]:
        """The arguments; before the function, whose instance may mention sizes that they bring."""
        result: list[Value] = []
        for arg in e.args:
            if self.is_functional(arg.type, fr):
                result.append(self.static(arg, fr, out))
            else:
                result.append(self.ev(arg, fr))
        return tuple(result)

    def _var(self, e: Var, fr: Frame) -> Exp:
        value = fr.lookup(e.name)
        if value is None:
            if e.name in self.size_owner:
                return size_exp(self.size(SizeVar(e.name), fr), self.user_span(e.span))
            if e.size_args:
                return self.sized_constant(e, fr)
            return self.global_value(e, fr)
        if isinstance(value, Var):
            return Var(value.type, self.user_span(e.span), value.name)
        return self.residual(value, e.type, self.user_span(e.span))

    def _apply(self, e: Apply, fr: Frame) -> Exp:
        out: list[Binding] = []
        args = self._args(e, fr, out)
        fun = self.static(e.fn, fr, out)
        ext = self.fresh_sizes(e.ext, fr)
        t, span = self.type(e.type, fr), self.user_span(e.span)
        return wrap(out, self.residual(self.call(fun, args, t, span, ext, out), t, span))

    def _lambda(self, e: Lambda, fr: Frame) -> Exp:
        return self.residual(Fun(e, fr), e.type, e.span)

    def _let_exp(self, e: Let, fr: Frame) -> Exp:
        out: list[Binding] = []
        spans: list[Span] = []
        rest: Exp = e
        while isinstance(rest, Let):
            self._let(rest.sizes, rest.pat, rest.rhs, fr, out)
            span = self.user_span(rest.span)
            spans.extend([span] * (len(out) - len(spans)))
            rest = rest.body
        body = self.ev(rest, fr)
        for (sizes, pat, rhs), span in zip(reversed(out), reversed(spans), strict=True):
            body = Let(body.type, span, sizes, pat, rhs, body)
        return body

    def _let(
        self, sizes: tuple[Name, ...], pat: Pat, rhs: Exp, fr: Frame, out: list[Binding]
    ) -> None:
        """Bind `pat` to `rhs`; a nest of bindings in `rhs` comes before it."""
        if self.is_functional(rhs.type, fr):
            functional = self.static(rhs, fr, out)
            if sizes:
                found: dict[Name, Size] = {}
                match_sizes(set(sizes), pat.type, self.type(rhs.type, fr), found)
                fr.names.update(found)
            self.bind(pat, functional, fr, out)
            return
        value = self.ev(rhs, fr)
        while isinstance(value, Let):
            out.append((value.sizes, value.pat, value.rhs))
            value = value.body
        names = self.fresh_sizes(sizes, fr)
        if rhs.span.file and not sizes:
            self.bind(pat, value, fr, out)
        else:
            out.append((names, self.pat(pat, fr), value))

    def _let_fun(self, e: LetFun, fr: Frame) -> Exp:
        fr.names[e.fun.name] = Fun(e.fun, fr, None)
        return self.ev(e.body, fr)

    # --- control -----------------------------------------------------------------------------

    def _if(self, e: If, fr: Frame) -> Exp:
        cond = self.ev(e.cond, fr)
        then, orelse = self.ev(e.then, fr), self.ev(e.orelse, fr)
        ext = self.fresh_sizes(e.ext, fr)
        return If(self.type(e.type, fr), self.user_span(e.span), cond, then, orelse, ext)

    def _chosen(self, e: Match, fr: Frame, out: list[Binding]) -> Exp:
        """The body of the case that matches a value known here, its pattern bound."""
        value = self.static(e.exp, fr, out)
        for case in e.cases:
            fits = matches(case.pat, value)
            if fits is None:
                break
            if fits:
                self.bind(case.pat, value, fr, out)
                return case.body
        raise Limitation(
            "This value holds a function: which case it matches must be known here.",
            self.user_span(e.exp.span),
            HINT,
        )

    def _match(self, e: Match, fr: Frame) -> Exp:
        if self.is_functional(e.exp.type, fr):
            out: list[Binding] = []
            body = self.ev(self._chosen(e, fr, out), fr)
            return wrap(out, body)
        exp = self.ev(e.exp, fr)
        cases = tuple(Case(self.pat(case.pat, fr), self.ev(case.body, fr)) for case in e.cases)
        ext = self.fresh_sizes(e.ext, fr)
        return Match(self.type(e.type, fr), self.user_span(e.span), exp, cases, ext)

    def _loop(self, e: Loop, fr: Frame) -> Exp:
        if self.is_functional(e.pat.type, fr):
            raise Limitation("A loop cannot carry a function.", self.user_span(e.span), HINT)
        init = self.ev(e.init, fr)
        span = self.user_span(e.span)
        form: For | ForIn | While
        if isinstance(e.form, For):
            bound = self.ev(e.form.bound, fr)
        elif isinstance(e.form, ForIn):
            array = self.ev(e.form.array, fr)
        sizes = self.fresh_sizes(e.sizes, fr)
        pat = self.pat(e.pat, fr)
        match e.form:
            case For(name, prim, _):
                index = self.ctx.fresh(name)
                fr.names[name] = Var(PrimT(prim), span, index)
                form = For(index, prim, bound)
            case ForIn(row, _):
                form = ForIn(self.pat(row, fr), array)
            case While(cond):
                form = While(self.ev(cond, fr))
        body = self.ev(e.body, fr)
        ext = self.fresh_sizes(e.ext, fr)
        return Loop(self.type(e.type, fr), span, sizes, pat, init, form, body, ext)

    # --- data --------------------------------------------------------------------------------

    def _const(self, e: Const | StringConst, fr: Frame) -> Exp:
        return replace(e, span=self.site) if e.span.file and self.site is not None else e

    def _prim_op(self, e: PrimOp, fr: Frame) -> Exp:
        args = tuple(self.ev(a, fr) for a in e.args)
        return PrimOp(e.type, self.user_span(e.span), e.op, e.at, args)

    def _prim_fun(self, e: PrimFun, fr: Frame) -> Exp:
        args = tuple(self.ev(a, fr) for a in e.args)
        return PrimFun(e.type, self.user_span(e.span), e.fun, e.at, args)

    def _convert(self, e: Convert, fr: Frame) -> Exp:
        return Convert(e.type, self.user_span(e.span), e.to, self.ev(e.exp, fr))

    def _record(self, e: RecordExp, fr: Frame) -> Exp:
        fields = tuple((name, self.ev(x, fr)) for name, x in e.fields)
        return RecordExp(self.type(e.type, fr), self.user_span(e.span), fields)

    def _project(self, e: Project, fr: Frame) -> Exp:
        t = self.type(e.type, fr)
        if self.is_functional(e.exp.type, fr):
            out: list[Binding] = []
            value = self._field(self.static(e.exp, fr, out), e.field)
            return wrap(out, self.residual(value, t, self.user_span(e.span)))
        inner = self._shared(e.exp, fr)
        if isinstance(inner, RecordExp) and all(
            isinstance(x, Var | Const) for _, x in inner.fields
        ):
            return dict(inner.fields)[e.field]
        return Project(t, self.user_span(e.span), inner, e.field)

    def _record_update(self, e: RecordUpdate, fr: Frame) -> Exp:
        out: list[Binding] = []
        exp = self._source(e.exp, e.value, fr, out)
        value = self.ev(e.value, fr)
        t = self.type(e.type, fr)
        return wrap(out, RecordUpdate(t, self.user_span(e.span), exp, e.path, value))

    def _array(self, e: ArrayLit, fr: Frame) -> Exp:
        elems = tuple(self.ev(x, fr) for x in e.elems)
        return ArrayLit(self.type(e.type, fr), self.user_span(e.span), elems)

    def _range(self, e: Range, fr: Frame) -> Exp:
        first = self.ev(e.first, fr)
        second = None if e.second is None else self.ev(e.second, fr)
        end = self.ev(e.end, fr)
        ext = self.fresh_sizes(e.ext, fr)
        return Range(self.type(e.type, fr), self.user_span(e.span), first, second, e.kind, end, ext)

    def _dims(self, dims: tuple[DimIndex, ...], fr: Frame) -> tuple[DimIndex, ...]:
        return tuple(
            IndexFix(self.ev(d.at, fr))
            if isinstance(d, IndexFix)
            else IndexSlice(
                None if d.start is None else self.ev(d.start, fr),
                None if d.stop is None else self.ev(d.stop, fr),
                None if d.step is None else self.ev(d.step, fr),
            )
            for d in dims
        )

    def _index(self, e: Index, fr: Frame) -> Exp:
        array = self._shared(e.array, fr)
        dims = self._dims(e.dims, fr)
        ext = self.fresh_sizes(e.ext, fr)
        return Index(self.type(e.type, fr), self.user_span(e.span), array, dims, ext)

    def _update(self, e: Update, fr: Frame) -> Exp:
        out: list[Binding] = []
        array = self._source(e.array, e.value, fr, out)
        dims = self._dims(e.dims, fr)
        value = self.ev(e.value, fr)
        t = self.type(e.type, fr)
        return wrap(out, Update(t, self.user_span(e.span), array, dims, value))

    def _source(self, source: Exp, value: Exp, fr: Frame, out: list[Binding]) -> Exp:
        """What is updated; bound to a name if the new value reads the same expression again.

        `e with a[i].b = v` is an update whose value is an update of `e.a[i]`, with `e` repeated.
        """
        inner = value
        while isinstance(inner, RecordUpdate | Update):
            inner = inner.exp if isinstance(inner, RecordUpdate) else inner.array
        while isinstance(inner, Project | Index):
            inner = inner.exp if isinstance(inner, Project) else inner.array
            if inner.span == source.span and not isinstance(source, Var):
                result = self._shared(source, fr)
                if not isinstance(result, Var):
                    result = self.named(result, "source", out)
                    self.once[source.span] = result
                return result
        return self._shared(source, fr)

    def _shared(self, e: Exp, fr: Frame) -> Exp:
        """`e`, or the name that it has already been bound to."""
        known = self.once.get(e.span) if self.once else None
        return self.ev(e, fr) if known is None or isinstance(e, Var) else known

    def _coerce(self, e: Coerce, fr: Frame) -> Exp:
        inner = self.ev(e.exp, fr)
        return Coerce(self.type(e.type, fr), self.user_span(e.span), inner)

    def _assert(self, e: Assert, fr: Frame) -> Exp:
        cond, inner = self.ev(e.cond, fr), self.ev(e.exp, fr)
        return Assert(self.type(e.type, fr), self.user_span(e.span), cond, inner, e.text)

    def _constr(self, e: Constr, fr: Frame) -> Exp:
        args = tuple(self.ev(x, fr) for x in e.args)
        return Constr(self.type(e.type, fr), self.user_span(e.span), e.name, args)

    def _attr(self, e: Attr, fr: Frame) -> Exp:
        inner = self.ev(e.exp, fr)
        return Attr(inner.type, self.user_span(e.span), e.attr, inner)


def matches(p: Pat, value: Value) -> bool | None:
    """Whether a pattern matches a value; None if only the run can tell."""
    match p:
        case PConstr(name=name, args=args) if isinstance(value, Tagged):
            return name == value.name and _all(list(zip(args, value.args, strict=True)))
        case PRecord(fields=fields) if isinstance(value, Rec):
            parts = dict(value.fields)
            return _all([(q, parts[name]) for name, q in fields])
        case PRecord(fields=fields):
            return True if all(matches(q, value) for _, q in fields) else None
        case PLit(value=wanted):
            return value.value == wanted if isinstance(value, Const) else None
        case PConstr():
            return None
    return True


def _all(pairs: list[tuple[Pat, Value]]) -> bool | None:
    found = [matches(p, value) for p, value in pairs]
    return False if False in found else None if None in found else True


EV: dict[type, Callable[[Specialiser, Any, Frame], Exp]] = {
    Var: Specialiser._var,
    Apply: Specialiser._apply,
    Lambda: Specialiser._lambda,
    Let: Specialiser._let_exp,
    LetFun: Specialiser._let_fun,
    If: Specialiser._if,
    Match: Specialiser._match,
    Loop: Specialiser._loop,
    Const: Specialiser._const,
    StringConst: Specialiser._const,
    PrimOp: Specialiser._prim_op,
    PrimFun: Specialiser._prim_fun,
    Convert: Specialiser._convert,
    RecordExp: Specialiser._record,
    Project: Specialiser._project,
    RecordUpdate: Specialiser._record_update,
    ArrayLit: Specialiser._array,
    Range: Specialiser._range,
    Index: Specialiser._index,
    Update: Specialiser._update,
    Coerce: Specialiser._coerce,
    Assert: Specialiser._assert,
    Constr: Specialiser._constr,
    Attr: Specialiser._attr,
}
