"""The worker's protocol: every line gets an answer, and a wrong one says what is wrong."""

import io
import json
import sys
import time
import tracemalloc
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compiler.base import stack
from compiler.base.deadline import within
from compiler.base.errors import CompilerBug, TimeoutError_
from compiler.base.stack import with_deep_stack
from compiler.driver import api, disk, worker
from compiler.driver.answers import as_error
from compiler.runtime import runner

PROGRAM = "entry main [n] (xs: [n]i32) = map (+ 1) xs"


def sent(*lines: bytes) -> list[dict[str, Any]]:
    out = io.BytesIO()
    worker.serve(io.BytesIO(b"\n".join(lines) + b"\n"), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def unpacked(out: bytes) -> list[dict[str, Any]]:
    """Answers of which some are packed, as they would be if none were."""
    found, rest = [], io.BytesIO(out)
    while line := rest.readline():
        told = json.loads(line)
        packed = told.pop("packed", None)
        if packed is not None:
            data = zlib.decompressobj(-15).decompress(rest.read(packed["size"]))
            assert (packed["length"], packed["crc"]) == (len(data), zlib.crc32(data))
            answer = json.loads(data)
            left = told.get("answer", told)
            assert {name: left[name] for name in left if name != "id"}.items() <= answer.items()
            told = {**told, "answer": answer} if "answer" in told else {**told, **answer}
        found.append(told)
    return found


def test_long_answers_are_packed_where_that_is_asked_for() -> None:
    requests = [{"op": "check"}, {"op": "show", "stages": ["fused", "c"]}, {"op": "show"}]
    for one in ({"op": "batch", "requests": requests, "stream": True}, {"op": "show"}):
        asked = {**one, "source": PROGRAM, "id": 3}
        plain, packed = io.BytesIO(), io.BytesIO()
        for out, more in ((plain, {}), (packed, {"packed": True})):
            worker.serve_lines([json.dumps({**asked, **more}).encode()], out)
        found = unpacked(packed.getvalue())
        assert without_times(found) == without_times(unpacked(plain.getvalue()))
        assert len(packed.getvalue()) < len(plain.getvalue()) / 2
    assert "`packed`" in refused({"op": "check", "source": PROGRAM, "packed": 1})["message"]


def without_times(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: without_times(v) for k, v in data.items() if k not in ("ms", "show_ms")}
    return [without_times(one) for one in data] if isinstance(data, list) else data


def refused(request: dict[str, Any]) -> dict[str, Any]:
    """The error of a request, which is no defect; the worker then answers the next."""
    first, second = sent(json.dumps(request).encode(), b'{"op": "manifest", "id": 7}')
    assert second["ok"]
    assert second["id"] == 7
    assert not first["ok"]
    error: dict[str, Any] = first["error"]
    assert error["kind"] != "internal", error["message"]
    return error


@pytest.mark.parametrize("operation", [[], {}, 1, True, None, "nothing", ["check"]])
def test_an_operation_is_one_of_the_names(operation: Any) -> None:
    assert "no operation" in refused({"op": operation, "source": "def x = 1"})["message"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("a\0b", "not a path"),
        ("\udc80", "surrogate"),
        ("x" * 5000, "too long"),
        ("nowhere.fut", "No such file"),
        ("/", "not a file"),
        ("/dev/zero", "not a file"),
        (7, "must be a string"),
    ],
)
def test_a_path_names_a_file(path: Any, says: str) -> None:
    assert says in refused({"op": "check", "path": path})["message"]


def test_a_file_that_is_too_long_is_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "long.fut"
    file.write_text("-- " + "x" * 100)
    monkeypatch.setattr(disk, "LONGEST_PROGRAM", 100)
    assert "longer than 100 bytes" in refused({"op": "check", "path": str(file)})["message"]


def test_half_of_a_pair_in_the_program_has_its_place() -> None:
    error = refused({"op": "check", "source": "def x = 1\n-- a\ud800b"})
    assert error["kind"] == "syntax"
    assert error["span"] == [2, 5, 2, 6]


