"""A database that is full, read-only, locked or away: 503, in words, until it is back."""

import random
import sqlite3
import string
from pathlib import Path
from typing import Any

import pytest
import zstandard
from flask import Flask

from app.database import Database
from app.permalinks import Permalinks
from tests.app.conftest import SOURCE, MakeApp

LETTERS = random.Random(1).choices(string.ascii_letters, k=200_000)
NOISE = "".join(f"-- {''.join(LETTERS[at : at + 90])}\n" for at in range(0, len(LETTERS), 90))
"""A text that stays large when it is compressed, of few lines."""


def share(app: Flask, source: str = SOURCE) -> Any:
    return app.test_client().post("/api/share", json={"source": source})


def assert_unavailable(response: Any, words: str) -> None:
    assert response.status_code == 503
    error = response.get_json()["error"]
    assert error["kind"] == "unavailable"
    assert error["message"] == words
    assert "database" in error["hint"]


def made(make_app: MakeApp, **config: Any) -> tuple[Flask, str]:
    """An application with one link."""
    app = make_app(**config)
    return app, share(app).get_json()["id"]


def test_a_full_database_stores_nothing_and_still_reads(make_app: MakeApp) -> None:
    app, name = made(make_app, LINKS_MB=1)
    for k in range(50):
        response = share(app, f"{SOURCE}-- {k}\n{NOISE}")
        if response.status_code != 200:
            break
    assert response.status_code == 507
    assert response.get_json()["error"]["message"] == "The server has no room for more links."
    assert app.test_client().get(f"/z/{name}.json").get_json()["source"] == SOURCE
    larger = make_app(LINKS_MB=100)
    assert share(larger, SOURCE + NOISE).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        "content = x'00ff'",
        "content = substr(content, 1, 40)",
        "content = 'text'",
        "content = (select content from other)",
    ],
)
def test_a_damaged_row_is_no_link_and_is_told_to_the_operator(
    make_app: MakeApp, tmp_path: Path, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    file = tmp_path / "links.sqlite"
    _, name = made(make_app, DATABASE_URL=f"sqlite:///{file}")
    with sqlite3.connect(file) as database:
        database.execute("update permalinks set made = 'whenever'")  # which no reader needs
        database.execute("create table other (content blob)")
        number = zstandard.compress(b"17")
        database.execute("insert into other values (?)", (number,))
        database.execute(f"update permalinks set {change}")
    fresh = make_app(DATABASE_URL=f"sqlite:///{file}", DATA=str(tmp_path / "other"))
    for form in (".json", "/preview.png"):
        assert fresh.test_client().get(f"/z/{name}{form}").status_code == 404
    assert f"The row of the link {name} is damaged" in caplog.text
    assert share(fresh).get_json()["id"] == name
    assert fresh.test_client().get(f"/z/{name}.json").get_json()["source"] == SOURCE


def test_a_read_only_database_stores_nothing_and_still_reads(
    make_app: MakeApp, tmp_path: Path
) -> None:
    file = tmp_path / "links.sqlite"
    _, name = made(make_app, DATABASE_URL=f"sqlite:///{file}")
    app = make_app(DATABASE_URL=f"sqlite:///file:{file}?mode=ro&uri=true")
    assert_unavailable(share(app, SOURCE + "-- new"), "Links cannot be stored now.")
    assert app.test_client().get(f"/z/{name}.json").get_json()["source"] == SOURCE


def test_a_locked_database_is_tried_again(make_app: MakeApp, tmp_path: Path) -> None:
    file = tmp_path / "links.sqlite"
    app, name = made(make_app, DATABASE_URL=f"sqlite:///{file}?timeout=0.1")
    assert app.test_client().get(f"/z/{name}").status_code == 200
    other = sqlite3.connect(file)
    other.execute("begin exclusive")
    assert_unavailable(share(app, SOURCE + "-- new"), "Links cannot be stored now.")
    assert app.test_client().get(f"/z/{name}").status_code == 200, "it is made already"
    url = f"sqlite:///{file}?timeout=0.1"
    fresh = make_app(DATABASE_URL=url, DATA=str(tmp_path / "other")).test_client()
    assert_unavailable(fresh.get(f"/z/{name}.json"), "Links cannot be read now.")
    page = fresh.get(f"/z/{name}")
    assert page.status_code == 503
    assert "Links cannot be read now." in page.get_data(as_text=True)
    other.rollback()
    assert share(app, SOURCE + "-- new").status_code == 200
    assert fresh.get(f"/z/{name}.json").status_code == 200
    assert fresh.get(f"/z/{name}").status_code == 200


def test_a_database_that_is_away_is_tried_again(make_app: MakeApp, tmp_path: Path) -> None:
    folder = tmp_path / "mount"
    app = make_app(DATABASE_URL=f"sqlite:///{folder / 'links.sqlite'}")
    assert_unavailable(share(app), "Links cannot be stored now.")
    assert_unavailable(app.test_client().get("/z/abc.json"), "Links cannot be read now.")
    folder.mkdir()
    assert share(app).status_code == 200


def test_a_data_folder_that_cannot_be_made(make_app: MakeApp, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    app = make_app(DATA=str(tmp_path / "file" / "below"))
    assert_unavailable(share(app), "Links cannot be stored now.")


@pytest.mark.parametrize("url", ["nosuch://host/links", "postgresql+nosuch://host/links", "x"])
def test_a_database_that_nothing_here_speaks_to(make_app: MakeApp, url: str) -> None:
    assert_unavailable(share(make_app(DATABASE_URL=url)), "Links cannot be stored now.")


def test_a_file_that_is_no_database(make_app: MakeApp, tmp_path: Path) -> None:
    file = tmp_path / "links.sqlite"
    file.write_bytes(b"no database at all" * 1000)
    app = make_app(DATABASE_URL=f"sqlite:///{file}")
    assert_unavailable(share(app), "Links cannot be stored now.")


def test_the_page_works_without_a_database(make_app: MakeApp) -> None:
    client = make_app(DATABASE_URL="nosuch://host/links").test_client()
    assert client.get("/").status_code == 200
    assert client.post("/api/check", json={"source": SOURCE}).get_json()["ok"]


def test_what_went_wrong_is_logged_and_not_told(
    make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    response = share(make_app(DATABASE_URL="sqlite:////nowhere/at/all.sqlite"))
    assert "nowhere" not in response.get_data(as_text=True)
    assert "unable to open database file" in caplog.text


def test_a_store_that_failed_opens_later(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    store = Permalinks(Database(lambda: f"sqlite:///{folder / 'links.sqlite'}"))
    with pytest.raises(Exception, match="cannot be read now"):
        store.read("abc")
    folder.mkdir()
    assert store.read("abc") is None
