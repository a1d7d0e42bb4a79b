"""Let blocks with disjoint live ranges share memory (thesis, chapter 5): the stage `merged`.

Blocks of one body, space and element type are coloured greedily in order of first use. The first
block of a colour keeps its name and grows to the largest size; the other allocations are removed.
Allocations in host loops are hoisted first (`hoist_allocations.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TypeVar

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.remarks import Applied, Missed
from compiler.base.rules import Pass, Rule
from compiler.ir import nodes as ir
from compiler.ir.sizes import se_of
from compiler.ir.source_names import Inhabitants, sentence
from compiler.ir.walk import subst_mentioned
from compiler.protocol.refusals import NotMerged
from compiler.storage.hoist_allocations import (
    DOUBLE,
    HOIST,
    Enclosing,
    hoist_from_branches,
    hoist_from_loop,
)
from compiler.storage.interference import Life, Sizes, fused_scan_blocks, live_ranges

RULE = Rule("merge/blocks", "Merges two memory blocks.")
KERNELS = Rule("merge/in-kernels", "Merges two memory blocks of each point of a kernel.")
NEAR = 64
"""Number of latest colours considered for a block."""
AnyBody = TypeVar("AnyBody", ir.Body, ir.KernelBody)


def merge(prog: ir.Prog, ctx: Ctx) -> ir.Prog:
    """Return the program with fewer blocks; the same object if none can be shared."""
    funs = tuple(_function(fun, ctx) for fun in prog.funs)
    same = all(new is old for new, old in zip(funs, prog.funs, strict=True))
    return prog if same else ir.Prog(funs)


def merge_inside(
    body: ir.KernelBody, sizes: Sizes, ctx: Ctx, called: Inhabitants, least: int
) -> ir.KernelBody:
    """Share memory among the blocks of a thread; the same object if none do.

    Leaves arrays of a constant size of up to `least` bytes alone: they become registers.
    """
    if ctx.options.is_off(KERNELS):
        return body
    return _Inside(sizes, ctx, called, least).body(body)


def _function(fun: ir.Function, ctx: Ctx) -> ir.Function:
    body = _Merging(Sizes(fun, ctx.proved_here()), ctx, Inhabitants(fun, ctx.names.said)).body(
        fun.body
    )
    return fun if body is fun.body else replace(fun, body=body)


@dataclass(slots=True)
class _Merging:
    """Transforms one function, inner bodies first: hoisted blocks are merged already."""

    sizes: Sizes
    ctx: Ctx
    called: Inhabitants

    def body(self, body: ir.Body) -> ir.Body:
        """Return a body with fewer blocks; the same object if none can be shared."""
        stms: list[ir.Stm] = []
        changed = False
        outside = len(self.sizes.made)
        for stm in body.stms:
            new = _in_bodies(stm, self.body)
            changed = changed or new is not stm
            stms.append(new)
            self._made(stm)
        del self.sizes.made[outside:]
        stms, moved = self._hoisted(stms, body)
        if changed or moved:
            body = ir.Body(tuple(stms), body.results, body.prov)
        return body if self.ctx.options.is_off(RULE) else self._shared(body)

    def _made(self, stm: ir.Stm) -> None:
        """Record a block of the body."""
        if isinstance(stm.exp, ir.Alloc):
            self.sizes.made.append(stm.exp.count)

    def _hoisted(self, stms: list[ir.Stm], body: ir.Body) -> tuple[list[ir.Stm], bool]:
        """Hoist allocations out of loops and branches."""
        if self.ctx.options.is_off(HOIST) and self.ctx.options.is_off(DOUBLE):
            return stms, False
        out: list[ir.Stm] = []
        outside = len(self.sizes.made)
        for at, stm in enumerate(stms):
            self._made(stm)
            match stm.exp:
                case ir.Loop():
                    rest = [*out, *stms[at:]]
                    out += hoist_from_loop(
                        Enclosing(rest, len(out), body.results, self.sizes, self.called), self.ctx
                    )
                case ir.If() if not self.ctx.options.is_off(HOIST):
                    out += hoist_from_branches(stm, self.sizes, self.ctx, self.called)
                case _:
                    out.append(stm)
        del self.sizes.made[outside:]
        return out, len(out) != len(stms)

    def _shared(self, body: ir.Body) -> ir.Body:
        """Let the body's own allocations share memory."""
        apart = fused_scan_blocks(body, self.ctx.target)
        found = Colouring(body, self.sizes, self.ctx, self.called, apart=apart)
        return _with_colours(body, found.of(live_ranges(body)))


