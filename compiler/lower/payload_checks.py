"""Check payloads of variants against the sizes of their types, where these are unknown.

This concerns external values and coercions; elsewhere the type system ensures it.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.frontend import typed as ty
from compiler.frontend.check.types.size_exps import names_in_size
from compiler.frontend.types import Array, Record, SizeVar, Sum, Type
from compiler.ir import nodes as ir
from compiler.ir.build import both, either
from compiler.ir.nodes import BOOL, SE, TRUE, Bin, Lambda, Lit, Operator, Param, Var
from compiler.ir.sizes import se_of
from compiler.lower.build import Lowering
from compiler.lower.components import PayloadSize, components, payload_dims, sum_slots
from compiler.lower.values import Arr, Component, Shape, Value, show_shape


def told_by_payloads(code: ty.Def) -> tuple[Name, ...]:
    """Return the size parameters that only payloads of parameters determine."""
    held: set[Name] = set()
    others: set[Name] = set()
    for pat in code.params:
        for _, dims, _ in components(pat.type):
            for dim in dims:
                if isinstance(dim, PayloadSize):
                    held |= {dim.size.name} if isinstance(dim.size, SizeVar) else set()
                else:
                    names_in_size(dim, others)
    return tuple(name for name in code.size_params if name in held - others)


def check_payloads(s: Lowering, value: Value, t: Type) -> None:
    """Check that payloads of the chosen variants have the sizes that `t` names.

    Sums inside payloads are checked where they are matched.
    """
    for of, at in _sums(t, 0):
        for k, (name, payload) in enumerate(of.variants):
            for slot, dims in zip(sum_slots(of)[1][k], payload_dims(payload), strict=True):
                array = value[at + 1 + slot]
                if not isinstance(array, Arr):
                    continue
                have = array.shape[len(array.shape) - len(dims) :]
                want = s.stated(have, dims)
                if want != have:
                    _check_chosen(s, value[at], k, name, have, want)


def _sums(t: Type, at: int) -> Iterator[tuple[Sum, int]]:
    """Yield the outermost sums in a type, and the start of their components."""
    match t:
        case Sum():
            yield t, at
        case Array(_, elem):
            yield from _sums(elem, at)
        case Record(fields):
            for _, field in fields:
                yield from _sums(field, at)
                at += len(components(field))


def _check_chosen(
    s: Lowering, tags: Component, k: int, name: str, have: Shape, want: Shape
) -> None:
    """Check that both shapes are equal where a tag is `k`."""
    fits: SE = TRUE
    for own, other in zip(have, want, strict=True):
        if own != other:
            fits = both(fits, Bin("==", "i64", se_of(own), se_of(other)))
    if isinstance(tags, Arr):
        fits = _or_none(s, fits, tags, k)
    else:
        fits = either(Bin("!=", "i8", tags, Lit(k, "i8")), fits)
    wanted = (" where its type has ", *show_shape(want), ".")
    s.check(fits, (f"`#{name}` holds an array of shape ", *show_shape(have), *wanted))


def _or_none(s: Lowering, fits: SE, tags: Arr, k: int) -> SE:
    """Return `fits`, or that no tag of an array is `k`; the tags are read only if needed."""
    outer = s.open()
    total = Poly.const(1)
    for size in tags.shape:
        total = total * size
    flat = tags
    if len(tags.shape) > 1:
        flat = s.view(ir.Reshape((total,), tags.name), tags, (total,))
    tag, a, b = s.ctx.fresh("tag"), s.ctx.fresh("a"), s.ctx.fresh("b")
    is_other = Bin("!=", "i8", Var(tag, "i8"), Lit(k, "i8"))
    every = both(Var(a, "bool"), Var(b, "bool"))
    op = Lambda((Param(a, BOOL), Param(b, BOOL)), ir.Body((), (every,)), (BOOL,))
    each = Lambda((Param(tag, ir.Scalar("i8")),), ir.Body((), (is_other,)), (BOOL,))
    none = s.scalar(ir.Reduce(total, (Operator(op, (TRUE,), True),), each, (flat.name,)), "bool")
    stms = tuple(s.close(outer))
    return s.scalar(ir.If(fits, ir.Body((), (TRUE,)), ir.Body(stms, (none,))), "bool", "fits")