@pytest.mark.parametrize(
    "fields",
    [
        {"entry": "\ud800"},
        {"input": '"\udfff"'},
        {"stage": "\ud800", "backend": "ref"},
        {"options": {"entry": "\ud800"}},
        {"options": {"disable": ["\ud800"]}},
        {"options": {"thresholds": {"\ud800": 1}}},
        {"sizes": {"\ud800": 1}},
    ],
)
def test_half_of_a_pair_is_no_text_anywhere(fields: dict[str, Any]) -> None:
    error = refused({"op": "run", "source": PROGRAM, "input": "[1]", **fields})
    assert "surrogate" in error["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"options": []},
        {"options": 0},
        {"options": {"entry": []}},
        {"options": {"fuel": 10**30}},
        {"options": {"fuel": True}},
        {"options": {"target": []}},
        {"options": {"disable": [[]]}},
        {"options": {"thresholds": {"x": 10**5000 % 10**4000}}},
        {"stage": []},
        {"stage": 1},
        {"entry": 1},
        {"input": []},
        {"backend": []},
        {"backend": "nothing"},
        {"deadline": "1"},
        {"deadline": 10**4000},
        {"deadline": True},
        {"deadline": -1},
        {"longest": "x"},
        {"longest": 10**4000},
        {"sizes": [], "input": None},
        {"sizes": {"n": 10**4000}},
        {"sizes": {"n": 1.5}},
        {"seed": 10**4000},
    ],
)
def test_fields_have_types_and_bounds(fields: dict[str, Any]) -> None:
    request = {"op": "run", "source": PROGRAM, "input": "[1]", "backend": "ref", **fields}
    if "sizes" in fields or "seed" in fields:
        request = {"op": "generate", "source": PROGRAM, **fields}
    assert refused(request)["message"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"", None),
        (b"nothing", "Expecting value"),
        (b"[]", "JSON object"),
        (b'"op"', "JSON object"),
        (b'{"op": "check", "source": "\xff"}', "byte 27 is not UTF-8"),
        (b'{"op": "check", "source": "\xed\xa0\x80"}', "is not UTF-8"),
        (b"\xff\xfe{\x00}\x00", "is not UTF-8"),
        (b'{"op": "check", "id": NaN}', "NaN is no number"),
        (b'{"op": "check", "id": 1e999}', "1e999 is no number"),
        (b'{"op": "check", "id": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"op": "check", "id": []}', "`id` must be a string or a number"),
        (b'{"op": "check", "id": ' + b"[" * 90_000 + b"]" * 90_000 + b"}", "`id` must be"),
        (b"[" * 400_000, "nests too deeply"),
    ],
)
def test_a_line_that_is_no_request_is_answered(line: bytes, says: str | None) -> None:
    *first, last = sent(line, b'{"op": "manifest"}')
    assert last["ok"]
    assert len(first) == (says is not None)
    for answer in first:
        assert answer["error"]["kind"] == "runtime"
        assert says is not None
        assert says in answer["error"]["message"]


@pytest.mark.parametrize("number", [1, 2**70, -1.5, "x", "\ud800", None, True])
def test_an_id_comes_back(number: Any) -> None:
    (answer,) = sent(json.dumps({"op": "manifest", "id": number}).encode())
    assert answer["id"] == number


def test_the_raised_limit_of_recursion_goes_with_the_deep_stack() -> None:
    before = sys.getrecursionlimit()
    seen: list[int] = []
    with_deep_stack(lambda: seen.append(sys.getrecursionlimit()))
    assert seen == [stack.RECURSION_LIMIT]
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (RecursionError(), "limitation"),
        (MemoryError(), "runtime"),
        (KeyError("x"), "internal"),
        (CompilerBug("x"), "internal"),
    ],
)
def test_every_exception_is_an_error_of_some_kind(problem: Exception, kind: str) -> None:
    assert as_error(problem).kind == kind
    assert as_error(problem).message


def test_inputs_that_are_too_long_as_text_are_refused_before_they_are_made() -> None:
    request = {"op": "generate", "source": PAIR, "longest": 4_000_000}
    worker.answer({**request, "sizes": {"n": 1, "m": 1}})
    tracemalloc.start()
    answer = worker.answer({**request, "sizes": {"n": 500_000, "m": 500_000}})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "1000000 elements" in answer["error"]["message"]
    assert "800000" in answer["error"]["message"]
    assert "sizes alone" in answer["error"]["hint"]
    assert peak < 2_000_000
    assert worker.answer({**request, "sizes": {"n": 1000, "m": 1000}})["ok"]
    # Few enough, but each has many digits.
    answer = worker.answer({**request, "sizes": {"n": 400_000, "m": 400_000}})
    assert "characters, but at most 4000000" in answer["error"]["message"]
    del request["longest"]
    assert len(worker.answer({**request, "sizes": {"n": 400_000, "m": 4}})["input"]) > 4_000_000


PAIR = "entry main [n] [m] (xs: [n]f64) (ys: [m]i32) = (length xs, length ys)\n"


def test_compilations_that_are_kept_are_bounded_by_their_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api, "_recent", OrderedDict())
    monkeypatch.setattr(api, "REMEMBERED_CHARACTERS", 1000)
    for number in range(8):
        program = f"entry main (x: i32) = x + {number}".ljust(300)
        assert worker.answer({"op": "show", "source": program, "stages": ["ast"]})["ok"]
        assert [source for source, _ in api._recent][-1] == program
        assert sum(len(source) for source, _ in api._recent) <= 1000
    assert len(api._recent) == 3
    longer = program.ljust(5000)
    assert worker.answer({"op": "show", "source": longer, "stages": ["ast"]})["ok"]
    assert len(api._recent) == 1, "the last one is kept however long it is"
    for number in range(40):
        program = f"entry main = {number}"
        worker.answer({"op": "show", "source": program, "stages": ["ast"]})
    assert len(api._recent) == api.REMEMBERED


