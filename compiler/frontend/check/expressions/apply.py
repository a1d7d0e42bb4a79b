"""Function application: instances, argument-dependent sizes, existential results.

Functional arguments are checked after the others, when the types of their parameters are known. A
parameter that sizes mention is replaced by its argument; an argument that is no simple expression
is bound to a name first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import field, replace
from functools import partial

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, Related, TypeError_
from compiler.base.names import Name, base_of
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.scope.builtins import ConstMember, member
from compiler.frontend.check.scope.hints import (
    applied_number,
    applied_value,
    called,
    function_first,
    several_arrays,
    unlike_tuple,
)
from compiler.frontend.check.scope.names import is_projection, lookup, member_call, use
from compiler.frontend.check.scope.operator_names import is_operator
from compiler.frontend.check.scope.scope import Builtin, Local, Scheme, Value
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.long_sizes import is_long
from compiler.frontend.check.types.metas import I64, MetaT, resolve
from compiler.frontend.check.types.own_sizes import open_own, opened_parameter
from compiler.frontend.check.types.size_exps import as_size, is_cheap, key_of, symbolic
from compiler.frontend.check.types.sizes import size_key
from compiler.frontend.check.types.substitute import map_sizes, subst
from compiler.frontend.check.types.wording import Maker, describe
from compiler.frontend.types import Array, Arrow, PrimT, Size, SizeExp, SizeVar, Type

Lets = list[tuple[Name, t.Exp]]
Places = Callable[[], tuple[Related, ...]]
"""Makes the related places of an error, lazily."""
"""Sizes that were given a name, to be bound around an expression."""


def infer_apply(st: Checker, exp: ast.Apply, expected: Type | None) -> t.Exp:
    """`f x y`.

    Errors: a number is applied; arguments that do not fit, as `unify` tells them.
    """
    fn = exp.fn
    while isinstance(fn, ast.Parens):
        fn = fn.exp
    if isinstance(fn, ast.Var) and not is_projection(st, fn.name):
        what = f"`{'.'.join(fn.name)}`"
        if len(fn.name) == 1 and fn.name[0] not in st.scope.values and is_operator(fn.name[0]):
            return apply(st, st.infer(fn), exp.args, exp.span, what)
        value = lookup(st, fn.name, fn.span)
        if isinstance(value, Builtin):
            return _apply_builtin(st, value, fn, exp)
        return apply(st, use(st, value, fn.span), exp.args, exp.span, what, defined(value, what))
    if isinstance(fn, (ast.IntLit, ast.FloatLit)):
        raise TypeError_(
            codes.types.NOT_A_FUNCTION,
            "A number is not a function, so it takes no arguments.",
            exp.span,
            applied_number(fn, exp.args),
        )
    args: tuple[ast.Exp | t.Exp, ...] = exp.args
    hint: Type | None = None
    if isinstance(fn, ast.Lambda):
        args, hint = _known_first(st, fn, exp.args)
    return apply(st, st.infer(fn, hint), args, exp.span, "the function")


def _known_first(
    st: Checker, fn: ast.Lambda, args: tuple[ast.Exp, ...]
) -> tuple[tuple[ast.Exp | t.Exp, ...], Type | None]:
    r"""Infer the arguments of `(\x -> ..) y` first, and derive the types of the parameters.

    So `x` has the size of `y`, and each call of a function has sizes of its own, as with `let`.
    Nothing is told where a number among the arguments may be the size of another, as in
    `(\n xs -> zip xs (iota n)) m ys`.
    """
    typed = [arg if _is_function(arg) else st.infer(arg) for arg in args]
    if len(typed) > 1 and any(isinstance(arg, t.Exp) and resolve(arg.type) == I64 for arg in typed):
        return tuple(typed), None
    types: list[Type] = []
    for i, param in enumerate(fn.params[: len(args)]):
        if isinstance(param, ast.PTyped):
            types.append(st.meta(param.span))
            continue
        arg = typed[i]
        typed[i] = known = st.infer(arg) if isinstance(arg, ast.Exp) else arg
        types.append(known.type)
    hint: Type = st.meta(fn.span)
    for type_ in reversed(types):
        hint = Arrow(type_, hint)
    return tuple(typed), hint


def _apply_builtin(st: Checker, value: Value, fn: ast.Var, exp: ast.Apply) -> t.Exp:
    assert isinstance(value, Builtin)
    found = member(value.prim, value.member)
    assert found is not None
    what = f"`{'.'.join(fn.name)}`"
    if isinstance(found, ConstMember) or len(exp.args) != found.arity:
        return apply(st, use(st, value, fn.span), exp.args, exp.span, what)
    args: list[t.Exp] = []
    type_: Type = found.type
    for i, arg in enumerate(exp.args):
        assert isinstance(type_, Arrow)
        args.append(st.check(arg, type_.param, _role(i, len(exp.args), what)))
        type_ = type_.result
    return member_call(found, tuple(args), type_, exp.span)


def _role(index: int, count: int, what: str) -> str:
    return f"Argument {index + 1} of {what}" if count > 1 else f"The argument of {what}"


@dataclass(slots=True)
class _Call:
    """An application in progress."""

    st: Checker
    span: Span
    what: str
    type: Type
    args: list[t.Exp | None]
    given: tuple[ast.Exp | t.Exp, ...]
    """The arguments as they were given."""
    related: Places
    sizes: dict[Name, Size] = field(default_factory=dict)
    lets: Lets = field(default_factory=list)
    delayed: list[tuple[int, ast.Exp, Type, Name]] = field(default_factory=list)
    """Functional arguments: index, syntax, expected type, and name in sizes or ""."""
    ext: list[Name] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.given)


def apply(
    st: Checker,
    fn: t.Exp,
    args: tuple[ast.Exp | t.Exp, ...],
    span: Span,
    what: str,
    related: Places = tuple,
) -> t.Exp:
    """Apply `fn` to arguments, which may be typed already; `related()`: where it is defined.

    Errors: `TypeError_` for arguments of wrong types and for too many of them.
    """
    call = _Call(st, span, what, fn.type, [None] * len(args), args, related)
    for i, arg in enumerate(args):
        _argument(call, i, arg)
    _flush(call)
    result = open_own(st, call.type, call.ext, span) if st.own_sizes else call.type
    type_ = subst(result, {}, call.sizes) if call.sizes else resolve(result)
    done = tuple(a for a in call.args if a is not None)
    known: list[t.Let] = []
    if done:
        last, known = _known_before(st, done[-1], span in st.left_first)
        done = (*done[:-1], last)
    applied = short_sizes(st, t.Apply(type_, span, fn, done, tuple(call.ext)), what)
    return _around(wrap_lets(applied, call.lets), known)


def short_sizes(st: Checker, exp: t.Exp, what: str) -> t.Exp:
    """Bind an application to a name where its sizes have grown long; name the sizes as well."""
    names: dict[str, Name] = {}

    def short(size: Size) -> Size:
        if not is_long(size):
            return size
        key = size_key(size, st.alias)
        if key not in names:
            maker = Maker(what, exp.span, f"is the size of what {what} gives here")
            names[key] = st.made_by(maker, "d")
            st.means(names[key], size)
        return SizeVar(names[key])

    type_ = map_sizes(exp.type, short)
    if not names:
        return exp
    name = st.fresh("x")
    st.places[name] = exp.span
    pat, value = t.PVar(type_, exp.span, name), t.Var(type_, exp.span, name)
    return t.Let(type_, exp.span, tuple(names.values()), pat, exp, value)


def _known_before(st: Checker, exp: t.Exp, left_first: bool) -> tuple[t.Exp, list[t.Let]]:
    """Hoist the leading `let`s of a last argument that sizes may mention.

    A function with these sizes needs their names before it: a record, and, where the function
    stands on the left, a number that every mention of it computes alike.
    """
    found = []
    while (
        isinstance(exp, t.Let)
        and isinstance(exp.pat, t.PVar)
        and exp.pat.name in st.places
        and (resolve(exp.pat.type) != I64 or (left_first and exp.pat.name in st.alias))
    ):
        found.append(exp)
        exp = exp.body
    return exp, found


def _around(exp: t.Exp, lets: list[t.Let]) -> t.Exp:
    """Wrap `exp` in these bindings."""
    for let in reversed(lets):
        exp = replace(let, type=exp.type, span=let.rhs.span, body=exp)
    return exp


def wrap_lets(exp: t.Exp, lets: Lets) -> t.Exp:
    """Bind named sizes around `exp`."""
    for name, rhs in reversed(lets):
        exp = t.Let(exp.type, exp.span, (), t.PVar(rhs.type, rhs.span, name), rhs, exp)
    return exp


def _argument(call: _Call, i: int, arg: ast.Exp | t.Exp) -> None:
    st = call.st
    arrow = _arrow(call, i, arg.span)
    want = opened_parameter(st, arrow.param, arg.span) if st.own_sizes else arrow.param
    want = subst(want, {}, call.sizes) if call.sizes else want
    if isinstance(arg, ast.Exp) and _is_function(arg):
        name = _name_of_function(st, arrow.name, arg.span) if arrow.name else ""
        call.delayed.append((i, arg, want, name))
        if name:
            call.sizes[arrow.name] = SizeVar(name)
    else:
        typed = st.infer(arg, want) if isinstance(arg, ast.Exp) else arg
        role = _role(i, call.count, call.what)
        hint = unlike_tuple(want, typed.type, call.count) or function_first(
            want, typed.type, i, call.what
        )
        _same_type(call, want, typed, arg.span, role, hint)
        if arrow.name:
            typed, size = argument_size(st, typed, call.lets)
            call.sizes[arrow.name] = size
        call.args[i] = typed
    for name in arrow.ext:
        new = st.made_by(Maker(call.what, call.span, f"is made by {call.what} here"), name)
        call.ext.append(new)
        call.sizes[name] = SizeVar(new)
    call.type = arrow.result


def _same_type(
    call: _Call, want: Type, typed: t.Exp, span: Span, role: str, hint: str = ""
) -> None:
    try:
        call.st.unify(want, typed.type, span, role, hint)
    except TypeError_ as error:
        error.related = (*call.related(), *error.related)
        error.hint = hint or _order(call, want, typed) or error.hint
        raise


def _order(call: _Call, want: Type, typed: t.Exp) -> str:
    """Hint at the argument order, if another argument fits or the last array is not reached."""
    hint = called(call.what)
    if not hint:
        return ""
    st, others = call.st, [arg for arg in call.args if arg is not None and arg is not typed]
    for later in call.given[len(others) + 1 :]:
        if isinstance(later, ast.Exp) and not _is_function(later):
            with suppress(CompileError):
                others.append(st.infer(later))
    if any(_fits(want, other.type) for other in others):
        return hint
    is_function = [isinstance(resolve(one), Arrow) for one in (want, typed.type)]
    if is_function == [True, False] and call.delayed:
        return hint
    is_array = [isinstance(resolve(one), Array) for one in (want, typed.type)]
    if is_array == [True, False] and any(isinstance(resolve(o.type), Array) for o in others):
        return hint
    last = call.args[-1]
    is_early = last is not None and isinstance(resolve(last.type), Array)
    return hint if is_early and isinstance(resolve(call.type), Arrow) else ""


def _fits(want: Type, got: Type) -> bool:
    """Test whether a known argument could be the intended one."""
    match resolve(want), resolve(got):
        case MetaT(prims=prims), PrimT(prim):
            return prims is None or prim in prims
        case PrimT(wanted), PrimT(prim):
            return wanted == prim
        case Array(dims, wanted), Array(others, elem):
            return len(dims) == len(others) and _fits(wanted, elem)
    return False


def _arrow(call: _Call, i: int, span: Span) -> Arrow:
    """Return the function type that takes argument `i`."""
    type_ = resolve(call.type)
    if not isinstance(type_, Arrow):
        _flush(call)
        type_ = resolve(call.type)
    if isinstance(type_, MetaT):
        arrow = Arrow(call.st.meta(span), call.st.meta(span))
        call.st.unify(type_, arrow, span, f"The type of {call.what}")
        return arrow
    if isinstance(type_, Arrow):
        return type_
    if i == 0:
        raise TypeError_(
            codes.types.NOT_A_FUNCTION,
            f"Only functions can be applied, but {call.what} is {describe(type_)}.",
            call.span,
            applied_value(type_, call.given[0], call.what),
        )
    raise TypeError_(
        codes.types.ARGUMENTS,
        f"Too many arguments: {call.what} takes {i}, but is given {call.count}.",
        span,
        several_arrays(call.what),
        call.related(),
    )


def defined(value: Value, what: str) -> Places:
    """Return the place of a function's definition, and its type, for errors.

    A variable's type is described at once, as more may be known of it behind the call.
    """
    if not isinstance(value, (Scheme, Local)) or not value.span.is_own:
        return tuple
    says = partial(_says, value, what)
    return says if isinstance(value, Scheme) else partial(tuple[Related, ...], says())


def _says(value: Scheme | Local, what: str) -> tuple[Related, ...]:
    return (Related(value.span, f"{what} has the type {describe(value.type)}."),)


def _flush(call: _Call) -> None:
    """Check the delayed arguments, which are functions."""
    for i, arg, want, name in call.delayed:
        if call.st.own_sizes:
            want = opened_parameter(call.st, want, arg.span)
        if call.sizes:
            want = subst(want, {}, call.sizes)
        role = _role(i, call.count, call.what)
        typed = call.st.infer(arg, want)
        _same_type(call, want, typed, arg.span, role)
        call.args[i] = _named(call.st, typed, name, call.lets) if name else typed
    call.delayed.clear()


def _is_function(arg: ast.Exp) -> bool:
    while isinstance(arg, ast.Parens):
        arg = arg.exp
    return isinstance(arg, ast.Lambda | ast.Section)


def argument_size(st: Checker, typed: t.Exp, lets: Lets) -> tuple[t.Exp, Size]:
    """Return an argument that sizes depend on, named if need be, and its size."""
    if resolve(typed.type) != I64:
        return _name_value(st, typed, lets)
    size = symbolic(typed)
    if size is not None:
        return typed, size
    key = key_of(typed)
    if key is not None and is_cheap(typed):
        return typed, SizeExp(key, typed)
    named = _named(st, typed, st.fresh("n"), lets)
    meaning = symbolic(typed, keyed=True) or as_size(typed)
    if meaning is not None:
        st.means(named.name, meaning)
    return named, SizeVar(named.name)


def _name_value(st: Checker, typed: t.Exp, lets: Lets) -> tuple[t.Exp, Size]:
    """Name an argument that is no size itself but that a size mentions, as in `[length xs]`."""
    if not isinstance(typed, t.Var):
        typed = _named(st, typed, st.fresh("x"), lets)
    return typed, SizeVar(typed.name)


def _name_of_function(st: Checker, parameter: Name, span: Span) -> Name:
    """Name a functional argument in sizes after its parameter."""
    own = st.said(parameter)
    name = st.fresh(base_of(parameter)) if own is None else st.authored(own)
    st.places[name] = span
    return name


def _named(st: Checker, typed: t.Exp, name: Name, lets: Lets) -> t.Var:
    """Bind an argument to the name that sizes mention."""
    st.places[name] = typed.span
    lets.append((name, typed))
    return t.Var(typed.type, typed.span, name)
