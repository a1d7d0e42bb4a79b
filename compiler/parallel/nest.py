"""The scope of flattening: levels, sources of values, kernels.

A nest is a tuple of levels, one per `map` around the statement, outermost first; one thread per
index of the nest runs the statement. When a body is distributed over several kernels, a value of
the body is available in one of two ways: `At(array, index)` is the element or row of an array at
some of the nest's indices (rows of a map's arrays, and results of earlier kernels); every kernel
that needs a cheap statement recomputes it (`Stm`). `close` emits, at the head of a kernel, the
statements that bind its free names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.aliases import of_body
from compiler.ir.build import row_at, row_dims, var
from compiler.ir.sizes import se_of
from compiler.ir.types import with_dims
from compiler.ir.walk import bound, free, rename
from compiler.parallel.sequentialise import joining, sequentialise


@dataclass(frozen=True, slots=True)
class MapLevel:
    """One dimension of a nest: its index and width."""

    index: Name
    width: Poly


Nest = tuple[MapLevel, ...]
ResultNames = Sequence[Name | None]
"""The required name of each result's array; None for any name."""


class HostCode(NamedTuple):
    """Statements that launch kernels, and the name of the array of each result."""

    stms: list[ir.Stm]
    names: list[Name]


@dataclass(frozen=True, slots=True)
class Task:
    """The work of a nest of maps: the body, and the types of its results in one thread."""

    nest: Nest
    body: ir.Body
    returns: tuple[ir.Type, ...]
    names: ResultNames
    prov: Prov


_NO_MEMORY = (ir.Iota, ir.Replicate, *ir.SE_NODES)


@dataclass(frozen=True, slots=True)
class At:
    """The element or row of `array` at those indices; the whole array if there are none."""

    array: Name
    index: tuple[Name, ...]


@dataclass(slots=True)
class FlatteningScope:
    """The state of flattening a function. Names are unique, so one table serves all."""

    ctx: Ctx
    level: ir.Level = "grid"
    versions: bool = True
    host: set[Name] = field(default_factory=set)
    """Names that may be used outside the kernels being made."""
    sources: dict[Name, At | ir.Stm] = field(default_factory=dict)
    types: dict[Name, ir.Type] = field(default_factory=dict)
    defs: dict[Name, ir.Exp] = field(default_factory=dict)
    """Definitions of scalars, and of iotas and replicates, which need not be in memory."""
    turned: set[Name] = field(default_factory=set)
    """Arrays that are permutations of others' dimensions."""
    owned: set[Name] = field(default_factory=set)
    """Fresh arrays of flattening, or a loop's own: they may be consumed."""
    in_kernels: set[Name] = field(default_factory=set)
    """Names bound in kernels so far."""
    numbers: list[int] = field(default_factory=lambda: [0])
    """The number of the next threshold."""
    refused: list[Poly] = field(default_factory=list)
    """Amounts of parallelism that enclosing thresholds have found too small."""

    def inner(self, level: ir.Level) -> FlatteningScope:
        """Return the scope of a block's code, without versions; tables are shared."""
        host, owned = set(self.host), set(self.owned)
        return replace(self, level=level, versions=False, host=host, owned=owned)

    def bind(self, params: Iterable[ir.Param]) -> None:
        """Bind names at the level where kernels are launched."""
        for param in params:
            self.host.add(param.name)
            self.types[param.name] = param.type

    def note(self, stm: ir.Stm) -> None:
        """Record types, and definitions that need no memory."""
        for param in stm.pat:
            self.types[param.name] = param.type
        if isinstance(stm.exp, ir.Rearrange):
            self.turned.add(stm.pat[0].name)
        if isinstance(stm.exp, _NO_MEMORY):
            self.defs[stm.pat[0].name] = stm.exp

    def resolve(self, name: Name) -> At:
        """Return the outermost array that `name` is a row of, with all indices."""
        index: tuple[Name, ...] = ()
        source = self.sources.get(name)
        while isinstance(source, At):
            index = source.index + index
            name = source.array
            source = self.sources.get(name)
        return At(name, index)

    def enter(self, nest: Nest, width: Poly) -> MapLevel:
        """Make a new level inside `nest`."""
        return MapLevel(self.ctx.fresh("ijklmno"[min(len(nest), 6)]), width)


# --- kernels ---------------------------------------------------------------------------------


def close(
    sc: FlatteningScope, needed: Iterable[Name], prov: Prov, consumed: frozenset[Name] = frozenset()
) -> list[ir.Stm]:
    """Return statements that bind the names in `needed`: reads of arrays, and recomputed code.

    Arrays that the kernel consumes are copied.
    """
    closing = _Closing(sc, prov, consumed)
    for name in sorted(needed):
        closing.need(name)
    return closing.out


