"""Rounds of loops that come again are captured; the driver is the observer's, or a list."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.codegen.kernels.repeats import GRAPHS
from compiler.runtime import cuda_device
from compiler.runtime.cuda_device import Device
from compiler.semantics import interp
from testing.driver_calls import calls
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.runtime import cuda_on_cpu

TURNS = """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  loop ys = xs for _i < k do map2 (\\y z -> y * 3 + z) ys (rotate 1 ys)
"""
IN_PLACE = "entry main [n] (xs: *[n]i32) (k: i64) = loop ys = xs for _i < k do map (+ 7) ys"
TWO = """
entry main [n] (xs: [n]i32) (k: i64): ([n]i32, [n]i32) =
  loop (older, newer) = (xs, map (+ 1) xs) for _i < k do
    (newer, map3 (\\a b c -> a + b * 5 - c) older newer (rotate 1 newer))
"""
SCANS = """
entry main [n][m] (xss: [n][m]i32) (k: i64): [n][m]i32 =
  loop yss = xss for _i < k do map (scan (+) 0) yss
"""
COPIES = """
entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  loop ys = xs for _i < k do
    let ys = ys with [0:n / 2] = copy ys[n - n / 2:]
    in map (+ 1) ys
"""
CAPTURED = {"turns": TURNS, "in place": IN_PLACE, "two": TWO, "scans": SCANS, "copies": COPIES}


def code_of(source: str, *disabled: str) -> str:
    return plain(compiled(source, "cuda", disabled=frozenset(disabled)).result("cuda").text)


def given(name: str, rounds: int) -> list[Any]:
    xs = np.arange(70, dtype=np.int32)
    return [xs.reshape(7, 10) if name == "scans" else xs, np.int64(rounds)]


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("name", CAPTURED)
def test_rounds_that_are_captured_are_those_of_the_loop(name: str) -> None:
    """The results, and the kernels that run, in order."""
    source = CAPTURED[name]
    code, each = code_of(source), code_of(source, "cuda/graphs")
    assert "device.rounds" in code
    assert "device.rounds" not in each
    meaning = compiled(source).result("soa").prog
    for rounds in (0, 1, 2, 3, 16, 17, 35, 100, 101):
        args = given(name, rounds)
        seen, expected = (cuda_on_cpu.observe(c, "main", args) for c in (code, each))
        same(cuda_on_cpu.results(seen), interp.run(meaning, "main", args))
        assert seen.launches == expected.launches
        assert seen.copied == expected.copied


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("name", CAPTURED)
def test_the_host_asks_for_about_the_square_root(name: str) -> None:
    code, each = code_of(CAPTURED[name]), code_of(CAPTURED[name], GRAPHS.id)
    counts = {}
    for rounds in (100, 400, 1600):
        found, all_of_them = (calls(c, "main", given(name, rounds)) for c in (code, each))
        assert found["cuGraphInstantiateWithFlags"] == 1
        assert found["cuGraphDestroy"] == found["cuGraphExecDestroy"] == 1
        assert all_of_them["cuLaunchKernel"] >= rounds
        counts[rounds] = sum(found.values())
        assert counts[rounds] < sum(all_of_them.values())
    assert counts[1600] < 2.5 * counts[400]
    assert counts[1600] * 4 < sum(all_of_them.values())


@cuda_on_cpu.needs_cxx
def test_whether_a_block_is_made_is_seen_when_the_loop_runs() -> None:
    """Long rows are scanned by several blocks of threads, by way of partial results."""
    code, meaning = code_of(SCANS), compiled(SCANS).result("soa").prog
    for columns in (10, 2_000):
        args = [np.arange(3 * columns, dtype=np.int32).reshape(3, columns), np.int64(40)]
        assert bool(calls(code, "main", args)["cuGraphLaunch"]) == (columns == 10)
        same(cuda_on_cpu.run(code, args), interp.run(meaning, "main", args))


NOT_CAPTURED = {
    "they depend on `i`": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop ys = xs for i < k do map (+ i) (rotate 1 ys)",
    "it waits for": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop ys = xs for _i < k do if ys[0] > 3 then map (+ 1) ys else map (+ 2) (rotate 1 ys)",
    "it writes a cell itself": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop ys = xs for _i < k do map (+ length (filter (> 3) ys)) (rotate 1 ys)",
    "is another number in each": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop (ys, z) = (xs, 1) for _i < k do (map (+ z) (rotate 1 ys), z * 3)",
    "there is a loop in it": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop ys = xs for _i < k do loop zs = ys for j < k do map (+ j) (rotate 1 zs)",
}


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("says", NOT_CAPTURED)
def test_other_loops_launch_in_each_round_and_say_why(says: str) -> None:
    work = compiled(NOT_CAPTURED[says], "cuda")
    code = plain(work.result("cuda").text)
    told = [one.because for one in work.remarks() if one.rule == GRAPHS.id]
    assert any(says in because for because in told), told
    args = [np.arange(9), np.int64(40)]
    assert calls(code, "main", args)["cuGraphLaunch"] == 0
    same(cuda_on_cpu.run(code, args), interp.run(work.result("soa").prog, "main", args))


@cuda_on_cpu.needs_cxx
def test_a_check_that_fails_in_a_captured_round() -> None:
    """It is the one of the round in which it fails first."""
    source = """
    entry main [n] (xs: *[n]i64) (k: i64) =
      loop ys = xs for _i < k do map (\\y -> if ys[y] > 99 then y else y + 1) ys
    """
    args = [np.zeros(50, np.int64), np.int64(200)]
    code = code_of(source)
    assert calls(code, "main", [args[0], np.int64(49)])["cuGraphLaunch"]
    with pytest.raises(RuntimeError_) as caught:
        cuda_on_cpu.run(code, args)
    assert "Index [50] out of bounds" in caught.value.message


# --- what is done, without a device --------------------------------------------------------------


class Listed:
    """A driver that does nothing but say in which order work is done."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.graphs: list[list[Any]] = []
        self.captured: list[Any] | None = None
        self.asked = 0

    def __call__(self, name: str, *_: Any) -> None:
        if name == "cuStreamBeginCapture_v2":
            self.captured = []
        elif name == "cuStreamEndCapture":
            assert self.captured is not None
            self.graphs, self.captured = [*self.graphs, self.captured], None
        elif name == "cuGraphLaunch":
            self.asked += 1
            self.done += self.graphs[-1]

    def number(self, *_: Any) -> int:
        return 0

    def ask(self, what: Any) -> None:
        self.asked += 1
        (self.done if self.captured is None else self.captured).append(what)


