"""The benchmarks measure what they say, and the page of figures has it."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import (
    accesses,
    classroom,
    codes,
    computed,
    edits,
    examples,
    flatpack,
    follow,
    foretold,
    fuzz,
    large,
    libraries,
    page,
    peers,
    prove,
    public,
    readers,
    recorded,
    short_circuit,
    soak,
    streaming,
    table,
    thesis,
    whole,
)
from bench import walls as bench_walls
from bench.compile import once
from bench.futhark import Program
from bench.peer.figures import peers_part
from bench.report import compiling, published, random_programs, serving
from compiler.algebra.disjoint import Verdict, disjoint
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Array, Prog
from compiler.protocol.operations import OPERATIONS
from compiler.protocol.reading import checked
from compiler.runtime import runner
from compiler.runtime.observer import build
from compiler.storage.short_circuit import assumptions
from testing import endless, record
from testing.chromium import CHROMIUM
from testing.codes import codes as real_codes
from testing.forgeries import family
from testing.fuzz import Report as Cases
from testing.record import Row, Subject
from testing.waiting import until

ROOT = Path(__file__).parent.parent
MACHINE = {"cores": 1, "processor": "one", "python": "3", "commit": "c", "date": "today"}


@pytest.fixture
def few_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is started has one worker of each kind."""
    for kind in ("COMPILE", "RUN"):
        monkeypatch.setenv(f"STRIDESCOPE_{kind}_WORKERS", "1")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Futhark, and little to measure."""
    monkeypatch.setattr("bench.futhark.shutil.which", lambda name: None)
    monkeypatch.setattr(short_circuit, "ROUNDS", 1)
    monkeypatch.setattr(short_circuit, "BATCH_MS", 1.0)
    monkeypatch.setattr(whole, "ROUNDS", 1)
    monkeypatch.setattr(whole, "REPEATS", 1)


def data(figures: dict[str, Any]) -> dict[str, Any]:
    return {"machine": MACHINE, "command": "python", "figures": figures}


def test_an_example_without_inputs_of_ours_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "INPUTS", {})
    words, values = examples.inputs_of("concatenation")
    assert words == "its own data"
    assert [value.shape for value in values] == [(100_000,), (50_000,)]


def test_inputs_are_for_examples_that_there_are() -> None:
    assert {"concatenation", "stencil", "radix_sort"} <= examples.INPUTS.keys()
    assert len(examples.INPUTS.keys() & set(examples.names())) >= 20


@pytest.mark.usefixtures("alone")
def test_copies_go_away_and_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not runner.compiler_available():
        pytest.skip("there is no C compiler")
    xs, ys = np.arange(3000, dtype=np.int32), np.arange(2000, dtype=np.int32)
    monkeypatch.setitem(examples.INPUTS, "concatenation", ("few", lambda rng: [xs, ys]))
    figures = short_circuit.measure("concatenation", tmp_path)
    assert figures["without"]["copied_mb"] == 0.032
    assert figures["with"]["copied_mb"] == 0
    assert figures["without"]["allocations"] == 4
    assert figures["with"]["allocations"] == 1
    assert figures["without_ms"] > 0
    text = compiling.short_circuit_part(data({"concatenation": figures}))
    assert "| 0.032 → 0 | 4 → 1 |" in text


OF_2022 = """
let both (a: *[]i32, k: i32): []i32 = concat_to 6 (map (+ k) a) [1, 2]
let main [n] (xs: [n]i32) = flatten_to 6 (unflatten 2 3 (both(copy xs, 3)))
"""


def test_programs_of_2022_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not runner.compiler_available():
        pytest.skip("there is no C compiler")
    (tmp_path / "old.fut").write_text(OF_2022, "utf-8")
    xs = np.arange(4, dtype=np.int32)
    monkeypatch.setattr(thesis, "BATCH_MS", 1.0)
    monkeypatch.setattr(thesis, "theirs", lambda *_: None)
    monkeypatch.setattr(thesis, "ROUNDS", 1)
    one = thesis.Original("6.9", "old.fut", "four", lambda *_: [xs], "1.5 and 1.6")
    figures = thesis.measure(tmp_path, one)
    assert figures["futhark_allocations"] is None
    assert figures["c"]["with"]["copied_mb"] <= figures["c"]["without"]["copied_mb"]
    text = published.thesis_part(data({"Old": figures}))
    assert "| 6.9, Old | four |" in text
    assert "| 1.5 and 1.6 |" in text


def test_arguments_of_2022_come_one_after_the_other() -> None:
    source = "let f [n] (a: *[n]i32, (b, c): (i32, i32)): [n]i32 = g(a, b)\nlet x = f (y, (1, 2))"
    assert thesis.curried(source) == (
        "let f [n] (a: *[n]i32) ((b, c): (i32, i32)): [n]i32 = g(a, b)\nlet x = f (y) ((1, 2))"
    )
    assert thesis.curried("intrinsics.flat_index_2d(as, k + 1, n)") == (
        "intrinsics.flat_index_2d (as) (k + 1) (n)"
    )


@pytest.mark.usefixtures("alone")
def test_each_compilation_proves_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counting(*question: Any) -> Verdict:
        asked[-1] += 1
        return disjoint(*question)

    monkeypatch.setattr(assumptions, "disjoint", counting)
    for _ in range(2):
        asked.append(0)
        once(examples.source_of("lu_step"))
    assert asked[0] == asked[1] > 0


def test_whole_compile_times(tmp_path: Path) -> None:
    figures = whole.measure("lu_step", tmp_path)
    assert figures["attempts"] == figures["built_in_place"] == 1
    assert 0 < figures["proving_ms"] < figures["total_ms"]
    assert "| 1 of 1 |" in compiling.whole_part(data({"lu_step": figures}))


def test_large_programs_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib.fut").write_text("def two = 2i32\n")
    (tmp_path / "main.fut").write_text('import "lib"\ndef main (x: i32) = x + two\n')
    (tmp_path / "wrong.fut").write_text("def main (x: i32) = x + y\n")
    figures = {path.name: large.measured(path) for path in sorted(tmp_path.iterdir())}
    assert figures["lib.fut"] == {}
    assert figures["main.fut"]["lines"] == 3
    assert figures["wrong.fut"]["refused"] == "type"
    monkeypatch.setattr(large, "GOAL", 0)
    monkeypatch.setattr(large, "library_ms", lambda backend, path: float(len(backend)))
    slow = large.measured(tmp_path / "main.fut")
    assert slow["futhark_cuda_ms"] == 4
    monkeypatch.setattr(compiling, "GOAL", 0)
    machine = {"commit": "c", "date": "2026-11-26", "load": 1.0}
    folder = {"machine": machine, **large.summary({"a": slow, "b": figures["wrong.fut"]})}
    part = compiling.large_part(data({"programs": folder}))
    assert "**1 of 1 programs take more than 0 ms**" in part
    assert f"| programs | 1 | 1 type | {slow['total_ms']} | 1 | c | 2026-11-26 | 1.0 |" in part
    assert "| programs: a | 3 |" in part


def test_public_programs_are_read_from_their_clones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b" / "lib").mkdir(parents=True)
    (tmp_path / "a" / "b" / "lib" / "one.fut").write_text("def one = 1i32\n")
    (tmp_path / "a" / "b" / "good.fut").write_text('import "lib/one"\nentry main = one\n')
    (tmp_path / "a" / "b" / "bad.fut").write_text("entry main = two\n")
    monkeypatch.chdir(tmp_path)
    listed = {"a/b": {"commit": "0123456789ab", "programs": ["good.fut", "bad.fut"]}}
    figures = public.measure(tmp_path, listed)
    assert figures["a/b"]["refused"] == {"bad.fut": "type: Unknown name `two`."}
    page = published.public_part(data(figures))
    assert "accepts 1 of 2" in page
    assert "| a/b | 0123456789 | 2 | 1 | " in page
    assert not public.measure(tmp_path, {"a/c": listed["a/b"]})
    with pytest.raises(SystemExit, match="not there"):
        public.measure(tmp_path, {"a/b": {"commit": "0", "programs": ["none.fut"]}})


FUTHARK = f"""#!{sys.executable} -IS
import sys
from pathlib import Path
made = Path(sys.argv[4])
made.write_text('''#!{sys.executable} -IS
import sys
given = sys.stdin.buffer.read()
head, x = given[:-4], int.from_bytes(given[-4:], "little", signed=True)
sys.stdout.buffer.write(head + (2 * x).to_bytes(4, "little", signed=True))
''')
made.chmod(0o755)
"""


def test_results_of_public_programs_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not runner.compiler_available():
        pytest.skip("there is no C compiler")
    futhark = tmp_path / "bin" / "futhark"
    futhark.parent.mkdir()
    futhark.write_text(FUTHARK)
    futhark.chmod(0o755)
    monkeypatch.setenv("PATH", str(futhark.parent), prepend=os.pathsep)
    (tmp_path / "a" / "b").mkdir(parents=True)
    programs = {
        "twice.fut": "entry twice (x: i32) = 2 * x\nentry other (xs: []i32) = map (* 3) xs\n"
        "entry pair (x: i32) = {a = x}",
        "tested.fut": "-- ==\n-- input { 1 } output { 2 }\n-- input { 1 } output { 1 }\n"
        "entry main (x: i32) = x + 1",
        "part.fut": "def part (x: i32) = x",
    }
    for name, text in programs.items():
        (tmp_path / "a" / "b" / name).write_text(text)
    listed = {"a/b": {"programs": list(programs)}}
    some = list(computed.chosen(tmp_path, listed, computed.KINDS, 1))
    assert some == [("a/b", "twice.fut", "beside"), ("a/b", "tested.fut", "tests")]
    figures = computed.measure(tmp_path, some, 60)
    counts = {"programs": 1, "equal": 1, "differs": 1, "not compared": 1}
    assert figures["beside"]["counts"] == counts
    assert figures["tests"]["counts"] == {"programs": 1, "passed": 1, "failed": 1}
    page = published.computed_part(data(figures))
    assert "| differs | 1 |" in page
    assert "1 times: The result should be 1i32 and is 2i32." in page


def test_answers_after_a_key_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ("FILES", 12), ("LINES", 20), ("EDITS", 1):
        monkeypatch.setattr(edits, name, value)
    figures = edits.measure()
    lines = [50, 272, 272, 272, 272, 240, 240, 240, 242, 242, 262, 262]
    lines += [198, 198, 198, 210, 198, 198, 198]
    assert [row["lines"] for row in figures.values()] == lines
    assert "| the main of 12 files | 272 |" in compiling.edits_part(data(figures))


def test_what_walls_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    if not runner.compiler_available():
        pytest.skip("there is no C compiler")
    for name in ("ROUNDS", "REPEATS", "PROCESSES"):
        monkeypatch.setattr(bench_walls, name, 1)
    program = bench_walls.PROGRAMS["three numbers"]
    monkeypatch.setattr(bench_walls, "PROGRAMS", {"three numbers": program})
    figures = bench_walls.measure(["command line", "server"], None)
    assert figures["warm_ms"]["three numbers"].keys() == {"command line", "server"}
    text = serving.walls_part(data(figures))
    assert "| request, ms | command line | server |" in text
    assert text.count("| - |") == 1


def test_futhark_gets_the_slices_that_our_prelude_has() -> None:
    source = "entry main (xs: []i32) = lmad_slice_2d xs 0 (1, 1) 2 2\n"
    text = Program("p", source).for_futhark()
    assert text.endswith(source)
    assert "def lmad_slice_2d" in text
    assert Program("p", "entry main = 1").for_futhark() == "entry main = 1"


def test_the_page_has_random_pairs_and_programs() -> None:
    proved = {
        "known": prove.known_pairs(),
        "constant": {"pairs": 3, "wrong": 0, "mean_us": 1.0},
        "matrix": family("matrix", 40),
    }
    text = compiling.prove_part(data(proved))
    assert f"| matrix | 40 | {proved['matrix']['disjoint']} |" in text
    assert "0 are accepted" in text
    text = compiling.codes_part(data(codes.measured(real_codes()[:2])))
    assert "2 of 2 pairs proved" in text
    assert "share one: 0" in text


def test_random_programs_are_run_once_and_kept(tmp_path: Path) -> None:
    file, seeds = tmp_path / "kept.json", [range(5), range(5, 10)]
    subject = "storage", "stages, C"

    def work(batch: range) -> dict[tuple[str, str], Row]:
        counts = Counter({"programs": 5, "update: done": 3, "update: condition 5": 1})
        found = [(7, "c", "1 and not 2")] if 7 in batch else []
        return {subject: Row([(batch.start, batch.stop)], counts, found)}

    for todo in (seeds[:1], seeds):
        left = recorded.left(file, "abc", [subject], todo)
        assert left == todo[-1:]
        record.add(file, {Subject(*subject, "abc"): work(left[0])[subject]}, data({}))
    assert recorded.left(file, "abc", [subject], seeds) == []
    assert recorded.left(file, "def", [subject], seeds) == seeds
    with pytest.raises(ValueError, match="have been run"):
        record.add(file, record.load(file), {})
    assert record.load(file)[Subject(*subject, "abc")].seeds == [(0, 10)]
    text = random_programs.campaign_part(json.loads(file.read_text("utf-8")))
    assert "| storage | stages, C | 10 | 0 | 0 | 0 | 1 | - | abc (10) |" in text
    assert "| storage 7 | abc | c | open |" in text
    assert "| update | 2 | 6 |" in text


@pytest.mark.usefixtures("few_workers")
def test_a_small_class_gets_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classroom, "PUPILS", 3)
    monkeypatch.setattr(classroom, "SECONDS", 0.5)
    monkeypatch.setattr(classroom, "LINES", (10,))
    found = classroom.part(None)
    assert found["outcomes"] == {"ok": 10}
    assert found["missing"] == 0
    assert found["by_kind_s"].keys() == {f"{what}, 10 lines" for what in KINDS}
    text = serving.classroom_part(
        data(
            {
                "parts": {"alone": found},
                "goals_s": {"alone": 2.0},
                "pupils": 3,
                "runs": 1,
                "seconds": 0.5,
                "lines": [10],
                "remark": "",
            }
        )
    )
    assert "| alone | 10 | 0 |" in text
    assert "| alone | check |" in text
    assert found["processor_s"] > 0
    assert "| run, 10 lines |" in text


def test_what_a_class_and_who_is_beside_it_ask_has_its_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody is held up by a request that is refused at once."""
    sent: list[tuple[str, Any]] = []

    class Recorder:
        first, places = 0.0, 0

        def __init__(self, *page: Any) -> None:
            pass

        def ask(self, method: str, path: str, body: Any = None, stream: bool = False) -> str:
            sent.append((path, json.loads(json.dumps(body))))
            return "ok"

    monkeypatch.setattr(classroom, "Browser", Recorder)
    classroom._warm(0)
    for number in range(classroom.PUPILS):
        classroom.pupil(number, 0, classroom.Record())
    stop = threading.Event()
    for forges in (False, True):
        classroom.hostile(0, stop, classroom.Record(), forges)
    assert until(lambda: sum(body is not None and is_endless(body) for _, body in sent) >= 8)
    stop.set()
    asked = [(path.removeprefix("/api/"), body) for path, body in sent if body is not None]
    assert {op for op, _ in asked} == {"batch", "run", "show"}
    assert {op for op, body in asked if is_endless(body)} == {"run", "show"}
    batched = [one for _, body in asked for one in body.get("requests", ())]
    asked += [(one["op"], {**one, "source": ""}) for one in batched]
    for op, body in asked:
        checked(OPERATIONS[op], body, own=False)


