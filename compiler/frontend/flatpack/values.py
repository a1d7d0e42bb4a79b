"""Values during evaluation of a FlatPack program; sizes; errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.code import Code
from compiler.base.dataclass import dataclass
from compiler.base.errors import TypeError_
from compiler.base.prim import Prim
from compiler.base.spans import Span
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.terms import Shape


@dataclass(frozen=True, slots=True)
class Int:
    """A size or an index; `term`: its value as an element, where division differs."""

    value: Poly
    term: t.Term | None = None
    span: Span | None = None
    """The span of a literal."""


@dataclass(frozen=True, slots=True)
class Written:
    """A number as written, until it has a type: one with a point, or no size."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """A shape."""

    sizes: Shape


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A tuple of values: an array of tuples is a tuple of arrays."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function: `call` takes the arguments, exactly `arity` of them."""

    name: str
    arity: int
    call: Callable[[Sequence[Value], Span], Value]
    given: tuple[Value, ...] = ()
    op: str = ""
    """The sign of an operator."""
    step: Value | None = None
    """The operand of a section."""


USUAL: Prim = "f64"
"""Default element type of a program."""
Value = Int | Written | ShapeOf | TupleOf | Function | t.Term | t.Structural | str | tuple[Any, ...]
Env = Mapping[str, Value]


def kind_of(value: Value) -> str:
    """Describe a value, for the middle of a sentence."""
    match value:
        case Int() | Written():
            return "a number"
        case TupleOf():
            return "a tuple"
        case ShapeOf():
            return "a shape"
        case Function():
            return f"`{value.name}`, which lacks an argument" if value.name else "a function"
        case t.Structural():
            return "a structural transformation"
        case str():
            return "a text"
        case tuple():
            return "a list"
    return "an array" if value.shape else "one value"


def towards_zero(a: int, b: int) -> int:
    """Divide `a / b` with rounding towards zero, as sizes do."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class SizeTable:
    """Names for quotients of sizes, so that shapes are polynomials."""

    def __init__(self) -> None:
        self.quotients: dict[str, tuple[Poly, Poly]] = {}
        self._named: dict[tuple[Poly, Poly], str] = {}
        self.found: set[str] = set()
        """Sizes known only at run time: the row counts of filters."""

    def quotient(self, over: Poly, under: Poly) -> Poly:
        """Return `over / under`, rounded towards zero."""
        a, b = over.constant, under.constant
        if a is not None and b:
            return Poly.const(towards_zero(a, b))
        if b and (exact := over.over(b)) is not None:
            return exact
        name = self._named.setdefault((over, under), f"quotient_{len(self._named)}")
        self.quotients[name] = (over, under)
        return Poly.var(name)

    def show(self, poly: Poly) -> str:
        """Print in the program's notation; it reads the same in Futhark, for i64."""
        return poly.show(self._spell)

    def _spell(self, name: str) -> str:
        if name not in self.quotients:
            return name
        over, under = self.quotients[name]
        return f"({self._operand(over)} / {self._operand(under)})"

    def _operand(self, poly: Poly) -> str:
        shown = self.show(poly)
        return shown if shown.isalnum() or poly.as_name in self.quotients else f"({shown})"


def shown(value: Value, sizes: SizeTable, usual: str) -> str:
    """Describe a value: an array's shape as a parameter has it, and its element type.

    `usual`: the default element type.
    """
    match value:
        case t.Term():
            return f"{_shape(value.shape, sizes) or 'Scalar'}  -- {value.prim or usual}"
        case TupleOf():
            return type_of(value, sizes, usual)
        case Int():
            return f"Int  -- {_one_size(value.value, sizes)}"
        case ShapeOf():
            return _shape(value.sizes, sizes) or "Scalar"
        case Function():
            lacks = value.arity - len(value.given)
            return f"a function of {lacks} argument{'s' * (lacks > 1)}"
    return kind_of(value)


def type_of(value: Value, sizes: SizeTable, usual: str) -> str:
    """Print the shape and element type of an array, as in a parameter: `n Of 3 Of f32`."""
    if isinstance(value, TupleOf):
        return f"({', '.join(type_of(part, sizes, usual) for part in value.parts)})"
    if isinstance(value, t.Term):
        return " Of ".join(filter(None, (_shape(value.shape, sizes), value.prim or usual)))
    return kind_of(value)


def _shape(dims: Shape, sizes: SizeTable) -> str:
    return " Of ".join(_one_size(size, sizes) for size in dims)


def _one_size(size: Poly, sizes: SizeTable) -> str:
    text = sizes.show(size)
    return text[1:-1] if size.as_name in sizes.quotients else text


def wrong(code: Code, message: str, span: Span, hint: str = "") -> TypeError_:
    """Return the error for a wrong program."""
    return TypeError_(code, message, span, hint)