@pytest.mark.parametrize(
    ("problem", "kind"), [(RecursionError, "limitation"), (MemoryError, "runtime")]
)
def test_a_stage_that_has_no_room_is_no_defect(
    monkeypatch: pytest.MonkeyPatch, problem: type[Exception], kind: str
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise problem

    monkeypatch.setattr("compiler.frontend.incremental.pieces.parse", full)
    answer = worker.answer({"op": "check", "source": "def a_new_program = 1"})
    assert answer["error"]["kind"] == kind


@pytest.mark.parametrize("seconds", [0.0, 1e-6, 1e-4, 1e-3])
def test_a_deadline_that_passes_at_once_is_a_timeout(seconds: float) -> None:
    """Also where the clock rings before the work has begun, or as it fails by itself."""

    def endless() -> None:
        while True:
            pass

    def broken() -> None:
        raise KeyError

    for _ in range(300):
        with pytest.raises((TimeoutError_, KeyError)):
            within(seconds, broken)
        with pytest.raises(TimeoutError_):
            within(seconds, endless)


@pytest.mark.parametrize("slow", ["compiling", "the C compiler", "traces"])
@pytest.mark.parametrize("backend", ["ref", "c"])
def test_all_that_a_run_needs_has_one_deadline(
    slow: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend == "c" and runner.why_not():
        pytest.skip("there is no C compiler")
    late = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + late[0])

    def slowly(work: Callable[..., Any]) -> Callable[..., Any]:
        """It takes a minute, by the clock of deadlines."""

        def done(*given: Any) -> Any:
            late[0] = 60.0
            return work(*given)

        return done

    monkeypatch.setattr("compiler.base.deadline.time", clock)
    where, name = {
        "compiling": (api, "bind"),
        "the C compiler": (runner, "compile_c"),
        "traces": (api, "has_traces"),
    }[slow]
    monkeypatch.setattr(where, name, slowly(getattr(where, name)))
    request = {"op": "run", "source": PROGRAM, "input": "[1]", "backend": backend}
    answer = worker.answer({**request, "deadline": 50.0})
    if (slow, backend) == ("the C compiler", "ref"):
        assert answer["ok"]
    else:
        assert answer["error"]["kind"] == "timeout"
        assert "did not finish within 50 s" in answer["error"]["message"]


# --- batches -----------------------------------------------------------------------------------

PARTS: list[dict[str, Any]] = [
    {"op": "check"},
    {"op": "show", "stages": ["typed", "fused"]},
    {"op": "show", "stages": ["nothing"]},
    {"op": "lifetimes", "stage": "funmem", "values": {}},
    {"op": "nothing"},
    {"op": "memory", "stage": 7},
]


def timeless(data: Any) -> Any:
    """An answer without its times."""
    if isinstance(data, dict):
        return {k: timeless(v) for k, v in data.items() if k not in ("ms", "show_ms")}
    return [timeless(one) for one in data] if isinstance(data, list) else data


@pytest.mark.parametrize("source", ["entry main [n] (xs: [n]i64) = map (+ 1) xs", "entry main = y"])
def test_a_batch_answers_as_its_requests_alone_would(source: str) -> None:
    batch = {"op": "batch", "source": source, "requests": PARTS}
    alone = [worker.answer({**one, "source": source}) for one in PARTS]
    together = worker.answer(batch)
    assert timeless(together) == timeless({"ok": True, "answers": alone})
    parts: list[dict[str, Any]] = []
    assert worker.answer({**batch, "stream": True}, parts.append) == {"ok": True}
    found: list[dict[str, Any]] = [{} for _ in PARTS]
    for part in parts:
        number, told = part["request"], part["answer"]
        for stage in told.get("stages", {}).values():
            assert stage["text"] is None
            stage["text"] = "".join(f"{line['text']}\n" for line in stage["lines"])
        stages = {**found[number].get("stages", {}), **told.get("stages", {})}
        found[number] = {**told, **({"stages": stages} if stages else {})}
    assert timeless(found) == timeless(alone)


@pytest.mark.parametrize(
    "requests", [None, 3, [3], [{"op": "run"}], [{"op": "batch"}], [{"op": "manifest"}]]
)
def test_what_is_no_batch_is_refused(requests: Any) -> None:
    refused({"op": "batch", "source": "entry main = 1", "requests": requests})


def test_a_back_end_is_missing_where_a_run_on_it_would_say_so() -> None:
    """Each tells in the same words as a run."""
    found = {one["id"]: one["missing"] for one in worker.answer({"op": "backends"})["backends"]}
    assert list(found) == list(api.RUNNERS)
    for name, missing in found.items():
        asked = {"op": "run", "source": "entry main = 1i64", "backend": name}
        told = worker.answer(asked)
        assert told.get("error", {}).get("message", "") == missing, name


def test_an_error_in_the_input_has_no_place_in_the_program() -> None:
    """Its line and column are told in words: a span would be read as one of a file's."""
    source = "entry main (x: i64) = x"
    error = refused({"op": "run", "source": source, "backend": "c", "input": "\n  [1, x]"})
    assert error["span"] is None
    assert error["rendered"].startswith("input:2:7: Expected")