class _Closing:
    """Collects the reads at the head of one kernel."""

    __slots__ = ("consumed", "done", "out", "prov", "sc")

    def __init__(self, sc: FlatteningScope, prov: Prov, consumed: frozenset[Name]) -> None:
        self.sc = sc
        self.prov = prov
        self.consumed = consumed
        self.done: set[Name] = set()
        self.out: list[ir.Stm] = []

    def need(self, name: Name) -> None:
        source = self.sc.sources.get(name)
        if source is None or name in self.done:
            return
        self.done.add(name)
        if isinstance(source, ir.Stm):
            self.need_all(source)
            self.bind(source.pat[0], source.exp, source.prov)
            return
        root = self.sc.resolve(name)
        exp = self.read(root, self.sc.types[name])
        self.need_all(exp)
        self.bind(ir.Param(name, self.sc.types[name]), exp, self.prov)

    def bind(self, param: ir.Param, exp: ir.Exp, prov: Prov) -> None:
        if param.name in self.consumed:
            view = ir.Param(self.sc.ctx.fresh(param.name), param.type)
            self.out.append(ir.Stm((view,), exp, prov))
            exp = ir.Copy(view.name)
        self.out.append(ir.Stm((param,), exp, prov))

    def need_all(self, node: object) -> None:
        for name in sorted(free(node)):
            self.need(name)

    def read(self, root: At, wanted: ir.Type) -> ir.Exp:
        """Return the expression for an element or row; iotas and replicates need no array."""
        source = self.sc.defs.get(root.array)
        at = tuple(var(i) for i in root.index)
        if isinstance(wanted, ir.Scalar):
            if isinstance(source, ir.Iota):
                return iota_at(source, at[0])
            if isinstance(source, ir.Replicate):
                if not isinstance(source.value, str):
                    return source.value
                inner = self.sc.resolve(source.value)
                rest = root.index[len(source.shape) :]
                return self.read(At(inner.array, inner.index + rest), wanted)
        elif not root.index:
            return ir.Slice(root.array, row_dims((), wanted))
        return row_at(root.array, at, wanted)


def iota_at(iota: ir.Iota, at: ir.SE) -> ir.SE:
    """Return element `at` of an iota."""
    index: ir.SE = at if iota.prim == "i64" else ir.Conv("i64", iota.prim, at)
    if iota.step != ir.Lit(1, iota.prim):
        index = ir.Bin("*", iota.prim, index, iota.step)
    if iota.start == ir.Lit(0, iota.prim):
        return index
    return ir.Bin("+", iota.prim, iota.start, index)


def closed(sc: FlatteningScope, body: ir.KernelBody, prov: Prov) -> ir.KernelBody:
    """Close and sequentialise a thread's code: reads of outside values, then its statements."""
    code = replace(body, stms=sequentialise(body.stms, sc.ctx.fresh, joining(sc.ctx)))
    reads = close(sc, free(code), prov, frozenset(of_body(body.stms)[0]))
    return replace(code, stms=(*reads, *code.stms)) if reads else code


def with_own_names(sc: FlatteningScope, exp: ir.Exp) -> ir.Exp:
    """Rename names that another kernel binds too."""
    names = bound(exp)
    # A kernel inside of another must not hide that the outer one reads the same names.
    if sc.level == "block" or not sc.in_kernels.isdisjoint(names):
        exp = rename(exp, sc.ctx.fresh)
        names = bound(exp)
    sc.in_kernels.update(names)
    return exp


def space(nest: Nest) -> ir.SegSpace:
    """Return the space of a nest, with one thread per index."""
    return ir.SegSpace(tuple((level.index, level.width) for level in nest))


def widths(nest: Nest) -> tuple[Poly, ...]:
    """Return the widths of a nest's levels."""
    return tuple(level.width for level in nest)


def indices(nest: Nest) -> tuple[Name, ...]:
    """Return the indices of a nest."""
    return tuple(level.index for level in nest)


def thread_count(nest: Nest) -> Poly:
    """Return the number of threads of a nest."""
    return Poly.product(widths(nest))


def is_empty(nest: Nest) -> ir.SE | None:
    """Return a condition for an empty nest; None if it is never empty."""
    result: ir.SE | None = None
    for level in nest:
        if (level.width.constant or 0) <= 0:
            empty = ir.Bin("<=", "i64", se_of(level.width), ir.ZERO)
            result = empty if result is None else ir.Bin("||", "bool", result, empty)
    return result


def out_params(
    sc: FlatteningScope, outer: Iterable[Poly], elements: Iterable[ir.Type], names: ResultNames
) -> tuple[ir.Param, ...]:
    """Make parameters for arrays of those elements, under the given names or new ones."""
    dims = tuple(outer)
    found = []
    for type_, name in zip(elements, names, strict=True):
        found.append(ir.Param(name or sc.ctx.fresh("r"), with_dims(dims, type_)))
    return tuple(found)


def emit(sc: FlatteningScope, pat: tuple[ir.Param, ...], exp: ir.Exp, prov: Prov) -> ir.Stm:
    """Make a host statement, whose arrays are fresh."""
    sc.bind(pat)
    sc.owned.update(p.name for p in pat)
    return ir.Stm(pat, exp, prov)


def seg_map(
    sc: FlatteningScope, nest: Nest, body: ir.KernelBody, pat: tuple[ir.Param, ...], prov: Prov
) -> list[ir.Stm]:
    """Make a kernel that runs the body at every index of the nest.

    If it also reads the array that it writes into, it writes into a copy.
    """
    out: list[ir.Stm] = []
    code = closed(sc, body, prov)
    results = list(code.results)
    written = [r.dest for r in results if isinstance(r, ir.Write)]
    read = free(code.stms) if written else set()
    for at, result in enumerate(results):
        if isinstance(result, ir.Write) and result.dest in read:
            copy = ir.Param(sc.ctx.fresh(result.dest), body.returns[at])
            out.append(emit(sc, (copy,), ir.Copy(result.dest), prov))
            results[at] = ir.Write(copy.name, result.writes)
    code = replace(code, results=tuple(results))
    kernel = with_own_names(sc, ir.SegMap(sc.level, space(nest), code))
    return [*out, emit(sc, pat, kernel, prov)]


def sequential_op(sc: FlatteningScope, op: ir.Operator) -> ir.Operator:
    """Sequentialise an operator."""
    stms = sequentialise(op.fn.body.stms, sc.ctx.fresh, joining(sc.ctx))
    if stms is op.fn.body.stms:
        return op
    fn = ir.Lambda(op.fn.params, ir.Body(stms, op.fn.body.results, op.fn.body.prov), op.fn.returns)
    return ir.Operator(fn, op.neutral, op.commutative)
