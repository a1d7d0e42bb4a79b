"""Keep scalars that only the device needs on the device, without synchronising the host.

The host reads a number if a size, a launch, a branch or a host loop depends on it, or if it is a
result. All others have a cell on the device. Kernels read them from there, and computations of the
host with them are run by a single thread: consecutive statements share one launch. So are host
loops that access single cells, and those with many iterations.

Note [Cells]. A read value is copied to a cell, since its block may be overwritten later. A constant
derived from such numbers has no cell: its users recompute it. Nor has a variable used only by the
statements of one launch, which set it before reading it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.remarks import NOTHING, Applied, Missed
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import host_stms, map_bodies
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.host_numbers import (
    HostNumbers,
    accesses_memory,
    assigned,
    mentioned,
    numbers_of,
    sets_first,
)
from compiler.codegen.kernels.threads import i64
from compiler.codegen.kernels.walk import free_names, with_body
from compiler.codegen.stm_uses import StmUses
from compiler.codegen.traits import reads
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Operand, Scalar, Var
from compiler.ir.walk import map_se

RESIDENT = Rule(
    "kernels/resident", "Keeps a number that the host does not need on the device, without a wait."
)

BY_ONE: Applied[bool] = Applied(
    True,
    "This sequential loop accesses elements one by one, so a thread of the device runs "
    "it, and no element is sent to the host and back.",
)


COMPILED: Applied[bool] = Applied(
    True,
    "This sequential loop has many iterations, so a thread of the device runs it "
    "compiled; the host would interpret it.",
)


def resident(fun: imp.ImpFun, ctx: Ctx, counted: Iterator[int]) -> imp.ImpFun:
    """Return an entry point, with lowered kernels, whose scalars stay where they are needed.

    `counted` numbers the created kernels.
    """
    off = ctx.options.is_off(RESIDENT)

    def moves(loop: imp.Stm) -> bool:
        told = BY_ONE if accesses_memory(loop) else COMPILED
        return ctx.commit(RESIDENT, loop.prov, told) is not None

    found = numbers_of(fun, moves)
    refused = [name for name in found.read if not _may_stay(found, name, ctx)]
    there = found.settle(refused)
    work = _Residents(fun, found, there, counted, off)
    body = work.stms(fun.body)
    values = tuple(work.result(value, body) for value in fun.values)
    return replace(fun, body=_without_cells(tuple(body), work.inside - work.between), values=values)


def _without_cells(stms: imp.Stms, cells: set[Name]) -> imp.Stms:
    """Remove allocations of the cells from host statements."""
    kept = (s for s in stms if not (isinstance(s, k.Part) and s.name in cells))
    return tuple(map_bodies(s, lambda body: _without_cells(body, cells)) for s in kept)


def _may_stay(found: HostNumbers, name: Name, ctx: Ctx) -> bool:
    called, prov = ctx.names.called(name), found.read[name]
    if name in found.results:
        return False
    if name in found.wanted:
        because = f"The host waits for `{called}`: {found.wanted[name]}."
        ctx.commit(RESIDENT, prov, Missed(because, NOTHING))
        return False
    because = (
        f"`{called}` stays on the device, because only the device needs it: the host does not wait."
    )
    return ctx.commit(RESIDENT, prov, Applied(True, because)) is not None


class _Residents:
    """Rewrites the statements of an entry point; `there` are the scalars that stay."""

    def __init__(
        self,
        fun: imp.ImpFun,
        found: HostNumbers,
        there: set[Name],
        counted: Iterator[int],
        off: bool,
    ) -> None:
        self.found, self.there, self.counted, self.off = found, there, counted, off
        shown = {n for v in fun.values if not isinstance(v, str) for n in reads(v)}
        self.derived = {
            name: define
            for name, define in found.defines.items()
            if name in there
            and name not in shown
            and not any(n in found.variables for n in reads(define.value))
        }
        self.uses = self.counted_in(fun.body)
        self.uses.update(shown)
        self.inside: set[Name] = set()
        """Cells of variables that one launch sets and alone reads."""
        self.between: set[Name] = set()
        """Cells of variables that a launch leaves for others."""

    # --- statements --------------------------------------------------------------------------

    def stms(self, body: imp.Stms) -> list[imp.Stm]:
        """Rewrite a list of host statements."""
        out: list[imp.Stm] = []
        waiting: list[imp.Stm] = []
        freed: list[imp.Stm] = []

        def launch() -> None:
            out.extend(self.by_one_thread(tuple(waiting)))
            out.extend(freed)
            waiting.clear()
            freed.clear()

        for stm in body:
            if self.is_replaced(stm):
                if waiting and isinstance(stm, imp.Define):
                    waiting.append(stm)  # its inputs may be computed right there
                continue
            if self.is_for_device(stm):
                waiting.append(stm)
            elif isinstance(stm, imp.Declare) and stm.name in self.there:
                prim = self.found.prims[stm.name]
                out.append(k.Part(self.cell(stm.name), prim, ONE, "", stm.prov))
                if stm.value is not None:
                    waiting.append(imp.Assign(stm.name, stm.value, stm.prov))
            elif isinstance(stm, imp.Free) and waiting:
                freed.append(stm)
            elif waiting and self.goes_ahead(stm, waiting):
                out.append(stm)
            else:
                launch()
                out.append(self.rewritten(stm))
        launch()
        return out

    def is_replaced(self, stm: imp.Stm) -> bool:
        """True if a statement vanishes because users of its number recompute it."""
        match stm:
            case imp.Define(name):
                return name in self.derived
            case imp.Declare(name) | k.Fetch(name):
                return name in self.there and name in self.found.cells
        return False

    def is_for_device(self, stm: imp.Stm) -> bool:
        """True if a device thread runs the statement; a store always may be."""
        match stm:
            case imp.Define(name) | imp.Load(name) | k.Fetch(name) | imp.Assign(name):
                return name in self.there
            case imp.Assert():
                return not self.there.isdisjoint(free_names((stm,)).free_scalars())
            case imp.Store():
                uses = free_names((stm,)).free_scalars()
                return not self.off or not self.there.isdisjoint(uses)
        return id(stm) in self.found.moved

    def goes_ahead(self, stm: imp.Stm, waiting: list[imp.Stm]) -> bool:
        """True if a host statement may run before those waiting for a launch."""
        back = assigned(tuple(waiting)) - self.there
        if isinstance(stm, imp.Alloc | k.Part | imp.Assert):
            if any(isinstance(s, imp.Assert) for s in host_stms(tuple(waiting))):
                return False
        elif not isinstance(stm, imp.Define | imp.Declare | k.Ranges) or StmUses(stm).aliased:
            return False
        return back.isdisjoint(mentioned(stm))

    def rewritten(self, stm: imp.Stm) -> imp.Stm:
        """Rewrite a host statement and those nested in it."""
        if not isinstance(stm, k.Launch):
            return map_bodies(stm, lambda body: tuple(self.stms(body)))
        if stm.busy is not None and not self.there.isdisjoint(reads(stm.busy)):
            stm = replace(stm, busy=None)
        here = [p.name for p in stm.kernel.params if not p.block and p.name in self.there]
        if here:
            body = (*self.reading(here), *stm.kernel.body)
            return replace(stm, kernel=with_body(stm.kernel, body))
        return stm

    # --- cells -------------------------------------------------------------------------------

    def cell(self, name: Name) -> Name:
        """Return the block that holds a number."""
        return self.found.cells.get(name, f"{name}_there")

    def reading(self, names: Iterable[Name]) -> list[imp.Stm]:
        """Return the definitions with which a kernel reads numbers."""
        made: dict[Name, imp.Stm] = {}
        for name in names:
            self.read(name, made)
        return list(made.values())

    def read(self, name: Name, made: dict[Name, imp.Stm]) -> None:
        """Add the definition of a number after those of its operands."""
        if name in made:
            return
        define = self.derived.get(name)
        if define is None:
            made[name] = imp.Load(name, self.found.prims[name], self.cell(name), ZERO)
            return
        for other in sorted(reads(define.value)):
            if other in self.there:
                self.read(other, made)
        made[name] = define

    def by_one_thread(self, stms: imp.Stms) -> list[imp.Stm]:
        """Return the launch of a single-thread kernel, with its surroundings."""
        if not stms:
            return []
        if len(stms) == 1 and self.there.isdisjoint(mentioned(stms[0])):
            match stms[0]:
                case imp.Store():
                    return [stms[0]]
                case imp.Assign(name, value, prov) if not isinstance(value, str):
                    return [imp.Store(self.cell(name), self.found.prims[name], ZERO, value, prov)]
        prov = next((s.prov for s in stms if s.prov), ())
        uses, changed = free_names(stms), assigned(stms)
        own = {s.name for s in stms if isinstance(s, imp.Define | imp.Declare | imp.Load)}
        before: list[imp.Stm] = []
        after: list[imp.Stm] = []
        last: list[imp.Stm] = []
        known = (n for n in uses.free_scalars() if n in self.there and n not in changed)
        first = self.reading(known)
        inside = self.counted_in(stms)
        for name in sorted(changed - uses.bound):
            prim, cell = self.found.prims[name], self.cell(name)
            var = Var(name, prim)
            first.append(imp.Declare(name, Scalar(prim), None, prov))
            is_own = self.uses[name] == inside[name] and sets_first(stms, name)
            if is_own and name in self.there:
                self.inside.add(cell)
                continue
            self.between.add(cell)
            if name not in self.there:
                before.append(k.Part(cell, prim, ONE, "", prov))
                after.append(k.Fetch(name, prim, cell, ZERO, prov))
            if not sets_first(stms, name):
                first.append(k.Fetch(name, prim, cell, ZERO, prov))
                if name not in self.there:
                    before.append(imp.Store(cell, prim, ZERO, var, prov))
            last.append(imp.Store(cell, prim, ZERO, var, prov))
        for name in sorted(own - self.derived.keys()):
            if self.uses[name] > inside[name]:
                prim = self.found.prims[name]
                before.append(k.Part(self.cell(name), prim, ONE, "", prov))
                last.append(imp.Store(self.cell(name), prim, ZERO, Var(name, prim), prov))
        only: SE = Bin("!=", "i64", i64(k.THREAD), ZERO)
        kernel = k.Kernel(f"numbers_{next(self.counted)}", (), (), prov)
        made = with_body(kernel, (k.Exit(only, prov), *first, *stms, *last))
        return [*before, k.Launch(made, "blocks", ONE, prov=prov), *after]

    def counted_in(self, stms: imp.Stms) -> Counter[Name]:
        """Count the host statements that need each scalar, recomputation included."""
        found: Counter[Name] = Counter()
        for stm in host_stms(stms):
            needed, todo = set[Name](), list(mentioned(stm))
            while todo:
                name = todo.pop()
                if name not in needed:
                    needed.add(name)
                    define = self.derived.get(name)
                    todo += reads(define.value) if define else ()
            found.update(needed)
        return found

    def result(self, value: Operand, body: list[imp.Stm]) -> Operand:
        """Return a result value; resident scalars are read at the end, in `body`."""
        if isinstance(value, str):
            return value

        def fetched(var: Var) -> SE:
            if var.name not in self.there:
                return var
            name = f"{var.name}_given"
            if all(not isinstance(s, imp.Load) or s.name != name for s in body):
                body.append(imp.Load(name, var.prim, self.cell(var.name), ZERO))
            return Var(name, var.prim)

        return map_se(value, fetched)
