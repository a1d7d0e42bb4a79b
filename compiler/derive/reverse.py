"""Reverse mode: behind the statements, propagate adjoints from the last to the first.

An active name gets an adjoint, of its own type: the sum of the contributions of its uses. Nested
bodies are recomputed where their adjoints are computed, so that nothing of them is kept except the
state of a loop's iterations (`reverse_control.py`).

Note [Free arrays]. Reads by index of a free array of a map become contributions,
an index and a value for each read, added up by one histogram where the array is bound. Adjoints
of a whole free array are added up by a reduction over the map. In the scope that
binds an array, and in its loops, elements are updated at once.

Arrays are treated as values; `prepare.writable` copies those that are overwritten while still
needed. Needs: normalised statements, folds split (`split.py`). Keeps: their results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.derive.activity import Activity
from compiler.derive.partials import edges, total
from compiler.derive.writing import Writing, plus
from compiler.ir import nodes as ir
from compiler.ir.build import row_at, row_dims
from compiler.ir.nodes import SE, Lit, Operand, Param, Type, Var
from compiler.ir.types import array_type, as_operand, prim_type, row_type, shape_of, with_dims
from compiler.ir.walk import all_stms, bound, free, map_stms, rename

END = "_adj"
Back = Callable[[], None]


@dataclass(slots=True)
class Contribution:
    """Values to add to parts of an array, for each point of a batch: indices, and values."""

    batch: tuple[Poly, ...]
    at: tuple[Operand, ...]
    value: Operand


@dataclass(slots=True)
class AdjointScope:
    """Adjoints of a body's names. `own`: arrays whose adjoints it may update at once."""

    own: set[Name] | None
    adjoints: dict[Name, Operand] = field(default_factory=dict)
    parts: dict[Name, list[Contribution]] = field(default_factory=dict)

    def owns(self, name: Name) -> bool:
        """Return True if an array is bound here, or carried by the loop of this body."""
        return self.own is None or name in self.own


