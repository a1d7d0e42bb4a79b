"""Find the scalars of an entry point that the host needs, and those that can stay on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import holds_block, host_stms, statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import free_names
from compiler.codegen.stm_uses import StmUses
from compiler.codegen.traits import reads
from compiler.ir.nodes import SE, Lit, Scalar, Var

MEMORY = "it determines how much memory is allocated"
THREADS = "it determines the number of threads"
BRANCH = "it determines what is launched"
ROUNDS = "it determines how often something is launched"
COPIED = "it determines what is copied"
APPLIED = "a function of the host takes it as an argument"
CALLED = "a function that launches kernels takes it as an argument"
MANY = 256
"""Trip count above which interpreting a loop on the host takes longer than a launch."""


@dataclass(slots=True)
class HostNumbers:
    """Scalars of an entry point.

    `read`: from the device by the host, with their places; `wanted` by the host, with the reason;
    `results` are needed only at the end. `cells`: those with a cell written by a kernel. `moved`:
    statements, by id, that a device thread runs as a whole.
    """

    prims: dict[Name, Prim] = field(default_factory=dict)
    read: dict[Name, Prov] = field(default_factory=dict)
    defines: dict[Name, imp.Define] = field(default_factory=dict)
    variables: set[Name] = field(default_factory=set)
    cells: dict[Name, Name] = field(default_factory=dict)
    wanted: dict[Name, str] = field(default_factory=dict)
    results: set[Name] = field(default_factory=set)
    moved: set[int] = field(default_factory=set)
    made: set[Name] = field(default_factory=set)
    """Variables assigned by moved statements."""
    given: dict[Name, list[SE]] = field(default_factory=dict)
    """Expressions that a name may have the value of."""
    chosen: list[imp.If | imp.For | imp.While] = field(default_factory=list)
    """Movable statements, inner ones first."""
    looped: set[Name] = field(default_factory=set)
    others: set[Name] = field(default_factory=set)
    """Scalars used for more than computing other scalars or results."""

    def want(self, ses: Iterable[SE], why: str) -> None:
        """Mark expressions, and all that they depend on, as needed by the host."""
        names = [name for se in ses for name in reads(se)]
        while names:
            name = names.pop()
            if name not in self.wanted:
                self.wanted[name] = why
                names += [n for se in self.given.get(name, ()) for n in reads(se)]

    def settle(self, refused: Iterable[Name]) -> set[Name]:
        """Return the scalars that stay on the device, except `refused`; completes `moved`."""
        self.want((Var(name, self.prims[name]) for name in refused), "")
        there = {n for n in (*self.read, *self.made) if n not in self.wanted}
        grows = True
        while grows:
            before = len(there), len(self.moved)
            for name, ses in self.given.items():
                if name not in self.wanted and any(not there.isdisjoint(reads(s)) for s in ses):
                    there.add(name)
            for stm in self.chosen:
                if id(stm) not in self.moved and self._must_move(stm, there):
                    self.moved.add(id(stm))
                if id(stm) in self.moved:
                    there |= assigned((stm,)) & self.prims.keys() - self.wanted.keys()
            grows = before != (len(there), len(self.moved))
        return there

    def _must_move(self, stm: imp.If | imp.For | imp.While, there: set[Name]) -> bool:
        """True if a branch condition, or a scalar in a loop, stays on the device."""
        if isinstance(stm, imp.If):
            return not there.isdisjoint(reads(stm.cond))
        return not there.isdisjoint({*free_names((stm,)).scalars, *assigned((stm,))})


def numbers_of(fun: imp.ImpFun, moves: Callable[[imp.Stm], bool]) -> HostNumbers:
    """Analyse an entry point's scalars. `moves` decides which loops are moved."""
    found = HostNumbers()
    gather = _Gather(found, moves)
    gather.stms(fun.body, False)
    for ses, why in gather.wants:
        found.want(ses, why)
    found.results = _only_given(fun, found)
    found.want((Var(n, found.prims[n]) for n in sorted(found.results - found.wanted.keys())), "")
    return found


