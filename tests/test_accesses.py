"""The operation `accesses`, and its command: what is predicted and what is seen, and in words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.driver import worker
from compiler.driver.explanations import OBSERVED_BYTES
from compiler.explain import accesses, predictions, warps
from compiler.explain.device_sheets import SHEETS
from compiler.protocol.accesses import WarpAccess
from compiler.runtime import device_process, runs
from compiler.runtime.observer import build
from compiler.sandbox import walls
from compiler.sandbox.policies import RUN
from tests.runtime.cuda_on_cpu import needs_cxx

ROWS = "entry main [n][m] (a: [n][m]f32): [n]f32 = map (\\r -> loop s = 0 for x in r do s + x) a"
FAR = ("--disable", "coalesce")
AS_THEY_LIE = {"disable": ["coalesce"]}
"""Rows are read as they lie."""
COLUMNS = ROWS.replace(") a", ") (transpose a)").replace(": [n]f32", ": [m]f32")


def asked(source: str, op: str = "observe", **more: Any) -> dict[str, Any]:
    answer = worker.answer({"op": op, "source": source, "options": AS_THEY_LIE, **more})
    assert answer["ok"], answer
    return answer


def reading(answer: dict[str, Any]) -> WarpAccess:
    return next(one for one in answer["accesses"] if one["array"].startswith("a_mem"))


@needs_cxx
def test_a_row_for_each_thread_is_slow_and_a_column_is_not() -> None:
    answer = asked(ROWS)
    assert (answer["sizes"], answer["faults"], answer["because"]) == ({"n": 64, "m": 64}, [], "")
    worst = answer["accesses"][0]
    assert worst == reading(answer)
    assert worst["says"] == "32 lanes fetch 32 sectors, 12 % used; 4 would do"
    assert worst["agrees"]
    assert worst["seen"] == {
        "requests": 2 * 64,
        "lanes": 64 * 64,
        "bytes": 64 * 64 * 4,
        "sectors": 64 * 64,
        "fewest": 2 * 64 * 4,
        "passes": 0,
        "least": 0,
    }
    line = ROWS[worst["src"][0][1] - 1 : worst["src"][0][3] - 1]
    assert line in ROWS
    first = worst["samples"][0]
    assert (first["warp"], first["step"]) == (0, 0)
    assert first["lanes"] == [256 * lane for lane in range(32)]
    for mended in (asked(COLUMNS), asked(ROWS, options={})):
        assert mended["accesses"][0]["says"] == "32 lanes fetch 4 sectors, 100 % used"


def test_sizes_of_a_device_are_predicted_without_a_run() -> None:
    answer = asked(ROWS, "accesses", sizes={"n": 1_000_000, "m": 50_000})
    assert not answer["observed"]
    costs = reading(answer)["predicted"]
    assert costs["requests"] == 1_000_000 // 32 * 50_000
    assert costs["sectors"] == 1_000_000 * 50_000
    assert costs["fewest"] == costs["sectors"] // 8


ENDLESS = """entry main [n] (xs: [n]i64): [n]i64 =
  map (\\x -> loop y = x while y < 5000 do y ^ xs[0] & 1) xs"""


@needs_cxx
def test_numbers_are_small_ones_that_are_told_with_the_sizes() -> None:
    rest = "entry main [n] (b: i64) (x: f32) (a: [n]f32) = map (+ x) a[b:]"
    answer = asked(rest, "accesses")
    assert answer["sizes"] == {"n": 64, "b": 8}
    assert reading(answer)["predicted"]["lanes"] == 64 - 8
    assert asked(rest, "accesses", sizes={"b": 64})["accesses"] == []


@needs_cxx
@pytest.mark.parametrize("op", ["accesses", "observe"])
def test_sizes_and_numbers_are_those_of_values_that_are_given(op: str) -> None:
    source = "entry main [n] (b: i64) (a: [n]f32) = map (\\x -> loop x for _i < b do x * x) a"
    answer = asked(source, op, input="3 [1, 2, 3, 4, 5]")
    assert answer["sizes"] == {"n": 5, "b": 3}
    assert {one["predicted"]["lanes"] for one in answer["accesses"]} == {5}


def test_equal_launches_are_looked_at_once_and_counted_each() -> None:
    source = "entry main [n] (xs: [n]f32) (k: i64) = loop ys = xs for _i < k do map (+ 1) ys"
    few, many = (asked(source, "accesses", sizes={"k": k}) for k in (3, 30_000))
    assert [one["launches"] for one in many["kernels"]] == [30_000]
    for one, other in zip(few["accesses"], many["accesses"], strict=True):
        numbers = {key: value for key, value in one["predicted"].items() if type(value) is int}
        assert numbers["sectors"] > 0
        assert {key: other["predicted"][key] for key in numbers} == {
            key: 10_000 * value for key, value in numbers.items()
        }


def test_of_a_kernel_without_end_there_is_what_was_seen() -> None:
    answer = asked(ENDLESS, seconds=0.5)
    assert answer["faults"] == [], "who stops looking accuses nobody"
    assert all("agrees" not in one for one in answer["accesses"]), "it has not come to its end"
    assert re.fullmatch(
        r"The run was stopped after 0\.5 s in line \d+, `.*(while \(|xs_mem).*`, and everything "
        r"before is counted: try smaller sizes, or a longer deadline\.",
        answer["because"],
    )
    assert any(one["seen"]["requests"] for one in answer["accesses"] if "seen" in one)


@needs_cxx
@pytest.mark.parametrize("op", ["accesses", "observe"])
def test_an_array_may_be_called_as_its_size(op: str) -> None:
    answer = asked("entry main (n: []i32) = map (+ 1) n", op, sizes={"n": 8})
    assert answer["sizes"] == {"n": 8}
    assert [one["predicted"]["lanes"] for one in answer["accesses"]] == [8, 8]


def test_bits_of_all_types_are_predicted() -> None:
    types = [f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)]
    params = " ".join(f"(m{t}: {t})" for t in types)
    terms = [f"i64.{t} ({t}.i64 i {op} m{t})" for t in types for op in ("&", "|", "^", "<<", ">>")]
    source = f"entry main [n] {params} (xs: [n]i32) ="
    source += f" map (\\i -> xs[({' + '.join(terms)}) & 7]) (iota n)"
    given = "1i8 2i16 3i32 -4i64 255u8 65535u16 7u32 200u64 [0i32, 1, 2, 3, 4, 5, 6, 7]"
    answer = asked(source, "accesses", input=given)
    assert [one["predicted"]["lanes"] for one in answer["accesses"]] == [8, 8]
    assert [one["predicted"]["sectors"] for one in answer["accesses"]] == [1, 1], answer


@needs_cxx
def test_a_loop_of_the_host_may_launch_more_often_than_an_answer_is_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "LONGEST_ANSWER", 2000)
    source = "entry main [n] (xs: [n]i32) = loop ys = xs for i < 300 do map (+ i32.i64 i) ys"
    answer = asked(source, sizes={"n": 2})
    assert answer["because"] == ""
    assert [run["launches"] for run in answer["kernels"]] == [300]


MANY_LAUNCHES = """
entry main (n: i64) (k: i64) (q: i64) =
  let scalars = loop x = q for i < k do (x + i * i) % 7919
  in loop ys = replicate 4 scalars for i < n do map (+ i) ys
