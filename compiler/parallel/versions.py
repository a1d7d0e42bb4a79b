"""Generate code versions under thresholds, which choose at run time how much parallelism to use.

    suff_outer_k  enough elements in the outer maps: a thread for each, the rest in loops
    suff_intra_k  (CUDA) a block of threads for each element, the inner parallelism inside the block
    otherwise     everything flattened

(Thesis, section 7.2.2; the thresholds are what its autotuner tunes, section 7.6.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from compiler.algebra.divide import exact
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.base.target import SHORT_SEGMENT
from compiler.ir import nodes as ir
from compiler.ir.build import conjunction, either
from compiler.ir.sizes import se_of
from compiler.ir.slices import selected
from compiler.ir.types import as_operand, shape_of
from compiler.parallel import nest
from compiler.parallel.attributes import version_directives

VERSIONS = Rule(
    "flatten/versions",
    "Compiles versions that use more or less of the parallelism, selected by a threshold.",
)
INTRA_BLOCK = Rule(
    "flatten/intra-block",
    "Compiles a version in which a block of GPU threads runs the inner parallelism.",
)
WHOLE_ROWS = Rule(
    "flatten/whole-rows",
    "Rows that lie together, are folded and gone through again have no GPU thread each by default.",
)

COLUMNS = Rule(
    "coalesce/columns",
    "Columns that lie row by row are reduced so: neighbouring threads take neighbouring ones.",
)
"""Of the pass that orders arrays (`storage/coalesce.py`); no version with blocks is needed then."""

NEVER = 1 << 40
"""A threshold above any device's memory in elements."""
FEW = 8
"""Elements per thread allowed in operators that take little of the time."""
Version = Callable[[nest.ResultNames], nest.HostCode]
BlockCode = Callable[[nest.FlatteningScope], list[ir.Stm]]


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a task, each as a function that makes its code.

    `outer` has a thread for each of `threads` elements, and loops inside; `full` uses all
    parallelism; `block`, if it exists, is the code of a block of threads for one element.
    `outer_last`: other versions are better for any number of threads, unless a directive says
    otherwise.
    """

    threads: Poly
    outer: Version
    full: Version
    block: BlockCode | None = None
    outer_last: bool = False


def choose(sc: nest.FlatteningScope, task: nest.Task, versions: Versions) -> nest.HostCode:
    """Combine the versions of a task under thresholds. The outer one, if any, runs its body."""
    asked = version_directives(sc.ctx, task.prov)
    if asked & {"no_intra", "only_inner"}:
        versions = replace(versions, block=None)
    if asked & {"no_outer", "only_inner", "only_intra"}:
        return _without_outer(sc, task, versions, alone="only_intra" in asked)
    amount = versions.threads
    default = sc.ctx.target.saturation
    if amount in sc.refused:
        # Another operator over the same elements has asked already whether there are enough.
        return _without_outer(sc, task, versions, alone=False)
    if amount.constant is not None and amount.constant < default:
        because = (
            f"There are only {amount.constant} outer elements, so there is no version that leaves "
            "the inner parallelism unused."
        )
        sc.ctx.tell("missed", VERSIONS, task.prov, because)
        return _without_outer(sc, task, versions, alone=False)
    if versions.outer_last:
        default = NEVER
    number = sc.numbers[0]
    if sc.ctx.commit(VERSIONS, task.prov, _because(amount, default, number)) is None:
        return versions.outer(task.names)
    sc.numbers[0] += 1
    pat = nest.out_params(sc, nest.widths(task.nest), task.returns, task.names)
    cond, threshold = _threshold(sc, f"outer_{number}", se_of(amount), default, task.prov)
    first = versions.outer(_fresh_names(sc, pat))
    inner = _per_block(sc, task, pat, versions.block)
    sc.refused.append(amount)
    second = versions.full(_fresh_names(sc, pat))
    sc.refused.pop()
    if inner is not None:
        second = _under_intra(sc, inner, second, pat, number)
    exp = ir.If(cond, _branch(first, pat), _branch(second, pat))
    return nest.HostCode([threshold, nest.emit(sc, pat, exp, task.prov)], [p.name for p in pat])


def _without_outer(
    sc: nest.FlatteningScope, task: nest.Task, versions: Versions, *, alone: bool
) -> nest.HostCode:
    """Leave out the version with a thread per element; with `alone` also the full one."""
    if versions.block is None:
        return versions.full(task.names)
    pat = nest.out_params(sc, nest.widths(task.nest), task.returns, task.names)
    inner = _per_block(sc, task, pat, versions.block)
    if inner is None:
        return versions.full(task.names)
    if alone and not _fits(sc, inner.blocks, inner.sizes):
        return inner.code
    number = None if alone else sc.numbers[0]
    sc.numbers[0] += not alone
    return _under_intra(sc, inner, versions.full(_fresh_names(sc, pat)), pat, number)


def _fresh_names(sc: nest.FlatteningScope, pat: tuple[ir.Param, ...]) -> list[Name]:
    """Return new names for one version's results."""
    return [sc.ctx.fresh(param.name) for param in pat]