def is_endless(body: dict[str, Any]) -> bool:
    """Return True if a request's program never ends, in compiling or in running."""
    return str(body["source"]).startswith((endless.COMPILE, endless.RUN))


def test_the_page_of_figures_is_what_was_measured() -> None:
    """After a measurement: `python -m bench.table`."""
    assert (ROOT / "docs" / "figures.md").read_text("utf-8") == table.page()


def test_what_is_slower_is_said_beside_the_figure() -> None:
    row = {"input": "x", "built_in_place": 1, "without_ms": 10.0, "with_ms": 14.0, "speedup": 0.71}
    counts = dict.fromkeys(("copied_mb", "allocations", "allocated_mb", "peak_mb"), 1.0)
    row |= {"without": counts, "with": counts, "futhark_ms": 15.0}
    text = compiling.short_circuit_part(data({"slow": row, "fast": {**row, "with_ms": 10.2}}))
    assert "**Slower with short-circuiting than without:** `slow` takes 1.40 times as long." in text
    assert "No program is slower with our C than with Futhark." in text
    assert "Both ways" not in text
    text = compiling.short_circuit_part(data({"same": {**row, "built_in_place": 0}}))
    assert "so that a difference is the machine's: `same` (0.71)." in " ".join(text.split())


def test_every_slowdown_that_was_measured_is_on_the_page() -> None:
    found = table.load("short_circuit")
    assert found is not None
    text = (ROOT / "docs" / "figures.md").read_text("utf-8")
    said = text.partition("**Slower with short-circuiting")[2].partition("\n\n")[0]
    for name, row in found["figures"].items():
        if row["with_ms"] > 1.03 * row["without_ms"]:
            assert f"`{name}`" in said


