"""Force refused attempts and run them on small inputs, in search of a counterexample.

An overlap of two sets of cells for some values proves little: a program may stop earlier on these
values, or never have them together. So a refusal shows values only if a run does: the original
program terminates normally, and with the array built in place a cell written too early is accessed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from compiler.algebra.disjoint import Disjoint
from compiler.algebra.facts import Facts, Point
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.deadline import within
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompileError, UsageError
from compiler.base.names import Name
from compiler.base.prim import int_range
from compiler.ir import entry as entries
from compiler.ir.nodes import (
    Array,
    ForLoop,
    Function,
    Loop,
    Prog,
    Scalar,
    SegMapping,
    SegOp,
    Stm,
)
from compiler.ir.values import Value
from compiler.ir.walk import free
from compiler.semantics import heap
from compiler.semantics.machine import Block, Location, Machine
from compiler.semantics.trace import Race
from compiler.storage.short_circuit.attempts import IN_PLACE_MAP, Attempt
from compiler.storage.short_circuit.clash import Clash, Stop, WitnessedAccess
from compiler.storage.short_circuit.conditions import CELLS, GUARD
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.points import Forced, Shortcut
from compiler.storage.short_circuit.wording import clashing, stopping

FREE = 1 << 40
"""Name tags from here on are unused by any program."""
RUNS = 12
"""Number of inputs per attempt."""
_RUN_SECONDS, _RUN_BYTES = 0.25, 1 << 20
_WHOLE_SECONDS = 3.0
"""Time limit of a run to the end, for a program in which an overlap is known."""
_ELEMENTS = 1 << 12
"""Maximum elements of an input array."""
_CELLS = 1 << 8
"""Maximum size of cell sets compared before a run."""
_USUAL = (3, 2, 1, 7)
"""Values tried for unconstrained names."""
Trial = tuple[Function, dict[Name, int], list[Value]]
"""An entry point, its sizes and integers, and all its arguments."""


class _Met(Exception):
    """Raised when a run reaches a clash."""

    def __init__(self, cell: int, write: WitnessedAccess, use: WitnessedAccess) -> None:
        super().__init__(cell)
        self.cell = cell
        self.write = write
        self.use = use


class Watch(Machine):
    """A machine that tracks cells written early, until the arrays are in their places.

    `early` are the names of arrays built in place; `destination` contains them once it is bound.
    """

    def __init__(
        self, prog: Prog, early: frozenset[Name] = frozenset(), destination: Name = ""
    ) -> None:
        super().__init__({f.name: f for f in prog.funs}, {}, heap.STEPS, _RUN_BYTES)
        self.early = early
        self.destination = destination
        self.now: list[Stm] = []
        """Running statements, outermost first."""
        self._owners: dict[tuple[str, int], WitnessedAccess] = {}
        """Early writers by cell."""
        self._others: dict[tuple[str, int], WitnessedAccess] = {}
        """Other accesses in a kernel, by cell."""
        self._mixed: dict[int, set[tuple[str, int]]] = {}
        """Cells written by statements with early and other results, by nesting depth."""

    def stms(self, code: Sequence[Stm]) -> None:
        """Run statements in order; tracking ends once the arrays are in place."""
        super().stms(())  # An empty body costs a step as well.
        for stm in code:
            self.now.append(stm)
            super().stms((stm,))
            self._mixed.pop(len(self.now), None)
            self.now.pop()
            if any(param.name == self.destination for param in stm.pat):
                self._owners.clear()

    def traced_read(self, block: Block, cells: Sequence[int]) -> None:
        """Track a read."""
        self._traced(block, cells, self._operands(block), False)
        super().traced_read(block, cells)

    def traced_write(self, block: Block, cells: Sequence[int], meeting: bool) -> None:
        """Track a write."""
        arrays = self._results(block)
        mine = self._traced(block, cells, arrays, True)
        try:
            super().traced_write(block, cells, meeting)
        except Race as race:
            key = (block.label, race.cell)
            other = self._others.get(key) or self._owners.get(key)
            if not mine or other is None:
                raise
            raise _Met(race.cell, self._noted(arrays[0], True), other) from race
        if mine:
            touch = self._noted(arrays[0], True)
            self._owners.update(dict.fromkeys(((block.label, cell) for cell in cells), touch))

    def _traced(
        self, block: Block, cells: Sequence[int], arrays: Sequence[Name], writes: bool
    ) -> bool:
        """True for an early access; any other access to such a cell is a clash."""
        if not arrays or not self.early:
            return False
        mine = self.early.issuperset(arrays)
        keys = [(block.label, cell) for cell in cells]
        if mine:
            return True
        if not self.early.isdisjoint(arrays):
            if writes and isinstance(self.now[-1].exp, SegMapping):
                self._by_two(keys, arrays)
            return False
        for key in keys:
            owner = self._owners.get(key)
            if owner is not None:
                raise _Met(key[1], owner, self._noted(arrays[0], writes))
        if self.frames:
            self._others.update(dict.fromkeys(keys, self._noted(arrays[0], writes)))
        return False

    def _by_two(self, keys: Sequence[tuple[str, int]], arrays: Sequence[Name]) -> None:
        """Detect a cell written twice by a kernel's results, which two of them share."""
        before = self._mixed.setdefault(len(self.now), set())
        for key in keys:
            if key in before:
                mine = next(name for name in arrays if name in self.early)
                other = next(name for name in arrays if name not in self.early)
                raise _Met(key[1], self._noted(mine, True), self._noted(other, True))
        before.update(keys)

    def _noted(self, array: Name, writes: bool) -> WitnessedAccess:
        indices: dict[Name, int] = {}
        for stm in self.now:
            found: list[Name] = []
            if isinstance(stm.exp, Loop) and isinstance(stm.exp.form, ForLoop):
                found = [stm.exp.form.index]
            elif isinstance(stm.exp, SegOp):
                found = [name for name, _ in stm.exp.space.dims]
            indices |= {name: int(self.env[name]) for name in found if name in self.env}
        values = {
            name: int(value) for name, value in self.env.items() if isinstance(value, np.integer)
        }
        return WitnessedAccess(array, writes, tuple(self.now), indices, values)

    def _operands(self, block: Block) -> list[Name]:
        """Return the arrays of a block that the current statement may read."""
        if not self.now:
            return []
        stm = self.now[-1]
        names = set(free(stm))
        if isinstance(stm.exp, SegOp):
            names.update(result for result in stm.exp.body.results if isinstance(result, str))
        places = ((name, self.env.get(name)) for name in sorted(names))
        return [n for n, place in places if isinstance(place, Location) and place.block is block]

    def _results(self, block: Block) -> list[Name]:
        """Return the arrays of a block that the current statement creates."""
        if not self.now:
            return []
        return [
            param.name
            for param in self.now[-1].pat
            if isinstance(param.type, Array)
            and param.type.mem is not None
            and self.env.get(param.type.mem.block) is block
        ]


