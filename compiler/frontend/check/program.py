"""Check a program's declarations in order: definitions, types, modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Protocol

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, Limitation, Related, TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import decs
from compiler.frontend import typed as t
from compiler.frontend.check.consumption.consume import check_definition
from compiler.frontend.check.definitions.functions import (
    CheckedDef,
    FunctionSyntax,
    bind_type_params,
    define,
    expand,
)
from compiler.frontend.check.definitions.recursion import check_calls
from compiler.frontend.check.definitions.type_exps import has_any_size, resolve_type
from compiler.frontend.check.finish.causality import check_causality
from compiler.frontend.check.finish.entries import entry_point
from compiler.frontend.check.finish.zonk import Zonk
from compiler.frontend.check.modules import modules
from compiler.frontend.check.modules.module_types import ModuleType, check_module_type
from compiler.frontend.check.scope.builtins import member_names
from compiler.frontend.check.scope.hints import ONE_EQUATION
from compiler.frontend.check.scope.scope import (
    LIFT,
    LIFTED,
    SIZE_LIFTED,
    Abbreviation,
    Builtin,
    Module,
    Poison,
    TypeParamInfo,
)
from compiler.frontend.check.scope.state import Checker, Silent
from compiler.frontend.check.scope.written_names import Spoken
from compiler.frontend.check.types.metas import MetaS, resolve, resolve_size
from compiler.frontend.check.types.unify import final_type
from compiler.frontend.check.types.walks import names_in_type, shows_arrays, with_unique_result
from compiler.frontend.files import Import, path_of
from compiler.frontend.types import ANY_SIZE, Arrow, Record, Size, Sum, Type


class Keeper(Protocol):
    """A memo of what has been checked before."""

    def body(self, out: Checked, declared: tuple[decs.Dec, ...]) -> None:
        """Check a module's body."""

    def once(
        self, module: Module | None, exp: decs.ModTypeExp, seen: Callable[[], Module]
    ) -> Module:
        """See `CheckDecs`."""


class _Anew:
    """A keeper without memory."""

    def body(self, out: Checked, declared: tuple[decs.Dec, ...]) -> None:
        """Check a module's body."""
        check_decs(out, declared)

    def once(
        self, module: Module | None, exp: decs.ModTypeExp, seen: Callable[[], Module]
    ) -> Module:
        """See `CheckDecs`."""
        return seen()


@dataclass(slots=True)
class ModuleBody:
    """The declarations of a module so far."""

    depth: int = 0
    """Number of modules around them."""
    own: dict[tuple[str, str], Span] = field(default_factory=dict)
    """Definitions without `local`, by `_once`'s kind and name."""
    exported: Module = field(default_factory=Module)
    """Declarations without `local`."""


@dataclass(slots=True)
class Checked:
    """The result of checking so far."""

    st: Checker
    defs: list[t.Def] = field(default_factory=list)
    entries: list[t.EntryPoint] = field(default_factory=list)
    errors: list[CompileError] = field(default_factory=list)
    not_built: list[CompileError] = field(default_factory=list)
    """Limitations of values and modules, which are excluded from the program."""
    here: ModuleBody = field(default_factory=ModuleBody)
    """The module, or file, whose declarations are being checked."""
    imported: dict[str, Module] = field(default_factory=dict)
    """The declarations of each checked file, by path."""
    importing: list[str] = field(default_factory=list)
    """The stack of files being checked; empty in the main program."""
    keeper: Keeper = field(default_factory=_Anew)
    is_trial: bool = False
    """True while definitions are dropped; see `trial`."""
    moved: int = 0
    """Number of times a module type got another span."""

    def path_of(self, one: Import) -> str:
        """Return the path of the file that an import names."""
        return path_of(one, self.st.ctx.options.main)


def check_decs(out: Checked, declared: tuple[decs.Dec, ...]) -> None:
    """Check declarations one by one; collect errors and continue."""
    outer = out.st.declared_later
    out.st.declared_later = outer | declaration_lines(declared)
    check_each(out, declared)
    out.st.declared_later = outer