@pytest.mark.usefixtures("few_workers")
def test_readers_of_a_link_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "READERS", 3)
    monkeypatch.setattr(readers, "EXAMPLE", "dot_product")
    monkeypatch.setattr(readers, "ATTACK_SECONDS", 1.0)
    found = readers.measure()
    for name, part in found["parts"].items():
        status = "304" if name == "known to the browser" else "200"
        assert [one["statuses"] for one in part.values()] == [{status: 3}] * len(readers.FORMS)
        assert all(one["processor_ms_an_answer"] >= 0 for one in part.values())
    assert all(20 < found[who]["web_process_mb"] < 300 for who in ("greedy", "senders"))
    figures = {**found, "goal_s": 100.0, "readers": 3, "example": "x", "remark": ""}
    figures |= {"greedy_requests": 2, "senders_clients": 1, "memory_goal_mb": 300}
    text = serving.readers_part(data(figures))
    assert "0 answers were refused" in text
    assert "All are within the goal." in text
    assert "**Beyond the goal:**" in serving.readers_part(data({**figures, "goal_s": 1e-9}))


@pytest.mark.usefixtures("few_workers")
def test_memory_over_time_is_measured() -> None:
    found = soak.measure(40)
    assert found["statuses"]["200"] > 5
    assert found["statuses"].keys() <= {"200", "400", "404", "413", "429"}
    assert 20 < found["most_mb"] < 300
    figures = {**found, "goal_percent": 1e6, "remark": ""}
    assert "All are within the goal." in serving.soak_part(data(figures))
    figures |= {"goal_percent": 1.0, "growth_percent": 2.0}
    assert "**Beyond the goal:** growth (2.00 of it)" in serving.soak_part(data(figures))


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
@pytest.mark.usefixtures("few_workers")
def test_the_page_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"VISITS": 1, "KEYS": 1, "ROUNDS": 1, "CALM": 200, "LARGE": 20, "SMALL": 10}
    for name, value in small.items():
        monkeypatch.setattr(page, name, value)
    found = page.measure()
    assert found["transferred_kb"]["files"] > 100
    assert all(t["median"] > 0 for t in (found["picture_ms"], *found["after_a_key_ms"].values()))
    assert {"a key", "stage cuda", "tab Memory"} <= set(found["longest_task_ms"])
    figures = {"goals": dict.fromkeys(page.GOALS, 1e6), "remark": "", **found}
    assert "All are within the goal." in serving.page_part(data(figures))
    figures["goals"] = dict.fromkeys(page.GOALS, 1e-6)
    assert "**Beyond the goal:** first picture" in serving.page_part(data(figures))


