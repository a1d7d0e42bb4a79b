"""Keep the elements of a row in registers while a block of threads traverses it several times.

A block that reduces a row, and then maps it, loads each element in each traversal. Where the same
thread loads the same element, since it takes every THREADS-th one each time, it loads it once: the
first EACH elements of a thread go to a private array, whose indices are constant after unrolling,
and later traversals take them from there. What is behind them is loaded again. Elements keep their
order, so that results are the same.

Only what the kernel does not write is kept, and only where no check may end a point before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeGuard

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.index import add, mul
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.block_sizes import EACH
from compiler.codegen.kernels.nodes import OWN, THREAD, THREADS
from compiler.codegen.kernels.read_only import read_only
from compiler.codegen.kernels.same_blocks import Same
from compiler.codegen.kernels.threads import i64
from compiler.codegen.traits import reads
from compiler.ir.nodes import SE, Bin, Lit, Var
from compiler.ir.sizes import poly_of

KEPT_ROWS = Rule(
    "kernels/kept-rows",
    "A thread keeps elements of its block's row in registers that it reads several times.",
)
MOST_BYTES = 64
"""Maximum bytes of a thread for kept elements: 16 registers."""
MOST_STATEMENTS = 40
"""Maximum statements of a traversal: its text stands twice, once unrolled."""
TURN = f"{OWN}turn"
ELEMENT = f"{OWN}element"
_Other = imp.For | imp.While | imp.Assert | k.Stride | k.Barrier | k.Shuffle | k.Exit
Key = tuple[Name, Poly, SE]
"""Of a load: the block, the cell as a function of ELEMENT, and the end of the row."""


@dataclass(frozen=True, slots=True)
class RowElement:
    """An element that traversals share: its private array, and the loads by identity."""

    array: Name
    load: imp.Load
    uses: frozenset[int]


def keep_rows(kernel: k.Kernel, same: Same | None) -> Outcome[imp.Stms]:
    """Return the kernel's code with elements kept that several traversals load."""
    found: dict[Key, list[imp.Load]] = {}
    unwritten, _ = read_only(kernel, same)
    changing = {stm.name for stm in statements(kernel.body) if isinstance(stm, _Variable)}
    for stride in _traversals(kernel.body):
        for key, load in _loads(stride):
            steady = not key[1].names() - {ELEMENT} & changing and not reads(key[2]) & changing
            if load.block in unwritten and steady and ELEMENT in key[1].names():
                found.setdefault(key, []).append(load)
    kept: list[RowElement] = []
    for loads in found.values():
        size = sum(BYTES[one.load.prim] for one in kept) + BYTES[loads[0].prim]
        if len(loads) > 1 and size * EACH <= MOST_BYTES:
            array = f"{OWN}{loads[0].name.removeprefix(OWN)}_row"
            kept.append(RowElement(array, loads[0], frozenset(map(id, loads))))
    if not kept:
        return None
    private = [
        imp.Alloc(one.array, Lit(EACH, "i64"), one.load.prim, "private", kernel.prov)
        for one in kept
    ]
    body = _rewritten(kernel.body, lambda stride: _with_kept(stride, kept))
    fewest = min(len(one.uses) for one in kept)
    times = "once in place of twice" if fewest == 2 else f"once in place of {fewest} times"
    because = (
        f"A thread of `{kernel.name}` loads the first {EACH} of its elements of a row {times}: it "
        "keeps them in registers from one traversal of the row to the next."
    )
    numbers = (("elements of a thread", str(EACH)),)
    return Applied((*private, *body), because, numbers)


_Variable = imp.Declare | imp.Assign | k.Fetch | k.Shuffle | k.Exchange


def _traversals(stms: imp.Stms) -> Iterator[k.Stride]:
    """Yield the loops over elements, each taken by the thread of its number, that run once."""
    for stm in stms:
        if isinstance(stm, k.Scope) and not stm.point:
            yield from _traversals(stm.body)
        elif _is_traversal(stm):
            yield stm


def _is_traversal(stm: imp.Stm) -> TypeGuard[k.Stride]:
    if not isinstance(stm, k.Stride) or (stm.prim, stm.op) != ("i64", "+"):
        return False
    inside = [one for one in statements((stm,)) if one is not stm]
    return (
        (stm.start, stm.by) == (i64(THREAD), i64(THREADS))
        and len(inside) <= MOST_STATEMENTS
        and not any(isinstance(one, _Other) for one in inside)
    )


def _rewritten(stms: imp.Stms, change: Callable[[k.Stride], imp.Stms]) -> imp.Stms:
    """Replace the traversals."""
    out: list[imp.Stm] = []
    for stm in stms:
        if isinstance(stm, k.Scope) and not stm.point:
            out.append(replace(stm, body=_rewritten(stm.body, change)))
        elif _is_traversal(stm):
            out += change(stm)
        else:
            out.append(stm)
    return tuple(out)


def _loads(stride: k.Stride) -> Iterator[tuple[Key, imp.Load]]:
    """Yield the loads that each turn of a traversal performs."""
    known = {stride.index: Poly.var(ELEMENT)}
    inside = {stride.index}
    for stm in _always(stride.body):
        match stm:
            case k.Indices(((name, _),), flat) if poly := poly_of(flat):
                known[name] = poly.put_in(known)
            case imp.Define(name, "i64", value) if poly := poly_of(value):
                known[name] = poly.put_in(known)
            case imp.Load(name) if poly := poly_of(stm.at):
                at = poly.put_in(known)
                if not at.names() & inside:
                    yield (stm.block, at, stride.end), stm
        inside |= _bound(stm)


def _bound(stm: imp.Stm) -> set[Name]:
    if isinstance(stm, k.Indices):
        return {name for name, _ in stm.dims}
    return {stm.name} if isinstance(stm, imp.Define | imp.Load) else set()


def _always(stms: imp.Stms) -> Iterator[imp.Stm]:
    """Yield the statements outside of branches."""
    for stm in stms:
        if isinstance(stm, k.Scope):
            yield from _always(stm.body)
        else:
            yield stm


def _with_kept(stride: k.Stride, kept: list[RowElement]) -> imp.Stms:
    """Return a traversal whose first turns are unrolled, and share kept elements."""
    used = {id(load): one for one in kept for load in _always(stride.body) if id(load) in one.uses}
    if not used:
        return (stride,)
    prov: Prov = stride.prov
    first = {id(one.load) for one in kept}

    def shared(stms: imp.Stms) -> imp.Stms:
        out: list[imp.Stm] = []
        for stm in stms:
            one = used.get(id(stm))
            if isinstance(stm, k.Scope):
                out.append(replace(stm, body=shared(stm.body)))
            elif one is None or not isinstance(stm, imp.Load):
                out.append(stm)
            elif id(stm) in first:
                value = Var(stm.name, stm.prim)
                out += (stm, imp.Store(one.array, stm.prim, i64(TURN), value, stm.prov))
            else:
                out.append(replace(stm, block=one.array, at=i64(TURN)))
        return tuple(out)

    place = add(i64(THREAD), mul(i64(TURN), i64(THREADS)))
    there: SE = Bin("<", "i64", i64(stride.index), stride.end)
    turn = (
        imp.Define(stride.index, "i64", place, prov),
        imp.If(there, shared(stride.body), (), prov),
    )
    behind = add(i64(THREAD), mul(Lit(EACH, "i64"), i64(THREADS)))
    return (
        imp.For(TURN, "i64", Lit(EACH, "i64"), turn, prov),
        replace(stride, start=behind),
    )
