"""Modules: bodies, functors, module types and ascription.

A module is a table of names; the typed program contains none. A functor keeps its syntax and the
scope of its definition. Its body is checked once against an opaque parameter of its module type,
and again for every application, with the argument's types.

Ascription drops the names that the module type does not mention, and gives the others the types
that it states. Types that it keeps abstract are new ones; an argument of a functor keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Protocol

from compiler import codes
from compiler.base.code import Code
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug, Related, TypeError_
from compiler.base.names import Name, base_of
from compiler.base.spans import NOWHERE, Span
from compiler.frontend import ast, decs
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.functions import bind_type_params
from compiler.frontend.check.definitions.type_exps import opened, resolve_type
from compiler.frontend.check.modules.module_types import (
    abbreviation,
    abstract_types,
    check_module_type,
    named,
)
from compiler.frontend.check.scope.builtins import member
from compiler.frontend.check.scope.hints import unknown_module
from compiler.frontend.check.scope.names import are_intrinsics, in_module, instantiate
from compiler.frontend.check.scope.scope import (
    DATA,
    LIFT,
    LIFT_WORDS,
    LIFTED,
    Abbreviation,
    Builtin,
    Module,
    Scheme,
    Scope,
    Sealed,
    Value,
)
from compiler.frontend.check.scope.state import Checker, Silent
from compiler.frontend.check.types.metas import MetaS, MetaT, resolve
from compiler.frontend.check.types.size_exps import metas_in_size, names_in_size
from compiler.frontend.check.types.substitute import subst
from compiler.frontend.check.types.unify import Mismatch, final_size, final_type, unify
from compiler.frontend.check.types.walks import (
    dimensions,
    metas_in,
    names_in_type,
    shows_arrays,
    sizes_of,
    with_unique_result,
)
from compiler.frontend.check.types.wording import show
from compiler.frontend.types import UNIT, Arrow, Opaque, Size, SizeVar, Type, TypeVar


class CheckDecs(Protocol):
    """Checks the declarations of a module's body in a scope of their own; returns their names."""

    def __call__(self, decs: tuple[decs.Dec, ...]) -> Module:
        """Check declarations that are part of the program."""

    def imported(self, one: decs.MImport) -> Module:
        """Return the declarations of a file."""

    def trial(self, body: Callable[[], Module]) -> Module:
        """Return the module that `body` makes; drop its definitions, keep its errors."""

    def once(
        self, module: Module | None, exp: decs.ModTypeExp, seen: Callable[[], Module]
    ) -> Module:
        """Memoise `seen`, which depends on a module and a module type, or on that alone.

        It is not called where it was called here before with the same result.
        """


@dataclass(slots=True)
class Functor(Module):
    """A module with parameters. `Module`'s own fields are empty.

    Two that are equal differ only in spans.
    """

    param: decs.ModParam | None = field(default=None, compare=False)
    rest: tuple[decs.ModParam, ...] = field(default=(), compare=False)
    type: decs.ModTypeExp | None = field(default=None, compare=False)
    body: decs.ModExp | None = field(default=None, compare=False)
    scope: Scope | None = field(default=None, compare=False)
    own: object = field(default_factory=object)
    """Identity, shared with equal ones."""

    @property
    def parameters(self) -> int:
        """See `Module`."""
        return 1 + len(self.rest)


def evaluate(st: Checker, exp: decs.ModExp, check_decs: CheckDecs) -> Module:
    """Evaluate a module expression.

    Errors: unknown names, arguments that do not match, wrong definitions inside.
    """
    match exp:
        case decs.MName(name=name):
            return find(st, name, exp.span)
        case decs.MBody(decs=inside):
            return check_decs(inside)
        case decs.MAscript(mod=mod, type=type_):
            _demand(st, type_, check_decs)
            return _sealed_as(st, evaluate(st, mod, check_decs), type_, check_decs, "")
        case decs.MApply(fn=fn, arg=arg):
            functor = evaluate(st, fn, check_decs)
            return apply(st, functor, evaluate(st, arg, check_decs), exp.span, check_decs)
        case decs.MLambda(param=param, type=type_, body=body):
            functor = Functor(param=param, type=type_, body=body, scope=st.scope.copy())
            return _checked(st, functor, check_decs)
        case decs.MImport():
            return check_decs.imported(exp)
    raise CompilerBug("This is not a module.", exp.span)