"""


@needs_cxx
@pytest.mark.parametrize("command", [["accesses"], ["profile", "--backend", "cuda"]])
def test_a_run_has_the_deadline_that_the_command_gives_it(
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was launched up to then is counted."""
    monkeypatch.setattr(predictions, "SECONDS", 0.2)
    program = tmp_path / "p.fut"
    program.write_text(MANY_LAUNCHES)
    options = (str(program), "--deadline", "0.5", "--generate", "q=1")
    assert main([*command, *options, "--generate=n=10000000000", "--generate=k=0"]) == 1
    said = capsys.readouterr().out
    assert "The run was stopped after 0.5 s" in said
    if command == ["accesses"]:
        (launches, _, requests) = re.search(
            r"kernel map_\w+: ([\d,]+) launches, ([\d,]+) blocks .*, ([\d,]+) requests", said
        ).groups()  # type: ignore[union-attr]
        counted = [int(number.replace(",", "")) for number in (launches, requests)]
        assert 2 * counted[0] - 2 <= counted[1] <= 2 * counted[0], "a read and a write of each"


def test_what_only_the_host_does_has_that_deadline_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "SECONDS", 0.1)
    monkeypatch.setattr(device_process, "REPORT_SECONDS", 3.0)
    program = tmp_path / "p.fut"
    program.write_text(MANY_LAUNCHES)
    options = (str(program), "--deadline", "0.5", "--generate", "q=1")
    assert main(["accesses", *options, "--generate=n=0", "--generate=k=10000000000"]) == 1
    assert "did not finish within 0.5 s" in capsys.readouterr().err


