"""Function values put to use: inlined, or given a definition of their own.

Lambdas and the small or higher-order definitions of the prelude are put in place where they are
called. Other code gets one version per type instance (sizes do not count: those of instantiated
type parameters become size parameters) and per functional argument, whose free variables become
parameters. A large lambda is put in place once; from its second call on it has a definition.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend.typed import (
    Apply,
    Const,
    Def,
    Exp,
    Lambda,
    Let,
    Pat,
    PVar,
    PWild,
    RecordExp,
    Var,
)
from compiler.frontend.types import (
    UNIT,
    Arrow,
    Size,
    SizeVar,
    Type,
)
from compiler.lower.measure import is_larger
from compiler.lower.naming import Binding, Instance, Naming, size_exp, wrap
from compiler.lower.static import (
    I64,
    Barrier,
    Frame,
    Fun,
    Rec,
    Tagged,
    Value,
    collect_sizes,
    has_function,
    map_sizes,
    match_sizes,
    type_key,
    value_key,
)

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
    "flat_index_2d": 6,
    "flat_index_3d": 8,
    "flat_index_4d": 10,
    "flat_update_2d": 5,
    "flat_update_3d": 6,
    "flat_update_4d": 7,
}


class Calls(Naming):
    """The part of the specialiser that deals with function values."""

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
            return replace(code.body, span=self.user_span(e.span))
        types = tuple(self.type(t, fr) for t in e.type_args)
        key = (e.name, tuple(type_key(t) for t in types), types)
        known = self.instances.get(key)
        if known is None:
            known = self._constant(code, types)
            self.instances[key] = known
        return Var(known.type, self.user_span(e.span), known.name)

    def sized_constant(self, e: Var, fr: Frame) -> Exp:
        """A definition with size parameters only: its body, put in place."""
        code = self.defs.get(e.name)
        if code is None:
            raise CompilerBug(f"{e.name} is not defined", e.span)
        types = tuple(self.type(t, fr) for t in e.type_args)
        sizes = tuple(self.size(s, fr) for s in e.size_args)
        inner = Frame()
        self.instantiate(Fun(code, None, types, sizes), inner)
        return self.ev(code.body, inner)

    def _constant(self, code: Def, types: tuple[Type, ...]) -> Instance:
        inner, site = Frame(), self.site
        self.site = None
        self.instantiate(Fun(code, None, types), inner)
        name = self.ctx.fresh(code.name)
        ext = self.fresh_sizes(code.ext, inner)
        self.global_sizes.update(zip(code.ext, ext, strict=True))
        body = self.ev(code.body, inner)
        ret = self.type(code.ret, inner)
        self.done.append(
            Def(name, code.source_name, (), (), (), ret, code.unique, ext, body, False, code.span)
        )
        self.site = site
        return Instance(name, (), (), ret)

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
            key = (id(code), self.owner)
            if key in self.placed and not code.span.file and is_larger(code.body, LARGE):
                return False
            self.placed.add(key)
            return True
        if not code.span.file or "noinline" in code.attrs:
            return False
        if any(isinstance(a, Fun | Rec | Tagged) for a in args):
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
            if ext:
                self.bind_result_sizes(ext, t, self.type(code.body.type, fr), span, out)
        else:
            body = self.ev(code.body, fr)
            result = self.name_sizes(body, t, span, ext)
        self.site = site
        return result

    def bind_result_sizes(
        self, ext: tuple[Name, ...], t: Type, have: Type, span: Span, out: list[Binding]
    ) -> None:
        """Bind the sizes `ext` of a functional value's type `t` to what its body's type has."""
        found: dict[Name, Size] = {}
        match_sizes(set(ext), t, have, found)
        for name, size in found.items():
            out.append(((), PVar(I64, span, name), size_exp(size, span)))

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
        root, walls = behind_walls(fun, args)
        instance = self.instance(root, args)
        if walls and not all(isinstance(v, Var) for v in instance.brought):
            instance, walls = self.instance(fun, args), []
        brought: tuple[Exp, ...] = instance.brought
        for wall in reversed(walls):
            brought = tuple(wall.variable(v) for v in brought if isinstance(v, Var))
        sizes = list(fun.sizes)
        for ta in fun.types or ():
            collect_sizes(ta, sizes)
        dynamic = tuple(a for a in args if isinstance(a, Exp))
        operands = brought + dynamic or (RecordExp(UNIT, span, ()),)
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
        site, owner = self.site, self.owner
        code = as_definition(fun.code)
        self.site = None
        if fun.frame is None:
            self.versions += 1
            self.owner = self.versions
        barrier = Barrier(self.ctx.fresh)
        fr = Frame(fun.frame, barrier)
        sizes = list(self.fresh_sizes(code.size_params, fr))
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
        ret = self.type(code.ret, fr)
        outer = tuple(pair[0] for pair in barrier.brought.values())
        inner = [PVar(v.type, v.span, v.name) for _, v in barrier.brought.values()]
        made = replace(
            code,
            name=self.ctx.fresh(code.name),
            type_params=(),
            size_params=tuple(sizes),
            params=(*inner, *params) or (PWild(UNIT, code.span),),
            ret=ret,
            ext=ext,
            body=body,
            is_entry=False,
        )
        self.done.append(made)
        self.site, self.owner = site, owner
        return Instance(made.name, outer, (fun, args), ret)

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
            at = self.user_span(code.span)
            body = wrap(out, self.ev(code.body, fr))
            self.site = site
            return Lambda(fn_type, at, pats, body)
        given = tuple(Var(p, span, self.ctx.fresh("x")) for p in params)
        value = self.call(fun, given, result, span, (), out)
        body = wrap(out, self.residual(value, result, span))
        return Lambda(fn_type, span, tuple(PVar(v.type, span, v.name) for v in given), body)


def as_definition(code: Def | Lambda | str) -> Def:
    """The code of a function as a definition."""
    if isinstance(code, Def):
        return code
    assert isinstance(code, Lambda)
    ret = code.body.type
    return Def("lambda", "lambda", (), (), code.params, ret, False, (), code.body, False, code.span)


def behind_walls(fun: Fun, args: tuple[Value, ...]) -> tuple[Fun, list[Barrier]]:
    """A local function as it was before it was brought behind walls, innermost wall first.

    All places that call it from behind different walls can share one version, unless functional
    arguments tie it to one of them.
    """
    walls: list[Barrier] = []
    frame = fun.frame
    if all(isinstance(a, Exp) for a in args) and not any(has_function(t) for t in fun.types or ()):
        while frame is not None and frame.barrier is not None and not frame.names:
            walls.append(frame.barrier)
            frame = frame.parent
    return (replace(fun, frame=frame) if walls else fun), walls
