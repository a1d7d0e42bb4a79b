"""What the simplifier knows while it goes through a function, and where statements go.

One forward traversal does everything that needs definitions before uses. A statement is read with
all substitutions made, then either replaced by an operand (copies, common subexpressions, single
uses) or emitted: at the end of its own body, or of an outer one if nothing in it depends on what
lies between (hoisting). Depths: 0 is the function's body, every nested body is one deeper. A set of
depths is a number, with a bit for each. `depths_of` has those that each name depends on; where a
statement may stand is the deepest of those of its names.
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
from compiler.base.prim import COMPARE_OPS
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
    "Moves what is the same every time out of loops and parallel operators.",
    equation="`loop p = x for i < n do (let a = e ..) ==> let a = e loop ..`, where e has no p, i.",
)
OUT_OF_BRANCH = Rule(
    "simplify/out-of-branch",
    "Moves arrays that are the same every time out of branches of loops and parallel operators.",
    equation="`map (\\x -> if c then (let a = e ..) ..) xs ==> let a = e map ..`, e has no x.",
)
T = TypeVar("T")
ScopeKind = Literal["function", "lambda", "loop", "branch", "kernel"]
LEFT = frozenset[ScopeKind](("lambda", "loop"))
"""Bodies that statements may be moved out of."""
_COMPARE = frozenset(COMPARE_OPS)
_MAX_TERMS = 8
MAX_NESTED = 14
"""Operations that one expression may have after a single use was put in place."""


@dataclass(slots=True)
class OpenBody:
    """A body under construction."""

    kind: ScopeKind
    depth: int
    stms: list[ir.Stm] = field(default_factory=list)
    depths: int = 0
    trips: Poly | None = None
    """How often it runs for one run of the body around it, where that is known."""
    known: KnownElements = field(default_factory=KnownElements)
    speculatable: bool = True
    """Nothing in it can fail, whatever surrounds it: the whole may be computed elsewhere."""
    outer_depths: int = 0
    outer_pulled: list[Prov] = field(default_factory=list)


Handlers = Mapping[type, Callable[["State", ir.Stm], None]]
"""What to do with a statement, by the class of its expression."""


RulesByClass = Mapping[type, Sequence[NodeRule]]
"""The rules to try at an expression, by its class."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """A delayed array: element i is `value` where `index` is i; `iota` are the numbers i."""

    index: Name
    value: ir.SE
    iota: Name
    depth: int

    def element(self, at: ir.SE) -> ir.SE:
        """The element at a place."""
        return map_se(self.value, lambda var: at if var.name == self.index else var)


class State:
    """The simplifier's working memory for one function."""

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
        """`unique`: arrays that are consumed or must be fresh; `nest`: put single uses in place.

        `unchanged`: bodies that need not be gone through, to which this round adds its own.
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
        """The depth of the body being simplified."""
        return len(self.scopes) - 1

    def spend(self) -> bool:
        """Pay for a rewrite inside an expression, which makes no others possible elsewhere."""
        return self.ctx.fuel.spend()

    def share(self) -> bool:
        """Pay for a rewrite of statements that goes without saying."""
        self.rewrites += 1
        return self.ctx.fuel.spend()

    def commit(self, rule: Rule, prov: Prov, outcome: Outcome[T]) -> T | None:
        """What a rule has made, if it is paid for and not switched off; its author is told."""
        if outcome is None:
            return None
        new = self.ctx.commit(rule, prov, outcome)
        if new is not None:
            self.rewrites += 1
        return new

    def rewritten(self, stm: ir.Stm, exp: ir.Exp) -> Any:
        """What the first rule that has something to say makes of `exp`, which `stm` computes."""
        for rule in self.rules.get(type(exp), ()):
            new = self.commit(rule, stm.prov, rule.apply(self, stm, exp))
            if new is not None:
                return new
        return None

    def part(self, rule: NodeRule, prov: Prov, *about: Any) -> Any:
        """What a rule makes of a part, which it is told `about`."""
        return self.commit(rule, prov, rule.apply(self, *about))

    def is_off(self, rule: Rule) -> bool:
        """Whether a rule is switched off."""
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
        """End it; its dependencies become those of the statement that it belongs to."""
        scope = self.scopes.pop()
        self.facts.leave()
        self.table.leave()
        scope.depths |= self.depths
        self.depths = scope.outer_depths | (scope.depths & ~(1 << scope.depth))
        self.pulled = scope.outer_pulled + self.pulled
        return scope

    def stays(self, body: Some, told: tuple[object, ...] = ()) -> bool | None:
        """Whether a body that was left as it was, and still would be, is speculatable; else None.

        `told`: what is known of the elements that it is given.

        What is known of its names is then what it would be if it had been gone through.
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
        """A body became another one, or was left as it was.

        `rewrites`: how many there were before. Where single uses were put in place and there was no
        other one, the body is settled as well, unless it has others by now.
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
        """A binding with substitutions made in its type."""
        kind = param.type
        if type(kind) is not ir.Array:
            return param
        shape = self.shape(kind.shape)
        if shape is kind.shape:
            return param
        return ir.Param(param.name, ir.Array(kind.prim, shape, kind.mem), param.unique)

    def shape(self, shape: tuple[Poly, ...]) -> tuple[Poly, ...]:
        """Sizes with substitutions made."""
        new = tuple(map(self.poly, shape))
        return shape if all(map(is_, new, shape)) else new

    # --- names and sizes ---------------------------------------------------------------------

    def name(self, name: Name) -> Name:
        """The array that a name stands for now, which may be another's name that stands for one."""
        while True:
            self.depths |= self.depths_of.get(name, 0)
            found = self.subst.get(name)
            if type(found) is not str:
                return name
            name = found

    def poly(self, poly: Poly) -> Poly:
        """A size with known sizes put in place."""
        hit = False
        for mono in poly.terms:
            for name, _ in mono:
                if name in self.moved and name not in self.polys:
                    self._put_back(name)
                self.depths |= self.depths_of.get(name, 0)
                hit = hit or name in self.polys
        return poly.subst(self.polys) if hit else poly

    def _put_back(self, name: Name) -> None:
        """Bind a value after all that was to be put in place of its only use, which is a size."""
        value = self.subst.pop(name)
        prov = self.moved.pop(name)
        assert not isinstance(value, str)
        stm = ir.Stm((ir.Param(name, ir.I64),), value, prov)
        scope = self.scopes[-1]
        scope.stms.append(stm)
        scope.depths |= self.depths_of[name]
        self.depths_of[name] = 1 << scope.depth

    def depends(self, value: ir.Operand | Poly) -> int:
        """The depths that a simplified operand or size depends on."""
        if isinstance(value, str):
            return self.depths_of.get(value, 0)
        found = 0
        for name in value.names() if isinstance(value, Poly) else free(value):
            found |= self.depths_of.get(name, 0)
        return found

    def decided(self, cond: ir.SE) -> ir.SE | None:
        """A condition that assertions, branches or bounds decide, as a literal."""
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
        """Whether what was known at a depth did not decide it in an earlier round.

        Then nobody asks again: its truth, or whether it can be computed there.
        """
        return (id(exp), limit) in self.undecided

    def leave_undecided(self, exp: ir.Exp, limit: int = EVERYWHERE) -> None:
        """What is known there does not decide it, and would not in another round."""
        if type(exp) is not ir.Var:
            self.open[id(exp), limit] = exp

    # --- statements --------------------------------------------------------------------------

    def prov(self, prov: Prov) -> Prov:
        """A statement's places with those of the expressions that were moved into it."""
        if not self.pulled:
            return prov
        merged = merge_prov(prov, *self.pulled)
        self.pulled.clear()
        return prov if merged == prov else merged

    def alias(self, param: ir.Param, value: ir.Operand) -> None:
        """From now on `param` is `value`, a name, variable or literal."""
        name = param.name
        self.subst[name] = value
        if isinstance(value, str):
            # Whoever used the one now uses the other, in place of the statement that made it one.
            self.counts[value] = self.counts.get(value, 1) - 1 + self.counts.get(name, 0)
        self.depths_of[name] = self.depends(value)
        if not isinstance(value, str) and param.type == ir.I64:
            poly = poly_of(value)
            if poly is not None:
                self.polys[name] = poly

    def let(
        self, param: ir.Param, value: ir.Operand, prov: Prov, old: ir.Stm | None = None
    ) -> None:
        """Bind a simplified operand to a name: a copy, a known expression, or a new statement.

        `self.depths` is what `value` depends on.
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
        if param.type == ir.I64:
            self.facts.defined(param.name, value, depth)

    def emit(
        self,
        pat: tuple[ir.Param, ...],
        exp: ir.Exp,
        prov: Prov,
        safe: Callable[[int], bool] | None = None,
        old: ir.Stm | None = None,
    ) -> int:
        """Add a statement where it belongs, if `safe` there, and answer that depth."""
        prov = self.prov(prov)
        depth = self.depth if safe is None else self._depth_for(pat, exp, prov, safe)
        if self.scopes[depth].speculatable and self._may_leave(depth):
            self.scopes[depth].speculatable = safe is not None and safe(0)
        self.append(depth, pat, exp, prov, old)
        return depth

    def _may_leave(self, depth: int) -> bool:
        """Whether something around a statement of that depth may still move out of its scope.

        That is what `speculatable` is for. Nothing moves out of a scope that it depends on, or of
        the outermost one, of a branch or a kernel; and kernels stay where they are.
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
        """Add a statement at the end of the body of that depth."""
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
        """The outermost depth that a statement can move to (see `hoist.py`)."""
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
        """Where a statement goes that may move to a depth."""
        what = "loop" if self.scopes[depth + 1].kind == "loop" else "parallel operation"
        names = " and ".join(f"`{base_of(param.name)}`" for param in pat)
        said = f"{names}: {why}, and so computed once, before the {what}."
        found = self.commit(rule, prov, Applied(depth, said))
        return self.depth if found is None else found

    def is_in_branch(self, level: int) -> bool:
        """Whether there is a branch between the body being simplified and the one of that depth."""
        return any(scope.kind == "branch" for scope in self.scopes[level + 1 :])

    def _out_of_branch(self, level: int, pat: tuple[ir.Param, ...], exp: ir.Exp) -> int:
        """The outermost depth where what branches make is worth making (see `made_once.py`)."""
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
