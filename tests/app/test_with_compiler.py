"""The server with the compiler behind it: the shapes that the page relies on."""

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.gallery import load
from app.paths import EXAMPLES

(MATMUL,) = [e for e in load(EXAMPLES) if e.name == "matrix_multiplication"]


@pytest.fixture
def ask(real_app: Flask) -> Any:
    client = real_app.test_client()

    def post(op: str, **body: Any) -> dict[str, Any]:
        answer: dict[str, Any] = client.post(f"/api/{op}", json=body).get_json()
        return answer

    post.client = client  # type: ignore[attr-defined]
    return post


def test_all_operations_on_one_program(ask: Any) -> None:
    source = MATMUL.source
    stages = [stage["id"] for stage in ask.client.get("/api/manifest").get_json()["stages"]]
    shown = ask("show", source=source)
    assert list(shown["stages"]) == stages
    for stage in shown["stages"].values():
        assert stage["text"] == "".join(f"{line['text']}\n" for line in stage["lines"])
        for line in stage["lines"]:
            assert all(len(span) == 4 for span in line["src"])
    assert {"kind", "rule", "stage", "src", "because"} <= shown["remarks"][0].keys()
    (fun,) = ask("memory", source=source, stage="funmem")["functions"]
    array = next(a for a in fun["arrays"] if a["name"] == fun["kernels"][0]["name"])
    values = dict.fromkeys(array["symbols"], 3)
    cells = ask("memory", source=source, stage="funmem", array=array["name"], values=values)
    assert len(cells["cells"]) == 9
    assert ask("tuning", source=source)["trees"][0]["trees"][0]["kind"] == "branch"
    verdicts = ask("validity", source=source, input=MATMUL.input)["stages"]
    assert all(verdict["valid"] for verdict in verdicts.values())
    run = ask("run", source=source, backend="ref", sizes={"n": 2, "m": 2, "k": 2}, seed=1)
    assert run["ok"]
    assert run["output"].startswith("[[")


def test_stages_that_were_streamed_are_kept_with_their_texts(ask: Any) -> None:
    """What comes from the cache after a stream is what a request without one gets."""
    source, request = "entry main (x: i32) = x + 12345", {"op": "show", "stages": ["soa", "c"]}
    headers = {"Accept": "text/event-stream"}
    body = {"source": source, "requests": [request]}
    assert "12345" in ask.client.post("/api/batch", json=body, headers=headers).get_data(True)
    shown = ask("show", source=source, stages=["soa", "c"])["stages"]
    (told,) = ask("batch", **body)["answers"]
    for name in ("soa", "c"):
        assert told["stages"][name]["text"] == shown[name]["text"]
        assert "12345" in shown[name]["text"]


FILES = {"lib/a.fut": 'import "b"\ndef f = map one', "lib/b.fut": "def one (x: i32) = x + 1"}


def test_a_program_of_several_files(ask: Any) -> None:
    body = {"source": 'import "../lib/a"\nentry main (xs: []i32) = f xs', "main": "src/m.fut"}
    run = ask("run", **body, files=FILES, input="[1, 2]", backend="ref")
    assert run["output"] == "[2i32, 3i32]"
    requests = [{"op": "check"}, {"op": "show", "stages": ["soa"]}]
    checked, _ = ask("batch", **body, files=FILES, requests=requests)["answers"]
    assert checked["entries"][0]["name"] == "main"
    other = {**FILES, "lib/b.fut": "def one (x: i32) = x + true"}
    found = ask("batch", **body, files=other, requests=requests)["answers"]
    assert [one["error"]["span"] for one in found] == [[1, 24, 1, 28, "lib/b.fut"]] * 2


def test_two_users_have_files_of_the_same_names(ask: Any) -> None:
    body = {"source": 'import "a"\nentry main = x', "backend": "ref"}
    for value in (1, 2, 1):
        files = {"a.fut": f"def x = {value}i32"}
        assert ask("run", **body, files=files)["output"] == f"{value}i32"
        assert ask("run", **{**body, "backend": "c"}, files=files)["output"] == f"{value}i32"
    assert "There is no file `a.fut`" in ask("check", source=body["source"])["error"]["message"]