class Reverse(Writing):
    """The statements, and behind them their adjoints."""

    def __init__(self, ctx: Any, activity: Activity, rules: Mapping[type, Any]) -> None:
        super().__init__(ctx)
        self.activity = activity
        self.active = activity.active
        self.rules = rules
        """Rules for going back over a statement, by the class of its expression."""
        self.scope = AdjointScope(None)
        self.sums: dict[Name, str] = {}
        """The adjoints of accumulators of surrounding streams, by their arrays."""
        self.inside_map = False
        self.segments: dict[Name, int] = {}
        """Remaining nesting depth of segments for loops, by their indices."""

    # --- going over statements -------------------------------------------------------------------

    def all(self, stms: Sequence[ir.Stm]) -> list[Back]:
        """Append statements; return the functions that go back over them."""
        found: list[Back] = []
        for stm in stms:
            self.prov = stm.prov
            self.learn(stm.pat)
            if self.scope.own is not None:
                self.scope.own.update(p.name for p in stm.pat)
            active = any(p.name in self.active for p in stm.pat)
            rule = self.rules.get(type(stm.exp))
            if rule is None or not (active or isinstance(stm.exp, ALWAYS) or pushes(stm)):
                self.stms.append(stm)
                continue
            found.append(self._placed(stm, rule(self, stm, stm.exp)))
        return found

    def _placed(self, stm: ir.Stm, back: Back) -> Back:
        def run() -> None:
            self.prov = stm.prov
            back()

        return run

    def there_and_back(self, stms: Sequence[ir.Stm], seeds: Callable[[], None]) -> None:
        """Append statements, the seeds of their results, and the way back."""
        backs = self.all(stms)
        seeds()
        for back in reversed(backs):
            back()

    def copied(self, node: Any) -> Any:
        """Copy a lambda or body to run it again."""
        names = {old: self.ctx.fresh(old) for old in bound(node)}
        self.active.update(new for old, new in names.items() if old in self.active)
        return rename(node, self.ctx.fresh, names)

    # --- adjoints --------------------------------------------------------------------------------

    def give(self, operand: Operand, value: Operand) -> None:
        """Add to the adjoint of an operand, if it is active."""
        if isinstance(operand, str):
            if operand in self.active:
                self._add(operand, value)
        else:
            assert not isinstance(value, str)
            self.spread(operand, value)

    def spread(self, se: SE, adjoint: SE) -> None:
        """Propagate the adjoint of a scalar expression to its operands."""
        if isinstance(se, Var):
            if se.name in self.active:
                self._add(se.name, adjoint)
        elif not isinstance(se, Lit):
            self.through(se, se, adjoint)

    def through(self, se: SE, out: SE, adjoint: SE) -> None:
        """Propagate an adjoint through an operation with result `out`."""
        self.check_known(se)
        for edge in edges(se, out):
            if self.activity.has(edge.part):
                self.spread(edge.part, edge.back(adjoint))

    def _add(self, name: Name, value: Operand) -> None:
        old = self.scope.adjoints.get(name)
        kind = self.types[name]
        new = value if old is None else self.sum(name, kind, old, value)
        if not isinstance(new, str):
            new = self.scalar(name, new, END)
        self.scope.adjoints[name] = new

    def sum(self, like: Name, kind: Type, a: Operand, b: Operand) -> Operand:
        """Add two slopes of a type."""
        if not isinstance(a, str) and not isinstance(b, str):
            return total(prim_type(kind), a, b)
        assert isinstance(kind, ir.Array)
        fn = self.adder(row_type(kind))
        return self.bind(like, kind, ir.Map(kind.shape[0], fn, (str(a), str(b))), END)

    def fitted(self, value: Operand, like: Operand) -> Operand:
        """Reshape an adjoint to the sizes of its name, which are equal under other names."""
        kind = self.type_of(like)
        if not isinstance(value, str) or not isinstance(kind, ir.Array):
            return value
        if shape_of(self.types[value]) == kind.shape:
            return value
        return self.bind(value, kind, ir.Reshape(kind.shape, value))

    def adder(self, kind: Type) -> ir.Lambda:
        """Return the function that adds two slopes."""
        a, b = (self.known(Param(self.ctx.fresh(n), kind)) for n in "ab")
        if isinstance(kind, ir.Array):
            outer = self.open()
            result = self.sum("s", kind, a.name, b.name)
            return ir.Lambda((a, b), self.close(outer, (result,)), (kind,))
        prim = prim_type(kind)
        added = ir.Bin(plus(prim), prim, Var(a.name, prim), Var(b.name, prim))
        return ir.Lambda((a, b), ir.Body((), (added,)), (kind,))

    def part(self, array: Name, at: tuple[SE, ...], value: Operand) -> None:
        """Add to the adjoint of a part of an array, selected by its first indices."""
        if array not in self.active:
            return
        if not self.scope.owns(array):
            one = Contribution((), at, value)
            self.scope.parts.setdefault(array, []).append(one)
            return
        kind = self.types[array]
        row = row_type(kind, len(at))
        adjoint = str(self.whole(array))
        old = self.bind(array, row, row_at(adjoint, at, row), "_old")
        new = self.sum(array, row, old, value)
        self.scope.adjoints[array] = self.updated(array, adjoint, at, new)

    def updated(self, like: Name, array: Name, at: Sequence[SE], value: Operand) -> Operand:
        """Replace a part of an array, selected by its first indices."""
        kind = self.types[array]
        dims = row_dims(tuple(at), row_type(kind, len(at)))
        return self.bind(like, kind, ir.Update(array, dims, value), END)

    def parts(self, array: Name, more: Contribution) -> None:
        """Add to the adjoints of many parts of an array; indices out of bounds are ignored.

        A single part of an array that is bound here is deferred: see `reverse_maps.py`.
        """
        if array not in self.active:
            return
        self.scope.parts.setdefault(array, []).append(more)
        if more.batch and self.scope.owns(array):
            self.settle(array)

    def settle(self, array: Name) -> None:
        """Add up the contributions to parts of an array."""
        for one in self.scope.parts.pop(array, []):
            self.scope.adjoints[array] = self._with(array, one)

    def _with(self, array: Name, one: Contribution) -> Operand:
        kind = self.types[array]
        assert isinstance(kind, ir.Array)
        rank = len(one.at)
        row = row_type(kind, rank)
        adjoint = str(self.whole(array))
        given = [self._flat(x, one.batch, ir.I64) for x in one.at]
        values = self._flat(one.value, one.batch, row)
        width = _product(one.batch) if one.batch else Poly.const(1)
        op = ir.Operator(self.adder(row), (self.zero(row),), True)
        fn = self.identity((*[ir.I64] * rank, row))
        hist = ir.Hist(width, (ir.HistOp((adjoint,), rank, op),), fn, (*given, values))
        return self.bind(array, kind, hist, END)

    def _flat(self, operand: Operand, batch: tuple[Poly, ...], row: Type) -> Name:
        if not batch:
            kind = with_dims((Poly.const(1),), row)
            return str(self.bind("one", kind, ir.ArrayLit((operand,))))
        if len(batch) == 1:
            return str(operand)
        shape = (_product(batch), *shape_of(row))
        return str(
            self.bind("flat", array_type(prim_type(row), shape), ir.Reshape(shape, str(operand)))
        )

    def identity(self, kinds: Sequence[Type]) -> ir.Lambda:
        """Return the identity function."""
        params = tuple(self.known(Param(self.ctx.fresh("x"), kind)) for kind in kinds)
        return ir.Lambda(params, ir.Body((), tuple(map(as_operand, params))), tuple(kinds))

    def adjoint(self, name: Name) -> Operand | None:
        """Return the final adjoint of a name; None if it is zero."""
        self.settle(name)
        return self.scope.adjoints.get(name)

    def whole(self, name: Name) -> Operand:
        """Return the adjoint so far, or zeros."""
        found = self.scope.adjoints.get(name)
        if found is None:
            found = self.scope.adjoints[name] = self.zero(self.types[name], f"{name}")
        return found

    def full(self, name: Name) -> Operand:
        """Return the final adjoint, or zeros."""
        self.settle(name)
        return self.whole(name)

    # --- bodies inside -------------------------------------------------------------------------

    def free_active(self, node: object) -> list[Name]:
        """Return the active free names of a body, in a fixed order."""
        return sorted(free(node) & self.active)

    def inside(self, own: Iterable[Name]) -> AdjointScope:
        """Begin a scope that owns these arrays; pass the result to `outside`."""
        outer, self.scope = self.scope, AdjointScope(set(own))
        return outer

    def outside(self, outer: AdjointScope) -> AdjointScope:
        """End a scope and return it."""
        inner, self.scope = self.scope, outer
        return inner