def went(count: int, moves: list[int], makes: set[int], names: int, captures: bool) -> Listed:
    """What is asked for when variable `k` becomes what variable `moves[k]` was, each round.

    In some of the first rounds a block is made, which none of them keeps.
    """
    driver = Listed()
    device: Any = object.__new__(Device)
    device.made, device.stream, device.launches = names, 0, []
    device.gpu = SimpleNamespace(driver=driver, aside=1)
    held = [SimpleNamespace(serial=k) for k in range(names)]
    rounds = Device.rounds(device, count, lambda: held) if captures else range(count)
    for number in rounds:
        driver.ask([block.serial for block in held])
        device.made += number in makes
        held[:] = [held[k] for k in moves]
    driver.ask([block.serial for block in held])
    return driver


def test_whatever_becomes_of_blocks_the_same_is_done_in_the_same_order() -> None:
    choose = random.Random(1)
    fewer = 0
    for _ in range(2000):
        names = choose.randint(1, 6)
        moves = [choose.randrange(names) for _ in range(names)]
        makes = set(choose.sample(range(30), choose.choice((0, 0, 1, 3))))
        given = choose.randint(0, 150), moves, makes, names
        found, expected = went(*given, True), went(*given, False)
        assert found.done == expected.done
        assert found.asked <= expected.asked
        fewer += found.asked < expected.asked
    assert fewer > 500


def test_a_loop_of_many_buffers_or_of_new_blocks_goes_on_as_it_is() -> None:
    many = cuda_device.MOST_ROUNDS + 1
    turn = [*range(1, many), 0]
    assert went(500, turn, set(), many, True).asked == 501
    assert went(500, [1, 0], set(), 2, True).asked < 100
    assert went(500, [1, 0], set(range(500)), 2, True).asked == 501
