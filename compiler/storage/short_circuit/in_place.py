"""In-place maps (thesis 6.9): let a kernel overwrite its input if nothing else needs it.

A map whose threads each read just the cell that they write, of an array used for the last time,
needs no second block. In a loop the block then stays the same in all iterations, and is no longer
carried. A copy of an array used for the last time becomes that array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.protocol.refusals import Refusal
from compiler.storage.short_circuit.conditions import Failed
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.project import mentions
from compiler.storage.short_circuit.terms import Terms
from compiler.storage.short_circuit.tree import Item, TreeBody, all_items
from compiler.storage.short_circuit.wording import called

Aliases = Callable[[Name], frozenset[Name]]


def candidates(now: Edited, terms: Terms, item: Item, carried: bool) -> Iterator[tuple[Name, Name]]:
    """Yield results of a statement, each with an array whose place it could take.

    `carried`: consider arrays in blocks that loops carry, or the others.
    """
    exp = item.stm.exp
    if isinstance(exp, ir.Copy):
        name = item.stm.pat[0].name
        if is_carried(now, exp.array) == carried and _same_layout(now, terms, name, exp.array):
            yield name, exp.array
        return
    if isinstance(exp, ir.Loop):
        yield from _filled(now, terms, item, exp, carried)
    if not isinstance(exp, ir.SegMap):
        return
    thread = tuple(ir.Var(index, "i64") for index, _ in exp.space.dims)
    read = dict.fromkeys(_read_at(item.children[-1], thread))
    for param, result in zip(item.stm.pat, item.children[-1].results, strict=True):
        if not isinstance(param.type, ir.Array) or isinstance(result, str | ir.Write):
            continue
        for array in read:
            if (
                is_carried(now, array) == carried
                and now.scope_of(array) is not item.children[-1]
                and _same_layout(now, terms, param.name, array)
            ):
                yield param.name, array


def _filled(
    now: Edited, terms: Terms, item: Item, exp: ir.Loop, carried: bool
) -> Iterator[tuple[Name, Name]]:
    """Yield results of a loop that fills a new array, each with an array that the loop reads."""
    body = item.children[0]
    for start in exp.init:
        if not isinstance(start, str) or start not in now.mem:
            continue
        first = now.binder(start)
        if (
            first is None
            or first.scope is not item.scope
            or not isinstance(first.stm.exp, ir.Scratch)
        ):
            continue
        for array in sorted(item.arrays & item.names):
            if (
                is_carried(now, array) == carried
                and now.scope_of(array) is not body
                and _same_layout(now, terms, start, array)
            ):
                yield start, array


def _read_at(scope: TreeBody, thread: tuple[ir.Var, ...]) -> Iterator[Name]:
    """Yield the arrays that a body indexes by exactly the thread's index."""
    for item in all_items(scope):
        exp = item.stm.exp
        if isinstance(exp, ir.Index) and exp.at == thread:
            yield exp.array


def _same_layout(now: Edited, terms: Terms, new: Name, old: Name) -> bool:
    """True if two arrays have equal layouts in different blocks of one kind."""
    mine, theirs = now.mem[new], now.mem[old]
    if mine.block == theirs.block or now.tree.types[mine.block] != now.tree.types[theirs.block]:
        return False
    binder = now.binder(mine.block)
    if binder is None or not isinstance(binder.stm.exp, ir.Alloc):
        return False
    if now.tree.binder[new].scope is not binder.scope:
        return False
    others = [x for x in now.members[mine.block] if x != new]
    if others and min(map(now.comes, others)) <= now.comes(new):
        return False  # Other arrays are built there as well.
    if not _fits(now, terms, new, binder.stm.exp, theirs.block):
        return False
    normal = terms.normal_lmad
    return mine.lmad == theirs.lmad or normal(mine.lmad).same_cells(normal(theirs.lmad))


def _fits(now: Edited, terms: Terms, new: Name, made: ir.Alloc, block: Name) -> bool:
    """True if the memory allocated for `new` fits into a block that holds an array like it.

    It may exceed `new`, if that is built as a part of something.
    """
    others = [Poly.product(now.array(new).shape)]
    other = now.binder(block)
    if other is not None and isinstance(other.stm.exp, ir.Alloc):
        others.append(other.stm.exp.count)
    count = made.count
    return count in others or terms.normal(count) in map(terms.normal, others)


def nobody_needs(now: Edited, aliases: Aliases, block: Name, item: Item) -> None:
    """Check condition 6: nothing in a block is used after a statement. Raises Failed."""
    scope = item.scope
    while True:
        _not_after(now, block, scope, item)
        if now.scope_of(block) is scope:
            break
        if scope.parent is None or scope.kind not in ("then", "else"):
            where = {"loop": "a loop", "kernel": "a kernel"}.get(scope.kind, "a function")
            raise Failed(
                Refusal.MADE_OUTSIDE,
                f"The array that would be overwritten is created outside {where}.",
            )
        item = scope.parent
        scope = item.scope
    if len(now.carried.get(block, ())) > 0:
        raise Failed(Refusal.KEPT, "The memory that would be overwritten is also returned.")
    _owned(now, aliases, block, scope)