@pytest.mark.usefixtures("few_workers")
def test_followers_of_a_lecture_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FOLLOWERS": 3, "TEXTS": 1, "PAUSE": 0.3, "LINES": 10}.items():
        monkeypatch.setattr(follow, name, value)
    found = follow.measure()
    assert (found["changes"], found["missed"], found["failures"]) == (3, 0, 0)
    assert all(found["delays_s"]["stages"])
    figures = {"followers": 3, "goal_s": 100.0, "remark": "", **found}
    text = serving.follow_part(data(figures))
    assert "3 changes, 0 not seen" in text
    assert "All are within the goal." in text
    assert "**Beyond the goal:**" in serving.follow_part(data({**figures, "goal_s": 1e-9}))


KINDS = ("page", "check", "edit", "run")


def test_percentiles_are_values_that_there_are() -> None:
    values = [float(k) for k in range(1, 101)]
    assert classroom.percentile(values, 95) == 95.0
    assert classroom.percentile(values, 100) == 100.0
    assert classroom.percentile([3.0], 50) == 3.0
    assert classroom.percentile([], 95) == 0.0


def test_the_page_has_the_cases_of_bad_input() -> None:
    report = Cases()
    report.outcomes.update({"ok": 3, "syntax": 4})
    report.slowest = (0.25, 6)
    made = fuzz.figures("check", 0, report)
    text = random_programs.fuzz_part([data(made)])
    assert "| check | 7 | 0 | syntax 4, ok 3 | 0.25 of CPU |" in text


