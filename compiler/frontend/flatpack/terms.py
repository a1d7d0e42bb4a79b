"""Terms of FlatPack, as in the paper's figure 1, each with its shape.

Shared values (bound by `let`, or passed to functions) are one object. A term without dimensions is
a scalar; as an array it is broadcast (`Scalar` of the paper).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from typing import Any

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.prim import Prim
from compiler.base.spans import Span

Shape = tuple[Poly, ...]
Layout = Lmad[Poly]


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """Base of all terms; equality is identity."""

    span: Span
    shape: Shape
    prim: Prim | None = field(default=None, kw_only=True)
    """Element type, if it is not the program's."""


@dataclass(frozen=True, slots=True, eq=False)
class Source(Term):
    """A parameter of `main`, or the data of a file; `file` is "" for a parameter."""

    name: str
    file: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Var(Term):
    """A variable bound by `LetMap`: a row, or a scalar."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Number(Term):
    """A scalar, as written."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Neutral(Term):
    """The neutral element of a fold's operator; only in chunks."""

    op: str


@dataclass(frozen=True, slots=True, eq=False)
class Size(Term):
    """A size, or an integer parameter of `main`, as a scalar."""

    value: Poly


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Term):
    """Values as written, in row-major order."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Enumerate(Term):
    """`seed op step op step ..`: value `i` is `seed + step*i`, or `seed * step ** i`."""

    seed: Term
    op: str
    step: Term


@dataclass(frozen=True, slots=True, eq=False)
class Split(Term):
    """Splits the outer dimension into `shape[0]` pieces."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Join(Term):
    """Merges the two outer dimensions."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Zip(Term):
    """Terms of one shape, stacked along a new outer dimension."""

    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Repack(Term):
    """A copy of the same values in row-major order."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class LetMap(Term):
    """`body` for each row of `arg`, which is bound to `var`.

    Of a tuple of arrays, the further ones are `args`, and their rows `vars`.
    """

    var: Var
    arg: Term
    body: Term
    vars: tuple[Var, ...] = ()
    args: tuple[Term, ...] = ()

    @property
    def rows(self) -> tuple[tuple[Var, Term], ...]:
        """All mapped arrays, each with its row variable."""
        return ((self.var, self.arg), *zip(self.vars, self.args, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Arith(Term):
    """`lhs op rhs` at every index; comparisons are 1 or 0."""

    op: str
    lhs: Term
    rhs: Term


@dataclass(frozen=True, slots=True, eq=False)
class As(Term):
    """Converts the elements to another type."""

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
    """The rows of one of several arrays for which `cond`, over the rows of all, is not 0.

    `shape[0]` is a size shared by exactly the filters of the same tuple; `part` is the index of the
    array among `rows`.
    """

    var: Var
    arg: Term
    cond: Term
    vars: tuple[Var, ...] = ()
    args: tuple[Term, ...] = ()
    part: int = 0

    @property
    def rows(self) -> tuple[tuple[Var, Term], ...]:
        """All filtered arrays, each with its row variable."""
        return ((self.var, self.arg), *zip(self.vars, self.args, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Twist(Term):
    """A structural transformation of `arg`."""

    how: Structural
    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Expand(Term):
    """A scalar broadcast to `shape`."""

    arg: Term


@dataclass(frozen=True, slots=True, eq=False)
class Claim(Term):
    """`arg`, claimed to have `shape`: checked at run time."""

    arg: Term


def parts(term: Term) -> Iterator[Term]:
    """Yield the direct subterms of a term, in order."""
    for one in fields(term):
        value = getattr(term, one.name)
        if isinstance(value, Term):
            yield value
        elif isinstance(value, tuple) and value and isinstance(value[0], Term):
            yield from value


def with_parts(term: Term, became: dict[int, Term]) -> Term:
    """Replace the subterms of a term; return the same object if none changes."""
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
    """A transformation of indices, whatever the values are."""


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


def primitives(how: Structural, depth: int = 0) -> Iterator[tuple[int, Structural]]:
    """Yield a transformation's steps, each with the number of dimensions that it preserves."""
    match how:
        case Compose(outer, inner):
            yield from primitives(inner, depth)
            yield from primitives(outer, depth)
        case Smap(inner):
            yield from primitives(inner, depth + 1)
        case _:
            yield depth, how


def lift(how: Structural, depth: int) -> Structural:
    """Lift a transformation below so many outer dimensions."""
    for _ in range(depth):
        how = Smap(how)
    return how


def indices(how: Structural) -> tuple[Poly, ...]:
    """Return the rows that one step of a transformation names."""
    named = (getattr(how, one.name) for one in fields(how))
    return tuple(value for value in named if isinstance(value, Poly))


def with_indices(how: Structural, size: Callable[[Poly], Poly]) -> Structural:
    """Apply `size` to the rows that a transformation names."""
    changed: dict[str, Any] = {}
    for one in fields(how):
        value = getattr(how, one.name)
        if isinstance(value, Poly):
            changed[one.name] = size(value)
        elif isinstance(value, Structural):
            changed[one.name] = with_indices(value, size)
    return replace(how, **changed)


def layout_after(how: Structural, loops: Layout, quotient: Callable[[Poly, Poly], Poly]) -> Layout:
    """Transform the LMAD of an array; `quotient` divides sizes."""
    for depth, step in primitives(how):
        loops = _after(step, depth, loops, quotient)
    return loops


def shape_after(how: Structural, shape: Shape, quotient: Callable[[Poly, Poly], Poly]) -> Shape:
    """Transform the shape of an array; `quotient` divides sizes."""
    return layout_after(how, Lmad.row_major(shape), quotient).shape


def _after(
    step: Structural, depth: int, loops: Layout, quotient: Callable[[Poly, Poly], Poly]
) -> Layout:
    """Transform an LMAD below so many dimensions."""
    outer, inner = list(range(depth)), list(range(depth, loops.rank))
    match step:
        case Transpose():
            return loops.permute([*outer, inner[1], inner[0], *inner[2:]])
        case RotateL():
            return loops.permute([*outer, *inner[1:], inner[0]])
        case RotateR():
            return loops.permute([*outer, inner[-1], *inner[:-1]])
        case Slice(at):
            row = loops.dims[depth]
            dims = (*loops.dims[:depth], *loops.dims[depth + 1 :])
            return Lmad(loops.offset + at * row.stride, dims)
        case SubRange(first, last):
            return loops.slice(depth, first, last - first + 1, Poly.const(1))
        case DownSample(by):
            count = quotient(loops.dims[depth].size + (by - 1), Poly.const(by))
            return loops.slice(depth, Poly.const(0), count, Poly.const(by))
    raise AssertionError(step)