def _only_given(fun: imp.ImpFun, found: HostNumbers) -> set[Name]:
    """Return the scalars used only for results, outside of loops."""
    users: dict[Name, set[Name]] = {}
    uses = {n: {u for se in ses for u in reads(se)} for n, ses in found.given.items()}
    for name, used in uses.items():
        for one in used:
            users.setdefault(one, set()).add(name)
    read = _dependents({*found.read, *found.made}, users)
    only = found.prims.keys() - found.looped - found.others - found.wanted.keys()
    while True:
        fewer = {
            n for n in only if users.get(n, set()) <= only and uses.get(n, set()) & read <= only
        }
        if fewer == only:
            return fewer
        only = fewer


def _dependents(names: set[Name], users: dict[Name, set[Name]]) -> set[Name]:
    """Return these names and all computed from them."""
    found, todo = set(names), list(names)
    while todo:
        more = users.get(todo.pop(), set()) - found
        found |= more
        todo += more
    return found


@dataclass(slots=True)
class _Gather:
    """Traverses host statements."""

    found: HostNumbers
    moves: Callable[[imp.Stm], bool]
    wants: list[tuple[list[SE], str]] = field(default_factory=list)

    def stms(self, body: imp.Stms, looped: bool) -> None:
        """Visit a statement list."""
        empty = {s.name for s in body if isinstance(s, imp.Declare) and s.value is None}
        cells = {s.name for s in body if isinstance(s, k.Part)}
        for stm in body:
            if isinstance(stm, k.Fetch) and stm.name in empty and stm.block in cells:
                self.found.cells[stm.name] = stm.block
            self.stm(stm, looped)

    def name(self, name: Name, prim: Prim, looped: bool) -> None:
        """Record a scalar definition."""
        self.found.prims[name] = prim
        if looped:
            self.found.looped.add(name)

    def gives(self, name: Name, value: object) -> None:
        """Record a possible value of a scalar."""
        if value is not None and not isinstance(value, str):
            self.found.given.setdefault(name, []).append(value)  # type: ignore[arg-type]

    def want(self, why: str, *ses: SE) -> None:
        """Record expressions that the host needs."""
        self.wants.append((list(ses), why))

    def other(self, *ses: SE) -> None:
        """Record scalars used for more than computing scalars."""
        self.found.others.update(n for se in ses for n in reads(se))

    def stm(self, stm: imp.Stm, looped: bool) -> None:
        """Visit a host statement."""
        found = self.found
        match stm:
            case imp.Define(name, prim, value):
                self.name(name, prim, looped)
                found.defines[name] = stm
                self.gives(name, value)
            case imp.Apply(names, prims, _, args):
                for name, prim in zip(names, prims, strict=True):
                    self.name(name, prim, looped)
                self.want(APPLIED, *args)
            case imp.Call(results, _, args):
                for one in results:
                    if isinstance(one.type, Scalar):
                        self.name(one.name, one.type.prim, looped)
                self.want(CALLED, *(arg for arg in args if not isinstance(arg, str)))
            case imp.Declare(name, Scalar(prim), value):
                self.name(name, prim, looped)
                found.variables.add(name)
                self.gives(name, value)
            case imp.Assign(name, value) if not isinstance(value, str):
                self.name(name, found.prims[name], looped)
                self.gives(name, value)
            case imp.Load(name, prim, _, at) | k.Fetch(name, prim, _, at):
                self.name(name, prim, looped)
                found.read[name] = stm.prov
                self.gives(name, at)
                self.other(at)
            case imp.Store(_, _, at, value):
                self.other(at, value)
            case imp.Assert():
                self.other(*(Var(n, p) for n, p in free_names((stm,)).scalars.items()))
            case imp.Alloc(count=count) | k.Part(count=count) | k.Zeros(count=count):
                self.want(MEMORY, count)
            case k.Launch(kernel, _, count, busy=busy):
                self.want(THREADS, count)
                self.other(*(() if busy is None else (busy,)))
                self.other(*(Var(p.name, p.prim) for p in kernel.params if not p.block))
            case k.Ranges(_, _, segments, size):
                self.want(THREADS, segments, size)
            case imp.Copy():
                uses = free_names((stm,)).scalars.items()
                self.want(COPIED, *(Var(n, p) for n, p in uses))
            case imp.If() | imp.For() | imp.While():
                self.nested(stm, looped)

    def nested(self, stm: imp.If | imp.For | imp.While, looped: bool) -> None:
        """Visit a statement with nested ones."""
        can, loop = movable(stm), not isinstance(stm, imp.If)
        if can and loop and (accesses_memory(stm) or rounds(stm) >= MANY) and self.moves(stm):
            self.found.moved.add(id(stm))
            self.found.chosen.append(stm)
            uses = free_names((stm,)).free_scalars()
            self.other(*(Var(n, p) for n, p in uses.items()))
            outside = assigned((stm,)) & self.found.prims.keys()
            self.found.made |= outside
            if looped:
                self.found.looped |= outside
            return
        match stm:
            case imp.If(cond, then, orelse):
                decides, why, bodies = cond, BRANCH, (then, orelse)
            case imp.For(_, _, bound, body):
                decides, why, bodies = bound, ROUNDS, (body,)  # type: ignore[assignment]
            case imp.While(cond, body):
                decides, why, bodies = Var(cond, "bool"), ROUNDS, (body,)  # type: ignore[assignment]
        for body in bodies:
            self.stms(body, looped or loop)
        self.other(decides)
        if can:
            self.found.chosen.append(stm)
        else:
            self.want(why, decides)


