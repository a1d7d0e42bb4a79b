"""What has been edited in a function so far: where arrays are now, and the order of statements.

`tree` is the function as it was, and the rest is changed by `edits.apply` only. `rebuilt` makes a
program of both.
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
    """One function, as it is now."""

    def __init__(self, fun: ir.Function, said: Callable[[Name], str | None]) -> None:
        """`said`: what the author of the program calls something; None if it has no name there."""
        self.tree = tree_of(fun)
        self.said = said
        self.spell = Spelling(said, (param.name for param in fun.params), self._made)
        self.mem: dict[Name, ir.MemBind] = {}
        """Where every array lives."""
        self.members: dict[Name, list[Name]] = {}
        """The arrays in a block, in order of text."""
        self.carried: dict[Name, list[TreeBody]] = {}
        """Where a block is handed on as a value: as a body's result or a loop's first value."""
        self.given: set[Name] = set()
        """Blocks, and arrays, that functions are given: such a block holds nothing else."""
        self.gone: set[Name] = set()
        """Blocks that nothing allocates, returns or carries any more."""
        self.renamed: dict[Name, Name] = {}
        """Blocks that are others now."""
        self.order: dict[TreeBody, tuple[Item, ...]] = {}
        """The statements of bodies where some have moved, have been added or are gone."""
        self.positions: dict[Item, int] = {}
        """Where statements of these bodies are."""
        self.added: dict[Name, Item] = {}
        """Statements that are new, by what they bind."""
        self.updates: dict[Item, ir.Stm] = {}
        """What statements are now whose indices have got names."""
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
        """The statement whose pattern or loop parameters a name is among."""
        return self.tree.binder.get(name) or self.added.get(name)

    def scope_of(self, name: Name) -> TreeBody | None:
        """The body that a name is bound in; None if it is in none."""
        found = self.tree.scope_of.get(name)
        return self.added[name].scope if found is None and name in self.added else found

    def block(self, name: Name) -> Name:
        """The block that a name stands for now."""
        while name in self.renamed:
            name = self.renamed[name]
        return name

    def array(self, name: Name) -> ir.Array:
        """An array's type as it was; its memory may have changed since."""
        found = self.tree.types[name]
        assert isinstance(found, ir.Array)
        return found

    def items(self, scope: TreeBody) -> tuple[Item, ...]:
        """The statements of a body: the same object while none has moved."""
        return self.order.get(scope, scope.items)

    def at(self, item: Item) -> int:
        """The position of a statement in its body."""
        return self.positions.get(item, item.stood)

    def path(self, item: Item) -> tuple[int, ...]:
        """Where a statement is in the text: positions, from the outermost body on."""
        here: tuple[int, ...] = (self.at(item),)
        parent = item.scope.parent
        if parent is not None:
            here = (*self.path(parent), parent.children.index(item.scope), *here)
        return here

    def comes(self, name: Name) -> tuple[float, ...]:
        """When a name comes to be: what a statement binds does after all that is inside of it."""
        item = self.binder(name)
        if item is None:
            return ()
        inside = self.scope_of(name) is not item.scope
        return self.path(item) if inside else (*self.path(item), math.inf)

    def users_in(self, name: Name, scope: TreeBody) -> Sequence[Item]:
        """The statements of a body that use a name, or hold one that does."""
        return self.tree.users.get(name, {}).get(scope, ())

    def position(self, name: Name, scope: TreeBody) -> int | None:
        """Where in `scope` a name is bound: -1 if further out, None if further in or elsewhere."""
        found, item = self.scope_of(name), self.binder(name)
        if found is scope:
            return -1 if item is None or item.scope is not scope else self.at(item)
        while scope.parent is not None:
            scope = scope.parent.scope
            if found is scope:
                return -1
        return None

    def visible(self, name: Name, item: Item) -> bool:
        """Whether a name is bound before a statement, in its body or around it."""
        found = self.scope_of(name)
        while item.scope is not found:
            if item.scope.parent is None:
                return False
            item = item.scope.parent
        binder = self.binder(name)
        return binder is None or binder.scope is not found or self.at(binder) < self.at(item)

    # --- back to a program ---

    def rebuilt(self) -> ir.Function:
        """The function with everything where it is now."""
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
        """A call with the blocks that it is given now."""
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
        """The values that belong to what is not gone."""
        pairs = zip(params, values, strict=True)
        return [value for param, value in pairs if param.name not in self.gone]

    def _operands(self, operands: Iterable[ir.Operand]) -> tuple[ir.Operand, ...]:
        return tuple(self.block(x) if isinstance(x, str) else x for x in operands)

    def _return(self, kind: ir.Type, result: ir.KernelResult) -> ir.Type:
        """The type of a kernel's result, which says where a row is if it said so before."""
        return self._type(kind, result) if isinstance(result, str) else kind

    def _params(self, params: Sequence[ir.Param]) -> tuple[ir.Param, ...]:
        return tuple(map(self._param, self._kept(params, params)))

    def _param(self, param: ir.Param) -> ir.Param:
        kind = self._type(param.type, param.name)
        return param if kind is param.type else replace(param, type=kind)

    def _type(self, kind: ir.Type, name: Name) -> ir.Type:
        """The type of an array, which says where it is now if it said so before."""
        if not isinstance(kind, ir.Array) or kind.mem is None or kind.mem is self.mem[name]:
            return kind
        return replace(kind, mem=self.mem[name])
