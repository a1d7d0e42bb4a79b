"""What readers of a link get: made once, kept up to a bound, sent again only if it is another."""

import gzip
import json
import random
import sqlite3
import string
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2 import Environment

from app import frozen, pages
from app.context import EXTENSION
from app.database import Database
from app.factory import WARMING
from app.frozen import FrozenView, frozen_view
from app.renderings import Rendering, Renderings, renderer_name
from testing.waiting import until
from tests.app.conftest import SOURCE, MakeApp

OLD = Path(__file__).parent / "links_0_1_0.sql"
"""A database with two links, as version 0.1.0 made it: of the fake worker, and of the compiler."""
OLD_NAME, OLD_REAL = "yc545toxpy", "yrbbtr3tdm"
ZIPPED = {"Accept-Encoding": "gzip"}


def share(app: Flask, source: str = SOURCE) -> str:
    answer = app.test_client().post("/api/share", json={"source": source}).get_json()
    return str(answer["id"])


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs whose pages were made, in order."""
    made: list[str] = []

    def counting(state: dict[str, Any]) -> FrozenView:
        made.append(state["source"])
        return frozen_view(state)

    monkeypatch.setattr(pages, "frozen_view", counting)
    return made


@pytest.fixture
def old_data(tmp_path: Path) -> Path:
    """A data folder that an earlier version left."""
    folder = tmp_path / "data"
    folder.mkdir()
    with sqlite3.connect(folder / "permalinks.sqlite") as database:
        database.executescript(OLD.read_text())
    database.close()
    return folder


def rows(folder: Path) -> list[tuple[str, str]]:
    database = sqlite3.connect(folder / "permalinks.sqlite")
    found = database.execute("select link, form from rendered order by made").fetchall()
    database.close()
    return found


def test_a_page_is_made_with_its_link_and_never_again(make_app: MakeApp, count: list[str]) -> None:
    app = make_app()
    name = share(app)
    assert share(app) == name
    pages = {make_app().test_client().get(f"/z/{name}").data for _ in range(3)}
    pages |= {app.test_client().get(f"/z/{name.upper()}").data for _ in range(3)}
    assert len(pages) == 1
    assert count == [SOURCE]


def test_links_of_an_earlier_version_open_and_are_rendered_once(
    make_app: MakeApp, old_data: Path, count: list[str]
) -> None:
    for _ in range(3):
        client = make_app().test_client()
        page = client.get(f"/z/{OLD_NAME}").get_data(as_text=True)
        assert "version 0.1.0 ·" in page
        assert 'id="attempts"' in page
        state = client.get(f"/z/{OLD_NAME}.json").get_json()
        assert state["source"] == SOURCE
        assert state["run"]["answer"]["output"] == "[1i64]"
        assert client.get(f"/z/{OLD_NAME}/source.txt").get_data(as_text=True) == SOURCE
    assert count == [SOURCE]
    assert rows(old_data) == [(OLD_NAME, "page"), (OLD_NAME, "state")]
    assert share(make_app()) != OLD_NAME, "the version is another"


def test_a_link_that_an_earlier_compiler_made_reads_without_it(
    make_app: MakeApp, old_data: Path
) -> None:
    client = make_app(WORKER_COMMAND=["/bin/false"]).test_client()
    page = " ".join(client.get(f"/z/{OLD_REAL}").get_data(as_text=True).split())
    assert "A map that needs no second array" in page
    assert "1 of 1 arrays that go into a larger one" in page
    assert "They never share a cell: proved, and accepted by an independent checker." in page
    assert '<pre class="value" tabindex="0">[3i32, 4i32, 5i32]</pre>' in page
    for stage in client.get(f"/z/{OLD_REAL}.json").get_json()["stages"]:
        assert client.get(f"/z/{OLD_REAL}/{stage}.txt").status_code == 200


def test_an_earlier_versions_database_that_cannot_be_written_is_read(
    make_app: MakeApp, old_data: Path, count: list[str]
) -> None:
    url = f"sqlite:///file:{old_data / 'permalinks.sqlite'}?mode=ro&uri=true"
    client = make_app(DATABASE_URL=url).test_client()
    for _ in range(3):
        assert client.get(f"/z/{OLD_NAME}").status_code == 200
        assert client.get(f"/z/{OLD_NAME}.json").get_json()["source"] == SOURCE
    assert count == [SOURCE], "it is kept in memory"


def test_many_readers_at_once_wait_for_one_rendering(
    make_app: MakeApp, old_data: Path, count: list[str]
) -> None:
    app = make_app()
    start = threading.Barrier(20)
    answers: list[bytes] = []

    def read() -> None:
        client = app.test_client()
        start.wait()
        answers.append(client.get(f"/z/{OLD_NAME}").data)

    threads = [threading.Thread(target=read) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 20
    assert len(set(answers)) == 1
    assert count == [SOURCE]


def test_a_warm_server_is_ready_for_readers(
    make_app: MakeApp, old_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones come all at once: nothing is left to compile, and the database is open."""
    app = make_app(WARM=True)
    for thread in threading.enumerate():
        if thread.name == WARMING:
            thread.join()
    compiled: list[str] = []
    compile_ = Environment.compile

    def counting(self: Environment, source: Any, name: Any = None, *rest: Any) -> Any:
        compiled.append(name)
        return compile_(self, source, name, *rest)

    monkeypatch.setattr(Environment, "compile", counting)
    assert app.test_client().get(f"/z/{OLD_NAME}").status_code == 200
    assert not compiled
    assert make_app().test_client().get(f"/z/{OLD_REAL}").status_code == 200
    assert "frozen.html" in compiled, "a server that is not warm compiles them for its reader"