@pytest.mark.parametrize("name", examples.names())
def test_what_an_example_is_measured_on_fits_it(name: str) -> None:
    prog: Prog = Compilation(examples.source_of(name)).result("soa").prog
    entry = next(fun for fun in prog.funs if fun.name == examples.entry_of(name))
    _, values = examples.inputs_of(name)
    taken = [param.type for param in entry.params][-len(values) :]
    ranks = [len(one.shape) if isinstance(one, Array) else 0 for one in taken]
    assert [np.ndim(value) for value in values] == ranks


@pytest.mark.skipif(bool(build.why_not()), reason=build.why_not())
@pytest.mark.parametrize(
    ("name", "version"), [("row sums", "outer only"), ("transposition", "outer only")]
)
def test_what_the_document_says_that_accesses_cost_is_what_they_cost(
    name: str, version: str
) -> None:
    source, sizes = accesses.PROGRAMS[name]
    found = accesses.observed(source, sizes, accesses.VERSIONS[version])
    document = (Path(__file__).parents[1] / "docs" / "performance.md").read_text("utf-8")
    assert accesses.row(name, version, found) in document.splitlines()


def test_streams_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PLACES", 600)
    source = "type f32\nmain (steps : n) = sum steps\n"
    monkeypatch.setattr(streaming, "PROGRAMS", {"sum": source})
    path = tmp_path / "steps.bin"
    streaming.make(path, 3)
    found = streaming.measure(path, cold=True, rounds=1)
    assert found["bytes"] == 3 * 600 * 4
    assert found["programs"]["sum"]["memory_mb"] > 0
    found["programs"]["sum"]["of_a_read"] = 0.5
    assert "**Below the goal of 0.9: sum, on disk (0.5).**" in serving.streaming_part(
        data({"remark": "", "files": {"on disk": found}})
    )