def test_launches_without_end_are_predicted_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "SECONDS", 0.3)
    monkeypatch.setattr(predictions, "MOST_LAUNCHES", 64)
    looked: list[warps.Launch] = []
    run = warps.Launch.run

    def counted(launch: warps.Launch, *given: Any) -> None:
        looked.append(launch)
        run(launch, *given)

    monkeypatch.setattr(warps.Launch, "run", counted)
    answer = asked(MANY_LAUNCHES, "accesses", sizes={"n": 10**10, "k": 0})
    (kernel,) = (one for one in answer["kernels"] if one["launches"] > 1)
    assert kernel["launches"] > 64 >= len(looked) - 1
    assert abs(kernel["requests"] - 2 * kernel["launches"]) <= 2, "it ends at any moment"
    assert "more kernels than can be simulated in 0.3 s" in answer["accesses"][0]["because"]
    monkeypatch.setattr(predictions, "SECONDS", 60.0)
    answer = asked(MANY_LAUNCHES, "accesses", sizes={"n": 1000, "k": 0})
    assert [one["launches"] for one in answer["kernels"]] == [1, 1000]
    assert accesses.ESTIMATED in [one["because"] for one in answer["accesses"]]


DIVIDES = "entry main (ys: []i32) (d: i32) = reduce (\\a b -> a + b + (b / d) * 0) 0 ys"


@needs_cxx
@pytest.mark.parametrize(("given", "status"), [("empty([0]i32) 0", 0), ("[5i32] 0", 1)])
def test_a_run_that_fails_has_its_exit_status(tmp_path: Path, given: str, status: int) -> None:
    program, values = tmp_path / "p.fut", tmp_path / "values"
    program.write_text(DIVIDES)
    values.write_text(given)
    assert main(["accesses", str(program), "--input", str(values)]) == status


@needs_cxx
def test_a_failed_check_ends_the_run_and_is_told() -> None:
    source = "entry main (xs: []i32) (is: []i64) = map (\\i -> xs[i]) is"
    answer = asked(source, input="[1, 2, 3] [0, 1, 99]")
    assert "Index [99] out of bounds" in answer["because"]
    assert answer["faults"] == []
    assert len(answer["accesses"]) == 3


def test_of_one_lane_the_verb_is_singular() -> None:
    says = [
        one["says"] for one in asked("entry main (xs: []f32) = f32.sum xs", "accesses")["accesses"]
    ]
    assert "1 lane writes to 1 sector, 12 % used" in says
    assert "1 lane fetches 1 sector, 12 % used" in says


def test_without_a_compiler_there_is_the_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "why_not", lambda: "There is no `g++`.")
    answer = asked(ROWS)
    assert (answer["observed"], answer["because"]) == (False, "There is no `g++`.")
    assert reading(answer)["says"] == "32 lanes fetch 32 sectors, 12 % used; 4 would do"