def check_each(out: Checked, declared: tuple[decs.Dec, ...]) -> None:
    """Check declarations whose later ones are known."""
    for dec in declared:
        mark = out.st.scope.mark()
        try:
            _dec(out, dec)
        except Silent:
            _poison(out.st, dec)
        except CompileError as error:
            alone = isinstance(error, Limitation) and isinstance(decs.without_local(dec), _NAMED)
            (out.not_built if alone else out.errors).append(error)
            _poison(out.st, dec)
        if not isinstance(dec, (decs.LocalDec, decs.ImportDec)):
            out.here.exported.add(out.st.scope.since(mark))


def declaration_lines(decs_: tuple[decs.Dec, ...]) -> dict[tuple[str, str], int]:
    """Return the line of each declaration, to recognise uses before a definition."""
    named = (dec for dec in decs_ if isinstance(dec, decs.NamedDec))
    return {(dec.declares, dec.name): dec.name_place.line for dec in named}


def _dec(out: Checked, dec: decs.Dec, local: bool = False) -> None:
    """Check one declaration; a `local` one may reuse another's name."""
    if isinstance(dec, decs.NamedDec) and not local:
        is_function = isinstance(dec, decs.ValDec) and bool(dec.params)
        _once(out, OWN[dec.declares], dec.name, dec.name_place, is_function)
    match dec:
        case decs.ValDec():
            _value(out, dec, local)
        case decs.TypeDec():
            _type(out.st, dec)
        case decs.LocalDec(dec=inner):
            _dec(out, inner, local=True)
        case decs.ImportDec():
            open_module(out.st, out.imported[out.path_of(dec)])
        case decs.OpenDec(mod=mod):
            open_module(out.st, modules.evaluate(out.st, mod, _Body(out)))
        case decs.ModDec(name=name):
            out.st.scope.bind_module(name, modules.declare(out.st, dec, _Body(out)))
        case decs.ModTypeDec(name=name, type=type_):
            scope = out.st.scope
            check_module_type(out.st, type_)
            scope.bind_module_type(name, ModuleType(type_, scope.copy()))


def open_module(st: Checker, module: Module) -> None:
    """Bind all names of a module, built-in members included."""
    for member in member_names(module.prim) if module.prim else ():
        st.scope.bind(member, Builtin(module.prim, member))
    st.scope.open(module)


@dataclass(frozen=True, slots=True)
class _Body:
    """Checks a module's body."""

    out: Checked

    def __call__(self, decs: tuple[decs.Dec, ...]) -> Module:
        out = self.out
        scope = out.st.scope
        mark = scope.mark()
        outer, own_types = out.here, out.st.own_types
        out.here, out.st.own_types = ModuleBody(outer.depth + 1), {}
        before = len(out.errors)
        out.keeper.body(out, decs)
        module = out.here.exported
        out.here, out.st.own_types = outer, own_types
        scope.leave(mark)
        module.wrong = len(out.errors) > before
        return module

    def imported(self, one: Import) -> Module:
        """Return a file that has been checked before."""
        return self.out.imported[self.out.path_of(one)]

    def trial(self, body: Callable[[], Module]) -> Module:
        """Return the module that `body` makes, without its definitions and limitations."""
        out = self.out
        defs, entries, before = len(out.defs), len(out.entries), len(out.errors)
        not_built = len(out.not_built)
        is_trial, out.is_trial = out.is_trial, True
        try:
            module = body()
        except (Limitation, Silent):  # it may be supported when the functor is applied
            module = Module()
        finally:
            out.is_trial = is_trial
        del out.defs[defs:], out.entries[entries:], out.not_built[not_built:]
        out.errors[before:] = [e for e in out.errors[before:] if not isinstance(e, Limitation)]
        module.wrong = len(out.errors) > before
        return module

    def once(
        self, module: Module | None, exp: decs.ModTypeExp, seen: Callable[[], Module]
    ) -> Module:
        """See `Keeper`."""
        return self.out.keeper.once(module, exp, seen)


