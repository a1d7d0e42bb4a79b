"""Which thread touches which cell, as pictures show it, against what the interpreter records."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from app.gallery import load
from app.paths import EXAMPLES
from compiler.driver import api
from compiler.explain import layout
from compiler.ir import values
from compiler.ir.nodes import Prog, SegOp, Stm
from compiler.protocol.kinds import OfProgram
from compiler.protocol.polynomials import names_in
from compiler.semantics import heap, heap_kernels
from compiler.semantics.machine import Block, Machine
from compiler.semantics.trace import KernelTrace, RunningKernel
from testing.attempts import always, versions
from tests.storage.helpers import with_memory

Touched = dict[tuple[str, bool], set[tuple[tuple[int, ...], int]]]
"""For each block, and for reads and writes, the pairs of a point and a cell."""

EXACT = {
    "matrix_multiplication",
    "concatenation",
    "in_place_map",
    "lu_step",
    "mapscan",
    "anti_diagonal",
    "heat_by_parts",
    "stencil",
    "edit_distance",
}
OTHERS = {"blocked_rows", "wavefront", "histogram", "prefix_filter", "blocked_lu", "implicit_steps"}


class Watched:
    """A kernel that ran: what it touched, with the numbers and blocks that were known before."""

    def __init__(self, record: KernelTrace, machine: Machine) -> None:
        self.record = record
        self.numbers = {k: int(v) for k, v in machine.env.items() if isinstance(v, np.integer)}
        self.labels = {k: v.label for k, v in machine.env.items() if isinstance(v, Block)}

    def touched(self) -> Touched:
        found: Touched = defaultdict(set)
        for one in self.record.accesses:
            found[one.block, one.writes].add((one.thread, one.cell))
        return found


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Watched]:
    """All kernels that run, in order."""
    found: list[Watched] = []
    enter = heap_kernels._enter

    def watching(machine: Machine, stm: Stm, exp: SegOp) -> RunningKernel | None:
        frame = enter(machine, stm, exp)
        if frame is not None:
            found.append(Watched(frame.record, machine))
        return frame

    monkeypatch.setattr(heap_kernels, "_enter", watching)
    return found


@pytest.mark.parametrize("name", sorted(EXACT | OTHERS))
def test_pictures_of_threads_agree_with_a_run(name: str, watched: list[Watched]) -> None:
    (example,) = (one for one in load(EXAMPLES) if one.name == name)
    work = api.compilation(OfProgram(example.source))
    checked = 0
    for stage in ("funmem", "merged"):
        prog = work.result(stage).prog
        for thresholds in versions(prog):
            watched.clear()
            heap.run(prog, "main", values.parse(example.input), thresholds=thresholds)
            checked += sum(compared(prog, one, name in EXACT) for one in watched)
    assert checked


STREAM = """
entry main [n] (dest: *[n][2]i32) (sums: *[n]i32) (rows: [n][2]i32) =
  let marked = scatter_stream dest (\\(acc: *acc ([][2]i32)) (i, row) -> write acc (i + 1) row)
                              (zip (iota n) rows)
  let added = reduce_by_index_stream sums (+) 0
                (\\(acc: *acc ([]i32)) i -> loop acc for j < i do write acc (i - j) 1) (iota n)
  in (marked, added)
"""


def test_what_is_pushed_is_in_the_picture(watched: list[Watched]) -> None:
    prog = api.compilation(OfProgram(STREAM)).result("merged").prog
    args: list[Any] = [np.zeros((4, 2), np.int32), np.zeros(4, np.int32), np.ones((4, 2), np.int32)]
    heap.run(prog, "main", args)
    assert sum(compared(prog, one, True) for one in watched) >= 3
    first = layout.threads(prog, watched[0].record.names[0], watched[0].numbers, limit=1000)
    written = [entry for entry in first["accesses"] if entry["writes"]]
    assert written
    assert all(entry["because"] == "only where a condition holds" for entry in written)


WAYS = """
entry main [n] [m] (as: [n][m]i64) (bs: [m][n]i64) (steps: i64) =
  map3 (\\i a b ->
          let row = if i % 2 == 0 then a else reverse b
          in loop row for _step < steps do scan (+) i (map (+ i) row))
       (iota n) as (transpose bs)