@needs_cxx
def test_a_server_s_worker_observes_from_within_its_walls(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "compiler", "worker")
    made = walls.confine(RUN, command, str(tmp_path))
    request = json.dumps({"id": 1, "op": "observe", "source": ROWS}) + "\n"
    done = subprocess.run(
        made.command,
        input=request,
        env=made.environment,
        text=True,
        capture_output=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["observed"], answer
    assert reading(answer)["agrees"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"sizes": {"q": 3}}, "no size or number `q`"),
        ({"entry": "other"}, "no entry point `other`"),
        ({"seconds": -1.0}, "`seconds` must be a number of seconds"),
        ({"sizes": {"n": -4}, "op": "accesses"}, "cannot have the shape"),
        (
            {"sizes": {"n": 2**53 - 1, "m": 2**53 - 1}, "op": "accesses"},
            "would take 324,518,553,658,426,654,725,561,982,648,324 bytes; no array has",
        ),
        ({"input": "[1] 2"}, "takes 1 value"),
    ],
)
def test_bad_requests_are_refused(more: dict[str, Any], says: str) -> None:
    answer = worker.answer({"op": "observe", "source": ROWS, **more})
    assert not answer["ok"]
    assert says in answer["error"]["message"]
    assert answer["error"]["kind"] != "internal"


@needs_cxx
def test_the_command_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.fut"
    path.write_text(ROWS)
    assert main(["accesses", str(path), "--generate", "n=40", "--generate", "m=3", *FAR]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "m = 3, n = 40"
    assert "1 launch, 1 block of threads" in lines[1]
    assert [line.split()[0] for line in lines[2:7]] == ["foretold:"] * len(SHEETS)
    assert "20 lanes fetch" in lines[3 + len(SHEETS)]
    assert main(["accesses", str(path), "--json", "--predict", *FAR]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["kernels"] == asked(ROWS, "accesses")["kernels"]


PLAIN = "entry main [n] (few: [4]i32) (xs: [n]i32) = map (+ 1) xs"
SUMS = "entry main [n] (a: [n]i32) = scan (+) 0 a"
MANY = 1 << 31


def test_more_than_can_be_watched_is_refused_by_name() -> None:
    request = {"op": "observe", "source": PLAIN, "sizes": {"n": MANY}}
    error = worker.answer(request)["error"]
    assert error["message"] == (
        f"`xs` would take {4 * MANY:,} bytes of {4 * MANY + 16:,} in all; there is room for "
        f"{OBSERVED_BYTES:,}."
    )
    assert "--predict" in error["hint"]


@pytest.mark.parametrize(
    "number",
    [
        *("i64.abs (k - 7)", "k ** 2", "k << 2", "k >> 1", "k / 3 + k % 5", "k // 3 ^ k %% 5"),
        *("i64.max k 3", "i64.f64 (f64.sqrt (f64.i64 k))", "i64.f32 (f32.i64 k / 2 ** f32.i64 k)"),
        *(
            "if k > 3 then 1 else k",
            "i64.i32 (i32.i64 k)",
            "-(!k)",
            "i64.i32 (i64.popc k)",
            "i64.sgn k",
        ),
    ],
)
def test_what_a_run_alone_knows_is_unknown_to_a_prediction(number: str) -> None:
    """Whatever the host computes from it: what comes before is predicted."""
    source = (
        "entry main (xs: []i64) = let (ys, zs) = partition (> 0) xs let k = length ys"
        f" in (replicate ({number}) 1i32, ys, map (+ 1) zs)"
    )
    launched = [one["kernel"] for one in asked(source, "accesses", sizes={"n": 100})["accesses"]]
    assert any(name.startswith("scan") for name in launched)


def test_more_than_can_be_watched_is_predicted() -> None:
    costs = asked(PLAIN, "accesses", sizes={"n": MANY})["accesses"]
    writes = [one for one in costs if one["kind"] == "writes"]
    assert [one["predicted"]["bytes"] for one in writes] == [MANY * 4]


def test_a_loop_with_loops_inside_is_estimated_in_few_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last round may be a part of one, and stands for no other."""
    looked = Counter[tuple[int, ...]]()
    access = warps.Launch.access

    def counted(launch: warps.Launch, place: warps.Place, *given: Any) -> None:
        looked[tuple(place.lines)] += 1
        access(launch, place, *given)

    monkeypatch.setattr(warps.Launch, "access", counted)
    answer = asked(SUMS, "accesses", sizes={"n": MANY})
    reads = [one for one in answer["accesses"] if one["array"].startswith("a_mem")]
    assert [one["predicted"]["lanes"] for one in reads] == [MANY, MANY]
    assert max(looked.values()) < 4 * warps.MOST_STEPS
