"""Rounds of loops that come again are captured; the driver is the observer's, or a list."""

from __future__ import annotations

import random
import re
import resource
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.codegen.cuda.program import split
from compiler.codegen.kernels.repeats import GRAPHS
from compiler.runtime import cuda_device
from compiler.runtime.cuda_device import Device, about
from compiler.runtime.observer import build
from compiler.runtime.observer.gpu import ObservedGpus
from compiler.semantics import interp
from testing.gpu_calls import calls
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.runtime import cuda_on_cpu

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
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
NUMBERED = """
entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  loop ys = xs for i < k do map2 (\\y z -> y * 3 + z - i32.i64 i) ys (rotate 1 ys)
"""
COMPUTED = """
entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  loop ys = xs for i < k do
    let shift = i * n + 1
    let odd = i32.i64 (shift % 7) in
    map3 (\\y z j -> y * odd + z - i32.i64 (shift * j)) ys (rotate 1 ys) (iota n)
"""
MAKES = """
entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  loop ys = xs for i < k do
    let sums = scan (+) 0 (map (\\y -> y % 5 + i32.i64 i) ys)
    in map2 (\\s j -> s - ys[(j * 7 + i) % n]) sums (iota n)
"""
SMALL = """
entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  loop ys = xs for i < i8.i64 (i64.min 120 k) do map (\\y -> y * 3 + i32.i8 i) (rotate 1 ys)
"""
SOME = """
entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  loop ys = xs for i < k do
    if n > 50 then map (\\y -> y * 3 + i32.i64 i) (rotate 1 ys) else map (+ 1) (scan (+) 0 ys)
"""
HISTOGRAM = """
entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  loop ys = xs for i < k do
    let (most, bins) = reduce_by_index (replicate n (0, 0)) (\\(a, b) (c, d) ->
      if a > c || (a == c && b > d) then (a, b) else (c, d)) (0, 0)
      (map (\\y -> i64.i32 (y & 63) + i) ys) (zip ys (rotate 1 ys)) |> unzip
    in map2 (+) most bins
"""
CAPTURED = {"turns": TURNS, "in place": IN_PLACE, "two": TWO, "scans": SCANS, "copies": COPIES}
CAPTURED |= {"numbered": NUMBERED, "computed": COMPUTED, "makes": MAKES, "small": SMALL}
CAPTURED |= {"some": SOME, "histogram": HISTOGRAM}
NESTED = """
entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  loop ys = xs for j < 3 do loop zs = ys for i < k do
    map2 (\\z l -> z * 3 + i32.i64 (i * (j + 1) + l)) (rotate 1 zs) (iota n)
"""


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
        seen, expected = (cuda_on_cpu.observe(c, "main", args, records=False) for c in (code, each))
        same(cuda_on_cpu.results(seen), interp.run(meaning, "main", args))
        assert seen.launches == expected.launches
        assert seen.copied == expected.copied


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("name", sorted(CAPTURED.keys() - {"small"}))
def test_the_host_asks_for_about_the_square_root(name: str) -> None:
    code, each = code_of(CAPTURED[name]), code_of(CAPTURED[name], GRAPHS.id)
    counts = {}
    for rounds in (100, 200, 800):
        found, all_of_them = (calls(c, "main", given(name, rounds)) for c in (code, each))
        assert found["end_capture"] == 1
        assert found["forget"] == 1
        assert all_of_them["launch"] >= rounds
        counts[rounds] = sum(found.values())
        assert counts[rounds] < sum(all_of_them.values())
    assert counts[800] < 2.5 * counts[200]
    assert counts[800] * 4 < sum(all_of_them.values())


@cuda_on_cpu.needs_cxx
def test_a_block_that_rounds_make_is_made_once() -> None:
    """Long rows are scanned by several blocks of threads, by way of partial results."""
    code, meaning = code_of(SCANS), compiled(SCANS).result("soa").prog
    made = set[int]()
    for columns, rounds in ((10, 25), (2_000, 25), (2_000, 100)):
        args = [np.arange(3 * columns, dtype=np.int32).reshape(3, columns), np.int64(rounds)]
        found = calls(code, "main", args)
        assert found["repeat"]
        made.add(found["allocate"])
        same(cuda_on_cpu.run(code, args), interp.run(meaning, "main", args))
    assert len(made) == 2
    assert max(made) < 10


@cuda_on_cpu.needs_cxx
def test_what_is_known_of_a_block_goes_with_it() -> None:
    """Each round has 65,536 locks of its own, of each of which the observer knows 88 bytes."""
    code = code_of(HISTOGRAM, GRAPHS.id)
    calls(code, "main", given("histogram", 10))
    before = address_space()
    assert calls(code, "main", given("histogram", 100))["allocate"] > 100
    assert address_space() - before < 20 * 65_536 * 88


