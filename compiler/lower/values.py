"""Lowered values: tuples of scalar expressions and arrays, one per component of a type."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.ir import nodes as ir
from compiler.ir.nodes import I64, SE, Operand, Param, Var
from compiler.ir.sizes import prim_of, se_of

Shape = tuple[Poly, ...]


@dataclass(frozen=True, slots=True)
class Arr:
    """An array variable and its shape.

    `borrowed`: the source takes it for a fresh array, but it shares memory (a zip, a map that
    only permutes fields). See Note [Borrowed arrays] in `soa.py`.
    """

    name: Name
    prim: Prim
    shape: Shape
    borrowed: bool = False


Component = SE | Arr
Value = tuple[Component, ...]
Message = tuple[str | SE, ...]


def operand(component: Component) -> Operand:
    """Return a component as an operand."""
    return component.name if isinstance(component, Arr) else component


def component_type(component: Component) -> ir.Type:
    """Return the IR type of a component."""
    if isinstance(component, Arr):
        return ir.Array(component.prim, component.shape)
    return ir.Scalar(prim_of(component))


def show_shape(shape: Iterable[Poly]) -> Message:
    """Render `[n][m]` for a message."""
    parts: list[str | SE] = []
    for dim in shape:
        parts += ["[", se_of(dim), "]"]
    return tuple(parts)


def merge_words(message: Message) -> Message:
    """Merge neighbouring texts of a message."""
    parts: list[str | SE] = []
    for part in message:
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    return tuple(parts)


def as_params(value: Value) -> tuple[Param, ...]:
    """Return the parameters that bind variables."""
    return tuple(
        Param(component.name, component_type(component))
        for component in value
        if isinstance(component, Arr | Var)
    )


def instance_params(
    params: tuple[Param, ...],
    names: list[Name],
    mapping: dict[Name, Poly],
    put_in: Callable[[Poly, dict[Name, Poly]], Poly] = Poly.subst,
) -> tuple[tuple[Param, ...], Value]:
    """Make new variables for a function's results; sizes to the left are in scope to the right."""
    pat: list[Param] = []
    value: list[Arr | Var] = []
    for param, name in zip(params, names, strict=True):
        t = param.type
        if isinstance(t, ir.Array):
            t = ir.Array(t.prim, tuple(put_in(p, mapping) for p in t.shape))
            value.append(Arr(name, t.prim, t.shape))
        elif isinstance(t, ir.Scalar):
            value.append(Var(name, t.prim))
            if t == I64:
                mapping[param.name] = Poly.var(name)
        pat.append(Param(name, t))
    return tuple(pat), tuple(value)
