"""Syntax tree of FlatPack: applications of names, as in the Haskell of its paper (seed 002)."""

from __future__ import annotations

from compiler.base.dataclass import dataclass
from compiler.base.spans import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all nodes."""

    span: Span


class Exp(Node):
    """An expression."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Name(Exp):
    """`xs`, `Transpose`; and an operator in brackets, `(+)`."""

    text: str


@dataclass(frozen=True, slots=True)
class Number(Exp):
    """`12`, `0.5`, as written."""

    text: str


@dataclass(frozen=True, slots=True)
class String(Exp):
    """`"steps.bin"`, without its quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class List(Exp):
    """`[a, b]`."""

    elems: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Tuple(Exp):
    """`(a, b)`, at least two; of names and such tuples it is a pattern as well."""

    elems: tuple[Exp, ...]


Pattern = Name | Tuple


@dataclass(frozen=True, slots=True)
class Apply(Exp):
    """`fn arg`."""

    fn: Exp
    arg: Exp


@dataclass(frozen=True, slots=True)
class Infix(Exp):
    """`lhs op rhs`; `3 Of 4` is one as well."""

    op: str
    lhs: Exp
    rhs: Exp


@dataclass(frozen=True, slots=True)
class Section(Exp):
    """`(+ 1)`: an operator that lacks its left operand."""

    op: str
    rhs: Exp


@dataclass(frozen=True, slots=True)
class Lambda(Exp):
    r"""`\x y -> body`."""

    params: tuple[Pattern, ...]
    body: Exp


@dataclass(frozen=True, slots=True)
class Let(Exp):
    """`let name = rhs in body`, or of a tuple `let (a, b) = rhs in body`."""

    name: Pattern
    rhs: Exp
    body: Exp


@dataclass(frozen=True, slots=True)
class Param(Node):
    """A parameter of a definition; `main` states the shape of each: `(xs : n Of m)`."""

    name: str
    shape: Exp | None
    at: Span
    """Span of the name."""


@dataclass(frozen=True, slots=True)
class Definition(Node):
    """`name params = body`, from the first column of a line on."""

    name: Name
    params: tuple[Param, ...]
    body: Exp


@dataclass(frozen=True, slots=True)
class Program:
    """Definitions by order of text, and the element type of a `type` line, if there is one."""

    definitions: tuple[Definition, ...]
    element: Name | None
