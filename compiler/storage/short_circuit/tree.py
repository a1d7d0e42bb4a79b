"""Immutable index of a function: parents of statements, binders and users of names.

`tree_of` builds it once from the original program; `edit_state.py` records later changes. Names are
unique, so tables by name need no scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.walk import children, free, visit_own
from compiler.storage.origin import source_array

Kind = Literal["function", "then", "else", "loop", "kernel", "operator"]


@dataclass(frozen=True, slots=True, eq=False)
class TreeBody:
    """A body: its statements and results; `parent` is the enclosing statement."""

    kind: Kind
    parent: Item | None
    depth: int
    results: tuple[ir.KernelResult, ...]
    items: tuple[Item, ...] = ()
    """Original statements; `Edited.items` are the current ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A statement; `stood` is its original position, `Edited.at` the current one."""

    stm: ir.Stm
    scope: TreeBody
    stood: int
    names: frozenset[Name] = frozenset()
    """Names that the statement uses and does not bind."""
    arrays: frozenset[Name] = frozenset()
    """Arrays that it uses or binds, nested ones included."""
    children: tuple[TreeBody, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Index of one function."""

    fun: ir.Function
    root: TreeBody
    types: Mapping[Name, ir.Type]
    """Types of bound names, in order of text."""
    scope_of: Mapping[Name, TreeBody]
    binder: Mapping[Name, Item]
    """Statement that binds a name, in its pattern or as a loop parameter."""
    users: Mapping[Name, Mapping[TreeBody, Sequence[Item]]]
    """For each body, the statements that use a name, nested uses included."""

    def behind(self, name: Name) -> Name | None:
        """Return the array that a name is a view or a later state of."""
        item = self.binder.get(name)
        if item is None:
            return None
        match item.stm.exp:
            case ir.Loop(params, init, _, _):
                for param, value in zip(params, init, strict=True):
                    if param.name == name and isinstance(value, str):
                        return value
        return source_array(item.stm.exp)


def tree_of(fun: ir.Function) -> Tree:
    """Return the index of a function."""
    made = _Tables()
    root = TreeBody("function", None, 0, fun.body.results)
    made.bind(fun.params, root)
    made.fill(root, fun.body.stms)
    return Tree(
        fun,
        root,
        MappingProxyType(made.types),
        MappingProxyType(made.scope_of),
        MappingProxyType(made.binder),
        MappingProxyType(made.users),
    )


def all_items(scope: TreeBody) -> Iterator[Item]:
    """Yield all original statements of a body, nested ones included."""
    for item in scope.items:
        yield item
        for child in item.children:
            yield from all_items(child)


def mem_of(kind: ir.Type | None) -> ir.MemBind | None:
    """Return the binding of an array type."""
    return kind.mem if isinstance(kind, ir.Array) else None


class _Tables:
    """Tables of a tree under construction."""

    def __init__(self) -> None:
        self.types: dict[Name, ir.Type] = {}
        self.scope_of: dict[Name, TreeBody] = {}
        self.binder: dict[Name, Item] = {}
        self.users: dict[Name, dict[TreeBody, list[Item]]] = {}
        self.arrays = set[Name]()
        """Names of arrays in memory."""

    def bind(self, params: Iterable[ir.Param], scope: TreeBody, item: Item | None = None) -> None:
        """Enter names bound in a body, by the statement if any."""
        for param in params:
            self.types[param.name] = param.type
            self.scope_of[param.name] = scope
            if mem_of(param.type) is not None:
                self.arrays.add(param.name)
            if item is not None:
                self.binder[param.name] = item

    def fill(self, scope: TreeBody, stms: Iterable[ir.Stm]) -> set[Name]:
        """Set the statements of a body, which refer back to it.

        Returns the free names of the body.
        """
        items = tuple(self._item(stm, scope, at) for at, stm in enumerate(stms))
        object.__setattr__(scope, "items", items)
        used = free(scope.results).union(*(item.names for item in items))
        return used.difference(param.name for item in items for param in item.stm.pat)

    def _item(self, stm: ir.Stm, scope: TreeBody, at: int) -> Item:
        """Build a statement and its nested bodies."""
        used, bound = set[Name](), set[Name]()
        visit_own(stm, used.add, bound.add)
        item = Item(stm, scope, at)
        inner = [self._inner(child, item, k) for k, child in enumerate(children(stm.exp))]
        self.bind(stm.pat, scope, item)
        names = frozenset((used.union(*(more for _, more in inner)) if inner else used) - bound)
        arrays = frozenset((names | bound) & self.arrays)
        if inner:
            arrays = arrays.union(*(one.arrays for child, _ in inner for one in child.items))
        object.__setattr__(item, "children", tuple([child for child, _ in inner]))
        object.__setattr__(item, "names", names)
        object.__setattr__(item, "arrays", arrays)
        for name in names:
            self.users.setdefault(name, {}).setdefault(scope, []).append(item)
        return item

    def _inner(
        self, child: ir.Body | ir.Lambda | ir.KernelBody, item: Item, k: int
    ) -> tuple[TreeBody, set[Name]]:
        """Build a nested body; also returns its free names."""
        exp = item.stm.exp
        kind: Kind = "kernel"
        if isinstance(child, ir.Lambda):
            kind = "operator"
        elif isinstance(child, ir.Body):
            kind = "loop" if isinstance(exp, ir.Loop) else "else" if k else "then"
        body = child.body if isinstance(child, ir.Lambda) else child
        scope = TreeBody(kind, item, item.scope.depth + 1, body.results)
        match exp:
            case ir.Loop(params, _, form, _):
                self.bind(params, scope, item)
                if isinstance(form, ir.ForLoop):
                    self.scope_of[form.index] = scope
            case _ if kind == "kernel" and isinstance(exp, ir.SegOp):
                self.scope_of |= dict.fromkeys((index for index, _ in exp.space.dims), scope)
        if isinstance(child, ir.Lambda):
            self.bind(child.params, scope)
        used = self.fill(scope, body.stms)
        if isinstance(child, ir.Lambda):
            used |= free((child.params, child.returns))
            used.difference_update(param.name for param in child.params)
        elif isinstance(child, ir.KernelBody):
            used |= free(child.returns)
        return scope, used