_NAMED = (decs.ValDec, decs.ModDec)
OWN = {"values": "", "modules": "", "types": "type", "module_types": "module type"}
"""The kinds of `ModuleBody.own`, by the tables of a module: values and modules share names."""


def _poison(st: Checker, dec: decs.Dec) -> None:
    """Bind the names of a wrong declaration, so that their uses are not reported again."""
    st.deferred.clear()
    st.open_sizes.clear()
    st.overloaded.clear()
    st.let_sizes.clear()
    st.level = 0
    dec = decs.without_local(dec)
    if isinstance(dec, decs.TypeDec):
        st.wrong_types.add(dec.name)
    elif isinstance(dec, decs.NamedDec):
        wrong = Module(wrong=True) if dec.declares == "modules" else Poison()
        st.scope.enter(dec.declares, dec.name, wrong)


def _once(out: Checked, kind: str, name: str, span: Span, is_function: bool = False) -> None:
    """Record a definition; a module defines each name of a kind once.

    `kind`: one of `OWN`, or "entry point".
    Of a function behind a wrong one nothing is told: it may be another equation of that.
    """
    first = out.here.own.setdefault((kind, name), span)
    if first is not span:
        if is_function and isinstance(out.st.scope.values.get(name), Poison):
            raise Silent("", span)
        what = f"The {kind} `{name}`" if kind else f"`{name}`"
        related = (Related(first, "This is the first definition."),)
        hint = ONE_EQUATION if is_function else ""
        raise TypeError_(
            codes.names.DEFINED_TWICE, f"{what} is defined twice.", span, hint, related
        )


def _value(out: Checked, dec: decs.ValDec, local: bool) -> None:
    st = out.st
    mark = st.scope.mark()
    if dec.kind == "entry" and out.here.depth:
        raise TypeError_(
            codes.names.ENTRY_IN_MODULE,
            "An entry point cannot be inside a module.",
            dec.name_span,
            f"Define `entry {dec.name} = m.{dec.name}` outside of the module `m`.",
        )
    st.spoken = Spoken((dec.type_params, dec.params, dec.ret, dec.body))
    try:
        source = FunctionSyntax(
            dec.name, dec.name_span, dec.type_params, dec.params, dec.ret, dec.body
        )
        made = define(st, source, top=True)
        is_entry = dec.kind == "entry" or (dec.name == "main" and not local)
        is_entry = is_entry and out.here.depth == 0 and not out.importing
        if is_entry:
            _once(out, "entry point", dec.name, dec.name_span)
        definition = finish(st, made, dec, is_entry)
    except CompileError:
        st.scope.leave(mark)
        raise
    if definition.is_entry:
        out.entries.append(entry_point(dec, made, definition, out.st.functional))
    out.defs.append(definition)
    scheme = made.scheme
    st.scope.bind(dec.name, scheme)


def finish(st: Checker, made: CheckedDef, dec: decs.ValDec, is_entry: bool) -> t.Def:
    """Finish a definition: expand, zonk, check consumption; `made` gets its final type.

    Errors: a constant with size parameters or unknown sizes.
    """
    _sizes_are_known(st)
    zonk = Zonk(st.ctx, st.own_sizes)
    definition = zonk.definition(made.definition)
    if definition.recursive:
        check_calls(definition, made.scheme.lifted)
    definition = expand(st, definition)
    attrs = tuple(a.text for a in dec.attrs)
    definition = replace(definition, is_entry=is_entry, attrs=attrs)
    check_causality(definition, lambda name: st.serials.get(name, -1) >= made.since, st.left_first)
    declared_unique = definition.unique
    definition = check_definition(
        definition, dec.ret is not None, not dec.params, made.scheme.type, st
    )
    if not definition.params and definition.size_params and definition.ext:
        raise TypeError_(
            codes.sizes.CONSTANT,
            f"`{dec.name}` is not a function, so it cannot have size parameters and unknown sizes.",
            dec.name_span,
        )
    if not definition.params:
        st.constants.add(definition.name)
        st.constants.update(definition.ext)
        if not shows_arrays(made.scheme.type):
            st.plain.add(definition.name)
            st.give(definition.name)
    scheme = made.scheme
    type_ = final_type(scheme.type) if zonk.abstract else zonk.type(scheme.type)
    if definition.unique != declared_unique:
        type_ = with_unique_result(type_)
    made.scheme = replace(
        scheme,
        type_params=definition.type_params,
        size_params=definition.size_params,
        type=type_,
    )
    return definition


