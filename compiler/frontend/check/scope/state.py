"""The checker's state for one program, and the small services that all its parts use.

Inference of an expression is `state.infer(exp, expected)`; the table behind it is filled by
`expressions/table.py`. Typed expressions hold metavariables until `finish/zonk.py` has seen them.
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
    """Everything that changes while a program is checked."""

    ctx: Ctx
    scope: Scope = field(default_factory=Scope)
    table: dict[type, Infer] = field(default_factory=dict)
    level: int = 0
    span: Span = NOWHERE
    alias: dict[Name, Size] = field(default_factory=dict)
    """Names of sizes that are known to equal another size; `means` adds them."""
    weights: dict[Name, int] = field(default_factory=dict)
    """How many parts these have, with what the names in them equal put in."""
    atoms: dict[str, Name] = field(default_factory=dict)
    """By the text of its meaning: the first name whose meaning is too long to be put in."""
    deferred: list[tuple[Size, Size, Span]] = field(default_factory=list)
    open_sizes: list[tuple[Size, Size]] = field(default_factory=list)
    """Sizes that a coercion leaves open, and what they are if nothing else says so."""
    serials: dict[Name, int] = field(default_factory=dict)
    """Every name bound so far with its serial number: later than a mark means inside."""
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
    """Abstract types that equal what they stand for, while their module is looked at."""
    own_types: dict[str, Span] = field(default_factory=dict)
    """The type names that the program itself has defined so far, and where."""
    wrong_types: set[str] = field(default_factory=set)
    """Type names whose definitions have errors, which are reported there."""
    constants: set[Name] = field(default_factory=set)
    """The program's constants and the names of their sizes."""
    of_constants: dict[Name, frozenset[Name]] = field(default_factory=dict)
    """The constants that the results of the program's functions may be."""
    let_sizes: list[tuple[str, Size, Span]] = field(default_factory=list)
    """The sizes that `let [n] ..` has bound in this definition, and what they are."""
    kept: set[Name] = field(default_factory=set)
    """Parameters of loops whose types are written without `*`."""
    declared_later: dict[tuple[str, str], int] = field(default_factory=dict)
    """Kinds (`value`, `type`, `module`) and names of declarations to come, with their lines."""
    left_first: set[Span] = field(default_factory=set)
    """Applications, such as `f <| x`, whose function stands before its last argument."""
    given: set[Name] = field(default_factory=set)
    """Constants that functions may return: those of abstract types, and of functors' parameters."""
    gave: set[Name] = field(default_factory=set)
    """Those of them that this file has made so, but for the `plain` ones."""
    plain: set[Name] = field(default_factory=set)
    """Constants that functions may return wherever they are, since they show no arrays."""
    apart: set[Name] = field(default_factory=set)
    """Functions whose results are fresh, of which the types that they were given say parts."""
    applying: bool = False
    """Whether this is the body of a functor that is applied, after it was checked by itself."""
    used: set[Name] = field(default_factory=set)
    """Definitions that were instantiated since this was last emptied."""

    warned: set[Warning_] = field(default_factory=set)
    """What the program may do, and its author probably did not mean."""
    places: dict[Name, Span] = field(default_factory=dict)
    """Where the variables of a definition are bound, those that are sizes among them."""
    makers: dict[Name, Maker] = field(default_factory=dict)
    """Sizes that only a run knows: what gives them."""
    spoken: Spoken = field(default_factory=lambda: Spoken(()))
    """What names the definition that is being checked has in it."""

    def give(self, name: Name) -> None:
        """Let functions return a constant."""
        self.given.add(name)
        if name not in self.plain:
            self.gave.add(name)

    # --- names and unknowns --------------------------------------------------------------------

    def fresh(self, base: str) -> Name:
        """A new name, remembered as bound now."""
        return self._known(self.ctx.names.fresh(spell(base)))

    def made_by(self, maker: Maker, base: str) -> Name:
        """A new name for a size that only a run knows, which reads like none in the definition."""
        name = self.fresh(self.spoken.unlike(base_of(base).rstrip("'")))
        self.makers[name] = maker
        return name

    def authored(self, source: str) -> Name:
        """A new name for something that the program names."""
        return self._known(self.ctx.names.authored(spell(source), source))

    def means(self, name: Name, size: Size) -> None:
        """Note what a size equals that has a name."""
        heavy = self.weights[name] = weight(size, self.weights)
        if heavy > MOST:
            size = SizeAtom(self.atoms.setdefault(size_key(size, self.alias), name))
            self.weights[name] = 1
        self.alias[name] = size

    def said(self, name: Name) -> str | None:
        """What the program's author calls it; None if it is no name of his."""
        return self.ctx.names.said(name)

    def is_here(self, name: Name) -> bool:
        """Whether it is in scope; the parameters of a function that is called are not."""
        known = self.scope.values.values()
        return any(isinstance(one, Local | Scheme) and one.name == name for one in known)

    def _known(self, name: Name) -> Name:
        self.serials[name] = len(self.serials)
        return name

    def meta(self, span: Span = NOWHERE) -> MetaT:
        """An unknown type."""
        return MetaT(self.level, span)

    def size_meta(self, span: Span = NOWHERE) -> MetaS:
        """An unknown size."""
        return MetaS(self.level, span)

    def prim_meta(self, prims: frozenset[str], span: Span) -> MetaT:
        """An unknown primitive type among `prims`."""
        meta = MetaT(self.level, span)
        meta.prims = prims
        self.overloaded.append(meta)
        return meta

    def bind_local(self, source: str, type_: Type, span: Span) -> Name:
        """Bind a variable in the current scope; its unique name."""
        name = self.authored(source)
        self.places[name] = span
        self.scope.bind(source, Local(name, type_, span))
        return name

    def param_size(self, span: Span = NOWHERE) -> MetaS:
        """The unknown size of a parameter."""
        meta = MetaS(self.level, span)
        meta.start = meta
        return meta

    def starred(self, type_: Type, span: Span) -> None:
        """Warn of a `*` before a type of values that nothing can share."""
        if is_scalar(type_) and not self.applying and not isinstance(type_, Opaque):
            message = f"`*` has no effect on `{show(type_)}`: its values share no memory."
            hint = "Leave the `*` out."
            self.warned.add(Warning_(codes.warnings.STAR, message, span, hint))

    # --- expressions and unification -----------------------------------------------------------

    def infer(self, exp: ast.Exp, expected: Type | None = None) -> t.Exp:
        """The typed form of `exp`; `expected` is a hint that the caller checks itself."""
        return self.table[type(exp)](self, exp, expected)

    def check(self, exp: ast.Exp, want: Type, what: str) -> t.Exp:
        """The typed form of `exp`, which must have type `want`; `what` is its role."""
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
        """Make two types equal, or raise an error: "`what` must be .., but is ..".

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
        """What the program calls records and sums that it has defined without parameters."""
        known = [(self.scope.types.get(name), name) for name in self.own_types]
        return {
            found.type: name
            for found, name in known
            if found is not None and not found.params and has_names(found.type)
        }

    def data(self, type_: Type, span: Span, what: str, accumulators: bool = True) -> None:
        """Demand that `type_` is no function and holds none, nor `accumulators`.

        Errors: it is one, or holds one.
        """
        functional = self.functional if accumulators else self.functional - {ACC}
        try:
            require_data(type_, functional=functional)
        except Mismatch as difference:
            kind, hint = "a function", _CHOSEN
            if "accumulator" in difference.reason:
                kind, hint = "an accumulator", "Write to it here, or in a function that returns it."
            raise TypeError_(
                codes.types.FUNCTION,
                f"{what} cannot be {kind}, but has type `{show(type_)}`.",
                span,
                hint,
            ) from None

    def element(self, type_: Type, span: Span) -> None:
        """Demand that `type_` may be that of an array's elements.

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
        """A new size that is equal to no other."""
        return SizeVar(self.fresh(source))


_CHOSEN = (
    "Which function is called cannot be up to the run: apply each where it is chosen, or choose by"
    " data, such as a number or a variant, and match on that."
)
_SYMBOLS = {
    "+": "plus", "-": "minus", "*": "times", "/": "div", "%": "mod", "=": "eq", "!": "bang",
    ">": "gt", "<": "lt", "|": "bar", "&": "and", "^": "hat",
}  # fmt: skip


def spell(source: str) -> str:
    """A source name as the base of a unique name: letters, digits, underscores and primes only."""
    if source.isidentifier():
        return source
    if source[0] in _SYMBOLS:
        return "op_" + "_".join(_SYMBOLS.get(c, "x") for c in source)
    return "".join(c if c.isalnum() or c in "_'" else "x" for c in source)