"""


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_rows_that_branches_and_loops_hand_on_are_in_the_picture(
    steps: int, watched: list[Watched]
) -> None:
    prog = api.compilation(OfProgram(WAYS)).result("merged").prog
    args: list[Any] = [np.ones((3, 4), np.int64), np.ones((4, 3), np.int64), np.int64(steps)]
    heap.run(prog, "main", args, thresholds=always(prog))
    assert sum(compared(prog, one, True) for one in watched) >= 3
    (kernel,) = watched
    found = layout.threads(prog, kernel.record.names[0], kernel.numbers, limit=1000)["accesses"]
    given = [one for one in found if one["block"].startswith(("as", "bs")) and not one["writes"]]
    assert {one["block"][:2] for one in given} == {"as", "bs"}
    assert all(one["because"] and not one["certain"] for one in given)


def compared(prog: Prog, one: Watched, exact: bool) -> int:
    """Compare one kernel's picture with its run; how many blocks were drawn."""
    if not one.record.complete:
        return 0
    data = layout.threads(prog, one.record.names[0], one.numbers, limit=100_000)
    seen = one.touched()
    drawn = 0
    for label, writes in {*seen, *keys_of(data, one)}:
        here = [
            access
            for access in data["accesses"]
            if one.labels.get(access["block"]) == label and access["writes"] == writes
        ]
        if label not in one.labels.values():
            continue  # made inside of the kernel: a block for each point
        sure, all_of = pairs(here, True), pairs(here, False)
        happened = seen.get((label, writes), set())
        assert here, (one.record.names, label, "is touched, and not drawn")
        assert sure <= happened, (one.record.names, label, writes)
        if all(access["points"] or not access["because"] for access in here):
            assert happened <= all_of, (one.record.names, label, writes)
            drawn += 1
        else:
            assert not exact, (one.record.names, here)
    return drawn


def keys_of(data: dict[str, Any], one: Watched) -> set[tuple[str, bool]]:
    found = ((one.labels.get(entry["block"]), entry["writes"]) for entry in data["accesses"])
    return {(label, writes) for label, writes in found if label is not None}


def pairs(accesses: list[dict[str, Any]], certain: bool) -> set[tuple[tuple[int, ...], int]]:
    return {
        (tuple(at["point"]), cell)
        for access in accesses
        for at in access["points"]
        for cell in at["cells"]
        if access["certain"] or not certain
    }


def test_long_loops_are_cut_and_say_so() -> None:
    text = """
entry main [n_1] (xs_2: [n_1]i32, m_3: i64) : (ys_4: [n_1]i32) =
  let (ys_5: [n_1]i32) =
    segmap @grid (i_6 < n_1) : (i32) ->
      let (y_7: i32) =
        loop (x_8: i32) = (0i32)
        for j_9: i64 < m_3 do
          let (z_10: i32) = xs_2[i_6]
          in (x_8 + z_10)
      in (y_7)
  in (ys_5)
"""
    data = layout.threads(with_memory(text), "ys_5", {"n_1": 3, "m_3": 10**15})
    read = next(entry for entry in data["accesses"] if not entry["writes"])
    assert read["points"][0] == {"point": [0], "cells": [0]}
    assert not read["complete"]
    data = layout.threads(with_memory(text), "ys_5", {"n_1": 3, "m_3": 10**3})
    read = next(entry for entry in data["accesses"] if not entry["writes"])
    assert [at["cells"] for at in read["points"]] == [[0], [1], [2]]
    assert read["complete"]


def test_readers_of_a_column_are_all_there() -> None:
    """Each cell of the second matrix is read by one thread for every row of the first."""
    (example,) = (one for one in load(EXAMPLES) if one.name == "matrix_multiplication")
    prog = api.compilation(OfProgram(example.source)).result("funmem").prog
    (fun,) = layout.describe(prog)
    sizes = {name: {"n": 2, "m": 3, "k": 4}[name[0]] for name in fun["arrays"][0]["symbols"]}
    sizes |= {name: {"n": 2, "m": 3, "k": 4}[name[0]] for name in fun["arrays"][1]["symbols"]}
    kernel = next(one for one in fun["kernels"] if one["kind"] == "segmap")
    block = next(array["block"] for array in fun["arrays"] if array["base"] == "b")
    sizes |= {name: {"n": 2, "k": 4}[name[0]] for name in names_in(kernel["space"])}
    data = layout.threads(prog, kernel["name"], sizes)
    (read,) = (entry for entry in data["accesses"] if entry["block"] == block)
    assert not read["writes"]
    assert read["certain"]
    assert {tuple(at["point"]): at["cells"] for at in read["points"]} == {
        (i, j): [j, 4 + j, 8 + j] for i in range(2) for j in range(4)
    }
