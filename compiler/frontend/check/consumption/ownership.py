"""Ownership: the variables in scope, their aliases, and what has been consumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import Related, TypeError_
from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Span
from compiler.frontend import typed as t
from compiler.frontend.check.consumption.aliases import (
    NONE,
    Aliases,
    Names,
    flat,
    of_constant,
    root,
    shown,
    with_field,
    with_name,
)
from compiler.frontend.check.consumption.aliases import field as field_aliases
from compiler.frontend.types import PrimT

COPY = "Copy it first, with `copy`."
OF_LAMBDA = "a parameter of a lambda, whose type has no `*`"
STAR = "Give its type a `*`, such as `*[n]i32`, or copy it first, with `copy`."


@dataclass(frozen=True, slots=True)
class Variable:
    """A bound variable; `depth` counts the barriers around its binding."""

    aliases: Aliases
    depth: int
    consumable: bool
    what: str
    span: Span = NOWHERE
    """Span of the binding."""


@dataclass(slots=True)
class Walk:
    """The state of the walk over one definition."""

    table: dict[type, Callable[..., Aliases]]
    variables: dict[Name, Variable] = field(default_factory=dict)
    consumed: dict[Name, Span] = field(default_factory=dict)
    observed: dict[Name, Span] = field(default_factory=dict)
    """Names read since the innermost loop's body began."""
    fresh_results: dict[Name, bool] = field(default_factory=dict)
    """Local functions, with True if their results are fresh."""
    given: frozenset[Name] | set[Name] = NONE
    """Constants that results may alias nevertheless."""
    applying: bool = False
    """True while the body of an applied functor is walked."""
    kept: frozenset[Name] | set[Name] = NONE
    """Loop parameters that are not consumed."""
    of_constants: dict[Name, Names] = field(default_factory=dict)
    """The constants that the results of functions may alias."""
    needless_stars: set[Name] = field(default_factory=set)
    """Loop parameters with a `*` whose initial values the loops do not consume."""
    depth: int = 0
    barrier: str = ""
    """The innermost body that may not consume outer variables: "lambda", "loop", .."""

    # --- variables -----------------------------------------------------------------------------

    def bind(self, pat: t.Pat, aliases: Aliases, consumable: bool, what: str = "") -> None:
        """Bind a pattern to a value with these aliases."""
        match pat:
            case t.PVar(type=type_, name=name, consumes=consumes):
                if not isinstance(type_, PrimT):
                    own = with_name(aliases, type_, name)
                    if name in self.kept:
                        consumable, what = False, "a parameter whose type has no `*`"
                    self.variables[name] = Variable(
                        own, self.depth, consumable or consumes, what, pat.span
                    )
            case t.PRecord(fields=fields):
                for f, p in fields:
                    self.bind(p, field_aliases(aliases, f), consumable, what)
            case t.PConstr(args=args):
                for p in args:
                    self.bind(p, flat(aliases), consumable, what)

    def nameless(self) -> Names:
        """Create a name for a value whose parts may alias each other."""
        name = f"result_{len(self.variables)}"
        own: Names = frozenset((name,))
        self.variables[name] = Variable(own, self.depth, consumable=True, what="")
        return own

    def use(self, e: t.Var, path: tuple[str, ...] = (), but: bool = False) -> Aliases:
        """Return the aliases of the field `path` of a variable that is read here.

        With `but`, it is all the rest that is read, and the whole is the result. Errors: what is
        read, or what it aliases, was consumed.
        """
        if isinstance(e.type, PrimT):
            return NONE
        variable = self.variables.get(e.name)
        if variable is None:
            if e.name in self.of_constants:
                return self.of_constants[e.name]
            constant = NONE if e.size_args else of_constant(e.type, frozenset((e.name,)))
            for f in path if not but else ():
                constant = field_aliases(constant, f)
            return constant
        aliases = variable.aliases
        read = aliases
        if but:
            read = with_field(aliases, path, NONE)
        else:
            for f in path:
                read = aliases = field_aliases(aliases, f)
        names = flat(read)
        self.observed.update(dict.fromkeys(names, e.span))
        gone = sorted(names & self.consumed.keys(), key=lambda name: (root(name) != e.name, name))
        if gone:
            raise _used_after(e, path, gone[0], self.consumed[gone[0]])
        return aliases

    def consume(self, aliases: Aliases, span: Span) -> None:
        """Consume everything that a value aliases.

        Errors: something in it may not be consumed here.
        """
        for name in sorted(flat(aliases)):
            variable = self.variables.get(root(name))
            if variable is None:
                raise TypeError_(
                    codes.uniqueness.CONSTANT,
                    f"This consumes `{shown(name)}`, a constant of the program.",
                    span,
                    COPY,
                )
            if variable.depth < self.depth:
                raise TypeError_(
                    codes.uniqueness.OUTSIDE,
                    f"This consumes `{shown(name)}`, which is bound outside of {self.barrier}.",
                    span,
                    COPY,
                    _bound(variable, name),
                )
            if not variable.consumable:
                own = shown(name)
                copied = (
                    f"Copy it first, with `copy {own}`: the caller of the lambda still owns it."
                )
                raise TypeError_(
                    codes.uniqueness.BORROWED,
                    f"This consumes `{own}`, {variable.what}.",
                    span,
                    copied if variable.what == OF_LAMBDA else STAR,
                    _bound(variable, name),
                )
        for name in flat(aliases):
            self.consumed.setdefault(name, span)

    # --- expressions ---------------------------------------------------------------------------

    def exp(self, e: t.Exp) -> Aliases:
        """Walk an expression and return its value's aliases."""
        return self.table[type(e)](self, e)

    def all(self, es: tuple[t.Exp, ...]) -> None:
        """Walk expressions whose aliases do not matter."""
        for e in es:
            self.table[type(e)](self, e)

    def inside(self, barrier: str) -> tuple[int, str, dict[Name, Span]]:
        """Enter a body that may not consume outer variables; pass the result to `leave`."""
        before = (self.depth, self.barrier, self.consumed)
        self.depth += 1
        self.barrier = barrier
        self.consumed = dict(self.consumed)
        return before

    def leave(self, before: tuple[int, str, dict[Name, Span]]) -> None:
        """Leave a body; forget what it consumed, which was its own."""
        self.depth, self.barrier, self.consumed = before


def _bound(variable: Variable, name: Name) -> tuple[Related, ...]:
    """Return the place where a variable is bound, if known."""
    where = variable.span
    return (Related(where, f"`{shown(name)}` is bound here."),) if where.is_own else ()


def _used_after(e: t.Var, path: tuple[str, ...], name: Name, where: Span) -> TypeError_:
    own = shown(e.name)
    through = "" if root(name) == e.name else f", through its alias `{shown(name)}`"
    return TypeError_(
        codes.uniqueness.USED_AFTER,
        f"This uses `{own}`, which was consumed at {where.position}{through}.",
        e.span,
        f"Use `{own}` before it is consumed, or consume a copy of it.",
        (Related(where, f"`{shown(name)}` is consumed here."),),
    )
