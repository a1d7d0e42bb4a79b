"""Which variables for blocks may hold the same one at a kernel."""

from __future__ import annotations

import pytest

from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import StmParts
from compiler.codegen.kernels import same_blocks
from compiler.codegen.kernels.same_blocks import MOST, Same, at_kernels
from compiler.ir.nodes import ONE, TRUE, Mem
from tests.codegen.helpers import compiled


class _Kernels(StmParts):
    def __init__(self) -> None:
        self.found: list[imp.Kernel] = []

    def visit(self, node: object) -> None:
        if isinstance(node, imp.Kernel):
            self.found.append(node)
        super().visit(node)


def pairs(source: str) -> list[set[tuple[str, str]]]:
    """For each kernel, what is read and written there and may be the same, without numbers."""
    (fun,) = compiled(source, "cuda").result("imp").prog.funs
    walk = _Kernels()
    walk.stms(fun.body)
    same = at_kernels(fun.body)
    out = []
    for kernel in walk.found:
        stores = [s.block for s in kernel.body if isinstance(s, imp.Store)]
        loads = [s.block for s in kernel.body if isinstance(s, imp.Load)]
        at = same[id(kernel)]
        out.append({(a, b) for a in loads for b in stores if a == b or b in at.get(a, ())})
    return out


def test_two_buffers_in_turn_are_apart() -> None:
    source = """entry main [n] (xs: [n]i64) (t: i32): [n]i64 =
      loop xs for _i < t do tabulate n (\\i -> xs[i] + xs[i64.min (n - 1) (i + 1)])"""
    assert pairs(source) == [set()]


def test_what_a_branch_hands_on_may_be_the_same() -> None:
    """Also around a loop, and what is not overwritten stays the same."""
    mem = Mem("i32")
    kernel = imp.Kernel("map", "grid", (), (), imp.MapWork())
    again = imp.Kernel("map", "grid", (), (), imp.MapWork(), per_block=True)
    stms = (
        imp.Declare("x", mem, "a"),
        imp.Declare("y", mem, "b"),
        kernel,
        imp.For(
            "i",
            "i64",
            ONE,
            (again, imp.If(TRUE, (imp.Assign("x", "y"),), ())),
        ),
    )
    found = at_kernels(stms)
    assert found[id(kernel)] == {"x": {"a"}, "a": {"x"}, "y": {"b"}, "b": {"y"}}
    assert found[id(again)]["x"] == {"a", "b", "y"}
    assert found[id(again)]["y"] == {"b", "x"}


def test_of_too_many_names_nothing_is_known() -> None:
    for count, known in ((MOST, True), (MOST + 1, False)):
        kernel = imp.Kernel("map", "grid", (), (), imp.MapWork())
        names = [imp.Declare(f"x_{n}", Mem("i32"), "a") for n in range(count)]
        assert (id(kernel) in at_kernels((*names, kernel))) is known


def swapping(depth: int) -> imp.For:
    """Loops in loops, each of which lets two buffers change places behind the ones inside."""
    a, b = f"a_{depth}", f"b_{depth}"
    inside: list[imp.Stm] = []
    if depth:
        below = (f"a_{depth - 1}", a), (f"b_{depth - 1}", b)
        inside = [*(imp.Declare(one, Mem("i32"), two) for one, two in below), swapping(depth - 1)]
    held = imp.Declare(f"held_{depth}", Mem("i32"), a)
    swap = (held, imp.Assign(a, b), imp.Assign(b, f"held_{depth}"))
    return imp.For(f"i_{depth}", "i64", ONE, (*inside, *swap))


def test_loops_in_loops_are_not_gone_through_for_each_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walk, walks = same_blocks._Search.walk, [0]

    def counted(search: same_blocks._Search, stms: imp.Stms, same: Same) -> Same:
        walks[0] += 1
        return walk(search, stms, same)

    monkeypatch.setattr(same_blocks._Search, "walk", counted)
    needed = []
    for depth in (5, 10):
        walks[0] = 0
        at_kernels((swapping(depth),))
        needed.append(walks[0])
    assert needed[1] <= 4 * needed[0]