class Trials:
    """Runs refused attempts of one function of a program of stage `funmem`."""

    def __init__(
        self,
        prog: Prog,
        at: int,
        ctx: Ctx,
        attempts: Sequence[Attempt],
        deadline: float = math.inf,
    ) -> None:
        """`attempts`: those made under `ctx` in function `at` of `prog`.

        Starts nothing after the `deadline`, a time of `time.monotonic`.
        """
        self.deadline = deadline
        self.prog = prog
        self.fun = prog.funs[at]
        self.at = at
        self.ctx = ctx
        self.attempts = attempts
        before = self.rerun()
        self.now, self.assumptions = before.state.now, before.state.assumptions

    def rerun(self, given: Context = NOTHING, forced: int | None = None) -> Shortcut:
        """Repeat all attempts with more facts, or with one of them forced."""
        mine = self.ctx
        ctx = Ctx(mine.options, mine.names.fork(FREE), target=mine.target, stage=mine.stage)
        return Shortcut(self.fun, ctx, given, forced)

    @property
    def is_late(self) -> bool:
        """True after the deadline."""
        return time.monotonic() > self.deadline

    def forced(self, number: int) -> tuple[Prog, Attempt] | None:
        """Return the program with an attempt forced; None if another condition fails."""
        shortcut = self.rerun(forced=number)
        try:
            shortcut.run()
        except Forced:
            funs = list(self.prog.funs)
            funs[self.at] = shortcut.state.now.rebuilt()
            return Prog(tuple(funs)), shortcut.attempts[number]
        return None

    def look(self, number: int) -> bool:
        """Run an attempt that was refused for its overwrites; returns whether it was run.

        The result is stored with the attempt, and replaces the unproved claim in its text.
        """
        attempt = self.attempts[number]
        if attempt.done or self.is_late:
            return False
        if attempt.condition not in (CELLS, GUARD):
            return bool(attempt.missing)
        if attempt.condition == GUARD:
            stop = self.stop(number)
            if stop is not None:
                attempt.shown, attempt.because = stop, stopping(self.now, attempt.because, stop)
            return True
        clash = self.clash(number)
        if clash is not None:
            attempt.shown, attempt.because = clash, clashing(self.now, clash)
        return True

    def clash(self, number: int) -> Clash | None:
        """Return a counterexample of a forced attempt; None if no run shows one."""
        found = self.forced(number)
        if found is None:
            return None
        prog, attempt = found
        destination = attempt.source if attempt.rule is IN_PLACE_MAP else attempt.destination
        for fun, inputs, args in self.inputs(self.attempts[number]):
            try:
                self._end(Watch(prog, frozenset(attempt.moved), destination), fun, args)
            except _Met as met:
                if self._end(Watch(self.prog), fun, args, _WHOLE_SECONDS) is None:
                    return Clash(met.cell, met.write, met.use, _visible(fun, inputs), args)
        return None

    def stop(self, number: int) -> Stop | None:
        """Return inputs on which the check of a slice fails; None if no run shows it."""
        check = self.attempts[number].check
        for fun, inputs, args in self.inputs(self.attempts[number]):
            watch = Watch(self.prog)
            if self._end(watch, fun, args) is not None and watch.now and watch.now[-1] is check:
                return Stop(_visible(fun, inputs), args)
        return None

    def happens(self, attempt: Attempt, claim: Poly) -> bool:
        """True if a run satisfies a claim about sizes and integers."""
        return any(
            claim.evaluate(inputs) >= 0 and self._end(Watch(self.prog), fun, args) is None
            for fun, inputs, args in self.inputs(attempt, claim)
        )

    @staticmethod
    def _end(
        watch: Watch, fun: Function, args: Sequence[Value], seconds: float = _RUN_SECONDS
    ) -> CompileError | None:
        """Run an entry point; return the error that it ends in, if any."""
        try:
            within(seconds, lambda: heap.execute(watch, watch.funs[fun.name], args))
        except CompileError as error:
            return error
        return None

    # --- inputs ---

    def inputs(self, attempt: Attempt, *claims: Poly) -> Iterator[Trial]:
        """Yield small inputs, first those for which the cells overlap and claims hold."""
        mine = self._points(attempt, claims) if self.fun.entry else iter(())
        callers = [self.fun] if self.fun.entry else [f for f in self.prog.funs if f.entry]
        usual = (
            (fun, dict.fromkeys(given_numbers(fun), size)) for size in _USUAL for fun in callers
        )
        seen: list[Point] = []
        found = 0
        for fun, point in (*islice(((self.fun, p) for p in mine), RUNS - len(_USUAL)), *usual):
            numbers = {name: point[name] for name in given_numbers(fun) if name in point}
            if numbers in seen:
                continue
            seen.append(numbers)
            trial = make_inputs(fun, numbers, found)
            if trial is not None:
                yield trial
                found += 1
            if found == RUNS or self.is_late:
                return

    def _points(self, attempt: Attempt, claims: Sequence[Poly]) -> Iterator[Point]:
        """Yield points that satisfy the checks, first those where the two cell sets overlap."""
        pair = next((o for o in attempt.obligations if not isinstance(o.verdict, Disjoint)), None)
        lmads = (pair.write, pair.use) if pair is not None else ()
        cells = [dim.size - 1 for lmad in lmads for dim in lmad.dims]
        names = {name for lmad in lmads for name in lmad.names()} | given_numbers(self.fun)
        known = self.known(attempt)
        points: list[Point] = []
        for side in (1, 0):
            bounds, equal = _chosen(known, side)
            more = self.assumptions.terms.atoms.facts(sorted(names))
            facts = Facts.of((*bounds, *more, *cells, *claims), dict(equal), names)
            points += sorted(map(facts.complete, facts.points), key=_size)
        meeting = [point for point in points if lmads and _meet(*lmads, point)]
        yield from meeting
        yield from (point for point in points if point not in meeting)

    def known(self, attempt: Attempt) -> Context:
        """Return the facts checked around an attempt and in it, before and after."""
        item = self.now.binder(attempt.destination) or self.now.binder(attempt.source)
        scope = item.scope if item is not None else self.now.tree.root
        found = self.assumptions.at(scope, len(self.now.items(scope)))
        while scope.parent is not None:
            scope = scope.parent.scope
            found = found.plus(self.assumptions.checked(self.now.items(scope)))
        return found


