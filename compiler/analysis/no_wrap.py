"""Find the index arithmetic of a function that cannot wrap.

Later passes read expressions, sizes and index functions as polynomials. That is right only where
they fit in 64 bits (Note [Proofs hold in 64 bits] in `facts.py`), which depends on the place. One
walk over the function asks it of every expression where it stands. An expression that occurs
several times is exact if each occurrence is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial
from typing import Literal, TypeVar

from compiler.algebra.argument import Argument
from compiler.algebra.divide import products
from compiler.algebra.limits import LARGEST_INPUT
from compiler.algebra.poly import MOST_UNFOLDED, Poly
from compiler.analysis.facts import IntegerFacts
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.sizes import HIGH, poly_of, prim_of
from compiler.ir.slices import selected
from compiler.ir.walk import Rewrite, children, rewrite, se_parts, stms_of

T = TypeVar("T")
_MOST_TERMS = 24
"""Terms up to which a definition is unfolded."""


Reading = Literal["unfolded", "split", "named", "opaque"]
"""Ways to read an expression, best first: with definitions unfolded; with definitions unfolded
and an atom for each product, as the machine computes it; as written; or not at all."""
_Fitting = tuple[Reading, ...]
"""The readings that fit at every occurrence of an expression; empty: it is opaque."""
_SUMS = ("+", "-", "*")


_RECENT = 2
_recent: list[tuple[ir.Function, Exact]] = []
"""Cache of the functions analysed last."""


def exactness(fun: ir.Function) -> Exact:
    """Return the `Exact` of a function; the last results are cached for GPU code generation."""
    for one, found in _recent:
        if one is fun or one == fun:
            return found
    found = _Walk(fun).made
    _recent[:] = [(fun, found), *_recent[: _RECENT - 1]]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """Exact readings of the sums and products of one function as polynomials."""

    defined: dict[Name, Poly]
    """Unfolded polynomial definitions of i64 names, which may wrap."""
    shown: list[Argument]
    """Arguments that prove the readings."""
    sums: dict[Name, Poly] = field(default_factory=dict)
    """i64 names defined as a sum or product with operands that are no polynomials."""
    products: dict[ir.SE, Poly] = field(default_factory=dict)
    """Sums read with an atom for each product."""
    sizes: dict[Poly, _Fitting] = field(default_factory=dict)
    """Readings of sizes and parts of index functions."""
    places: dict[ir.SE, _Fitting] = field(default_factory=dict)
    """Readings of indices, bounds and the like."""
    conditions: dict[ir.SE, _Fitting] = field(default_factory=dict)
    """Readings of operands of conditions."""

    def unfolds(self, name: Name) -> bool:
        """True if a name equals its definition exactly, not only modulo 2**64, at every use.

        Index functions put together later may then be read with the definition.
        """
        if name not in self.defined and name not in self.sums:
            return True
        found = [self.places.get(ir.Var(name, "i64")), self.sizes.get(Poly.var(name))]
        return {best(ways) for ways in found if ways is not None} == {"unfolded"}


class _Walk:
    """The walk over a function that makes its `Exact`."""

    def __init__(self, fun: ir.Function) -> None:
        defined: dict[Name, Poly] = {}
        self._facts = IntegerFacts(defined)
        self.made = Exact(defined, self._facts.shown)
        self._computed: set[Name] = set()
        """Names of scalars with a definition that is no polynomial."""
        self._proved: dict[tuple[Poly, tuple[Poly, ...]], int] = {}
        """Scope in which a size was examined, by size and array shape: not examined again inside
        it."""
        self._fitted: dict[Poly, int] = {}
        """Scope in which a polynomial was found to fit; valid inside that scope."""
        self._open: list[int] = [0]
        self._scopes = 0
        self._filled: tuple[Poly, ...] = ()
        """Shape of the array under consideration: nothing is claimed of it where it is empty."""
        self._parts = Rewrite(se=self._se, poly=self._poly, body=_same, fn=_same, kernel=_same)
        self._facts.oldest(param.name for param in fun.params)
        for param in fun.params:
            kind = param.type
            if isinstance(kind, ir.Array):
                (self._facts.given if fun.entry else self._facts.array)(kind.shape)
                self._type(kind)
        self._stms(fun.body.stms)
        del self._facts, self._parts  # frees memory: as large as the program, and cyclic

    def _stms(self, stms: Iterable[ir.Stm]) -> None:
        for stm in stms:
            self._stm(stm)

    def _stm(self, stm: ir.Stm) -> None:
        exp = stm.exp
        if isinstance(exp, ir.SE_NODES):
            if poly_of(exp) is None:  # otherwise queried at the name's uses
                self._se(exp)
            if stm.pat[0].type == ir.I64:
                self._define(stm.pat[0].name, exp)
            return
        facts = self._facts
        if isinstance(exp, ir.Assert):
            # Read the condition as the facts that hold after it.
            facts.learn(exp.cond, True)
            self._look(exp.cond, self.made.conditions)
            return
        if isinstance(exp, ir.If):
            self._nested(exp.then, lambda: self._branch(exp.cond, True))
            self._nested(exp.orelse, lambda: self._branch(exp.cond, False))
            self._chosen(stm.pat, exp)
        elif isinstance(exp, ir.Alloc):
            facts.in_memory(exp.count)
        if isinstance(exp, ir.Slice | ir.Update):
            self._filled = selected(exp.dims)
        if not isinstance(exp, ir.If):
            rewrite(exp, self._parts)
        self._filled = ()
        match exp:
            case ir.Loop(params, _, form, body):
                self._nested(
                    body,
                    lambda: (
                        facts.counter(form.index, form.prim, form.bound)
                        if isinstance(form, ir.ForLoop)
                        else None
                    ),
                    [param.type for param in params],
                )
            case _ if isinstance(exp, ir.SegOp):
                for child in children(exp):
                    dims = exp.space.dims if isinstance(child, ir.KernelBody) else ()
                    self._nested(child, partial(self._indices, dims))
            case _ if not isinstance(exp, ir.If):
                for child in children(exp):
                    self._nested(child, _nothing)
        for param in stm.pat:
            self._type(param.type)
            if isinstance(param.type, ir.Array):
                facts.array(param.type.shape)

    def _branch(self, cond: ir.SE, truth: bool) -> None:
        self._facts.learn(cond, truth)
        self._look(cond, self.made.conditions)

    def _chosen(self, pat: tuple[ir.Param, ...], exp: ir.If) -> None:
        """Record scalars that a branch selects without computing anything."""
        if exp.then.stms or exp.orelse.stms:
            return
        for param, one, other in zip(pat, exp.then.results, exp.orelse.results, strict=True):
            if param.type == ir.I64 and not isinstance(one, str) and not isinstance(other, str):
                self._facts.defined(param.name, ir.Select(exp.cond, one, other), self._facts.depth)

    def _indices(self, dims: Iterable[tuple[Name, Poly]]) -> None:
        # A non-empty index space may prove that its sizes fit.
        for _, bound in dims:
            self._facts.runs(bound)
        for index, bound in dims:
            self._facts.index(index, bound)

    def _nested(
        self,
        body: ir.Body | ir.Lambda | ir.KernelBody,
        learn: Callable[[], object],
        types: Iterable[ir.Type] = (),
    ) -> None:
        self._facts.enter()
        self._scopes += 1
        self._open.append(self._scopes)
        learn()
        for kind in types:
            self._type(kind)
            if isinstance(kind, ir.Array):
                self._facts.array(kind.shape)
        self._stms(stms_of(body))
        for result in (body.body if isinstance(body, ir.Lambda) else body).results:
            rewrite(result, self._parts)
        self._open.pop()
        self._facts.leave()

    def _define(self, name: Name, se: ir.SE) -> None:
        if poly_of(se) is None:
            self._computed.add(name)
            self._facts.defined(name, se, self._facts.depth, prim_of(se))
            if isinstance(se, ir.Bin | ir.Un) and se.op in ("+", "-", "*", "neg"):
                self.made.sums[name] = self._facts.ring(se)
            return
        ring = self._facts.ring(se)
        if len(ring.terms) <= _MOST_TERMS:
            self.made.defined[name] = ring
        else:
            self._computed.add(name)

    def _se(self, se: ir.SE) -> ir.SE:
        return self._look(se, self.made.places)

    def _look(self, se: ir.SE, table: dict[ir.SE, _Fitting]) -> ir.SE:
        """Visit each sum, product or name that is not an operand of a sum or product."""
        if type(se) is ir.Var:
            if se.prim == "i64":
                self._name(se, table)
        elif type(se) is ir.Fun:
            for part in se.args:
                self._look(part, self.made.places)
        elif _is_sum(se):
            if table.get(se) != ():
                self._sum(se, poly_of(se), table)
            self._below(se, table)
        elif type(se) is not ir.Lit:
            for part in se_parts(se):
                self._look(part, table)
        return se

    def _name(self, var: ir.Var, table: dict[ir.SE, _Fitting]) -> None:
        """Visit a name that stands for a sum or product."""
        itself = Poly.var(var.name)
        if var.name in self.made.sums:
            table[var] = self._fitting(self.made.sums[var.name], itself, table.get(var))
        elif var.name in self.made.defined and table.get(var) != ():
            self._sum(var, itself, table)

    def _sum(self, se: ir.SE, poly: Poly | None, table: dict[ir.SE, _Fitting]) -> None:
        ring = self._facts.ring(se)
        elsewhere = table.get(se)
        found = self._fitting(ring, ring if poly is None else poly, elsewhere)
        if "unfolded" not in found and (elsewhere is None or "split" in elsewhere):
            split = self._split(se, ring)
            if split is not None and self._fits(split):
                found = ("split", *found)
        table[se] = found

    def _split(self, se: ir.SE, ring: Poly) -> Poly | None:
        """Name each product of a sum; None if it has none, or if operands are computed.

        The names are the machine's products: the sum may fit although a product does not.
        """
        found = Poly({mono: ring.terms[mono] for mono in products(ring)})
        names = found.names()
        if not names or any(name[0] == "?" or name in self._computed for name in names):
            return None
        self.made.products[se] = found
        return self._facts.split(ring)

    def _below(self, se: ir.SE, table: dict[ir.SE, _Fitting]) -> None:
        for part in se_parts(se):
            if _is_sum(part):
                self._below(part, table)
            else:
                self._look(part, table)

    def _type(self, kind: ir.Type) -> None:
        if not isinstance(kind, ir.Array):
            return
        self._filled = kind.shape
        for size in kind.shape:
            self._poly(size)
        if kind.mem is not None:
            lmad = kind.mem.lmad
            self._poly(lmad.offset)
            for dim in lmad.dims:
                self._poly(dim.size)
                self._poly(dim.stride)
        self._filled = ()

    def _poly(self, poly: Poly) -> Poly:
        if poly.as_name is None:
            for name in poly.names() & self.made.defined.keys():
                self._poly(Poly.var(name))
        known = self.made.sizes.get(poly)
        of = poly, self._filled
        if known != () and self._proved.get(of) not in self._open:
            few = poly.terms_after(self.made.defined) <= MOST_UNFOLDED
            unfolded = poly.subst(self.made.defined) if few else None
            self.made.sizes[poly] = self._fitting(unfolded, poly, known)
            self._proved[of] = self._open[-1]
        return poly

    def _fitting(self, unfolded: Poly | None, named: Poly, elsewhere: _Fitting | None) -> _Fitting:
        """Return the readings that fit here and elsewhere; without the unfolded one if None."""
        ways = ("unfolded", "named") if elsewhere is None else elsewhere
        found: _Fitting = ()
        if unfolded is not None and "unfolded" in ways and self._fits(unfolded):
            found = ("unfolded",)
        if "named" in ways and not (found and named == unfolded) and self._fits(named):
            found = (*found, "named")
        return found

    def _fits(self, poly: Poly) -> bool:
        """True if a polynomial fits, provided that the array it is about has elements."""
        if self._fitted.get(poly) in self._open:
            return True
        if self._facts.is_value(poly):
            self._fitted[poly] = self._open[-1]
            return True
        if all(size.constant is not None for size in self._filled):
            return False
        self._facts.enter()
        for size in self._filled:
            self._facts.runs(size)
        found = self._facts.is_value(poly)
        self._facts.leave()
        return found


def best(ways: _Fitting) -> Reading:
    """Return the best of the readings that fit."""
    return ways[0] if ways else "opaque"


class _Sizes(_Walk):
    """Analysis of sizes alone, which takes a fraction of the time."""

    def _look(self, se: ir.SE, table: dict[ir.SE, _Fitting]) -> ir.SE:
        return se


_last: list[tuple[ir.Function, Exact]] = []
"""Cache of the function analysed last."""


def _sizes(fun: ir.Function) -> Exact:
    if not _last or _last[0][0] is not fun:
        _last[:] = [(fun, _Sizes(fun).made)]
    return _last[0][1]


def is_exact(size: Poly, fun: ir.Function, shown: list[Argument]) -> bool:
    """True if a size of an array of `fun` equals its polynomial at every occurrence.

    Adds the arguments for that to `shown`, once per function.
    """
    if size.as_name is not None or _is_small(size, fun):
        return True
    exact = _sizes(fun)
    if exact.shown and not (shown and shown[-1] is exact.shown[-1]):
        shown += exact.shown
    ways = exact.sizes.get(size, ())
    return "named" in ways or ("unfolded" in ways and size.names().isdisjoint(exact.defined))


def _is_small(size: Poly, fun: ir.Function) -> bool:
    """True if a size is a sum of a few input sizes."""
    types = [param.type for param in fun.params] if fun.entry else []
    given = {dim.as_name for kind in types if isinstance(kind, ir.Array) for dim in kind.shape}
    degrees = ((coeff, sum(power for _, power in mono)) for mono, coeff in size.terms.items())
    largest = sum(abs(coeff) * LARGEST_INPUT**degree for coeff, degree in degrees)
    return given >= size.names() and largest <= HIGH


def _is_sum(se: ir.SE) -> bool:
    """True for a sum, difference, product or negation of i64."""
    if type(se) is ir.Bin:
        return se.at == "i64" and se.op in _SUMS
    return type(se) is ir.Un and se.op == "neg" and se.at == "i64"


def _same(x: T) -> T:
    return x


def _nothing() -> None:
    """Learn no fact."""