def find(st: Checker, name: ast.QualName, span: Span) -> Module:
    """Look up a module by name.

    Errors: unknown modules, with near misses; modules that are wrong themselves.
    """
    module = st.scope.module(name)
    if module is not None and are_intrinsics(module):
        raise TypeError_(
            codes.modules.INTRINSICS,
            "The module `intrinsics` can only be used as in `intrinsics.f x`.",
            span,
        )
    if module is None:
        text = ".".join(name)
        raise TypeError_(
            codes.names.MODULE, f"Unknown module `{text}`.", span, unknown_module(st, text, span)
        )
    if module.wrong:
        raise Silent("", span)
    return module


def declare(st: Checker, dec: decs.ModDec, check_decs: CheckDecs) -> Module:
    """Check `module name params: mty = m`."""
    if dec.params:
        first, *rest = dec.params
        functor = Functor(
            param=first, rest=tuple(rest), type=dec.type, body=dec.body, scope=st.scope.copy()
        )
        return _checked(st, functor, check_decs)
    module = evaluate(st, dec.body, check_decs)
    if dec.type is None:
        return module
    _demand(st, dec.type, check_decs)
    return _sealed_as(st, module, dec.type, check_decs, dec.name)


def apply(st: Checker, functor: Module, arg: Module, span: Span, check_decs: CheckDecs) -> Module:
    """Apply a functor: check its body with `arg` for its parameter.

    Errors: no functor, or an argument that does not match the parameter's module type.
    """
    if not isinstance(functor, Functor) or functor.param is None or functor.scope is None:
        raise TypeError_(
            codes.modules.NOT_A_FUNCTOR, "Only modules with parameters can be applied.", span
        )
    outer, applying = st.scope, st.applying
    st.scope, st.applying = functor.scope.copy(), True
    try:
        wanted = functor.param.type
        given = check_decs.once(arg, wanted, lambda: ascribe(st, arg, wanted, check_decs, span))
        st.scope.bind_module(functor.param.name, given)
        if functor.rest:
            first, *rest = functor.rest
            return Functor(
                param=first,
                rest=tuple(rest),
                type=functor.type,
                body=functor.body,
                scope=st.scope.copy(),
            )
        assert functor.body is not None
        module = evaluate(st, functor.body, check_decs)
        if functor.type is None:
            return module
        return _sealed_as(st, module, functor.type, check_decs, "")
    finally:
        st.scope, st.applying = outer, applying


def _checked(
    st: Checker, functor: Functor, check_decs: CheckDecs, first: Module | None = None
) -> Functor:
    """Check a functor's body against opaque parameters.

    `first`: an opaque module for its first parameter. Errors: those of its body, which are then not
    reported for its applications.
    """
    assert functor.param is not None
    assert functor.body is not None
    outer, used, given, gave = st.scope, set(st.used), set(st.given), set(st.gave)
    st.scope = st.scope.copy()
    try:
        for param in (functor.param, *functor.rest):
            is_first = param is functor.param
            known = (first if is_first else None) or _demand(st, param.type, check_decs)
            st.scope.bind_module(param.name, known)
            for name in _values(known):
                st.give(name)
        functor.wrong = check_decs.trial(lambda: _result(st, functor, check_decs)).wrong
    finally:
        st.scope, st.used, st.given, st.gave = outer, used, given, gave
    return functor


def _result(st: Checker, functor: Functor, check_decs: CheckDecs) -> Module:
    """Check the functor's result, with its parameters in scope."""
    assert functor.body is not None
    if functor.type is not None:
        _demand(st, functor.type, check_decs)
    module = evaluate(st, functor.body, check_decs)
    if functor.type is None or module.wrong:
        return module
    return _sealed_as(st, module, functor.type, check_decs, "")


