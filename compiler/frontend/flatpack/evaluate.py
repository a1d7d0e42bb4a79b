"""Evaluate the syntax tree to one term: resolve names, inline functions, apply `main`.

FlatPack's functions are Haskell functions that build terms (seed 002, section 3), so they are gone
when a program is one term. Shapes are lists of polynomials over the sizes that `main` names; a
quotient that is no polynomial has a name of its own (`SizeTable`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache, partial
from pathlib import Path

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.errors import TypeError_
from compiler.base.prim import PRIMS, Prim
from compiler.base.spans import PRELUDE, Span
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.flatpack import syntax as s
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.build import TermBuilder, certainly_differ, is_int
from compiler.frontend.flatpack.parser import OPERATORS, is_pattern, parse
from compiler.frontend.flatpack.values import (
    USUAL,
    Env,
    Function,
    Int,
    ShapeOf,
    SizeTable,
    TupleOf,
    Value,
    Written,
    kind_of,
    wrong,
)


@dataclass(slots=True)
class Meaning:
    """An evaluated program: parameters and files in order, the term, and its sizes."""

    params: tuple[s.Param, ...]
    ints: tuple[str, ...]
    sources: tuple[t.Source, ...]
    result: t.Term
    element: Prim
    sizes: SizeTable
    at: Span
    """Span of `main`."""
    more: tuple[t.Term, ...] = ()
    """Further results."""

    @property
    def results(self) -> tuple[t.Term, ...]:
        """All results in order."""
        return (self.result, *self.more)


@cache
def library() -> s.Program:
    """Return the definitions that every program has."""
    return parse(LIBRARY.read_text("utf-8"), f"{PRELUDE}flatpack")


LIBRARY = Path(__file__).with_name("library.fp")


def evaluate(program: s.Program, seen: Seen | None = None) -> Meaning:
    """Evaluate `main` to a term; `seen` is called for each value in the program's text.

    Errors: `TypeError_`, the first that is met.
    """
    return _Evaluation(program=program, seen=seen).main()


def value_of(program: s.Program, exp: s.Exp) -> tuple[Value, SizeTable, Meaning | None]:
    """Evaluate an expression over a program's definitions; return its value and sizes.

    With them the program whose `main` it is; None for what is no array, such as a function.
    Errors: as of `evaluate`.
    """
    one = _Evaluation(program=program)
    value, meaning = one.over(exp)
    return value, one.sizes, meaning


Seen = Callable[[Span, Value, SizeTable], None]
"""Receives the span of an expression or bound name, and its value."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """A use of a function with a signature; `sizes`: those that it has bound so far."""

    function: str
    sizes: dict[str, Poly]
    span: Span


@dataclass(slots=True, kw_only=True)
class _Evaluation(TermBuilder):
    program: s.Program
    definitions: dict[str, s.Definition] = field(default_factory=dict)
    around: list[str] = field(default_factory=list)
    seen: Seen | None = None

    def see(self, span: Span, value: Value) -> None:
        """Report a value of the program's text to the listener."""
        if self.seen and not span.in_prelude:
            self.seen(span, value, self.sizes)

    # --- definitions ---

    def defined(self) -> dict[str, s.Definition]:
        """Enter the program's and the library's definitions; return the program's."""
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
        return own

    def over(self, exp: s.Exp) -> tuple[Value, Meaning | None]:
        """Evaluate an expression over the definitions."""
        self.defined()
        found = self.exp(exp, {})
        if isinstance(found, Function | ShapeOf | t.Structural):
            return found, None
        return found, self.meaning((), (), [], found, exp.span, exp.span)

    def meaning(
        self,
        params: tuple[s.Param, ...],
        ints: tuple[str, ...],
        given: list[t.Source],
        found: Value,
        span: Span,
        at: Span,
    ) -> Meaning:
        """Build a program with results `found`; `span`: their expression."""
        results = [self.term(one, span) for one in _flat(found)]
        sources = (*given, *self.files.values())
        first, *more = results
        return Meaning(params, ints, sources, first, self.element, self.sizes, at, tuple(more))

    def main(self) -> Meaning:
        """Evaluate the whole program."""
        own = self.defined()
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
            self.see(param.at, env[param.name])
        for name in names:
            env.setdefault(name, Int(Poly.var(name)))
        self.around.append("main")
        found = self.exp(main.body, env)
        given = [v for one in env.values() for v in _flat(one) if isinstance(v, t.Source)]
        return self.meaning(main.params, tuple(ints), given, found, main.body.span, main.name.span)

    def element_type(self) -> Prim:
        """Return the program's element type."""
        name = self.program.element
        if name is None:
            return USUAL
        found = _prim(name.text)
        if found is None:
            raise wrong(
                codes.flatpack.NUMBER,
                f"`{name.text}` is not a number type.",
                name.span,
                "The types are i8 to i64, u8 to u64, f16, f32 and f64.",
            )
        return found

    def parameter(self, param: s.Param, names: dict[str, None]) -> Value:
        """Build a parameter of `main`; names in its shape become sizes."""
        match param.shape:
            case None:
                raise wrong(
                    codes.flatpack.MAIN,
                    f"The parameter `{param.name}` of `main` has no type.",
                    param.span,
                    f"Write `({param.name} : n)` for an array, `({param.name} : Int)` for an "
                    f"integer, `({param.name} : Scalar)` for one value.",
                )
            case s.Name(text="Int"):
                return Int(Poly.var(param.name))
            case s.Name(text="Scalar"):
                return t.Source(param.span, (), param.name)
            case shape:
                return self.given(param, param.name, (), shape, names)

    def given(
        self, param: s.Param, name: str, outer: t.Shape, shape: s.Exp, names: dict[str, None]
    ) -> Value:
        """Build an array, or of `n Of (3 Of f32, i32)` an array per component, in `outer` rows."""
        sizes: list[s.Exp] = []
        rest = shape
        while isinstance(rest, s.Infix) and rest.op == "Of":
            sizes.append(rest.lhs)
            rest = rest.rhs
        if not isinstance(rest, s.Tuple):
            return t.Source(param.span, (*outer, *self.binding(shape, names)), name)
        rows = (*outer, *(size for one in sizes for size in self.binding(one, names)))
        parts = enumerate(rest.elems)
        return TupleOf(tuple(self.part(param, f"{name}.{k}", rows, e, names) for k, e in parts))

    def part(
        self, param: s.Param, name: str, outer: t.Shape, shape: s.Exp, names: dict[str, None]
    ) -> Value:
        """Build a component of a given tuple, whose shape ends in an element type."""
        sizes: list[Poly] = []
        rest = shape
        while isinstance(rest, s.Infix) and rest.op == "Of":
            sizes += self.binding(rest.lhs, names)
            rest = rest.rhs
        if isinstance(rest, s.Tuple):
            return self.given(param, name, (*outer, *sizes), rest, names)
        if not isinstance(rest, s.Name) or (prim := _prim(rest.text)) is None:
            raise _without_element(rest.span)
        return t.Source(param.span, (*outer, *sizes), name, prim=self.other(prim))

    def binding(self, shape: s.Exp, names: dict[str, None]) -> list[Poly]:
        """Evaluate a parameter's shape."""
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
            "The size of a parameter must be a name or a number.",
            shape.span,
            "Write a shape such as `n Of 3`, and claim more with `HasShape`.",
        )

    # --- expressions ---

    def exp(self, e: s.Exp, env: Env) -> Value:
        """Evaluate an expression."""
        found = self._exp(e, env)
        self.see(e.span, found)
        return found

    def _exp(self, e: s.Exp, env: Env) -> Value:
        match e:
            case s.Name(text=text):
                return self.name(e, text, env)
            case s.Number(text=text):
                return self.literal_number(text, e.span)
            case s.String(text=text):
                return text
            case s.List(elems=elems):
                return tuple(self.exp(one, env) for one in elems)
            case s.Tuple(elems=elems):
                return TupleOf(tuple(self.exp(one, env) for one in elems))
            case s.Let(name=name, rhs=rhs, body=body):
                return self.exp(body, {**env, **self.bound(name, self.exp(rhs, env))})
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
        """Evaluate a number, which may become a size, an index or an element."""
        if is_int(text):
            return Int(Poly.const(int(text)), span=span)
        return Written(text, span)

    def bound(self, pattern: s.Pattern, value: Value) -> dict[str, Value]:
        """Match a pattern, and return the values of its names."""
        if isinstance(pattern, s.Name):
            self.see(pattern.span, value)
            return {pattern.text: value}
        if not isinstance(value, TupleOf) or len(value.parts) != len(pattern.elems):
            found = (
                f"a tuple of {len(value.parts)}" if isinstance(value, TupleOf) else kind_of(value)
            )
            message = (
                f"This pattern names the {len(pattern.elems)} components of a tuple, but "
                f"the value is {found}."
            )
            raise wrong(codes.flatpack.KIND, message, self.at(pattern.span))
        env: dict[str, Value] = {}
        for one, part in zip(pattern.elems, value.parts, strict=True):
            assert is_pattern(one)
            for name, found_ in self.bound(one, part).items():
                if name in env:
                    message = f"`{name}` names two components of a tuple."
                    raise wrong(codes.flatpack.KIND, message, self.at(one.span))
                env[name] = found_
        return env

    def name(self, e: s.Exp, text: str, env: Env) -> Value:
        """Look up a name."""
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
        if text == "As":
            message = "`As` takes a number type and an array."
            raise wrong(codes.flatpack.KIND, message, self.at(e.span))
        if text in _BINDERS:
            message = f"`{text}` takes a name, an array and a body."
            raise wrong(codes.flatpack.KIND, message, self.at(e.span))
        near = did_you_mean(text, [*env, *self.definitions, *WORDS])
        hint = near or "Define it, or make it a parameter."
        raise wrong(codes.flatpack.UNKNOWN, f"`{text}` is not defined.", self.at(e.span), hint)

    def definition(self, one: s.Definition, span: Span) -> Value:
        """Evaluate a definition: to a function, or to a value if it has no parameters."""
        call = partial(self.called, one)
        arity = len(one.params)
        return Function(one.name.text, arity, call) if arity else call((), span)

    def called(self, one: s.Definition, args: Sequence[Value], span: Span) -> Value:
        """Evaluate a definition's body for arguments."""
        name = one.name.text
        if name in self.around:
            way = " -> ".join((*self.around[self.around.index(name) :], name))
            raise wrong(
                codes.flatpack.ENDLESS,
                f"`{name}` uses itself: {way}.",
                self.at(span),
                "FlatPack inlines functions where they are used. Write repetition with "
                "`LetMap` or `Fold`.",
            )
        site = self.site
        if one.span.in_prelude and not span.in_prelude:
            self.site = span
        elif not one.span.in_prelude:
            self.site = None
        self.around.append(name)
        found = self.exp(one.body, self.signed(one, args, span))
        self.see(one.name.span, found)
        self.around.pop()
        self.site = site
        return found

    def signed(self, one: s.Definition, args: Sequence[Value], span: Span) -> Env:
        """Bind a definition's arguments, and the sizes of its signature."""
        env: dict[str, Value] = {}
        pairs = list(zip(one.params, args, strict=True))
        sizes = {
            param.name: self.int(arg, span, one.name.text)
            for param, arg in pairs
            if isinstance(param.shape, s.Name) and param.shape.text == "Int"
        }
        ints = frozenset(sizes)
        for param, arg in pairs:
            if param.shape is None or param.name in ints:
                env[param.name] = arg
            else:
                fit = _Fit(one.name.text, sizes, span)
                env[param.name] = self.fitted(fit, param.name, _dims(param.shape), arg)
            self.see(param.at, env[param.name])
        return {**{name: Int(size) for name, size in sizes.items()}, **env}

    def fitted(self, fit: _Fit, name: str, dims: list[s.Exp], arg: Value) -> Value:
        """Fit an argument to its parameter's shape; unknown sizes are checked at run time."""
        if dims and isinstance(dims[-1], s.Tuple):
            return self.fitted_tuple(fit, name, dims[:-1], dims[-1], arg)
        found, sizes = self.term(arg, fit.span), fit.sizes
        dims = [] if len(dims) == 1 and _is_scalar(dims[0]) else dims
        known = dict(sizes)
        wanted = [self.wanted(*both, known) for both in zip(dims, found.shape, strict=False)]
        if len(dims) != len(found.shape) or certainly_differ(found.shape, tuple(wanted)):
            bound = [f"{name} = {self.sizes.show(size)}" for name, size in sizes.items()]
            message = f"`{fit.function}` takes `{name} : {_shown(dims)}`"
            message += f", where {', '.join(bound)}" if bound else ""
            raise wrong(
                codes.flatpack.SHAPE,
                f"{message}; this has the shape {self.shape(found.shape)}.",
                self.at(fit.span),
            )
        sizes |= known
        return self.has_shape((found, ShapeOf(tuple(wanted))), fit.span) if dims else found

    def fitted_tuple(
        self, fit: _Fit, name: str, rows: list[s.Exp], parts: s.Tuple, arg: Value
    ) -> Value:
        """Fit a tuple of arrays to such rows and to the element types of its components."""
        if not isinstance(arg, TupleOf) or len(arg.parts) != len(parts.elems):
            has = f"a tuple of {len(arg.parts)}" if isinstance(arg, TupleOf) else kind_of(arg)
            message = (
                f"`{fit.function}` takes a tuple of {len(parts.elems)} as `{name}`, found {has}."
            )
            raise wrong(codes.flatpack.KIND, message, self.at(fit.span))
        made: list[Value] = []
        for k, (part, own) in enumerate(zip(arg.parts, parts.elems, strict=True)):
            dims, called = [*rows, *_dims(own)], f"{name}.{k}"
            if isinstance(dims[-1], s.Tuple):
                made.append(self.fitted(fit, called, dims, part))
                continue
            element = dims.pop()
            prim = _prim(element.text) if isinstance(element, s.Name) else None
            if prim is None:
                raise _without_element(element.span)
            found = self.term(part, fit.span, self.other(prim))
            if (has_prim := found.prim or self.element) != prim:
                raise wrong(
                    codes.flatpack.TYPES,
                    f"`{fit.function}` takes elements of the type {prim} in `{called}`; these have "
                    f"the type {has_prim}.",
                    self.at(fit.span),
                    f"`As {prim}` converts them.",
                )
            made.append(self.fitted(fit, called, dims, found))
        return TupleOf(tuple(made))

    def wanted(self, dim: s.Exp, size: Poly, sizes: dict[str, Poly]) -> Poly:
        """Evaluate a size of a signature; a new name in it is bound to `size`."""
        match dim:
            case s.Number(text=text) if is_int(text):
                return Poly.const(int(text))
            case s.Name(text=text) if text not in WORDS:
                return sizes.setdefault(text, size)
            case s.Infix(op="*", lhs=s.Number(text=text), rhs=s.Name(text=name)) if (
                is_int(text) and int(text) > 0 and name not in WORDS
            ):
                times = Poly.const(int(text))
                return times * sizes.setdefault(name, self.sizes.quotient(size, times))
        raise wrong(
            codes.flatpack.MAIN,
            "A size in a signature must be a name, a number, or a multiple such as `2 * n`.",
            self.at(dim.span),
            "Claim any other size with `HasShape`.",
        )

    def lambda_(
        self, params: tuple[s.Pattern, ...], body: s.Exp, env: Env, args: Sequence[Value], _: Span
    ) -> Value:
        """Evaluate a lambda's body for arguments."""
        inner = dict(env)
        for param, arg in zip(params, args, strict=True):
            inner |= self.bound(param, arg)
        return self.exp(body, inner)

    def infix(self, e: s.Exp, op: str, lhs: s.Exp, rhs: s.Exp, env: Env) -> Value:
        """Evaluate an operator between two expressions."""
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
        """Apply a composition: `(a . b) x`."""
        return self.applied(a, [self.applied(b, list(args), span)], span)

    def section(self, op: str, step: Value, args: Sequence[Value], span: Span) -> Value:
        """Apply a section: `(op step) x`."""
        return self.operator(op, (args[0], step), span)

    def apply(self, e: s.Apply, env: Env) -> Value:
        """Evaluate an application; `LetMap`, `Let` and `Filter` bind a name in the last one."""
        args: list[s.Exp] = []
        fn: s.Exp = e
        while isinstance(fn, s.Apply):
            args.append(fn.arg)
            fn = fn.fn
        args.reverse()
        if isinstance(fn, s.Name) and fn.text in _BINDERS and len(args) == 3:
            return self.binder(fn.text, e.span, args, env)
        if isinstance(fn, s.Name) and fn.text == "As":
            return self.conversion(e.span, args, env)
        return self.applied(self.exp(fn, env), [self.exp(arg, env) for arg in args], e.span)

    def conversion(self, span: Span, args: list[s.Exp], env: Env) -> Value:
        """Evaluate `As f32 a`, or the partial `As f32`."""
        first = args[0]
        prim = _prim(first.text) if isinstance(first, s.Name) else None
        if prim is None:
            message = "`As` takes a number type first, such as `f32`."
            raise wrong(codes.flatpack.KIND, message, self.at(first.span))
        fn = Function("As", 1, partial(self.as_, prim))
        return self.applied(fn, [self.exp(arg, env) for arg in args[1:]], span)

    def binder(self, what: str, span: Span, args: list[s.Exp], env: Env) -> Value:
        """Evaluate `LetMap v a body` and its like."""
        var, arg, body = args
        name = s.Name(var.span, var.text) if isinstance(var, s.String) else var
        if not is_pattern(name):
            raise wrong(codes.flatpack.KIND, f"`{what}` takes a name first.", self.at(var.span))
        value = self.exp(arg, env)
        if what == "Let":
            return self.exp(body, {**env, **self.bound(name, value)})
        rows, args_ = self.rows(value, name, arg.span, what)
        inner = self.exp(body, {**env, **self.bound(name, rows)})
        if what == "Filter":
            return self.filtered(span, args_, list(_vars(rows)), rows, inner)
        return self.each(span, args_, list(_vars(rows)), inner)

    def rows(
        self, value: Value, name: s.Pattern, span: Span, what: str
    ) -> tuple[Value, list[t.Term]]:
        """Build a row variable for the mapped value, and return its arrays in order."""
        columns = self.columns(value, span, what)
        text = name.text if isinstance(name, s.Name) else "x"
        pending = iter(columns)

        def row(value: Value, name: s.Exp) -> Value:
            if isinstance(value, TupleOf):
                names = name.elems if isinstance(name, s.Tuple) else ()
                names = names if len(names) == len(value.parts) else (name,) * len(value.parts)
                return TupleOf(tuple(map(row, value.parts, names)))
            array = next(pending)
            called = name.text if isinstance(name, s.Name) else text
            return t.Var(self.at(name.span), array.shape[1:], called, prim=array.prim)

        return row(value, name), columns

    def applied(self, fn: Value, args: list[Value], span: Span) -> Value:
        """Apply `fn` to arguments, possibly more or fewer than its arity."""
        while args:
            if not isinstance(fn, Function):
                hint = "Write `Twist` before it." if isinstance(fn, t.Structural) else ""
                message = f"This is {kind_of(fn)}, which takes no argument."
                raise wrong(codes.flatpack.KIND, message, self.at(span), hint)
            lacks = fn.arity - len(fn.given)
            given = (*fn.given, *args[:lacks])
            if len(args) < lacks:
                return Function(fn.name, fn.arity, fn.call, given, fn.op)
            fn, args = fn.call(given, span), args[lacks:]
        return fn

    def constructor(self, name: str, args: Sequence[Value], span: Span) -> Value:
        """Apply a constructor of the language."""
        return CONSTRUCTORS[name][1](self, args, span)

    def map(self, args: Sequence[Value], span: Span) -> Value:
        """Build `map f a`."""
        row, arrays = self.rows(args[1], s.Name(span, "x"), span, "map")
        body = self.applied(args[0], [row], span)
        return self.each(span, arrays, list(_vars(row)), body)


