"""From the syntax tree to one term: names, functions put in place, `main`.

FlatPack's functions are Haskell functions that build terms (seed 002, section 3), so they are gone
when a program is one term. Shapes are lists of polynomials over the sizes that `main` names; a
quotient that is no polynomial has a name of its own (`SizeTable`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.prim import PRIMS, Prim
from compiler.base.spans import PRELUDE, Span
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.flatpack import syntax as s
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.build import TermBuilder, is_int
from compiler.frontend.flatpack.parser import OPERATORS, parse
from compiler.frontend.flatpack.values import (
    Env,
    Function,
    Int,
    ShapeOf,
    SizeTable,
    Value,
    kind_of,
    wrong,
)


@dataclass(slots=True)
class Meaning:
    """What a program computes: parameters and files in order, the term, and its sizes."""

    params: tuple[s.Param, ...]
    ints: tuple[str, ...]
    sources: tuple[t.Source, ...]
    result: t.Term
    element: Prim
    sizes: SizeTable
    at: Span
    """Where `main` stands."""
    more: tuple[t.Term, ...] = ()
    """Further results."""

    @property
    def results(self) -> tuple[t.Term, ...]:
        """All results in order."""
        return (self.result, *self.more)


@cache
def library() -> s.Program:
    """The definitions that every program has."""
    text = resources.files("compiler.frontend.flatpack").joinpath("library.fp").read_text("utf-8")
    return parse(text, f"{PRELUDE}flatpack")


def evaluate(program: s.Program) -> Meaning:
    """The term that `main` is.

    Errors: `TypeError_`, the first that is met.
    """
    return _Evaluation(program=program).main()


@dataclass(slots=True, kw_only=True)
class _Evaluation(TermBuilder):
    program: s.Program
    definitions: dict[str, s.Definition] = field(default_factory=dict)
    around: list[str] = field(default_factory=list)

    # --- definitions ---

    def main(self) -> Meaning:
        """The whole program."""
        self.element = self.element_type()
        self.definitions = {one.name.text: one for one in library().definitions}
        own: dict[str, s.Definition] = {}
        for one in self.program.definitions:
            name = one.name.text
            if name in own or name in WORDS:
                what = "is defined twice" if name in own else "is a word of the language"
                raise wrong(
                    codes.flatpack.UNKNOWN, f"`{name}` {what}.", one.name.span, "Rename it."
                )
            own[name] = one
        self.definitions.update(own)
        main = own.get("main")
        if main is None:
            at = self.program.definitions[-1].name.span if own else Span(1, 1, 1, 1)
            raise wrong(
                codes.flatpack.MAIN, "There is no `main`.", at, "Write `main (xs : n) = ..`."
            )
        env: dict[str, Value] = {}
        ints = [
            p.name for p in main.params if isinstance(p.shape, s.Name) and p.shape.text == "Int"
        ]
        names = dict.fromkeys(ints)
        for param in main.params:
            if param.name in env:
                raise wrong(
                    codes.flatpack.MAIN, f"`{param.name}` is a parameter twice.", param.span
                )
            env[param.name] = self.parameter(param, names)
        for name in names:
            env.setdefault(name, Int(Poly.var(name)))
        self.around.append("main")
        result = self.term(self.exp(main.body, env), main.body.span)
        given = [v for v in env.values() if isinstance(v, t.Source)]
        return Meaning(
            main.params,
            tuple(ints),
            (*given, *self.files.values()),
            result,
            self.element,
            self.sizes,
            main.name.span,
        )

    def element_type(self) -> Prim:
        """The type of all elements."""
        name = self.program.element
        if name is None:
            return "f64"
        found = next((p for p in PRIMS if p == name.text and p != "bool"), None)
        if found is None:
            raise wrong(
                codes.flatpack.NUMBER,
                f"`{name.text}` is no type of numbers.",
                name.span,
                "The types are i8 to i64, u8 to u64, f16, f32 and f64.",
            )
        return found

    def parameter(self, param: s.Param, names: dict[str, None]) -> Value:
        """What a parameter of `main` stands for; a name in its shape is a size from then on."""
        match param.shape:
            case None:
                raise wrong(
                    codes.flatpack.MAIN,
                    f"`main` does not say what its parameter `{param.name}` is.",
                    param.span,
                    f"Write `({param.name} : n)` for an array, `({param.name} : Int)` for an "
                    f"integer, `({param.name} : Scalar)` for one value.",
                )
            case s.Name(text="Int"):
                return Int(Poly.var(param.name))
            case s.Name(text="Scalar"):
                return t.Source(param.span, (), param.name)
            case shape:
                return t.Source(param.span, tuple(self.binding(shape, names)), param.name)

    def binding(self, shape: s.Exp, names: dict[str, None]) -> list[Poly]:
        """A parameter's shape."""
        match shape:
            case s.Infix(op="Of", lhs=lhs, rhs=rhs):
                return [*self.binding(lhs, names), *self.binding(rhs, names)]
            case s.Apply(fn=s.Name(text="N"), arg=arg):
                return self.binding(arg, names)
            case s.Name(text=text) if text not in WORDS:
                names[text] = None
                return [Poly.var(text)]
            case s.Number(text=text) if text.isdigit():
                return [Poly.const(int(text))]
        raise wrong(
            codes.flatpack.MAIN,
            "A size of a parameter is a name or a number.",
            shape.span,
            "Write such as `n Of 3`; `HasShape` claims more of it.",
        )

    # --- expressions ---

    def exp(self, e: s.Exp, env: Env) -> Value:
        """The value of an expression."""
        match e:
            case s.Name(text=text):
                return self.name(e, text, env)
            case s.Number(text=text):
                return self.literal_number(text, e.span)
            case s.String(text=text):
                return text
            case s.List(elems=elems):
                return tuple(self.exp(one, env) for one in elems)
            case s.Let(name=name, rhs=rhs, body=body):
                return self.exp(body, {**env, name.text: self.exp(rhs, env)})
            case s.Lambda(params=params, body=body):
                return Function("", len(params), partial(self.lambda_, params, body, env))
            case s.Infix(op=op, lhs=lhs, rhs=rhs):
                return self.infix(e, op, lhs, rhs, env)
            case s.Section(op=op, rhs=rhs):
                step = self.exp(rhs, env)
                call = partial(self.section, op, step)
                return Function(f"({op} ..)", 1, call, op=op, step=step)
            case s.Apply():
                return self.apply(e, env)
        raise AssertionError(e)

    def literal_number(self, text: str, span: Span) -> Value:
        """A number as it is written: it may become a size, an index or an element."""
        if is_int(text):
            return Int(Poly.const(int(text)), span=span)
        return self.number(text, span)

    def name(self, e: s.Exp, text: str, env: Env) -> Value:
        """What a name stands for."""
        if text in env:
            return env[text]
        if text in self.definitions:
            return self.definition(self.definitions[text], e.span)
        op = _ARITH_OPS.get(text, text)
        if text in OPERATORS or text in _ARITH_OPS:
            return Function(f"({op})", 2, partial(self.operator, op), op=op)
        if text in _PLAIN:
            return _PLAIN[text]
        if text in CONSTRUCTORS:
            arity, _ = CONSTRUCTORS[text]
            return Function(text, arity, partial(self.constructor, text))
        if text in _BINDERS:
            message = f"`{text}` takes a name, an array and a body."
            raise wrong(codes.flatpack.KIND, message, self.at(e.span))
        near = did_you_mean(text, [*env, *self.definitions, *WORDS])
        hint = near or "Define it, or make it a parameter."
        raise wrong(codes.flatpack.UNKNOWN, f"Nothing is called `{text}`.", self.at(e.span), hint)

    def definition(self, one: s.Definition, span: Span) -> Value:
        """What a definition stands for: a function, or the value of one without parameters."""
        call = partial(self.called, one)
        arity = len(one.params)
        return Function(one.name.text, arity, call) if arity else call((), span)

    def called(self, one: s.Definition, args: Sequence[Value], span: Span) -> Value:
        """A definition's body for arguments."""
        name = one.name.text
        if name in self.around:
            way = " -> ".join((*self.around[self.around.index(name) :], name))
            raise wrong(
                codes.flatpack.ENDLESS,
                f"`{name}` needs itself: {way}.",
                self.at(span),
                "Functions are put in place where they are used. Write the repetition with "
                "`LetMap` or `Fold`.",
            )
        site = self.site
        if one.span.in_prelude and not span.in_prelude:
            self.site = span
        elif not one.span.in_prelude:
            self.site = None
        self.around.append(name)
        params = [param.name for param in one.params]
        found = self.exp(one.body, dict(zip(params, args, strict=True)))
        self.around.pop()
        self.site = site
        return found

    def lambda_(
        self, params: tuple[s.Name, ...], body: s.Exp, env: Env, args: Sequence[Value], _: Span
    ) -> Value:
        """A lambda's body for arguments."""
        names = [param.text for param in params]
        return self.exp(body, {**env, **dict(zip(names, args, strict=True))})

    def infix(self, e: s.Exp, op: str, lhs: s.Exp, rhs: s.Exp, env: Env) -> Value:
        """An operator between two expressions."""
        a, b = self.exp(lhs, env), self.exp(rhs, env)
        if op == "Of":
            return ShapeOf((*self.dims(a, lhs.span), *self.dims(b, rhs.span)))
        if op == "$":
            return self.applied(a, [b], e.span)
        if op == ".":
            if isinstance(a, t.Structural) and isinstance(b, t.Structural):
                return t.Compose(a, b)
            both = partial(self.composed, a, b)
            return Function("", 1, both)
        return self.operator(op, (a, b), e.span)

    def composed(self, a: Value, b: Value, args: Sequence[Value], span: Span) -> Value:
        """`(a . b) x`."""
        return self.applied(a, [self.applied(b, list(args), span)], span)

    def section(self, op: str, step: Value, args: Sequence[Value], span: Span) -> Value:
        """`(op step) x`."""
        return self.operator(op, (args[0], step), span)

    def apply(self, e: s.Apply, env: Env) -> Value:
        """A function with its arguments; `LetMap`, `Let` and `Filter` bind a name in the last."""
        args: list[s.Exp] = []
        fn: s.Exp = e
        while isinstance(fn, s.Apply):
            args.append(fn.arg)
            fn = fn.fn
        args.reverse()
        if isinstance(fn, s.Name) and fn.text in _BINDERS and len(args) == 3:
            return self.binder(fn.text, e.span, args, env)
        return self.applied(self.exp(fn, env), [self.exp(arg, env) for arg in args], e.span)

    def binder(self, what: str, span: Span, args: list[s.Exp], env: Env) -> Value:
        """`LetMap v a body` and its like."""
        var, arg, body = args
        if not isinstance(var, s.Name | s.String):
            raise wrong(codes.flatpack.KIND, f"`{what}` takes a name first.", self.at(var.span))
        value = self.exp(arg, env)
        if what == "Let":
            return self.exp(body, {**env, var.text: value})
        each = self.array(value, arg.span, what)
        row = t.Var(self.at(var.span), each.shape[1:], var.text)
        inner = self.term(self.exp(body, {**env, var.text: row}), body.span)
        return self.each(what, span, each, row, inner)

    def applied(self, fn: Value, args: list[Value], span: Span) -> Value:
        """`fn` applied to arguments, of which there may be more or fewer than it takes."""
        while args:
            if not isinstance(fn, Function):
                hint = "Write `Twist` before it." if isinstance(fn, t.Structural) else ""
                message = f"This is {kind_of(fn)}, and is given an argument."
                raise wrong(codes.flatpack.KIND, message, self.at(span), hint)
            lacks = fn.arity - len(fn.given)
            given = (*fn.given, *args[:lacks])
            if len(args) < lacks:
                return Function(fn.name, fn.arity, fn.call, given, fn.op)
            fn, args = fn.call(given, span), args[lacks:]
        return fn

    def constructor(self, name: str, args: Sequence[Value], span: Span) -> Value:
        """A constructor of the language with its arguments."""
        return CONSTRUCTORS[name][1](self, args, span)

    def map(self, args: Sequence[Value], span: Span) -> Value:
        """`map f a`."""
        each = self.array(args[1], span, "map")
        row = t.Var(self.at(span), each.shape[1:], "x")
        body = self.term(self.applied(args[0], [row], span), span)
        return self.each("LetMap", span, each, row, body)