def _values(module: Module) -> set[Name]:
    found = {value.name for value in module.values.values() if isinstance(value, Scheme)}
    return found.union(*[_values(inner) for inner in module.modules.values()])


# --- ascription ----------------------------------------------------------------------------------


def _demand(st: Checker, exp: decs.ModTypeExp, check_decs: CheckDecs) -> Module:
    """See `check_module_type`."""
    return check_decs.once(None, exp, lambda: check_module_type(st, exp))


def _sealed_as(
    st: Checker, module: Module, exp: decs.ModTypeExp, check_decs: CheckDecs, label: str
) -> Module:
    """Ascribe, as `ascribe` does, with new abstract types."""
    return check_decs.once(module, exp, lambda: ascribe(st, module, exp, check_decs, label=label))


def ascribe(
    st: Checker,
    module: Module,
    exp: decs.ModTypeExp,
    check_decs: CheckDecs,
    span: Span | None = None,
    label: str | None = None,
) -> Module:
    """Return `module` restricted to a module type.

    `span` is where it was given or is called that.

    `label`: its abstract types are new ones, shown as those of a module with this name.
    Errors: something that the module type demands is missing or has another type.
    """
    if span is None and isinstance(exp, decs.MTName | decs.MTWith):
        span = exp.span
    transparent = st.transparent
    st.transparent = set(transparent)
    try:
        return _ascribe(_Ascription(st, check_decs, module, Module(), span, label, {}), exp)
    finally:
        st.transparent = transparent


def _ascribe(a: _Ascription, exp: decs.ModTypeExp) -> Module:
    st = a.st
    if a.module.wrong:
        raise Silent("", exp.span)
    outer = st.scope
    mark = outer.mark()
    try:
        return _match(a, exp)
    finally:
        st.scope = outer
        outer.leave(mark)


@dataclass(frozen=True, slots=True)
class _Ascription:
    st: Checker
    check_decs: CheckDecs
    module: Module
    seen: Module
    span: Span | None
    label: str | None
    refined: dict[str, Abbreviation]
    """The types that a `with` has fixed; `m.t` is one of an inner module."""

    def misfit(self, code: Code, message: str, spec: Span, found: Span = NOWHERE) -> TypeError_:
        """Return the error for a part of the module, defined at `found`, that violates `spec`.

        Its span is the definition's, if that is in the file that uses the module so.
        """
        given = self.span or spec
        span = found if found.is_own and found.file == given.file else given
        others = {spec: "The module type requires it here."}
        if self.span is not None:
            others.setdefault(self.span, "The module is used here.")
        others.setdefault(found, "It is defined here.")
        related = [Related(at, says) for at, says in others.items() if at != span and at.is_own]
        return TypeError_(code, message, span, "", tuple(related))


def _match(a: _Ascription, exp: decs.ModTypeExp) -> Module:
    st = a.st
    match exp:
        case decs.MTName(name=name):
            found = named(st, name, exp.span)
            outer = st.scope
            st.scope = found.scope.copy()
            st.scope.open(a.seen)
            result = _match(a, found.exp)
            st.scope = outer
            st.scope.open(a.seen)
            return result
        case decs.MTSig(specs=specs):
            for spec in specs:
                _spec(a, spec)
            return a.seen
        case decs.MTWith(base=base, name=name, type=type_, params=params):
            a.refined[".".join(name)] = _same_type(a, name, type_, params)
            return _match(a, base)
        case decs.MTArrow():
            return _narrowed(a, exp)
    raise CompilerBug("This is not a module type.", exp.span)


_FUNCTOR, _ARGUMENT = "module", "open"
"""Keywords, so no module of the program has these names."""


