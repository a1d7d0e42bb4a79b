"""Code versions under thresholds: how much of the parallelism to use is decided at run time.

    suff_outer_k  enough elements in the outer maps: a thread for each, the rest in loops
    suff_intra_k  (CUDA) a block of threads for each element, the inner parallelism inside the block
    otherwise     everything flattened

(Thesis, section 7.2.2; the thresholds are what its autotuner tunes, section 7.6.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir.build import conjunction
from compiler.ir.nodes import (
    BOOL,
    SE,
    SE_NODES,
    Assert,
    Bin,
    Body,
    Copy,
    If,
    Index,
    Lit,
    Loop,
    Operand,
    Param,
    Rearrange,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    Slice,
    Stm,
    Threshold,
    Type,
    Update,
    Var,
)
from compiler.ir.sizes import se_of
from compiler.ir.types import as_operand
from compiler.parallel.attributes import wanted
from compiler.parallel.nest import (
    Nest,
    Scope,
    emit,
    kernel_body,
    out_params,
    points,
    settle_names,
    space,
    widths,
)

VERSIONS = Rule(
    "flatten/versions", "Makes versions that use more or less of the parallelism, by a threshold."
)
INTRA_BLOCK = Rule(
    "flatten/intra-block", "Makes a version in which a block of GPU threads shares the inside."
)

OUTER_CPU = 32
"""Enough for every core of a usual machine to have a few elements, so that none waits long."""
OUTER_GPU = 1 << 15
"""About the number of threads that a GPU keeps in flight; with fewer, some of it is idle."""
INTRA_GPU = 32
"""A warp: a block with fewer threads wastes most of what it occupies."""
BLOCK_MOST = 1024
"""The largest block that CUDA can launch."""

Wish = Sequence[Name | None]
Made = tuple[list[Stm], list[Name]]
Version = Callable[[Scope, Wish], Made]
Versions = tuple[Version, Callable[[Scope], list[Stm]] | None, Version]


def choose(
    sc: Scope,
    nest: Nest,
    body: Body,
    returns: tuple[Type, ...],
    wish: Wish,
    prov: Prov,
    versions: Versions,
    dims: tuple[Poly, ...] | None = None,
) -> Made:
    """The versions of one nest, each under its threshold.

    `dims` are the outer dimensions of the results, if not those of the nest.
    """
    outer, block, full = versions
    asked = wanted(sc.ctx, prov)
    if asked & {"no_intra", "only_inner"}:
        block = None
    if asked & {"no_outer", "only_inner", "only_intra"}:
        kernels = nest, body, returns, widths(nest) if dims is None else dims
        return _without_outer(sc, *kernels, wish, prov, block, full, "only_intra" in asked)
    amount = points(nest)
    default = OUTER_GPU if sc.ctx.options.target == "cuda" else OUTER_CPU
    if amount in sc.refused:
        # Another operator over the same elements has asked already.
        return full(sc, wish)
    if amount.constant is not None and amount.constant < default:
        because = (
            f"There are only {amount.constant} outer elements, so there is no version that leaves "
            "the inner parallelism unused."
        )
        sc.ctx.tell("missed", VERSIONS, prov, because)
        return full(sc, wish)
    number = sc.numbers[0]
    if sc.ctx.commit(VERSIONS, prov, _because(amount, default, number)) is None:
        return outer(sc, wish)
    sc.numbers[0] += 1
    pat = out_params(sc, widths(nest) if dims is None else dims, returns, wish)
    name, threshold = _threshold(sc, "outer", number, se_of(amount), default, prov)
    first = outer(sc, _names(sc, pat))
    inner = _intra(sc, nest, body, pat, returns, prov, block) if block is not None else None
    sc.refused.append(amount)
    second = full(sc, _names(sc, pat))
    sc.refused.pop()
    if inner is not None:
        second = _under_intra(sc, number, inner, second, pat, prov)
    exp = If(Var(name, "bool"), _body(first, pat), _body(second, pat))
    return [threshold, emit(sc, pat, exp, prov)], [p.name for p in pat]


def _without_outer(
    sc: Scope,
    nest: Nest,
    body: Body,
    returns: tuple[Type, ...],
    dims: tuple[Poly, ...],
    wish: Wish,
    prov: Prov,
    block: Callable[[Scope], list[Stm]] | None,
    full: Version,
    alone: bool,
) -> Made:
    """No version with a thread per element; with `alone` also none that uses all parallelism."""
    if block is None:
        return full(sc, wish)
    pat = out_params(sc, dims, returns, wish)
    inner = _intra(sc, nest, body, pat, returns, prov, block)
    if inner is None:
        return full(sc, wish)
    if alone and not _fits(inner):
        return [inner.stm], [p.name for p in inner.stm.pat]
    number = None if alone else sc.numbers[0]
    sc.numbers[0] += not alone
    return _under_intra(sc, number, inner, full(sc, _names(sc, pat)), pat, prov)


def _names(sc: Scope, pat: tuple[Param, ...]) -> list[Name]:
    """New names for one version's results."""
    return [sc.ctx.fresh(param.name) for param in pat]


def _because(amount: Poly, default: int, number: int) -> Applied[bool]:
    shown = str(amount.subst({n: Poly.var(base_of(n)) for n in amount.names()}))
    because = (
        "There is parallelism inside of the map. If the map alone has enough elements, each gets "
        "a thread that runs what is inside as loops; else the inner parallelism is used too."
    )
    numbers = (
        ("threshold", f"suff_outer_{number}"),
        ("compared with", shown),
        ("default", str(default)),
    )
    return Applied(True, because, numbers)


