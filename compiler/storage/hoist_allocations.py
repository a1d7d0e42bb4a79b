"""Hoist allocations out of host loops and branches, with double buffering.

A block that is dead at the end of an iteration is allocated once, if its size is loop-invariant. A
block passed on to the next iteration is read there while the next one is written: two blocks are
allocated and alternate (double buffering), plus one for each further iteration that the array
lives. The loop's initial array is not overwritten, unless nothing else needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.remarks import Applied, Missed
from compiler.base.rules import Rule
from compiler.ir import nodes as ir
from compiler.ir.sizes import se_of
from compiler.ir.source_names import Inhabitants, sentence
from compiler.ir.walk import all_stms, mentioned, subst_mentioned
from compiler.protocol.refusals import NotHoisted
from compiler.storage.blocks import all_links, classes
from compiler.storage.interference import Sizes, fused_scan_blocks, owners

HOIST = Rule(
    "merge/hoist", "Moves an allocation of the same size in every iteration out of the loop."
)
NEAR = 32
"""Maximum number of blocks compared per side of a branch."""
DOUBLE = Rule(
    "merge/double-buffer",
    "Replaces allocations in a loop by alternating blocks that are allocated before it.",
)


@dataclass(frozen=True, slots=True)
class Enclosing:
    """The body around a loop: its statements, with the loop at `at`, and results."""

    stms: Sequence[ir.Stm]
    at: int
    results: Sequence[ir.Operand]
    sizes: Sizes
    called: Inhabitants


def hoist_from_loop(outer: Enclosing, ctx: Ctx) -> list[ir.Stm]:
    """Return the hoisted allocations, then the loop without them.

    The loop alone, and the same object, if there are none.
    """
    stm = outer.stms[outer.at]
    loop = stm.exp
    assert isinstance(loop, ir.Loop)
    made = {s.pat[0].name: s for s in loop.body.stms if isinstance(s.exp, ir.Alloc)}
    if not made:
        return [stm]
    return _Hoisting(outer, stm, loop, made, ctx).all()


class _Hoisting:
    """Hoists the allocations `made` of one loop."""

    def __init__(
        self, outer: Enclosing, stm: ir.Stm, loop: ir.Loop, made: dict[Name, ir.Stm], ctx: Ctx
    ) -> None:
        self.outer = outer
        self.stm = stm
        self.loop = loop
        self.ctx = ctx
        apart = fused_scan_blocks(loop.body, ctx.target)
        self.made = {name: stm for name, stm in made.items() if name not in apart}
        self.same = classes(loop.body.stms)
        self.inside = {param.name for stm in loop.body.stms for param in stm.pat}
        """Names bound in the loop."""
        self.inside.update(param.name for param in loop.params)
        if isinstance(loop.form, ir.ForLoop):
            self.inside.add(loop.form.index)
        self.before: list[ir.Stm] = []
        self.gone: set[Name] = set()
        self.params: list[ir.Param] = []
        self.init: list[ir.Operand] = []
        self.results: list[ir.Operand] = []
        self.pat: list[ir.Param] = []

    def all(self) -> list[ir.Stm]:
        """Return the new statements."""
        results = zip(self.loop.params, self.loop.body.results, strict=True)
        blocks = [(k, str(r)) for k, (p, r) in enumerate(results) if isinstance(p.type, ir.Mem)]
        kept = {self.same.find(name) for _, name in blocks if name not in self.made}
        for name, stm in self.made.items():
            positions = [k for k, result in blocks if result == name]
            if positions or self.same.find(name) not in kept:
                self._move(name, stm, positions, blocks)
        if not self.gone:
            return [self.stm]
        stms = tuple(s for s in self.loop.body.stms if not s.pat or s.pat[0].name not in self.gone)
        old = self.loop.body
        body = ir.Body(stms, (*self.results, *old.results), old.prov)
        params, init = (*self.params, *self.loop.params), (*self.init, *self.loop.init)
        loop = replace(self.loop, params=params, init=init, body=body)
        return [*self.before, ir.Stm((*self.pat, *self.stm.pat), loop, self.stm.prov)]

    def _move(
        self, name: Name, stm: ir.Stm, positions: list[int], blocks: list[tuple[int, Name]]
    ) -> None:
        """Hoist a block if its size is known before the loop; else explain why not."""
        exp = stm.exp
        assert isinstance(exp, ir.Alloc)
        inside = exp.count.names() & self.inside
        if inside:
            self._refused(name, stm, exp, min(inside))
        elif self._has_size(exp.count):
            if not positions:
                self._hoist(name, stm, exp)
            elif len(positions) == 1:
                self._double_buffer(positions[0], name, stm, exp, blocks)

    def _has_size(self, count: Poly) -> bool:
        """True if `max(size, 0)` can be computed before the loop."""
        sizes = self.outer.sizes
        return sizes.is_size(count) or sizes.fits(count) or _less(count) is not None

    def _at_least_none(self, count: Poly) -> ir.SE:
        """Return `max(size, 0)`: `max(k, 3) - 3` for `k - 3`, which may wrap."""
        less = None if self.outer.sizes.fits(count) else _less(count)
        if less is None:
            return ir.Bin("max", "i64", se_of(count), ir.ZERO)
        by = ir.Lit(less, "i64")
        return ir.Bin("-", "i64", ir.Bin("max", "i64", se_of(count + less), by), by)

    def _per_iteration(self, exp: ir.Alloc) -> tuple[tuple[str, str]]:
        return (("allocated per iteration", self.outer.called.spell.size(exp.prim, exp.count)),)

    def _refused(self, name: Name, stm: ir.Stm, exp: ir.Alloc, other: Name) -> None:
        called = self.outer.called
        because = sentence(
            f"{called(name, stm.prov)} gets new memory in every iteration of the loop, because its "
            f"size depends on {called.spell.quoted(other)}."
        )
        numbers = self._per_iteration(exp)
        kind = NotHoisted.OWN_SIZE
        self.ctx.commit(HOIST, stm.prov, Missed(because, kind.hint(), numbers, kind.id))

    def _hoist(self, name: Name, stm: ir.Stm, exp: ir.Alloc) -> None:
        """Hoist a block that no iteration passes on."""
        array = self.outer.called(name, stm.prov)
        because = f"Allocates the memory of {array} once, not in every iteration of the loop."
        numbers = self._per_iteration(exp)
        if self.ctx.commit(HOIST, stm.prov, Applied(True, because, numbers)) is None:
            return
        self._allocate(stm.pat[0], exp, stm)
        self.gone.add(name)

    def _allocate(self, block: ir.Param, exp: ir.Alloc, stm: ir.Stm) -> None:
        """Append an allocation before the loop.

        Where its size may be invalid, it becomes `max(size, 0)`, or 0 if the loop has no iteration.
        """
        count = exp.count
        if not self.outer.sizes.is_size(count):
            size = ir.Param(self.ctx.fresh("size"), ir.I64)
            value = self._at_least_none(count)
            runs = self._runs()
            if runs is not None:
                value = ir.Select(runs, value, ir.ZERO)
            self.outer.sizes.known.define(size.name, value)
            self.before.append(ir.Stm((size,), value, stm.prov))
            count = Poly.var(size.name)
        self.before.append(ir.Stm((block,), replace(exp, count=count), stm.prov))

    def _runs(self) -> ir.SE | None:
        """Return the condition that the loop has a first iteration; None if it certainly has."""
        form = self.loop.form
        if isinstance(form, ir.ForLoop):
            if isinstance(form.bound, ir.Lit) and form.bound.value > 0:
                return None
            return ir.Bin(">", form.prim, form.bound, ir.Lit(0, form.prim))
        names = [param.name for param in self.loop.params]
        first = self.loop.init[names.index(form.cond)]
        assert not isinstance(first, str)
        return first

    # --- double buffering ---

    def _double_buffer(
        self, at: int, name: Name, stm: ir.Stm, exp: ir.Alloc, blocks: list[tuple[int, Name]]
    ) -> None:
        """Let blocks alternate as the one that is written."""
        array = self.outer.called(self.loop.params[at].name, stm.prov)
        chain = self._chain(at, blocks)
        if chain is None:
            because = sentence(
                f"{array} gets new memory in every iteration, because the number of "
                "iterations for which it is live is unknown."
            )
            kind = NotHoisted.KEPT_FOR_LONG
            self.ctx.commit(DOUBLE, stm.prov, Missed(because, kind.hint(), (), kind.id))
            return
        starts = [str(self.loop.init[k]) for k in reversed(chain)]
        own = [start for start in starts if self._owned(start, exp)]
        count = len(chain) + 1
        words = {2: "two blocks", 3: "three blocks"}.get(count, f"{count} blocks")
        because = sentence(
            f"{array} alternates between {words} that are allocated before the loop, so "
            "the loop never writes to the block that it still reads."
        )
        numbers = self._per_iteration(exp)
        if self.ctx.commit(DOUBLE, stm.prov, Applied(True, because, numbers)) is None:
            return
        self.gone.add(name)
        ring: list[Name] = []
        for _ in range(count - len(own)):
            new = ir.Param(self.ctx.fresh(name), stm.pat[0].type)
            ring.append(new.name)
            self._allocate(new, exp, stm)
        ring += own
        held = [name] + [self.ctx.fresh(name) for _ in ring[1:]]
        self.params += [ir.Param(one, stm.pat[0].type) for one in held]
        self.init += ring
        self.results += [*held[1:], held[0]]
        self.pat += [ir.Param(self.ctx.fresh(name), stm.pat[0].type) for _ in held]

    def _chain(self, at: int, blocks: list[tuple[int, Name]]) -> list[int] | None:
        """Return the loop positions that a block passes through, in order; None if unknown."""
        names = {self.loop.params[k].name for k, _ in blocks}
        chain = [at]
        seen = {
            self.same.find(self.loop.params[at].name),
            self.same.find(str(self.loop.body.results[at])),
        }
        while True:
            now = self.loop.params[chain[-1]].name
            following = [k for k, result in blocks if result == now]
            if len(following) > 1:
                return None
            if not following:
                break
            chain += following
            seen.add(self.same.find(self.loop.params[following[0]].name))
        for k, result in blocks:
            plain = result in names or result in self.made
            if k not in chain and not plain and self.same.find(result) in seen:
                return None
        if len(seen) != len(chain) + 1:
            return None
        return chain

    def _owned(self, start: Name, exp: ir.Alloc) -> bool:
        """True if the loop's initial block has that size and nothing else needs it."""
        stms, at = self.outer.stms, self.outer.at
        binder = next((s for s in stms[:at] if any(p.name == start for p in s.pat)), None)
        old = None if binder is None else _made(binder, start)
        if old is None or (old.prim, old.space) != (exp.prim, exp.space):
            return False
        if not self.outer.sizes.known.equal(old.count, exp.count):
            return False
        owner = owners(stms)
        others = all_links((*stms[:at], *stms[at + 1 :]))
        if any(start in (name, block) for name, block, _ in others):
            return False
        arrays = {name for name, block in owner.items() if block == start} | {start}
        if any(not arrays.isdisjoint(mentioned(s)) for s in stms[at + 1 :]):
            return False
        inside = any(not arrays.isdisjoint(mentioned(s)) for s in self.loop.body.stms)
        given = any(isinstance(r, str) and r in arrays for r in self.outer.results)
        duplicate = list(self.loop.init).count(start) > 1
        returned = any(r in arrays for r in self.loop.body.results if isinstance(r, str))
        return not (inside or given or duplicate or returned)


