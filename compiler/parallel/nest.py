"""Where a statement stands while nests are taken apart: levels, sources of values, kernels.

A nest is a tuple of levels, one per `map` around the statement, outermost first; one thread per
index of the nest runs the statement. When a body is distributed over several kernels, a value of
the body lives on in one of two ways: `At(array, index)` is the element or row of an array at some
of the nest's indices (the rows that a map takes, and what an earlier kernel has stored); every
kernel that needs a cheap statement recomputes it (`Stm`). `close` writes down, at the head of a
kernel, where its free names come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir.aliases import of_body
from compiler.ir.build import row_at, row_dims, var
from compiler.ir.nodes import (
    SE,
    SE_NODES,
    ZERO,
    Bin,
    Body,
    Conv,
    Copy,
    Exp,
    Iota,
    KernelBody,
    Lambda,
    Level,
    Lit,
    Operator,
    Param,
    Replicate,
    Scalar,
    SegMap,
    SegSpace,
    Slice,
    Stm,
    Type,
    Write,
)
from compiler.ir.sizes import se_of
from compiler.ir.types import with_dims
from compiler.ir.walk import bound, free, rename
from compiler.parallel.sequentialise import sequentialise


@dataclass(frozen=True, slots=True)
class MapLevel:
    """One dimension of a nest: its index and how far it runs."""

    index: Name
    width: Poly


Nest = tuple[MapLevel, ...]
ResultNames = Sequence[Name | None]
"""For each result the name that its array should get; None where any will do."""


class HostCode(NamedTuple):
    """Statements that launch kernels, and for each result the name of the array that holds it."""

    stms: list[Stm]
    names: list[Name]


@dataclass(frozen=True, slots=True)
class Task:
    """What the maps of a nest compute: the body, and the types of its results in one thread."""

    nest: Nest
    body: Body
    returns: tuple[Type, ...]
    names: ResultNames
    prov: Prov


_NO_MEMORY = (Iota, Replicate, *SE_NODES)


@dataclass(frozen=True, slots=True)
class At:
    """The element or row of `array` at those indices; the whole array if there are none."""

    array: Name
    index: tuple[Name, ...]


@dataclass(slots=True)
class FlatteningScope:
    """What is known while a function is flattened. Names are unique, so one table serves all."""

    ctx: Ctx
    level: Level = "grid"
    versions: bool = True
    host: set[Name] = field(default_factory=set)
    """Names that may be mentioned outside the kernels being made."""
    sources: dict[Name, At | Stm] = field(default_factory=dict)
    types: dict[Name, Type] = field(default_factory=dict)
    defs: dict[Name, Exp] = field(default_factory=dict)
    """Definitions of scalars, and of iotas and replicates, which need not be in memory."""
    owned: set[Name] = field(default_factory=set)
    """Arrays that flattening itself has made, or a loop's own: they may be consumed."""
    in_kernels: set[Name] = field(default_factory=set)
    """Names bound in kernels so far."""
    numbers: list[int] = field(default_factory=lambda: [0])
    """The number of the next threshold."""
    refused: list[Poly] = field(default_factory=list)
    """Amounts of parallelism that a threshold has found too small on the way to here."""

    def inner(self, level: Level) -> FlatteningScope:
        """The scope of a block's code, without versions; tables are shared."""
        host, owned = set(self.host), set(self.owned)
        return replace(self, level=level, versions=False, host=host, owned=owned)

    def bind(self, params: Iterable[Param]) -> None:
        """Names bound at the level where kernels are launched."""
        for param in params:
            self.host.add(param.name)
            self.types[param.name] = param.type

    def note(self, stm: Stm) -> None:
        """Remember types, and definitions that need no memory."""
        for param in stm.pat:
            self.types[param.name] = param.type
        if isinstance(stm.exp, _NO_MEMORY):
            self.defs[stm.pat[0].name] = stm.exp

    def resolve(self, name: Name) -> At:
        """The outermost array that `name` is a row of, with all indices."""
        index: tuple[Name, ...] = ()
        source = self.sources.get(name)
        while isinstance(source, At):
            index = source.index + index
            name = source.array
            source = self.sources.get(name)
        return At(name, index)

    def enter(self, nest: Nest, width: Poly) -> MapLevel:
        """A new level inside `nest`."""
        return MapLevel(self.ctx.fresh("ijklmno"[min(len(nest), 6)]), width)


# --- kernels ---------------------------------------------------------------------------------


def close(
    sc: FlatteningScope, needed: Iterable[Name], prov: Prov, consumed: frozenset[Name] = frozenset()
) -> list[Stm]:
    """Statements that bind the names in `needed`: reads of arrays outside, and recomputed ones.

    Those that the kernel consumes get a copy of their own.
    """
    closing = _Closing(sc, prov, consumed)
    for name in sorted(needed):
        closing.need(name)
    return closing.out