@pytest.mark.parametrize("path", ["", ".json", "/source.txt", "/fused.txt"])
def test_what_a_reader_has_is_not_sent_again(make_app: MakeApp, path: str) -> None:
    app = make_app()
    url = f"/z/{share(app)}{path}"
    first = app.test_client().get(url, headers=ZIPPED)
    tag = first.headers["ETag"]
    again = make_app().test_client().get(url, headers={**ZIPPED, "If-None-Match": f'"x", {tag}'})
    assert again.status_code == 304
    assert again.data == b""
    assert again.headers["ETag"] == tag
    assert again.headers["Cache-Control"] == first.headers["Cache-Control"]
    assert "public" in first.headers["Cache-Control"]
    assert "Accept-Encoding" in again.headers["Vary"]
    other = app.test_client().get(url, headers={"If-None-Match": 'W/"another"'})
    assert other.status_code == 200
    assert other.headers["ETag"] == tag


def test_the_styles_of_a_page_that_is_read_again_have_its_nonce(client: FlaskClient) -> None:
    """A browser shows the page it has under the policy of the answer that says so."""
    name = client.post("/api/share", json={"source": SOURCE}).get_json()["id"]
    first = client.get(f"/z/{name}")
    again = client.get(f"/z/{name}", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    nonce = first.get_data(as_text=True).partition('data-nonce="')[2].partition('"')[0]
    for answer in (first, again):
        assert f"'nonce-{nonce}'" in answer.headers["Content-Security-Policy"]
    others = client.post("/api/share", json={"source": SOURCE + "--"}).get_json()["id"]
    assert nonce not in client.get(f"/z/{others}").get_data(as_text=True)


@pytest.mark.parametrize("path", ["", ".json"])
def test_a_reader_who_takes_no_gzip_gets_the_same(client: FlaskClient, path: str) -> None:
    name = client.post("/api/share", json={"source": SOURCE}).get_json()["id"]
    plain = client.get(f"/z/{name}{path}")
    packed = client.get(f"/z/{name}{path}", headers=ZIPPED)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert plain.mimetype == packed.mimetype


def test_a_link_that_is_not_there_is_not_kept_by_readers(client: FlaskClient) -> None:
    missing = client.get("/z/nothing234")
    assert missing.status_code == 404
    assert missing.headers["Cache-Control"] == "no-cache"
    assert "ETag" not in missing.headers


@pytest.mark.parametrize("address", ["", "https://explorer.example.org"])
def test_a_page_names_the_servers_address_and_not_what_its_author_asked_for(
    make_app: MakeApp, address: str
) -> None:
    """Its other readers have never heard of that name, which was somebody's own machine."""
    app = make_app(ADDRESS=address, HOSTS="explorer.example.org")
    elsewhere = {"Host": "localhost:6666"}
    body = {"source": SOURCE}
    name = app.test_client().post("/api/share", json=body, headers=elsewhere).get_json()["id"]
    for headers in (elsewhere, {"Host": "explorer.example.org"}):
        page = app.test_client().get(f"/z/{name}", headers=headers).get_data(as_text=True)
        assert "6666" not in page
        assert f'content="{address or "http://explorer.example.org"}/z/{name}/preview.png"' in page


def store(folder: Path, memory: int, stored: int, address: str = "") -> Renderings:
    """At each address pages are others, as they are of each version."""
    file = folder / "permalinks.sqlite"
    return Renderings(Database(lambda: f"sqlite:///{file}"), memory, stored, address)


def noise(number: int, thousands: int = 1) -> Callable[[str], str]:
    """About so many thousand bytes when they are compressed."""
    length = 1300 * thousands
    return lambda token: "".join(random.Random(number).choices(string.ascii_letters, k=length))


def test_what_is_stored_is_bounded_in_bytes_and_the_oldest_go_first(tmp_path: Path) -> None:
    kept = store(tmp_path, memory=0, stored=10_000)
    for number in range(30):
        kept.get(f"link{number}", "page", noise(number))
        database = sqlite3.connect(tmp_path / "permalinks.sqlite")
        ((size, truth),) = database.execute("select sum(size), sum(length(content)) from rendered")
        database.close()
        assert size == truth <= 10_000
    names = [name for name, _ in rows(tmp_path)]
    assert names == [f"link{number}" for number in range(30 - len(names), 30)]
    assert len(names) >= 5
    made = kept.get("link29", "page", lambda token: pytest.fail("it is stored"))
    assert gzip.decompress(made.content).decode() == noise(29)("")


def test_what_is_larger_than_the_bound_is_shown_and_not_stored(tmp_path: Path) -> None:
    kept = store(tmp_path, memory=0, stored=500)
    assert gzip.decompress(kept.get("x", "page", noise(1)).content).decode() == noise(1)("")
    assert not (tmp_path / "permalinks.sqlite").exists() or rows(tmp_path) == []


class Flights(dict[str, Future[Rendering]]):
    """What is being made, which counts who has come for it."""

    def __init__(self) -> None:
        super().__init__()
        self.came = threading.Semaphore(0)

    def setdefault(self, key: str, default: Any = None) -> Any:
        self.came.release()
        return super().setdefault(key, default)

    def wait_for(self, readers: int) -> None:
        """Until so many have come."""
        assert all(self.came.acquire(timeout=30) for _ in range(readers))


def read_at_once(kept: Renderings, make: Callable[[str], str]) -> list[str]:
    """What twenty readers of one link get: a token, or the name of an error."""
    found: list[str] = []

    def read() -> None:
        try:
            found.append(kept.get("x", "page", make).token)
        except ArithmeticError as error:
            found.append(type(error).__name__)

    threads = [threading.Thread(target=read) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("memory", [0, 1000])
def test_twenty_readers_at_once_have_one_rendering_though_nothing_can_be_kept(
    tmp_path: Path, memory: int
) -> None:
    kept, made = store(tmp_path, memory, stored=0), list[str]()
    kept._flights = flights = Flights()

    def make(token: str) -> str:
        flights.wait_for(20)
        made.append(token)
        return "1"

    assert read_at_once(kept, make) == made * 20
    assert len(made) == 1
    assert not flights


def test_who_waits_for_a_page_does_not_wait_until_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = store(tmp_path, 0, 10_000)
    read = threading.Event()
    monkeypatch.setattr(kept, "_store", lambda *what: read.wait(30) or pytest.fail("they wait"))
    first = threading.Thread(target=kept.get, args=("x", "page", lambda token: "1"))
    first.start()
    assert until(lambda: any(flight.done() for flight in kept._flights.values()))
    again = kept.get("x", "page", lambda token: pytest.fail("it is made"))
    assert gzip.decompress(again.content) == b"1"
    read.set()
    first.join()


def test_a_defect_is_an_error_for_all_who_wait_and_for_nobody_later(tmp_path: Path) -> None:
    kept = store(tmp_path, 1000, 10_000)
    kept._flights = flights = Flights()

    def make(token: str) -> str:
        flights.wait_for(20)
        return str(1 // 0)

    assert read_at_once(kept, make) == ["ZeroDivisionError"] * 20
    assert gzip.decompress(kept.get("x", "page", lambda token: "2").content) == b"2"


def join_renewals() -> None:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def test_another_renderer_makes_its_own_behind_its_first_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.renderings.BEHIND", 0.0)
    store(tmp_path, 0, 10_000, "old").get("x", "page", lambda token: "1")
    renewed = threading.Event()
    made: list[str] = []

    def make(token: str) -> str:
        renewed.wait(20)
        made.append("2")
        return "2"

    new = store(tmp_path, 1000, 10_000, "new")
    for _ in range(3):  # the last one while it is made
        found = new.get("x", "page", make)
        assert (gzip.decompress(found.content), found.current) == (b"1", False)
    renewed.set()
    join_renewals()
    found = new.get("x", "page", make)
    assert (gzip.decompress(found.content), found.current) == (b"2", True)
    assert made == ["2"]
    for renderer, text in (("old", b"1"), ("new", b"2")):
        again = store(tmp_path, 0, 10_000, renderer).get("x", "page", lambda token: "3")
        assert (gzip.decompress(again.content), again.current) == (text, True)


def test_a_page_of_the_version_before_is_shown_once_and_asked_for_again(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not kept by browsers as the new one is, and it is styled: its nonce is its own."""
    monkeypatch.setattr("app.renderings.BEHIND", 0.0)
    name = share(make_app())
    before = make_app().test_client().get(f"/z/{name}")
    monkeypatch.setattr("app.renderings.renderer_name", lambda _: "another")
    client = make_app().test_client()
    first = client.get(f"/z/{name}")
    assert first.data == before.data
    assert first.headers["Cache-Control"] == "no-cache"
    assert first.headers["ETag"] == before.headers["ETag"]
    assert first.headers["Content-Security-Policy"] == before.headers["Content-Security-Policy"]
    join_renewals()
    then = client.get(f"/z/{name}", headers={"If-None-Match": first.headers["ETag"]})
    assert then.status_code == 200
    assert then.headers["ETag"] != first.headers["ETag"]
    assert then.headers["Cache-Control"] == before.headers["Cache-Control"]
    nonce = then.get_data(as_text=True).partition('data-nonce="')[2].partition('"')[0]
    assert f"'nonce-{nonce}'" in then.headers["Content-Security-Policy"]


def test_what_cannot_be_made_anew_is_tried_again_by_the_next_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("app.renderings.BEHIND", 0.0)
    store(tmp_path, 0, 10_000, "old").get("x", "page", lambda token: "1")
    new = store(tmp_path, 1000, 10_000, "new")
    assert gzip.decompress(new.get("x", "page", lambda token: str(1 // 0)).content) == b"1"
    join_renewals()
    assert "cannot be rendered anew" in caplog.text
    assert not new.get("x", "page", lambda token: "2").current
    join_renewals()
    made = new.get("x", "page", lambda token: pytest.fail("it is there"))
    assert (gzip.decompress(made.content), made.current) == (b"2", True)


def test_the_renderers_name_is_that_of_its_templates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = renderer_name("")
    assert renderer_name("") == before
    assert renderer_name("https://elsewhere") != before
    (tmp_path / "frozen.html").write_text("other")
    monkeypatch.setattr("app.renderings.template_folder", lambda: tmp_path)
    assert renderer_name("") != before


def test_a_full_database_drops_what_can_be_made_again_before_it_refuses_a_link(
    make_app: MakeApp, tmp_path: Path
) -> None:
    app = make_app(LINKS_MB=1)
    name = share(app)
    for number in range(120):
        app.extensions[EXTENSION].renderings.get(f"link{number}", "page", noise(number, 10))
    filled = len(rows(tmp_path / "data"))
    assert 20 < filled < 120, "the database took no more"
    for number in range(3):
        body = {"source": f"{SOURCE}-- {noise(number)('')}"}
        assert app.test_client().post("/api/share", json=body).status_code == 200
    assert len(rows(tmp_path / "data")) < 10
    assert make_app(LINKS_MB=1).test_client().get(f"/z/{name}").status_code == 200


def test_a_defect_while_rendering_keeps_nobody_waiting(
    make_app: MakeApp, old_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_app().test_client()
    monkeypatch.setattr(frozen, "html_lines", lambda text, kind: 1 // 0)
    assert client.get(f"/z/{OLD_NAME}").status_code == 500
    monkeypatch.undo()
    assert client.get(f"/z/{OLD_NAME}").status_code == 200


def test_the_state_is_sent_as_it_is_stored(client: FlaskClient) -> None:
    name = client.post("/api/share", json={"source": SOURCE + "-- é ∀ \u2028"}).get_json()["id"]
    answer = client.get(f"/z/{name}.json")
    assert answer.mimetype == "application/json"
    assert json.loads(answer.data)["source"] == SOURCE + "-- é ∀ \u2028"
