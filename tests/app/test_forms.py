"""What readers of a link get: made once, elsewhere, kept up to a bound, sent again if it is new."""

import errno
import gzip
import json
import random
import sqlite3
import string
import sys
import threading
import tracemalloc
from base64 import b64encode
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2 import Environment

from app import forms, permalinks, sheet_files
from app.context import EXTENSION, Parts
from app.errors import AppError
from app.factory import WARMING
from app.fair_queue import ANYONE, Client
from app.forms import Forms, renderer_name
from app.permalinks import frozen
from app.pieces import plain
from app.pool import Pool, PoolLimits
from app.sheet_files import SheetFiles, total
from app.sheet_rendering import PREPARED, SHEETS
from app.sheets import Sheet, written
from testing.waiting import until
from tests.app.conftest import SOURCE, MakeApp

OLD = Path(__file__).parent / "links_1_0_0rc1.sql"
"""A database with two links, as 1.0.0rc1 made it: of the fake worker, and of the compiler."""
OLD_NAME, OLD_REAL = "62wxfmdboa", "7iuwwi4jz6"
ZIPPED = {"Accept-Encoding": "gzip"}
FORMS = (
    *("/z/{}", "/z/{}.json", "/z/{}/preview.png", "/z/{}/offline.html", "/z/{}/source.zip"),
    *("/z/{}/source.txt", "/z/{}/fused.txt", "/embed/{}", "/embed/{}?stages=c&theme=dark"),
    "/embed/{}?stages=fused,source&spoiler=fused",
)


def parts(app: Flask) -> Parts:
    found: Parts = app.extensions[EXTENSION]
    return found


def share(app: Flask, source: str = SOURCE) -> str:
    """A link, whose forms are made."""
    answer = app.test_client().post("/api/share", json={"source": source}).get_json()
    settled(app)
    return str(answer["id"])


def settled(app: Flask) -> None:
    """Wait until what is made behind readers is made."""
    assert until(lambda: not len(parts(app).forms.behind))


def asked_for(app: Flask, outcome: str = "ok") -> int:
    """How many sheets makers were asked for."""
    labels = {"outcome": outcome}
    return int(
        parts(app).metrics.registry.get_sample_value("stridescope_sheets_total", labels) or 0
    )


@pytest.fixture
def old_data(tmp_path: Path) -> Path:
    """A data folder that an earlier version left."""
    folder = tmp_path / "data"
    folder.mkdir()
    with sqlite3.connect(folder / "permalinks.sqlite") as database:
        database.executescript(OLD.read_text())
    database.close()
    return folder


def kept(folder: Path) -> list[str]:
    """The sheets in a data folder."""
    return sorted(path.name for path in (folder / "forms").glob("[!.]*"))


def test_every_form_is_made_once_and_elsewhere(make_app: MakeApp) -> None:
    app = make_app()
    name = share(app)
    assert asked_for(app) == len(PREPARED)
    for _ in range(3):
        for form in FORMS:
            assert app.test_client().get(form.format(name)).status_code == 200
    assert asked_for(app) == len(SHEETS)
    again = make_app()
    for form in FORMS:
        got = [one.test_client().get(form.format(name.upper())) for one in (app, again)]
        assert got[0].data == got[1].data, form
        assert got[0].status_code == 200
    assert asked_for(again) == 0