def _because(amount: Poly, default: int, number: int) -> Applied[bool]:
    shown = str(amount.subst({n: Poly.var(base_of(n)) for n in amount.names()}))
    because = (
        "The map contains inner parallelism. If the map alone has enough elements, one "
        "thread per element runs the inner parallelism sequentially; otherwise kernels "
        "use the inner parallelism, too."
    )
    numbers = (
        ("threshold", f"suff_outer_{number}"),
        ("compared with", shown),
        ("default", str(default)),
    )
    return Applied(True, because, numbers)


def _threshold(
    sc: nest.FlatteningScope, kind: str, amount: ir.SE, default: int, prov: Prov
) -> tuple[ir.Var, ir.Stm]:
    param = ir.Param(sc.ctx.fresh(f"suff_{kind.partition('_')[0]}"), ir.BOOL)
    exp = ir.Threshold(f"suff_{kind}", amount, default)
    return ir.Var(param.name, "bool"), nest.emit(sc, (param,), exp, prov)


def _branch(code: nest.HostCode, pat: tuple[ir.Param, ...]) -> ir.Body:
    pairs = zip(pat, code.names, strict=True)
    return ir.Body(tuple(code.stms), tuple(as_operand(ir.Param(name, p.type)) for p, name in pairs))


# --- one block of threads per element ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes of the operators that a block of threads runs for its element."""

    computed: tuple[Poly, ...] = ()
    """Those of operators that compute something: if some are in loops, only of these."""
    most: Mapping[Poly, int] = field(default_factory=dict)
    """All sizes, each with the most elements per thread."""
    for_warps: bool = False
    """True for one reduction or scan, for which a warp suffices while it is short."""
    for_columns: bool = False
    """True for one reduction of columns, which several blocks share."""


@dataclass(frozen=True, slots=True)
class _PerBlock:
    """A kernel with a block of threads for each element, and the sizes of its operators."""

    stm: ir.Stm
    blocks: Poly
    sizes: _Sizes

    @property
    def code(self) -> nest.HostCode:
        """Return the kernel alone."""
        return nest.HostCode([self.stm], [p.name for p in self.stm.pat])


def _under_intra(
    sc: nest.FlatteningScope,
    inner: _PerBlock,
    full: nest.HostCode,
    pat: tuple[ir.Param, ...],
    number: int | None,
) -> nest.HostCode:
    """Return the version with blocks, where it can be launched.

    With a `number` under its threshold.
    """
    stms: list[ir.Stm] = []
    conds = _fits(sc, inner.blocks, inner.sizes)
    prov = inner.stm.prov
    if number is not None:
        amount = _least(inner.sizes)
        default = SHORT_SEGMENT + 1 if inner.sizes.for_warps else sc.ctx.target.warp
        if inner.sizes.for_columns and not sc.ctx.options.is_off(COLUMNS):
            default = NEVER
        cond, threshold = _threshold(sc, f"intra_{number}", amount, default, prov)
        stms.append(threshold)
        conds.insert(0, cond)
    out = tuple(ir.Param(sc.ctx.fresh(p.name), p.type) for p in pat)
    exp = ir.If(conjunction(conds), _branch(inner.code, out), _branch(full, out))
    return nest.HostCode([*stms, nest.emit(sc, out, exp, prov)], [p.name for p in out])


