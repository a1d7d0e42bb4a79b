"""Keep blocks allocated inside a kernel from being carried by loops and returned by branches.

An expanded block has one place per thread, given by an index function. A loop or branch that passes
such blocks on would need that place at run time. So a loop's array gets one block before the loop,
into which each iteration's result is copied; and the results of two branches go into one block
allocated before them, unless their size is known only there: then they return offset and strides as
well. Blocks from outside the kernel may be passed on.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from compiler import codes
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name, base_of
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.sizes import se_of
from compiler.ir.source_names import Spelling, sentence
from compiler.ir.walk import NESTED, Replacement, free, map_stms, mentioned, subst_mentioned
from compiler.storage.derived_layouts import Followers, reshaped

DOUBLE_BUFFER = Rule(
    "memory/double-buffer",
    "Reports copies that loops inside kernels need.",
    optional=False,
)


class FixedBlocks:
    """Transforms the blocks of one kernel; `outer` are the types of outer names."""

    def __init__(self, ctx: Ctx, outer: dict[Name, ir.Type], spell: Spelling) -> None:
        self.ctx = ctx
        self.spell = spell
        self.outer = outer
        self.types: ChainMap[Name, ir.Type] = ChainMap({}, outer)
        """Types of outer and inner names."""
        self.pointers: set[Name] = set()
        """Inner names of blocks allocated outside."""
        self.travelling: set[Name] = set()
        """Blocks allocated in the kernel that branches return nonetheless; see `_with_parts`."""
        self.mapping: dict[Name, Replacement] = {}
        """Replacements of names that are no longer bound."""
        self.followers = Followers(ctx)
        self.replaced = 0
        """Number of these substituted in the enclosing statement."""

    def transform(
        self, stms: Sequence[ir.Stm], results: Sequence[ir.KernelResult] | None = None
    ) -> list[ir.Stm]:
        """Transform the statements of a body; `results`, if given, are all that is needed of it."""
        out: list[ir.Stm] = []
        outside = self.replaced
        behind = _behind(stms, results) if results is not None and any(map(_carries, stms)) else {}
        for at, stm in enumerate(stms):
            if len(self.mapping) > outside:
                stm = subst_mentioned(stm, self.mapping)
                self.replaced = len(self.mapping)
            if self.followers.blocks:
                stm = self._in_order(stm, out)
                stm = self.followers.stm(stm, self._mem, out)
            if isinstance(stm.exp, ir.If):
                self._branches(stm, stm.exp, out)
            elif isinstance(stm.exp, ir.Loop):
                self._loop(stm, stm.exp, out, behind.get(at))
            else:
                if type(stm.exp) in NESTED:
                    exp = map_stms(stm.exp, lambda inner: tuple(self.transform(inner)))
                    stm = ir.Stm(stm.pat, exp, stm.prov)
                out.append(stm)
            self._bind(out[-1].pat)
        self.replaced = outside
        return out

    def _bind(self, params: Iterable[ir.Param]) -> None:
        for param in params:
            self.types[param.name] = param.type

    def _may_travel(self, block: Name) -> bool:
        """True if a block is certainly allocated outside the kernel."""
        return block in self.outer or block in self.pointers

    def _mem(self, array: Name) -> ir.MemBind:
        kind = self.types[array]
        assert isinstance(kind, ir.Array)
        assert kind.mem is not None
        return kind.mem

    def _allocate(self, like: ir.Param, kind: ir.Array, prov: Prov, out: list[ir.Stm]) -> Name:
        """Allocate a block for an array of that shape, in the space of `like`."""
        assert isinstance(like.type, ir.Mem)
        name = self.ctx.fresh(like.name)
        count = Poly.product(kind.shape)
        self._bind((ir.Param(name, like.type),))
        made = ir.Alloc(count, kind.prim, like.type.space)
        out.append(ir.Stm((ir.Param(name, like.type),), made, prov))
        return name

    def _copied(
        self, array: Name, kind: ir.Array, block: Name, prov: Prov, out: list[ir.Stm]
    ) -> Name:
        """Append a copy of `array` to the start of `block`."""
        name = self.ctx.fresh(array)
        mem = ir.MemBind(block, Lmad.row_major(kind.shape))
        param = ir.Param(name, ir.Array(kind.prim, kind.shape, mem))
        self._bind((param,))
        out.append(ir.Stm((param,), ir.Copy(array), prov))
        return name

    def _forget(self, parts: Sequence[ir.Param], array: ir.Param, block: Name) -> ir.Param:
        """Bind the array to the start of `block`; substitutes its layout parameters."""
        kind = array.type
        assert isinstance(kind, ir.Array)
        assert kind.mem is not None
        lmad = Lmad.row_major(kind.shape)
        self.mapping[parts[0].name] = block
        for old, new in [
            (kind.mem.lmad.offset, lmad.offset),
            *zip(kind.mem.lmad.strides, lmad.strides, strict=True),
        ]:
            name = old.as_name
            if name is not None and any(name == part.name for part in parts):
                self.mapping[name] = new
        return ir.Param(
            array.name, ir.Array(kind.prim, kind.shape, ir.MemBind(block, lmad)), array.unique
        )

    # --- branches ---

    def _branches(self, stm: ir.Stm, exp: ir.If, out: list[ir.Stm]) -> None:
        bodies = [self._body(exp.then), self._body(exp.orelse)]
        pat: list[ir.Param] = list(stm.pat)
        dropped: set[int] = set()
        travelling = self._moved(stm.pat)
        built: tuple[dict[Name, Replacement], ...] = ({}, {})
        for first, last in carried(stm.pat):
            blocks = [str(body.results[first]) for body in bodies]
            if all(map(self._may_travel, blocks)):
                self.pointers.add(stm.pat[first].name)
                continue
            kind = stm.pat[last].type
            assert isinstance(kind, ir.Array)
            names = {param.name for param in stm.pat}
            if any(names & size.names() for size in kind.shape):
                travelling[last] = first
                self.travelling.update(blocks)
                continue
            block = self._allocate(stm.pat[first], kind, stm.prov, out)
            bodies = [
                self._into(body, first, last, kind, block, stm.prov, made)
                for body, made in zip(bodies, built, strict=True)
            ]
            pat[last] = self._forget(stm.pat[first:last], stm.pat[last], block)
            dropped.update(range(first, last))
        bodies = [subst_mentioned(body, made) for body, made in zip(bodies, built, strict=True)]
        results = [list(body.results) for body in bodies]
        for last, first in sorted(travelling.items(), reverse=True):
            before = len(pat)
            pat[first : last + 1] = self._with_parts(pat[first : last + 1])
            for side in results:
                side[first : last + 1] = self._parts(str(side[last]), pat[first])
            dropped = {k + len(pat) - before if k > last else k for k in dropped}
        then, orelse = (
            ir.Body(body.stms, _without(side, dropped), body.prov)
            for body, side in zip(bodies, results, strict=True)
        )
        out.append(ir.Stm(_without(pat, dropped), ir.If(exp.cond, then, orelse), stm.prov))

    def _in_order(self, stm: ir.Stm, out: list[ir.Stm]) -> ir.Stm:
        """Reshape a copy, where the new layout of an array admits no such view."""
        exp = stm.exp
        if not isinstance(exp, ir.Reshape):
            return stm
        mem, kind = self._mem(exp.array), self.types[exp.array]
        if mem.block not in self.followers.blocks or reshaped(mem.lmad, exp.shape) is not None:
            return stm
        assert isinstance(kind, ir.Array)
        block = self._allocate(ir.Param(mem.block, ir.Mem(kind.prim)), kind, stm.prov, out)
        return replace(
            stm, exp=replace(exp, array=self._copied(exp.array, kind, block, stm.prov, out))
        )

    def _moved(self, params: Sequence[ir.Param]) -> dict[int, int]:
        """Find arrays whose blocks were relaid, and where their layout parameters begin."""
        found: dict[int, int] = {}
        for last, param in enumerate(params):
            kind = param.type
            if isinstance(kind, ir.Array) and kind.mem and kind.mem.block in self.followers.blocks:
                names = kind.mem.lmad.offset.names().union(
                    *(s.names() for s in kind.mem.lmad.strides)
                )
                first = last
                while first and params[first - 1].name in names:
                    first -= 1
                found[last] = first
        return found

    def _with_parts(self, old: Sequence[ir.Param]) -> list[ir.Param]:
        """Return parameters that pass an array on with its own offset and strides.

        `old` ends with the array; a travelling block comes first, previous layout parameters are
        dropped.
        """
        array = old[-1]
        kind = array.type
        assert isinstance(kind, ir.Array)
        assert kind.mem is not None
        base = base_of(array.name)
        offset = ir.Param(self.ctx.fresh(f"{base}_offset"), ir.I64)
        strides = [ir.Param(self.ctx.fresh(f"{base}_stride"), ir.I64) for _ in kind.shape]
        pairs = zip(kind.shape, strides, strict=True)
        dims = tuple(Dim(size, Poly.var(stride.name)) for size, stride in pairs)
        mem = ir.MemBind(kind.mem.block, Lmad(Poly.var(offset.name), dims))
        new = ir.Param(array.name, ir.Array(kind.prim, kind.shape, mem), array.unique)
        self.followers.moved(array, new)
        block = [param for param in old[:1] if isinstance(param.type, ir.Mem)]
        return [*block, offset, *strides, new]

    def _parts(self, array: Name, first: ir.Param) -> list[ir.Operand]:
        """Return the operands for `_with_parts`; `first` is its first parameter."""
        parts = layout_parts(self._mem(array))
        if not isinstance(first.type, ir.Mem) and parts[0] not in self.followers.blocks:
            raise CompilerBug(f"`{array}` is in another block than what it is handed on as")
        return [*(parts if isinstance(first.type, ir.Mem) else parts[1:]), array]

    def _body(self, body: ir.Body) -> ir.Body:
        stms = tuple(self.transform(body.stms, body.results))
        results = subst_mentioned(body.results, self.mapping) if self.mapping else body.results
        return ir.Body(stms, results, body.prov)

    def _into(
        self,
        body: ir.Body,
        first: int,
        last: int,
        kind: ir.Array,
        block: Name,
        prov: Prov,
        built: dict[Name, Replacement],
    ) -> ir.Body:
        """Place a branch's result at the start of `block`: copied, or built there.

        In the second case `built` records the replaced block.
        """
        array, made = str(body.results[last]), body.results[first]
        count = Poly.product(kind.shape)
        lmad = self._mem(array).lmad
        alone = body.results.count(made) == 1 and lmad.offset == 0 and lmad.is_row_major()
        for at, stm in enumerate(body.stms):
            exp = stm.exp
            if isinstance(exp, ir.Alloc) and stm.pat[0].name == made:
                if alone and exp.count == count:
                    built[str(made)] = block
                    return replace(body, stms=body.stms[:at] + body.stms[at + 1 :])
                break
        stms = list(body.stms)
        copied = self._copied(array, kind, block, prov, stms)
        results = (*body.results[:last], copied, *body.results[last + 1 :])
        return ir.Body(tuple(stms), results, body.prov)

    # --- loops ---

    def _loop(self, stm: ir.Stm, exp: ir.Loop, out: list[ir.Stm], behind: _Behind | None) -> None:
        """Transform a loop; `behind` is None if the statements after it are unknown."""
        local = self._local(exp)
        params, init, pat = list(exp.params), list(exp.init), list(stm.pat)
        blocks: dict[int, Name] = {}
        dropped: set[int] = set()
        moved = self._moved(params)
        places = {last: self._with_parts(params[first : last + 1]) for last, first in moved.items()}
        for last, placed in places.items():
            params[last] = placed[-1]
        names = {param.name for param in params}
        for first, last in carried(exp.params):
            if first not in local:
                self.pointers |= {params[first].name, pat[first].name}
                continue
            kind = params[last].type
            assert isinstance(kind, ir.Array)
            if any(names & size.names() for size in kind.shape):
                raise _unknown_size(self.spell.array(params[last].name), stm.prov)
            taken = behind is not None and self._is_taken(exp, last, behind)
            block, init[last] = self._start(exp, first, last, taken, stm.prov, out)
            blocks[last] = block
            pat[last] = self._forget(pat[first:last], pat[last], block)
            params[last] = self._forget(params[first:last], params[last], block)
            dropped.update(range(first, last))
        self._bind(params)
        body = self._body(exp.body)
        if blocks:
            body = self._back(body, blocks, params, stm.prov)
        results = list(body.results)
        for last, first in sorted(moved.items(), reverse=True):
            size, placed = len(pat), places[last]
            params[first : last + 1] = placed
            pat[first : last + 1] = self._with_parts(pat[first : last + 1])
            for side in (init, results):
                side[first : last + 1] = self._parts(str(side[last]), placed[0])
            dropped = {k + len(pat) - size if k > last else k for k in dropped}
        body = replace(body, results=_without(results, dropped))
        new = ir.Loop(_without(params, dropped), _without(init, dropped), exp.form, body)
        out.append(ir.Stm(_without(pat, dropped), new, stm.prov))

    def _local(self, exp: ir.Loop) -> set[int]:
        """Return positions of block parameters that may carry blocks allocated in the kernel."""
        firsts = {exp.params[first].name: first for first, _ in carried(exp.params)}
        local: set[int] = set()
        grown = True
        while grown:
            grown = False
            for first in firsts.values():
                start, end = str(exp.init[first]), str(exp.body.results[first])
                stays = firsts[end] not in local if end in firsts else self._may_travel(end)
                if first not in local and not (self._may_travel(start) and stays):
                    local.add(first)
                    grown = True
        return local

    def _is_taken(self, exp: ir.Loop, last: int, behind: _Behind) -> bool:
        """True if only the loop needs its initial array, and nothing else is in that block."""
        block = self._mem(str(exp.init[last])).block
        there = {
            name
            for name, kind in self.types.items()
            if isinstance(kind, ir.Array) and kind.mem is not None and kind.mem.block == block
        }
        return (
            block in behind.made
            and block not in self.travelling
            and sum(value in there for value in exp.init) == 1
            and behind.needed.isdisjoint((block, *there))
            and free(exp.body).isdisjoint((block, *there))
        )

    def _start(
        self, exp: ir.Loop, first: int, last: int, taken: bool, prov: Prov, out: list[ir.Stm]
    ) -> tuple[Name, Name]:
        """Return the block that a loop's array stays in, and the initial value there.

        The initial value's own block serves if the loop consumes it, or if it is `taken`.
        """
        array = str(exp.init[last])
        kind, mem = exp.params[last].type, self._mem(array)
        assert isinstance(kind, ir.Array)
        row_major = mem.lmad.offset == 0 and mem.lmad.is_row_major()
        its_own = (exp.params[last].unique or taken) and not self._may_travel(mem.block)
        if its_own and row_major:
            return mem.block, array
        block = self._allocate(exp.params[first], kind, prov, out)
        return block, self._copied(array, kind, block, prov, out)

    def _back(
        self, body: ir.Body, blocks: dict[int, Name], params: Sequence[ir.Param], prov: Prov
    ) -> ir.Body:
        """Copy the iteration's results to where the next one expects them."""
        stms = list(body.stms)
        results: list[ir.Operand] = list(body.results)
        waiting: dict[int, Name] = {}
        for last, block in blocks.items():
            here, there = self._mem(str(results[last])), self._mem(params[last].name)
            if here.block != block or not here.lmad.same_cells(there.lmad):
                waiting[last] = here.block
        while waiting:
            last = self._next(waiting, blocks, params, results, stms, prov)
            kind = params[last].type
            assert isinstance(kind, ir.Array)
            del waiting[last]
            results[last] = self._copied(str(results[last]), kind, blocks[last], prov, stms)
            self._explain(params[last].name, kind, prov)
        return ir.Body(tuple(stms), tuple(results), body.prov)

    def _next(
        self,
        waiting: dict[int, Name],
        blocks: dict[int, Name],
        params: Sequence[ir.Param],
        results: list[ir.Operand],
        stms: list[ir.Stm],
        prov: Prov,
    ) -> int:
        """Return a result whose copy overwrites no pending source.

        If there is none (a cycle), saves the first one in a temporary.
        """
        for last in waiting:
            if blocks[last] not in waiting.values():
                return last
        last = next(iter(waiting))
        owner = next(other for other in waiting if waiting[other] == blocks[last])
        kind = params[owner].type
        assert isinstance(kind, ir.Array)
        like = ir.Param(blocks[owner], self.types[blocks[owner]])
        temporary = self._allocate(like, kind, prov, stms)
        results[owner] = self._copied(str(results[owner]), kind, temporary, prov, stms)
        waiting[owner] = temporary
        return self._next(waiting, blocks, params, results, stms, prov)

    def _explain(self, name: Name, kind: ir.Array, prov: Prov) -> None:
        size = self.spell.size(kind.prim, Poly.product(kind.shape))
        because = sentence(
            f"{self.spell.array(name)} is a loop parameter inside a kernel, so each "
            "iteration's result is copied back to where the next iteration reads it."
        )
        numbers = (("copied per iteration", size),)
        self.ctx.tell("note", DOUBLE_BUFFER, prov, because, numbers=numbers)