@dataclass(slots=True)
class _Inside:
    """Transforms the body of one kernel, inner bodies first."""

    sizes: Sizes
    ctx: Ctx
    called: Inhabitants
    least: int

    def body(self, body: AnyBody) -> AnyBody:
        """Return a body with fewer blocks; the same object if none can be shared."""
        stms = tuple(map(self._stm, body.stms))
        if any(new is not old for new, old in zip(stms, body.stms, strict=True)):
            body = replace(body, stms=stms)
        if sum(isinstance(stm.exp, ir.Alloc) and self._large(stm.exp) for stm in body.stms) < 2:
            return body
        plain = ir.Body(body.stms, tuple(_named(body.results)))
        found = [life for life in live_ranges(plain) if self._large(life.alloc)]
        if len(found) < 2:
            return body
        colours = Colouring(plain, self.sizes, self.ctx, self.called, KERNELS, grows=False).of(
            found
        )
        return _with_colours(body, colours)

    def _large(self, alloc: ir.Alloc) -> bool:
        size = alloc.count.constant
        return alloc.space == "shared" or size is None or size * BYTES[alloc.prim] > self.least

    def _stm(self, stm: ir.Stm) -> ir.Stm:
        exp = stm.exp
        if not isinstance(exp, ir.SegOp):
            return _in_bodies(stm, self.body)
        kernel = self.body(exp.body)
        return stm if kernel is exp.body else ir.Stm(stm.pat, replace(exp, body=kernel), stm.prov)


def _in_bodies(stm: ir.Stm, change: Callable[[ir.Body], ir.Body]) -> ir.Stm:
    """Apply `change` to the bodies of a branch or loop; the same object if they are unchanged."""
    match stm.exp:
        case ir.If(cond, then, orelse):
            first, second = change(then), change(orelse)
            if first is not then or second is not orelse:
                return ir.Stm(stm.pat, ir.If(cond, first, second), stm.prov)
        case ir.Loop(body=body):
            inner = change(body)
            if inner is not body:
                return ir.Stm(stm.pat, replace(stm.exp, body=inner), stm.prov)
    return stm


@dataclass(slots=True)
class Colour:
    """Blocks that share memory; the first keeps its name, `until` is the last one's.

    `count` is the size; `grown` computes it where it is no polynomial.
    """

    members: list[Life]
    until: int
    count: Poly
    grown: list[ir.Stm] = field(default_factory=list)
    larger: dict[Name, tuple[Poly, Poly]] = field(default_factory=dict)
    """Names in `count` for the larger of two sizes, where none is computed."""

    @property
    def keeper(self) -> Life:
        """The first block."""
        return self.members[0]

    def allocation(self) -> list[ir.Stm]:
        """Return the statements that allocate the block."""
        keeper = self.keeper
        made = ir.Alloc(self.count, keeper.alloc.prim, keeper.alloc.space)
        block = ir.Param(keeper.name, ir.Mem(made.prim, made.space))
        return [*self.grown, ir.Stm((block,), made, keeper.prov)]


class Colouring:
    """Greedy colouring of one body's blocks; `ctx` supplies options and fuel."""

    def __init__(
        self,
        body: ir.Body,
        sizes: Sizes,
        ctx: Ctx | None,
        called: Inhabitants | None = None,
        rule: Rule = RULE,
        grows: bool = True,
        *,
        apart: frozenset[Name] = frozenset(),
    ) -> None:
        """`apart`: blocks that no other may use, such as prefixes that may not be materialised."""
        self.body = body
        self.sizes = sizes
        self.ctx = ctx
        self.called = called
        self.rule = rule
        self.grows = grows
        self.apart = apart
        self._bound: dict[Name, int] | None = None
        """Index of the statement that binds a name."""

    def of(self, found: list[Life]) -> list[Colour]:
        """Return colours in order of their first block; unshared blocks last."""
        colours, alone = list[Colour](), list[Colour]()
        kinds: dict[tuple[str, str], list[Colour]] = {}
        for life in found:
            if life.name in self.apart:
                alone.append(Colour([life], life.until, life.alloc.count))
                continue
            alike = kinds.setdefault((life.alloc.prim, life.alloc.space), [])
            chosen = self._choose(life, alike[-NEAR:])
            if chosen is None:
                alike.append(Colour([life], life.until, life.alloc.count))
                colours.append(alike[-1])
            else:
                chosen.members.append(life)
                chosen.until = life.until
        return colours + alone

    def _choose(self, life: Life, alike: list[Colour]) -> Colour | None:
        """Return a colour for a block: of equal size, else larger, else one that grows.

        `alike` are the colours of its space and type.
        """
        available = [c for c in alike if c.until < life.start]
        size = life.alloc.count
        for colour in available:
            if self.sizes.equal(colour.count, size):
                return colour if self._commit(colour, life, "has the same size") else None
        if not life.escapes:
            for colour in available:
                if self.sizes.holds(colour.count, size):
                    return colour if self._commit(colour, life, "has enough room") else None
            for colour in available if self.grows else ():
                if self._known_before(size, colour.keeper.made) and self._has_larger(colour, size):
                    return self._grown(colour, life)
        if self.ctx is not None and self.called is not None and self.grows:
            _refused(life, available, alike, self.sizes, self.ctx, self.called)
        return None

    def _has_larger(self, colour: Colour, size: Poly) -> bool:
        """True if the larger of two sizes can be computed without wrapping."""
        if self.sizes.holds(size, colour.count):
            return True
        common, small, large = _common(colour.count, size)
        natural = common == 1 or self.sizes.nonnegative(common)
        return natural and self.sizes.fits(small) and self.sizes.fits(large)

    def _known_before(self, size: Poly, at: int) -> bool:
        """True if a size can be computed before statement `at`."""
        if self._bound is None:
            self._bound = {p.name: k for k, stm in enumerate(self.body.stms) for p in stm.pat}
        return all(self._bound.get(name, -1) < at for name in size.names())

    def _grown(self, colour: Colour, life: Life) -> Colour | None:
        """Return the colour grown to hold one more block."""
        large, small = life.alloc.count, colour.count
        if self.sizes.holds(large, small):
            if not self._commit(colour, life, "becomes as large"):
                return None
            colour.count = large
            return colour
        if not self._commit(colour, life, "gets the size of the larger of the two"):
            return None
        if self.ctx is None:
            name = f"max({small}, {large})"
            colour.larger[name] = small, large
            colour.count = Poly.var(name)
            return colour
        size = self.ctx.fresh("size")
        common, small, large = _common(small, large)
        value = ir.Bin("max", "i64", se_of(small), se_of(large))
        self.sizes.known.define(size, value)
        colour.grown.append(ir.Stm((ir.Param(size, ir.I64),), value, life.prov))
        colour.count = common * Poly.var(size)
        return colour

    def _commit(self, colour: Colour, life: Life, why: str) -> bool:
        if self.ctx is None or self.called is None:
            return True
        keeper = self.called(colour.keeper.name, colour.keeper.prov)
        because = sentence(
            f"{self.called(life.name, life.prov)} reuses the block of {keeper}, which "
            f"is no longer used and which {why}."
        )
        numbers = (("saved", self.called.spell.size(life.alloc.prim, life.alloc.count)),)
        return self.ctx.commit(self.rule, life.prov, Applied(True, because, numbers)) is not None


