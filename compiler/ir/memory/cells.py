"""Goes through a function, statement by statement, and asks where its arrays lie.

A write must not meet a cell of an array that is read later, other than as what it is written for.
Which arrays that are is said by names: an array is needed up to the last statement that mentions
it. What passes from array to array (`blocks.py`) tells what a write is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.spans import NOWHERE
from compiler.ir import nodes as ir
from compiler.ir.memory import decide
from compiler.ir.memory.blocks import Blocks, mem_of, parts
from compiler.ir.memory.known import Known, Numbers, Place, Scope, about
from compiler.ir.slices import as_lmad
from compiler.ir.walk import mentioned, visit

WATCHED = 48
"""Arrays of one block that a write is compared with; what is beyond is left open."""
PAIRS = 64
"""Pairs of accesses of one kernel that are looked at."""


@dataclass(slots=True)
class Tally:
    """How many questions were proved, and what was left open, as sentences."""

    proved: int = 0
    open: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Access:
    """Cells that are read or written by a name, with where in the program that is."""

    name: Name
    mem: ir.MemBind
    whole: ir.MemBind
    """The place of the array that is accessed."""
    time: int
    place: Place
    loops: tuple[int, ...]
    """When the loops around began."""
    sides: Mapping[int, bool]
    """The branches around, by when they began: whether the first side."""
    meeting: bool = False
    """Whether several threads may write there at once."""


Part = tuple[ir.MemBind, list[Poly]]
"""Cells, and what holds if there are any."""


@dataclass(slots=True)
class Kernel:
    """A kernel that is being gone through."""

    start: int
    dims: tuple[tuple[Name, Poly], ...]
    reads: list[Access] = field(default_factory=list)
    writes: list[Access] = field(default_factory=list)


class Cells:
    """One function."""

    def __init__(self, fun: ir.Function, stage: str, tally: Tally) -> None:
        self.fun = fun
        self.stage = stage
        self.tally = tally
        self.blocks = Blocks(fun)
        self.numbers = Numbers()
        self.scope = Scope()
        self.time = 0
        self.born: dict[Name, int] = {}
        """When each name was bound."""
        self.types: dict[Name, ir.Array] = {}
        self.live: dict[Name, dict[Name, None]] = {}
        """The arrays that are needed, by block."""
        self.into: dict[Name, list[tuple[int, Name]]] = {}
        """What an array passes into, and when."""
        self.out_of: dict[Name, list[Name]] = {}
        """What has passed into an array."""
        self.reads: dict[Name, list[Access]] = {}
        self.writes: dict[Name, list[Access]] = {}
        self.loops: tuple[int, ...] = ()
        self.sides: Mapping[int, bool] = {}
        self.kernels: list[Kernel] = []
        self.ranges: dict[Name, Poly] = {}
        """Indices of loops and kernels, which count from 0, with their bounds."""
        self.carried: dict[Name, list[ir.MemBind]] = {}
        """What is known to lie in blocks that branches and loops give."""
        self.asked: set[tuple[Name, Lmad[Poly]]] = set()
        self.later: list[tuple[Access, Name]] = []
        """Writes to arrays that are needed, where perhaps nobody reads what they overwrite."""
        self.where: list[ir.Stm] = []

    def run(self) -> None:
        """Ask all questions. Raises CompilerBug where an answer is no."""
        for param in self.fun.params:
            self.bind(param)
            if self.fun.entry and param.type == ir.I64:
                self.numbers.chosen.add(param.name)
            if isinstance(param.type, ir.Array):
                self.numbers.natural.update(size.as_name or "" for size in param.type.shape)
        self.body(self.fun.body.stms, self.fun.body.results, set())
        for name in self.fun.body.results:
            if isinstance(name, str) and name in self.types:
                self.read(name)
        for write, name in self.later:
            self.seen_later(write, name)

    # --- names ---

    def bind(self, param: ir.Param, exp: ir.Exp | None = None) -> None:
        """Enter a name; an array has to lie inside of its block."""
        self.born[param.name] = self.time
        if not isinstance(param.type, ir.Array):
            return
        self.types[param.name] = param.type
        mem = param.type.mem
        if mem is None:
            return  # No memory has been introduced yet.
        self.scope.know(*(self.numbers.normal(size) for size in param.type.shape))
        if isinstance(exp, ir.If | ir.Loop) and mem.block not in self.blocks.sizes:
            self.carried.setdefault(mem.block, []).append(mem)
        elif isinstance(exp, ir.Slice) and (of := self.types[exp.array]).mem is not None:
            assert of.mem is not None
            self.is_inside(param.name, mem, self.slice(of.mem, exp.dims, of)[1])
        else:
            self.is_inside(param.name, mem)

    def is_inside(self, name: Name, mem: ir.MemBind, more: Sequence[Poly] = ()) -> None:
        """Ask whether an array lies inside of its block; `more` holds if it is not empty."""
        key = mem.block, mem.lmad
        if key in self.asked:
            return
        self.asked.add(key)
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
        """How large a block is; None where a name may mean blocks of several sizes."""
        sizes = {
            self.numbers.normal(self.blocks.sizes[one.rstrip("'")])
            for one in self.blocks.meant(block)
            if one.rstrip("'") in self.blocks.sizes
        }
        return sizes.pop() if len(sizes) == 1 else None

    def fits(self, known: Known, names: Iterable[Name]) -> decide.Fits | None:
        """Which numbers that meet facts do occur; None where some are no inputs or indices."""
        every = {name.rstrip("'") for name in known.names().union(names)}
        if not known.all or not every <= self.numbers.chosen:
            return None
        return partial(self.numbers.meets, conditions=tuple(known.conditions))

    def fail(self, what: str, answer: decide.Refuted) -> NoReturn:
        """Raise an error: an answer is no."""
        numbers = ", ".join(f"{name} = {value}" for name, value in answer.point.items())
        stm = self.where[-1] if self.where else None
        span = stm.prov[0] if stm is not None and stm.prov else NOWHERE
        raise CompilerBug(f"{self.stage}, function `{self.fun.name}`: {what}, for {numbers}", span)

    # --- bodies ---

    def body(
        self,
        stms: Sequence[ir.Stm],
        results: Sequence[ir.KernelResult],
        dying: set[Name],
        kernel: ir.Stm | None = None,
    ) -> list[Name]:
        """Go through statements; `dying` are arrays from around that are not needed behind them.

        Behind a kernel's statements its results are written. What has been dropped of `dying` is
        given back.
        """
        last = _last_uses(stms, results)
        dropped = [name for name in dying if name not in last and self.drop(name)]
        ends: dict[int, list[Name]] = {}
        for name, at in last.items():
            ends.setdefault(at, []).append(name)
        mine = set(dying)
        for at, stm in enumerate(stms):
            self.where.append(stm)
            ending = mine.intersection(ends.get(at, ()))
            self.statement(stm, ending)
            for name in ending:
                if self.drop(name) and name in dying:
                    dropped.append(name)
            self.time += 1
            self.where.pop()
            for param in stm.pat:
                self.bind(param, stm.exp)
                if param.name in self.types and last.get(param.name, at) > at:
                    mine.add(param.name)
                    self.need(param.name)
        if kernel is not None:
            self.results(kernel, results)
        for name in mine - dying:
            self.drop(name)
        return dropped

    def need(self, name: Name) -> None:
        """An array is needed from here on."""
        mem = self.types[name].mem
        if mem is not None:
            self.live.setdefault(mem.block, {})[name] = None

    def drop(self, name: Name) -> bool:
        """An array is needed no more; whether it was."""
        kind = self.types.get(name)
        if kind is None or kind.mem is None or name not in self.live.get(kind.mem.block, ()):
            return False
        del self.live[kind.mem.block][name]
        return True

    def inner(
        self,
        body: ir.Body | ir.KernelBody,
        dying: set[Name],
        conds: Sequence[tuple[ir.SE, bool]] = (),
        more: Sequence[Poly] = (),
        params: Sequence[ir.Param] = (),
        around: ir.Exp | None = None,
        kernel: ir.Stm | None = None,
    ) -> None:
        """Go through a body with what is known in it."""
        outer = self.scope
        self.scope = Scope(Place.of(outer))
        self.scope.know(*more)
        for cond, holds in conds:
            self.numbers.holds(cond, self.scope, holds)
        for param in params:
            self.bind(param, around)
            if param.name in self.types:
                self.need(param.name)
        dropped = self.body(body.stms, body.results, dying, kernel)
        for param in params:
            self.drop(param.name)
        for name in dropped:
            self.need(name)
        self.scope = outer

    # --- statements ---

    def statement(self, stm: ir.Stm, ending: set[Name]) -> None:
        """What a statement reads and writes; `ending` are arrays that it is the last to mention."""
        match stm.exp:
            case ir.If(cond, then, orelse):
                outer, start = self.sides, self.time
                for body, holds in ((then, True), (orelse, False)):
                    self.time += 1
                    self.sides = {**outer, start: holds}
                    self.inner(body, ending, ((cond, holds),))
                    self.sides = outer
                    for param, end in zip(stm.pat, body.results, strict=True):
                        self.passes(end, param)
            case ir.Loop():
                self.loop(stm, stm.exp, ending)
            case ir.SegMap() | ir.SegRed() | ir.SegScan() | ir.SegHist():
                self.kernel(stm, stm.exp, ending)
            case ir.Assert(cond):
                self.numbers.holds(cond, self.scope)
            case ir.Push():
                self.push(stm.exp)
            case ir.Call(_, args):
                for arg in args:
                    self.read(arg)
            case ir.Index(array, at):
                self.index_read(array, at)
                if stm.pat[0].type == ir.I64:
                    self.numbers.tests.pop(stm.pat[0].name, None)
            case ir.Lit() | ir.Var() | ir.Bin() | ir.Un() | ir.Conv() | ir.Fun() | ir.Select():
                self.numbers.define(stm.pat[0].name, stm.exp, self.scope)
            case ir.Alloc() | ir.Scratch() | ir.Threshold() | ir.Apply():
                pass
            case _:
                self.operation(stm)

    def operation(self, stm: ir.Stm) -> None:
        """An operation that gives one array."""
        (param,) = stm.pat
        mem, exp = mem_of(param), stm.exp
        if mem is None:
            return
        if isinstance(exp, ir.Slice | ir.Rearrange | ir.Reshape):
            source = self.types[exp.array].mem
            if source is None or source.block == mem.block:
                self.passes(exp.array, param)
            else:
                self.read(exp.array)
                self.write(param.name, mem, mem)
            return
        if isinstance(exp, ir.Update):
            taken = exp.array
            self.passes(taken, param)
            place, known = self.slice(mem, exp.dims, self.types[taken])
            if isinstance(exp.value, str):
                self.put(param.name, mem, place, exp.value, taken, known)
            else:
                self.write(param.name, place, mem, taken, known)
            return
        if not isinstance(exp, ir.ArrayLit | ir.Concat | ir.Copy):
            if isinstance(exp, ir.Replicate) and isinstance(exp.value, str):
                self.read(exp.value)
            self.write(param.name, mem, mem)
            return
        for part, lmad in parts(exp, mem.lmad, self.types):
            self.put(param.name, mem, ir.MemBind(mem.block, lmad), part)
        if isinstance(exp, ir.ArrayLit) and not all(isinstance(e, str) for e in exp.elems):
            self.write(param.name, mem, mem)

    def put(
        self,
        name: Name,
        whole: ir.MemBind,
        place: ir.MemBind,
        part: Name,
        taken: Name = "",
        known: Sequence[Poly] = (),
    ) -> None:
        """An array goes to a place, unless it is there."""
        there = self.types[part].mem
        if there is not None and self.is_there(there, place):
            self.built(part, name)
            return
        self.read(part)
        self.write(name, place, whole, taken, known)

    def is_there(self, mem: ir.MemBind, place: ir.MemBind) -> bool:
        """Whether a copy from one to the other has nothing to do."""
        normal = self.numbers.normal_lmad
        return mem.block == place.block and normal(mem.lmad).same_cells(normal(place.lmad))

    def slice(self, mem: ir.MemBind, dims: Sequence[ir.DimIndex], of: ir.Array) -> Part:
        """The part of an array that indices select; where they are no polynomials, unknown ones.

        With what holds where there is anything: checks have seen to it that it is in the array.
        """
        lmads = [as_lmad(dim, self.numbers.number, self.numbers.normal) for dim in dims]
        known: list[Poly] = []
        for lmad, size in zip(lmads, of.shape, strict=True):
            last = lmad.offset
            for dim in lmad.dims:
                last = last + (dim.size - 1) * dim.stride
            most = self.numbers.normal(size) - 1
            known += (lmad.offset, most - lmad.offset, last, most - last)
        return ir.MemBind(mem.block, mem.lmad.slice_lmad(*lmads)), known

    def row(self, name: Name, mem: ir.MemBind, at: Sequence[ir.SE]) -> Part:
        """The cell, or row, of an array at indices, with that these are within it."""
        places = [self.numbers.number(se) for se in at]
        known: list[Poly] = []
        for place, size in zip(places, self.types[name].shape, strict=False):
            known += (place, self.numbers.normal(size) - 1 - place)
        return ir.MemBind(mem.block, mem.lmad.fix(*places)), known

    def index_read(self, array: Name, at: Sequence[ir.SE]) -> None:
        """An element is read."""
        mem = self.types[array].mem
        if mem is not None:
            row, known = self.row(array, mem, at)
            unknown = any(name[0] == "?" for name in row.lmad.names())
            self.read(array, row, known if unknown else ())

    def loop(self, stm: ir.Stm, exp: ir.Loop, ending: set[Name]) -> None:
        """A loop: what it needs from around is needed in each round."""
        for param, out, start in zip(exp.params, stm.pat, exp.init, strict=True):
            self.passes(start, param)
            self.passes(start, out)
        more: list[Poly] = []
        used = set().union(*map(mentioned, exp.body.stms))
        used |= {end for end in exp.body.results if isinstance(end, str)}
        if isinstance(exp.form, ir.ForLoop):
            more = self.index(exp.form.index, self.numbers.poly(exp.form.bound))
        outer = self.loops
        self.loops = (*outer, self.time)
        self.time += 1
        self.inner(exp.body, ending - used, more=more, params=exp.params, around=exp)
        self.loops = outer
        for out, end in zip(stm.pat, exp.body.results, strict=True):
            self.passes(end, out)

    def index(self, name: Name, bound: Poly | None) -> list[Poly]:
        """What is known of an index that counts from 0."""
        self.born[name] = self.time
        it = Poly.var(name)
        self.numbers.natural.add(name)
        if bound is None:
            return [it]
        bound = self.numbers.normal(bound)
        self.ranges[name] = bound
        self.numbers.chosen.add(name)
        return [it, bound - 1 - it]

    def passes(self, source: ir.Operand, param: ir.Param) -> None:
        """An array becomes another without a copy."""
        if isinstance(source, str) and mem_of(param) is not None:
            self.flow(source, param.name)

    def flow(self, source: Name, name: Name) -> None:
        """Cells of an array are now called so."""
        self.into.setdefault(source, []).append((self.time, name))
        self.out_of.setdefault(name, []).append(source)

    def built(self, part: Name, name: Name) -> None:
        """An array was built in its place in another: from here on its cells are that one's.

        Nothing is read, but as if all of it were, it has to be there as it was made.
        """
        mem = self.types[part].mem
        if mem is not None:
            found = self.access(part, mem, mem, ())
            self.reads.setdefault(part, []).append(found)
        self.flow(part, name)

    # --- kernels ---

    def kernel(self, stm: ir.Stm, exp: ir.SegOp, ending: set[Name]) -> None:
        """A parallel operator; one of a thread is a loop."""
        dims = exp.space.dims
        outer = self.loops
        self.time += 1
        more = [fact for index, bound in dims for fact in self.index(index, bound)]
        operators = [op if isinstance(op, ir.Operator) else op.op for op in getattr(exp, "ops", ())]
        if exp.level == "thread":
            self.loops = (*outer, self.time)
            used = mentioned(ir.Stm((), exp))
            ending = ending - used
        else:
            split = dims[:-1] if isinstance(exp, ir.SegRed) else dims
            self.kernels.append(Kernel(self.time, split))
        for op in operators:
            self.inner(op.fn.body, set(), params=op.fn.params)
        self.inner(exp.body, ending, more=more, kernel=stm)
        self.loops = outer
        if exp.level != "thread":
            self.meeting(self.kernels.pop())

    def results(self, stm: ir.Stm, results: Sequence[ir.KernelResult]) -> None:
        """What threads give, at the end of each."""
        exp = stm.exp
        assert isinstance(exp, ir.SegMap | ir.SegRed | ir.SegScan | ir.SegHist)
        point = [Poly.var(index) for index, _ in exp.space.dims]
        if isinstance(exp, ir.SegHist):
            for result in results:
                if isinstance(result, str):
                    self.read(result)
            dests = [dest for op in exp.ops for dest in op.dests]
            for dest, param in zip(dests, stm.pat, strict=True):
                self.passes(dest, param)
                mem = mem_of(param)
                if mem is not None:
                    own = ir.MemBind(mem.block, mem.lmad.fix(*point[:-1]))
                    self.write(param.name, own, mem, dest, meeting=True)
            return
        folded = sum(len(op.neutral) for op in getattr(exp, "ops", ()))
        for at, (param, result) in enumerate(zip(stm.pat, results, strict=True)):
            mem = mem_of(param)
            if isinstance(result, ir.Write):
                self.passes(result.dest, param)
                for places, value in result.writes:
                    self.scattered(param, result.dest, places, value)
            elif mem is not None:
                outer = isinstance(exp, ir.SegRed) and at < folded
                own = ir.MemBind(mem.block, mem.lmad.fix(*(point[:-1] if outer else point)))
                if isinstance(result, str):
                    self.put(param.name, mem, own, result)
                else:
                    self.write(param.name, own, mem)
            else:
                self.read(result)
            if isinstance(param.type, ir.Array):
                self.types[param.name] = param.type
                self.need(param.name)  # What the next result overwrites of it is lost.
        for param in stm.pat:
            self.drop(param.name)

    def scattered(
        self, param: ir.Param, dest: Name, places: Sequence[ir.SE], value: ir.Operand
    ) -> None:
        """A value that goes to computed places, where those of other threads may go as well."""
        mem = mem_of(param)
        if mem is None:
            return
        row, known = self.row(dest, mem, places)
        there = self.types[value].mem if isinstance(value, str) else None
        if isinstance(value, str) and there is not None and self.is_there(there, row):
            self.built(value, param.name)
            return
        self.read(value)
        self.write(param.name, row, mem, dest, known, meeting=True)

    def push(self, exp: ir.Push) -> None:
        """Values that are put into accumulators."""
        for value in exp.values:
            self.read(value)
        for dest in exp.dests:
            mem = self.types[dest].mem
            if mem is not None:
                row, known = self.row(dest, mem, exp.at)
                self.write(dest, row, mem, dest, known, meeting=True)

    # --- accesses ---

    def access(
        self,
        name: Name,
        mem: ir.MemBind,
        whole: ir.MemBind,
        known: Sequence[Poly],
        meeting: bool = False,
    ) -> Access:
        """Cells that are touched here; `known` holds where there are any."""
        mem = ir.MemBind(mem.block, self.numbers.normal_lmad(mem.lmad))
        place = self.here(known)
        return Access(name, mem, whole, self.time, place, self.loops, self.sides, meeting)

    def here(self, known: Sequence[Poly] = ()) -> Place:
        """This point, with more that is known."""
        place = Place.of(self.scope)
        if not known:
            return place
        scope = Scope(place)
        scope.know(*known)
        return Place.of(scope)

    def read(
        self, name: ir.KernelResult, mem: ir.MemBind | None = None, known: Sequence[Poly] = ()
    ) -> None:
        """Cells of an array are read; all of them if none are given."""
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
        """Cells are written for an array, which is a later state of `taken`."""
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

    def is_apart(self, write: Access, other: Name) -> None:
        """Ask whether a write meets an array that is needed."""
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

    def within(self, access: Access, kept: Iterable[Name], since: int = 0) -> dict[Name, Poly]:
        """The indices of an access, the innermost first, but for some, or those of before."""
        names = [
            name
            for name in access.mem.lmad.names()
            if name in self.ranges and name not in kept and self.born[name] >= since
        ]
        return {name: self.ranges[name] for name in sorted(names, key=lambda n: -self.born[n])}

    # --- what comes later ---

    def seen_later(self, write: Access, other: Name) -> None:
        """Ask whether a write meets a cell of an array that is read behind it."""
        for read, again in self.reads_behind(write, other):
            answer = self.meet(write, read, again)
            if isinstance(answer, decide.Proved):
                continue
            if isinstance(answer, decide.Refuted) and not self.is_made_again(write, read):
                self.fail(
                    f"cell {answer.cell} of `{write.mem.block}` is written for `{write.name}` "
                    f"while `{read.name}` is needed",
                    answer,
                )
            self.tally.open.append(f"`{write.name}` apart from `{read.name}`")
            return
        self.tally.proved += 1

    def reads_behind(self, write: Access, other: Name) -> Iterator[tuple[Access, bool]]:
        """What is read of an array behind a write, other than as what is written.

        With whether that is in a later round of a loop.
        """
        own = self.own(write)
        todo, seen = [other], {other}
        for name in todo:
            for read in self.reads.get(name, ()):
                if read.time >= write.time and not _on_other_sides(write, read):
                    yield read, False
                elif self.round(write, read, name):
                    yield read, True
            for time, into in self.into.get(name, ()):
                if time >= write.time and into not in own and into not in seen:
                    seen.add(into)
                    todo.append(into)

    def is_made_again(self, write: Access, read: Access) -> bool:
        """Whether what is read may be written behind a write, over what that has left there."""
        todo, seen = [read.name], {read.name}
        for name in todo:
            for other in self.writes.get(name, ()):
                between = write.time <= other.time <= read.time
                if between or not set(other.loops).isdisjoint(write.loops):
                    return True
            for source in self.out_of.get(name, ()):
                if source not in seen:
                    seen.add(source)
                    todo.append(source)
        return False

    def round(self, write: Access, read: Access, name: Name) -> int:
        """The loop in a later round of which a read follows a write; 0 if there is none."""
        for loop in write.loops:
            if loop in read.loops and self.born[name] < loop:
                return loop
        return 0

    def own(self, write: Access) -> set[Name]:
        """The arrays that have what is written, and are made of it."""
        todo, seen = [write.name], {write.name}
        for name in todo:
            for time, into in self.into.get(name, ()):
                if time >= self.born.get(name, 0) and into not in seen:
                    seen.add(into)
                    todo.append(into)
        return seen

    def meet(self, one: Access, other: Access, again: bool) -> decide.Answer:
        """Whether two accesses share no cell, the second perhaps in a later round."""
        left, right = one.mem.lmad, other.mem.lmad
        shared = set(left.names() & right.names())
        loop = self.round(one, other, other.name) if again else 0
        if again:
            shared = {name for name in shared if self.born.get(name, 0) < loop}
        left = decide.spread(left, self.within(one, shared))
        right = decide.spread(right, self.within(other, shared))
        names = left.names() | right.names()
        known = about((one.place, other.place), names)
        if again:
            inside = {n for n in right.names() if self.born.get(n, loop) >= loop}
            renamed = {name: Poly.var(f"{name}'") for name in inside}
            facts = (*known.facts, *(fact.subst(renamed) for fact in known.facts))
            return decide.apart(left, right.subst(renamed), dict.fromkeys(facts))
        certain = one.mem.block == other.mem.block
        return decide.apart(left, right, known.facts, self.fits(known, names) if certain else None)

    # --- other threads ---

    def meeting(self, kernel: Kernel) -> None:
        """Ask whether a thread writes what another one reads or writes."""
        asked: set[tuple[Lmad[Poly], Lmad[Poly]]] = set()
        written = {write.mem.block for write in kernel.writes}
        reads = [
            read
            for read in kernel.reads
            if any(self.blocks.may_be_one(read.mem.block, block) for block in written)
        ]
        for write in kernel.writes:
            for other in (*kernel.writes, *reads):
                both = write.meeting and other.meeting and write.name == other.name
                if both or not self.blocks.may_be_one(write.mem.block, other.mem.block):
                    continue
                key = write.mem.lmad, other.mem.lmad
                if key in asked:
                    continue
                asked.add(key)
                if len(asked) > PAIRS:
                    self.tally.open.append(f"more threads of `{write.name}`")
                    return
                self.of_threads(kernel, write, other)

    def of_threads(self, kernel: Kernel, one: Access, other: Access) -> None:
        """Ask that of two accesses."""
        if self.fill_apart(kernel, one, other):
            self.tally.proved += 1
            return
        since = kernel.start
        left = decide.spread(one.mem.lmad, self.within(one, (), since))
        right = decide.spread(other.mem.lmad, self.within(other, (), since))
        inner = {name for name in right.names() if self.born.get(name, since) >= since}
        prime = {name: Poly.var(f"{name}'") for name in inner}
        known = self.of_both(one, left, other, right, prime)
        if isinstance(decide.apart(left, right.subst(prime), known.facts), decide.Proved):
            self.tally.proved += 1
            return
        found = list(self.of_two(kernel, one, other))
        for answer in found:
            if isinstance(answer, decide.Refuted):
                self.fail(
                    f"two threads meet in cell {answer.cell} of `{one.mem.block}`, one of which "
                    f"writes it for `{one.name}`, the other is at `{other.name}`",
                    answer,
                )
        if all(isinstance(answer, decide.Proved) for answer in found):
            self.tally.proved += 1
        else:
            self.tally.open.append(f"threads at `{one.name}` and `{other.name}`")

    def of_two(self, kernel: Kernel, one: Access, other: Access) -> Iterator[decide.Answer]:
        """The answers for two threads whose first index that differs is less, or more."""
        indices = [index for index, _ in kernel.dims]
        left = decide.spread(one.mem.lmad, self.within(one, indices, kernel.start))
        right = decide.spread(other.mem.lmad, self.within(other, indices, kernel.start))
        inner = {n for n in right.names() if self.born.get(n, kernel.start) >= kernel.start}
        same = one.mem.block == other.mem.block and not _on_other_sides(one, other)
        for at, index in enumerate(indices):
            equal = indices[:at]
            prime = {name: Poly.var(f"{name}'") for name in inner.difference(equal)}
            prime |= {name: Poly.var(f"{name}'") for name in indices[at:]}
            for step in (prime[index] - Poly.var(index) - 1, Poly.var(index) - prime[index] - 1):
                known = self.of_both(one, left, other, right, prime, indices)
                known.facts[step] = None
                there = right.subst(prime)
                names = left.names() | there.names() | step.names()
                answer = decide.apart(
                    left, there, known.facts, self.fits(known, names) if same else None
                )
                yield answer
                if not isinstance(answer, decide.Proved):
                    return

    def facts_of(self, access: Access, lmad: Lmad[Poly]) -> Iterable[Poly]:
        """What is known where something is accessed."""
        return about((access.place,), lmad.names()).facts

    def of_both(
        self,
        one: Access,
        left: Lmad[Poly],
        other: Access,
        right: Lmad[Poly],
        prime: Mapping[Name, Poly],
        more: Iterable[Name] = (),
    ) -> Known:
        """What is known of one thread and another."""
        mine = about((one.place,), left.names().union(more))
        theirs = about((other.place,), right.names().union(more))
        for fact in theirs.facts:
            mine.facts[fact.subst(prime)] = None
        for condition in theirs.conditions:
            mine.conditions[condition] = None
            mine.all = mine.all and condition.names.isdisjoint(prime)
        mine.all = mine.all and theirs.all
        return mine

    def fill_apart(self, kernel: Kernel, one: Access, other: Access) -> bool:
        """Whether both are in arrays that lie in one way, of which each thread has its own."""
        for left, right in (
            (one.mem.lmad, other.mem.lmad),
            (self.numbers.normal_lmad(one.whole.lmad), self.numbers.normal_lmad(other.whole.lmad)),
        ):
            if left != right:
                continue
            ranges = {
                name: self.ranges[name]
                for name in sorted(left.names(), key=lambda n: -self.born.get(n, 0))
                if name in self.ranges and self.born[name] >= kernel.start
            }
            if not {index for index, _ in kernel.dims} <= ranges.keys():
                continue
            if decide.one_each(left, ranges, partial(self.facts_of, one, left)):
                return True
        return False


def _on_other_sides(one: Access, other: Access) -> bool:
    """Whether they are on both sides of a branch."""
    return any(other.sides.get(at, side) != side for at, side in one.sides.items())


def _last_uses(stms: Sequence[ir.Stm], results: Sequence[ir.KernelResult]) -> dict[Name, int]:
    """The last statement that mentions each name; results are behind all of them."""
    last: dict[Name, int] = {}
    for at, stm in enumerate(stms):
        for name in mentioned(stm):
            last[name] = at
    for result in results:
        found: list[Name] = []
        visit(result, found.append, lambda name: None)
        last |= dict.fromkeys(found, len(stms))
        if isinstance(result, str):
            last[result] = len(stms)
    return last
