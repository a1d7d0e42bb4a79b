"""Branches and cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.frontend import typed as ty
from compiler.frontend.types import PrimT, Size, SizeVar, Sum
from compiler.ir import nodes as ir
from compiler.ir.build import both, either
from compiler.ir.nodes import (
    FALSE,
    SE,
    TRUE,
    Bin,
    Conv,
    Fun,
    Lit,
    Operand,
    Param,
    Select,
    Stm,
    Un,
    Var,
)
from compiler.ir.sizes import se_of
from compiler.lower.build import Arr, Shape, Value, as_params, operand
from compiler.lower.exps import Exps, literal
from compiler.lower.leaves import leaves, sum_slots

SELECT_WEIGHT = 12
"""A scalar `if` whose branches weigh no more than this computes both."""


def weight(se: SE) -> int:
    """A rough cost; functions and divisions count more."""
    match se:
        case Lit() | Var():
            return 0
        case Bin(op, _, lhs, rhs):
            return (4 if op in ("/", "%", "//", "%%", "**") else 1) + weight(lhs) + weight(rhs)
        case Un(_, _, arg) | Conv(_, _, arg):
            return 1 + weight(arg)
        case Fun(_, _, args):
            return 6 + sum(weight(a) for a in args)
        case Select(cond, then, orelse):
            return 1 + weight(cond) + weight(then) + weight(orelse)


def select(cond: SE, then: SE, orelse: SE) -> SE:
    """`then` if `cond` else `orelse`, as a logic operator where one branch is a truth value."""
    if then == orelse:
        return then
    if then == TRUE:
        return either(cond, orelse)
    if orelse == FALSE:
        return both(cond, then)
    return Select(cond, then, orelse)


@dataclass(frozen=True, slots=True)
class Branch:
    """A lowered branch."""

    stms: list[Stm]
    value: Value

    def names(self) -> set[Name]:
        """What the branch binds."""
        return {p.name for stm in self.stms for p in stm.pat}


@dataclass(frozen=True, slots=True)
class Joined:
    """Two branches becoming one value: its sizes so far, and those that are results themselves."""

    ext: tuple[Name, ...]
    branches: tuple[Branch, Branch]
    inside: set[Name]
    sizes: dict[Size, Poly]
    new: dict[Name, tuple[Poly, Poly]]


class Branches(Exps):
    """Lowering of `if` and `match`."""

    def if_exp(self, e: ty.If, hint: Name) -> Value:
        """An `if`."""
        cond = self.se(e.cond)
        if isinstance(cond, Lit):
            value = self.lower(e.then if cond.value else e.orelse, hint)
        else:
            value = self.branch(
                e, cond, lambda: self.lower(e.then, hint), lambda: self.lower(e.orelse, hint), hint
            )
        self.bind_sizes(e.ext, e.type, value)
        return value

    def branch(
        self,
        e: ty.If | ty.Match,
        cond: SE,
        then: Callable[[], Value],
        orelse: Callable[[], Value],
        hint: Name,
    ) -> Value:
        """One of two values: a `Select` if both are cheap and cannot fail, else an `If`."""
        outer = self.open()
        self.facts.learn(cond, True)
        first = then()
        first_stms = self.close(outer)
        outer = self.open()
        self.facts.learn(cond, False)
        second = orelse()
        second_stms = self.close(outer)
        self.prov = (e.span,)
        if not first_stms and not second_stms:
            chosen = self.choose(cond, first, second)
            if chosen is not None:
                return chosen
        return self.join(e, cond, Branch(first_stms, first), Branch(second_stms, second), hint)

    def choose(self, cond: SE, first: Value, second: Value) -> Value | None:
        """The values as selects, if they are scalars of little cost."""
        total = 0
        for a, b in zip(first, second, strict=True):
            if isinstance(a, Arr) or isinstance(b, Arr):
                if a == b:
                    continue
                return None
            total += weight(a) + weight(b)
        if total > SELECT_WEIGHT:
            return None
        if len(first) > 1:
            cond = self.atom(cond, "c")
        return tuple(
            a if isinstance(a, Arr) or isinstance(b, Arr) else select(cond, a, b)
            for a, b in zip(first, second, strict=True)
        )

    def join(
        self, e: ty.If | ty.Match, cond: SE, then: Branch, orelse: Branch, hint: Name
    ) -> Value:
        """The `If` statement over two lowered branches."""
        declared = leaves(e.type)
        joined = Joined(e.ext, (then, orelse), then.names() | orelse.names(), {}, {})
        shapes = [
            tuple(self.join_size(joined, dim, k, at) for at, dim in enumerate(dims))
            for k, (_, dims, _) in enumerate(declared)
        ]
        self.sizes.update({d.name: p for d, p in joined.sizes.items() if isinstance(d, SizeVar)})
        bodies = [self.branch_body(joined, which, shapes) for which in (0, 1)]
        names = self.names(hint or "r", (end for _, _, end in declared))
        value = self.params(names, e.type, shapes)
        heads = tuple(Param(name, ir.I64) for name in joined.new)
        self.emit((*heads, *as_params(value)), ir.If(cond, bodies[0], bodies[1]))
        return value

    def branch_body(self, joined: Joined, which: int, shapes: list[Shape]) -> ir.Body:
        """One branch: its results in the shapes of the whole, after the sizes that differ."""
        branch = joined.branches[which]
        own = {name: polys[which] for name, polys in joined.new.items()}
        outer = self.open()
        self.stms = branch.stms
        wanted = [tuple(p.subst(own) for p in shape) for shape in shapes]
        result = tuple(self.own(x) for x in self.expect_all(branch.value, wanted))
        heads: list[Operand] = [se_of(poly) for poly in own.values()]
        return ir.Body(tuple(self.close(outer)), (*heads, *(operand(x) for x in result)))

    def join_size(self, joined: Joined, dim: Size, k: int, at: int) -> Poly:
        """Dimension `at` of result `k`: a size known outside, or one more result."""
        known = joined.sizes.get(dim)
        if known is not None:
            return known
        leaf_pair = [branch.value[k] for branch in joined.branches]
        first, second = (leaf.shape[at] for leaf in leaf_pair if isinstance(leaf, Arr))
        inside = joined.inside
        size: Poly | None = None
        if first == second and not first.names() & inside:
            size = first
        elif not (isinstance(dim, SizeVar) and dim.name in joined.ext):
            size = self.known_size(dim)
        if size is None or size.names() & inside:
            name = self.name(dim.name if isinstance(dim, SizeVar) else "n")
            if at == 0:
                self.facts.array([Poly.var(name)])
            joined.new[name] = (first, second)
            size = Poly.var(name)
        joined.sizes[dim] = size
        return size

    def match(self, e: ty.Match, hint: Name) -> Value:
        """Cases as a chain of branches; the last one needs no test."""
        value = self.lower(e.exp)
        self.prov = (e.span,)
        value = tuple(x if isinstance(x, Arr) else self.atom(x) for x in value)
        result = self.cases(e, value, 0, hint)
        self.bind_sizes(e.ext, e.type, result)
        return result

    def cases(self, e: ty.Match, value: Value, at: int, hint: Name) -> Value:
        """The cases from number `at` on."""
        case = e.cases[at]

        def body() -> Value:
            self.bind_pat(case.pat, value)
            return self.lower(case.body, hint)

        cond = TRUE if at == len(e.cases) - 1 else self.matches(case.pat, value)
        if cond == TRUE:
            return body()
        return self.branch(e, cond, body, lambda: self.cases(e, value, at + 1, hint), hint)

    def matches(self, pat: ty.Pat, value: Value) -> SE:
        """Whether a pattern matches."""
        if isinstance(pat, ty.PLit):
            leaf = value[0]
            assert not isinstance(leaf, Arr)
            assert isinstance(pat.type, PrimT)
            return Bin("==", pat.type.prim, leaf, literal(pat.value, pat.type.prim))
        inner: tuple[ty.Pat, ...] = ()
        cond: SE = TRUE
        if isinstance(pat, ty.PRecord):
            inner = tuple(p for _, p in pat.fields)
        elif isinstance(pat, ty.PConstr):
            assert isinstance(pat.type, Sum)
            _, uses = sum_slots(pat.type)
            tag = [name for name, _ in pat.type.variants].index(pat.name)
            cond = Bin("==", "i8", operand(value[0]), Lit(tag, "i8"))  # type: ignore[arg-type]
            value = tuple(value[1 + k] for k in uses[tag])
            inner = pat.args
        start = 0
        for p in inner:
            end = start + len(leaves(p.type))
            cond = both(cond, self.matches(p, value[start:end]))
            start = end
        return cond