def hoist_from_branches(stm: ir.Stm, sizes: Sizes, ctx: Ctx, called: Inhabitants) -> list[ir.Stm]:
    """Hoist a block that both branches allocate with equal size.

    Blocks that both return come first. Returns the statements; the statement alone, and the same
    object, if there is no such block.
    """
    *before, last = _with_common_results(stm, sizes, ctx, called)
    return [*before, *_with_common_blocks(last, sizes, ctx, called)]


def _with_common_blocks(stm: ir.Stm, sizes: Sizes, ctx: Ctx, called: Inhabitants) -> list[ir.Stm]:
    """Hoist common blocks that at most one branch returns."""
    exp = stm.exp
    assert isinstance(exp, ir.If)
    sides = [_safe_allocations(body, sizes, ctx) for body in (exp.then, exp.orelse)]
    before: list[ir.Stm] = []
    renamed: dict[Name, Name] = {}
    for made in sides[0].values():
        one = made.pat[0]
        for name, other in sides[1].items():
            alloc = _common_alloc(exp, _alloc(made), _alloc(other), sizes)
            if alloc is None:
                continue
            arrays = called(one.name, made.prov), called(name, other.prov)
            because = sentence(
                f"One block is allocated before the branches, for {arrays[0]} in one "
                f"branch and {arrays[1]} in the other."
            )
            if ctx.commit(HOIST, made.prov, Applied(True, because)) is not None:
                before.append(ir.Stm((one,), alloc, made.prov))
                renamed |= {name: one.name, one.name: one.name}
                del sides[1][name]
            break
    if not before:
        return [stm]
    then, orelse = (_renamed(body, renamed, set()) for body in (exp.then, exp.orelse))
    return [*before, ir.Stm(stm.pat, ir.If(exp.cond, then, orelse), stm.prov)]