@dataclass(frozen=True, slots=True)
class _Behind:
    """Blocks that a body has allocated before a statement, and names needed after it."""

    made: frozenset[Name]
    needed: frozenset[Name]


def _carries(stm: ir.Stm) -> bool:
    """True for a loop that carries arrays with their blocks."""
    return isinstance(stm.exp, ir.Loop) and bool(carried(stm.exp.params))


def _behind(stms: Sequence[ir.Stm], results: Sequence[ir.KernelResult]) -> dict[int, _Behind]:
    """Return the context of each loop of a body, by position."""
    found: dict[int, _Behind] = {}
    made = [stm.pat[0].name for stm in stms if isinstance(stm.exp, ir.Alloc)]
    needed = free(tuple(results))
    for at in range(len(stms) - 1, -1, -1):
        if isinstance(stms[at].exp, ir.Loop):
            found[at] = _Behind(frozenset(made), frozenset(needed))
        needed |= mentioned(stms[at])
    return found


def layout_parts(mem: ir.MemBind) -> list[ir.Operand]:
    """Return an array's block, offset and strides as operands."""
    strides = [se_of(dim.stride) for dim in mem.lmad.dims]
    return [mem.block, se_of(mem.lmad.offset), *strides]


def carried(params: Sequence[ir.Param]) -> list[tuple[int, int]]:
    """Return positions of block parameters, each with the array after it that lives there."""
    found: list[tuple[int, int]] = []
    for first, param in enumerate(params):
        if isinstance(param.type, ir.Mem):
            for last in range(first + 1, len(params)):
                kind = params[last].type
                if isinstance(kind, ir.Array):
                    if kind.mem is not None and kind.mem.block == param.name:
                        found.append((first, last))
                    break
    return found


_Item = TypeVar("_Item")


def _without(items: Sequence[_Item], dropped: set[int]) -> tuple[_Item, ...]:
    return tuple(item for k, item in enumerate(items) if k not in dropped)


def _unknown_size(called: str, prov: Prov) -> Limitation:
    return Limitation.at(
        codes.limits.KERNEL_LOOP,
        f"The size of {called} changes in a loop inside a kernel, so its memory cannot "
        "be allocated before the kernel.",
        prov,
        "Create it with its largest possible size, and count the elements in use.",
    )
