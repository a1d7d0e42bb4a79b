"""The syntax tree: what the author wrote, with the span of every node.

Every construct of the language reference has a node, also those that later stages do not know
yet; these are refused by the checker as a `Limitation` at their span. Operators are resolved to
trees by precedence; nothing else is desugared here, so that the tree can be shown as written.
Names are qualified: `("f32", "sqrt")` is `f32.sqrt`, `("x",)` is `x`; operators are names too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, Literal

from compiler.base.dataclass import dataclass
from compiler.base.spans import Span

QualName = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all syntax nodes."""

    span: Span


@cache
def _field_names(cls: Any) -> tuple[str, ...]:
    """Return the names of a node's fields but its spans."""
    return tuple(f.name for f in fields(cls) if not f.name.endswith("span"))


def parts(node: Node) -> Iterator[Node]:
    """Yield the nodes directly inside a node, in order of its fields."""
    cls: Any = type(node)
    for name in _field_names(cls):
        yield from _nodes(getattr(node, name))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif type(value) is tuple:
        for part in value:
            yield from _nodes(part)


def all_inside(*wanted: object) -> Iterator[object]:
    """Yield parts of the syntax with all nodes, texts and numbers inside, in no certain order."""
    todo = list(wanted)
    while todo:
        part = todo.pop()
        yield part
        if isinstance(part, Node):
            cls: Any = type(part)
            todo.extend(getattr(part, name) for name in _field_names(cls))
        elif type(part) is tuple:
            todo.extend(part)


@dataclass(frozen=True, slots=True)
class Attr(Node):
    """`#[name]` or `#[name(args)]`, kept as text."""

    text: str


# --- types -----------------------------------------------------------------------------------


class TypeExp(Node):
    """A type as written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TName(TypeExp):
    """`i32`, `vec`, `m.t`."""

    name: QualName


@dataclass(frozen=True, slots=True)
class TArray(TypeExp):
    """`[size]elem`; `size` is None for `[]elem`."""

    size: Exp | None
    elem: TypeExp


@dataclass(frozen=True, slots=True)
class TTuple(TypeExp):
    """`(a, b)`; no elements is the unit type."""

    elems: tuple[TypeExp, ...]


@dataclass(frozen=True, slots=True)
class TRecord(TypeExp):
    """`{x: a, y: b}`."""

    fields: tuple[tuple[str, TypeExp], ...]


@dataclass(frozen=True, slots=True)
class TSum(TypeExp):
    """`#foo a | #bar`."""

    variants: tuple[tuple[str, tuple[TypeExp, ...]], ...]


@dataclass(frozen=True, slots=True)
class TArrow(TypeExp):
    """`(name: param) -> result`; `name` is None for `param -> result`."""

    name: str | None
    param: TypeExp
    result: TypeExp


@dataclass(frozen=True, slots=True)
class TApply(TypeExp):
    """`vec [n] i32`: an abbreviation applied to sizes (`TSize`) and types."""

    fn: TypeExp
    args: tuple[TypeExp, ...]


@dataclass(frozen=True, slots=True)
class TSize(TypeExp):
    """A size given as an argument of an abbreviation: `[n]` or `[]`."""

    size: Exp | None


@dataclass(frozen=True, slots=True)
class TUnique(TypeExp):
    """`*elem`."""

    elem: TypeExp


@dataclass(frozen=True, slots=True)
class TExists(TypeExp):
    """`?[n][m].elem`."""

    names: tuple[str, ...]
    elem: TypeExp


@dataclass(frozen=True, slots=True)
class TypeParam(Node):
    """`[n]` (size), `'t` (type), `'~t` (size-lifted), `'^t` (lifted)."""

    name: str
    kind: Literal["size", "type", "sizelifted", "lifted"]


# --- patterns --------------------------------------------------------------------------------


class Pat(Node):
    """A pattern as written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class PName(Pat):
    """`x`; `_` is `PWild`. An operator in parentheses is a name too."""

    name: str


