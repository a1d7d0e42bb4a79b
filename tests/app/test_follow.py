"""Lectures: who begins one publishes, who has the code follows, and nobody else does either."""

import json
import re
import sqlite3
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import lectures
from app.clients import TOKEN_HEADER
from app.database import Database
from app.lectures import ALPHABET, Lectures, code_of
from tests.app.conftest import MakeApp

PROGRAM = "entry main (x: i64) = x + 1\n"


def begin(client: FlaskClient, **environ: str) -> dict[str, Any]:
    answer = client.post("/api/lecture", json={}, environ_base=environ)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def show(client: FlaskClient, lecture: dict[str, Any], source: str = PROGRAM, **more: Any) -> Any:
    body = {"secret": lecture["secret"], "page": "one", "view": {"source": source}, **more}
    return client.post(f"/api/lecture/{lecture['id']}", json=body)


def newer(client: FlaskClient, lecture: dict[str, Any], after: int = -1) -> Any:
    return client.get(f"/api/lecture/{lecture['id']}?after={after}")


def test_what_a_teacher_shows_is_seen_by_who_has_the_code(client: FlaskClient) -> None:
    lecture = begin(client)
    assert lecture["url"].endswith(f"/follow/{lecture['code']}")
    assert newer(client, lecture).get_json()["view"] is None
    assert show(client, lecture).get_json() == {"ok": True, "number": 1}
    page = client.get(f"/follow/{lecture['code'].lower()}")
    assert f'data-lecture="{lecture["id"]}"' in page.text
    assert lecture["secret"] not in page.text
    assert "x + 1" in re.sub("<[^>]*>", "", page.text)
    seen = newer(client, lecture, 0)
    assert seen.get_json() == {
        "ok": True, "number": 1, "ended": False, "view": {"source": PROGRAM},
    }  # fmt: skip
    later = newer(client, lecture, 1).get_json()
    assert 0 <= later.pop("silent") < 60
    assert later == {"ok": True, "number": 1, "ended": False}
    assert "secret" not in seen.text


def test_codes_are_typed_as_people_type_them(client: FlaskClient) -> None:
    assert len(ALPHABET) == 32
    assert code_of(" ko-l 1i0 ") == "K01110"
    assert code_of("K7M2Q$") == ""
    code = begin(client)["code"]
    asked = client.get(f"/follow/?code=+{code[:3]}-{code[3:].lower()}")
    assert asked.headers["Location"] == f"/follow/{code}"
    assert "no lecture" not in client.get("/follow/").text
    for wrong in ("/follow/?code=%24%24", "/follow/AAAAAA", "/follow/A", "/follow/%F0%9F%98%80"):
        assert "no lecture" in client.get(wrong).text
    assert client.get("/follow/AAAAAA").status_code == 404


def test_only_who_knows_the_secret_publishes_and_one_page_at_a_time(client: FlaskClient) -> None:
    lecture = begin(client)
    assert show(client, lecture).status_code == 200
    for wrong in ({"secret": "x"}, {"secret": lecture["code"]}, {"secret": lecture["id"]}):
        assert show(client, lecture, **wrong).status_code == 404
    other = show(client, lecture, "-- other\n", page="two")
    assert other.status_code == 409
    assert "Another window" in other.get_json()["error"]["message"]
    assert show(client, lecture, "-- other\n", page="two", take=True).get_json()["number"] == 2
    assert show(client, lecture).status_code == 409
    assert newer(client, lecture).get_json()["view"]["source"] == "-- other\n"
    assert show(client, begin(client)).get_json()["number"] == 1


def test_a_lecture_ends_for_all(client: FlaskClient) -> None:
    lecture = begin(client)
    show(client, lecture)
    assert show(client, lecture, view=None, end=True).get_json()["number"] == 2
    told = newer(client, lecture, 1).get_json()
    assert (told["ended"], told["number"], told["view"]) == (True, 2, None)
    assert show(client, lecture).status_code == 410
    assert client.get(f"/follow/{lecture['code']}").status_code == 404


def test_a_silent_teacher_is_missed_and_then_the_lecture_is_over(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lecture = begin(client)
    show(client, lecture)
    monkeypatch.setattr(lectures, "FRESH", 0.0)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 100)
    assert 99 <= newer(client, lecture, 1).get_json()["silent"] <= 160
    assert show(client, lecture, view=None).get_json()["number"] == 1
    assert newer(client, lecture, 1).get_json()["silent"] == 0
    monkeypatch.setattr(time, "time", lambda: now + 100 + 4 * 3600 + 1)
    assert newer(client, lecture, 1).status_code == 410
    assert client.get(f"/follow/{lecture['code']}").status_code == 404
    assert show(client, lecture).status_code == 410


BAD: list[Any] = [
    [], "x", {}, {"source": 3}, {"source": "", "files": {"a.fut": 3}}, {"source": "", "files": []},
    {"source": "", "frozen": "../x"}, {"source": "", "main": 3}, {"source": "", "panes": {}},
    {"source": "", "options": 3}, {"source": "", "a": 3}, {"source": "", "a": {}},
    {"source": "", "a": {"text": {"source": 3}}},
    {"source": "", "a": {"text": {"source": ""}, "link": "../x"}},
]  # fmt: skip


