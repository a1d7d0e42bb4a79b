"""The nodes of the imperative IR (thesis, section 4.7, figure 4.12).

Grammar, one line per form; format lines say how they look, `runtime/imp_interp.py` what they mean.

    prog   ::= fun..
    fun    ::= name(param..) -> (result..) = stm..
    stm    ::= define | apply | call | declare | assign | alloc | free | load | store | copy | push
             | if | for | while | assert | kernel
    kernel ::= space, body, and what happens with the values of the points: map, reduce, scan, hist

Variables are scalars or blocks; a block is flat and holds elements of one primitive type. Scalar
expressions are those of the core language; memory is read by `Load` only. A statement list is one
scope: names defined in it are gone after it. All names are unique in the program.
"""

from __future__ import annotations

from dataclasses import field

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.dialect.table import Dialect
from compiler.ir.nodes import SE, Array, Level, Mem, Operand, Scalar, Space

IMP = Dialect("IMP", blocks=frozenset(("Stms", "Combine")))
"""The nodes of IMP."""


class Stm:
    """A statement. The kernel IR (`kernels/nodes.py`) has further ones."""

    __slots__ = ()

    @property
    def prov(self) -> Prov:
        """Provenance."""
        raise NotImplementedError


Stms = tuple[Stm, ...]

# --- scalars and blocks ----------------------------------------------------------------------


@IMP.node("{name}: {type}", binds={"name": "typed type"})
@dataclass(frozen=True, slots=True)
class Formal:
    """A parameter or result of a function: a scalar or a block."""

    name: Name
    type: Scalar | Mem


@IMP.node(
    "let {name}: {prim} = {value}",
    binds={"name": "scalar prim"},
    parts="bind:name se:value",
    method="define",
)
@dataclass(frozen=True, slots=True)
class Define(Stm):
    """A scalar constant."""

    name: Name
    prim: Prim
    value: SE
    prov: Prov = ()


@IMP.node(
    "apply ({*names: prims}) = {fun:function}({args})",
    binds={"names": "scalar prims"},
    parts="binds:names ses:args",
    method="apply",
)
@dataclass(frozen=True, slots=True)
class Apply(Stm):
    """Scalar constants: the results of a scalar function of the program for `args`."""

    names: tuple[Name, ...]
    prims: tuple[Prim, ...]
    fun: str
    args: tuple[SE, ...]
    prov: Prov = ()


@IMP.node(
    "call ({results}) = {fun:function}({args}){gone? frees ({})}",
    parts="results:results operands:args gone:gone",
    method="call",
)
@dataclass(frozen=True, slots=True)
class Call(Stm):
    """Call of a host function: `results` are scalars and blocks.

    Each block of `results` is fresh, and the statement list frees it as one of its own. Those of
    `args` in `gone` are freed by the callee, not by the statement list.
    """

    results: tuple[Formal, ...]
    fun: str
    args: tuple[Operand, ...]
    gone: tuple[Name, ...] = ()
    prov: Prov = ()


@IMP.node(
    "var {name}: {type}{value:Operand? = {}}",
    binds={"name": "typed type"},
    parts="bind:name holder:name operand:value",
    method="declare",
)
@dataclass(frozen=True, slots=True)
class Declare(Stm):
    """A variable that is assigned later; `value` is what it starts as (a name for blocks)."""

    name: Name
    type: Scalar | Mem
    value: Operand | None = None
    prov: Prov = ()


@IMP.node("{name} <- {value}", parts="assigns:name operand:value", method="assign")
@dataclass(frozen=True, slots=True)
class Assign(Stm):
    """Assign a declared variable: a scalar expression, or the name of a block."""

    name: Name
    value: Operand
    prov: Prov = ()


@IMP.node(
    "let {name}: mem({prim}{space?, {}}) = alloc({count:index})",
    binds={"name": "mem prim space"},
    parts="bind:name makes:name se:count",
    method="alloc",
)
@dataclass(frozen=True, slots=True)
class Alloc(Stm):
    """A fresh, uninitialised block of `count` elements, bound to `name`.

    Sums, differences and products in `count` are exact. A negative count is an error like one too
    large, but empty where `index.is_plain` says that a separate check of the array reports it.
    """

    name: Name
    count: SE
    prim: Prim
    space: Space = "device"
    prov: Prov = ()