class _Closing:
    """The reads at the head of one kernel."""

    __slots__ = ("consumed", "done", "out", "prov", "sc")

    def __init__(self, sc: FlatteningScope, prov: Prov, consumed: frozenset[Name]) -> None:
        self.sc = sc
        self.prov = prov
        self.consumed = consumed
        self.done: set[Name] = set()
        self.out: list[Stm] = []

    def need(self, name: Name) -> None:
        source = self.sc.sources.get(name)
        if source is None or name in self.done:
            return
        self.done.add(name)
        if isinstance(source, Stm):
            self.need_all(source)
            self.bind(source.pat[0], source.exp, source.prov)
            return
        root = self.sc.resolve(name)
        exp = self.read(root, self.sc.types[name])
        self.need_all(exp)
        self.bind(Param(name, self.sc.types[name]), exp, self.prov)

    def bind(self, param: Param, exp: Exp, prov: Prov) -> None:
        if param.name in self.consumed:
            view = Param(self.sc.ctx.fresh(param.name), param.type)
            self.out.append(Stm((view,), exp, prov))
            exp = Copy(view.name)
        self.out.append(Stm((param,), exp, prov))

    def need_all(self, node: object) -> None:
        for name in sorted(free(node)):
            self.need(name)

    def read(self, root: At, wanted: Type) -> Exp:
        """The expression for an element or row; those of iotas and replicates need no array."""
        source = self.sc.defs.get(root.array)
        at = tuple(var(i) for i in root.index)
        if isinstance(wanted, Scalar):
            if isinstance(source, Iota):
                return iota_at(source, at[0])
            if isinstance(source, Replicate):
                if not isinstance(source.value, str):
                    return source.value
                inner = self.sc.resolve(source.value)
                rest = root.index[len(source.shape) :]
                return self.read(At(inner.array, inner.index + rest), wanted)
        elif not root.index:
            return Slice(root.array, row_dims((), wanted))
        return row_at(root.array, at, wanted)


def iota_at(iota: Iota, at: SE) -> SE:
    """Element `at` of an iota."""
    index: SE = at if iota.prim == "i64" else Conv("i64", iota.prim, at)
    if iota.step != Lit(1, iota.prim):
        index = Bin("*", iota.prim, index, iota.step)
    if iota.start == Lit(0, iota.prim):
        return index
    return Bin("+", iota.prim, iota.start, index)


def closed(sc: FlatteningScope, body: KernelBody, prov: Prov) -> KernelBody:
    """A thread's code: reads of what it uses from outside, then its statements, all sequential."""
    code = replace(body, stms=sequentialise(body.stms, sc.ctx.fresh))
    reads = close(sc, free(code), prov, frozenset(of_body(body.stms)[0]))
    return replace(code, stms=(*reads, *code.stms)) if reads else code


def with_own_names(sc: FlatteningScope, exp: Exp) -> Exp:
    """The kernel with names of its own, should another kernel bind the same ones."""
    names = bound(exp)
    # A kernel inside of another must not hide that the outer one reads the same names.
    if sc.level == "block" or not sc.in_kernels.isdisjoint(names):
        exp = rename(exp, sc.ctx.fresh)
        names = bound(exp)
    sc.in_kernels.update(names)
    return exp


def space(nest: Nest) -> SegSpace:
    """The indices of a nest, one for each thread."""
    return SegSpace(tuple((level.index, level.width) for level in nest))


def widths(nest: Nest) -> tuple[Poly, ...]:
    """How far each level of a nest runs."""
    return tuple(level.width for level in nest)


def indices(nest: Nest) -> tuple[Name, ...]:
    """The indices of a nest."""
    return tuple(level.index for level in nest)


def thread_count(nest: Nest) -> Poly:
    """How many indices a nest has."""
    return Poly.product(widths(nest))


def is_empty(nest: Nest) -> SE | None:
    """A condition for a nest without indices; None if it always has some."""
    result: SE | None = None
    for level in nest:
        if (level.width.constant or 0) <= 0:
            empty = Bin("<=", "i64", se_of(level.width), ZERO)
            result = empty if result is None else Bin("||", "bool", result, empty)
    return result


def out_params(
    sc: FlatteningScope, outer: Iterable[Poly], elements: Iterable[Type], names: ResultNames
) -> tuple[Param, ...]:
    """Arrays with those elements, under the given names or new ones."""
    dims = tuple(outer)
    found = []
    for type_, name in zip(elements, names, strict=True):
        found.append(Param(name or sc.ctx.fresh("r"), with_dims(dims, type_)))
    return tuple(found)


def emit(sc: FlatteningScope, pat: tuple[Param, ...], exp: Exp, prov: Prov) -> Stm:
    """A statement where kernels are launched; its arrays are fresh."""
    sc.bind(pat)
    sc.owned.update(p.name for p in pat)
    return Stm(pat, exp, prov)


def seg_map(
    sc: FlatteningScope, nest: Nest, body: KernelBody, pat: tuple[Param, ...], prov: Prov
) -> list[Stm]:
    """A kernel that runs the body at every index of the nest.

    Where it also reads the array that it writes into, it writes into a copy.
    """
    out: list[Stm] = []
    code = closed(sc, body, prov)
    results = list(code.results)
    written = [r.dest for r in results if isinstance(r, Write)]
    read = free(code.stms) if written else set()
    for at, result in enumerate(results):
        if isinstance(result, Write) and result.dest in read:
            copy = Param(sc.ctx.fresh(result.dest), body.returns[at])
            out.append(emit(sc, (copy,), Copy(result.dest), prov))
            results[at] = Write(copy.name, result.writes)
    code = replace(code, results=tuple(results))
    kernel = with_own_names(sc, SegMap(sc.level, space(nest), code))
    return [*out, emit(sc, pat, kernel, prov)]


def sequential_op(sc: FlatteningScope, op: Operator) -> Operator:
    """The operator with loops for whatever parallelism is inside it."""
    stms = sequentialise(op.fn.body.stms, sc.ctx.fresh)
    if stms is op.fn.body.stms:
        return op
    fn = Lambda(op.fn.params, Body(stms, op.fn.body.results), op.fn.returns)
    return Operator(fn, op.neutral, op.commutative)