def _threshold(
    sc: Scope, kind: str, number: int, amount: SE, default: int, prov: Prov
) -> tuple[Name, Stm]:
    param = Param(sc.ctx.fresh(f"suff_{kind}"), BOOL)
    exp = Threshold(f"suff_{kind}_{number}", amount, default)
    return param.name, emit(sc, (param,), exp, prov)


def _body(made: Made, pat: tuple[Param, ...]) -> Body:
    stms, names = made
    results: list[Operand] = []
    for param, name in zip(pat, names, strict=True):
        results.append(as_operand(Param(name, param.type)))
    return Body(tuple(stms), tuple(results))


# --- one block of threads per element ----------------------------------------------------------


class _Block:
    """A kernel that gives every element of the nest a block, and how much it finds to do."""

    __slots__ = ("sizes", "stm")

    def __init__(self, stm: Stm, sizes: list[Poly]) -> None:
        self.stm = stm
        self.sizes = sizes


def _under_intra(
    sc: Scope, number: int | None, inner: _Block, full: Made, pat: tuple[Param, ...], prov: Prov
) -> Made:
    """The version with blocks, where it can be launched; with a `number` under its threshold."""
    stms: list[Stm] = []
    conds = _fits(inner)
    if number is not None:
        amount = _least(inner.sizes)
        name, threshold = _threshold(sc, "intra", number, amount, INTRA_GPU, prov)
        stms.append(threshold)
        conds.insert(0, Var(name, "bool"))
    names = tuple(Param(sc.ctx.fresh(p.name), p.type) for p in pat)
    block = [inner.stm], [p.name for p in inner.stm.pat]
    choice = emit(sc, names, If(conjunction(conds), _body(block, names), _body(full, names)), prov)
    return [*stms, choice], [p.name for p in names]


def _fits(inner: _Block) -> list[SE]:
    """That a block has not more threads than CUDA can launch, where that is not known."""
    return [
        Bin("<=", "i64", se_of(size), Lit(BLOCK_MOST, "i64"))
        for size in inner.sizes
        if size.constant is None
    ]


def _least(sizes: list[Poly]) -> SE:
    result = se_of(sizes[0])
    for size in sizes[1:]:
        result = Bin("min", "i64", result, se_of(size))
    return result


def _intra(
    sc: Scope,
    nest: Nest,
    body: Body,
    like: tuple[Param, ...],
    returns: tuple[Type, ...],
    prov: Prov,
    block: Callable[[Scope], list[Stm]],
) -> _Block | None:
    """The version with a block per element, if the body is made for it."""
    if sc.ctx.options.target != "cuda" or sc.level != "grid":
        return None
    inner = sc.inner("block")
    inner.host.update(level.index for level in nest)
    renamed = block(inner)
    problem, sizes = _examine(sc, renamed)
    if problem:
        sc.ctx.commit(INTRA_BLOCK, prov, Missed(problem))
        return None
    kernel = kernel_body(sc, tuple(renamed), body.results, returns, prov)
    if any(isinstance(stm.exp, Copy) for stm in kernel.stms):
        because = "A block of threads cannot update a row of its input in place."
        sc.ctx.commit(INTRA_BLOCK, prov, Missed(because))
        return None
    because = "The inner parallelism fits into a block of threads, so there is a version for that."
    if sc.ctx.commit(INTRA_BLOCK, prov, Applied(True, because)) is None:
        return None
    pat = out_params(sc, widths(nest), returns, _names(sc, like))
    exp = settle_names(sc, SegMap("grid", space(nest), kernel, per_block=True))
    return _Block(emit(sc, pat, exp, prov), sizes)


def _examine(sc: Scope, stms: list[Stm]) -> tuple[str, list[Poly]]:
    """Why a block cannot run the statements (empty: it can), and the sizes of its operators."""
    sizes: dict[Poly, None] = {}
    for stm in _block_stms(stms):
        match stm.exp:
            case SegMap(_, points_, _) | SegRed(_, points_, _, _) | SegScan(_, points_, _, _):
                sizes[Poly.product([width for _, width in points_.dims])] = None
            case SegHist() | Update():
                return "A block of threads cannot update an array in place here.", []
            case Loop() | If() | Assert() | Index() | Slice() | Rearrange():
                pass
            case exp if isinstance(exp, SE_NODES):
                pass
            case exp:
                return f"A block of threads cannot do `{type(exp).__name__.lower()}`.", []
    for size in sizes:
        if not all(name in sc.host for name in size.names()):
            return "The size of the inner parallelism is known only inside of the map.", []
        if size.constant is not None and size.constant > BLOCK_MOST:
            return f"{size.constant} inner elements are too many for a block of threads.", []
    if not sizes:
        return "Nothing inside is parallel for a block of threads.", []
    return "", list(sizes)


def _block_stms(stms: Sequence[Stm]) -> list[Stm]:
    """The statements at block level: those in loops and branches, not those of its operators."""
    found: list[Stm] = []
    for stm in stms:
        found.append(stm)
        match stm.exp:
            case Loop(_, _, _, body):
                found.extend(_block_stms(body.stms))
            case If(_, then, orelse):
                found.extend(_block_stms(then.stms))
                found.extend(_block_stms(orelse.stms))
    return found
