"""What short-circuiting works on: a tree that nobody writes, and what only edits change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import compiler.storage.short_circuit as package
from compiler.base.context import Ctx, Options
from compiler.base.names import NameSource
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import target_named
from compiler.ir.nodes import Alloc, Assert, Function
from compiler.ir.walk import free
from compiler.storage.short_circuit import edit_state, edits
from compiler.storage.short_circuit.analyses import Analyses
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.points import Shortcut
from compiler.storage.short_circuit.summaries import Summaries
from compiler.storage.short_circuit.tree import Item, Tree, TreeBody, all_items, tree_of
from compiler.storage.short_circuit.trial import FREE
from testing.generators import families

EXAMPLES = Path(__file__).parent.parent.parent / "app" / "examples"
CHANGING = {"add", "append", "clear", "pop", "remove", "setdefault", "update"}


def functions() -> Iterator[Function]:
    """All functions of a few examples, with memory."""
    for name in ("blocked_lu", "blocked_rows", "histogram", "lattice_boltzmann"):
        source = (EXAMPLES / f"{name}.fut").read_text("utf-8")
        yield from Compilation(source).result("funmem").prog.funs


def unedited(fun: Function) -> Edited:
    """A function as it is."""
    return Edited(fun, lambda name: None)


# --- the tree ---


def test_a_statement_uses_what_is_free_in_it() -> None:
    for fun in functions():
        tree = tree_of(fun)
        items = list(all_items(tree.root))
        for item in items:
            assert item.names == free(item.stm)
            assert item.scope.items[item.stood] is item
        for name, inside in tree.users.items():
            users = [item for some in inside.values() for item in some]
            assert set(users) == {item for item in items if name in free(item.stm)}


def shape(value: object, seen: dict[int, int]) -> object:
    """What can be reached from a tree, as data: what was seen already is a number."""
    if isinstance(value, Tree | TreeBody | Item):
        if id(value) in seen:
            return seen[id(value)]
        seen[id(value)] = len(seen)
        return [shape(getattr(value, field.name), seen) for field in fields(value)]
    if isinstance(value, Mapping):
        return [(shape(key, seen), shape(one, seen)) for key, one in value.items()]
    return [shape(one, seen) for one in value] if isinstance(value, list | tuple) else value


def test_the_tree_is_the_same_after_all_attempts() -> None:
    edited_ones = 0
    for fun in functions():
        tags = NameSource().fork(FREE)
        shortcut = Shortcut(fun, Ctx(Options(), tags, target=target_named("c")))
        before = shape(shortcut.state.now.tree, {})
        edited_ones += shortcut.run() is not fun
        assert shape(shortcut.state.now.tree, {}) == before == shape(tree_of(fun), {})
    assert edited_ones > 2


def test_the_tree_cannot_be_written() -> None:
    """Its fields are guarded by the type checker, its tables when they are written."""
    tree = tree_of(next(functions()))
    tables: list[Any] = [tree.types, tree.scope_of, tree.binder, tree.users]
    for table in tables:
        with pytest.raises(TypeError):
            table["a"] = None
    assert isinstance(tree.root.items, tuple)
    assert all(isinstance(item.children, tuple) for item in all_items(tree.root))


# --- edits ---


def test_without_edits_the_function_is_as_it_was() -> None:
    for fun in functions():
        assert unedited(fun).rebuilt() == fun


def test_a_check_that_is_removed_is_the_only_change() -> None:
    for fun in functions():
        now = unedited(fun)
        root = now.tree.root
        check = next((i for i in root.items if isinstance(i.stm.exp, Assert)), None)
        if check is None:
            continue
        edits.apply(now, edits.RemoveCheck(check))
        left = [stm for stm in fun.body.stms if stm is not check.stm]
        assert list(now.rebuilt().body.stms) == left
        assert [now.at(item) for item in now.items(root)] == list(range(len(left)))


def test_what_is_known_of_arrays_stays_while_others_move_up() -> None:
    (fun,) = Compilation(families.parts_of_any_size(3)).result("funmem").prog.funs
    now = unedited(fun)
    root, summaries = now.tree.root, Summaries(now)
    before, row = summaries.touching(root), summaries.of(frozenset()).body
    known = row(root, before)
    first = root.items[0]
    scalars = tuple(item for item in root.items[1:] if not item.arrays)
    edits.apply(now, edits.BuildInPlace({}, first, scalars, ()))
    assert now.items(root)[: len(scalars)] == scalars
    assert summaries.touching(root) is before
    assert row(root, summaries.touching(root)) is known
    for k, item in enumerate(before):
        assert summaries.number(root, now.at(item)) == k
    edits.apply(now, edits.BuildInPlace({}, first, before[-1:], ()))
    assert summaries.touching(root) == (before[-1], *before[:-1])
    assert row(root, summaries.touching(root)) is not known


def test_what_blocks_may_mean_follows_an_edit() -> None:
    asked = 0
    for fun in functions():
        state = Analyses(fun, lambda name: None)
        made = [stm.pat[0].name for stm in fun.body.stms if isinstance(stm.exp, Alloc)]
        for old, new in pairwise(made):
            assert not state.meanings.may_be_one(old, new)
            state.apply(edits.TakeBlock(old, new))
            assert state.meanings.may_be_one(old, new)
            asked += 1
    assert asked > 2


def test_edits_are_applied_where_the_analyses_are_kept() -> None:
    folder = Path(str(package.__file__)).parent
    found = [path.name for path in folder.glob("*.py") if "edits.apply(" in path.read_text("utf-8")]
    assert found == ["analyses.py"]


def _changes(node: ast.AST, tables: set[str]) -> Iterator[str]:
    """Tables of an edited function that a piece of code changes."""
    for part in ast.walk(node):
        target: ast.expr | None = None
        match part:
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGING:
                target = value
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                target = value
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                target = part
        if isinstance(target, ast.Attribute) and target.attr in tables:
            owner = ast.unparse(target.value)
            if owner.split(".")[-1] == "now":
                yield ast.unparse(part)


def test_only_edits_change_the_tables() -> None:
    tables = set(vars(unedited(next(functions()))))
    assert {"mem", "members", "order", "positions"} <= tables
    homes = {
        path.name
        for path in Path(package.__file__).parent.glob("*.py")
        if any(_changes(ast.parse(path.read_text("utf-8")), tables))
    }
    assert homes == {"edits.py"}
    written = ast.parse(Path(edit_state.__file__).read_text("utf-8"))
    outside = [
        ast.unparse(part)
        for method in ast.walk(written)
        if isinstance(method, ast.FunctionDef) and method.name not in ("__init__", "_carry")
        for part in ast.walk(method)
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load)
    ]
    assert outside == []
