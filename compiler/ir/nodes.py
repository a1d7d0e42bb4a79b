"""The nodes of the core language, for all stages.

One line per form; `forms.py` says which may occur where. How a node looks says its format line,
of which printer and parser are made (`docs/dialects.md`).

    prog   ::= fun..                                   one `entry` at least
    fun    ::= name(param..) : (result param..) = body
    body   ::= stm.. in (operand..)
    stm    ::= let param.. = exp          with provenance
    exp    ::= scalar expression (nested) | array operation | control | parallel operator | memory

Scalar expressions nest and are pure: what can fail is guarded by an `Assert` statement before it.
Array operands are always names. Sizes are `Poly` over i64 names in scope; a size that is not a
polynomial is bound to a name first. Indices count from 0.

Whatever returns an array of unknown size returns that size too, as an i64 before it: patterns, loop
parameters and function results may mention names bound to their left (thesis, listing 4.1).
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from compiler.algebra.poly import Poly
from compiler.base.dataclass import KeepsNames, dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.ir.array_nodes import ArrayLit as ArrayLit
from compiler.ir.array_nodes import Concat as Concat
from compiler.ir.array_nodes import Copy as Copy
from compiler.ir.array_nodes import DimFix as DimFix
from compiler.ir.array_nodes import DimIndex as DimIndex
from compiler.ir.array_nodes import DimLmad as DimLmad
from compiler.ir.array_nodes import DimSlice as DimSlice
from compiler.ir.array_nodes import Index as Index
from compiler.ir.array_nodes import Iota as Iota
from compiler.ir.array_nodes import Rearrange as Rearrange
from compiler.ir.array_nodes import Replicate as Replicate
from compiler.ir.array_nodes import Reshape as Reshape
from compiler.ir.array_nodes import Scratch as Scratch
from compiler.ir.array_nodes import Slice as Slice
from compiler.ir.array_nodes import Update as Update
from compiler.ir.fails import Fails
from compiler.ir.scalar_nodes import (
    BOOL as BOOL,
)
from compiler.ir.scalar_nodes import (
    CORE as CORE,
)
from compiler.ir.scalar_nodes import (
    FALSE as FALSE,
)
from compiler.ir.scalar_nodes import (
    I64 as I64,
)
from compiler.ir.scalar_nodes import (
    ONE as ONE,
)
from compiler.ir.scalar_nodes import (
    SE as SE,
)
from compiler.ir.scalar_nodes import (
    SE_NODES as SE_NODES,
)
from compiler.ir.scalar_nodes import (
    TRUE as TRUE,
)
from compiler.ir.scalar_nodes import (
    ZERO as ZERO,
)
from compiler.ir.scalar_nodes import (
    Array as Array,
)
from compiler.ir.scalar_nodes import (
    Bin as Bin,
)
from compiler.ir.scalar_nodes import (
    Conv as Conv,
)
from compiler.ir.scalar_nodes import (
    Fun as Fun,
)
from compiler.ir.scalar_nodes import (
    Lit as Lit,
)
from compiler.ir.scalar_nodes import (
    Mem as Mem,
)
from compiler.ir.scalar_nodes import (
    MemBind as MemBind,
)
from compiler.ir.scalar_nodes import (
    Operand as Operand,
)
from compiler.ir.scalar_nodes import (
    Param as Param,
)
from compiler.ir.scalar_nodes import (
    Scalar as Scalar,
)
from compiler.ir.scalar_nodes import (
    Select as Select,
)
from compiler.ir.scalar_nodes import (
    Space as Space,
)
from compiler.ir.scalar_nodes import (
    Type as Type,
)
from compiler.ir.scalar_nodes import (
    Un as Un,
)
from compiler.ir.scalar_nodes import (
    Var as Var,
)

# --- array operations ------------------------------------------------------------------------

Fresh = Copy | Concat | Iota | Replicate | Scratch | ArrayLit
ArrayOp = Index | Slice | Update | Rearrange | Reshape | Fresh

# --- statements, control and accumulators ----------------------------------------------------


@CORE.node()
@dataclass(frozen=True, slots=True)
class Stm(KeepsNames):
    """`let pat = exp`; `prov` is where it came from and is carried along by every rewrite."""

    pat: tuple[Param, ...]
    exp: Exp
    prov: Prov = ()


@CORE.node()
@dataclass(frozen=True, slots=True)
class Body:
    """Statements, then results; `prov`: provenance of the results, () for that of the context."""

    stms: tuple[Stm, ...]
    results: tuple[Operand, ...]
    prov: Prov = field(default=(), compare=False)


@CORE.node()
@dataclass(frozen=True, slots=True)
class Lambda:
    """An anonymous function of elements or rows; `returns` are its result types."""

    params: tuple[Param, ...]
    body: Body
    returns: tuple[Type, ...]


@CORE.node("assert({cond}{message:message})", bare=True, fails=Fails.STOPS)
@dataclass(frozen=True, slots=True)
class Assert:
    """Stop with `message`, text and values in between, unless `cond` holds; binds nothing."""

    cond: SE
    message: tuple[str | SE, ...]


@CORE.node("if {cond}\nthen {then}\nelse {orelse}", fails=Fails.NEVER, called="the condition")
@dataclass(frozen=True, slots=True)
class If:
    """One of two bodies; the statement's pattern holds the types."""

    cond: SE
    then: Body
    orelse: Body