def test_no_form_is_made_in_the_process_that_serves(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a link's state: the answers that it is made of stay packed."""
    for name in (
        *("unpacking.unpacked", "permalinks.unpacked", "permalinks.packed", "frozen.frozen_view"),
        *("compressed_answers.merged", "jobs.opened", "jobs.at_once", "freezing.merged"),
    ):
        monkeypatch.setattr(f"app.{name}", lambda *given: pytest.fail("in this process"))
    app = make_app()
    link = share(app)
    assert all(app.test_client().get(form.format(link)).status_code == 200 for form in FORMS)


def test_a_form_of_ten_megabytes_takes_none_of_them(make_app: MakeApp) -> None:
    """Neither as it is stored nor unpacked is it in the memory of the process that serves."""
    app = make_app()
    client = app.test_client()
    name = share(app)
    state = json.loads(client.get(f"/z/{name}.json").data)
    state["stages"]["fused"] = {"text": f"{'let ' * 1000}\n" * 2600}
    name, *_ = parts(app).permalinks.keep(frozen({**state, "version": "large"}))
    tracemalloc.start()
    try:
        for form in FORMS:
            size = sum(map(len, client.get(form.format(name), buffered=False).response))
            assert size > 10_000_000 or form not in (FORMS[0], FORMS[1], FORMS[3], FORMS[6])
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8_000_000


def test_which_parts_are_embedded_and_how_makes_nothing_new(make_app: MakeApp) -> None:
    app = make_app()
    name = share(app)
    told = {}
    for query in ("", "?theme=dark", "?stages=c", "?stages=c,fused", "?stages=fused,c,c"):
        for spoiler in ("", "1", "all", "c"):
            address = f"/embed/{name}{query}{'&' if query else '?'}spoiler={spoiler}"
            answer = app.test_client().get(address, headers=ZIPPED)
            told[answer.headers["ETag"]] = gzip.decompress(answer.data)
            assert app.test_client().get(address).data == told[answer.headers["ETag"]]
    assert len(set(told.values())) == len(told) >= 12
    assert asked_for(app) == len(PREPARED)
    assert app.test_client().get(f"/embed/{name}?stages=nothing").status_code == 404
    assert app.test_client().get(f"/z/{name}/nothing.txt").status_code == 404
    assert asked_for(app) == len(PREPARED)


def test_ids_that_are_made_up_ask_no_maker(make_app: MakeApp) -> None:
    app = make_app()
    for number in range(20):
        for form in FORMS:
            assert app.test_client().get(form.format(f"madeup{number}")).status_code == 404
    assert not asked_for(app)
    assert not kept(Path(app.config["DATA"]))


@pytest.mark.parametrize("form", FORMS)
def test_a_part_of_a_form_is_not_sent_and_its_head_can_be_asked_for(
    client: FlaskClient, form: str
) -> None:
    name = client.post("/api/share", json={"source": SOURCE}).get_json()["id"]
    whole = client.get(form.format(name))
    many = ", ".join(f"{k}-{k}" for k in range(500))
    part = client.get(form.format(name), headers={"Range": f"bytes={many}"})
    assert (part.status_code, part.data) == (200, whole.data)
    head = client.head(form.format(name))
    assert (head.status_code, head.data) == (200, b"")
    assert head.headers["ETag"] == whole.headers["ETag"]
    assert head.headers["Content-Length"] == str(len(whole.data))


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
    other = make_app(ADDRESS="https://other.example")
    page = other.test_client().get(f"/z/{name}").get_data(as_text=True)
    assert f'content="https://other.example/z/{name}/preview.png"' in page
    assert asked_for(other) == 0, "what is made holds no address"


def test_a_link_that_was_deleted_is_gone(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    name = share(app)
    monkeypatch.setattr(permalinks, "KNOWN_SECONDS", 0.0)
    with sqlite3.connect(Path(app.config["DATA"]) / "permalinks.sqlite") as database:
        database.execute("delete from permalinks")
    database.close()
    for form in FORMS:
        assert app.test_client().get(form.format(name)).status_code == 404
    parts(app).forms.forget(name)
    assert not kept(Path(app.config["DATA"]))


def test_links_of_an_earlier_version_open_and_are_made_once(
    make_app: MakeApp, old_data: Path
) -> None:
    apps = [make_app() for _ in range(3)]
    for app in apps:
        client = app.test_client()
        page = client.get(f"/z/{OLD_NAME}").get_data(as_text=True)
        assert "version 1.0.0rc1 ·" in page
        assert 'id="attempts"' in page
        state = client.get(f"/z/{OLD_NAME}.json").get_json()
        assert state["source"] == SOURCE
        assert state["run"]["answer"]["output"] == "[1i64]"
        assert client.get(f"/z/{OLD_NAME}/source.txt").get_data(as_text=True) == SOURCE
    assert sum(map(asked_for, apps)) == 3
    assert kept(old_data) == [f"{OLD_NAME}.{sheet}" for sheet in ("files", "page", "state")]
    assert share(make_app()) != OLD_NAME, "the version is another"


def test_a_link_that_an_earlier_compiler_made_reads_without_it(
    make_app: MakeApp, old_data: Path
) -> None:
    client = make_app(WORKER_COMMAND=["/bin/false"]).test_client()
    page = " ".join(client.get(f"/z/{OLD_REAL}").get_data(as_text=True).split())
    assert "A map that needs no second array" in page
    assert "1 of 1 arrays that would be copied" in page
    assert "They never share a cell: proved, and confirmed by an independent checker." in page
    assert '<pre class="value" tabindex="0">[3i32, 4i32, 5i32]</pre>' in page
    for stage in client.get(f"/z/{OLD_REAL}.json").get_json()["stages"]:
        assert client.get(f"/z/{OLD_REAL}/{stage}.txt").status_code == 200


def test_an_earlier_versions_database_that_cannot_be_written_is_read(
    make_app: MakeApp, old_data: Path
) -> None:
    url = f"sqlite:///file:{old_data / 'permalinks.sqlite'}?mode=ro&uri=true"
    app = make_app(DATABASE_URL=url)
    for _ in range(3):
        assert app.test_client().get(f"/z/{OLD_NAME}").status_code == 200
        assert app.test_client().get(f"/z/{OLD_NAME}.json").get_json()["source"] == SOURCE
    assert asked_for(app) == 2


def test_many_readers_at_once_wait_for_one_making(make_app: MakeApp, old_data: Path) -> None:
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
    assert asked_for(app) == 1


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
    assert app.test_client().get("/").status_code == 200
    assert app.test_client().get(f"/z/{OLD_NAME}").status_code == 200
    assert not compiled
    assert make_app().test_client().get("/").status_code == 200
    assert "ide.html" in compiled, "a server that is not warm compiles them for its reader"


@pytest.mark.parametrize("form", FORMS)
def test_what_a_reader_has_is_not_sent_again(make_app: MakeApp, form: str) -> None:
    app = make_app()
    url = form.format(share(app))
    first = app.test_client().get(url, headers=ZIPPED)
    tag = first.headers["ETag"]
    again = make_app().test_client().get(url, headers={**ZIPPED, "If-None-Match": f'"x", {tag}'})
    assert again.status_code == 304
    assert again.data == b""
    assert again.headers["ETag"] == tag
    assert again.headers["Cache-Control"] == first.headers["Cache-Control"]
    assert "public" in first.headers["Cache-Control"]
    is_text = "zip" not in first.mimetype and "image" not in first.mimetype
    assert ("Accept-Encoding" in again.headers.get("Vary", "")) == is_text
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


@pytest.mark.parametrize("form", FORMS)
def test_a_reader_who_takes_no_gzip_gets_the_same(client: FlaskClient, form: str) -> None:
    name = client.post("/api/share", json={"source": SOURCE}).get_json()["id"]
    plain = client.get(form.format(name))
    packed = client.get(form.format(name), headers=ZIPPED)
    assert "Content-Encoding" not in plain.headers
    is_text = "zip" not in plain.mimetype and "image" not in plain.mimetype
    assert packed.headers.get("Content-Encoding") == ("gzip" if is_text else None)
    assert (gzip.decompress(packed.data) if is_text else packed.data) == plain.data
    assert plain.mimetype == packed.mimetype


def test_a_link_that_is_not_there_is_not_kept_by_readers(client: FlaskClient) -> None:
    missing = client.get("/z/nothing234")
    assert missing.status_code == 404
    assert missing.headers["Cache-Control"] == "no-cache"
    assert "ETag" not in missing.headers


def store(folder: Path, limit: int, make: forms.Make, renderer: str = "r") -> Forms:
    return Forms(SheetFiles(lambda: folder / "forms", limit, renderer), make, 64)


def making(text: str, renderer: str = "r") -> forms.Make:
    """A maker whose sheets have one piece with this text."""

    def make(link: str, sheets: Sequence[str], client: Client) -> Iterator[dict[str, Any]]:
        for sheet in sheets:
            data = b"".join(written(renderer, {}, {"text": text.encode()}))
            for part, ends in ((data[:9], False), (data[9:], True)):
                encoded = b64encode(part).decode()
                yield {"ok": True, "sheet": sheet, "data": encoded, "ends": ends}
        yield {"ok": True}

    return make


def failing(link: str, sheets: Sequence[str], client: Client) -> Iterator[dict[str, Any]]:
    pytest.fail("it is there")


def text_of(sheet: Sheet) -> str:
    return b"".join(plain([sheet.part("text")])).decode()


def noise(number: int, thousands: int = 1) -> str:
    """About so many thousand bytes when they are compressed."""
    return "".join(random.Random(number).choices(string.ascii_letters, k=1300 * thousands))


def test_what_is_kept_is_bounded_in_bytes_and_the_oldest_go_first(tmp_path: Path) -> None:
    folder = tmp_path / "forms"
    for number in range(30):
        shown = store(tmp_path, 10_000, making(noise(number))).get(f"x{number:02}", "page", ANYONE)
        assert text_of(shown) == noise(number)
        for path in folder.glob("x*"):  # as if each had come a second later
            seconds = int(path.name[1:3])
            sheet_files.os.utime(path, (seconds, seconds))
        assert sum(path.stat().st_size for path in folder.iterdir()) == total(folder) <= 10_000
    names = kept(tmp_path)
    assert names == [f"x{number}.page" for number in range(30 - len(names), 30)]
    assert len(names) >= 5
    assert text_of(store(tmp_path, 10_000, failing).get("x29", "page", ANYONE)) == noise(29)


def test_what_is_read_stays(tmp_path: Path) -> None:
    made = store(tmp_path, 2700, making(noise(1)))
    for name in ("a", "b"):
        made.get(name, "page", ANYONE)
        sheet_files.os.utime(tmp_path / "forms" / f"{name}.page", (1, 1 + ord(name)))
    made.get("a", "page", ANYONE)
    made.get("c", "page", ANYONE)
    assert kept(tmp_path) == ["a.page", "c.page"]


def test_what_is_larger_than_the_bound_is_shown_and_not_kept(tmp_path: Path) -> None:
    assert text_of(store(tmp_path, 500, making(noise(1))).get("x", "page", ANYONE)) == noise(1)
    assert kept(tmp_path) == []


def test_a_folder_that_cannot_be_written_keeps_nobody_from_reading(tmp_path: Path) -> None:
    (tmp_path / "forms").write_text("a file")
    assert text_of(store(tmp_path, 10_000, making("1")).get("x", "page", ANYONE)) == "1"


@pytest.mark.parametrize("has_room", [False, True])
def test_a_full_disk_costs_older_sheets_and_no_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_room: bool
) -> None:
    store(tmp_path, 10_000, making(noise(1))).get("old", "page", ANYONE)
    mkstemp = sheet_files.tempfile.mkstemp

    def full(**given: Any) -> tuple[int, str]:
        if kept(tmp_path) or not has_room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return mkstemp(**given)

    monkeypatch.setattr(sheet_files.tempfile, "mkstemp", full)
    found = store(tmp_path, 10_000, making(noise(2))).get("new", "page", ANYONE)
    assert text_of(found) == noise(2)
    assert kept(tmp_path) == (["new.page"] if has_room else [])


@pytest.mark.parametrize("damage", [b"", b"x", b"{}\n", b'{"format":1}\n', b"\xff" * 99, None])
def test_a_file_that_is_no_sheet_is_made_again(tmp_path: Path, damage: bytes | None) -> None:
    store(tmp_path, 10_000, making(noise(1))).get("x", "page", ANYONE)
    path = tmp_path / "forms" / "x.page"
    path.write_bytes(path.read_bytes()[:-1] if damage is None else damage)
    assert text_of(store(tmp_path, 10_000, making(noise(1))).get("x", "page", ANYONE)) == noise(1)
    assert text_of(store(tmp_path, 10_000, failing).get("x", "page", ANYONE)) == noise(1)


def test_what_nobody_finished_goes_in_the_end(tmp_path: Path) -> None:
    (tmp_path / "forms").mkdir()
    for name, age in ((".new-1", 0), (".new-2", 1)):
        (tmp_path / "forms" / name).write_bytes(bytes(100))
        sheet_files.os.utime(tmp_path / "forms" / name, (age, age))
    (tmp_path / "forms" / ".new-3").touch()
    store(tmp_path, 10_000, making("1")).get("x", "page", ANYONE)
    assert [path.name for path in (tmp_path / "forms").glob(".new*")] == [".new-3"]


class Flights(dict[str, Future[Sheet]]):
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


def read_at_once(made: Forms) -> list[str]:
    """What twenty readers of one link get: its text, or the kind of an error."""
    found: list[str] = []

    def read() -> None:
        try:
            found.append(text_of(made.get("x", "page", ANYONE)))
        except AppError as error:
            found.append(error.kind)

    threads = [threading.Thread(target=read) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def counting(made: list[str], flights: Flights, answers: forms.Make) -> forms.Make:
    """A maker that begins when all readers are there, and tells what it was asked for."""

    def make(link: str, sheets: Sequence[str], client: Client) -> Iterator[dict[str, Any]]:
        flights.wait_for(20)
        made.extend(sheets)
        yield from answers(link, sheets, client)

    return make


def test_twenty_readers_at_once_have_one_making_though_nothing_can_be_kept(tmp_path: Path) -> None:
    flights, made = Flights(), list[str]()
    shown = store(tmp_path, 0, counting(made, flights, making("1")))
    shown._flights = flights
    assert read_at_once(shown) == ["1"] * 20
    assert made == ["page"]
    assert not flights


@pytest.mark.parametrize("kind", ["timeout", "internal", "limitation", "busy", "usage"])
def test_a_failure_is_told_to_all_who_wait_and_kept_where_it_is_the_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def refused(*given: Any) -> Iterator[dict[str, Any]]:
        yield {"ok": True, "sheet": "page", "data": "", "ends": False}
        raise AppError(kind, "It cannot be made.", 500)

    flights, made = Flights(), list[str]()
    shown = store(tmp_path, 1000, counting(made, flights, refused))
    shown._flights = flights
    assert read_at_once(shown) == [kind] * 20
    shown._make = making("2")
    if kind not in ("busy", "usage"):
        with pytest.raises(AppError):
            shown.get("x", "page", ANYONE)
        monkeypatch.setattr(forms.time, "monotonic", lambda: 1e12)
    assert text_of(shown.get("x", "page", ANYONE)) == "2"
    assert made == ["page"]


def test_who_waits_does_not_wait_until_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = store(tmp_path, 10_000, making("1"))
    read = threading.Event()
    monkeypatch.setattr(shown._files, "keep", lambda *what: read.wait(30) or pytest.fail("so long"))
    first = threading.Thread(target=shown.get, args=("x", "page", ANYONE))
    first.start()
    assert until(lambda: any(flight.done() for flight in shown._flights.values()))
    assert text_of(shown.get("x", "page", ANYONE)) == "1"
    read.set()
    first.join()


def test_two_servers_make_one_sheet_once(tmp_path: Path) -> None:
    asked, goes_on = threading.Semaphore(0), threading.Event()

    def slowly(link: str, sheets: Sequence[str], client: Client) -> Iterator[dict[str, Any]]:
        asked.release()
        goes_on.wait(30)
        yield from making("1")(link, sheets, client)

    first, second = (store(tmp_path, 10_000, slowly) for _ in range(2))
    found: list[str] = []

    def read(server: Forms) -> None:
        found.append(text_of(server.get("x", "page", ANYONE)))

    threads = [threading.Thread(target=read, args=(server,)) for server in (first, second)]
    threads[0].start()
    assert asked.acquire(timeout=30)
    threads[1].start()
    assert not asked.acquire(timeout=0.1)
    goes_on.set()
    for thread in threads:
        thread.join()
    assert found == ["1", "1"]
    assert not asked.acquire(blocking=False)


def test_more_readers_than_may_wait_are_told_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = store(tmp_path, 10_000, making("1"))
    monkeypatch.setattr(full, "_most_waiting", 0)
    with pytest.raises(AppError) as told:
        full.get("x", "page", ANYONE)
    assert (told.value.status, told.value.headers["Retry-After"]) == (503, "2")


FAKE_MAKER = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] != "make":
        print(json.dumps({"id": request["id"], "ok": False}), flush=True)
    elif not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "x").close()
        sys.exit(1)
    else:
        time.sleep(1000)
