"""What a worker packed is sent and kept as it is, and says the same as what is not."""

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest
from flask.testing import FlaskClient

from app import compressed_answers as packed
from app.cache import AnswerCache
from app.compressed_answers import PackedAnswer
from app.errors import AppError
from app.pieces import Deflated
from compiler.protocol import packing
from tests.app.conftest import SOURCE, MakeApp

EVENTS = {"Accept": "text/event-stream"}
ZIPPED = {**EVENTS, "Accept-Encoding": "br, GZIP"}
LONG = SOURCE + "".join(f"-- {number}\n" for number in range(200))
"""Its stages are long enough to be packed."""
ASKED = [{"op": "check"}, {"op": "show"}, {"op": "places"}]


def ask(client: FlaskClient, headers: dict[str, str], source: str = LONG) -> Any:
    return client.post("/api/batch", json={"source": source, "requests": ASKED}, headers=headers)


def told(events: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in events.decode().split("\n\n")[:-1]:
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return [(name, answer) for name, answer in found if name != "queued"]


def whole(parts: list[Any]) -> Any:
    return packed.with_texts(packed.merged(parts))


def test_every_way_of_asking_tells_the_same(make_app: MakeApp) -> None:
    client = make_app().test_client()
    first = ask(client, ZIPPED)
    assert first.headers["Content-Encoding"] == "gzip"
    assert first.mimetype == "text/event-stream"
    events = told(gzip.decompress(first.data))
    assert events[-1] == ("done", {"ok": True})
    assert told(gzip.decompress(ask(client, ZIPPED).data)) == events, "now that it is known"
    plain = ask(client, EVENTS)
    assert "Content-Encoding" not in plain.headers
    assert told(plain.data) == events
    assert len(first.data) < len(plain.data) / 3
    answers = ask(client, {}).get_json()["answers"]
    parts: dict[int, list[Any]] = {}
    for _, one in events[:-1]:
        parts.setdefault(one["request"], []).append(one["answer"])
    assert answers == [whole(parts[number]) for number in sorted(parts)]
    texts = [stage["text"] for stage in answers[1]["stages"].values()]
    assert all("-- 199 -- " in text for text in texts)


def test_a_show_alone_is_told_as_in_a_batch_of_one(make_app: MakeApp) -> None:
    client = make_app().test_client()
    one = client.post("/api/show", json={"source": LONG}, headers=ZIPPED)
    events = told(gzip.decompress(one.data))
    assert [name for name, _ in events] == ["part", "done"]
    asked = client.post("/api/show", json={"source": LONG}).get_json()
    assert whole([answer for _, answer in events]) == asked


def test_one_answer_is_sent_as_it_is(make_app: MakeApp) -> None:
    client = make_app().test_client()
    body = {"source": "x" * 5000, "stage": "c"}
    plain, zipped = (
        client.post("/api/text", json=body, headers=headers)
        for headers in ({}, {"Accept-Encoding": "gzip"})
    )
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(zipped.data)) == plain.get_json()
    assert plain.get_json()["stage"]["lines"]


def test_nothing_reads_what_is_sent(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_app().test_client()
    monkeypatch.setattr(PackedAnswer, "text", None)
    monkeypatch.setattr(AnswerCache, "get", None)
    for _ in range(2):
        assert told(gzip.decompress(ask(client, ZIPPED).data))[-1] == ("done", {"ok": True})


@pytest.mark.parametrize("first", ["events", "json"])
def test_nothing_reads_long_answers_that_are_sent_at_once(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Those of `show` and of a batch come whole, also where they were told in parts before."""
    read: list[int] = []

    def told(data: bytes | str) -> Any:
        read.append(len(data))
        return json.loads(data)

    monkeypatch.setattr(packed, "json", Mock(loads=told, dumps=json.dumps))
    client, source = make_app().test_client(), LONG * 50
    if first == "events":
        ask(client, ZIPPED, source)
    for _ in range(2):
        zipped = ask(client, {"Accept-Encoding": "gzip"}, source)
        plain = ask(client, {}, source)
        assert len(zipped.data) < plain.content_length // 5
        assert plain.content_length == len(plain.data) > 1_000_000
        answers = plain.get_json()["answers"]
        assert json.loads(gzip.decompress(zipped.data))["answers"] == answers
        assert [one["ok"] for one in answers] == [True] * 3
        alone = client.post("/api/show", json={"source": source})
        assert alone.get_json()["stages"].keys() == answers[1]["stages"].keys()
        assert all(s["text"] and s["lines"] for s in alone.get_json()["stages"].values())
    assert max(read, default=0) <= packed.LONG


def test_a_wrong_program_gets_its_errors_each_time(client: FlaskClient) -> None:
    for _ in range(2):
        events = told(gzip.decompress(ask(client, ZIPPED, "WRONG").data))
        assert [one["answer"]["ok"] for _, one in events[:-1]] == [False] * 3
        answer = client.post("/api/show", json={"source": "WRONG"})
        assert answer.get_json()["error"]["kind"] == "type"
        alone = client.post("/api/show", json={"source": "WRONG"}, headers=EVENTS)
        assert [one["ok"] for _, one in told(alone.data)] == [False]
    body = {"source": SOURCE, "requests": [{"op": "run"}]}
    assert client.post("/api/batch", json=body, headers=ZIPPED).status_code == 400
    assert client.post("/api/show", json={}, headers=EVENTS).status_code == 400


@pytest.mark.parametrize("change", ["length", "crc", "data", "json"])
def test_bytes_that_are_not_what_they_should_be_are_no_answer(change: str) -> None:
    good = packed.packed({"ok": True, "text": "x" * 10_000})
    size, length, crc = good.piece.size, good.piece.length, good.piece.crc
    broken = {
        "length": PackedAnswer(Deflated(size, length - 1, crc, ""), good.data),
        "crc": PackedAnswer(Deflated(size, length, crc + 1, ""), good.data),
        "data": PackedAnswer(good.piece, b"\xff" + good.data),
        "json": packed.packed({"stages": {"c": {"text": None, "lines": [1]}}}),
    }
    with pytest.raises(AppError, match="malformed"):
        packed.opened({"ok": True, "packed": broken[change]})
    assert packed.opened({"ok": True, "packed": good})["text"] == "x" * 10_000


def test_a_small_answer_that_unpacks_to_much_is_read_to_what_was_said() -> None:
    bomb = packing.deflated(b" " * 50_000_000, 9)
    with pytest.raises(AppError):
        packed.opened({"ok": True, "packed": PackedAnswer(Deflated(len(bomb), 1000, 0, ""), bomb)})


def test_those_who_ask_together_have_it_made_once(make_app: MakeApp) -> None:
    app = make_app(COMPILE_WORKERS=2)
    source = LONG + "SLOW"

    def asked(number: int) -> Any:
        headers = {**EVENTS, "X-Stridescope-Page": f"one-of-a-class-{number:04}"}
        body = {"source": source, "requests": [{"op": "check"}, {"op": "show"}]}
        return told(app.test_client().post("/api/batch", json=body, headers=headers).data)

    with ThreadPoolExecutor(12) as threads:
        found: Iterator[Any] = threads.map(asked, range(12))
        first, *others = found
    assert first[-1] == ("done", {"ok": True})
    assert all(one == first for one in others), "times that stages took are never the same twice"