@IMP.node("free {name}", parts="frees:name", method="free")
@dataclass(frozen=True, slots=True)
class Free(Stm):
    """Release the block held by `name`; it is deallocated with its last holder."""

    name: Name
    prov: Prov = ()


@IMP.node(
    "let {name}: {prim} = {block}[{at:index}]",
    binds={"name": "scalar prim"},
    parts="bind:name reads:block se:at",
    method="load",
)
@dataclass(frozen=True, slots=True)
class Load(Stm):
    """Define the scalar `name` as cell `at` of `block`."""

    name: Name
    prim: Prim
    block: Name
    at: SE
    prov: Prov = ()


@IMP.node(
    "{block}[{at:index}] <- {value}",
    finds={"prim": "element block"},
    parts="writes:block se:at se:value",
    method="store",
)
@dataclass(frozen=True, slots=True)
class Store(Stm):
    """Cell `at` of `block` becomes `value`."""

    block: Name
    prim: Prim
    at: SE
    value: SE
    prov: Prov = ()


@IMP.node(
    "copy {prim} {dest} -> {dest_lmad:lmad} <- {source} -> {source_lmad:lmad}",
    parts="writes:dest reads:source lmad:dest_lmad lmad:source_lmad",
    method="copy",
)
@dataclass(frozen=True, slots=True)
class Copy(Stm):
    """Copy element `i` of the source to element `i` of the destination, for all indices `i`.

    Both LMADs have the same sizes. The cells of the two are disjoint, or equal.
    """

    prim: Prim
    dest: Name
    dest_lmad: Lmad[Poly]
    source: Name
    source_lmad: Lmad[Poly]
    prov: Prov = ()


# --- control ---------------------------------------------------------------------------------


@IMP.node(
    "if {cond} {then}{orelse? else {}}", parts="se:cond stms:then stms:orelse", method="branch"
)
@dataclass(frozen=True, slots=True)
class If(Stm):
    """One of two statement lists."""

    cond: SE
    then: Stms
    orelse: Stms = ()
    prov: Prov = ()


@IMP.node(
    "for {index}: {prim} < {bound} {body}",
    binds={"index": "scalar prim"},
    parts="bind:index se:bound stms:body",
    method="count_loop",
)
@dataclass(frozen=True, slots=True)
class For(Stm):
    """`index` counts from 0 up to, not including, `bound`, which is evaluated once."""

    index: Name
    prim: Prim
    bound: SE
    body: Stms
    prov: Prov = ()


@IMP.node("while {cond} {body}", parts="named:cond stms:body", method="while_loop")
@dataclass(frozen=True, slots=True)
class While(Stm):
    """Loop while the variable `cond` is true."""

    cond: Name
    body: Stms
    prov: Prov = ()


@IMP.node("assert({cond}{message:message})", parts="se:cond ses:message", method="check")
@dataclass(frozen=True, slots=True)
class Assert(Stm):
    """Stop the program with `message` unless `cond` holds."""

    cond: SE
    message: tuple[str | SE, ...]
    prov: Prov = ()


# --- kernels ---------------------------------------------------------------------------------


@IMP.node(parts="binds:lhs binds:rhs ses:neutral stms:body ses:results")
@dataclass(frozen=True, slots=True)
class Combine:
    """An associative operator on tuples of scalars.

    `body` computes `results` from `lhs` and `rhs`; `neutral` is evaluated outside the kernel.
    `prov`: provenance of the results, if not the kernel's.
    """

    prims: tuple[Prim, ...]
    lhs: tuple[Name, ...]
    rhs: tuple[Name, ...]
    body: Stms
    results: tuple[SE, ...]
    neutral: tuple[SE, ...]
    commutative: bool = False
    prov: Prov = field(default=(), compare=False)


