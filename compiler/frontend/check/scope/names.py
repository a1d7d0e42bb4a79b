"""Resolve variables and qualified names, and instantiate them."""

from __future__ import annotations

from dataclasses import replace

from compiler import codes
from compiler.base.errors import CompileError, CompilerBug, Limitation, TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.scope.builtins import (
    ConstMember,
    ConvertMember,
    FunMember,
    Member,
    OpMember,
    member,
    member_names,
)
from compiler.frontend.check.scope.hints import (
    members,
    not_applied,
    unknown_member,
    unknown_module,
    unknown_value,
)
from compiler.frontend.check.scope.scope import (
    Builtin,
    Local,
    Module,
    Poison,
    Recursive,
    Scheme,
    Sealed,
    Value,
    did_you_mean,
)
from compiler.frontend.check.scope.state import Checker, Silent
from compiler.frontend.check.types.metas import MetaS, MetaT
from compiler.frontend.check.types.substitute import subst, subst_size
from compiler.frontend.check.types.walks import metas_in
from compiler.frontend.intrinsics import PUBLIC
from compiler.frontend.types import Arrow, PrimT, Size, SizeVar, Type


def lookup(st: Checker, name: ast.QualName, span: Span) -> Value:
    """Resolve a name to a value.

    Errors: unknown names and modules with near misses; definitions that are wrong themselves.
    """
    if len(name) == 1:
        value = st.scope.values.get(name[0])
        if value is None:
            raise unknown(st, name, span)
        if name[0][0] == "_" and isinstance(value, Local):
            raise TypeError_(
                codes.names.UNDERSCORE,
                f"`{name[0]}` cannot be used: its name begins with an underscore.",
                span,
            )
    else:
        module = st.scope.module(name[:-1])
        if module is None:
            if name[0] == "intrinsics":
                raise unknown(st, name, span)
            path = ".".join(name[:-1])
            hint = unknown_module(st, path, span)
            raise TypeError_(codes.names.MODULE, f"Unknown module `{path}`.", span, hint)
        if module.wrong:
            raise Silent("", span)
        value = in_module(module, name[-1])
        if value is None and name[0] == "intrinsics" and are_intrinsics(module):
            raise unknown(st, name, span)
        if value is None:
            known = [*module.values, *(member_names(module.prim) if module.prim else [])]
            hint = unknown_member(module.prim, name[-1]) if module.prim else ""
            raise TypeError_(
                codes.names.MEMBER,
                f"Module `{'.'.join(name[:-1])}` has no `{name[-1]}`.",
                span,
                hint
                or not_applied(".".join(name[:-1]), module.parameters)
                or did_you_mean(name[-1], known)
                or members(known),
            )
    if isinstance(value, Poison):
        raise Silent("", span)
    if isinstance(value, Recursive) and value.type is None:
        raise TypeError_(
            codes.types.RECURSION,
            f"`{name[-1]}` calls itself. Only a top-level definition of a file or "
            "module can do that.",
            span,
            "Define it outside the function, with the values that it uses as "
            "parameters, or use a `loop`.",
        )
    return value


def in_module(module: Module, name: str) -> Value | None:
    """Return a member of a module."""
    found = module.values.get(name)
    if found is None and module.prim and member(module.prim, name) is not None:
        return Builtin(module.prim, name)
    return found


def are_intrinsics(module: Module) -> bool:
    """Test for the module of intrinsics, as opposed to one of the program with that name."""
    found = module.values.get(PUBLIC[0])
    return isinstance(found, Scheme) and found.name == f"intrinsics.{PUBLIC[0]}"


def unknown(st: Checker, name: ast.QualName, span: Span) -> CompileError:
    """Return the error for a name that is not in scope."""
    text = ".".join(name)
    if name[0] == "intrinsics":
        listed = ", ".join(f"`{known}`" for known in PUBLIC)
        hint = did_you_mean(name[-1], PUBLIC) or f"Programs can use {listed}."
        return Limitation(
            codes.limits.INTRINSIC, f"Programs cannot use the intrinsic `{text}`.", span, hint
        )
    return TypeError_(
        codes.names.UNKNOWN, f"Unknown name `{text}`.", span, unknown_value(st, name[-1], span)
    )


def is_projection(st: Checker, name: ast.QualName) -> bool:
    """Test whether `a.b` is a field of a variable; members of modules come first."""
    return 0 < variable_part(st, name) < len(name)


