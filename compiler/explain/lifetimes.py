"""Lifetimes of arrays and blocks: bytes that are live at each statement.

A program point is a statement; a kernel is one point with all that it does inside, a loop's or
branch's statements are points of their own. An array is live from the point that makes it to the
last one that uses it; an array from outside that a loop's body uses is live until the loop ends.

A block that comes out of a branch or a loop is one of several (its roots). Arrays in it are drawn
in each of them, and count as the largest: `bytes` is what is needed at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from compiler.algebra.as_data import plain, plain_cells
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Called, Name, base_of
from compiler.base.prim import BYTES, Prim
from compiler.base.spans import Prov, user_spans
from compiler.explain.possible_values import PossibleValues
from compiler.ir import nodes as ir
from compiler.ir.known import Known
from compiler.ir.walk import all_stms, free
from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import names_in
from compiler.storage.blocks import Meanings, made_by_call

PROPOSED_SIZE, PROPOSED_OTHER = 100, 10
"""Proposed values of sizes of arguments, and of all other names."""
ONE = Poly.const(1)


def lifetimes(
    prog: ir.Prog, values: Mapping[Name, int] | None = None, called: Called = base_of
) -> Json:
    """Return for each function its name, points, blocks, arrays, symbols and totals.

    A point: label, depth (of loops and branches), src. A block: name, prim, space, kind
    (`parameter` or `alloc`), bytes (text), at, until (points), per_point (allocated by every point
    of a kernel), src. An array: name, base, shape, lmad, blocks (its roots; several if it lies in
    one of them), first, last, src. With `values` also: size of each block in bytes, `live` (bytes
    live at each point) and `peak`: bytes and point; beside `functions` are then the `values` of
    all symbols, proposed where none were given. `called` names them for display.
    """
    walks = [_Walk(fun, called) for fun in prog.funs]
    functions = [walk.data() for walk in walks]
    if values is None:
        return {"functions": functions}
    used: dict[Name, int] = {}
    for walk, data in zip(walks, functions, strict=True):
        given = {name: values[name] for name in data["symbols"] if name in values}
        used = walk.proposed(given) | used | given
        data |= walk.totals(data["blocks"], used)
    return {"functions": functions, "values": used}


@dataclass(slots=True)
class _Block:
    name: Name
    prim: Prim
    space: str
    kind: str
    count: Poly
    at: int
    loops: tuple[int, ...]
    prov: Prov
    per_point: bool = False


@dataclass(slots=True)
class _Array:
    param: ir.Param
    kind: ir.Array
    block: Name
    first: int
    loops: tuple[int, ...]
    prov: Prov
    last: int = 0
    roots: tuple[Name, ...] = ()


@dataclass(slots=True)
class _Walk:
    """Walks the statements of one function."""

    fun: ir.Function
    called: Called
    points: list[Json] = field(default_factory=list)
    blocks: dict[Name, _Block] = field(default_factory=dict)
    arrays: dict[Name, _Array] = field(default_factory=dict)
    loops: dict[int, int] = field(default_factory=dict)
    uses: list[tuple[Name, int, tuple[int, ...]]] = field(default_factory=list)
    carried: dict[Name, int] = field(default_factory=dict)
    known: Known = field(default_factory=Known)

    # --- walking ---

    def data(self) -> Json:
        fun = self.fun
        for stm in all_stms(fun.body.stms):
            if len(stm.pat) == 1 and stm.pat[0].type == ir.I64 and isinstance(stm.exp, ir.SE_NODES):
                self.known.define(stm.pat[0].name, stm.exp)
        self._point("parameters", 0, fun.prov)
        self._bind(fun.params, fun.prov, (), "parameter")
        self._body(fun.body.stms, 1, ())
        end = self._point("results", 0, fun.prov)
        self._use(fun.body.results, end, ())
        self._finish()
        return self._answer()

    def _point(self, label: str, depth: int, prov: Prov) -> int:
        self.points.append({"label": label, "depth": depth, "src": user_spans(prov)})
        return len(self.points) - 1

    def _body(self, stms: Sequence[ir.Stm], depth: int, loops: tuple[int, ...]) -> None:
        for stm in stms:
            self._stm(stm, depth, loops)

    def _stm(self, stm: ir.Stm, depth: int, loops: tuple[int, ...]) -> None:
        exp = stm.exp
        if isinstance(exp, (*ir.SE_NODES, ir.Index)):
            self._use(free(exp), max(0, len(self.points) - 1), loops)
            return
        here = self._point(label(stm), depth, stm.prov)
        match exp:
            case ir.Alloc():
                self._alloc(stm.pat[0], exp, here, loops, stm.prov, ONE)
            case ir.Call():
                self._use(free(exp), here, loops)
                for param in stm.pat:
                    if isinstance(param.type, ir.Mem):
                        made = ir.Alloc(made_by_call(stm)[param.name], param.type.prim)
                        self._alloc(param, made, here, loops, stm.prov, ONE)
                self._bind(stm.pat, stm.prov, loops, "")
            case ir.If(_, then, orelse):
                for body in (then, orelse):
                    self._inside(body, depth + 1, loops)
                self._point(label(stm, "end of if"), depth, stm.prov)
                self._bind(stm.pat, stm.prov, loops, "")
            case ir.Loop():
                self._loop(stm, exp, here, depth, loops)
            case _ if isinstance(exp, ir.SegOp):
                self._use(free(exp), here, loops)
                self._kernel(exp, here, loops)
                self._bind(stm.pat, stm.prov, loops, "")
            case _:
                self._use(free(exp), here, loops)
                self._bind(stm.pat, stm.prov, loops, "")

    def _inside(self, body: ir.Body, depth: int, loops: tuple[int, ...]) -> None:
        self._body(body.stms, depth, loops)
        self._use(body.results, len(self.points) - 1, loops)

    def _loop(
        self, stm: ir.Stm, exp: ir.Loop, here: int, depth: int, loops: tuple[int, ...]
    ) -> None:
        self._use(exp.init, here, loops)
        inner = (*loops, here)
        self._bind(exp.params, stm.prov, inner, "")
        self.carried.update((param.name, here) for param in exp.params)
        self._inside(exp.body, depth + 1, inner)
        self.loops[here] = len(self.points) - 1
        self._point(label(stm, "end of loop"), depth, stm.prov)
        self._bind(stm.pat, stm.prov, loops, "")

    def _kernel(self, exp: ir.SegOp, here: int, loops: tuple[int, ...]) -> None:
        """Add all blocks that a kernel makes, at the kernel's own point."""
        times = Poly.product([bound for _, bound in exp.space.dims])
        for inner in all_stms(exp.body.stms):
            if isinstance(inner.exp, ir.Alloc):
                self._alloc(inner.pat[0], inner.exp, here, loops, inner.prov, times)
                continue
            if isinstance(inner.exp, ir.Loop):
                self._bind(inner.exp.params, inner.prov, loops, "")
            self._bind(inner.pat, inner.prov, loops, "")

    # --- what is made, and what is used ---

    def _alloc(
        self,
        param: ir.Param,
        exp: ir.Alloc,
        here: int,
        loops: tuple[int, ...],
        prov: Prov,
        times: Poly,
    ) -> None:
        self.blocks[param.name] = _Block(
            param.name,
            exp.prim,
            exp.space,
            "alloc",
            self.known.normal(exp.count * times),
            here,
            loops,
            prov,
            times is not ONE,
        )

    def _bind(
        self, params: Iterable[ir.Param], prov: Prov, loops: tuple[int, ...], kind: str
    ) -> None:
        here = len(self.points) - 1
        for param in params:
            made = param.type
            if isinstance(made, ir.Mem) and kind:
                zero = Poly.const(0)
                block = _Block(param.name, made.prim, made.space, kind, zero, here, loops, prov)
                self.blocks[param.name] = block
            elif isinstance(made, ir.Array) and made.mem is not None:
                array = _Array(param, made, made.mem.block, here, loops, prov, here)
                self.arrays[param.name] = array
                owner = self.blocks.get(array.block)
                if kind and owner is not None:
                    owner.count = self.known.normal(Poly.product(made.shape))

    def _use(self, names: Iterable[ir.Operand], here: int, loops: tuple[int, ...]) -> None:
        self.uses += [(name, here, loops) for name in names if isinstance(name, str)]

    def _finish(self) -> None:
        for name, here, loops in self.uses:
            array = self.arrays.get(name)
            if array is None:
                continue
            array.last = max(array.last, here)
            for loop in loops:
                if loop not in array.loops:
                    array.last = max(array.last, self.loops[loop])
                    break
        meanings = Meanings(self.fun.body.stms)
        for array in self.arrays.values():
            roots = {name.removesuffix("'") for name in meanings.of(array.block)}
            array.roots = tuple(name for name in self.blocks if name in roots)

    # --- the answer ---

    def _answer(self) -> Json:
        sizes = self._sizes()
        held: dict[Name, list[_Array]] = {name: [] for name in self.blocks}
        for array in self.arrays.values():
            for root in array.roots:
                held[root].append(array)
        blocks = [self._block(b, sizes[b.name], held[b.name]) for b in self.blocks.values()]
        arrays = [_array(array, self.called) for array in self.arrays.values()]
        return {
            "name": self.fun.name,
            "names": {name: self.called(name) for name in names_in([*blocks, *arrays])},
            "points": self.points,
            "blocks": blocks,
            "arrays": arrays,
            "symbols": sorted(frozenset[Name]().union(*(size.names() for size in sizes.values()))),
        }

    def _sizes(self) -> dict[Name, Poly]:
        """Return the bytes of each block."""
        return {b.name: b.count * BYTES[b.prim] for b in self.blocks.values()}

    def proposed(self, chosen: Mapping[Name, int]) -> dict[Name, int]:
        """A value for each symbol: what it is in a first round, where that follows from others."""
        given = {
            name for b in self.blocks.values() if b.kind == "parameter" for name in b.count.names()
        }
        symbols = frozenset[Name]().union(*(size.names() for size in self._sizes().values()))
        found = {
            name: PROPOSED_SIZE if name in given else PROPOSED_OTHER for name in sorted(symbols)
        }
        params = [param.name for param in self.fun.params]
        sizes = {**dict.fromkeys(params, PROPOSED_OTHER), **found, **chosen}
        known = {name: sizes[name] for name in {*params, *chosen}}
        possible = PossibleValues(ir.Prog((self.fun,)), known)
        for name in found.keys() - known.keys():
            at = possible.at_start(name)
            found[name] = found[name] if at is None else at
        return found

    def totals(self, blocks: Iterable[Json], values: Mapping[Name, int]) -> Json:
        """Return live bytes at each point and their peak; set each block's size."""
        count = {name: max(0, size.evaluate(values)) for name, size in self._sizes().items()}
        for block in blocks:
            block["size"] = count[block["name"]]
        live = self._live(count)
        most = max(live)
        return {"live": live, "peak": {"bytes": most, "point": live.index(most)}}

    def _block(self, block: _Block, size: Poly, held: list[_Array]) -> Json:
        return {
            "name": block.name,
            "prim": block.prim,
            "space": block.space,
            "kind": block.kind,
            "bytes": plain(size),
            "at": min([block.at, *(a.first for a in held)]),
            "until": max([block.at, *(a.last for a in held)]),
            "per_point": block.per_point,
            "src": user_spans(block.prov),
        }

    def _live(self, count: Mapping[Name, int]) -> list[int]:
        """Return bytes of device memory that are live at each point."""
        certain: list[set[Name]] = [set() for _ in self.points]
        either: list[dict[Name, tuple[Name, ...]]] = [{} for _ in self.points]
        for block in self.blocks.values():
            certain[block.at].add(block.name)
            first = [a.first for a in self.arrays.values() if a.block == block.name]
            for at in range(block.at, min(first, default=block.at)):
                certain[at].add(block.name)
        for array in self.arrays.values():
            for at in range(array.first, array.last + 1):
                if len(array.roots) == 1:
                    certain[at].add(array.roots[0])
                else:
                    either[at][array.block] = array.roots
        return [
            self._needed(count, sure, maybe) for sure, maybe in zip(certain, either, strict=True)
        ]

    def _needed(
        self, count: Mapping[Name, int], sure: set[Name], maybe: Mapping[Name, tuple[Name, ...]]
    ) -> int:
        total = sum(count[name] for name in sure if self.blocks[name].space == "device")
        for block, roots in maybe.items():
            loop = self.carried.get(block)
            total += max(
                (
                    count[root]
                    for root in roots
                    if self.blocks[root].space == "device"
                    # A block made in the body of a loop is another one in each iteration.
                    and (root not in sure or loop in self.blocks[root].loops)
                ),
                default=0,
            )
        return total


def _array(array: _Array, called: Called) -> Json:
    assert array.kind.mem is not None
    return {
        "name": array.param.name,
        "base": called(array.param.name),
        "prim": array.kind.prim,
        "shape": [plain(size) for size in array.kind.shape],
        "lmad": plain_cells(array.kind.mem.lmad),
        "block": array.block,
        "blocks": list(array.roots),
        "first": array.first,
        "last": array.last,
        "src": user_spans(array.prov),
    }


def label(stm: ir.Stm, end: str = "") -> str:
    """Describe a statement in a few words: its names and its kind.

    A loop or branch binds at its end.
    """
    exp = stm.exp
    kind = type(exp).__name__.lower()
    if isinstance(exp, ir.If | ir.Loop) and not end:
        if isinstance(exp, ir.Loop) and isinstance(exp.form, ir.ForLoop):
            return f"loop for {exp.form.index}"
        return kind
    values = [param.name for param in stm.pat if not isinstance(param.type, ir.Mem)]
    names = values or [param.name for param in stm.pat]
    return f"{', '.join(names)} = {end or kind}" if names else end or kind