def mentioned(stm: imp.Stm) -> set[Name]:
    """Return the scalars that a host statement itself reads, without nested ones."""
    found = set(StmUses(stm).scalars)
    if isinstance(stm, k.Launch):
        found |= {p.name for p in stm.kernel.params if not p.block}
    return found


_OF_CELLS = imp.Load | imp.Store | k.Fetch | imp.Assert
_MOVABLE = imp.Define | imp.Declare | imp.Assign | imp.If | imp.For | imp.While | _OF_CELLS


def movable(stm: imp.Stm) -> bool:
    """True if a single device thread can run a statement: only scalars, or cells one by one."""
    return all(isinstance(s, _MOVABLE) and not holds_block(s) for s in statements((stm,)))


def rounds(stm: imp.Stm) -> int:
    """Return a lower bound of the trip count of nested loops, from literal bounds."""
    if not isinstance(stm, imp.For) or not isinstance(stm.bound, Lit):
        return 1
    return int(stm.bound.value) * max((rounds(inside) for inside in stm.body), default=1)


def accesses_memory(stm: imp.Stm) -> bool:
    """True if a statement accesses memory anywhere."""
    return any(isinstance(s, imp.Load | imp.Store | k.Fetch) for s in host_stms((stm,)))


def assigned(stms: imp.Stms) -> set[Name]:
    """Return the variables that host statements assign."""
    return {s.name for s in host_stms(stms) if isinstance(s, imp.Assign | k.Fetch)}


def sets_first(stms: imp.Stms, name: Name) -> bool:
    """True if statements always assign a variable before they read it."""
    return _first(stms, name) == "set"


def _first(stms: imp.Stms, name: Name) -> str:
    """Return the first use of a variable: `set`, `read` (possibly), or ""."""
    for stm in stms:
        match stm:
            case imp.If(cond, then, orelse):
                arms = {_first(then, name), _first(orelse, name)}
                if name in reads(cond) or "read" in arms or len(arms) == 2:
                    return "read"
                (done,) = arms
            case imp.For() | imp.While():
                decides = stm.cond == name if isinstance(stm, imp.While) else False
                bound = isinstance(stm, imp.For) and name in reads(stm.bound)
                done = "read" if decides or bound or _first(stm.body, name) else ""
            case _:
                value = stm.value if isinstance(stm, imp.Assign) else None
                used = set() if isinstance(stm, imp.Assign) else set(free_names((stm,)).scalars)
                if value is not None and not isinstance(value, str):
                    used = reads(value)
                is_set = isinstance(stm, imp.Assign | k.Fetch) and stm.name == name
                done = "read" if name in used else "set" if is_set else ""
        if done:
            return done
    return ""