"""


def test_a_maker_that_ends_is_asked_once_more_and_one_that_never_ends_is_stopped(
    make_app: MakeApp, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", FAKE_MAKER, str(tmp_path / "ended")]
    pool = Pool("form", 1, command, PoolLimits(client_waiting=64))
    app = make_app(MAKERS=pool, FORM_SECONDS=0.5)
    other = make_app(DATA=str(tmp_path / "other"))
    state = other.test_client().get(f"/z/{share(other)}.json").get_json()
    name, *_ = parts(app).permalinks.keep(frozen(state))
    parts(app).forms.prepare(name, PREPARED)
    settled(app)
    assert (tmp_path / "ended").exists()
    answers = [app.test_client().get(f"/z/{name}") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [504] * 3
    assert "could not be prepared within 0.5 s" in answers[0].get_data(as_text=True)
    assert asked_for(app, "stopped") == 2 * len(PREPARED) + 1, "the last two asked nobody"
    pool.close()


def test_another_renderer_makes_its_own_behind_its_first_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "BEHIND", 0.0)
    store(tmp_path, 10_000, making("1", "old"), "old").get("x", "page", ANYONE)
    renewed, made = threading.Event(), list[str]()

    def make(link: str, sheets: Sequence[str], client: Client) -> Iterator[dict[str, Any]]:
        renewed.wait(20)
        made.extend(sheets)
        yield from making("2", "new")(link, sheets, client)

    new = store(tmp_path, 10_000, make, "new")
    for _ in range(3):  # the last one while it is made
        found = new.get("x", "page", ANYONE)
        assert (text_of(found), found.is_current) == ("1", False)
    renewed.set()
    assert until(lambda: not len(new.behind))
    found = new.get("x", "page", ANYONE)
    assert (text_of(found), found.is_current) == ("2", True)
    assert made == ["page"]


def test_a_page_of_the_version_before_is_shown_once_and_asked_for_again(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not kept by browsers as the new one is, and it is styled: its nonce is its own."""
    monkeypatch.setattr(forms, "BEHIND", 0.0)
    name = share(make_app())
    before = make_app().test_client().get(f"/z/{name}")
    monkeypatch.setattr("app.factory.renderer_name", lambda *more: "another")
    app = make_app()
    client = app.test_client()
    first = client.get(f"/z/{name}")
    assert first.data == before.data
    assert first.headers["Cache-Control"] == "no-cache"
    assert first.headers["ETag"] == before.headers["ETag"]
    assert first.headers["Content-Security-Policy"] == before.headers["Content-Security-Policy"]
    settled(app)
    then = client.get(f"/z/{name}", headers={"If-None-Match": first.headers["ETag"]})
    assert then.status_code == 200
    assert then.headers["ETag"] != first.headers["ETag"]
    assert then.headers["Cache-Control"] == before.headers["Cache-Control"]
    nonce = then.get_data(as_text=True).partition('data-nonce="')[2].partition('"')[0]
    assert f"'nonce-{nonce}'" in then.headers["Content-Security-Policy"]


