"""The checker's state for one program, and services shared by its parts.

Inference of an expression is `state.infer(exp, expected)`; the table behind it is filled by
`expressions/table.py`. Typed expressions contain metavariables until `finish/zonk.py` has rebuilt
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from compiler import codes
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, Related, TypeError_
from compiler.base.names import Name, base_of
from compiler.base.prim import FLOATS, INTS, NUMBERS, SIGNED
from compiler.base.spans import NOWHERE, Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.scope.scope import Local, Scheme, Scope
from compiler.frontend.check.scope.written_names import Spoken
from compiler.frontend.check.types.long_sizes import MOST, SizeAtom, weight
from compiler.frontend.check.types.metas import MetaS, MetaT
from compiler.frontend.check.types.sizes import size_key
from compiler.frontend.check.types.unify import Mismatch, require_data, require_regular, unify
from compiler.frontend.check.types.walks import is_scalar
from compiler.frontend.check.types.wording import (
    Maker,
    has_names,
    makers,
    mismatch,
    reason_of,
    show,
)
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.types import ACC, Opaque, Size, SizeVar, Type

NUMBER_SET: frozenset[str] = frozenset(NUMBERS)
INT_SET: frozenset[str] = frozenset(INTS)
SIGNED_SET: frozenset[str] = frozenset(SIGNED)
FLOAT_SET: frozenset[str] = frozenset(FLOATS)


class Silent(CompileError):
    """A consequence of an error that is reported elsewhere."""


Infer = Callable[["Checker", ast.Exp, "Type | None"], t.Exp]


@dataclass(slots=True)
class Checker:
    """The mutable state of checking a program."""

    ctx: Ctx
    scope: Scope = field(default_factory=Scope)
    table: dict[type, Infer] = field(default_factory=dict)
    level: int = 0
    span: Span = NOWHERE
    alias: dict[Name, Size] = field(default_factory=dict)
    """Size names known to equal another size; `means` adds them."""
    weights: dict[Name, int] = field(default_factory=dict)
    """Weights of their expanded meanings, in parts; see `long_sizes.py`."""
    atoms: dict[str, Name] = field(default_factory=dict)
    """The first name of each meaning that is too long to expand, by text."""
    deferred: list[tuple[Size, Size, Span]] = field(default_factory=list)
    open_sizes: list[tuple[Size, Size]] = field(default_factory=list)
    """Sizes that a coercion leaves open, and their defaults."""
    serials: dict[Name, int] = field(default_factory=dict)
    """Serial numbers of all names in order of binding: later than a mark means inside."""
    overloaded: list[MetaT] = field(default_factory=list)
    """Unknowns that have a default or must be known by the end of the definition."""
    type_levels: dict[Name, int] = field(default_factory=dict)
    """The level of every type parameter in scope."""
    functional: set[Name] = field(default_factory=lambda: {ACC})
    """The type parameters in scope that may stand for functions."""
    sized: set[Name] = field(default_factory=set)
    """The type parameters in scope that may stand for types with sizes of their own."""
    own_sizes: set[Name] = field(default_factory=set)
    """The sizes of unknowns that differ from value to value; see `MetaT.own`."""
    transparent: set[Name] = field(default_factory=set)
    """Abstract types that equal their meanings, while their module is checked."""
    own_types: dict[str, Span] = field(default_factory=dict)
    """The type names that the program itself has defined so far, with spans."""
    wrong_types: set[str] = field(default_factory=set)
    """Type names whose definitions have errors, which are reported there."""
    constants: set[Name] = field(default_factory=set)
    """The program's constants and the names of their sizes."""
    of_constants: dict[Name, frozenset[Name]] = field(default_factory=dict)
    """The constants that the results of the program's functions may alias."""
    let_sizes: list[tuple[str, Size, Span]] = field(default_factory=list)
    """The sizes bound by `let [n] ..` in this definition, with their values."""
    kept: set[Name] = field(default_factory=set)
    """Parameters of loops whose types are written without `*`."""
    declared_later: dict[tuple[str, str], int] = field(default_factory=dict)
    """Lines of later declarations, by table of a module and name."""
    left_first: set[Span] = field(default_factory=set)
    """Applications, such as `f <| x`, whose function stands before its last argument."""
    given: set[Name] = field(default_factory=set)
    """Constants that functions may return: those of abstract types, and of functors' parameters."""
    gave: set[Name] = field(default_factory=set)
    """The part of `given` that this file added, without `plain`."""
    plain: set[Name] = field(default_factory=set)
    """Constants that functions may return anywhere, since they show no arrays."""
    apart: set[Name] = field(default_factory=set)
    """Functions with fresh results whose given types claim that only of parts."""
    applying: bool = False
    """True in the body of an applied functor, which was checked by itself before."""
    used: set[Name] = field(default_factory=set)
    """Definitions instantiated since this was last cleared."""

    warned: set[Warning_] = field(default_factory=set)
    """Warnings: legal code that its author probably did not intend."""
    places: dict[Name, Span] = field(default_factory=dict)
    """Spans of the bindings of a definition's variables, its sizes included."""
    makers: dict[Name, Maker] = field(default_factory=dict)
    """Origins of sizes that are known only at run time."""
    spoken: Spoken = field(default_factory=lambda: Spoken(()))
    """The names in the text of the definition that is being checked."""

    def give(self, name: Name) -> None:
        """Let functions return a constant."""
        self.given.add(name)
        if name not in self.plain:
            self.gave.add(name)

    # --- names and unknowns --------------------------------------------------------------------

    def fresh(self, base: str) -> Name:
        """Return a new name, recorded as bound now."""
        return self._known(self.ctx.names.fresh(spell(base)))

    def made_by(self, maker: Maker, base: str) -> Name:
        """Return a new name for a run-time size, which resembles none in the definition."""
        name = self.fresh(self.spoken.unlike(base_of(base).rstrip("'")))
        self.makers[name] = maker
        return name

    def authored(self, source: str) -> Name:
        """Return a new name for something that the program names."""
        return self._known(self.ctx.names.authored(spell(source), source))

    def means(self, name: Name, size: Size) -> None:
        """Record that a size name equals a size."""
        heavy = self.weights[name] = weight(size, self.weights)
        if heavy > MOST:
            size = SizeAtom(self.atoms.setdefault(size_key(size, self.alias), name))
            self.weights[name] = 1
        self.alias[name] = size

    def said(self, name: Name) -> str | None:
        """Return the author's spelling of a name; None for a generated one."""
        return self.ctx.names.said(name)

    def is_here(self, name: Name) -> bool:
        """Test whether a name is in scope; parameters of called functions are not."""
        known = self.scope.values.values()
        return any(isinstance(one, Local | Scheme) and one.name == name for one in known)

    def _known(self, name: Name) -> Name:
        self.serials[name] = len(self.serials)
        return name

    def meta(self, span: Span = NOWHERE) -> MetaT:
        """Return an unknown type."""
        return MetaT(self.level, span)

    def size_meta(self, span: Span = NOWHERE) -> MetaS:
        """Return an unknown size."""
        return MetaS(self.level, span)

    def prim_meta(self, prims: frozenset[str], span: Span) -> MetaT:
        """Return an unknown primitive type among `prims`."""
        meta = MetaT(self.level, span)
        meta.prims = prims
        self.overloaded.append(meta)
        return meta

    def bind_local(self, source: str, type_: Type, span: Span) -> Name:
        """Bind a variable in the current scope and return its unique name."""
        name = self.authored(source)
        self.places[name] = span
        self.scope.bind(source, Local(name, type_, span))
        return name

    def param_size(self, span: Span = NOWHERE) -> MetaS:
        """Return the unknown size of a parameter."""
        meta = MetaS(self.level, span)
        meta.start = meta
        return meta

    def starred(self, type_: Type, span: Span) -> None:
        """Warn of a `*` on a type whose values never share memory."""
        if is_scalar(type_) and not self.applying and not isinstance(type_, Opaque):
            message = f"`*` has no effect on `{show(type_)}`: values of this type are copied."
            hint = "Remove the `*`."
            self.warned.add(Warning_(codes.warnings.STAR, message, span, hint))

    # --- expressions and unification -----------------------------------------------------------

    def infer(self, exp: ast.Exp, expected: Type | None = None) -> t.Exp:
        """Infer the typed form of `exp`; `expected` is a hint that the caller verifies."""
        return self.table[type(exp)](self, exp, expected)

    def check(self, exp: ast.Exp, want: Type, what: str) -> t.Exp:
        """Infer the typed form of `exp` and unify it with `want`; `what` is its role."""
        typed = self.infer(exp, want)
        self.unify(want, typed.type, exp.span, what)
        return typed

    def unify(
        self,
        want: Type,
        got: Type,
        span: Span,
        what: str,
        hint: str = "",
        *related: Related,
        is_result: bool = False,
    ) -> None:
        """Unify two types, or raise an error: "`what` must be .., but is ..".

        `related`: where `want` is from. `is_result`: see `reason_of`. Errors: `TypeError_` at
        `span`, with any `hint`.
        """
        if want is got:
            return
        self.span = span
        try:
            unify(self, want, got)
        except Mismatch as difference:
            reason = hint or reason_of(difference, want, got, self, is_result)
            endless = difference.code is codes.types.ENDLESS and hint
            code = codes.types.MISMATCH if endless else difference.code
            error = mismatch(what, want, got, span, reason, code, self.own_names())
            error.related = (*(r for r in related if r.span.is_own), *makers(difference, self))
            raise error from None

    def own_names(self) -> dict[Type, str]:
        """Return the program's names of records and sums that it defined without parameters."""
        known = [(self.scope.types.get(name), name) for name in self.own_types]
        return {
            found.type: name
            for found, name in known
            if found is not None and not found.params and has_names(found.type)
        }

    def data(self, type_: Type, span: Span, what: str, accumulators: bool = True) -> None:
        """Demand that `type_` contains no functions, nor `accumulators`.

        Errors: it is one, or holds one.
        """
        functional = self.functional if accumulators else self.functional - {ACC}
        try:
            require_data(type_, functional=functional)
        except Mismatch as difference:
            kind, hint = "a function", _CHOSEN
            if "accumulator" in difference.reason:
                kind, hint = "an accumulator", "Update it here, or in a function that returns it."
            raise TypeError_(
                codes.types.FUNCTION,
                f"{what} cannot be {kind}, but has type `{show(type_)}`.",
                span,
                hint,
            ) from None

    def element(self, type_: Type, span: Span) -> None:
        """Demand that `type_` may be an array's element type.

        Errors: values of it may differ in size.
        """
        self.data(type_, span, "An array element")
        try:
            require_regular(type_, self.sized)
        except Mismatch as problem:
            raise TypeError_(
                codes.sizes.OPEN_TYPE,
                "The elements of this array might differ in size.",
                span,
                problem.reason,
            ) from None

    def rigid(self, source: str, span: Span) -> SizeVar:
        """Return a new size that is equal to no other."""
        return SizeVar(self.fresh(source))


_CHOSEN = (
    "The compiler must know which function is called. Apply each function where you "
    "choose it, or choose a number or a variant and match on that."
)
_SYMBOLS = {
    "+": "plus", "-": "minus", "*": "times", "/": "div", "%": "mod", "=": "eq", "!": "bang",
    ">": "gt", "<": "lt", "|": "bar", "&": "and", "^": "hat",
}  # fmt: skip


def spell(source: str) -> str:
    """Turn a source name into the base of a unique name: letters, digits, underscores, primes."""
    if source.isidentifier():
        return source
    if source[0] in _SYMBOLS:
        return "op_" + "_".join(_SYMBOLS.get(c, "x") for c in source)
    return "".join(c if c.isalnum() or c in "_'" else "x" for c in source)