def given_numbers(fun: Function) -> set[Name]:
    """Return the sizes and integers among a function's parameters."""
    return {
        param.name
        for param in fun.params
        if isinstance(param.type, Scalar) and param.type.prim[0] in "iu"
    }


def _visible(fun: Function, inputs: Mapping[Name, int]) -> dict[Name, int]:
    """Return the sizes and integers with a source name, in source order."""
    return {param.name: inputs[param.name] for param in fun.params if param.name in inputs}


def _chosen(known: Context, side: int) -> tuple[list[Poly], list[tuple[Name, Poly]]]:
    """Return bounds and equalities, taking one side of each alternative."""
    bounds: list[Poly] = []
    equal: list[tuple[Name, Poly]] = []
    for leaf in known.leaves():
        bounds += leaf.bounds
        equal += leaf.equal
        for sides in leaf.either:
            more, same = _chosen(sides[side], side)
            bounds += more
            equal += same
    return bounds, equal


def _size(point: Point) -> int:
    return sum(map(abs, point.values()))


def _meet(write: Lmad[Poly], use: Lmad[Poly], point: Point) -> bool:
    """True if two small sets of cells share one."""
    if not write.names() | use.names() <= point.keys():
        return False
    first, second = write.evaluate(point), use.evaluate(point)
    if any(math.prod(max(d.size, 0) for d in one.dims) > _CELLS for one in (first, second)):
        return False
    return not set(first.points()).isdisjoint(second.points())


