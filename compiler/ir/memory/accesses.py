"""Track the reads and writes of a function's blocks, and the liveness of its arrays.

An array is live up to the last statement that mentions it. The flow between arrays tells the
purpose of a write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import NoReturn

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.spans import NOWHERE
from compiler.ir import nodes as ir
from compiler.ir.memory import decide
from compiler.ir.memory.blocks import BlockNames, mem_of
from compiler.ir.memory.integers import Integers
from compiler.ir.memory.known import KnownHere, Moment, Relevant, about
from compiler.ir.slices import as_lmad

WATCHED = 48
"""Maximum number of arrays of one block that a write is compared with; the rest is left open."""


@dataclass(slots=True)
class Tally:
    """Number of proved questions, and the open ones as sentences."""

    proved: int = 0
    open: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CellsTouched:
    """Cells read or written under a name, with the place in the program."""

    name: Name
    mem: ir.MemBind
    whole: ir.MemBind
    """Binding of the accessed array."""
    time: int
    place: Moment
    loops: tuple[int, ...]
    """Start times of the enclosing loops."""
    sides: Mapping[int, bool]
    """Enclosing branches by start time: True for the first side."""
    meeting: bool = False
    """True if several threads may write there concurrently."""


Part = tuple[ir.MemBind, list[Poly]]
"""Cells, and facts that hold if there are any."""


@dataclass(slots=True)
class Kernel:
    """A kernel being traversed."""

    start: int
    dims: tuple[tuple[Name, Poly], ...]
    reads: list[CellsTouched] = field(default_factory=list)
    writes: list[CellsTouched] = field(default_factory=list)


class Accesses:
    """State of one function up to the current statement."""

    def __init__(self, fun: ir.Function, stage: str, tally: Tally, strict: bool = False) -> None:
        self.fun = fun
        self.stage = stage
        self.tally = tally
        self.blocks = BlockNames(fun)
        self.numbers = Integers(strict)
        self.scope = KnownHere()
        self.time = 0
        self.born: dict[Name, int] = {}
        """Time at which each name was bound."""
        self.types: dict[Name, ir.Array] = {}
        self.live: dict[Name, dict[Name, None]] = {}
        """Live arrays, by block."""
        self.into: dict[Name, list[tuple[int, Name]]] = {}
        """Arrays that an array flows into, with the time."""
        self.out_of: dict[Name, list[Name]] = {}
        """Arrays that have flowed into an array."""
        self.reads: dict[Name, list[CellsTouched]] = {}
        self.writes: dict[Name, list[CellsTouched]] = {}
        self.loops: tuple[int, ...] = ()
        self.sides: Mapping[int, bool] = {}
        self.kernels: list[Kernel] = []
        self.ranges = self.numbers.ranges
        self.carried: dict[Name, list[ir.MemBind]] = {}
        """Bindings known to lie in blocks that branches and loops return."""
        self.later: list[tuple[CellsTouched, Name]] = []
        """Writes to live arrays whose overwritten cells may never be read."""
        self.where: list[ir.Stm] = []

    # --- names ---

    def bind(self, param: ir.Param, exp: ir.Exp | None = None) -> None:
        """Enter a name; asks that an array lies inside its block."""
        self.born[param.name] = self.time
        if not isinstance(param.type, ir.Array):
            return
        self.types[param.name] = param.type
        mem = param.type.mem
        if mem is None:
            return  # No memory has been introduced yet.
        sizes = [self.numbers.normal(size) for size in param.type.shape]
        self.scope.know(*(size for size in sizes if self.numbers.is_whole(size, self.scope)))
        self.numbers.sizes.update(size.as_name or "" for size in param.type.shape)
        if isinstance(exp, ir.If | ir.Loop) and mem.block not in self.blocks.sizes:
            self.carried.setdefault(mem.block, []).append(mem)
        elif isinstance(exp, ir.Slice) and (of := self.types[exp.array]).mem is not None:
            assert of.mem is not None
            self.is_inside(param.name, mem, self.slice(of.mem, exp.dims, of)[1])
        else:
            self.is_inside(param.name, mem)

    def is_inside(self, name: Name, mem: ir.MemBind, more: Sequence[Poly] = ()) -> None:
        """Ask whether an array lies inside its block; `more` holds if it is not empty."""
        if not self.scope.is_new(mem):
            return
        lmad = self.numbers.normal_lmad(mem.lmad)
        size = self.size(mem.block)
        if size is None:
            there = self.carried.get(mem.block, ())
            if any(lmad.same_cells(self.numbers.normal_lmad(one.lmad)) for one in there):
                self.tally.proved += 1
            else:
                self.tally.open.append(f"`{name}` in `{mem.block}`, whose size is not known")
            return
        names = lmad.names() | size.names()
        known = about((self.here(more),), names)
        answer = decide.inside(lmad, size, known.facts, self.fits(known, names))
        if isinstance(answer, decide.Proved):
            self.tally.proved += 1
        elif isinstance(answer, decide.Refuted):
            self.fail(f"cell {answer.cell} of `{name}` is outside of `{mem.block}`", answer)
        else:
            self.tally.open.append(f"`{name}` inside of `{mem.block}`")

    def size(self, block: Name) -> Poly | None:
        """Return the size of a block; None if the name may mean blocks of different sizes."""
        sizes = {
            self.numbers.normal(self.blocks.sizes[one.rstrip("'")])
            for one in self.blocks.meant(block)
            if one.rstrip("'") in self.blocks.sizes
        }
        return sizes.pop() if len(sizes) == 1 else None

    def fits(self, known: Relevant, names: Iterable[Name]) -> decide.Fits | None:
        """Return a test whether a point occurs; None if some names are no inputs or indices."""
        every = {name.rstrip("'") for name in known.names().union(names)}
        if not known.all or not every <= self.numbers.chosen:
            return None
        return partial(self.numbers.meets, conditions=tuple(known.conditions))

    def fail(self, what: str, answer: decide.Refuted) -> NoReturn:
        """Raise CompilerBug for a refuted question."""
        numbers = ", ".join(f"{name} = {value}" for name, value in answer.point.items())
        stm = self.where[-1] if self.where else None
        span = stm.prov[0] if stm is not None and stm.prov else NOWHERE
        raise CompilerBug(f"{self.stage}, function `{self.fun.name}`: {what}, for {numbers}", span)

    def need(self, name: Name) -> None:
        """Mark an array as live."""
        mem = self.types[name].mem
        if mem is not None:
            self.live.setdefault(mem.block, {})[name] = None

    def drop(self, name: Name) -> bool:
        """Mark an array as dead; returns whether it was live."""
        kind = self.types.get(name)
        if kind is None or kind.mem is None or name not in self.live.get(kind.mem.block, ()):
            return False
        del self.live[kind.mem.block][name]
        return True

    def put(
        self,
        name: Name,
        whole: ir.MemBind,
        place: ir.MemBind,
        part: Name,
        taken: Name = "",
        known: Sequence[Poly] = (),
    ) -> None:
        """Record a copy of an array to a place, unless it is already there."""
        there = self.types[part].mem
        if there is not None and self.is_there(there, place):
            self.built(part, name)
            return
        self.read(part)
        self.write(name, place, whole, taken, known)

    def is_there(self, mem: ir.MemBind, place: ir.MemBind) -> bool:
        """True if a copy between these bindings is a no-op."""
        normal = self.numbers.normal_lmad
        return mem.block == place.block and normal(mem.lmad).same_cells(normal(place.lmad))

    def slice(self, mem: ir.MemBind, dims: Sequence[ir.DimIndex], of: ir.Array) -> Part:
        """Return the part of an array that indices select; unknowns replace non-polynomial ones.

        With facts that hold for a non-empty part: earlier checks guarantee that it is in bounds.
        """
        lmads = [as_lmad(dim, self.number, self.numbers.normal) for dim in dims]
        known: list[Poly] = []
        for lmad, size in zip(lmads, of.shape, strict=True):
            last = lmad.offset
            for dim in lmad.dims:
                last = last + (dim.size - 1) * dim.stride
            most = self.numbers.normal(size) - 1
            known += (lmad.offset, most - lmad.offset, last, most - last)
        return ir.MemBind(mem.block, mem.lmad.slice_lmad(*lmads)), known

    def number(self, se: ir.SE) -> Poly:
        """Return the polynomial of an index, or an unknown."""
        return self.numbers.number(se, self.scope)

    def row(self, name: Name, mem: ir.MemBind, at: Sequence[ir.SE]) -> Part:
        """Return the cell or row of an array at indices, with the facts that they are in bounds."""
        places = [self.number(se) for se in at]
        known: list[Poly] = []
        for place, size in zip(places, self.types[name].shape, strict=False):
            known += (place, self.numbers.normal(size) - 1 - place)
        return ir.MemBind(mem.block, mem.lmad.fix(*places)), known

    def index_read(self, array: Name, at: Sequence[ir.SE]) -> None:
        """Record the read of an element."""
        mem = self.types[array].mem
        if mem is not None:
            row, known = self.row(array, mem, at)
            unknown = any(name[0] == "?" for name in row.lmad.names())
            self.read(array, row, known if unknown else ())

    def passes(self, source: ir.Operand, param: ir.Param) -> None:
        """Record that an array becomes another without a copy."""
        if isinstance(source, str) and mem_of(param) is not None:
            self.flow(source, param.name)

    def flow(self, source: Name, name: Name) -> None:
        """Record that cells of an array now belong to another name."""
        self.into.setdefault(source, []).append((self.time, name))
        self.out_of.setdefault(name, []).append(source)

    def built(self, part: Name, name: Name) -> None:
        """Record that an array was built in place inside another, which now owns its cells.

        No cell is read, but all must still hold what was written: treated as a read of the whole.
        """
        mem = self.types[part].mem
        if mem is not None:
            found = self.access(part, mem, mem, ())
            self.reads.setdefault(part, []).append(found)
        self.flow(part, name)

    # --- accesses ---

    def access(
        self,
        name: Name,
        mem: ir.MemBind,
        whole: ir.MemBind,
        known: Sequence[Poly],
        meeting: bool = False,
    ) -> CellsTouched:
        """Return the cells touched here; `known` holds if there are any."""
        mem = ir.MemBind(mem.block, self.numbers.normal_lmad(mem.lmad))
        place = self.here(known)
        return CellsTouched(name, mem, whole, self.time, place, self.loops, self.sides, meeting)

    def here(self, known: Sequence[Poly] = ()) -> Moment:
        """Return the current point with additional facts."""
        place = Moment.of(self.scope)
        if not known:
            return place
        scope = KnownHere(place)
        scope.know(*known)
        return Moment.of(scope)

    def read(
        self, name: ir.KernelResult, mem: ir.MemBind | None = None, known: Sequence[Poly] = ()
    ) -> None:
        """Record a read of cells of an array; of all if none are given."""
        if not isinstance(name, str) or name not in self.types:
            return
        whole = self.types[name].mem
        if whole is None:
            return
        found = self.access(name, mem or whole, whole, known)
        self.reads.setdefault(name, []).append(found)
        for kernel in self.kernels:
            if self.born.get(whole.block, 0) < kernel.start:
                kernel.reads.append(found)

    def write(
        self,
        name: Name,
        mem: ir.MemBind,
        whole: ir.MemBind,
        taken: Name = "",
        known: Sequence[Poly] = (),
        meeting: bool = False,
    ) -> None:
        """Record a write to an array, which is a later state of `taken`."""
        found = self.access(name, mem, whole, known, meeting)
        self.writes.setdefault(name, []).append(found)
        for kernel in self.kernels:
            if self.born.get(mem.block, 0) < kernel.start:
                kernel.writes.append(found)
        watched = 0
        for block, names in self.live.items():
            if not names or not self.blocks.may_be_one(block, mem.block):
                continue
            for other in names:
                if other in (name, taken):
                    continue
                watched += 1
                if watched > WATCHED:
                    self.tally.open.append(f"`{name}` and more of `{block}`")
                    return
                self.is_apart(found, other)

    def is_apart(self, write: CellsTouched, other: Name) -> None:
        """Ask whether a write overlaps a live array."""
        mem = self.types[other].mem
        assert mem is not None
        lmad = self.numbers.normal_lmad(mem.lmad)
        written = decide.spread(write.mem.lmad, self.within(write, lmad.names()))
        if decide.is_plainly_apart(written, lmad, self.numbers.natural):
            self.tally.proved += 1
            return
        known = about((write.place,), written.names() | lmad.names())
        if isinstance(decide.apart(written, lmad, known.facts), decide.Proved):
            self.tally.proved += 1
        else:
            self.later.append((write, other))

    def within(
        self, access: CellsTouched, kept: Iterable[Name], since: int = 0
    ) -> dict[Name, Poly]:
        """Return the ranges of an access's indices, innermost first.

        Leaves out `kept`, and indices bound before `since`.
        """
        names = [
            name
            for name in access.mem.lmad.names()
            if name in self.ranges and name not in kept and self.born[name] >= since
        ]
        return {name: self.ranges[name] for name in sorted(names, key=lambda n: (-self.born[n], n))}
