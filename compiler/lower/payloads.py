"""Arrays in payloads of variants, with their actual sizes. See Note [Payload sizes].

Where values of one type are combined, in arrays, updates and folds, all of them get the sizes of
the largest. A smaller one does not have the variant; its payload is replaced by zeros that nothing
reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.prim import FLOATS, Prim
from compiler.frontend.types import ANY_SIZE, Size, SizeVar, Type
from compiler.ir import nodes as ir
from compiler.ir.aliases import of_body
from compiler.ir.build import both
from compiler.ir.nodes import FALSE, I64, SE, TRUE, ZERO, Bin, Lambda, Lit, Param, Stm, Var
from compiler.ir.sizes import se_of
from compiler.ir.walk import map_stms, rename
from compiler.lower.build import Lowering
from compiler.lower.components import PayloadSize, components
from compiler.lower.values import Arr, Component, Shape, Value, as_params

Sizes = dict[PayloadSize, Poly]
"""Values of the payload sizes in a type."""


@lru_cache(maxsize=1024)
def payload_sizes(t: Type) -> tuple[PayloadSize, ...]:
    """Return the payload sizes in a type that depend on the variant."""
    dims = (dim for _, dims, _ in components(t) for dim in dims)
    held = (dim for dim in dims if isinstance(dim, PayloadSize) and not dim.always)
    return tuple(dict.fromkeys(held))


def name_of(size: Size) -> Name:
    """Return the name hint of a size."""
    inner = size.size if isinstance(size, PayloadSize) else size
    return inner.name if isinstance(inner, SizeVar) else "n"


def as_brought(s: Lowering, shape: Shape, dims: tuple[Size, ...]) -> Shape:
    """Return the shape of a payload in an argument's sizes, where they are known to be equal."""
    return tuple(
        next((own for own in s.payloads if _is_same(s, own, size)), size)
        if isinstance(dim, PayloadSize) and not dim.always
        else size
        for size, dim in zip(shape, dims, strict=True)
    )


def _is_same(s: Lowering, one: Poly, other: Poly) -> bool:
    return one == other or s.facts.is_true(Bin("==", "i64", se_of(one), se_of(other)))


def zeros(s: Lowering, prim: Prim, shape: Shape) -> Component:
    """Make an unused value."""
    zero = Lit(False if prim == "bool" else 0.0 if prim in FLOATS else 0, prim)
    return s.array(ir.Replicate(shape, zero), prim, shape) if shape else zero


# --- values of one size ------------------------------------------------------------------------


def fit(s: Lowering, component: Component, shape: Shape, dims: tuple[Size, ...]) -> Component:
    """Return a component in the given shape, with zeros where its variant is not chosen.

    `dims` are the sizes of its type, or of an element's or array's: aligned at the end.
    """
    if not isinstance(component, Arr) or component.shape == shape:
        return component
    declared = _aligned(dims, len(shape))
    triples = list(zip(component.shape, shape, declared, strict=True))
    own = tuple(have if isinstance(dim, PayloadSize) else want for have, want, dim in triples)
    component = s.expect(component, own)
    assert isinstance(component, Arr)
    cond: SE = TRUE
    for have, want in zip(own, shape, strict=True):
        if have != want:
            cond = both(cond, _equal(have, want))
    if cond == FALSE:
        return zeros(s, component.prim, shape)
    if cond == TRUE:
        return component
    there, blank = s.name(base_of(component.name)), s.name("blank")
    kind = ir.Array(component.prim, shape)
    zero = zeros(s, component.prim, ())
    assert not isinstance(zero, Arr)
    then = Stm((Param(there, kind),), ir.Reshape(shape, component.name), s.prov)
    orelse = Stm((Param(blank, kind),), ir.Replicate(shape, zero), s.prov)
    choice = ir.If(cond, ir.Body((then,), (there,)), ir.Body((orelse,), (blank,)))
    return s.view(choice, component, shape, base_of(component.name))


def _aligned(dims: tuple[Size, ...], rank: int) -> tuple[Size, ...]:
    return (*(ANY_SIZE for _ in range(rank - len(dims))), *dims[max(0, len(dims) - rank) :])


def _equal(have: Poly, want: Poly) -> SE:
    apart = (have - want).constant
    return Bin("==", "i64", se_of(have), se_of(want)) if apart is None else FALSE


def fit_all(s: Lowering, value: Value, shapes: Iterable[Shape], t: Type) -> Value:
    """Apply `fit` to the components of a value of type `t`, or of an element or array of it."""
    triples = zip(value, shapes, components(t), strict=True)
    return tuple(fit(s, x, shape, dims) for x, shape, (_, dims, _) in triples)


def sizes_in(t: Type, values: Iterable[Value]) -> dict[PayloadSize, list[Poly]]:
    """Return the payload sizes in some values, which are as in `fit_all`."""
    found: dict[PayloadSize, list[Poly]] = {size: [] for size in payload_sizes(t)}
    for value in values if found else ():
        for (_, dims, _), shape in zip(components(t), shapes_of(value), strict=True):
            for dim, size in zip(_aligned(dims, len(shape)), shape, strict=True):
                if isinstance(dim, PayloadSize) and dim in found:
                    found[dim].append(size)
    return found


