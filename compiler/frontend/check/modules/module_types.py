"""Module types as written: errors that do not depend on a module."""

from __future__ import annotations

from dataclasses import field

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import TypeError_
from compiler.base.names import Name, base_of
from compiler.base.spans import Span
from compiler.frontend import ast, decs
from compiler.frontend.check.definitions.functions import LIFTS, bind_type_params
from compiler.frontend.check.definitions.type_exps import resolve_type
from compiler.frontend.check.scope.scope import (
    DATA,
    LIFT,
    LIFTED,
    SIZE_LIFTED,
    Abbreviation,
    Module,
    Poison,
    Scheme,
    Scope,
    TypeParamInfo,
    did_you_mean,
)
from compiler.frontend.check.scope.state import Checker, Silent
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.types import ANY_SIZE, Array, Record, Size, SizeVar, Type, TypeVar

_ONE_TYPE = "If both are the same type, write `include s with t = t`."


@dataclass(slots=True)
class ModuleType:
    """A named module type: its syntax and the scope of its definition.

    Two that are equal differ only in spans.
    """

    exp: decs.ModTypeExp = field(compare=False)
    scope: Scope = field(compare=False)
    own: object = field(default_factory=object)
    """Identity, shared with equal ones."""


Refined = dict[str, Abbreviation]
"""The types that `with` fixes, by name; `m.t` is a type of an inner module."""


def check_module_type(st: Checker, exp: decs.ModTypeExp, refined: Refined | None = None) -> Module:
    """Check a module type in the current scope; return an opaque module of that type.

    Errors: unknown types and module types; a parameter bound twice; a value whose parameter's size
    has no name; refinements of what is no abstract type, or has other parameters.
    """
    mark = st.scope.mark()
    _check(st, exp, refined or {})
    module = st.scope.since(mark)
    st.scope.leave(mark)
    module.wrong = _is_functor(exp, st.scope)
    return module


def _is_functor(exp: decs.ModTypeExp, scope: Scope) -> bool:
    """Test whether it is a functor's type; its results are unknown here."""
    match exp:
        case decs.MTArrow():
            return True
        case decs.MTName(name=(single,)):
            known = scope.module_types.get(single)
            return isinstance(known, ModuleType) and _is_functor(known.exp, known.scope)
    return False


def _check(st: Checker, exp: decs.ModTypeExp, refined: Refined) -> None:
    """Check like `check_module_type`, but leave the specified names in scope."""
    match exp:
        case decs.MTName(name=name):
            found = named(st, name, exp.span)
            outer, st.scope = st.scope, found.scope.copy()
            try:
                module = check_module_type(st, found.exp, refined)
            finally:
                st.scope = outer
            st.scope.open(module)
        case decs.MTSig(specs=specs):
            _once(specs)
            mark = st.scope.mark()
            for spec in specs:
                before = st.scope.since(mark).types if isinstance(spec, decs.IncludeSpec) else {}
                inner = st.scope.mark()
                _spec(st, spec, refined)
                new = st.scope.since(inner).types.items()
                for name in sorted(n for n, one in new if before.get(n, one) != one):
                    message = (
                        f"This `include` shadows the type `{name}` above with a different type."
                    )
                    st.warned.add(Warning_(codes.warnings.HIDES, message, spec.span, _ONE_TYPE))
        case decs.MTWith(base=base, name=name, params=params, type=type_):
            _refinement(st, exp)
            meaning = abbreviation(st, name[-1], params, type_, None)
            _check(st, base, {".".join(name): meaning, **refined})
        case decs.MTArrow(name=name, param=param, result=result):
            mark = st.scope.mark()
            module = check_module_type(st, param)
            if name is not None:
                st.scope.bind_module(name, module)
            _check(st, result, refined)
            st.scope.leave(mark)


def _once(specs: tuple[decs.Spec, ...]) -> None:
    """Demand that each type, and each value or module, is specified once."""
    seen: set[tuple[bool, str]] = set()
    for spec in specs:
        if isinstance(spec, (decs.ValSpec, decs.ModSpec, decs.TypeSpec)):
            key = (isinstance(spec, decs.TypeSpec), spec.name)
            if key in seen:
                raise TypeError_(
                    codes.names.DEFINED_TWICE, f"`{spec.name}` is specified twice.", spec.span
                )
            seen.add(key)