def test_the_files_of_a_program_are_bounded_together(ask: Any) -> None:
    long = "-- " + "x" * 210_000
    assert ask("check", source=long, files={"a.fut": ""})["ok"]
    told = ask("check", source=long, files={"a.fut": long})["error"]
    assert "The files of the program have 420006 characters; at most 400000" in told["message"]
    told = ask("check", source="", files={"../a.fut": ""})["error"]
    assert "not a valid path" in told["message"]
    told = ask("check", source="", files={"a.fut": "\ud800"})["error"]
    assert told["message"] == "Line 1 of `a.fut` contains a character that is not valid UTF-8."
    assert ask("check", source="", files={"\ud800.fut": ""})["error"]["kind"] == "syntax"


def test_what_is_built_in_place_with_proof_picture_and_lives(ask: Any) -> None:
    source = "entry main [n] [m] (xs: [n]i32) (ys: [m]i32) = map (+ 1) xs ++ map (* 2) ys\n"
    found = ask("attempts", source=source)["attempts"]
    attempts = [attempt for attempt in found if attempt["rule"] == "shortcircuit/concat"]
    assert [attempt["done"] for attempt in attempts] == [True, True]
    (shown, *_) = [o for attempt in attempts for o in attempt["obligations"]]
    assert shown["verdict"] == "disjoint"
    assert shown["checked"]
    assert {"rule", "says", "offset", "dims", "needs", "parts"} <= shown["steps"][0].keys()
    facts = {"nonnegative": shown["facts"]}
    drawn = ask("cells", assumptions=facts, lmads=[shown["write"], shown["use"]])
    assert drawn["shared"] == drawn["broken"] == []
    made = {}
    for stage in ("funmem", "shortcircuit"):
        (fun,) = ask("lifetimes", source=source, stage=stage)["functions"]
        values = dict.fromkeys(fun["symbols"], 1000)
        (fun,) = ask("lifetimes", source=source, stage=stage, values=values)["functions"]
        made[stage] = sum(b["size"] for b in fun["blocks"] if b["kind"] == "alloc")
        assert fun["peak"]["bytes"] == max(fun["live"]) == 16_000
    assert made == {"funmem": 16_000, "shortcircuit": 8_000}


def test_blocks_that_can_share_memory_are_told(ask: Any) -> None:
    source = "entry main [n] (xs: [n]i32) = scan (+) 0 (reverse (scan (+) 0 (scan (+) 1 xs)))"
    (fun,) = ask("interference", source=source, stage="expanded")["functions"]
    (graph,) = fun["bodies"]
    assert len(graph["nodes"]) == 3
    assert [(edge["a"], edge["b"]) for edge in graph["edges"]] == [(0, 1), (1, 2)]
    assert [colour["members"] for colour in graph["colours"]] == [[0, 2], [1]]
    error = ask("interference", source=source, stage="soa")["error"]
    assert "has no memory" in error["message"]


def test_inputs_longer_than_may_be_typed_are_not_sent(ask: Any) -> None:
    source = "entry main [n] (xs: [n]i32) = map (+ 1) xs"
    error = ask("generate", source=source, entry="main", sizes={"n": 10**7})["error"]
    assert "10000000 elements" in error["message"]
    assert len(ask("generate", source=source, entry="main", sizes={"n": 10**5})["input"]) > 10**5


def test_errors_have_places_and_kinds(ask: Any) -> None:
    error = ask("check", source="entry main = 1 +\n\nentry other = (2")["error"]
    assert error["kind"] == "syntax"
    assert len(error["errors"]) == 2
    error = ask("show", source="entry main (x: i32) = x + y")["error"]
    assert error["kind"] == "type"
    assert error["span"] == [1, 27, 1, 28]
    assert ask("show", source="entry main (x: i32) = x + y")["stages"].keys() == {"ast"}
    assert ask("run", source="entry main = 1", entry="other")["error"]["kind"] == "runtime"
    assert ask("check", source="")["ok"]


def test_every_stage_that_an_example_names_is_there(ask: Any) -> None:
    stages = {stage["id"] for stage in ask.client.get("/api/manifest").get_json()["stages"]}
    for example in load(Path(EXAMPLES)):
        for look in example.looks:
            assert look.stage in stages, example.name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("coalescing", "32 lanes fetch 32 sectors"),
        ("memory_expansion", "Blocks at Expanded"),
        ("proofs", "never share a cell: proved"),
        ("read_before_you_write", "shortcircuit/copy"),
    ],
)
def test_a_lesson_shows_its_pane_without_javascript(real_app: Flask, name: str, words: str) -> None:
    shown = real_app.test_client().get(f"/lessons/{name}").text
    assert words in shown.partition("What the pane")[2]