@dataclass(frozen=True, slots=True)
class PWild(Pat):
    """`_`."""


@dataclass(frozen=True, slots=True)
class PTuple(Pat):
    """`(p, q)`; no elements matches unit."""

    elems: tuple[Pat, ...]


@dataclass(frozen=True, slots=True)
class PRecord(Pat):
    """`{x, y = p}`; a field without a pattern binds its own name (`PName`)."""

    fields: tuple[tuple[str, Pat], ...]


@dataclass(frozen=True, slots=True)
class PTyped(Pat):
    """`p: t`."""

    pat: Pat
    type: TypeExp


@dataclass(frozen=True, slots=True)
class PLit(Pat):
    """A literal in a `case`, also a negated one."""

    value: Exp


@dataclass(frozen=True, slots=True)
class PConstr(Pat):
    """`#name p q`."""

    name: str
    args: tuple[Pat, ...]


@dataclass(frozen=True, slots=True)
class PAttr(Pat):
    """`#[attr] p`."""

    attr: Attr
    pat: Pat


def names_bound(pat: Pat) -> Iterator[PName]:
    """Yield the names that a pattern binds, in order of text."""
    if isinstance(pat, PName):
        yield pat
        return
    for part in parts(pat):
        if isinstance(part, Pat):
            yield from names_bound(part)


# --- expressions -----------------------------------------------------------------------------


class Exp(Node):
    """An expression as written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class IntLit(Exp):
    """`42`, `0xffu8`, `'a'`; `suffix` is the type written behind it, or ""."""

    value: int
    suffix: str


@dataclass(frozen=True, slots=True)
class FloatLit(Exp):
    """`1.5`, `1e3f32`; `text` keeps the digits (decimal or hexadecimal) without the suffix."""

    text: str
    suffix: str


@dataclass(frozen=True, slots=True)
class BoolLit(Exp):
    """`true`, `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class StringLit(Exp):
    """`"text"`: an array of u8, UTF-8; escapes are resolved."""

    value: str


@dataclass(frozen=True, slots=True)
class Var(Exp):
    """`x`, `f32.sqrt`, `(+)`."""

    name: QualName


@dataclass(frozen=True, slots=True)
class Hole(Exp):
    """`???`."""


@dataclass(frozen=True, slots=True)
class Parens(Exp):
    """`(e)`."""

    exp: Exp


@dataclass(frozen=True, slots=True)
class OpenIn(Exp):
    """`m.(e)`: `e` with the names of module `m` in scope."""

    module: QualName
    exp: Exp


@dataclass(frozen=True, slots=True)
class TupleExp(Exp):
    """`(a, b)`; no elements is unit."""

    elems: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class RecordExp(Exp):
    """`{x = a, y}`; `y` stands for `y = y` and has a `Var` as its value."""

    fields: tuple[tuple[str, Exp], ...]


@dataclass(frozen=True, slots=True)
class ArrayExp(Exp):
    """`[a, b]`."""

    elems: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class RangeExp(Exp):
    """`first..second...end`; `kind` says whether the end is included or which way it excludes.

    `...` included; `..<` up to, excluded; `..>` down to, excluded.
    """

    first: Exp
    second: Exp | None
    kind: Literal["...", "..<", "..>"]
    end: Exp


@dataclass(frozen=True, slots=True)
class Project(Exp):
    """`e.field`, where `e` is not a module."""

    exp: Exp
    field: str


@dataclass(frozen=True, slots=True)
class IndexFix(Node):
    """One position of a slice."""

    at: Exp


@dataclass(frozen=True, slots=True)
class IndexSlice(Node):
    """`from:to:step`, each optional."""

    start: Exp | None
    stop: Exp | None
    step: Exp | None


DimIndex = IndexFix | IndexSlice


@dataclass(frozen=True, slots=True)
class Index(Exp):
    """`a[i, j:k]`."""

    array: Exp
    dims: tuple[DimIndex, ...]


@dataclass(frozen=True, slots=True)
class Apply(Exp):
    """`f x y`, with all arguments of one application."""

    fn: Exp
    args: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class BinOp(Exp):
    """`a op b`; `op` is a qualified name whose last part is the symbol (or a name in backticks)."""

    op: QualName
    op_span: Span
    lhs: Exp
    rhs: Exp


@dataclass(frozen=True, slots=True)
class Negate(Exp):
    """`-e`."""

    exp: Exp


@dataclass(frozen=True, slots=True)
class Not(Exp):
    """`!e`."""

    exp: Exp


@dataclass(frozen=True, slots=True)
class Constr(Exp):
    """`#name a b`."""

    name: str
    args: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Ascript(Exp):
    """`e : t`."""

    exp: Exp
    type: TypeExp