def _narrowed(a: _Ascription, exp: decs.MTArrow) -> Module:
    """Narrow a functor to a functor type.

    Where a type is abstract to the functor, its result does not tell what it is, whatever its
    argument's type says. Errors: it is no functor, needs more of its argument, or has less in its
    result.
    """
    st, span = a.st, exp.span
    if not isinstance(a.module, Functor):
        what = "The module has no parameters, but its module type requires one."
        raise a.misfit(codes.modules.PARAMETERS, what, span)
    param = decs.ModParam(span, exp.name or "_", span, exp.param)

    def applied_to(arg: str) -> Functor:
        names = [decs.MName(span, (name,)) for name in (_FUNCTOR, arg)]
        body = decs.MApply(span, names[0], names[1])
        return Functor(param=param, type=exp.result, body=body, scope=st.scope.copy())

    outer, st.scope = st.scope, st.scope.copy()
    try:
        st.scope.bind_module(_FUNCTOR, a.module)
        functor = applied_to(param.name)
        known = _demand(st, exp.param, a.check_decs)
        if known.wrong:
            return functor
        made = _checked(st, functor, a.check_decs, known)
        sealed = _as_the_functor_sees(a, a.module, known, exp.param)
        if sealed is not None and not made.wrong:
            st.scope.bind_module(_ARGUMENT, sealed)
            _checked(st, applied_to(_ARGUMENT), a.check_decs, known)
        return made
    except TypeError_ as error:
        error.hint = error.hint or (_ABSTRACT if _ARGUMENT in st.scope.modules else "")
        raise
    finally:
        st.scope = outer


_ABSTRACT = (
    "A type that is abstract in the parameter of the given module is abstract in its "
    "result, too. Define it there, `with t = ..`, or leave it abstract here."
)


def _as_the_functor_sees(
    a: _Ascription, functor: Functor, known: Module, exp: decs.ModTypeExp
) -> Module | None:
    """Return a module of that type with fresh types that are abstract to the functor alone.

    None: there are none.
    """
    st = a.st
    assert functor.param is not None
    assert functor.scope is not None
    wanted = functor.param.type
    abstract = abstract_types(wanted, functor.scope)
    both = abstract & abstract_types(exp, st.scope)
    if abstract == both:
        return None
    refined = {name: known.types[name] for name in both if name in known.types}
    outer, transparent = st.scope, st.transparent
    st.scope, st.transparent = functor.scope.copy(), set(transparent)
    label = functor.param.name
    try:
        return _ascribe(
            _Ascription(st, a.check_decs, known, Module(), exp.span, label, refined), wanted
        )
    finally:
        st.scope, st.transparent = outer, transparent


def _spec(a: _Ascription, spec: decs.Spec) -> None:
    st = a.st
    match spec:
        case decs.TypeSpec(name=name):
            found = a.module.types.get(name)
            if found is None:
                raise _missing(a, f"type `{name}`", spec.span)
            _same_parameters(a, name, len(spec.params), found, spec.span)
            _not_above(a, spec, found)
            if spec.type is not None:
                found = _same_type(a, (name,), spec.type, spec.params, LIFT[spec.kind])
            elif name in a.refined:
                found = replace(a.refined[name], lift=LIFT[spec.kind])
            elif a.label is not None:
                found = _sealed(a, spec, found)
            a.seen.types[name] = found
            st.scope.bind_type(name, found)
        case decs.ValSpec(name=name):
            value = in_module(a.module, name)
            if value is None:
                raise _missing(a, f"value `{name}`", spec.span)
            value = _check_value(a, value, spec)
            a.seen.values[name] = value
            st.scope.bind(name, value)
        case decs.ModSpec(name=name, type=type_):
            inner = a.module.modules.get(name)
            if inner is None:
                raise _missing(a, f"module `{name}`", spec.span)
            label = a.label and f"{a.label}.{name}"
            prefix = f"{name}."
            known = {
                k.removeprefix(prefix): v for k, v in a.refined.items() if k.startswith(prefix)
            }
            deeper = replace(a, module=inner, seen=Module(), label=label, refined=known)
            seen = _ascribe(deeper, type_)
            a.seen.modules[name] = seen
            st.scope.bind_module(name, seen)
        case decs.IncludeSpec(type=type_):
            _match(a, type_)