def make_inputs(
    fun: Function, numbers: Mapping[Name, int], seed: int, most: int = _USUAL[0]
) -> Trial | None:
    """Return inputs with these sizes and integers; None if too large.

    Other values are random and below `most`.
    """
    rng = np.random.default_rng(seed)
    known = {name: numbers.get(name, _USUAL[0]) for name in sorted(given_numbers(fun))}
    args: list[Value] = []
    for param in entries.external(fun):
        kind = param.type
        assert isinstance(kind, Scalar | Array)
        shape: tuple[int, ...] = ()
        if isinstance(kind, Array):
            shape = tuple(size.evaluate(known) for size in kind.shape)
        if min(shape, default=0) < 0 or np.prod(shape, dtype=float) > _ELEMENTS:
            return None
        dtype = DTYPE[kind.prim]
        if kind.prim == "bool":
            value = rng.integers(0, 2, shape).astype(dtype)
        elif kind.prim[0] == "f":
            value = rng.random(shape).astype(dtype)
        elif param.name in known:
            low, high = int_range(kind.prim)
            if not low <= known[param.name] <= high:
                return None
            value = np.asarray(known[param.name], dtype)
        else:
            value = rng.integers(0, most, shape).astype(dtype)
        args.append(np.asarray(value) if shape else dtype.type(value))
    try:
        entries.bind(fun, args)
    except UsageError:
        return None
    return fun, known, args