@CORE.node("for {index}: {prim} < {bound}{unroll? unroll {}}", binds={"index": "scalar prim"})
@dataclass(frozen=True, slots=True)
class ForLoop:
    """Counts `index` from 0 up to, not including, `bound`.

    `unroll`: up to how many statements may stand in the place of the loop, as its author wants it.
    """

    index: Name
    prim: Prim
    bound: SE
    unroll: int = 0


@CORE.node("while {cond}")
@dataclass(frozen=True, slots=True)
class WhileLoop:
    """Goes on as long as the loop parameter `cond`, a bool, is true."""

    cond: Name


@CORE.node(
    "loop {params:params} = ({init})\n{form} do {body}", fails=Fails.NEVER, called="the loop"
)
@dataclass(frozen=True, slots=True)
class Loop:
    """`params` start as `init`; each iteration's results become the next one's parameters."""

    params: tuple[Param, ...]
    init: tuple[Operand, ...]
    form: ForLoop | WhileLoop
    body: Body


@CORE.node("call {fun:function}({args})", fails=Fails.STOPS)
@dataclass(frozen=True, slots=True)
class Call:
    """A call of a top-level function, itself included (before inlining)."""

    fun: str
    args: tuple[Operand, ...]


@CORE.node("apply {fun:function}({args})", fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Apply:
    """A call of a scalar function that cannot fail (after inlining)."""

    fun: str
    args: tuple[SE, ...]


@CORE.node("threshold({name:string}, {amount}, {default})", fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Threshold:
    """True if `amount`, a version's parallelism, reaches the tuning parameter of that name."""

    name: str
    amount: SE
    default: int


Control = If | Loop | Call | Apply | Assert | Threshold


@CORE.node("push ({dests})[{at:index}] = ({values})\n  op {op}", bare=True, fails=Fails.STOPS)
@dataclass(frozen=True, slots=True)
class Push:
    """Put `values` at a place of an accumulator, unless it lies outside; binds nothing.

    The accumulator is `dests`, arrays of one shape whose first dimensions `at` indexes. It belongs
    to the `Stream` around, or to the kernel that has a `Write` of it without writes. The values
    take the place of what is there (of two, one stays); or `op`, which holds at most one function
    of both, combines them with it. Stands in branches and loops of the stream, not in operators.
    """

    dests: tuple[Name, ...]
    at: tuple[SE, ...]
    values: tuple[Operand, ...]
    op: tuple[Lambda, ...] = ()


# --- parallel operators, before flattening ---------------------------------------------------


@CORE.node("op ({neutral}) {commutative?comm }{fn}")
@dataclass(frozen=True, slots=True)
class Operator:
    """An associative operator: `fn` takes two values' components, `neutral` is its identity.

    `fn` has parameters `a.. b..` and returns as many values as there are neutral elements.
    """

    fn: Lambda
    neutral: tuple[Operand, ...]
    commutative: bool = False


@CORE.node("map [{width}] ({arrays})\n  {fn}", fails=Fails.NEVER, called="the map")
@dataclass(frozen=True, slots=True)
class Map:
    """Apply `fn` to the rows of `arrays`, each of outer size `width`, in any order."""

    width: Poly
    fn: Lambda
    arrays: tuple[Name, ...]


@CORE.node(
    "reduce [{width}] ({arrays})\n  {ops}\n  map {fn}", fails=Fails.NEVER, called="the reduction"
)
@dataclass(frozen=True, slots=True)
class Reduce:
    """Apply `fn` to the rows of `arrays`, reduce its first results, keep its others as arrays.

    Results of `fn`: for each operator its components, in order, then the values to keep. Results of
    the statement: the reductions, then the kept arrays. A plain reduction has the identity as `fn`.
    """

    width: Poly
    ops: tuple[Operator, ...]
    fn: Lambda
    arrays: tuple[Name, ...]


@CORE.node("scan [{width}] ({arrays})\n  {ops}\n  map {fn}", fails=Fails.NEVER, called="the scan")
@dataclass(frozen=True, slots=True)
class Scan:
    """Inclusive scan with the components and results of `Reduce`; the scans are arrays."""

    width: Poly
    ops: tuple[Operator, ...]
    fn: Lambda
    arrays: tuple[Name, ...]


@CORE.node("{array}[{rank:rank}]{times? * {}}")
@dataclass(frozen=True, slots=True)
class Dest:
    """An array written `times` times by each row; the first `rank` dimensions are indexed."""

    array: Name
    rank: int
    times: int = 1


@CORE.node(
    "scatter [{width}] ({arrays})\n  into {dests}\n  map {fn}",
    fails=Fails.NEVER,
    overwrites="dests.array",
    called="the scatter",
)
@dataclass(frozen=True, slots=True)
class Scatter:
    """Write values at indices; both computed by `fn` from the rows of `arrays`.

    Results of `fn`: for each destination, `times` times, its `rank` indices (i64) and value; then
    the values to keep. Consumes the destinations. Ignores indices outside; of two values one stays.
    """

    width: Poly
    dests: tuple[Dest, ...]
    fn: Lambda
    arrays: tuple[Name, ...]


@CORE.node("into ({dests})[{rank:rank}] {op}")
@dataclass(frozen=True, slots=True)
class HistOp:
    """Destinations of one shape, whose elements are combined with the values at their indices."""

    dests: tuple[Name, ...]
    rank: int
    op: Operator


@CORE.node(
    "hist [{width}] ({arrays})\n  {ops}\n  map {fn}",
    fails=Fails.NEVER,
    overwrites="ops.dests",
    called="the histogram",
)
@dataclass(frozen=True, slots=True)
class Hist:
    """Histogram: `fn` returns per `HistOp` its `rank` indices, then its values.

    Ignores indices out of bounds. Consumes the destinations.
    """

    width: Poly
    ops: tuple[HistOp, ...]
    fn: Lambda
    arrays: tuple[Name, ...]


@CORE.node(
    "stream [{width}] ({arrays})\n  into ({dests}) {fn}",
    fails=Fails.NEVER,
    overwrites="dests",
    called="the stream",
)
@dataclass(frozen=True, slots=True)
class Stream:
    """Run `fn` on the rows of `arrays` for its effect: to `Push` at any number of places.

    Consumes the `dests`, which form one accumulator or several, and are used by nothing else
    inside. `fn` returns nothing; results are the final destinations.
    """

    width: Poly
    dests: tuple[Name, ...]
    fn: Lambda
    arrays: tuple[Name, ...]


Fold = Reduce | Scan
"""Operators whose first results are folds, by `ops`, of the first results of `fn`."""
Screma = Map | Fold
"""Operators that overwrite nothing; their last results collect those of `fn` for each row."""
Soac = Screma | Scatter | Hist | Stream
"""Second-order array combinators: apply `fn` to the rows of `arrays`, of outer size `width`."""

# --- derivatives, before they are derived ----------------------------------------------------


@CORE.node("jvp ({args}) with ({seeds})\n  {fn}", fails=Fails.STOPS)
@dataclass(frozen=True, slots=True)
class Jvp:
    """Forward mode: results of `fn` at `args`, then their tangents for the tangents `seeds`.

    A tangent has the type of its value.
    """

    args: tuple[Operand, ...]
    seeds: tuple[Operand, ...]
    fn: Lambda


@CORE.node("vjp ({args}) with ({seeds})\n  {fn}", fails=Fails.STOPS)
@dataclass(frozen=True, slots=True)
class Vjp:
    """Reverse mode: results of `fn` at `args`, then adjoints of `args` for the adjoints `seeds`.

    An adjoint has the type of its value.
    """

    args: tuple[Operand, ...]
    seeds: tuple[Operand, ...]
    fn: Lambda


@CORE.node("with_vjp ({args})\n  {fn}\n  {back}", fails=Fails.STOPS)
@dataclass(frozen=True, slots=True)
class WithVjp:
    """Results of `fn` at `args`, with a custom reverse-mode derivative `back`.

    `back` takes the results of `fn` and their adjoints, and returns the adjoints of `args`.
    """

    args: tuple[Operand, ...]
    fn: Lambda
    back: Lambda


Derivative = Jvp | Vjp

# --- parallel operators, after flattening ----------------------------------------------------

Level = Literal["grid", "block", "thread"]
"""`grid`: a kernel of its own, one thread per index. `block`: inside a `grid` segmap that is
`per_block`, spread over the threads of one block. `thread`: sequential."""


@CORE.node("({dims:dim})")
@dataclass(frozen=True, slots=True)
class SegSpace:
    """The threads of a kernel: nested indices with bounds, outermost first; `flat` numbers them."""

    dims: tuple[tuple[Name, Poly], ...]


@CORE.node("{dest} with {{{writes:write}}}")
@dataclass(frozen=True, slots=True)
class Write:
    """A result of a kernel body that goes to computed indices of `dest` (consumed).

    Each of `writes` is indices of the first dimensions, and a value; indices outside are ignored.
    Without writes, `dest` is an accumulator to which statements of the body `Push`.
    """

    dest: Name
    writes: tuple[tuple[tuple[SE, ...], Operand], ...]


KernelResult = Operand | Write  # An operand becomes element `[gtids..]` of the result array.


@CORE.node()
@dataclass(frozen=True, slots=True)
class KernelBody:
    """The code of a thread; `returns` are the types of the operands (of `Write`: the dest's)."""

    stms: tuple[Stm, ...]
    results: tuple[KernelResult, ...]
    returns: tuple[Type, ...]
    prov: Prov = field(default=(), compare=False)


@CORE.node(
    "segmap @{level} {space} {per_block?per_block }{body}",
    fails=Fails.NEVER,
    overwrites="body.results.dest",
    called="the map",
)
@dataclass(frozen=True, slots=True)
class SegMap:
    """Run the body for every index. `per_block`: a whole block of threads works on one index."""

    level: Level
    space: SegSpace
    body: KernelBody
    per_block: bool = False


@CORE.node(
    "segred @{level} {space}\n  {ops}\n  body {body}",
    fails=Fails.NEVER,
    overwrites="body.results.dest",
    called="the reduction",
)
@dataclass(frozen=True, slots=True)
class SegRed:
    """Reduce along the last dimension of the space.

    Body results: the operators' components, then values to keep. Statement results: arrays over the
    outer dimensions (scalars if there are none), then kept arrays over the whole space.
    An operator whose components are arrays works on whole rows.
    """

    level: Level
    space: SegSpace
    ops: tuple[Operator, ...]
    body: KernelBody


@CORE.node(
    "segscan @{level} {space}\n  {ops}\n  body {body}",
    fails=Fails.NEVER,
    overwrites="body.results.dest",
    called="the scan",
)
@dataclass(frozen=True, slots=True)
class SegScan:
    """Inclusive scan along the last dimension, with the components of `SegRed`."""

    level: Level
    space: SegSpace
    ops: tuple[Operator, ...]
    body: KernelBody


@CORE.node(
    "seghist @{level} {space}\n  {ops}\n  body {body}",
    fails=Fails.NEVER,
    overwrites="ops.dests",
    called="the histogram",
)
@dataclass(frozen=True, slots=True)
class SegHist:
    """Histogram over the last dimension, one per index of the outer ones.

    The destinations have the outer dimensions first, which are indexed by it; body
    results: per `HistOp` its `rank` further indices, then its values.
    """

    level: Level
    space: SegSpace
    ops: tuple[HistOp, ...]
    body: KernelBody


SegFold = SegRed | SegScan
"""Kernels whose first results are folds, by `ops`, of the first results of `body`."""
SegMapping = SegMap | SegFold
"""Kernels whose last results collect those of `body` for each index: all but histograms."""
SegOp = SegMapping | SegHist
"""Parallel operators over the indices of `space`, with a `body` for each."""

# --- memory ----------------------------------------------------------------------------------


@CORE.node("alloc({count}, {prim}{space?, {}})", fails=Fails.SIZE)
@dataclass(frozen=True, slots=True)
class Alloc:
    """A fresh block of `count` elements; the statement binds one `Mem`."""

    count: Poly
    prim: Prim
    space: Space = "device"


# --- programs --------------------------------------------------------------------------------

Exp = SE | ArrayOp | Control | Push | Soac | Derivative | WithVjp | SegOp | Alloc


@CORE.node()
@dataclass(frozen=True, slots=True)
class Function:
    """A top-level function. Sizes of array parameters are i64 parameters to their left.

    The first `implicit` parameters are sizes that a caller from outside does not give: they follow
    from the shapes of the arrays that mention them. `results` name the results so that later ones
    can mention earlier ones; `unique` on a result: it aliases no parameter. After memory is
    introduced, parameters and results of an entry are preceded by their blocks, and arrays are
    row-major from offset 0 (thesis, procedure 4.1).
    """

    name: str
    params: tuple[Param, ...]
    results: tuple[Param, ...]
    body: Body
    entry: bool
    implicit: int = 0
    prov: Prov = ()


@CORE.node()
@dataclass(frozen=True, slots=True)
class Prog:
    """Functions in order of dependence: a call goes to an earlier one, or the function itself."""

    funs: tuple[Function, ...]