def named(st: Checker, name: ast.QualName, span: Span) -> ModuleType:
    """Return the module type with that name.

    Errors: there is none.
    """
    table = st.scope.module_types
    if len(name) > 1:
        module = st.scope.module(name[:-1])
        table = module.module_types if module is not None else {}
    found = table.get(name[-1])
    if isinstance(found, Poison):
        raise Silent("", span)
    if not isinstance(found, ModuleType):
        text = ".".join(name)
        raise TypeError_(
            codes.names.MODULE_TYPE,
            f"Unknown module type `{text}`.",
            span,
            did_you_mean(text, table),
        )
    return found


def specs_of(st: Checker, exp: decs.ModTypeExp, scope: Scope) -> list[decs.Spec]:
    """Return all specifications of a module type, included ones too."""
    match exp:
        case decs.MTSig(specs=specs):
            found: list[decs.Spec] = []
            for spec in specs:
                inner = isinstance(spec, decs.IncludeSpec)
                found += specs_of(st, spec.type, scope) if inner else [spec]  # type: ignore[attr-defined]
            return found
        case decs.MTWith(base=base):
            return specs_of(st, base, scope)
        case decs.MTName(name=name):
            known = _named(name, scope)
            if known is not None:
                return specs_of(st, known.exp, known.scope)
    return []


def abstract_types(exp: decs.ModTypeExp, scope: Scope) -> set[str]:
    """Return the types that a module type only names; inner modules' are excluded."""
    match exp:
        case decs.MTSig(specs=specs):
            found = {s.name for s in specs if isinstance(s, decs.TypeSpec) and s.type is None}
            included = [s.type for s in specs if isinstance(s, decs.IncludeSpec)]
            return found.union(*[abstract_types(one, scope) for one in included])
        case decs.MTWith(base=base, name=name):
            return abstract_types(base, scope) - set(name if len(name) == 1 else ())
        case decs.MTName(name=name):
            known = _named(name, scope)
            return set() if known is None else abstract_types(known.exp, known.scope)
    return set()


def _named(name: ast.QualName, scope: Scope) -> ModuleType | None:
    table = scope.module_types
    if len(name) > 1:
        module = scope.module(name[:-1])
        table = module.module_types if module is not None else {}
    known = table.get(name[-1])
    return known if isinstance(known, ModuleType) else None


def _spec(st: Checker, spec: decs.Spec, refined: Refined) -> None:
    match spec:
        case decs.TypeSpec(name=name):
            st.scope.bind_type(name, refined.get(name) or _specified(st, spec))
        case decs.ValSpec():
            _value(st, spec)
        case decs.ModSpec(name=name, type=type_):
            prefix = f"{name}."
            inside = {k.removeprefix(prefix): v for k, v in refined.items() if k.startswith(prefix)}
            st.scope.bind_module(name, check_module_type(st, type_, inside))
        case decs.IncludeSpec(type=type_):
            _check(st, type_, refined)


def _specified(st: Checker, spec: decs.TypeSpec) -> Abbreviation:
    """Resolve the type that a specification names or defines."""
    return abbreviation(st, spec.name, spec.params, spec.type, LIFT[spec.kind])


def abbreviation(
    st: Checker,
    name: str,
    params: tuple[ast.TypeParam, ...],
    meaning: ast.TypeExp | None,
    lift: int | None,
) -> Abbreviation:
    """Build `type name params = meaning`, or an abstract type.

    `lift`: what the type may hold; None: what it does hold.
    """
    types: list[Name] = []
    sizes: list[Name] = []
    mark = st.scope.mark()
    bind_type_params(st, params, types, sizes)
    anonymous: list[Span] = []

    def anon(span: Span) -> Size:
        anonymous.append(span)
        return ANY_SIZE

    found = None if meaning is None else resolve_type(st, meaning, anon)
    if lift is None:
        lift = DATA if found is None else max(found.lift, SIZE_LIFTED if anonymous else DATA)
    type_ = _opaque(st, name, types, sizes, lift) if found is None else found.type
    st.scope.leave(mark)
    type_names, size_names = iter(types), iter(sizes)
    infos = tuple(
        TypeParamInfo(next(size_names if p.kind == "size" else type_names), p.kind == "size")
        for p in params
    )
    unique, ext = (False, ()) if found is None else (found.unique, found.ext)
    return Abbreviation(infos, type_, unique, ext, lift)