def _not_after(now: Edited, block: Name, scope: TreeBody, item: Item) -> None:
    for name in now.members.get(block, ()):
        if any(now.at(user) > now.at(item) for user in now.users_in(name, scope)):
            raise Failed(Refusal.KEPT, f"{called(now, name)} is used again later.")
        if any(mentions(result, name) for result in scope.results):
            raise Failed(Refusal.KEPT, f"{called(now, name)} is a result as well.")


def _owned(now: Edited, aliases: Aliases, block: Name, scope: TreeBody) -> None:
    """Check that the block may be overwritten once its arrays are dead. Raises Failed."""
    binder = now.binder(block)
    if binder is None:
        for param in now.tree.fun.params:
            kind = param.type
            if isinstance(kind, ir.Array) and kind.mem is not None and kind.mem.block == block:
                if not param.unique:
                    raise Failed(
                        Refusal.CALLERS,
                        f"{called(now, param.name)} belongs to the caller.",
                        Refusal.CALLERS.offer(str(now.said(param.name))),
                    )
                return
        raise Failed(Refusal.CALLERS, "The memory belongs to the caller.")
    exp = binder.stm.exp
    if isinstance(exp, ir.Alloc | ir.Call):
        return
    if isinstance(exp, ir.If):
        if all(
            (found := now.binder(root)) is not None
            and isinstance(found.stm.exp, ir.Alloc)
            and found.scope.depth > scope.depth
            for root in aliases(block)
        ):
            return
        raise Failed(Refusal.FROM_BRANCH, "A branch returns memory that is also used elsewhere.")
    assert isinstance(exp, ir.Loop)
    names = [param.name for param in exp.params]
    if block not in names:
        raise Failed(Refusal.FROM_LOOP, "The memory is the result of a loop.")
    at = names.index(block)
    start, end = now.block(str(exp.init[at])), now.block(str(binder.children[0].results[at]))
    last = now.binder(end)
    fresh = last is not None and isinstance(last.stm.exp, ir.Alloc) and last.scope is scope
    if end != block and not fresh:
        raise Failed(Refusal.LOOP_SHARES, "A loop returns memory that is also used elsewhere.")
    try:
        _first_value(now, aliases, start, binder)
    except Failed as failed:
        if failed.hint:
            raise
        pairs = zip(exp.params, exp.init, strict=True)
        first = next(v for p, v in pairs if isinstance(p.type, ir.Array) and _is_in(p.type, block))
        hint = Refusal.START_KEPT.offer(called(now, str(first)))
        raise Failed(Refusal.START_KEPT, failed.because, hint) from None


def _is_in(kind: ir.Array, block: Name) -> bool:
    return kind.mem is not None and kind.mem.block == block


def _first_value(now: Edited, aliases: Aliases, start: Name, loop: Item) -> None:
    """Check that a loop's initial value is used neither in it nor after it. Raises Failed."""
    body = loop.children[0]
    if len(now.carried.get(start, ())) != 1:
        raise Failed(Refusal.START_KEPT, "The initial memory of the loop is also returned.")
    for name in now.members.get(start, ()):
        if now.users_in(name, body):
            raise Failed(
                Refusal.START_KEPT,
                f"The loop uses {called(now, name)} in addition to its own parameter for it.",
            )
    scope, item = loop.scope, loop
    while True:
        _not_after(now, start, scope, item)
        if now.scope_of(start) is scope:
            break
        if scope.parent is None or scope.kind not in ("then", "else"):
            raise Failed(
                Refusal.START_KEPT,
                "The initial value of the loop is created outside an enclosing loop.",
            )
        item = scope.parent
        scope = item.scope
    _owned(now, aliases, start, scope)


def is_carried(now: Edited, array: Name) -> bool:
    """True if a loop carries the array's block from one iteration to the next."""
    block = now.mem[array].block
    binder = now.binder(block)
    return (
        binder is not None
        and isinstance(binder.stm.exp, ir.Loop)
        and now.scope_of(block) is not binder.scope
    )


def unchanged_blocks(now: Edited, item: Item) -> list[tuple[Name, Name, Name]]:
    """Return blocks that a loop need not carry: parameter, result, and their constant value."""
    exp = item.stm.exp
    if not isinstance(exp, ir.Loop):
        return []
    found: list[tuple[Name, Name, Name]] = []
    for param, start, result, outcome in zip(
        exp.params, exp.init, item.children[0].results, item.stm.pat, strict=True
    ):
        if param.name in now.mem or not isinstance(start, str) or param.name in now.gone:
            continue
        if isinstance(result, str) and now.block(result) == param.name:
            found.append((param.name, outcome.name, now.block(start)))
    return found
