"""The arrays that variants hold, in the sizes that they have. See Note [Payload sizes].

Values of one type come together in an array, in its updates and in folds: there all of them get the
sizes of the largest. One that is smaller does not have the variant; what takes its place is zeros
that nothing reads.
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
"""What the sizes of payloads in a type are."""


@lru_cache(maxsize=1024)
def payload_sizes(t: Type) -> tuple[PayloadSize, ...]:
    """The sizes in a type that values have where they have the variant."""
    dims = (dim for _, dims, _ in components(t) for dim in dims)
    held = (dim for dim in dims if isinstance(dim, PayloadSize) and not dim.always)
    return tuple(dict.fromkeys(held))


def name_of(size: Size) -> Name:
    """What a size would like to be called."""
    inner = size.size if isinstance(size, PayloadSize) else size
    return inner.name if isinstance(inner, SizeVar) else "n"


def as_brought(s: Lowering, shape: Shape, dims: tuple[Size, ...]) -> Shape:
    """The shape of a payload in the sizes of an argument's, where they are known to be the same."""
    return tuple(
        next((own for own in s.payloads if _is_same(s, own, size)), size)
        if isinstance(dim, PayloadSize) and not dim.always
        else size
        for size, dim in zip(shape, dims, strict=True)
    )


def _is_same(s: Lowering, one: Poly, other: Poly) -> bool:
    return one == other or s.facts.is_true(Bin("==", "i64", se_of(one), se_of(other)))


def zeros(s: Lowering, prim: Prim, shape: Shape) -> Component:
    """A value of no interest."""
    zero = Lit(False if prim == "bool" else 0.0 if prim in FLOATS else 0, prim)
    return s.array(ir.Replicate(shape, zero), prim, shape) if shape else zero


# --- values of one size ------------------------------------------------------------------------


def fit(s: Lowering, component: Component, shape: Shape, dims: tuple[Size, ...]) -> Component:
    """A component in the given shape, with zeros where its variant is not there in that size.

    `dims` are the sizes of its type, or of an element's or array's of it: the last ones count.
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
    """`fit` for the components of a value of type `t`, or of an element or array of it."""
    triples = zip(value, shapes, components(t), strict=True)
    return tuple(fit(s, x, shape, dims) for x, shape, (_, dims, _) in triples)


def sizes_in(t: Type, values: Iterable[Value]) -> dict[PayloadSize, list[Poly]]:
    """What the sizes of payloads are in some values, which are as in `fit_all`."""
    found: dict[PayloadSize, list[Poly]] = {size: [] for size in payload_sizes(t)}
    for value in values if found else ():
        for (_, dims, _), shape in zip(components(t), shapes_of(value), strict=True):
            for dim, size in zip(_aligned(dims, len(shape)), shape, strict=True):
                if isinstance(dim, PayloadSize) and dim in found:
                    found[dim].append(size)
    return found


def largest(s: Lowering, t: Type, values: Iterable[Value]) -> Sizes:
    """The sizes that hold the payloads of all values, which are as in `fit_all`."""
    return {dim: s.largest(sizes) for dim, sizes in sizes_in(t, values).items()}


def shapes_of(value: Value) -> list[Shape]:
    """The shapes of the components."""
    return [x.shape if isinstance(x, Arr) else () for x in value]


def shapes_in(shapes: Iterable[Shape], t: Type, sizes: Sizes) -> list[Shape]:
    """The shapes of a value, which is as in `fit_all`, with payloads in these sizes."""
    found: list[Shape] = []
    for (_, dims, _), shape in zip(components(t), shapes, strict=True):
        pairs = zip(shape, _aligned(dims, len(shape)), strict=True)
        found.append(tuple(sizes.get(d, p) if isinstance(d, PayloadSize) else p for p, d in pairs))
    return found


def alike(s: Lowering, t: Type, *values: Value) -> tuple[Value, ...]:
    """Values, which are as in `fit_all`, with payloads in the sizes of the largest."""
    if not payload_sizes(t):
        return values
    sizes = largest(s, t, values)
    return tuple(fit_all(s, x, shapes_in(shapes_of(x), t, sizes), t) for x in values)


# --- folds ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class FoldSizes:
    """The sizes of what variants hold in the elements that a fold carries.

    They are names until the operator is known: it may give what no element holds (`makes`).
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
        """The shapes of elements, with these sizes."""
        return shapes_in(of, self.elem, self.sizes)

    def makes(self, result: Value) -> None:
        """Take note of what the operator gives: payloads of its operands, or none, are known."""
        for dim, polys in sizes_in(self.elem, [result]).items():
            own = {size for poly in polys for size in self.s.one_of(poly)}
            if not own <= {Poly.const(0), *self.sizes.values()}:
                self.made.add(dim)

    def close(self, *values: Value) -> None:
        """Bind the sizes in front of the fold, over what it begins with.

        Errors: `Limitation` for a payload that the operator makes, of a size that its type hides.
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
    """The sizes of the rows that a mapped function gives, where its `sizes` are its own.

    `fn` are its parameters and statements, which are repeated for the sizes alone.
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
    """Statements that write to no accumulator."""
    return tuple(
        Stm(stm.pat, map_stms(stm.exp, _without_pushes), stm.prov)
        for stm in stms
        if not isinstance(stm.exp, ir.Push)
    )