def _sealed(a: _Ascription, spec: decs.TypeSpec, found: Abbreviation) -> Abbreviation:
    """Make a module's type a new abstract one.

    Errors: a size parameter is not the size of an array in it.
    """
    st, lift = a.st, LIFT[spec.kind]
    known = dimensions(found.type)
    for param in found.params:
        if param.is_size and param.name not in known:
            message = (
                f"The type `{spec.name}` cannot be abstract: its size parameter "
                f"`{base_of(param.name)}` alone is not the size of an array in it."
            )
            raise a.misfit(codes.modules.NOT_ABSTRACT, message, spec.span, found.span)
    name = st.fresh(spec.name)
    if lift == LIFTED:
        st.functional.add(name)
    if lift > DATA:
        st.sized.add(name)
    st.transparent.add(name)
    shown = f"{a.label}.{spec.name}" if a.label else spec.name
    types = tuple([TypeVar(p.name) for p in found.params if not p.is_size])
    sizes = tuple([SizeVar(p.name) for p in found.params if p.is_size])
    return replace(found, type=Opaque(name, shown, types, sizes, found.type), lift=lift)


def _same_parameters(a: _Ascription, name: str, want: int, found: Abbreviation, span: Span) -> None:
    got = len(found.params)
    if want != got:
        counts = [f"{n} parameter{'s' * (n != 1)}" if n else "no parameter" for n in (got, want)]
        message = f"The type `{name}` has {counts[0]}, but {counts[1]} in the module type."
        raise a.misfit(codes.modules.PARAMETERS, message, span, found.span)


def _not_above(a: _Ascription, spec: decs.TypeSpec, found: Abbreviation) -> None:
    """Demand that a type holds no more than its specification allows."""
    if found.lift > LIFT[spec.kind] and spec.name not in a.refined:
        message = (
            f"The type `{spec.name}` is defined with {LIFT_WORDS[found.lift]}, but the module type"
            f" wants a {LIFT_WORDS[LIFT[spec.kind]]}."
        )
        raise a.misfit(codes.modules.HOLDS_MORE, message, spec.span, found.span)


def _missing(a: _Ascription, what: str, span: Span) -> TypeError_:
    message = f"The module has no {what}, which its module type requires."
    return a.misfit(codes.modules.MISSING, message, span)


def _same_type(
    a: _Ascription,
    name: ast.QualName,
    type_: ast.TypeExp,
    params: tuple[ast.TypeParam, ...],
    lift: int | None = None,
) -> Abbreviation:
    """Demand that the module's type equals the one that the module type fixes; return that."""
    module: Module | None = a.module
    for part in name[:-1]:
        module = module.modules.get(part) if module is not None else None
    found = module.types.get(name[-1]) if module is not None else None
    if found is None:
        raise _missing(a, f"type `{'.'.join(name)}`", type_.span)
    _same_parameters(a, ".".join(name), len(params), found, type_.span)
    st, span = a.st, type_.span
    fixed = abbreviation(st, name[-1], params, type_, lift)
    names = [(p.name, q) for p, q in zip(found.params, fixed.params, strict=True)]
    types: dict[Name, Type] = {p: TypeVar(q.name) for p, q in names if not q.is_size}
    sizes: dict[Name, Size] = {p: SizeVar(q.name) for p, q in names if q.is_size}
    wanted = opened(st, fixed, span)
    if not _equal(
        st, wanted, opened(st, replace(found, type=subst(found.type, types, sizes)), span)
    ):
        text = ".".join(name)
        message = (
            f"The type `{text}` must be `{show(wanted)}` here, but it is `{show(found.type)}`."
        )
        raise a.misfit(codes.modules.TYPE, message, span, found.span)
    return fixed


def _equal(st: Checker, a: Type, b: Type) -> bool:
    try:
        unify(st, a, b)
    except Mismatch:
        return False
    return True