def _common(one: Poly, other: Poly) -> tuple[Poly, Poly, Poly]:
    """Return the common factor of names of two sizes, and both quotients."""
    names = dict(next(iter(one.terms), ()))
    for mono in (*one.terms, *other.terms):
        powers = dict(mono)
        names = {n: min(p, powers[n]) for n, p in names.items() if n in powers}
    common = Poly({tuple(sorted(names.items())): 1})
    return common, _quotient(one, names), _quotient(other, names)


def _quotient(poly: Poly, names: Mapping[Name, int]) -> Poly:
    """Divide a polynomial by a product of names that divides it."""
    return Poly(
        {
            tuple([(n, p - names.get(n, 0)) for n, p in mono if p > names.get(n, 0)]): coeff
            for mono, coeff in poly.terms.items()
        }
    )


def _refused(
    life: Life,
    available: list[Colour],
    alike: list[Colour],
    sizes: Sizes,
    ctx: Ctx,
    called: Inhabitants,
) -> None:
    """Explain why a promising block got its own memory."""
    name, count = called(life.name, life.prov), life.alloc.count
    numbers = (("allocated", called.spell.size(life.alloc.prim, count)),)
    lasts = (colour.members[-1] for colour in alike if sizes.equal(colour.count, count))
    kept = (last for last in lasts if last.escapes and last.mentioned < life.start)
    other = available[-1].keeper if available else next(kept, None)
    if other is None:
        return
    if available and life.escapes:
        kind = NotMerged.OUTLIVES
        because = f"{name} outlives its body, and no free block has exactly its size."
    elif available:
        kind = NotMerged.LATER_SIZE
        because = (
            f"The earlier block of {called(other.name, other.prov)} is free when {name} is "
            f"written, but {called.spell.poly(count)}, the size of {name}, is not known yet when "
            "it is made."
        )
    else:
        kind = NotMerged.A_RESULT
        because = (
            f"The earlier block of {called(other.name, other.prov)} has the size of {name}, but "
            "it is a result of the body."
        )
    ctx.commit(RULE, life.prov, Missed(sentence(because), kind.hint(), numbers, kind.id))


def _named(results: Iterable[ir.KernelResult]) -> Iterator[ir.Operand]:
    """Yield the results of a body, and the operands of its writes."""
    for result in results:
        if isinstance(result, ir.Write):
            yield result.dest
            yield from (value for _, value in result.writes)
        else:
            yield result


def _with_colours(body: AnyBody, colours: list[Colour]) -> AnyBody:
    """Return the body with one allocation per colour."""
    renamed: dict[Name, Name] = {}
    larger: dict[Name, list[ir.Stm]] = {}
    for colour in colours:
        for life in colour.members[1:]:
            renamed[life.name] = colour.keeper.name
        if colour.count != colour.keeper.alloc.count:
            larger[colour.keeper.name] = colour.allocation()
    if not renamed:
        return body
    stms: list[ir.Stm] = []
    for stm in body.stms:
        name = stm.pat[0].name if isinstance(stm.exp, ir.Alloc) else ""
        if name in larger:
            stms += larger[name]
        elif name not in renamed:
            stms.append(stm)
    return subst_mentioned(replace(body, stms=tuple(stms)), renamed)


MERGE = Pass(
    "merge",
    "Merges memory blocks that are never live at the same time.",
    merge,
    (RULE, DOUBLE, KERNELS, HOIST),
)