def _fits(sc: nest.FlatteningScope, blocks: Poly, sizes: _Sizes) -> list[ir.SE]:
    """Return conditions for the block version: no size far above the threads, or enough blocks.

    A block's threads take any number of elements in turn; no core should be idle. If there are
    blocks at all, there are at least as many as any size that their number is a multiple of: if
    that size is above its limit, and the limit is enough, there are enough.
    """
    target = sc.ctx.target
    enough = _at_most(Poly.const(_enough(sc)), blocks)
    found: list[ir.SE] = []
    for size, each in sizes.most.items():
        most = target.most_threads * each
        if not (_enough(sc) <= most + 1 and size.names() and exact(blocks, size) is not None):
            found.append(either(_at_most(size, Poly.const(most)), enough))
    return [cond for cond in found if cond != ir.TRUE]


def _enough(sc: nest.FlatteningScope) -> int:
    """Return the number of blocks of threads that saturate the machine."""
    return -(-sc.ctx.target.saturation // sc.ctx.target.threads)


def _at_most(small: Poly, large: Poly) -> ir.SE:
    """Return `small <= large`, folded where both are constant."""
    if small.constant is not None and large.constant is not None:
        return ir.TRUE if small.constant <= large.constant else ir.FALSE
    return ir.Bin("<=", "i64", se_of(small), se_of(large))


def _least(sizes: _Sizes) -> ir.SE:
    """Return the least size of operators that compute something."""
    first, *others = map(se_of, sizes.computed)
    for other in others:
        first = ir.Bin("min", "i64", first, other)
    return first


def _per_block(
    sc: nest.FlatteningScope, task: nest.Task, like: tuple[ir.Param, ...], block: BlockCode | None
) -> _PerBlock | None:
    """Make the version with a block per element, if the body allows it; else None."""
    if block is None or not sc.ctx.target.has_blocks or sc.level != "grid":
        return None
    inner = sc.inner("block")
    inner.host.update(level.index for level in task.nest)
    stms = tuple(block(inner))
    problem, sizes = _examine(sc, stms)
    blocks = Poly.product([width for _, width in nest.space(task.nest).dims])
    if not problem and ir.FALSE in _fits(sc, blocks, sizes):
        longest = max(size.constant or 0 for size in sizes.most)
        problem = (
            f"{longest} inner elements are too many for each of only {blocks.constant} blocks of "
            "threads."
        )
    if problem:
        sc.ctx.commit(INTRA_BLOCK, task.prov, Missed(problem))
        return None
    kernel = nest.closed(
        sc, ir.KernelBody(stms, task.body.results, task.returns, task.body.prov), task.prov
    )
    reads = kernel.stms[: len(kernel.stms) - len(stms)]
    if any(isinstance(stm.exp, ir.Copy) for stm in reads):
        because = "A block of threads cannot update a row of its input in place."
        sc.ctx.commit(INTRA_BLOCK, task.prov, Missed(because))
        return None
    because = "The inner parallelism fits into a block of threads, so there is a version for that."
    if sc.ctx.commit(INTRA_BLOCK, task.prov, Applied(True, because)) is None:
        return None
    pat = nest.out_params(sc, nest.widths(task.nest), task.returns, _fresh_names(sc, like))
    exp = nest.with_own_names(sc, ir.SegMap("grid", nest.space(task.nest), kernel, per_block=True))
    return _PerBlock(nest.emit(sc, pat, exp, task.prov), blocks, sizes)


def _examine(sc: nest.FlatteningScope, stms: Sequence[ir.Stm]) -> tuple[str, _Sizes]:
    """Return why a block cannot run the statements ("" if it can), and operator sizes.

    Operators that only fill or update arrays do not justify a version. These, and operators outside
    loops where others are in loops, may have more elements.
    """
    once: dict[Poly, None] = {}
    again: dict[Poly, None] = {}
    moved: dict[Poly, None] = {}
    for stm, in_loop in _block_stms(stms):
        shape: Sequence[Poly] = ()
        kind = again if in_loop else once
        match stm.exp:
            case ir.SegMap(_, space_, _) | ir.SegRed(_, space_, _, _) | ir.SegScan(_, space_, _, _):
                shape = [width for _, width in space_.dims]
                if isinstance(stm.exp, ir.SegMap) and _only_moves(stm.exp.body):
                    kind = moved
            case ir.Copy() | ir.Concat() | ir.Reshape() | ir.Scratch():
                shape, kind = shape_of(stm.pat[0].type), moved
            case ir.Update(_, dims, _):
                shape, kind = selected(dims), moved
            case ir.SegHist():
                return "In a block of threads, one thread runs a histogram.", _Sizes()
            case ir.Loop() | ir.If() | ir.Apply() | ir.Assert() | ir.Index() | ir.Slice():
                pass
            case ir.Rearrange():
                pass
            case exp if isinstance(exp, ir.SE_NODES):
                pass
            case exp:
                return f"A block of threads cannot run `{type(exp).__name__.lower()}`.", _Sizes()
        if shape:
            kind[Poly.product(shape)] = None
    if not all(name in sc.host for size in (*again, *once, *moved) for name in size.names()):
        return "The size of the inner parallelism is known only inside the map.", _Sizes()
    if not again and not once:
        return "The body has no parallelism for a block of threads.", _Sizes()
    others = (*once, *moved) if again else moved
    most = dict.fromkeys(others, FEW) | dict.fromkeys(again or once, 1)
    rows, columns = _is_for_warps(sc, stms, turned=False), _is_for_warps(sc, stms, turned=True)
    return "", _Sizes(tuple(again or once), most, rows, columns)


def _is_for_warps(sc: nest.FlatteningScope, stms: Sequence[ir.Stm], turned: bool) -> bool:
    """Return True for a single cheap reduction or scan of contiguous elements.

    The full version runs a short one by the lanes of a warp, without a barrier, several in a block
    of threads (`codegen/kernels/rows.py`). If `turned`: return True for a reduction of columns, for
    `codegen/kernels/columns.py`.
    """
    operators = [stm.exp for stm in stms if not isinstance(stm.exp, _SCALAR)]
    match operators:
        case [ir.SegRed(_, space, ops, body) | ir.SegScan(_, space, ops, body) as exp]:
            if turned and not (isinstance(exp, ir.SegRed) and all(op.commutative for op in ops)):
                return False
        case _:
            return False
    reads = [stm.exp for stm in body.stms if isinstance(stm.exp, ir.Index)]
    last = ir.Var(space.dims[-1][0], "i64")
    return (
        len(space.dims) == 1
        and all(isinstance(stm.exp, _SCALAR) for stm in body.stms)
        and any(read.at[-1] == last and (read.array in sc.turned) == turned for read in reads)
    )


_SCALAR = (*ir.SE_NODES, ir.Index, ir.Apply, ir.Assert)


def _only_moves(body: ir.KernelBody) -> bool:
    """Return True if each thread copies a value from elsewhere, and computes nothing."""
    given = all(isinstance(result, ir.Var | ir.Lit) for result in body.results)
    return given and all(isinstance(stm.exp, ir.Index | ir.Var | ir.Lit) for stm in body.stms)


def _block_stms(stms: Sequence[ir.Stm], *, in_loop: bool = False) -> Iterator[tuple[ir.Stm, bool]]:
    """Yield the statements at block level, True for those in loops, without those of operators."""
    for stm in stms:
        yield stm, in_loop
        match stm.exp:
            case ir.Loop(_, _, _, body):
                yield from _block_stms(body.stms, in_loop=True)
            case ir.If(_, then, orelse):
                yield from _block_stms(then.stms, in_loop=in_loop)
                yield from _block_stms(orelse.stms, in_loop=in_loop)
