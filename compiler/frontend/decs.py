"""Syntax tree, outermost part: declarations, modules and module types, programs.

`ast.py` has the inner nodes: types, patterns, expressions.
"""

from __future__ import annotations

from typing import Literal

from compiler.base.dataclass import dataclass
from compiler.base.spans import Span
from compiler.frontend.ast import Attr, Exp, Node, Pat, QualName, TypeExp, TypeParam


class Dec(Node):
    """A declaration."""

    __slots__ = ()


class NamedDec(Dec):
    """A declaration of one name, in the table `declares` of a module."""

    __slots__ = ()
    declares: str
    name: str

    @property
    def name_place(self) -> Span:
        """The span that messages about the name show."""
        return self.span


@dataclass(frozen=True, slots=True)
class ValDec(NamedDec):
    """`def f [n] 't (x: t): r = e`, also `entry` and top-level `let`; no `params`: a constant."""

    declares = "values"
    kind: Literal["def", "entry", "let"]
    name: str
    name_span: Span
    type_params: tuple[TypeParam, ...]
    params: tuple[Pat, ...]
    ret: TypeExp | None
    body: Exp
    doc: str
    attrs: tuple[Attr, ...]

    @property
    def name_place(self) -> Span:  # noqa: D102
        return self.name_span


@dataclass(frozen=True, slots=True)
class TypeDec(NamedDec):
    """`type name params = t`; `kind` is `type`, `type^` or `type~`."""

    declares = "types"
    kind: Literal["type", "type^", "type~"]
    name: str
    params: tuple[TypeParam, ...]
    type: TypeExp
    doc: str


@dataclass(frozen=True, slots=True)
class OpenDec(Dec):
    """`open m`."""

    mod: ModExp


@dataclass(frozen=True, slots=True)
class ImportDec(Dec):
    """`import "path"`."""

    path: str


@dataclass(frozen=True, slots=True)
class LocalDec(Dec):
    """`local dec`."""

    dec: Dec


def without_local(dec: Dec) -> Dec:
    """Strip `local` from a declaration."""
    while isinstance(dec, LocalDec):
        dec = dec.dec
    return dec


@dataclass(frozen=True, slots=True)
class ModParam(Node):
    """`(name: mty)`."""

    name: str
    name_span: Span
    type: ModTypeExp


@dataclass(frozen=True, slots=True)
class ModDec(NamedDec):
    """`module name params: mty = m`."""

    declares = "modules"
    name: str
    params: tuple[ModParam, ...]
    type: ModTypeExp | None
    body: ModExp
    doc: str


@dataclass(frozen=True, slots=True)
class ModTypeDec(NamedDec):
    """`module type name = mty`."""

    declares = "module_types"
    name: str
    type: ModTypeExp
    doc: str


@dataclass(frozen=True, slots=True, eq=False)
class BodyParts(Dec):
    """The declarations of a body that is parsed and checked in pieces; they are not in the tree."""

    values: frozenset[str]
    """The names of the values among them."""
    mentions: set[str]
    """Their free names, known once they have been checked."""


class ModExp(Node):
    """A module expression."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MName(ModExp):
    """`m.n`."""

    name: QualName


@dataclass(frozen=True, slots=True)
class MImport(ModExp):
    """`import "path"`."""

    path: str


@dataclass(frozen=True, slots=True)
class MBody(ModExp):
    """`{ decs }`."""

    decs: tuple[Dec, ...]


@dataclass(frozen=True, slots=True)
class MApply(ModExp):
    """`m n`."""

    fn: ModExp
    arg: ModExp


@dataclass(frozen=True, slots=True)
class MAscript(ModExp):
    """`m : mty`."""

    mod: ModExp
    type: ModTypeExp


@dataclass(frozen=True, slots=True)
class MLambda(ModExp):
    r"""`\(p: mty): mty -> m`."""

    param: ModParam
    type: ModTypeExp | None
    body: ModExp


class ModTypeExp(Node):
    """A module type expression."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MTName(ModTypeExp):
    """`mt`."""

    name: QualName


@dataclass(frozen=True, slots=True)
class MTSig(ModTypeExp):
    """`{ specs }`."""

    specs: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class MTWith(ModTypeExp):
    """`mt with name params = t`."""

    base: ModTypeExp
    name: QualName
    params: tuple[TypeParam, ...]
    type: TypeExp


@dataclass(frozen=True, slots=True)
class MTArrow(ModTypeExp):
    """`(name: a) -> b` or `a -> b`."""

    name: str | None
    param: ModTypeExp
    result: ModTypeExp


class Spec(Node):
    """One item of a module type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ValSpec(Spec):
    """`val name params: t`."""

    name: str
    type_params: tuple[TypeParam, ...]
    type: TypeExp


@dataclass(frozen=True, slots=True)
class TypeSpec(Spec):
    """`type name params`, abstract or (`type` given) an abbreviation."""

    kind: Literal["type", "type^", "type~"]
    name: str
    params: tuple[TypeParam, ...]
    type: TypeExp | None


@dataclass(frozen=True, slots=True)
class ModSpec(Spec):
    """`module name: mty`."""

    name: str
    type: ModTypeExp


@dataclass(frozen=True, slots=True)
class IncludeSpec(Spec):
    """`include mty`."""

    type: ModTypeExp


@dataclass(frozen=True, slots=True)
class Program:
    """A file's declarations."""

    decs: tuple[Dec, ...]
    doc: str = ""
