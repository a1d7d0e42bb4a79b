"""A function as a tree that short-circuiting can edit: memory of arrays, order of statements.

What holds for the function as it was is an index over the program: which statement binds a name,
in which body, who uses it, of what type it is. What attempts change is little, and is changed by
the edits of `edits.py` only: `mem`, `members`, `carried`, `renamed`, `dropped`, `removed`, and the
order of `items`.

The program's nodes stay as they are. Where arrays live is a table, statements of a body are a list
that lifting reorders, and blocks that no branch returns any more are a set; `rebuilt` makes a
program of it all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from compiler.base.names import Name
from compiler.ir.nodes import (
    Alloc,
    Array,
    Body,
    Exp,
    ForLoop,
    Function,
    If,
    KernelBody,
    KernelResult,
    Lambda,
    Loop,
    Mem,
    MemBind,
    Operand,
    Operator,
    Param,
    Rearrange,
    Reshape,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    Slice,
    Stm,
    Type,
    Update,
    Write,
)
from compiler.ir.spelling import Spelling
from compiler.ir.walk import NESTED, children, free, visit_own

Kind = Literal["function", "then", "else", "loop", "kernel", "operator"]


@dataclass(slots=True, eq=False)
class TreeBody:
    """A body: its statements and results; `parent` is the statement that it is inside of."""

    kind: Kind
    parent: Item | None
    depth: int
    items: list[Item] = field(default_factory=list)
    results: tuple[KernelResult, ...] = ()
    known: int = 0
    """How many of the first statements stand where they stood when it was asked what they say."""
    moves: int = 0
    """How often statements have moved."""


@dataclass(slots=True, eq=False)
class Item:
    """A statement; `serial` numbers all of the function in order of text, `at` is its position."""

    stm: Stm
    scope: TreeBody
    serial: int
    at: int
    names: frozenset[Name] = frozenset()
    """What the statement uses and does not bind."""
    last: int = 0
    """The serial of its last statement inside, or its own."""
    arrays: frozenset[Name] = frozenset()
    """The arrays that it uses or binds, also inside."""
    children: list[TreeBody] = field(default_factory=list)


class Tree:
    """One function. Names are unique, so that tables by name need no scopes."""

    def __init__(self, fun: Function, said: Callable[[Name], str | None]) -> None:
        """`said`: what the author of the program calls something; None if it has no name there."""
        self.fun = fun
        self.said = said
        self.spell = Spelling(said, (param.name for param in fun.params), self._made)
        self.types: dict[Name, Type] = {}
        self.mem: dict[Name, MemBind] = {}
        """Where every array lives."""
        self.members: dict[Name, list[Name]] = {}
        """The arrays in a block, in order of text."""
        self.binder: dict[Name, Item] = {}
        """The statement whose pattern, loop parameters or kernel indices a name is among."""
        self.scope_of: dict[Name, TreeBody] = {}
        self.users: dict[Name, list[Item]] = {}
        """The statements that use a name, also those around them."""
        self._users_in: dict[Name, dict[TreeBody, list[Item]]] = {}
        self.carried: dict[Name, list[TreeBody]] = {}
        """Where a block is handed on as a value: as a body's result or a loop's first value."""
        self.dropped: set[Name] = set()
        """Blocks that branches return no more."""
        self.removed: set[Name] = set()
        """Blocks that are allocated no more."""
        self.renamed: dict[Name, Name] = {}
        """Blocks that are others now."""
        self._serial = 0
        self.root = TreeBody("function", None, 0)
        for param in fun.params:
            self._bind(param, self.root)
        self._fill(self.root, fun.body.stms, fun.body.results)

    def _made(self, name: Name) -> Stm | None:
        item = self.binder.get(name)
        return None if item is None else item.stm

    def serial(self, name: Name) -> int:
        """When a name comes to be: what a statement binds does after all that is inside of it."""
        item = self.binder.get(name)
        if item is None:
            return -1
        return item.last if self.scope_of[name] is item.scope else item.serial

    def block(self, name: Name) -> Name:
        """The block that a name stands for now."""
        while name in self.renamed:
            name = self.renamed[name]
        return name

    def array(self, name: Name) -> Array:
        """An array's type as it was; its memory may have changed since."""
        found = self.types[name]
        assert isinstance(found, Array)
        return found

    def users_in(self, name: Name, scope: TreeBody) -> Sequence[Item]:
        """The statements of a body that use a name, or hold one that does."""
        found = self._users_in.get(name)
        if found is None:
            found = self._users_in[name] = {}
            for item in self.users.get(name, ()):
                found.setdefault(item.scope, []).append(item)
        return found.get(scope, ())

    def position(self, name: Name, scope: TreeBody) -> int | None:
        """Where in `scope` a name is bound: -1 if further out, None if further in or elsewhere."""
        found = self.scope_of.get(name)
        if found is scope:
            item = self.binder.get(name)
            return -1 if item is None or item.scope is not scope else item.at
        while scope.parent is not None:
            scope = scope.parent.scope
            if found is scope:
                return -1
        return None

    def number(self) -> None:
        """Number all statements in order of text, again after some have moved."""
        self._serial = 0
        self._number(self.root)

    def _number(self, scope: TreeBody) -> None:
        for item in scope.items:
            item.serial = self._serial
            self._serial += 1
            for child in item.children:
                self._number(child)
            item.last = self._serial - 1

    def pending(self, param: Param, exp: Exp, before: Item) -> Item:
        """A statement that is in no body yet, but counts as right in front of another one."""
        stm = Stm((param,), exp, before.stm.prov)
        item = Item(stm, before.scope, self._serial, before.at, frozenset(free(stm)))
        self._serial += 1
        self.binder[param.name] = item
        self._bind(param, before.scope)
        return item

    def visible(self, name: Name, item: Item) -> bool:
        """Whether a name is bound before a statement, in its body or around it."""
        found = self.scope_of.get(name)
        while item.scope is not found:
            if item.scope.parent is None:
                return False
            item = item.scope.parent
        binder = self.binder.get(name)
        if binder is None or binder.scope is not found:
            return True
        return binder.at < item.at and found.items[binder.at] is binder

    # --- building ---

    def behind(self, name: Name) -> Name | None:
        """The array that a name is a view or a later state of."""
        item = self.binder.get(name)
        match item.stm.exp if item is not None else None:
            case Slice(array, _) | Rearrange(_, array) | Reshape(_, array) | Update(array, _, _):
                return array
            case Loop(params, init, _, _):
                for param, value in zip(params, init, strict=True):
                    if param.name == name and isinstance(value, str):
                        return value
        return None

    def _bind(self, param: Param, scope: TreeBody) -> None:
        self.types[param.name] = param.type
        self.scope_of[param.name] = scope
        if isinstance(param.type, Array) and param.type.mem is not None:
            self.mem[param.name] = param.type.mem
            self.members.setdefault(param.type.mem.block, []).append(param.name)

    def _fill(
        self, scope: TreeBody, stms: Sequence[Stm], results: Sequence[KernelResult]
    ) -> set[Name]:
        """Fill a body; what it uses and does not bind."""
        used: set[Name] = set()
        bound: set[Name] = set()
        for at, stm in enumerate(stms):
            item = Item(stm, scope, self._serial, at)
            self._serial += 1
            scope.items.append(item)
            mine: set[Name] = set()
            binds: set[Name] = set()
            visit_own(stm, mine.add, binds.add)
            if type(stm.exp) in NESTED:
                mine |= self._nested(item)
            item.last = self._serial - 1
            mine -= binds
            bound |= binds
            item.names = frozenset(mine)
            for name in mine:
                self.users.setdefault(name, []).append(item)
            used |= mine
            for param in stm.pat:
                self.binder[param.name] = item
                self._bind(param, scope)
            item.arrays = self._arrays(item)
        scope.results = tuple(results)
        self._carry(results, scope)
        return (used | free(scope.results)) - bound

    def _arrays(self, item: Item) -> frozenset[Name]:
        mem = self.mem
        found = {name for name in item.names if name in mem}
        found.update(param.name for param in item.stm.pat if param.name in mem)
        for scope in item.children:
            for inner in scope.items:
                found |= inner.arrays
        return frozenset(found)

    def _carry(self, operands: Iterable[KernelResult], scope: TreeBody) -> None:
        for name in operands:
            if isinstance(name, str) and isinstance(self.types.get(name), Mem):
                self.carried.setdefault(name, []).append(scope)

    def _nested(self, item: Item) -> set[Name]:
        """Fill the bodies of a statement; what they use and do not bind."""
        used: set[Name] = set()
        exp = item.stm.exp
        depth = item.scope.depth + 1
        if isinstance(exp, Loop):
            self._carry(exp.init, item.scope)
        for k, child in enumerate(children(exp)):
            if isinstance(child, Lambda):
                inner = TreeBody("operator", item, depth)
                for param in child.params:
                    self._bind(param, inner)
                body: Body | KernelBody = child.body
            else:
                kind: Kind = "kernel"
                if isinstance(exp, If):
                    kind = "else" if k else "then"
                elif isinstance(exp, Loop):
                    kind = "loop"
                inner, body = TreeBody(kind, item, depth), child
            if isinstance(exp, Loop):
                for param in exp.params:
                    self.binder[param.name] = item
                    self._bind(param, inner)
                if isinstance(exp.form, ForLoop):
                    self.scope_of[exp.form.index] = inner
            elif isinstance(exp, SegMap | SegRed | SegScan | SegHist) and inner.kind == "kernel":
                for index, _ in exp.space.dims:
                    self.scope_of[index] = inner
            item.children.append(inner)
            inside = self._fill(inner, body.stms, body.results)
            if isinstance(child, Lambda):
                inside |= free((child.params, child.returns))
                inside.difference_update(param.name for param in child.params)
            elif isinstance(child, KernelBody):
                inside |= free(child.returns)
            used |= inside
        return used

    # --- back to a program ---

    def rebuilt(self) -> Function:
        """The function with everything where it is now."""
        stms, results = self._body(self.root)
        return replace(self.fun, body=Body(stms, tuple(map(self._operand, results))))

    def _body(self, scope: TreeBody) -> tuple[tuple[Stm, ...], tuple[KernelResult, ...]]:
        stms: list[Stm] = []
        for item in scope.items:
            if isinstance(item.stm.exp, Alloc) and item.stm.pat[0].name in self.removed:
                continue
            stms.append(self._stm(item))
        return tuple(stms), scope.results

    def _stm(self, item: Item) -> Stm:
        stm = item.stm
        exp = stm.exp
        if item.children:
            exp = self._exp(item)
        kept = [k for k, param in enumerate(stm.pat) if param.name not in self.dropped]
        pat = tuple(self._param(stm.pat[k]) for k in kept)
        if exp is stm.exp and all(a is b for a, b in zip(pat, stm.pat, strict=False)):
            return stm if len(pat) == len(stm.pat) else Stm(pat, exp, stm.prov)
        return Stm(pat, exp, stm.prov)

    def _exp(self, item: Item) -> If | Loop | SegMap | SegRed | SegScan | SegHist:
        exp = item.stm.exp
        bodies = [self._body(scope) for scope in item.children]
        match exp:
            case If():
                kept = [k for k, p in enumerate(item.stm.pat) if p.name not in self.dropped]
                then, orelse = (
                    Body(stms, tuple(self._operand(results[k]) for k in kept))
                    for stms, results in bodies
                )
                return If(exp.cond, then, orelse)
            case Loop():
                ((stms, results),) = bodies
                kept = [k for k, p in enumerate(exp.params) if p.name not in self.dropped]
                return Loop(
                    tuple(self._param(exp.params[k]) for k in kept),
                    tuple(self._operand(exp.init[k]) for k in kept),
                    exp.form,
                    Body(stms, tuple(self._operand(results[k]) for k in kept)),
                )
            case SegMap() | SegRed() | SegScan() | SegHist():
                stms, results = bodies[-1]
                kernel = KernelBody(stms, results, self._returns(exp.body, results))
                if isinstance(exp, SegMap):
                    return replace(exp, body=kernel)
                fns = [
                    Lambda(fn.params, Body(inner, tuple(map(self._operand, out))), fn.returns)
                    for fn, (inner, out) in zip(children(exp), bodies, strict=False)
                    if isinstance(fn, Lambda)
                ]
                return _with_operators(exp, kernel, fns)
        raise AssertionError(exp)

    def _operand(self, result: KernelResult) -> Operand:
        """A result of a body that is no kernel's, or a loop's first value."""
        assert not isinstance(result, Write)
        return self.block(result) if isinstance(result, str) else result

    def _returns(self, body: KernelBody, results: tuple[KernelResult, ...]) -> tuple[Type, ...]:
        """The types of a kernel's results, which say where a row is if they said so before."""
        found = []
        for kind, result in zip(body.returns, results, strict=True):
            if isinstance(kind, Array) and kind.mem is not None and isinstance(result, str):
                kind = Array(kind.prim, kind.shape, self.mem[result])
            found.append(kind)
        return tuple(found)

    def _param(self, param: Param) -> Param:
        kind = param.type
        if not isinstance(kind, Array) or kind.mem is None:
            return param
        now = self.mem[param.name]
        if now is kind.mem:
            return param
        return Param(param.name, Array(kind.prim, kind.shape, now), param.unique)


def all_items(scope: TreeBody) -> Iterable[Item]:
    """All statements of a body, also inner ones."""
    for item in scope.items:
        yield item
        for child in item.children:
            yield from all_items(child)


def _with_operators(
    exp: SegRed | SegScan | SegHist, kernel: KernelBody, fns: list[Lambda]
) -> SegRed | SegScan | SegHist:
    """The operator with new functions, in order, and a new body."""
    if isinstance(exp, SegHist):
        hists = tuple(
            replace(h, op=Operator(fn, h.op.neutral, h.op.commutative))
            for h, fn in zip(exp.ops, fns, strict=True)
        )
        return replace(exp, ops=hists, body=kernel)
    ops = tuple(
        Operator(fn, op.neutral, op.commutative) for op, fn in zip(exp.ops, fns, strict=True)
    )
    return replace(exp, ops=ops, body=kernel)