def _safe_allocations(body: ir.Body, sizes: Sizes, ctx: Ctx) -> dict[Name, ir.Stm]:
    """Return the allocations of a branch that may be executed before it.

    Nothing before them can fail, or they can fail for lack of memory alone. Excludes scan prefixes
    that may never be materialised.
    """
    found: dict[Name, ir.Stm] = {}
    apart = fused_scan_blocks(body, ctx.target)
    fails = False
    for stm in body.stms:
        if isinstance(stm.exp, ir.Alloc):
            name = stm.pat[0].name
            if name not in apart and (not fails or sizes.is_size(stm.exp.count)):
                found[name] = stm
        elif len(found) == NEAR:
            break
        else:
            fails = fails or any(isinstance(s.exp, _FAILS) for s in all_stms((stm,)))
    return found


_FAILS = (ir.Assert, ir.Call, ir.Apply)


def _alloc(stm: ir.Stm) -> ir.Alloc:
    assert isinstance(stm.exp, ir.Alloc)
    return stm.exp


def _with_common_results(stm: ir.Stm, sizes: Sizes, ctx: Ctx, called: Inhabitants) -> list[ir.Stm]:
    """Hoist common blocks that both branches return."""
    exp = stm.exp
    assert isinstance(exp, ir.If)
    sides = [_allocations(exp.then), _allocations(exp.orelse)]
    before: list[ir.Stm] = []
    renamed: dict[Name, Name] = {}
    dropped: set[int] = set()
    for k, param in enumerate(stm.pat):
        names = [str(exp.then.results[k]), str(exp.orelse.results[k])]
        one, other = (side.get(name) for side, name in zip(sides, names, strict=True))
        alloc = _common_alloc(exp, one, other, sizes) if renamed.keys().isdisjoint(names) else None
        if alloc is None:
            continue
        array = called(param.name, stm.prov)
        because = f"Allocates memory for {array} once, before the branches, because both need it."
        if ctx.commit(HOIST, stm.prov, Applied(True, because)) is not None:
            before.append(ir.Stm((param,), alloc, stm.prov))
            renamed |= dict.fromkeys(names, param.name)
            dropped.add(k)
    if not dropped:
        return [stm]
    then, orelse = (_renamed(body, renamed, dropped) for body in (exp.then, exp.orelse))
    pat = tuple(param for k, param in enumerate(stm.pat) if k not in dropped)
    return [*before, ir.Stm(pat, ir.If(exp.cond, then, orelse), stm.prov)]