def largest(s: Lowering, t: Type, values: Iterable[Value]) -> Sizes:
    """Return the largest payload sizes of all values, which are as in `fit_all`."""
    return {dim: s.largest(sizes) for dim, sizes in sizes_in(t, values).items()}


def shapes_of(value: Value) -> list[Shape]:
    """Return the shapes of the components."""
    return [x.shape if isinstance(x, Arr) else () for x in value]


def shapes_in(shapes: Iterable[Shape], t: Type, sizes: Sizes) -> list[Shape]:
    """Return the shapes of a value, which is as in `fit_all`, with these payload sizes."""
    found: list[Shape] = []
    for (_, dims, _), shape in zip(components(t), shapes, strict=True):
        pairs = zip(shape, _aligned(dims, len(shape)), strict=True)
        found.append(tuple(sizes.get(d, p) if isinstance(d, PayloadSize) else p for p, d in pairs))
    return found


def alike(s: Lowering, t: Type, *values: Value) -> tuple[Value, ...]:
    """Extend payloads of values, which are as in `fit_all`, to the largest sizes."""
    if not payload_sizes(t):
        return values
    sizes = largest(s, t, values)
    return tuple(fit_all(s, x, shapes_in(shapes_of(x), t, sizes), t) for x in values)


# --- folds ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class FoldSizes:
    """Payload sizes of the elements that a fold carries.

    They are names until the operator is known: it may make new payloads (`makes`).
    """

    s: Lowering
    elem: Type
    sizes: Sizes = field(init=False)
    made: set[PayloadSize] = field(default_factory=set)
    at: int = field(init=False)

    def __post_init__(self) -> None:
        wanted = payload_sizes(self.elem)
        self.sizes = {size: Poly.var(self.s.name(name_of(size))) for size in wanted}
        for size in self.sizes.values():
            self.s.facts.array([size])
        self.s.payloads += self.sizes.values()
        self.at = len(self.s.stms)

    def shapes(self, of: Iterable[Shape]) -> list[Shape]:
        """Return the shapes of elements, with these sizes."""
        return shapes_in(of, self.elem, self.sizes)

    def makes(self, result: Value) -> None:
        """Record sizes of the operator's result other than those of its operands, or 0."""
        for dim, polys in sizes_in(self.elem, [result]).items():
            own = {size for poly in polys for size in self.s.one_of(poly)}
            if not own <= {Poly.const(0), *self.sizes.values()}:
                self.made.add(dim)

    def close(self, *values: Value) -> None:
        """Bind the sizes in front of the fold, as maxima over its initial values.

        Errors: `Limitation` for a payload that the operator makes with a size that its type hides.
        """
        if not self.sizes:
            return
        s = self.s
        later, s.stms = s.stms, []
        for dim, polys in sizes_in(self.elem, values).items():
            own = [s.at_least_none(s.size(dim.size))] if dim in self.made else []
            size = se_of(s.largest([*polys, *own]))
            s.emit((Param(str(self.sizes[dim].as_name), I64),), size)
        later[self.at : self.at] = s.stms
        s.stms = later


# --- rows that a function gives ------------------------------------------------------------------


def row_sizes(
    s: Lowering, width: Poly, fn: tuple[Value, list[Stm]], arrays: tuple[Name, ...], sizes: Sizes
) -> Sizes:
    """Return the sizes of a mapped function's rows, where its `sizes` are local to it.

    `fn` has its parameters and statements, which are repeated only for the sizes.
    """
    taken, _ = of_body(tuple(fn[1]), (), s.funs)
    arrays = tuple(
        s.copied(Arr(array, x.prim, (width, *x.shape))).name
        if isinstance(x, Arr) and x.name in taken
        else array
        for x, array in zip(fn[0], arrays, strict=True)
    )
    wanted = tuple(se_of(size) for size in sizes.values())
    returns = tuple(I64 for _ in wanted)
    body = ir.Body(_without_pushes(tuple(fn[1])), wanted)
    rows = rename(Lambda(as_params(fn[0]), body, returns), s.ctx.fresh)
    ops = tuple(ir.Operator(_maximum(s), (ZERO,), True) for _ in wanted)
    names = [s.name(name_of(size)) for size in sizes]
    s.emit(tuple(Param(name, I64) for name in names), ir.Reduce(width, ops, rows, arrays))
    return {size: Poly.var(name) for size, name in zip(sizes, names, strict=True)}


def _maximum(s: Lowering) -> Lambda:
    a, b = (Param(s.ctx.fresh(name), I64) for name in "ab")
    larger = Bin("max", "i64", Var(a.name, "i64"), Var(b.name, "i64"))
    return Lambda((a, b), ir.Body((), (larger,)), (I64,))


def _without_pushes(stms: tuple[Stm, ...]) -> tuple[Stm, ...]:
    """Remove pushes to accumulators from statements."""
    return tuple(
        Stm(stm.pat, map_stms(stm.exp, _without_pushes), stm.prov)
        for stm in stms
        if not isinstance(stm.exp, ir.Push)
    )