def test_what_cannot_be_made_anew_is_tried_again_by_the_next_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(forms, "BEHIND", 0.0)

    def refused(*given: Any) -> Iterator[dict[str, Any]]:
        yield from ()
        raise AppError("internal", "It cannot be made.", 500)

    store(tmp_path, 10_000, making("1", "old"), "old").get("x", "page", ANYONE)
    new = store(tmp_path, 10_000, refused, "new")
    assert text_of(new.get("x", "page", ANYONE)) == "1"
    assert until(lambda: not len(new.behind))
    assert "the link x cannot be prepared: It cannot be made." in caplog.text
    new._make = making("2", "new")
    assert not new.get("x", "page", ANYONE).is_current
    assert until(lambda: not len(new.behind))
    found = new.get("x", "page", ANYONE)
    assert (text_of(found), found.is_current) == ("2", True)


def test_the_renderers_name_is_that_of_its_templates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = renderer_name()
    assert renderer_name() == before
    (tmp_path / "frozen.html").write_text("other")
    monkeypatch.setattr("app.forms.template_folder", lambda: tmp_path)
    assert renderer_name() != before


def test_a_full_database_drops_what_an_earlier_version_kept_before_it_refuses_a_link(
    make_app: MakeApp, tmp_path: Path
) -> None:
    app = make_app(LINKS_MB=1)
    name = share(app)
    with sqlite3.connect(tmp_path / "data" / "permalinks.sqlite") as database:
        database.execute("create table rendered (content blob)")
        database.execute("insert into rendered values (zeroblob(900000))")
    database.close()
    for number in range(3):
        share(app, f"{SOURCE}-- {noise(number, 60)}")
    assert make_app(LINKS_MB=1).test_client().get(f"/z/{name}").status_code == 200


def test_the_state_is_sent_as_it_is_stored(client: FlaskClient) -> None:
    name = client.post("/api/share", json={"source": SOURCE + "-- é ∀ \u2028"}).get_json()["id"]
    answer = client.get(f"/z/{name}.json")
    assert answer.mimetype == "application/json"
    assert json.loads(answer.data)["source"] == SOURCE + "-- é ∀ \u2028"
