"""A function as a tree: what is around a statement, which one binds a name, and who uses it.

An index over the program as it was, made once by `tree_of` and written by nobody afterwards: what
attempts change since is `edit_state.py`. Names are unique, so that tables by name need no scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.walk import children, free, visit_own
from compiler.storage.origin import behind

Kind = Literal["function", "then", "else", "loop", "kernel", "operator"]


@dataclass(frozen=True, slots=True, eq=False)
class TreeBody:
    """A body: its statements and results; `parent` is the statement that it is inside of."""

    kind: Kind
    parent: Item | None
    depth: int
    results: tuple[ir.KernelResult, ...]
    items: tuple[Item, ...] = ()
    """As they stood; `Edited.items` are those of now."""


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A statement; `stood` is the position that it had in its body, `Edited.at` that of now."""

    stm: ir.Stm
    scope: TreeBody
    stood: int
    names: frozenset[Name] = frozenset()
    """What the statement uses and does not bind."""
    arrays: frozenset[Name] = frozenset()
    """The arrays that it uses or binds, also inside."""
    children: tuple[TreeBody, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One function."""

    fun: ir.Function
    root: TreeBody
    types: Mapping[Name, ir.Type]
    """What is bound, in order of text."""
    scope_of: Mapping[Name, TreeBody]
    binder: Mapping[Name, Item]
    """The statement whose pattern or loop parameters a name is among."""
    users: Mapping[Name, Mapping[TreeBody, Sequence[Item]]]
    """For each body the statements in it that use a name, or hold one that does."""

    def behind(self, name: Name) -> Name | None:
        """The array that a name is a view or a later state of."""
        item = self.binder.get(name)
        if item is None:
            return None
        match item.stm.exp:
            case ir.Loop(params, init, _, _):
                for param, value in zip(params, init, strict=True):
                    if param.name == name and isinstance(value, str):
                        return value
        return behind(item.stm.exp)


def tree_of(fun: ir.Function) -> Tree:
    """The tree of a function."""
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
    """All statements of a body as they stood, also inner ones."""
    for item in scope.items:
        yield item
        for child in item.children:
            yield from all_items(child)


def mem_of(kind: ir.Type | None) -> ir.MemBind | None:
    """Where an array of a type lies."""
    return kind.mem if isinstance(kind, ir.Array) else None


class _Tables:
    """The tables of a tree while it is made."""

    def __init__(self) -> None:
        self.types: dict[Name, ir.Type] = {}
        self.scope_of: dict[Name, TreeBody] = {}
        self.binder: dict[Name, Item] = {}
        self.users: dict[Name, dict[TreeBody, list[Item]]] = {}
        self.arrays = set[Name]()
        """The names among them of arrays in memory."""

    def bind(self, params: Iterable[ir.Param], scope: TreeBody, item: Item | None = None) -> None:
        """Names that are bound in a body, by the statement if any."""
        for param in params:
            self.types[param.name] = param.type
            self.scope_of[param.name] = scope
            if mem_of(param.type) is not None:
                self.arrays.add(param.name)
            if item is not None:
                self.binder[param.name] = item

    def fill(self, scope: TreeBody, stms: Iterable[ir.Stm]) -> set[Name]:
        """Let a body have its statements: those know the body, so it gets them afterwards.

        Answers what the body uses and does not bind.
        """
        items = tuple(self._item(stm, scope, at) for at, stm in enumerate(stms))
        object.__setattr__(scope, "items", items)
        used = free(scope.results).union(*(item.names for item in items))
        return used.difference(param.name for item in items for param in item.stm.pat)

    def _item(self, stm: ir.Stm, scope: TreeBody, at: int) -> Item:
        """A statement, and what is inside of it: bodies know it, so it gets them afterwards."""
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
        """A body inside of a statement, and what it uses and does not bind."""
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
