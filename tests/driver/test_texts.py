"""Texts of stages are made when they are asked for; what stands where is told without them."""

from pathlib import Path
from typing import Any

import pytest

from compiler.driver import api, worker
from compiler.driver.pipeline import STAGES, StageResult

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
SOURCE = "entry main [n] (xs: [n]f32): f32 = reduce (+) 0 (map (\\x -> x * x) xs)\n"
STOPS = "entry main (x: f64): f64 = vjp f64.gamma (x + 1) x\n"


def ask(op: str, source: str = SOURCE, **fields: Any) -> dict[str, Any]:
    answer = worker.answer({"op": op, "source": source, **fields})
    assert answer["ok"], answer
    return answer


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stages whose texts were made."""
    made: list[str] = []
    text = StageResult.text.fget
    assert text is not None

    def counted(self: StageResult) -> Any:
        made.append(self.stage.id)
        return text(self)

    monkeypatch.setattr(StageResult, "text", property(counted))
    api._recent.clear()
    return made


def test_only_the_texts_that_are_wanted_are_made(printed: list[str]) -> None:
    answer = ask("show", texts=["fused"])
    assert printed == ["fused"]
    assert list(answer["stages"]) == [stage.id for stage in STAGES]
    for name, stage in answer["stages"].items():
        assert (stage["text"] is None) == (stage["lines"] is None) == (name != "fused")
    assert answer["remarks"] == ask("show")["remarks"]


def test_a_text_that_comes_later_is_the_one_that_would_have_come(printed: list[str]) -> None:
    whole = ask("show")["stages"]
    for forgotten in (False, True):
        for name, stage in whole.items():
            if forgotten:
                api._recent.clear()  # as in a worker that was started anew
            later = ask("text", stage=name)["stage"]
            assert {**later, "ms": 0, "show_ms": 0} == {**stage, "ms": 0, "show_ms": 0}


def test_a_stage_that_is_not_there_has_no_text() -> None:
    for request in ({"op": "text", "stage": "fussed"}, {"op": "show", "texts": ["fussed"]}):
        answer = worker.answer({"source": SOURCE, **request})
        assert answer["error"]["message"] == "There is no stage `fussed`."


def test_an_empty_line_is_from_nowhere() -> None:
    two = f"{SOURCE}entry other [n] (xs: [n]f32): [n]f32 = map (+ 1) xs\n"
    for name, stage in ask("show", two)["stages"].items():
        empty = [line for line in stage["lines"] if not line["text"].strip()]
        assert not any(line["src"] for line in empty), name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_lines_come_from_is_told_without_them(path: Path) -> None:
    source = path.read_text("utf-8")
    stages = ask("show", source)["stages"]
    places = {tuple(place) for place in ask("places", source)["places"]}
    before: list[Any] | None = None
    for name, stage in stages.items():
        lines = stage["lines"]
        if name not in ("ast", "mono"):  # a word for each, and the same in other lines
            assert {tuple(place) for line in lines for place in line["src"]} <= places, name
        if stage["same"]:
            assert [line["text"] for line in lines] == [line["text"] for line in before or []]
        before = lines
    for place in sorted(places)[:: 1 + len(places) // 12]:
        at = dict(zip(("line", "column", "end_line", "end_column"), place[:4], strict=True))
        found = ask("occurrences", source, **at)["stages"]
        assert found == {name: plainly(stage["lines"], place) for name, stage in stages.items()}


def plainly(lines: list[dict[str, Any]], place: tuple[int, ...]) -> dict[str, Any]:
    """What `occurrences` tells of a text, line by line."""

    def within(inner: Any, outer: Any) -> bool:
        return outer[:2] <= inner[:2] and inner[2:4] <= outer[2:4]

    sources = [[tuple(span) for span in line["src"]] for line in lines]
    of = [k for k, src in enumerate(sources) if src and within(src[0], place)]
    shared = [
        k
        for k, src in enumerate(sources)
        if k not in of and any(within(span, place) for span in src)
    ]
    around = [k for k, src in enumerate(sources) if src and within(place, src[0])]
    seen = of or shared or (around if len(around) <= 60 else [])
    texts = [lines[k]["text"].strip() for k in seen]
    word = next((text for text in texts if any(c.isalnum() or c == "_" for c in text)), "")
    return {"lines": len(of), "text": word or (texts[0] if texts else "")}


def test_a_program_that_stops_on_its_way_has_places_as_far_as_it_gets() -> None:
    request = {"op": "show", "source": STOPS, "texts": []}
    assert worker.answer(request)["error"]["kind"] == "limitation"
    assert [1, 28, 1, 51] in ask("places", STOPS)["places"]
    at = {"line": 1, "column": 28, "end_line": 1, "end_column": 51}
    found = ask("occurrences", STOPS, **at)["stages"]
    assert list(found)[:2] == ["ast", "typed"]
    assert "cuda" not in found
    assert found["typed"]["lines"]
    assert not worker.answer({"op": "places", "source": "entry main = y"})["ok"]