@dataclass(frozen=True, slots=True)
class Coerce(Exp):
    """`e :> t`."""

    exp: Exp
    type: TypeExp


@dataclass(frozen=True, slots=True)
class If(Exp):
    """`if c then a else b`."""

    cond: Exp
    then: Exp
    orelse: Exp


@dataclass(frozen=True, slots=True)
class Let(Exp):
    """`let [sizes] pat = rhs in body`; a chain without `in` nests the same way."""

    sizes: tuple[str, ...]
    pat: Pat
    rhs: Exp
    body: Exp


@dataclass(frozen=True, slots=True)
class LetFun(Exp):
    """`let f params: ret = rhs in body`; also `def` inside an expression."""

    name: str
    name_span: Span
    type_params: tuple[TypeParam, ...]
    params: tuple[Pat, ...]
    ret: TypeExp | None
    rhs: Exp
    body: Exp


@dataclass(frozen=True, slots=True)
class LetWith(Exp):
    """`let name[dims] = value in body`."""

    name: str
    name_span: Span
    dims: tuple[DimIndex, ...]
    value: Exp
    body: Exp


@dataclass(frozen=True, slots=True)
class Update(Exp):
    """`src with [dims] = value`."""

    src: Exp
    dims: tuple[DimIndex, ...]
    value: Exp


@dataclass(frozen=True, slots=True)
class RecordUpdate(Exp):
    """`src with a.b = value`."""

    src: Exp
    path: tuple[str, ...]
    value: Exp


@dataclass(frozen=True, slots=True)
class For(Node):
    """`for i < bound`."""

    name: str
    name_span: Span
    bound: Exp


@dataclass(frozen=True, slots=True)
class ForIn(Node):
    """`for pat in array`."""

    pat: Pat
    array: Exp


@dataclass(frozen=True, slots=True)
class While(Node):
    """`while cond`."""

    cond: Exp


LoopForm = For | ForIn | While


@dataclass(frozen=True, slots=True)
class Loop(Exp):
    """`loop [sizes] pat = init form do body`; `init` is None where the pattern names itself."""

    sizes: tuple[str, ...]
    pat: Pat
    init: Exp | None
    form: LoopForm
    body: Exp


@dataclass(frozen=True, slots=True)
class Case(Node):
    """`case pat -> body`."""

    pat: Pat
    body: Exp


@dataclass(frozen=True, slots=True)
class Match(Exp):
    """`match e case ..`."""

    exp: Exp
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Lambda(Exp):
    r"""`\x y: ret -> body`."""

    params: tuple[Pat, ...]
    ret: TypeExp | None
    body: Exp


class Section(Exp):
    """A function written as a part of an expression."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class OpSection(Section):
    """`(+)`, `(+ e)` (right given), `(e +)` (left given)."""

    op: QualName
    left: Exp | None
    right: Exp | None


@dataclass(frozen=True, slots=True)
class ProjSection(Section):
    """`(.a.b)`."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexSection(Section):
    """`(.[i, j])`."""

    dims: tuple[DimIndex, ...]


@dataclass(frozen=True, slots=True)
class Assert(Exp):
    """`assert cond e`."""

    cond: Exp
    exp: Exp


@dataclass(frozen=True, slots=True)
class AttrExp(Exp):
    """`#[attr] e`."""

    attr: Attr
    exp: Exp