def test_flatpack_is_measured_next_to_numpy() -> None:
    for name, (source, shapes, in_numpy) in flatpack.PROGRAMS.items():
        small = tuple(tuple(min(size, 12) for size in shape) for shape in shapes)
        found = flatpack.measure(source, small, in_numpy, 1)
        before, after = found["traversals"]
        assert 0 < after <= before, name
        text = compiling.flatpack_part(data({"remark": "", "programs": {name: found}}))
        assert f"| {name} | {before} | {after} |" in text


def commands() -> list[str]:
    """The files of this folder that are commands."""
    files = sorted((ROOT / "bench").glob("*.py"))
    return [f.stem for f in files if '\nif __name__ == "__main__"' in f.read_text("utf-8")]


@pytest.mark.parametrize("name", commands())
def test_a_command_that_is_asked_for_help_measures_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"bench.{name}").main()
    assert not ended.value.code
    assert "usage" in capsys.readouterr().out


def test_the_blind_test_has_the_tasks_that_were_measured() -> None:
    rows = dict(foretold.blind("copy"))
    assert list(rows) == ["copy 1e8 f32"]
    assert rows["copy 1e8 f32"]["bound"] == "copies"
    (shape,) = {np.shape(one) for one in libraries.TASKS["dot 5e7 f32"].stand_ins()}
    assert shape == (50_000_000,)
    assert libraries.TASKS["stencil 4096^2 10 steps"].stand_ins()[0] == 10


def test_peers_are_compared_in_turns_and_the_table_names_what_is_slower(tmp_path: Path) -> None:
    (row,) = peers.all_rows(None, "sum, 4M i32", tmp_path)
    assert isinstance(row, peers.Row)
    small = replace(row, work=replace(row.work, inputs=[np.arange(1000, dtype=np.int32)]))
    found = peers.measured(small, 1, sys.executable, rounds=1)
    assert found.ms["ours"] > 0
    assert found.ms["numpy"] > 0
    assert "numpy" not in found.problems
    assert "jax" in found.problems or found.ms["jax"] > 0
    figures = {
        "a (1)": {
            "ms": {"ours": 2.0, "futhark c": 1.0, "other": 0.1},
            "problems": {"other": "gives other results"},
            "threads": 1,
            "kind": "suite",
            "commit": "c",
            "date": "d",
        },
        "b (1)": {
            "ms": {"ours": 1.0, "futhark c": 0.1, "numpy": 8.0},
            "problems": {},
            "threads": 1,
            "kind": "task",
            "commit": "c",
            "date": "d",
        },
    }
    text = peers_part(data(figures))
    assert "**Slower than the best rival, 1:** a 0.50." in text
    assert "| b | 1 | numpy | 8.00 | futhark c 0.10 |" in text
    assert "Left out: a: other gives other results." in text


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1.0, 2.0], [1.0, 2.0005], True),
        ([1.0, 2.0], [1.0, 2.1], False),
        ([1, 2], [1, 3], False),
        ([1, 2], [1, 2, 3], False),
    ],
)
def test_peers_have_to_give_the_same(one: list[Any], other: list[Any], same: bool) -> None:
    assert peers.close([np.array(one)], [np.array(other)], 1e-3) == same
    assert not peers.close([np.array(one)], [], 1e-3)
