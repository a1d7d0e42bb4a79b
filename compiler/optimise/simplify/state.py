"""State of the simplifier in one function, and placement of statements.

One forward traversal does everything that needs definitions before uses. A statement is read with
all substitutions applied, then either replaced by an operand (copies, common subexpressions, single
uses) or emitted: at the end of its own body, or of an outer one if it does not depend on those in
between (hoisting). Depths: 0 is the function's body, every nested body is one deeper. A set of
depths is a bit set. `depths_of` has those that each name depends on; a statement may be placed at
the deepest of those of its names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from operator import is_
from typing import Any, Literal, TypeVar

from compiler.algebra.poly import Poly
from compiler.analysis.cost import size
from compiler.analysis.facts import IntegerFacts
from compiler.analysis.ranges import EVERYWHERE
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.prim import COMPARE_OPS, INTS
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import NodeRule, Rule
from compiler.base.spans import Prov, merge_prov
from compiler.ir import nodes as ir
from compiler.ir.may_fail import cannot_fail
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.walk import free, map_se
from compiler.optimise.cse import Table
from compiler.optimise.dead import UseCounts
from compiler.optimise.simplify import made_once
from compiler.optimise.simplify.ends import KnownElements
from compiler.optimise.simplify.unchanged import Left, Some, Unchanged

CSE = Rule(
    "simplify/cse",
    "Computes equal expressions once.",
    equation="`let a = e .. let b = e ==> let a = e .. let b = a`.",
)
HOIST = Rule(
    "simplify/hoist",
    "Moves loop-invariant expressions out of loops and parallel operators.",
    equation="`loop p = x for i < n do (let a = e ..) ==> let a = e loop ..`, where e has no p, i.",
)
OUT_OF_BRANCH = Rule(
    "simplify/out-of-branch",
    "Moves loop-invariant arrays out of branches in loops and parallel operators.",
    equation="`map (\\x -> if c then (let a = e ..) ..) xs ==> let a = e map ..`, e has no x.",
)
T = TypeVar("T")
ScopeKind = Literal["function", "lambda", "loop", "branch", "kernel"]
LEFT = frozenset[ScopeKind](("lambda", "loop"))
"""Bodies out of which statements may be hoisted."""
_COMPARE = frozenset(COMPARE_OPS)
_MAX_TERMS = 8
MAX_NESTED = 14
"""Maximum operations of an expression after substitution of a single use."""


@dataclass(slots=True)
class OpenBody:
    """A body under construction."""

    kind: ScopeKind
    depth: int
    stms: list[ir.Stm] = field(default_factory=list)
    depths: int = 0
    trips: Poly | None = None
    """Number of runs per run of the enclosing body, if known."""
    known: KnownElements = field(default_factory=KnownElements)
    speculatable: bool = True
    """True if nothing in it can fail, in any context."""
    outer_depths: int = 0
    outer_pulled: list[Prov] = field(default_factory=list)


Handlers = Mapping[type, Callable[["State", ir.Stm], None]]
"""Statement handlers by expression class."""


RulesByClass = Mapping[type, Sequence[NodeRule]]
"""Rules by expression class."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """A delayed array: element i is `value` with `index` = i; `iota` holds the indices."""

    index: Name
    value: ir.SE
    iota: Name
    depth: int

    def element(self, at: ir.SE) -> ir.SE:
        """Return the element at a place."""
        return map_se(self.value, lambda var: at if var.name == self.index else var)


class State:
    """The simplifier's state for one function."""

    __slots__ = (
        "counts",
        "ctx",
        "defs",
        "delayed",
        "depths",
        "depths_of",
        "facts",
        "fresh",
        "handlers",
        "holding",
        "moved",
        "nest",
        "off",
        "open",
        "polys",
        "pulled",
        "rewrites",
        "rules",
        "scopes",
        "single",
        "subst",
        "table",
        "types",
        "unchanged",
        "undecided",
        "unique",
    )

    def __init__(
        self,
        ctx: Ctx,
        unique: set[Name],
        uses: UseCounts,
        handlers: Handlers,
        rules: RulesByClass,
        *,
        nest: bool,
        unchanged: Unchanged | None = None,
    ) -> None:
        """`unique`: arrays that are consumed or must be fresh; `nest`: substitute single uses.

        `unchanged`: bodies that need no visit; this round adds its own.
        """
        self.handlers = handlers
        self.rules = rules
        self.ctx = ctx
        self.off = ctx.options.disabled
        self.unique = unique
        self.nest = nest
        self.unchanged = unchanged
        self.undecided = {} if unchanged is None else unchanged.undecided
        self.open: dict[tuple[int, int], ir.Exp] = {}
        self.single = uses.single if nest else set()
        self.holding = uses.holding if nest else set()
        self.counts = uses.counts
        self.fresh: dict[Name, int] = {}
        self.delayed: dict[Name, Delayed] = {}
        self.subst: dict[Name, ir.Operand] = {}
        self.polys: dict[Name, Poly] = {}
        self.depths_of: dict[Name, int] = {}
        self.types: dict[Name, ir.Array] = {}
        self.defs: dict[Name, ir.Exp] = {}
        self.moved: dict[Name, Prov] = {}
        self.facts = IntegerFacts(self.polys, ctx.proved_here())
        self.table = Table()
        self.scopes: list[OpenBody] = []
        self.depths = 0
        self.pulled: list[Prov] = []
        self.rewrites = 0

    @property
    def depth(self) -> int:
        """Depth of the current body."""
        return len(self.scopes) - 1

    def spend(self) -> bool:
        """Spend fuel for a rewrite inside an expression that enables no others elsewhere."""
        return self.ctx.fuel.spend()

    def share(self) -> bool:
        """Spend fuel for a rewrite of statements without a remark."""
        self.rewrites += 1
        return self.ctx.fuel.spend()

    def commit(self, rule: Rule, prov: Prov, outcome: Outcome[T]) -> T | None:
        """Return the result of a rule if fuel and options permit; remarks on it."""
        if outcome is None:
            return None
        new = self.ctx.commit(rule, prov, outcome)
        if new is not None:
            self.rewrites += 1
        return new

    def rewritten(self, stm: ir.Stm, exp: ir.Exp) -> Any:
        """Apply the first matching rule to `exp`, which `stm` computes."""
        for rule in self.rules.get(type(exp), ()):
            new = self.commit(rule, stm.prov, rule.apply(self, stm, exp))
            if new is not None:
                return new
        return None

    def part(self, rule: NodeRule, prov: Prov, *about: Any) -> Any:
        """Apply a rule to a part described by `about`."""
        return self.commit(rule, prov, rule.apply(self, *about))

    def is_off(self, rule: Rule) -> bool:
        """True if a rule is switched off."""
        return rule.id in self.off

    # --- scopes ------------------------------------------------------------------------------

    def enter(self, kind: ScopeKind) -> OpenBody:
        """Begin a nested body."""
        scope = OpenBody(kind, len(self.scopes), outer_depths=self.depths, outer_pulled=self.pulled)
        if kind == "function" and self.unchanged is not None:
            scope.known = self.unchanged.known
        self.scopes.append(scope)
        self.depths, self.pulled = 0, []
        self.facts.enter()
        self.table.enter()
        return scope

    def leave(self) -> OpenBody:
        """End it; its dependences become those of the statement that contains it."""
        scope = self.scopes.pop()
        self.facts.leave()
        self.table.leave()
        scope.depths |= self.depths
        self.depths = scope.outer_depths | (scope.depths & ~(1 << scope.depth))
        self.pulled = scope.outer_pulled + self.pulled
        return scope

    def stays(self, body: Some, told: tuple[object, ...] = ()) -> bool | None:
        """Return whether a still unchanged body is speculatable; None if it must be visited.

        `told`: what is known of its inputs' elements. Updates the state as a visit would.
        """
        left = None if self.unchanged is None else self.unchanged.find(body)
        if left is None or (id(body.stms) in self.holding and not left.nested):
            return None
        if left.told != told:
            return None
        if left.mentions(self.subst.keys(), self.polys.keys()) or not left.makes(self.defs):
            return None
        if not self.delayed.keys().isdisjoint(left.free):
            return None
        for stm in body.stms:
            for param in stm.pat:
                self.depths_of[param.name] = 1 << self.depth
        for name in left.free:
            self.depths |= self.depths_of.get(name, 0)
        return left.speculatable

    def left(
        self,
        old: Some,
        new: Some,
        speculatable: bool,
        rewrites: int,
        told: tuple[object, ...] = (),
    ) -> None:
        """Record whether a body changed.

        `rewrites`: their number before. After a round that only substituted single uses, the body
        is settled as well, unless new ones appeared.
        """
        if self.unchanged is None:
            return
        if new is old or (self.nest and self.rewrites == rewrites):
            nested = self.nest and new is old
            self.unchanged.note(Left(new, speculatable, nested, self.defs, told))

    def bind(self, param: ir.Param) -> ir.Param:
        """Bring a parameter into scope, with its type rewritten."""
        param = self.param(param)
        self.depths_of[param.name] = 1 << self.depth
        if type(param.type) is ir.Array:
            self.types[param.name] = param.type
            self.facts.array(param.type.shape, self.depth)
        return param

    def bind_index(self, name: Name, extent: Poly) -> None:
        """Bring an index into scope, `0 <= name < extent`."""
        self.depths_of[name] = 1 << self.depth
        self.facts.index(name, extent)
        self.facts.runs(extent, self.depth)

    def param(self, param: ir.Param) -> ir.Param:
        """Apply substitutions to a binding's type."""
        kind = param.type
        if type(kind) is not ir.Array:
            return param
        shape = self.shape(kind.shape)
        if shape is kind.shape:
            return param
        return ir.Param(param.name, ir.Array(kind.prim, shape, kind.mem), param.unique)

    def shape(self, shape: tuple[Poly, ...]) -> tuple[Poly, ...]:
        """Apply substitutions to sizes."""
        new = tuple(map(self.poly, shape))
        return shape if all(map(is_, new, shape)) else new

    # --- names and sizes ---------------------------------------------------------------------

    def name(self, name: Name) -> Name:
        """Return the array that a name stands for, following chains."""
        while True:
            self.depths |= self.depths_of.get(name, 0)
            found = self.subst.get(name)
            if type(found) is not str:
                return name
            name = found

    def poly(self, poly: Poly) -> Poly:
        """Substitute known sizes."""
        hit = False
        for mono in poly.terms:
            for name, _ in mono:
                if name in self.moved and name not in self.polys:
                    self._put_back(name)
                self.depths |= self.depths_of.get(name, 0)
                hit = hit or name in self.polys
        return poly.subst(self.polys) if hit else poly

    def _put_back(self, name: Name) -> None:
        """Bind a value after all whose only use, about to be substituted, is in a size."""
        value = self.subst.pop(name)
        prov = self.moved.pop(name)
        assert not isinstance(value, str)
        stm = ir.Stm((ir.Param(name, ir.I64),), value, prov)
        scope = self.scopes[-1]
        scope.stms.append(stm)
        scope.depths |= self.depths_of[name]
        self.depths_of[name] = 1 << scope.depth

    def depends(self, value: ir.Operand | Poly) -> int:
        """Return the depths that a simplified operand or size depends on."""
        if isinstance(value, str):
            return self.depths_of.get(value, 0)
        found = 0
        for name in value.names() if isinstance(value, Poly) else free(value):
            found |= self.depths_of.get(name, 0)
        return found

    def decided(self, cond: ir.SE) -> ir.SE | None:
        """Return the literal value of a condition decided by facts, or None."""
        if (type(cond) is not ir.Bin and type(cond) is not ir.Var) or self.is_undecided(cond):
            return None
        truth = self.facts.truth(cond)
        if truth is None and type(cond) is ir.Bin and cond.op in _COMPARE and cond.at == "i64":
            truth = self.facts.decide(cond.op, cond.lhs, cond.rhs)
        if truth is None:
            self.leave_undecided(cond)
            return None
        return ir.TRUE if truth else ir.FALSE

    def is_undecided(self, exp: ir.Exp, limit: int = EVERYWHERE) -> bool:
        """True if the facts at a depth did not decide it in an earlier round.

        It is not asked again: neither its truth, nor whether it can be computed there.
        """
        return (id(exp), limit) in self.undecided

    def leave_undecided(self, exp: ir.Exp, limit: int = EVERYWHERE) -> None:
        """Record that the facts at a depth do not decide it, in this and later rounds."""
        if type(exp) is not ir.Var:
            self.open[id(exp), limit] = exp

    # --- statements --------------------------------------------------------------------------

    def prov(self, prov: Prov) -> Prov:
        """Return a statement's provenance with that of expressions moved into it."""
        if not self.pulled:
            return prov
        merged = merge_prov(prov, *self.pulled)
        self.pulled.clear()
        return prov if merged == prov else merged

    def alias(self, param: ir.Param, value: ir.Operand) -> None:
        """Substitute `value`, a name, variable or literal, for `param` from now on."""
        name = param.name
        self.subst[name] = value
        if isinstance(value, str):
            # Uses of the one become uses of the other, in place of the aliasing statement.
            self.counts[value] = self.counts.get(value, 1) - 1 + self.counts.get(name, 0)
        self.depths_of[name] = self.depends(value)
        if not isinstance(value, str) and param.type == ir.I64:
            poly = poly_of(value)
            if poly is not None:
                self.polys[name] = poly

    def let(
        self, param: ir.Param, value: ir.Operand, prov: Prov, old: ir.Stm | None = None
    ) -> None:
        """Bind a simplified operand to a name: an alias, a common subexpression, or a statement.

        `self.depths` are the dependences of `value`.
        """
        if isinstance(value, str | ir.Lit | ir.Var):
            self.pulled.clear()
            self.alias(param, value)
            return
        poly = poly_of(value) if param.type == ir.I64 else None
        if poly is not None and len(poly.terms) <= _MAX_TERMS:
            self.polys[param.name] = poly
        if param.name in self.single and size(value) <= MAX_NESTED and self.spend():
            self.subst[param.name] = value
            self.depths_of[param.name] = self.depths
            self.moved[param.name] = self.prov(prov)
            return
        found = self.table.find(value)
        if found is not None and not self.is_off(CSE) and self.share():
            self.pulled.clear()
            self.alias(param, ir.Var(found, param.type.prim))
            return
        pat = (param,) if old is None else old.pat
        depth = self.emit(pat, value, prov, lambda limit: cannot_fail(value), old)
        self.table.add(value, param.name, depth)
        self.defs[param.name] = value
        if type(param.type) is ir.Scalar and param.type.prim in INTS:
            self.facts.defined(param.name, value, depth, param.type.prim)

    def emit(
        self,
        pat: tuple[ir.Param, ...],
        exp: ir.Exp,
        prov: Prov,
        safe: Callable[[int], bool] | None = None,
        old: ir.Stm | None = None,
    ) -> int:
        """Place a statement, as far out as `safe` permits; return the depth."""
        prov = self.prov(prov)
        depth = self.depth if safe is None else self._depth_for(pat, exp, prov, safe)
        if self.scopes[depth].speculatable and self._may_leave(depth):
            self.scopes[depth].speculatable = safe is not None and safe(0)
        self.append(depth, pat, exp, prov, old)
        return depth

    def _may_leave(self, depth: int) -> bool:
        """True if something around a statement of that depth may still be hoisted.

        Only then `speculatable` matters. Nothing is hoisted out of a scope that it depends on, out
        of the outermost one, a branch or a kernel; and kernels stay in place.
        """
        depths = self.depths
        for inner in range(depth, 1, -1):
            if self.scopes[inner].kind == "kernel":
                return False
            depths |= self.scopes[inner].depths
            if self.scopes[inner - 1].kind in LEFT and not depths >> (inner - 1) & 1:
                return True
        return False

    def append(
        self,
        depth: int,
        pat: tuple[ir.Param, ...],
        exp: ir.Exp,
        prov: Prov,
        old: ir.Stm | None = None,
    ) -> None:
        """Append a statement to the body of that depth."""
        scope = self.scopes[depth]
        if old is not None and old.exp is exp and old.pat is pat and old.prov == prov:
            scope.stms.append(old)
        else:
            scope.stms.append(ir.Stm(pat, exp, prov))
        scope.depths |= self.depths
        bit = 1 << depth
        for param in pat:
            self.depths_of[param.name] = bit
            if type(param.type) is ir.Array:
                self.types[param.name] = param.type
                self.facts.array(param.type.shape, depth)

    def _depth_for(
        self, pat: tuple[ir.Param, ...], exp: ir.Exp, prov: Prov, safe: Callable[[int], bool]
    ) -> int:
        """Return the outermost depth that a statement can move to (see `hoist.py`)."""
        here = self.depth
        level = max(self.depths.bit_length() - 1, 0)
        if level < here and self.is_in_branch(level):
            depth = self._out_of_branch(level, pat, exp)
            if depth < here and not self.is_off(OUT_OF_BRANCH) and safe(depth):
                said = "the same every time, also if it is needed in some only"
                return self._moved(OUT_OF_BRANCH, depth, pat, prov, said)
        depth = here
        while depth > level and self.scopes[depth].kind in LEFT:
            depth -= 1
        if depth == here or self.is_off(HOIST) or not safe(depth):
            return here
        return self._moved(HOIST, depth, pat, prov, "the same every time")

    def _moved(
        self, rule: Rule, depth: int, pat: tuple[ir.Param, ...], prov: Prov, why: str
    ) -> int:
        """Return the depth of a statement that may be hoisted, if the rule is committed."""
        what = "loop" if self.scopes[depth + 1].kind == "loop" else "parallel operation"
        names = " and ".join(f"`{base_of(param.name)}`" for param in pat)
        said = f"{names}: {why}, and so computed once, before the {what}."
        found = self.commit(rule, prov, Applied(depth, said))
        return self.depth if found is None else found

    def is_in_branch(self, level: int) -> bool:
        """True if a branch lies between the current body and that of depth `level`."""
        return any(scope.kind == "branch" for scope in self.scopes[level + 1 :])

    def _out_of_branch(self, level: int, pat: tuple[ir.Param, ...], exp: ir.Exp) -> int:
        """Return the outermost depth at which leaving branches pays (see `made_once.py`)."""
        best = depth = self.depth
        count = made_once.elements(pat, exp)
        waits = False
        while count is not None and depth > level and self.scopes[depth].kind != "kernel":
            scope = self.scopes[depth]
            depth -= 1
            if scope.kind == "branch":
                waits = True
            elif waits and scope.trips is not None:
                enough = se_of(made_once.most(scope.trips))
                waits = self.facts.decide("<=", se_of(count), enough, depth) is not True
            if not waits and scope.kind in LEFT:
                best = depth
        return best
