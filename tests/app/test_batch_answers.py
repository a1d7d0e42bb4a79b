"""A batch of which every answer is known is put together once, and sent as it is."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.batch_answers import PackedBatches
from app.cache import AnswerCache
from tests.app.conftest import SOURCE, MakeApp

EVENTS = {"Accept": "text/event-stream"}
ZIPPED = {**EVENTS, "Accept-Encoding": "br, GZIP"}


def ask(client: FlaskClient, headers: dict[str, str], source: str = SOURCE) -> Any:
    body = {"source": source, "requests": [{"op": "check"}, {"op": "show"}]}
    return client.post("/api/batch", json=body, headers=headers)


def answers(events: bytes) -> dict[int, Any]:
    """The last answer to each request; that of `show` with the stages of all."""
    told = [
        json.loads(block.partition("data: ")[2]) for block in events.decode().split("\n\n")[:-1]
    ]
    assert told[-1] == {"ok": True}
    assert events.decode().count("event: done") == 1
    found: dict[int, Any] = {}
    for one in told[:-1]:
        if "queued" in one:
            continue
        stages = {
            **found.get(one["request"], {}).get("stages", {}),
            **(one["answer"].get("stages") or {}),
        }
        found[one["request"]] = {**one["answer"], **({"stages": stages} if stages else {})}
    return found


def test_it_is_the_same_answer_and_made_once(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_app().test_client()
    first = ask(client, ZIPPED)
    asked = answers(first.data)
    assert "Content-Encoding" not in first.headers
    known = ask(client, ZIPPED)
    assert known.headers["Content-Encoding"] == "gzip"
    assert known.mimetype == "text/event-stream"
    assert answers(gzip.decompress(known.data)) == asked
    assert answers(ask(client, EVENTS).data) == asked
    monkeypatch.setattr(AnswerCache, "get", None)
    assert ask(client, ZIPPED).data == known.data


def test_another_program_or_a_wrong_request_gets_its_own(client: FlaskClient) -> None:
    for source in (SOURCE, SOURCE + "-- 2\n"):
        answers(ask(client, ZIPPED, source).data)
    one, other = (ask(client, ZIPPED, source).data for source in (SOURCE, SOURCE + "-- 2\n"))
    assert one != other
    body = {"source": SOURCE, "requests": [{"op": "run"}]}
    assert client.post("/api/batch", json=body, headers=ZIPPED).status_code == 400


def test_those_who_ask_together_have_it_made_once() -> None:
    packed, made = PackedBatches(1000), []

    def make() -> str:
        made.append(1)
        return "x"

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: packed.get("key", make), range(32)))
    assert len(set(found)) == len(made) == 1
    assert packed.get("none", lambda: None) is None
