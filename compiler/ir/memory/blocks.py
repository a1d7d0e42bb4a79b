"""Resolve block names: which blocks each may mean, their sizes, and the flow of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.walk import NESTED, children, stms_of

Meant = frozenset[Name]


class BlockNames:
    """Block names of one function."""

    def __init__(self, fun: ir.Function) -> None:
        self.sizes: dict[Name, Poly] = {}
        """Number of elements of blocks that are allocated here or given."""
        self._sources: dict[Name, list[tuple[Name, int]]] = {}
        """Sources of a name, with the loop whose earlier iterations produce it, or 0."""
        self._made_in: dict[Name, frozenset[int]] = {}
        self._carried: list[dict[Name, tuple[Name, Name]]] = []
        """For each loop its carried blocks: the initial and the next name."""
        self._given(fun.params)
        self._enter(fun.body.stms, frozenset())

    def _given(self, params: Sequence[ir.Param]) -> None:
        for param in params:
            if isinstance(param.type, ir.Array) and param.type.mem is not None:
                self.sizes[param.type.mem.block] = Poly.product(param.type.shape)

    def _enter(self, stms: Iterable[ir.Stm], loops: frozenset[int]) -> None:
        for stm in stms:
            match stm.exp:
                case ir.Alloc(count):
                    self.sizes[stm.pat[0].name] = count
                    self._made_in[stm.pat[0].name] = loops
                case ir.Call():
                    self._given(stm.pat)
                    self._made_in |= {p.name: loops for p in stm.pat}
                case ir.If(_, then, orelse):
                    for param, *both in zip(stm.pat, then.results, orelse.results, strict=True):
                        self._link(param, both, 0)
                case ir.Loop(params, init, _, body):
                    ends = list(zip(params, stm.pat, init, body.results, strict=True))
                    mems = [end for end in ends if isinstance(end[0].type, ir.Mem)]
                    if len(mems) > 1:
                        carried = {p.name: (str(start), str(end)) for p, _, start, end in mems}
                        self._carried.append(carried)
                    for param, out, start, end in ends:
                        self._link(out, (start, end), 0)
                        self._link(param, (start,), 0)
                        self._link(param, (end,), id(stm))
            if type(stm.exp) in NESTED:
                inner = loops | {id(stm)} if isinstance(stm.exp, ir.Loop) else loops
                for child in children(stm.exp):
                    self._enter(stms_of(child), inner)

    def _link(self, param: ir.Param, ends: Iterable[ir.Operand], loop: int) -> None:
        if isinstance(param.type, ir.Mem):
            found = self._sources.setdefault(param.name, [])
            found += ((str(end), loop) for end in ends)

    def meant(self, block: Name) -> Meant:
        """Return the blocks that a name may mean; a prime marks blocks of an earlier iteration."""
        if block not in self._sources:
            return frozenset((block,))
        return self._meanings.get(block, frozenset())

    @cached_property
    def _meanings(self) -> dict[Name, Meant]:
        """Meanings of all names that are no blocks themselves.

        Reachability from the blocks on: as many steps as blocks times names, whereas paths from a
        name differ in the sets of loops whose iterations they pass.
        """
        users: dict[Name, list[tuple[Name, int]]] = {}
        for name, sources in self._sources.items():
            for source, loop in sources:
                users.setdefault(source, []).append((name, loop))
        found: dict[Name, set[Name]] = {}
        for block in users.keys() - self._sources.keys():
            loops = self._made_in.get(block, frozenset())
            seen = {(block, False)}
            todo = [(block, False)]
            while todo:
                name, earlier = todo.pop()
                found.setdefault(name, set()).add(f"{block}'" if earlier else block)
                for user, loop in users.get(name, ()):
                    step = (user, earlier or loop in loops)
                    if step not in seen:
                        seen.add(step)
                        todo.append(step)
        return {name: frozenset(names) for name, names in found.items()}

    @cached_property
    def _renamed(self) -> bool:
        return bool(self._sources)

    def may_be_one(self, block: Name, other: Name) -> bool:
        """True if two names may mean the same block."""
        if block == other:
            return True
        if not self._renamed or self.meant(block).isdisjoint(self.meant(other)):
            return False
        return (block, other) not in self._distinct

    @cached_property
    def _distinct(self) -> set[tuple[Name, Name]]:
        """Pairs of blocks that a loop carries in changing roles and that are never the same."""
        found: set[tuple[Name, Name]] = set()
        for carried in self._carried:
            pairs = {(a, b) for a in carried for b in carried if a != b}
            while True:
                then = found | pairs
                wrong = {
                    (a, b)
                    for a, b in pairs
                    if self._may_meet(carried[a][0], carried[b][0], found)
                    or self._may_meet(carried[a][1], carried[b][1], then)
                }
                if not wrong:
                    break
                pairs -= wrong
            found |= pairs
        return found

    def _may_meet(self, one: Name, other: Name, apart: set[tuple[Name, Name]]) -> bool:
        """True if the names may mean the same block, given pairs that do not."""
        if one == other:
            return True
        return (one, other) not in apart and not self.meant(one).isdisjoint(self.meant(other))


def mem_of(param: ir.Param) -> ir.MemBind | None:
    """Return the binding of an array; None for scalars and blocks."""
    return param.type.mem if isinstance(param.type, ir.Array) else None


def parts(
    exp: ir.Copy | ir.ArrayLit | ir.Concat, lmad: Lmad[Poly], types: Mapping[Name, ir.Array]
) -> Iterator[tuple[Name, Lmad[Poly]]]:
    """Yield the operands that an operation copies into its result, with their places in it."""
    match exp:
        case ir.Copy(array):
            yield array, lmad
        case ir.ArrayLit(elems):
            for k, elem in enumerate(elems):
                if isinstance(elem, str):
                    yield elem, lmad.fix(Poly.const(k))
        case ir.Concat(arrays):
            start = Poly.const(0)
            for array in arrays:
                count = types[array].shape[0]
                yield array, lmad.slice(0, start, count, Poly.const(1))
                start += count