def address_space() -> int:
    """The bytes of this process, whether they have been touched or not."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("most", [1000, 2000])
def test_what_is_kept_for_the_next_round_goes_where_there_is_not_enough(most: int) -> None:
    """Of blocks of 500 and 400 bytes, one after the other, 1,000 hold one beside the flag."""
    code = code_of(TURNS)
    image = build.library(split(code)[0]).read_bytes()
    device = Device(ObservedGpus(str(build.driver())).open(), image, about(code), most)
    flag, before = device.used, device.made
    for _ in device.rounds(3, lambda: ()):
        for size in (500, 400):
            device.part(size, "i8")
    assert device.made - before == (6 if most == 1000 else 2)
    assert device.used == flag
    assert device.peak <= most
    device.close()


@cuda_on_cpu.needs_cxx
def test_a_loop_in_a_loop_begins_anew_each_time() -> None:
    code, meaning = code_of(NESTED), compiled(NESTED).result("soa").prog
    for rounds in (0, 1, 50):
        args = [np.arange(70, dtype=np.int32), np.int64(rounds)]
        assert calls(code, "main", args)["end_capture"] == (3 if rounds > 1 else 0)
        same(cuda_on_cpu.run(code, args), interp.run(meaning, "main", args))


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("name", sorted(CAPTURED.keys() - {"scans"}))
@pytest.mark.parametrize("size", [0, 1, 33, 255, 256, 257, 1025])
def test_rounds_over_arrays_of_any_size(name: str, size: int) -> None:
    args = [np.arange(size, dtype=np.int32), np.int64(40)]
    expected = interp.run(compiled(CAPTURED[name]).result("soa").prog, "main", args)
    same(cuda_on_cpu.run(code_of(CAPTURED[name]), args), expected)


@cuda_on_cpu.needs_cxx
def test_indices_of_all_rounds_fit_into_those_of_the_captured_ones() -> None:
    """What is captured holds for the last round, too, whose indices need 64 bits here."""
    source = """
    entry main [n] (xs: *[n]i64) (step: i64) (k: i64) =
      loop ys = xs for i < k do map2 (\\y j -> y * 3 + (i * step + j) / step) ys (iota n)
    """
    code, meaning = code_of(source), compiled(source).result("soa").prog
    for step in (1 << 20, 1 << 26):
        args = [np.arange(70), np.int64(step), np.int64(100)]
        same(cuda_on_cpu.run(code, args), interp.run(meaning, "main", args))


def test_a_loop_whose_kernels_have_other_numbers_of_threads_tells_which() -> None:
    work = compiled((EXAMPLES / "blocked_lu.fut").read_text("utf-8"), "cuda")
    text = plain(work.result("cuda").text)
    (told,) = [one.because for one in work.remarks() if one.rule == GRAPHS.id]
    (kernel,) = re.findall(r"the number of threads of `(\w+)` depends on `step`", told)
    assert f'device.launch("{kernel}", points=' in text
    assert "device.rounds" not in text


@pytest.mark.parametrize("name", ["edit_distance", "nearest_neighbours", "radix_sort"])
def test_rounds_of_examples_are_numbered(name: str) -> None:
    """That they give what they ought to is tested with all examples."""
    text = code_of((EXAMPLES / f"{name}.fut").read_text("utf-8"))
    assert text.count("numbered=True") == 1
    assert "+ (rounds ?" in text


def test_what_depends_on_the_number_kernels_compute() -> None:
    work = compiled(COMPUTED, "cuda")
    assert "numbered=True" in plain(work.result("cuda").text)
    assert any(one.rule == "kernels/rounds" for one in work.remarks())
    assert "numbered=True" not in code_of(COMPUTED, "kernels/rounds")


NOT_CAPTURED = {
    "the amount of memory depends on `i`": "entry main [n] (xs: *[n]i64) (k: i64) = "
    "loop ys = xs for i < k do let m = i % n in ys with [0:m] = map (+ 1) (reverse ys[0:m])",
    "the launched kernel depends on `i`": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop ys = xs for i < k do if i % 3 == 0 then map (+ 1) (rotate 1 ys) else map (* 2) ys",
    "it waits for": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop ys = xs for _i < k do if ys[0] > 3 then map (+ 1) ys else map (+ 2) (rotate 1 ys)",
    "it writes a cell": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop ys = xs for _i < k do map (+ length (filter (> 3) ys)) (rotate 1 ys)",
    "differs between iterations": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop (ys, z) = (xs, 1) for _i < k do (map (+ z) (rotate 1 ys), z * 3)",
    "there are too few": "entry main [n] (xs: *[n]i64) (k: i64) = "
    "loop ys = xs for _i < k do loop zs = ys for j < 2 do map (+ j) (rotate 1 zs)",
    "it contains a loop": "entry main [n] (xs: [n]i64) (k: i64) = "
    "loop ys = xs for _i < k do loop zs = ys for j < 3 do map (+ j) (rotate 1 zs)",
}


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("says", NOT_CAPTURED)
def test_other_loops_launch_in_each_round_and_say_why(says: str) -> None:
    work = compiled(NOT_CAPTURED[says], "cuda")
    code = plain(work.result("cuda").text)
    told = [one.because for one in work.remarks() if one.rule == GRAPHS.id]
    assert any(says in because for because in told), told
    args = [np.arange(9), np.int64(40)]
    assert calls(code, "main", args)["repeat"] == 0
    same(cuda_on_cpu.run(code, args), interp.run(work.result("soa").prog, "main", args))


def test_no_loop_of_two_rounds_is_ever_captured() -> None:
    """However much a round asks for: kernels of such a loop are given its number by the host."""
    shared_out = cuda_device._shared_out
    assert not any(shared_out(times, asked)[0] for times in (0, 1) for asked in range(10_000))
    assert shared_out(2, cuda_device.MAKING + 2) == (1, 2)
    for rounds, looks_up in ((2, False), (3, True)):
        code = code_of(NUMBERED.replace("i < k", f"i < {rounds}"))
        assert ("+ (rounds ?" in code) == looks_up


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize(("rounds", "looks_up"), [(3, False), (400, True)])
def test_a_round_that_is_in_no_graph_looks_nothing_up(rounds: int, looks_up: bool) -> None:
    """Each warp would fetch a sector for its number, beside four of elements."""
    code = code_of(NUMBERED)
    lines = code.split("\n")
    seen = cuda_on_cpu.observe(code, "main", given("numbered", rounds))
    numbers = [s for s in seen.sites if "+ (rounds ?" in lines[s.line - 1] and s.kind == "reads"]
    assert any(site.lanes for site in numbers) == looks_up


@cuda_on_cpu.needs_cxx
def test_a_check_that_fails_in_a_captured_round() -> None:
    """It is the one of the round in which it fails first."""
    source = """
    entry main [n] (xs: *[n]i64) (k: i64) =
      loop ys = xs for _i < k do map (\\y -> if ys[y] > 99 then y else y + 1) ys
    """
    args = [np.zeros(50, np.int64), np.int64(200)]
    code = code_of(source)
    assert calls(code, "main", [args[0], np.int64(49)])["repeat"]
    with pytest.raises(RuntimeError_) as caught:
        cuda_on_cpu.run(code, args)
    assert "Index [50] out of bounds" in caught.value.message


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("fails", [0, 3, 20, 77, 99])
def test_a_check_tells_the_number_of_its_round(fails: int) -> None:
    """Whichever it is; a run of the same device behind it begins with the first round."""
    source = """
    entry main [n] (xs: *[n]i64) (bad: i64) (k: i64) =
      loop ys = xs for i < k do
        map2 (\\y j -> let at = if i == bad then n + i else j in y + ys[at]) ys (iota n)
    """
    code, xs = code_of(source), np.arange(50)
    with pytest.raises(RuntimeError_) as caught:
        cuda_on_cpu.run(code, [xs, np.int64(fails), np.int64(100)])
    assert f"Index [{50 + fails}] out of bounds" in caught.value.message


# --- what is done, without a device --------------------------------------------------------------


class Listed:
    """A device that does nothing but say in which order work is done."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.graphs: list[list[Any]] = []
        self.captured: list[Any] | None = None
        self.asked = 0

    def capture(self) -> Listed:
        return self

    def __enter__(self) -> Listed:
        self.captured = []
        return self

    def __exit__(self, *_: object) -> None:
        assert self.captured is not None
        self.graphs, self.captured = [*self.graphs, self.captured], None

    def launch(self) -> None:
        self.asked += 1
        self.done += self.graphs[-1]

    def close(self) -> None:
        """It has done all already."""

    def ask(self, what: Any) -> None:
        self.asked += 1
        (self.done if self.captured is None else self.captured).append(what)


def went(count: int, moves: list[int], makes: set[int], names: int, captures: bool) -> Listed:
    """What is asked for when variable `k` becomes what variable `moves[k]` was, each round.

    In some of the first rounds a block is made, which none of them keeps.
    """
    listed = Listed()
    device: Any = object.__new__(Device)
    device.made, device.launches, device.gpu = names, [], listed
    held = [SimpleNamespace(serial=k) for k in range(names)]
    rounds = Device.rounds(device, count, lambda: held) if captures else range(count)
    for number in rounds:
        listed.ask([block.serial for block in held])
        device.made += number in makes
        held[:] = [held[k] for k in moves]
    listed.ask([block.serial for block in held])
    return listed


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
