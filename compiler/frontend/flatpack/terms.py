"""What a FlatPack program computes: terms of the paper's figure 1, each with its shape.

A term that is used twice is one object: what is bound by `let`, and what a function is given, is
shared. A term without dimensions is one value; where an array is needed it is that value at every
index (`Scalar` of the paper).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, fields, replace
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.prim import Prim
from compiler.base.spans import Span

Shape = tuple[Poly, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """Base of all terms; equality is identity."""

    span: Span
    shape: Shape
    prim: Prim | None = field(default=None, kw_only=True)
    """The type of the elements, where it is not the program's."""


@dataclass(frozen=True, slots=True, eq=False)
class Source(Term):
    """A parameter of `main`, or the data of a file; `file` is "" for a parameter."""

    name: str
    file: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Var(Term):
    """What `LetMap` binds: a row, or one value."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Number(Term):
    """One value, as it is written."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Neutral(Term):
    """The value that an operator of folds leaves others as they are with; only in chunks."""

    op: str


@dataclass(frozen=True, slots=True, eq=False)
class Size(Term):
    """A size, or an integer parameter of `main`, as one value."""

    value: Poly


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Term):
    """Values as they are written, in row-major order."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Enumerate(Term):
    """`seed op step op step ..`: value `i` is `seed + step*i`, or `seed * step ** i`."""

    seed: Term
    op: str
    step: Term


@dataclass(frozen=True, slots=True, eq=False)
class Split(Term):
    """The outer dimension in `shape[0]` pieces."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Join(Term):
    """The two outer dimensions as one."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Zip(Term):
    """Terms of one shape, stacked along a new outer dimension."""

    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Repack(Term):
    """The same values, packed anew."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class LetMap(Term):
    """`body` for each row of `arg`, which it knows as `var`.

    Of a tuple of arrays, the further ones are `args`, and their rows `vars`.
    """

    var: Var
    arg: Term
    body: Term
    vars: tuple[Var, ...] = ()
    args: tuple[Term, ...] = ()

    @property
    def rows(self) -> tuple[tuple[Var, Term], ...]:
        """All arrays that are mapped over, each with the name of its row."""
        return ((self.var, self.arg), *zip(self.vars, self.args, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Arith(Term):
    """`lhs op rhs` at every index; comparisons are 1 or 0."""

    op: str
    lhs: Term
    rhs: Term


@dataclass(frozen=True, slots=True, eq=False)
class As(Term):
    """The elements as values of another type."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class If(Term):
    """`then` where `cond` is not 0, else `orelse`; at every index."""

    cond: Term
    then: Term
    orelse: Term


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Term):
    """`acc op row op row ..` over the outer dimension of `arg`."""

    op: str
    acc: Term
    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Filter(Term):
    """The rows of one of several arrays for which `cond`, of rows of all, is not 0.

    `shape[0]` is a size that those have which keep the other arrays of the same tuple, and no
    other; `part` is the number of the array among `rows`.
    """

    var: Var
    arg: Term
    cond: Term
    vars: tuple[Var, ...] = ()
    args: tuple[Term, ...] = ()
    part: int = 0

    @property
    def rows(self) -> tuple[tuple[Var, Term], ...]:
        """As of `LetMap`."""
        return ((self.var, self.arg), *zip(self.vars, self.args, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Twist(Term):
    """`arg` in another order."""

    how: Structural
    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Expand(Term):
    """One value at every index of `shape`."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Claim(Term):
    """`arg`, whose shape the author says is `shape`: a run checks it."""

    arg: Term


def parts(term: Term) -> Iterator[Term]:
    """The terms directly inside of a term, in order."""
    for one in fields(term):
        value = getattr(term, one.name)
        if isinstance(value, Term):
            yield value
        elif isinstance(value, tuple) and value and isinstance(value[0], Term):
            yield from value


def with_parts(term: Term, became: dict[int, Term]) -> Term:
    """A term with other parts; the same one where they are the same."""
    changed: dict[str, Any] = {}
    for one in fields(term):
        value = getattr(term, one.name)
        if isinstance(value, Term):
            new: Any = became[id(value)]
        elif isinstance(value, tuple) and value and isinstance(value[0], Term):
            new = tuple(became[id(part)] for part in value)
            new = value if all(a is b for a, b in zip(new, value, strict=True)) else new
        else:
            continue
        if new is not value:
            changed[one.name] = new
    return replace(term, **changed) if changed else term


# --- structural transformations ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Structural:
    """Where values come from, whatever they are."""


@dataclass(frozen=True, slots=True)
class Transpose(Structural):
    """Swap the two outer dimensions."""


@dataclass(frozen=True, slots=True)
class RotateL(Structural):
    """The outermost dimension becomes the innermost."""


@dataclass(frozen=True, slots=True)
class RotateR(Structural):
    """The innermost dimension becomes the outermost."""


@dataclass(frozen=True, slots=True)
class Slice(Structural):
    """The row at an index."""

    at: Poly


@dataclass(frozen=True, slots=True)
class SubRange(Structural):
    """The rows from `first` to `last`, both included."""

    first: Poly
    last: Poly


@dataclass(frozen=True, slots=True)
class DownSample(Structural):
    """Every `step`th row, from the first on."""

    step: int


@dataclass(frozen=True, slots=True)
class Smap(Structural):
    """A transformation of every row."""

    inner: Structural


@dataclass(frozen=True, slots=True)
class Compose(Structural):
    """`outer` after `inner`."""

    outer: Structural
    inner: Structural