_Make = Callable[[_Evaluation, Sequence[Value], Span], Value]
_BINDERS = frozenset(("LetMap", "Let", "Filter"))
_PLAIN: dict[str, Value] = {
    "Transpose": t.Transpose(),
    "RotateL": t.RotateL(),
    "RotateR": t.RotateR(),
}
_ARITH_OPS = {"Plus": "+", "Minus": "-", "Times": "*", "Divide": "/", "min": "min", "max": "max"}


def _down_sample(ev: TermBuilder, args: Sequence[Value], span: Span) -> Value:
    step = ev.int(args[0], span, "DownSample").constant
    if step is None or step < 1:
        ev.outside("`DownSample` takes a number of at least 1.", span)
    return t.DownSample(step)


CONSTRUCTORS: dict[str, tuple[int, _Make]] = {
    "N": (1, lambda ev, args, span: ShapeOf(ev.dims(args[0], span))),
    "GetData": (2, _Evaluation.get_data),
    "Literal": (2, _Evaluation.literal),
    "Scalar": (1, lambda ev, args, span: ev.term(args[0], span)),
    "Enumerate": (3, _Evaluation.enumerate_),
    "Split": (2, _Evaluation.split),
    "Join": (1, _Evaluation.join),
    "Zip": (1, _Evaluation.zip),
    "Repack": (1, _Evaluation.repack),
    "map": (2, _Evaluation.map),
    "size": (1, _Evaluation.size),
    "If": (3, _Evaluation.if_),
    "Arith": (3, lambda ev, args, span: ev.applied(args[0], list(args[1:]), span)),
    "Fold": (3, _Evaluation.fold),
    "Twist": (2, _Evaluation.twist),
    "HasShape": (2, _Evaluation.has_shape),
    "Slice": (1, lambda ev, args, span: t.Slice(ev.int(args[0], span, "Slice"))),
    "SubRange": (
        2,
        lambda ev, args, span: t.SubRange(
            ev.int(args[0], span, "SubRange"), ev.int(args[1], span, "SubRange")
        ),
    ),
    "DownSample": (1, _down_sample),
    "Smap": (1, lambda ev, args, span: t.Smap(ev.structural(args[0], span, "Smap"))),
    "Compose": (
        2,
        lambda ev, args, span: t.Compose(
            ev.structural(args[0], span, "Compose"), ev.structural(args[1], span, "Compose")
        ),
    ),
}
"""The words that take arguments: how many, and what each makes of them."""
WORDS = frozenset((*CONSTRUCTORS, *_BINDERS, *_PLAIN, *_ARITH_OPS, "Int", "Of"))
