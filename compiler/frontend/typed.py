"""The typed program: every name resolved and unique, every type and instance known.

The checker elaborates the syntax tree into this smaller language: operators on primitives are
`PrimOp`, other operators, pipes and sections are applications and lambdas, `&&` and `||` are `If`,
`let a[i] = v` is `Let` of `Update`, `e : t` has vanished. Lowering reads only this.

Sizes. A polymorphic definition takes type arguments and size arguments, which `Var` carries. An
`Apply` whose result has sizes that nobody knows beforehand (`filter`) names them in `ext`; they
are in scope for all that is evaluated after it. So is every i64 name that a `Let` binds: the type
of `let n = e in iota n` is `[n]i64`, with the `n` of the `Let`. What leaves a branch, a loop's
body, a lambda or a definition mentions only names bound outside of it, or that node's `ext`.
Arguments of an `Apply` are evaluated from the last to the first, then the function, then its sizes.
`SizeExp.exp` is a cheap expression over variables (projections, conversions, arithmetic); any other
expression that a size depends on is bound to a name by a `Let` around the application.

Encodings. An operator or built-in function that is not applied, such as `(+)` or `f32.sqrt`, is a
`Lambda` with `PVar` parameters around the operation; so are sections (an operand that is more than
a name or literal is bound by a `Let` around it). `x |> f` and `f <| x` are `Apply`; the other
operators of the prelude are definitions. A partial application is an `Apply` with fewer arguments
than the function takes, of `Arrow` type; it may be the `fn` of another `Apply`. A definition whose
value is a function has parameters for all its arrows: `def f = map g` is `def f xs = map g xs`.
A definition without parameters is a constant; the names in its `ext` are sizes that are in scope
wherever the constant is. A local function is a `LetFun`; `Var` carries its instance's arguments. A
lambda or function value bound by `Let` is not polymorphic. Equality of records, arrays and sums has
been spelt out with `If`, `intrinsics.map`, `intrinsics.reduce` and `Match`; `!=` is `not` of that.
Only there does `PrimOp` have the operator `&&`. A negative literal is a `Const`.

Names that the prelude binds have tags that begin with 0 (`map_012`). Operators as names of
definitions are spelt out (`op_plus_plus_0123` for `++`), `'` in a name becomes `p`.
"""

from __future__ import annotations

import re
from typing import Literal

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Span
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.types import Size, Type

# --- patterns --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pat:
    """A pattern; `type` is the type of what it matches."""

    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class PVar(Pat):
    """Binds `name`."""

    name: Name
    consumes: bool = False
    """A parameter declared with `*`."""


@dataclass(frozen=True, slots=True)
class PWild(Pat):
    """Binds nothing."""


@dataclass(frozen=True, slots=True)
class PRecord(Pat):
    """Matches field by field, in the type's field order."""

    fields: tuple[tuple[str, Pat], ...]


@dataclass(frozen=True, slots=True)
class PLit(Pat):
    """Matches one value of a primitive type (only in `Match`)."""

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class PConstr(Pat):
    """Matches a variant of a sum type (only in `Match`)."""

    name: str
    args: tuple[Pat, ...]


# --- expressions -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exp:
    """An expression with its type and its span."""

    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Const(Exp):
    """A literal of a primitive type: int, float or bool."""

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class StringConst(Exp):
    """The bytes of a string literal, an array of u8."""

    value: bytes


@dataclass(frozen=True, slots=True)
class Var(Exp):
    """A local name, a definition, or an intrinsic (`intrinsics.map`, see `intrinsics.py`).

    `type_args` and `size_args` instantiate the parameters of a polymorphic definition or intrinsic,
    in their order; both are empty for local variables that are not functions.
    """

    name: Name
    type_args: tuple[Type, ...] = ()
    size_args: tuple[Size, ...] = ()


@dataclass(frozen=True, slots=True)
class PrimOp(Exp):
    """An operator of `prim.BIN_OPS` (two arguments) or `UN_OPS` (one) at primitive type `at`.

    `at` is the type of the operands; comparisons have type bool.
    """

    op: str
    at: Prim
    args: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Convert(Exp):
    """`to.from e` between primitive types, such as `f32.i64 n`."""

    to: Prim
    exp: Exp


@dataclass(frozen=True, slots=True)
class PrimFun(Exp):
    """A function of the numeric modules at a primitive type: `sqrt`, `atan2`, .. (`prim.FUNS`)."""

    fun: str
    at: Prim
    args: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Apply(Exp):
    """A function applied to some or all arguments; `ext`: existential sizes of the result."""

    fn: Exp
    args: tuple[Exp, ...]
    ext: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Lambda(Exp):
    """An anonymous function; its `type` is a chain of `Arrow`."""

    params: tuple[Pat, ...]
    body: Exp


@dataclass(frozen=True, slots=True)
class Let(Exp):
    """`let [sizes] pat = rhs in body`; `sizes` are bound to the shape of `rhs` by `pat`'s type."""

    sizes: tuple[Name, ...]
    pat: Pat
    rhs: Exp
    body: Exp


