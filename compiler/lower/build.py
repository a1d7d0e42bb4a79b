"""Build statements: names, blocks, sizes and checks.

A lowered value is a tuple of components (`components.py`): scalar expressions, and arrays with the
actual shape. Shapes are trusted over declared types; where the two differ and cannot be proved
equal, a check and a reshape are inserted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from compiler import codes
from compiler.algebra.limits import LARGEST_SIZE
from compiler.algebra.poly import MOST_OF_PRODUCT, MOST_TERMS, Poly
from compiler.analysis.facts import IntegerFacts
from compiler.base.context import Ctx
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.base.rules import Rule
from compiler.base.spans import NOWHERE, Prov, Span
from compiler.frontend import typed as ty
from compiler.frontend.parts import parts
from compiler.frontend.typed import Def
from compiler.frontend.typed import Exp as TypedExp
from compiler.frontend.types import Size, SizeConst, SizeExp, SizeOp, SizeVar, Type
from compiler.ir import nodes as ir
from compiler.ir.build import both
from compiler.ir.nodes import SE, TRUE, ZERO, Bin, Fun, Lit, Param, Stm, Var
from compiler.ir.sizes import poly_of, prim_of, se_of
from compiler.lower.components import PayloadSize, components
from compiler.lower.constants import Constants, Definitions
from compiler.lower.values import (
    Arr,
    Component,
    Message,
    Shape,
    Value,
    merge_words,
    show_shape,
)

COPY = Rule(
    "soa/copy", "Reports copies that protect a value from being overwritten.", optional=False
)
SHARED = "Another name for this array is still used while one of the two is overwritten."

LARGEST = Lit(LARGEST_SIZE, "i64")


Lower = Callable[["Lowering", Any, Name], Value]
"""Lowers an expression; the name is a hint for its value."""


def origin(e: TypedExp) -> Prov:
    """Return the user's places where a value is computed: behind bindings, and in arguments.

    An inlined function has places of its own.
    """
    found: dict[Span, None] = {}
    _origin(e, NOWHERE, found)
    return tuple(found)


def _origin(e: TypedExp, around: Span, found: dict[Span, None]) -> None:
    while isinstance(e, ty.Let):
        e = e.body
    if e.span.is_own and not around.holds(e.span):
        around = e.span
        found[around] = None
    inside = (e.cond,) if isinstance(e, ty.If) else parts(e)
    for part in inside if isinstance(e, _COMPUTED) else ():
        if isinstance(part, _COMPUTED):
            _origin(part, around, found)


_COMPUTED = (ty.PrimOp, ty.PrimFun, ty.Convert, ty.RecordExp, ty.Let, ty.If)


class Lowering:
    """The state of lowering one definition."""

    def __init__(
        self, ctx: Ctx, definitions: Definitions, rules: Mapping[type, Lower], is_entry: bool
    ) -> None:
        self.ctx = ctx
        self.rules = rules
        """Rules by the class of an expression."""
        self.constants = Constants(ctx, definitions, is_entry)
        self.funs = definitions.funs
        self.used = definitions.used
        self.stms: list[Stm] = []
        self.env: dict[Name, Value] = {}
        self.sizes: dict[Name, Poly] = {}
        self.prov: Prov = ()
        self.unsafe = False
        self.iotas: dict[Name, Poly] = {}
        """Arrays `0, 1, .. n-1` and their `n`."""
        self.named: list[dict[SE, Name]] = [{}]
        """By open block: i64 expressions that have a name."""
        self.computed: list[dict[str, Poly]] = [{}]
        """By open block: sizes computed by expressions, by their text."""
        self.either: dict[Name, tuple[Poly, ...]] = {}
        """Sizes with several possible values, one per branch."""
        self.points = 0
        """The number of mapped functions around the current code."""
        self.payloads: list[Poly] = []
        """Names of payload sizes that come with arguments or operands of a fold."""
        self.defined: dict[Name, Poly] = {}
        """i64 names bound to a polynomial of others."""
        self.facts = IntegerFacts(self.defined, ctx.proved_here())
        self.base: dict[Name, Name] = {}
        """The array that a view refers to."""
        self.parts: dict[Name, tuple[Name, tuple[ir.DimIndex, ...]]] = {}
        """For values read from an array: which, and where."""
        self.shares = False
        """True if arrays that are separate in the source may share memory."""
        self.extra: list[tuple[int, int]] = []
        """Sizes that come with arguments: component and dimension."""
        self.unique_params: frozenset[Name] = frozenset()
        self.own: Def | None = None
        """The definition, if it is recursive."""
        self.param_names: set[Name] = set()
        """Parameters, which types of results may mention."""

    def lower(self, e: TypedExp, hint: Name = "") -> Value:
        """Lower `e`, appending its statements, and return its value; `hint`: a name for it."""
        return self.rules[type(e)](self, e, hint)

    def constant(self, name: Name) -> Value | None:
        """Return the value of a top-level constant, or of a size that comes with one; else None."""
        return self.constants.value(name, self.prov)

    def constant_params(self, name: Name) -> tuple[Param, ...]:
        """Return the variables that hold a constant's results here."""
        return self.constants.params(name, self.prov)

    # --- names and statements ----------------------------------------------------------------

    def name(self, hint: str) -> Name:
        """Return `hint` if it is a full name and still free, else a new name like it."""
        base = base_of(hint)
        if base != hint and hint not in self.used:
            self.used.add(hint)
            return hint
        return self.ctx.fresh(hint)

    def names(self, hint: str, t: Type) -> list[Name]:
        """Return a name for each component of a value of type `t`."""
        ends = [end for _, _, end in components(t)]
        if len(ends) == 1:
            return [self.name(hint or "t")]
        base = base_of(hint) if hint else "t"
        said = self.ctx.names.said(hint) if base != hint else None
        if said is None:
            return [self.ctx.fresh(f"{base}{end}") for end in ends]
        return [self.ctx.names.authored(f"{base}{end}", said) for end in ends]

    def emit(self, pat: tuple[Param, ...], exp: ir.Exp) -> None:
        """Append `let pat = exp`."""
        self.stms.append(Stm(pat, exp, self.prov))

    def scalar(self, exp: ir.Exp, prim: Prim, hint: str = "") -> Var:
        """Bind a scalar."""
        name = self.name(hint or "t")
        self.emit((Param(name, ir.Scalar(prim)),), exp)
        return Var(name, prim)

    def array(self, exp: ir.Exp, prim: Prim, shape: Shape, hint: str = "") -> Arr:
        """Bind an array."""
        name = self.name(hint or "t")
        self.emit((Param(name, ir.Array(prim, shape)),), exp)
        self.facts.array(shape)
        return Arr(name, prim, shape)

    def view(self, exp: ir.Exp, of: Arr, shape: Shape, hint: str = "") -> Arr:
        """Bind a view of an array."""
        new = self.array(exp, of.prim, shape, hint)
        self.base[new.name] = self.base_of(of)
        return replace(new, borrowed=True) if of.borrowed else new

    def base_of(self, array: Arr) -> Name:
        """Return the array that a view refers to, or the array itself."""
        return self.base.get(array.name, array.name)

    def borrowed(self, array: Arr) -> Arr:
        """Mark an array that is fresh in the source but shares existing memory."""
        self.shares = True
        return replace(array, borrowed=True)

    def copied(self, array: Arr, hint: Name = "") -> Arr:
        """Copy an array that is overwritten while another name for it is live."""
        self.ctx.tell("note", COPY, self.prov, SHARED)
        hint = hint or base_of(array.name)
        return self.array(ir.Copy(array.name), array.prim, array.shape, hint)

    def let(self, se: SE, hint: str = "") -> SE:
        """Bind `se` to a name unless it is a literal or variable."""
        if isinstance(se, Lit | Var):
            return se
        prim = prim_of(se)
        var = self.scalar(se, prim, hint)
        if prim == "i64":
            poly = poly_of(se)
            if poly is not None:
                poly = poly.subst(self.defined)
                if len(poly.terms) <= 3:
                    self.defined[var.name] = poly
            else:
                self.facts.defined(var.name, se, self.facts.depth)
            self.named[-1].setdefault(se, var.name)
        return var

    def atom(self, se: SE, hint: str = "") -> SE:
        """Return `se` as a literal or variable; equal i64 expressions share a name."""
        for block in self.named:
            if se in block:
                return Var(block[se], "i64")
        return self.let(se, hint)

    def open(self) -> list[Stm]:
        """Start a block; pass the result to `close`."""
        outer, self.stms = self.stms, []
        self.named.append({})
        self.computed.append({})
        self.facts.enter()
        return outer

    def close(self, outer: list[Stm]) -> list[Stm]:
        """End a block; return its statements."""
        inner, self.stms = self.stms, outer
        self.named.pop()
        self.computed.pop()
        self.facts.leave()
        return inner

    # --- sizes -------------------------------------------------------------------------------

    def poly(self, se: SE, hint: str = "") -> Poly:
        """Return an i64 expression as a size.

        A non-polynomial gets a name, shared by equal ones.
        """
        poly = poly_of(se)
        if poly is None:
            poly = poly_of(self.atom(se, hint or "n"))
        if poly is None:
            raise CompilerBug("a size that is no i64")
        return self.short(poly.put_in(self.defined))

    def size(self, s: Size) -> Poly:
        """Return a declared size."""
        poly = self.known_size(s)
        if poly is None:
            raise Limitation.at(
                codes.limits.UNKNOWN_SIZE,
                "A size that is needed here has no name in the types.",
                self.prov,
                "Name the value and its size first: `let [k] (xs: [k]t) = ..`.",
            )
        return poly

    def known_size(self, s: Size) -> Poly | None:
        """Return a declared size, or None if it mentions an unbound name."""
        match s:
            case SizeConst(value):
                return Poly.const(value)
            case SizeVar(name):
                poly = self.sizes.get(name)
                if poly is not None:
                    return poly
                bound = self.env.get(name) or self.constant(name)
                if not bound or isinstance(bound[0], Arr):
                    return None
                return self.poly(bound[0], name)
            case SizeOp(op, lhs, rhs):
                left, right = self.known_size(lhs), self.known_size(rhs)
                return None if left is None or right is None else self.size_op(op, left, right)
            case SizeExp(key, exp) if isinstance(exp, TypedExp):
                return self._computed_size(key, exp)
            case PayloadSize(inner, always=True):
                return self.known_size(inner)
        return None

    def stated(self, own: Shape, dims: Iterable[Size]) -> Shape:
        """Return a declared shape, with `own` sizes where the declared ones are unknown."""
        known = zip(map(self.known_size, dims), own, strict=True)
        return tuple(size if poly is None else poly for poly, size in known)

    def _computed_size(self, key: str, exp: TypedExp) -> Poly | None:
        """Return a size computed by an expression, evaluated at the first place that needs it."""
        for block in self.computed:
            if key in block:
                return block[key]
        found = self.lower(exp)[0]
        if isinstance(found, Arr):
            return None
        self.computed[-1][key] = poly = self.poly(found)
        return poly

    def largest(self, sizes: Iterable[Poly]) -> Poly:
        """Return the largest of sizes, none of which is negative."""
        result = Poly.const(0)
        for size in sizes:
            if result.constant == 0:
                result = size
            elif size != result and size.constant != 0:
                result = self.poly(Bin("max", "i64", se_of(result), se_of(size)))
        return result

    def at_least_none(self, size: Poly) -> Poly:
        """Return a size, or 0 where it is negative."""
        if self.facts.is_size(size):
            return size
        return self.poly(Bin("max", "i64", ZERO, se_of(size)), "n")

    def one_of(self, size: Poly) -> frozenset[Poly]:
        """Return the possible values of a size, through all branches."""
        parts = self.either.get(size.as_name or "")
        return frozenset((size,)) if parts is None else frozenset().union(*map(self.one_of, parts))

    def size_op(self, op: str, left: Poly, right: Poly) -> Poly:
        """Return `left op right` as a size."""
        match op:
            case "+":
                return self.short(left + right)
            case "-":
                return self.short(left - right)
            case "*":
                return self.times(left, right)
        divisor = se_of(right)
        if not right.constant:
            self.check(Bin("!=", "i64", divisor, ZERO), ("division by zero",))
        return self.poly(Bin(op, "i64", se_of(left), divisor))

    def times(self, left: Poly, right: Poly) -> Poly:
        """Multiply sizes; sums too long to be multiplied out get names."""
        product = left.times(right)
        if product is not None:
            return product
        return self._named(left) * self._named(right)

    def short(self, size: Poly) -> Poly:
        """Return a size, under a name if it has many nonlinear terms.

        Otherwise repeated products and sums grow without bound.
        """
        if len(size.terms) <= MOST_OF_PRODUCT or size.is_linear:
            return size
        return self._named(size)

    def _named(self, size: Poly) -> Poly:
        """Return a size under its name, shared by equal sizes."""
        if len(size.terms) <= 1:
            return size
        name = self.atom(se_of(size), "n")
        assert isinstance(name, Var)
        return Poly.var(name.name)

    def put_in(self, size: Poly, given: Mapping[Name, Poly]) -> Poly:
        """Substitute sizes for names in a size, with products made by `times`."""
        if size.terms_after(given) <= MOST_TERMS:
            return self.short(size.subst(given))
        made = []
        for mono, coeff in size.terms.items():
            factors = [
                given.get(name, Poly.var(name)) for name, power in mono for _ in range(power)
            ]
            made.append(reduce(self.times, factors, Poly.const(coeff)))
        return self.short(Poly.const(0).plus(made))

    def bind_sizes(self, names: tuple[Name, ...], t: Type, value: Value) -> None:
        """Bind sizes that `t` mentions to those of `value`.

        A size that only variants mention is that of the chosen one.
        """
        wanted = set(names)
        if not wanted:
            return
        held: dict[Name, dict[Poly, None]] = {}
        for (_, dims, _), component in zip(components(t), value, strict=True):
            if isinstance(component, Arr):
                for dim, actual in zip(dims, component.shape, strict=True):
                    if isinstance(dim, SizeVar) and dim.name in wanted:
                        wanted.discard(dim.name)
                        self.sizes[dim.name] = actual
                    elif isinstance(dim, PayloadSize) and isinstance(dim.size, SizeVar):
                        held.setdefault(dim.size.name, {})[actual] = None
        for name in names:
            if name in wanted and name in held:
                self.sizes[name] = self.largest(held[name])

    # --- checks ------------------------------------------------------------------------------

    def check(self, cond: SE, message: Message) -> None:
        """Assert `cond` with `message`, unless it is known."""
        if self.unsafe or cond == TRUE or self.facts.is_true(cond):
            return
        self.emit((), ir.Assert(cond, merge_words(message)))
        self.facts.learn(cond, True)

    def check_size(self, size: Poly, text: Message, of: tuple[Poly, Poly] | None = None) -> None:
        """Assert that an array can have this size.

        See Note [Sizes of arrays]. See Note [Sizes of arrays].

        `of`: its two factors.
        """
        if self.facts.is_size(size):
            return
        number = se_of(size)
        cond = self.products_fit(size) if of is None else self.product_fits(*of)
        for part in (Bin("<=", "i64", ZERO, number), Bin("<=", "i64", number, LARGEST)):
            if self.facts.decide(part.op, part.lhs, part.rhs) is not True:
                cond = both(cond, part)
        self.check(cond, text)

    def product_fits(self, left: Poly, right: Poly) -> SE:
        """Return a condition under which the product of two sizes does not wrap."""
        known = self.facts.is_size(left) and self.facts.is_size(right)
        if known and self.facts.is_value(self.times(left, right)):
            return TRUE
        return self._halves_fit(left, right)

    def products_fit(self, poly: Poly) -> SE:
        """Return a condition under which products of sizes in a polynomial do not wrap."""
        cond: SE = TRUE
        for mono in poly.terms:
            names = [name for name, power in mono for _ in range(power)]
            if len(names) == 1:
                continue
            product = Poly.const(1)
            for name in names:
                factor = Poly.var(name)
                if not self.facts.is_size(factor):
                    break
                larger = product * factor
                if not self.facts.is_value(larger):
                    cond = both(cond, self._halves_fit(product, factor))
                product = larger
        return cond

    def _halves_fit(self, left: Poly, right: Poly) -> SE:
        """Return the condition that the product of two i64 fits in i64 and is not negative."""
        halves = Fun("mul_hi", "i64", (se_of(left), se_of(right)))
        upper = Bin("==", "i64", halves, ZERO)
        return both(upper, Bin("<=", "i64", ZERO, se_of(self.times(left, right))))

    def expect(self, component: Component, shape: Shape, what: Message = ()) -> Component:
        """Return `component` with the given shape: unchanged, or checked and reshaped."""
        if not isinstance(component, Arr) or component.shape == shape:
            return component
        cond: SE = TRUE
        for have, want in zip(component.shape, shape, strict=True):
            if have != want:
                cond = both(cond, self.products_fit(want))
                cond = both(cond, Bin("==", "i64", se_of(have), se_of(want)))
        text = what or (
            "Value of shape ",
            *show_shape(component.shape),
            ' cannot match shape of type "',
            *show_shape(shape),
            f'{component.prim}".',
        )
        self.check(cond, text)
        return self.view(
            ir.Reshape(shape, component.name), component, shape, base_of(component.name)
        )

    def expect_all(self, value: Value, shapes: Iterable[Shape], what: Message = ()) -> Value:
        """Apply `expect` to every component."""
        return tuple(self.expect(x, s, what) for x, s in zip(value, shapes, strict=True))

    def shapes(self, t: Type) -> list[Shape]:
        """Return the declared shapes of a type's components."""
        return [tuple(self.size(d) for d in dims) for _, dims, _ in components(t)]

    def params(self, names: Iterable[Name], t: Type, shapes: Iterable[Shape]) -> Value:
        """Return components of type `t` under these names."""
        return tuple(
            Arr(name, prim, shape) if shape else Var(name, prim)
            for name, (prim, _, _), shape in zip(names, components(t), shapes, strict=True)
        )
