"""The tree that short-circuiting works on: what is known of it, and that edits alone change it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import compiler.storage.short_circuit as package
from compiler.ir.nodes import Assert, Function
from compiler.ir.walk import free
from compiler.pipeline import Compilation
from compiler.storage.short_circuit import edits
from compiler.storage.short_circuit.tree import Tree, all_items

EXAMPLES = Path(__file__).parent.parent.parent / "app" / "examples"
CHANGED = {"mem", "members", "carried", "renamed", "dropped", "removed"}
CHANGING = {"add", "append", "clear", "pop", "remove", "setdefault", "update"}


def functions() -> Iterator[Function]:
    """All functions of a few examples, with memory."""
    for name in ("blocked_lu", "blocked_rows", "histogram", "lattice_boltzmann"):
        source = (EXAMPLES / f"{name}.fut").read_text("utf-8")
        yield from Compilation(source).result("funmem").prog.funs


def test_a_statement_uses_what_is_free_in_it() -> None:
    for fun in functions():
        for item in all_items(Tree(fun, lambda name: None).root):
            assert item.names == free(item.stm)


def test_without_edits_the_function_is_as_it_was() -> None:
    for fun in functions():
        assert Tree(fun, lambda name: None).rebuilt() == fun


def test_a_check_that_is_removed_is_the_only_change() -> None:
    for fun in functions():
        tree = Tree(fun, lambda name: None)
        check = next((i for i in tree.root.items if isinstance(i.stm.exp, Assert)), None)
        if check is None:
            continue
        edits.apply(tree, edits.RemoveCheck(check))
        left = [stm for stm in fun.body.stms if stm is not check.stm]
        assert list(tree.rebuilt().body.stms) == left
        assert [item.at for item in tree.root.items] == list(range(len(left)))


def _changes(node: ast.AST) -> Iterator[str]:
    """Tables of a tree that a piece of code changes."""
    for part in ast.walk(node):
        target: ast.expr | None = None
        match part:
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGING:
                target = value
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                target = value
        if isinstance(target, ast.Attribute) and target.attr in CHANGED:
            owner = ast.unparse(target.value)
            if owner.split(".")[-1] == "tree":
                yield ast.unparse(part)


def test_only_edits_change_the_tables() -> None:
    homes = {
        path.name
        for path in Path(package.__file__).parent.glob("*.py")
        if any(_changes(ast.parse(path.read_text("utf-8"))))
    }
    assert homes == {"edits.py"}