@dataclass(frozen=True, slots=True)
class LetFun(Exp):
    """A local function, possibly polymorphic, then `body`."""

    fun: Def
    body: Exp


@dataclass(frozen=True, slots=True)
class If(Exp):
    """`if`; `ext` are sizes in `type` that differ between the branches."""

    cond: Exp
    then: Exp
    orelse: Exp
    ext: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """`case pat -> body`."""

    pat: Pat
    body: Exp


@dataclass(frozen=True, slots=True)
class Match(Exp):
    """The first case that matches."""

    exp: Exp
    cases: tuple[Case, ...]
    ext: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """`for name < bound`; `prim` is the type of both."""

    name: Name
    prim: Prim
    bound: Exp


@dataclass(frozen=True, slots=True)
class ForIn:
    """`for pat in array`."""

    pat: Pat
    array: Exp


@dataclass(frozen=True, slots=True)
class While:
    """`while cond`, where `cond` sees the loop's pattern."""

    cond: Exp


@dataclass(frozen=True, slots=True)
class Loop(Exp):
    """`loop pat = init form do body`.

    `sizes` are the sizes in `pat`'s type that change from one iteration to the next (bound by the
    pattern, as in `Let`); `ext` the sizes of the result that only the loop's end tells.
    """

    sizes: tuple[Name, ...]
    pat: Pat
    init: Exp
    form: For | ForIn | While
    body: Exp
    ext: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordExp(Exp):
    """A record or tuple, its fields in the order in which they are evaluated."""

    fields: tuple[tuple[str, Exp], ...]


@dataclass(frozen=True, slots=True)
class Project(Exp):
    """`e.field`."""

    exp: Exp
    field: str


@dataclass(frozen=True, slots=True)
class RecordUpdate(Exp):
    """`e with a.b = value`."""

    exp: Exp
    path: tuple[str, ...]
    value: Exp


@dataclass(frozen=True, slots=True)
class ArrayLit(Exp):
    """`[a, b]`, all of one type."""

    elems: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Range(Exp):
    """`first..second..<end`; the size in `type` is an expression of them or named in `ext`."""

    first: Exp
    second: Exp | None
    kind: Literal["...", "..<", "..>"]
    end: Exp
    ext: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexFix:
    """One position; any integer type."""

    at: Exp


@dataclass(frozen=True, slots=True)
class IndexSlice:
    """`start:stop:step` (i64), each optional."""

    start: Exp | None
    stop: Exp | None
    step: Exp | None


DimIndex = IndexFix | IndexSlice


@dataclass(frozen=True, slots=True)
class Index(Exp):
    """`a[..]`; fewer indexes than dimensions leave the inner ones whole."""

    array: Exp
    dims: tuple[DimIndex, ...]
    ext: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Update(Exp):
    """`array with [dims] = value`; consumes `array`."""

    array: Exp
    dims: tuple[DimIndex, ...]
    value: Exp


@dataclass(frozen=True, slots=True)
class Coerce(Exp):
    """`e :> t`: a check at run time that the sizes are those of `type`."""

    exp: Exp


@dataclass(frozen=True, slots=True)
class Assert(Exp):
    """`assert cond e`; `text` is the condition as written, for the message."""

    cond: Exp
    exp: Exp
    text: str


@dataclass(frozen=True, slots=True)
class Hole(Exp):
    """`???`: a value still to be written; its evaluation fails. `text` is its type as written."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Constr(Exp):
    """`#name a b`."""

    name: str
    args: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Attr(Exp):
    """`#[attr] e`; the attribute as text, `unsafe`, `sequential`, .."""

    attr: str
    exp: Exp

    @property
    def parameter(self) -> str:
        """The tuning parameter whose value may replace the expression's, or ""."""
        found = re.fullmatch(r"param\s*\(\s*([\w']+)\s*\)", self.attr)
        return found[1] if found else ""


# --- definitions -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Def:
    """A function, or a constant when there are no `params`.

    `size_params` are in scope in the parameters' types and in the body; they stand for the
    explicit `[n]`, for anonymous sizes of parameters, and for those that inference added.
    `ext` are the sizes of `ret` that the body determines.
    """

    name: Name
    source_name: str
    type_params: tuple[Name, ...]
    size_params: tuple[Name, ...]
    params: tuple[Pat, ...]
    ret: Type
    unique: bool
    ext: tuple[Name, ...]
    body: Exp
    is_entry: bool
    span: Span
    attrs: tuple[str, ...] = ()
    fresh_fields: tuple[str, ...] = ()
    """The unique fields of a record result, if not all are."""
    recursive: bool = False
    """True if it calls itself."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """The external view of an entry: its types as written, for display and input."""

    name: str
    param_names: tuple[str, ...]
    param_types: tuple[str, ...]
    result_types: tuple[str, ...]
    """A tuple result counts as several results."""


@dataclass(frozen=True, slots=True)
class TypedProg:
    """Definitions in order of dependence; those of the prelude that are used come first."""

    defs: tuple[Def, ...]
    entries: tuple[EntryPoint, ...]
    warned: frozenset[Warning_] = frozenset()
    """Warnings of the checker."""