def _renamed(body: ir.Body, renamed: Mapping[Name, Name], dropped: set[int]) -> ir.Body:
    """Rename blocks in a branch, and drop their allocations and results."""
    stms = tuple(s for s in body.stms if not s.pat or s.pat[0].name not in renamed)
    results = tuple(result for k, result in enumerate(body.results) if k not in dropped)
    return subst_mentioned(ir.Body(stms, results, body.prov), renamed)


def _made(stm: ir.Stm, block: Name) -> ir.Alloc | None:
    """Return the allocation that makes a block, or its equivalent for a call; None for others."""
    if isinstance(stm.exp, ir.Alloc):
        return stm.exp
    if isinstance(stm.exp, ir.Call):
        for kind in (param.type for param in stm.pat):
            if isinstance(kind, ir.Array) and kind.mem is not None and kind.mem.block == block:
                return ir.Alloc(Poly.product(kind.shape), kind.prim)  # the array fills its block
    return None


def _less(count: Poly) -> int | None:
    """Return `k` for a size of the form `name - k` with `k > 0`, else None."""
    constant = count.terms.get((), 0)
    return -constant if constant < 0 and (count - constant).as_name is not None else None


def _allocations(body: ir.Body) -> dict[Name, ir.Alloc]:
    return {stm.pat[0].name: stm.exp for stm in body.stms if isinstance(stm.exp, ir.Alloc)}


def _common_alloc(
    exp: ir.If, first: ir.Alloc | None, second: ir.Alloc | None, sizes: Sizes
) -> ir.Alloc | None:
    """Return the allocation of a common block if its size is known before the branch."""
    if first is None or second is None:
        return None
    if (first.prim, first.space) != (second.prim, second.space):
        return None
    if not sizes.known.equal(first.count, second.count):
        return None
    for made, body in ((first, exp.then), (second, exp.orelse)):
        inside = {param.name for stm in body.stms for param in stm.pat}
        if made.count.names().isdisjoint(inside):
            return made
    return None