def variable_part(st: Checker, name: ast.QualName) -> int:
    """Count the parts of `m.a.b` that name a variable; the rest are fields. 0: none does."""
    for count in range(len(name), 1, -1):
        module = st.scope.module(name[: count - 1])
        if module is not None and (module.wrong or in_module(module, name[count - 1]) is not None):
            return count
    return 1 if name[0] in st.scope.values else 0


def use(st: Checker, value: Value, span: Span) -> t.Exp:
    """Build a use of a bound name."""
    match value:
        case Local(name, type_):
            return t.Var(type_, span, name)
        case Scheme():
            return instantiate(st, value, span)
        case Recursive():
            return itself(st, value, span)
        case Builtin(prim, name):
            found = member(prim, name)
            assert found is not None
            return member_value(st, found, span)
        case Sealed(builtin, type_):
            return replace(use(st, builtin, span), type=type_)
    raise Silent("", span)


def instantiate(st: Checker, scheme: Scheme, span: Span) -> t.Var:
    """Instantiate a definition with fresh unknowns."""
    st.used.add(scheme.name)
    if not scheme.type_params and not scheme.size_params and scheme.args is None:
        return t.Var(scheme.type, span, scheme.name)
    types: dict[Name, Type] = {}
    for name in scheme.type_params:
        meta = MetaT(st.level, span)
        meta.data = name not in scheme.lifted
        meta.lifted = name in scheme.lifted or name in scheme.open
        meta.regular = not meta.lifted
        types[name] = meta
    sizes: dict[Name, Size] = {name: st.size_meta(span) for name in scheme.size_params}
    type_ = subst(scheme.type, types, sizes)
    if scheme.args is None:
        return t.Var(type_, span, scheme.name, tuple(types.values()), tuple(sizes.values()))
    type_args, size_args = scheme.args
    given = tuple([subst(arg, types, sizes) for arg in type_args])
    return t.Var(type_, span, scheme.name, given, tuple([subst_size(s, sizes) for s in size_args]))


def itself(st: Checker, value: Recursive, span: Span) -> t.Var:
    """Build a recursive use: of the same types, but with sizes of its own.

    Its type and size arguments are filled in when the definition has all its parameters.
    """
    assert value.type is not None
    value.name = value.name or st.authored(value.source_name)
    st.used.add(value.name)
    unknown: list[MetaS] = []
    metas_in(value.type, [], unknown)
    for at, meta in enumerate(unknown):
        meta.ref = SizeVar(f"{value.name} {at}")
    own = (
        *value.size_params,
        *(meta.ref.name for meta in unknown if isinstance(meta.ref, SizeVar)),
    )
    type_ = subst(value.type, {}, {name: st.size_meta(span) for name in own})
    for meta in unknown:
        meta.ref = None
    return t.Var(type_, span, value.name)


# --- built-in members --------------------------------------------------------------------------


def member_value(st: Checker, found: Member, span: Span) -> t.Exp:
    """Build an unapplied built-in member: a constant, or a lambda around the operation."""
    if isinstance(found, ConstMember):
        return t.Const(found.type, span, found.value)
    params: list[t.Pat] = []
    args: list[t.Exp] = []
    type_: Type = found.type
    for _ in range(found.arity):
        assert isinstance(type_, Arrow)
        name = st.fresh("x")
        params.append(t.PVar(type_.param, span, name))
        args.append(t.Var(type_.param, span, name))
        type_ = type_.result
    body = member_call(found, tuple(args), type_, span)
    return t.Lambda(found.type, span, tuple(params), body)


def member_call(found: Member, args: tuple[t.Exp, ...], result: Type, span: Span) -> t.Exp:
    """Apply a built-in operation to all its arguments."""
    match found:
        case OpMember(op):
            assert isinstance(found.type, Arrow)
            assert isinstance(found.type.param, PrimT)
            return t.PrimOp(result, span, op, found.type.param.prim, args)
        case FunMember(fun):
            assert isinstance(found.type, Arrow)
            at = found.type.param if fun != "from_bits" else result
            assert isinstance(at, PrimT)
            return t.PrimFun(result, span, fun, at.prim, args)
        case ConvertMember(to):
            return t.Convert(result, span, to, args[0])
    raise CompilerBug("This is not a function.", span)