def test_what_is_no_view_is_refused(make_app: MakeApp) -> None:
    client = make_app(SOURCE_LIMIT=100).test_client()
    lecture = begin(client)
    for view in BAD:
        assert show(client, lecture, view=view).status_code == 400, view
    assert show(client, lecture, "x" * 101).status_code == 413
    both = {"source": "x" * 100, "a": {"text": {"source": "x" * 100}, "label": "it", "beside": ""}}
    assert show(client, lecture, view=both).status_code == 200
    both["a"]["text"]["source"] += "x"
    assert show(client, lecture, view=both).status_code == 413
    assert show(client, lecture, "", view={"source": "", "more": "x" * 60_000}).status_code == 413
    for secret, page in ((3, "one"), ("x", ""), ("x", "y" * 65)):
        assert show(client, lecture, secret=secret, page=page).status_code == 400
    assert show(client, lecture, "\ud800").status_code == 200
    assert client.get(f"/follow/{lecture['code']}").status_code == 200
    assert newer(client, lecture).status_code == 200
    assert client.get(f"/api/lecture/{'x' * 300}?after=no").status_code == 410


def test_two_servers_with_one_database_show_the_same_lecture(make_app: MakeApp) -> None:
    one, other = make_app().test_client(), make_app().test_client()
    lecture = begin(one)
    assert newer(other, lecture).get_json()["number"] == 0
    show(one, lecture)
    until = time.monotonic() + 30
    while newer(other, lecture).get_json()["number"] == 0 and time.monotonic() < until:
        time.sleep(lectures.FRESH / 10)
    assert newer(other, lecture).get_json()["view"]["source"] == PROGRAM
    assert show(other, lecture, page="two", take=True).get_json()["number"] == 2
    assert show(one, lecture).status_code == 409


def test_who_waits_is_told_of_what_another_server_publishes(make_app: MakeApp) -> None:
    apps = make_app(), make_app()
    teacher, follower = (app.test_client() for app in apps)
    lecture = begin(teacher)
    store = apps[1].extensions["stridescope"].lectures
    told: list[str] = []
    store.listen(told.append)
    assert not store.nothing_new(lecture["id"], 0)  # this server knows nothing of it yet
    newer(follower, lecture)
    assert store.nothing_new(lecture["id"], 0)
    assert not store.nothing_new(lecture["id"], -1)
    show(teacher, lecture)
    until = time.monotonic() + 30
    while not told and time.monotonic() < until:
        time.sleep(0.01)
    assert told == [lecture["id"]]
    assert not store.nothing_new(lecture["id"], 0)


def test_lectures_are_bounded_and_quiet_ones_make_room(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_app(LECTURES=16).test_client()
    mine = [begin(client, REMOTE_ADDR="192.0.2.1") for _ in range(2)]
    refused = client.post("/api/lecture", json={}, environ_base={"REMOTE_ADDR": "192.0.2.1"})
    assert refused.status_code == 429
    assert "from your address" in refused.get_json()["error"]["message"]
    show(client, mine[1], view=None, end=True)
    begin(client, REMOTE_ADDR="192.0.2.1")
    for number in range(14):
        begin(client, REMOTE_ADDR=f"192.0.3.{number}")
    far = {"REMOTE_ADDR": "192.0.4.1"}
    assert client.post("/api/lecture", json={}, environ_base=far).status_code == 503
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + lectures.QUIET + 1)
    show(client, mine[0])
    begin(client, **far)
    assert show(client, mine[0]).status_code == 200


@pytest.mark.usefixtures("still")
def test_codes_are_tried_at_a_bounded_rate(make_app: MakeApp) -> None:
    client = make_app(LIMIT_JOIN="3 per minute", ADDRESS_PAGES=2).test_client()
    lecture = begin(client)
    far = {"REMOTE_ADDR": "192.0.2.9"}
    tried = [
        client.get(
            f"/follow/{'2' * 6 if k < 6 else lecture['code']}",
            environ_base=far,
            headers={TOKEN_HEADER: f"page-{k:020}"},
        ).status_code
        for k in range(8)
    ]
    assert tried == [404] * 6 + [429] * 2
    # Who has joined goes on.
    assert client.get(f"/api/lecture/{lecture['id']}", environ_base=far).status_code == 200


def test_a_restarted_server_goes_on(make_app: MakeApp, tmp_path: Path) -> None:
    lecture = begin(make_app().test_client())
    client = make_app().test_client()
    assert show(client, lecture).get_json()["number"] == 1
    assert client.get(f"/follow/{lecture['code']}").status_code == 200
    with sqlite3.connect(tmp_path / "data" / "permalinks.sqlite") as database:
        kept = json.dumps(database.execute("select * from lectures").fetchall(), default=repr)
    assert lecture["secret"] not in kept


def test_a_database_that_is_away_is_said_to_be(make_app: MakeApp) -> None:
    client = make_app(DATABASE_URL="sqlite:////nowhere/at/all.sqlite").test_client()
    answer = client.post("/api/lecture", json={})
    assert answer.status_code == 503
    assert answer.get_json()["error"]["message"] == "Lectures cannot be kept now."


def test_views_in_memory_are_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many lectures with long views; the others are read from the database again."""
    monkeypatch.setattr("app.lectures.REMEMBERED", 200_000)
    store = Lectures(Database(lambda: f"sqlite:///{tmp_path / 'lectures.sqlite'}"), 100, 1.0)
    made = []
    for number in range(20):
        name, _, secret = store.start(f"address {number}")
        noise = "".join(map(chr, Random(number).choices(range(32, 55000), k=20_000)))
        store.publish(name, secret, "page", {"source": noise}, take=False, end=False)
        made.append(name)
    assert 100_000 < store._known.bytes <= 200_000
    assert all((store.shown(name) or pytest.fail(name)).number == 1 for name in made)
    assert store._known.bytes <= 200_000
