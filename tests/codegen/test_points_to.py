"""Points-to sets of block variables through nested branches, each visited once."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.codegen import deallocate
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels.same_blocks import points_to
from compiler.ir.nodes import ONE, TRUE, Mem

BLOCK = Mem("i32")


def nested(depth: int) -> imp.Stms:
    """Branches inside of each other, each of which gives a block to the one around it."""
    own: imp.Stm = imp.Alloc(f"a_{depth}", ONE, "i32")
    if not depth:
        return (own, imp.Assign("b_0", "a_0"))
    inner = (imp.Declare(f"b_{depth - 1}", BLOCK), *nested(depth - 1))
    gives = imp.Assign(f"b_{depth}", f"b_{depth - 1}")
    return (imp.If(TRUE, (*inner, gives), (own, imp.Assign(f"b_{depth}", f"a_{depth}"))),)


def test_a_variable_may_hold_the_blocks_of_all_branches_inside() -> None:
    depth = 30
    body = (imp.Declare(f"b_{depth}", BLOCK), *nested(depth))
    found = points_to(imp.ImpFun("main", (), (), body, (), (), ()))
    for at in range(depth + 1):
        assert found[f"b_{at}"] == {f"a_{k}" for k in range(at + 1)}


def test_variables_that_change_places_may_hold_either_block() -> None:
    swap = (
        imp.Declare("c_1", BLOCK, "x_1"),
        imp.Assign("x_1", "y_1"),
        imp.Assign("y_1", "c_1"),
    )
    body = (
        *(imp.Alloc(name, ONE, "i32") for name in ("a_1", "a_2")),
        imp.Declare("x_1", BLOCK, "a_1"),
        imp.Declare("y_1", BLOCK, "a_2"),
        imp.For("i_1", "i64", ONE, swap),
    )
    found = points_to(imp.ImpFun("main", (), (), body, (), (), ()))
    assert found == dict.fromkeys(("c_1", "x_1", "y_1"), frozenset(("a_1", "a_2")))


def test_frees_look_at_each_statement_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    class Counting(deallocate._Blocks):
        def visit(self, node: Any) -> None:
            looked.append(node)
            super().visit(node)

    monkeypatch.setattr(deallocate, "_Blocks", Counting)
    for depth in (10, 100):
        looked.clear()
        body = (imp.Declare(f"b_{depth}", BLOCK), *nested(depth))
        made = deallocate.insert_frees(body, set())
        assert len(looked) <= 5 * depth + 5
        assert made[-1] == imp.Free(f"b_{depth}")