def _sizes_are_known(st: Checker) -> None:
    """Demand that every size bound by a `let` is determined."""
    for name, size, span in st.let_sizes:
        if isinstance(resolve_size(size), MetaS):
            raise TypeError_(
                codes.sizes.UNDETERMINED,
                f"Nothing determines the size `{name}`.",
                span,
                "Write the type of the value, including its size.",
            )
    st.let_sizes.clear()


# --- type abbreviations --------------------------------------------------------------------------


def _type(st: Checker, dec: decs.TypeDec) -> None:
    mark = st.scope.mark()
    types: list[Name] = []
    sizes: list[Name] = []
    bind_type_params(st, dec.params, types, sizes)

    anonymous: list[Span] = []

    def anon(span: Span) -> Size:
        anonymous.append(span)
        return ANY_SIZE

    found = resolve_type(st, dec.type, anon, opened=lambda _: ANY_SIZE)
    st.scope.leave(mark)
    size_names, type_names = iter(sizes), iter(types)
    params = tuple(
        TypeParamInfo(next(size_names), True)
        if p.kind == "size"
        else TypeParamInfo(next(type_names), False)
        for p in dec.params
    )
    used = names_in_type(found.type)
    for param, source in zip(params, dec.params, strict=True):
        if param.is_size and param.name not in used:
            raise TypeError_(
                codes.sizes.UNDETERMINED,
                f"The size parameter `{source.name}` is not used.",
                source.span,
            )
    lift = LIFT[dec.kind]
    if lift < LIFTED and (found.lift == LIFTED or _is_functional(found.type)):
        raise TypeError_(
            codes.types.FUNCTION,
            f"The type `{dec.name}` contains a function.",
            dec.span,
            "Define it with `type^`.",
        )
    if anonymous and _takes_any_size(found.type):
        raise TypeError_(
            codes.sizes.UNNAMED,
            f"The type `{dec.name}` is a function type whose argument has an unnamed size.",
            anonymous[0],
            f"Name the size: `{dec.kind} {dec.name} [n] = [n]i32 -> i32`.",
        )
    if lift < SIZE_LIFTED and (found.lift == SIZE_LIFTED or anonymous):
        raise TypeError_(
            codes.sizes.OPEN_TYPE,
            f"The type `{dec.name}` has a size that may differ from value to value.",
            anonymous[0] if anonymous else dec.span,
            "Define it with `type~`, or name the size: `type t [n] = [n]i32`.",
        )
    st.own_types[dec.name] = dec.span
    made = Abbreviation(params, found.type, found.unique, found.ext, lift, dec.span)
    st.scope.bind_type(dec.name, made)


def _takes_any_size(type_: Type) -> bool:
    """Test for a function with a parameter of anonymous size."""
    type_ = resolve(type_)
    if isinstance(type_, Arrow):
        return has_any_size(type_.param) or _takes_any_size(type_.result)
    return isinstance(type_, Record | Sum) and any(map(_takes_any_size, type_.parts))


def _is_functional(type_: Type) -> bool:
    type_ = resolve(type_)
    inside = type_.parts if isinstance(type_, Record | Sum) else ()
    return isinstance(type_, Arrow) or any(map(_is_functional, inside))