def _opaque(st: Checker, name: str, types: list[Name], sizes: list[Name], lift: int) -> Type:
    """Create an abstract type that equals no other; its parameters are part of it."""
    own = st.fresh(name)
    st.type_levels[own] = 0
    if lift == LIFTED:
        st.functional.add(own)
    if lift > DATA:
        st.sized.add(own)
    result: Type = TypeVar(own)
    if types:
        inner = [("abstract", result), *((f"of_{base_of(n)}", TypeVar(n)) for n in types)]
        result = Record(tuple(inner))
    return Array(tuple(SizeVar(n) for n in sizes), result) if sizes else result


def _value(st: Checker, spec: decs.ValSpec) -> None:
    def anonymous(span: Span) -> Size:
        raise TypeError_(
            codes.sizes.UNNAMED,
            f"The size of this parameter of `{spec.name}` needs a name.",
            span,
            f"Give it one, as in `val {spec.name} [n] : [n]i32 -> i32`.",
        )

    def opened(_: Span) -> Size:
        sizes.append(st.fresh("n"))
        return SizeVar(sizes[-1])

    mark = st.scope.mark()
    types: list[Name] = []
    sizes: list[Name] = []
    open_types: set[Name] = set()
    lifted = bind_type_params(st, spec.type_params, types, sizes, open_types)
    _distinct(spec.type, {p.name for p in spec.type_params if p.kind == "size"})
    found = resolve_type(st, spec.type, anonymous, opened)
    st.scope.leave(mark)
    scheme = Scheme(
        st.fresh(spec.name),
        tuple(types),
        tuple(sizes),
        found.type,
        frozenset(lifted),
        spec.span,
        frozenset(open_types),
    )
    st.constants.add(scheme.name)
    st.scope.bind(spec.name, scheme)


def _distinct(type_: ast.TypeExp, seen: set[str]) -> None:
    while isinstance(type_, ast.TArrow):
        if type_.name is not None and type_.name != "_":
            if type_.name in seen:
                raise TypeError_(
                    codes.names.BOUND_TWICE,
                    f"Two parameters are called `{type_.name}`.",
                    type_.span,
                )
            seen.add(type_.name)
        type_ = type_.result


def _refinement(st: Checker, exp: decs.MTWith) -> None:
    """`base with name params = type`."""
    if len(exp.name) > 1:
        return
    name = exp.name[0]
    specs = specs_of(st, exp.base, st.scope)
    spec = next((s for s in specs if isinstance(s, decs.TypeSpec) and s.name == name), None)
    if spec is None:
        raise TypeError_(codes.modules.WITH, f"The module type has no type `{name}`.", exp.span)
    if name not in abstract_types(exp.base, st.scope):
        raise TypeError_(
            codes.modules.WITH,
            f"The type `{name}` is not abstract in this module type: it already has a definition.",
            exp.span,
        )
    if not _takes(exp.params, spec.params):
        raise TypeError_(
            codes.modules.PARAMETERS,
            f"The type `{name}` has {_parameters(spec.params)} in the module type, but"
            f" {_parameters(exp.params)} here.",
            exp.span,
        )


def _takes(given: tuple[ast.TypeParam, ...], wanted: tuple[ast.TypeParam, ...]) -> bool:
    """Test whether a type with parameters `given` can implement one with parameters `wanted`."""
    if len(given) != len(wanted):
        return False
    for have, want in zip(given, wanted, strict=True):
        if (have.kind == "size") != (want.kind == "size"):
            return False
        if have.kind != "size" and LIFTS[have.kind] < LIFTS[want.kind]:
            return False
    return True


_MARKS = {"type": "'", "sizelifted": "'~", "lifted": "'^"}


def _parameters(params: tuple[ast.TypeParam, ...]) -> str:
    if not params:
        return "no parameters"
    shown = [f"[{p.name}]" if p.kind == "size" else _MARKS[p.kind] + p.name for p in params]
    return f"the parameters `{' '.join(shown)}`"