@IMP.node("{block}[{at:index}]")
@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a block."""

    block: Name
    at: SE


@IMP.node(parts="", called="map")
@dataclass(frozen=True, slots=True)
class MapWork:
    """No further work: the body has done everything."""


@IMP.node("fold ({inputs}) into ({into:place}) {op}", parts="ses:inputs node:op into:into")
@dataclass(frozen=True, slots=True)
class Fold:
    """One operator with its `inputs` at a point, and the destination of each result component.

    `into` has a `Cell` per component (its index mentions the outer indices; for scans all), or a
    declared scalar variable where a reduction has no outer dimensions.
    """

    op: Combine
    inputs: tuple[SE, ...]
    into: tuple[Cell | Name, ...]
    prov: Prov = field(default=(), compare=False)
    """Provenance of the inputs."""


@IMP.node("{folds}", parts="nodes:folds", called="reduce")
@dataclass(frozen=True, slots=True)
class ReduceWork:
    """Reduce along the last dimension."""

    folds: tuple[Fold, ...]


@IMP.node("{folds}", parts="nodes:folds", called="scan")
@dataclass(frozen=True, slots=True)
class ScanWork:
    """Compute all inclusive prefixes along the last dimension."""

    folds: tuple[Fold, ...]


@IMP.node(
    "({*bins:bin < shape:bin}) in ({dests:dest}) get ({values}) {op}",
    parts="ses:bins ses:shape ses:values node:op dests:dests",
)
@dataclass(frozen=True, slots=True)
class Histogram:
    """One histogram: at `bins`, if within `shape`, combine the destinations with `values`.

    A destination's cell is `lmad(bins)` of its block; the LMADs mention the outer indices.
    """

    op: Combine
    shape: tuple[SE, ...]
    bins: tuple[SE, ...]
    values: tuple[SE, ...]
    dests: tuple[tuple[Name, Lmad[Poly]], ...]
    prov: Prov = field(default=(), compare=False)
    """Provenance of the bins and values."""


@IMP.node("bins {hists}", parts="nodes:hists", called="hist")
@dataclass(frozen=True, slots=True)
class HistWork:
    """Compute histograms over the last dimension, one per point of the outer ones."""

    hists: tuple[Histogram, ...]


@IMP.node("push {hist}", parts="node:hist", method="push")
@dataclass(frozen=True, slots=True)
class Push(Stm):
    """Combine one bin with its values atomically: other points may update the same bin.

    The operator's neutral element is unused, and absent.
    """

    hist: Histogram
    prov: Prov = ()


Work = MapWork | ReduceWork | ScanWork | HistWork


@IMP.node(
    begins=("map", "reduce", "scan", "hist"), parts="dims:dims stms:body node:work", method="kernel"
)
@dataclass(frozen=True, slots=True)
class Kernel(Stm):
    """Run `body` at every point of `dims` (outermost first), in any order, then do `work`.

    `level`: `grid` stands among host statements; `block` inside of the body of a `per_block`
    kernel, whose points are worked on by a block of threads each.
    """

    name: str
    level: Level
    dims: tuple[tuple[Name, SE], ...]
    body: Stms
    work: Work
    per_block: bool = False
    prov: Prov = ()


# --- programs --------------------------------------------------------------------------------


@IMP.node("{name}: {unique?*}{type}{block? in {}}", finds={"block": "held block type"})
@dataclass(frozen=True, slots=True)
class External:
    """A value as callers see it: `type` is scalar or a row-major array; `block` holds an array.

    Sizes in `type` are names among the parameters (of a result: or among the results).
    """

    name: Name
    type: Scalar | Array
    block: Name = ""
    unique: bool = False


@dataclass(frozen=True, slots=True)
class ImpFun:
    """An entry point, or a function of the host. `values` are the result values, in order.

    The first `implicit` parameters of an entry point are sizes that follow from the shapes of
    `inputs`. A called function writes to none of its argument blocks, which may alias each other,
    and returns none of them. One that is no `entry` has no `inputs` and no `outputs`, and frees its
    argument blocks: a caller that still needs a block holds it as well.
    """

    name: str
    params: tuple[Formal, ...]
    results: tuple[Formal, ...]
    body: Stms
    values: tuple[Operand, ...]
    inputs: tuple[External, ...]
    outputs: tuple[External, ...]
    implicit: int = 0
    prov: Prov = ()
    entry: bool = True


@dataclass(frozen=True, slots=True)
class ScalarFun:
    """A scalar function, called by `Apply`: definitions, branches and counting loops."""

    name: str
    params: tuple[Formal, ...]
    results: tuple[Formal, ...]
    body: Stms
    values: tuple[SE, ...]
    prov: Prov = ()


@dataclass(frozen=True, slots=True)
class ImpProg:
    """Host functions, and the scalar functions that they apply, in order of dependence."""

    funs: tuple[ImpFun, ...]
    applied: tuple[ScalarFun, ...] = ()