def _check_value(a: _Ascription, value: Value, spec: decs.ValSpec) -> Value:
    """Demand that a value is as general as its specification; return it at that generality."""
    st = a.st
    if not isinstance(value, (Scheme, Builtin, Sealed)):
        return value
    st.level += 1
    mark = st.scope.mark()
    types: list[Name] = []
    sizes: list[Name] = []
    open_types: set[Name] = set()
    lifted = bind_type_params(st, spec.type_params, types, sizes, open_types)

    def anonymous(_: Span) -> Size:
        sizes.append(st.fresh("n"))
        return SizeVar(sizes[-1])

    wanted = resolve_type(st, spec.type, anonymous).type
    st.scope.leave(mark)
    actual = _instance(st, value, spec.span)
    if isinstance(value, Scheme) and value.name in st.apart:
        actual = replace(actual, type=with_unique_result(actual.type))
    st.level -= 1
    try:
        unify(st, wanted, actual.type)
    except Mismatch as difference:
        message = (
            f"The module's `{spec.name}` has type `{show(_type_of(value))}`, but its module type"
            f" says `{show(wanted)}`."
        )
        found = value.span if isinstance(value, Scheme) else NOWHERE
        error = a.misfit(codes.modules.VALUE, message, spec.span, found)
        error.hint = difference.reason
        raise error from None
    if st.transparent:
        wanted = _with_hidden_sizes(wanted, actual.type)
    if not isinstance(value, Scheme):
        builtin = value.builtin if isinstance(value, Sealed) else value
        return value if wanted == actual.type else Sealed(builtin, wanted)
    if value.name in st.constants and not shows_arrays(wanted):
        st.give(value.name)
    args = _known(actual)
    if args is None:
        return value
    return Scheme(
        value.name,
        tuple(types),
        tuple(sizes),
        wanted,
        frozenset(lifted),
        value.span,
        frozenset(open_types),
        args,
    )


def _with_hidden_sizes(wanted: Type, actual: Type) -> Type:
    """Return a function's specified type with the sizes inside abstract results, from `actual`.

    Nobody else sees these, and what is known of them needs no check at run time.
    """
    whole = wanted
    arrows: list[Arrow] = []
    renamed: dict[Name, Size] = {}
    wanted, actual = resolve(wanted), resolve(actual)
    while isinstance(wanted, Arrow) and isinstance(actual, Arrow):
        name = wanted.name or actual.name
        if actual.name:
            renamed[actual.name] = SizeVar(name)
        arrows.append(replace(wanted, name=name))
        last, wanted, actual = actual, resolve(wanted.result), resolve(actual.result)
    if not arrows or not arrows[-1].ext:
        return whole
    shown = names_in_type(wanted, shown=True)
    told = sizes_of(subst(final_type(actual), {}, renamed))
    hidden: dict[Name, Size] = {}
    for size, meaning in zip(sizes_of(wanted), told, strict=True):
        if isinstance(size, SizeVar) and size.name in arrows[-1].ext and size.name not in shown:
            mentioned: set[Name] = set()
            names_in_size(meaning, mentioned)
            if mentioned.isdisjoint(last.ext):
                hidden[size.name] = meaning
    result = subst(wanted, {}, hidden)
    ext = tuple([name for name in arrows[-1].ext if name not in hidden])
    for arrow in reversed(arrows):
        used = arrow.name if arrow.name in names_in_type(result) else ""
        result = replace(arrow, result=result, name=used, ext=ext)
        ext = ()
    return result


def _known(instance: t.Var) -> tuple[tuple[Type, ...], tuple[Size, ...]] | None:
    """Return the type and size arguments of an instance; None if a size is unknown.

    A type parameter that the definition's type does not mention may be anything.
    """
    unknown: list[MetaT] = []
    sizes: list[MetaS] = []
    for arg in instance.type_args:
        metas_in(arg, unknown, sizes)
    for meta in unknown:
        meta.ref = UNIT
    for size in instance.size_args:
        metas_in_size(size, sizes)
    if sizes:
        return None
    types = tuple([final_type(arg) for arg in instance.type_args])
    return types, tuple([final_size(arg) for arg in instance.size_args])


def _instance(st: Checker, value: Scheme | Builtin | Sealed, span: Span) -> t.Var:
    if not isinstance(value, Scheme):
        return t.Var(_type_of(value), span, "")
    used = value.name in st.used
    found = instantiate(st, value, span)
    if not used:
        st.used.discard(value.name)
    return found


def _type_of(value: Scheme | Builtin | Sealed) -> Type:
    if not isinstance(value, Builtin):
        return value.type
    found = member(value.prim, value.member)
    assert found is not None
    return resolve(subst(found.type, {}, {}))
