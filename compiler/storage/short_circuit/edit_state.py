"""Edits made to a function so far: current bindings of arrays, and order of statements.

`tree` is the original function; `edits.apply` alone changes the rest. `rebuilt` makes a program of
both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import is_
from typing import TypeVar

from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.source_names import Spelling
from compiler.ir.walk import Rewrite, rewrite
from compiler.storage.short_circuit.tree import Item, TreeBody, all_items, mem_of, tree_of

_T = TypeVar("_T")


class Edited:
    """One function in its current state."""

    def __init__(self, fun: ir.Function, said: Callable[[Name], str | None]) -> None:
        """`said`: source name of a variable, or None."""
        self.tree = tree_of(fun)
        self.said = said
        self.spell = Spelling(said, (param.name for param in fun.params), self._made)
        self.mem: dict[Name, ir.MemBind] = {}
        """Current binding of every array."""
        self.members: dict[Name, list[Name]] = {}
        """Arrays in a block, in order of text."""
        self.carried: dict[Name, list[TreeBody]] = {}
        """Bodies that pass on a block, as a result or as a loop's initial value."""
        self.given: set[Name] = set()
        """Parameter blocks and arrays of functions: such a block holds nothing else."""
        self.gone: set[Name] = set()
        """Blocks no longer allocated, returned or carried."""
        self.renamed: dict[Name, Name] = {}
        """Blocks replaced by others."""
        self.order: dict[TreeBody, tuple[Item, ...]] = {}
        """Statements of bodies with moved, added or removed statements."""
        self.positions: dict[Item, int] = {}
        """Positions of statements in these bodies."""
        self.added: dict[Name, Item] = {}
        """New statements, by what they bind."""
        self.updates: dict[Item, ir.Stm] = {}
        """Statements whose indices were replaced by names."""
        for name, kind in self.tree.types.items():
            mem = mem_of(kind)
            if mem is not None:
                self.mem[name] = mem
                self.members.setdefault(mem.block, []).append(name)
        self._carry(fun.body.results, self.tree.root)
        for item in all_items(self.tree.root):
            if isinstance(item.stm.exp, ir.Loop):
                self._carry(item.stm.exp.init, item.scope)
            elif isinstance(item.stm.exp, ir.Call):
                self.given.update(arg for arg in item.stm.exp.args if isinstance(arg, str))
            for scope in item.children:
                self._carry(scope.results, scope)

    def _carry(self, operands: Iterable[ir.KernelResult], scope: TreeBody) -> None:
        for name in operands:
            if isinstance(name, str) and isinstance(self.tree.types.get(name), ir.Mem):
                self.carried.setdefault(name, []).append(scope)

    def _made(self, name: Name) -> ir.Stm | None:
        item = self.binder(name)
        return None if item is None else item.stm

    # --- what is where ---

    def binder(self, name: Name) -> Item | None:
        """Return the statement that binds a name, in its pattern or as a loop parameter."""
        return self.tree.binder.get(name) or self.added.get(name)

    def scope_of(self, name: Name) -> TreeBody | None:
        """Return the body in which a name is bound, or None."""
        found = self.tree.scope_of.get(name)
        return self.added[name].scope if found is None and name in self.added else found

    def block(self, name: Name) -> Name:
        """Return the block that a name currently means."""
        while name in self.renamed:
            name = self.renamed[name]
        return name

    def array(self, name: Name) -> ir.Array:
        """Return an array's original type; its memory may have changed."""
        found = self.tree.types[name]
        assert isinstance(found, ir.Array)
        return found

    def items(self, scope: TreeBody) -> tuple[Item, ...]:
        """Return the statements of a body: the same object while none has moved."""
        return self.order.get(scope, scope.items)

    def at(self, item: Item) -> int:
        """Return the position of a statement in its body."""
        return self.positions.get(item, item.stood)

    def path(self, item: Item) -> tuple[int, ...]:
        """Return the positions of a statement and its parents, outermost first."""
        here: tuple[int, ...] = (self.at(item),)
        parent = item.scope.parent
        if parent is not None:
            here = (*self.path(parent), parent.children.index(item.scope), *here)
        return here

    def comes(self, name: Name) -> tuple[float, ...]:
        """Return a sort key of the time of binding.

        A pattern is bound after everything inside its statement.
        """
        item = self.binder(name)
        if item is None:
            return ()
        inside = self.scope_of(name) is not item.scope
        return self.path(item) if inside else (*self.path(item), math.inf)

    def users_in(self, name: Name, scope: TreeBody) -> Sequence[Item]:
        """Return the statements of a body that use a name, nested uses included."""
        return self.tree.users.get(name, {}).get(scope, ())

    def position(self, name: Name, scope: TreeBody) -> int | None:
        """Return where in `scope` a name is bound: -1 further out, None further in or elsewhere."""
        found, item = self.scope_of(name), self.binder(name)
        if found is scope:
            return -1 if item is None or item.scope is not scope else self.at(item)
        while scope.parent is not None:
            scope = scope.parent.scope
            if found is scope:
                return -1
        return None

    def visible(self, name: Name, item: Item) -> bool:
        """True if a name is bound before a statement, in its body or around it."""
        found = self.scope_of(name)
        while item.scope is not found:
            if item.scope.parent is None:
                return False
            item = item.scope.parent
        binder = self.binder(name)
        return binder is None or binder.scope is not found or self.at(binder) < self.at(item)

    # --- back to a program ---

    def rebuilt(self) -> ir.Function:
        """Return the function in its current state."""
        fun, root = self.tree.fun, self.tree.root
        results = self._operands(fun.body.results)
        return replace(fun, body=ir.Body(self._stms(root), results, fun.body.prov))

    def _stms(self, scope: TreeBody) -> tuple[ir.Stm, ...]:
        return tuple(
            self._stm(item)
            for item in self.items(scope)
            if not (isinstance(item.stm.exp, ir.Alloc) and item.stm.pat[0].name in self.gone)
        )

    def _stm(self, item: Item) -> ir.Stm:
        stm = self.updates.get(item, item.stm)
        exp = self._exp(item) if item.children else self._calling(stm.exp)
        pat = self._params(stm.pat)
        same = exp is stm.exp and len(pat) == len(stm.pat)
        return stm if same and all(map(is_, pat, stm.pat)) else ir.Stm(pat, exp, stm.prov)

    def _calling(self, exp: ir.Exp) -> ir.Exp:
        """Return a call with current blocks as arguments."""
        if not isinstance(exp, ir.Call):
            return exp
        args = self._operands(exp.args)
        return exp if args == exp.args else replace(exp, args=args)

    def _exp(self, item: Item) -> ir.Exp:
        exp, inside = item.stm.exp, iter(item.children)
        params = exp.params if isinstance(exp, ir.Loop) else item.stm.pat

        def body(old: ir.Body) -> ir.Body:
            results = self._operands(self._kept(params, old.results))
            return ir.Body(self._stms(next(inside)), results, old.prov)

        def fn(old: ir.Lambda) -> ir.Lambda:
            results = self._operands(old.body.results)
            return replace(old, body=ir.Body(self._stms(next(inside)), results, old.body.prov))

        def kernel(old: ir.KernelBody) -> ir.KernelBody:
            returns = tuple(map(self._return, old.returns, old.results))
            return ir.KernelBody(self._stms(next(inside)), old.results, returns, old.prov)

        new = rewrite(exp, Rewrite(body=body, fn=fn, kernel=kernel))
        if isinstance(new, ir.Loop):
            init = self._operands(self._kept(params, new.init))
            new = replace(new, params=self._params(params), init=init)
        return new

    def _kept(self, params: Sequence[ir.Param], values: Sequence[_T]) -> list[_T]:
        """Drop the values of removed blocks."""
        pairs = zip(params, values, strict=True)
        return [value for param, value in pairs if param.name not in self.gone]

    def _operands(self, operands: Iterable[ir.Operand]) -> tuple[ir.Operand, ...]:
        return tuple(self.block(x) if isinstance(x, str) else x for x in operands)

    def _return(self, kind: ir.Type, result: ir.KernelResult) -> ir.Type:
        """Return the type of a kernel's result, with its current binding if it had one."""
        return self._type(kind, result) if isinstance(result, str) else kind

    def _params(self, params: Sequence[ir.Param]) -> tuple[ir.Param, ...]:
        return tuple(map(self._param, self._kept(params, params)))

    def _param(self, param: ir.Param) -> ir.Param:
        kind = self._type(param.type, param.name)
        return param if kind is param.type else replace(param, type=kind)

    def _type(self, kind: ir.Type, name: Name) -> ir.Type:
        """Return an array's type with its current binding, if it had one."""
        if not isinstance(kind, ir.Array) or kind.mem is None or kind.mem is self.mem[name]:
            return kind
        return replace(kind, mem=self.mem[name])