def pushes(stm: ir.Stm) -> bool:
    """Return True if a branch or loop pushes to an accumulator around it."""
    nested = isinstance(stm.exp, ir.If | ir.Loop)
    return nested and any(isinstance(inner.exp, ir.Push) for inner in all_stms((stm,)))


def quiet(stms: Sequence[ir.Stm]) -> tuple[ir.Stm, ...]:
    """Remove pushes to outer accumulators from statements."""
    return tuple(
        ir.Stm(stm.pat, map_stms(stm.exp, quiet), stm.prov) if pushes(stm) else stm
        for stm in stms
        if not isinstance(stm.exp, ir.Push)
    )


ALWAYS = (ir.Push, ir.Stream, ir.Call, ir.Apply)
"""Expressions with a rule even if they bind no active name."""


def _product(sizes: Iterable[Poly]) -> Poly:
    found = Poly.const(1)
    for size in sizes:
        found = found * size
    return found


# --- scalars -----------------------------------------------------------------------------------


def scalar(r: Reverse, stm: ir.Stm, exp: SE) -> Back:
    """Give each operand the product of the adjoint and its partial derivative."""
    r.stms.append(stm)
    (param,) = stm.pat

    def back() -> None:
        adjoint = r.adjoint(param.name)
        if adjoint is None:
            return
        assert not isinstance(adjoint, str)
        if isinstance(exp, Var | Lit):
            r.spread(exp, adjoint)
        else:
            r.through(exp, Var(param.name, prim_type(param.type)), adjoint)

    return back


def refused(r: Reverse, stm: ir.Stm, exp: ir.Call | ir.Apply) -> Back:
    """Refuse a recursive function."""
    raise r.refuse(
        f"`{r.ctx.names.called(exp.fun)}` calls itself, so it cannot be differentiated.",
        "Write it as a `loop`.",
    )