def _prim(text: str) -> Prim | None:
    """Return a number type by its name."""
    return next((p for p in PRIMS if p == text and p != "bool"), None)


def _without_element(span: Span) -> TypeError_:
    """Return the error for a component of a given tuple without an element type."""
    return wrong(
        codes.flatpack.MAIN,
        "The type of a tuple component must end in its element type.",
        span,
        "Write a type such as `n Of (3 Of f32, i32)`. Element types are i8 to i64, u8 "
        "to u64, f16, f32 and f64.",
    )


def _is_scalar(shape: s.Exp) -> bool:
    return isinstance(shape, s.Name) and shape.text == "Scalar"


def _dims(shape: s.Exp) -> list[s.Exp]:
    """Return the dimensions of a shape, as written."""
    dims: list[s.Exp] = []
    while isinstance(shape, s.Infix) and shape.op == "Of":
        dims += _dims(shape.lhs)
        shape = shape.rhs
    if isinstance(shape, s.Apply) and isinstance(shape.fn, s.Name) and shape.fn.text == "N":
        return [*dims, *_dims(shape.arg)]
    return [*dims, shape]


def _shown(dims: list[s.Exp]) -> str:
    """Print the dimensions of a signature, as written."""
    texts: list[str] = []
    for dim in dims:
        match dim:
            case s.Infix(op=op, lhs=s.Number(text=times), rhs=s.Name(text=name)):
                texts.append(f"{times} {op} {name}")
            case s.Name(text=text) | s.Number(text=text):
                texts.append(text)
            case _:
                texts.append("..")
    return " Of ".join(texts) or "Scalar"


def _flat(value: Value) -> Iterator[Value]:
    """Yield the values of nested tuples."""
    if isinstance(value, TupleOf):
        for part in value.parts:
            yield from _flat(part)
    else:
        yield value


def _vars(row: Value) -> Iterator[t.Var]:
    """Yield the variables of a row."""
    return (one for one in _flat(row) if isinstance(one, t.Var))


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
    "Scalar": (1, _Evaluation.scalar),
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
"""Constructors with arguments: their arity and their builder."""
WORDS = frozenset((*CONSTRUCTORS, *_BINDERS, *_PLAIN, *_ARITH_OPS, "Int", "Of", "As"))
