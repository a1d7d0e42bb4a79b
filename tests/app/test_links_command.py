"""`stridescope links`: what an operator does with links, and anybody with one's own."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from app import links
from tests.app.browsing import serving
from tests.app.conftest import SOURCE, MakeApp

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command on the data of `make_app`'s applications: status, output, complaints."""
    monkeypatch.setenv("STRIDESCOPE_DATA", str(tmp_path / "data"))

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["stridescope links", *arguments])
        try:
            status = links.main()
        except SystemExit as ended:
            status = int(str(ended.code))
        return status, *capsys.readouterr()

    return run


def share(app: Flask, more: str = "") -> dict[str, str]:
    answer = app.test_client().post("/api/share", json={"source": SOURCE + more}).get_json()
    assert answer["ok"]
    return dict(answer)


def test_links_are_listed_and_deleted(make_app: MakeApp, run: Run) -> None:
    app = make_app()
    names = [share(app, f"-- {number}")["id"] for number in range(3)]
    client = app.test_client()
    assert client.get(f"/z/{names[0]}").status_code == 200
    status, told, _ = run("list")
    assert status == 0
    assert [line.split()[0] for line in told.splitlines()[:3]] == names
    assert told.splitlines()[3].startswith("3 links, 0.0 MB")
    listed = [json.loads(line) for line in run("list", "--json")[1].splitlines()]
    assert {one["id"]: one["bytes"] > 100 for one in listed} == dict.fromkeys(names, True)
    assert run("list", "--older", "1")[1].startswith("0 links")
    assert run("delete", "--older", "1")[1] == "0 deleted\n"
    assert run("delete", names[0], "nothing") == (1, "1 deleted\n", "There is no link nothing.\n")
    assert not list(Path(app.config["DATA"]).glob(f"forms/{names[0]}.*"))
    assert make_app().test_client().get(f"/z/{names[0]}").status_code == 404
    assert run("delete", "--older", "0")[1] == "2 deleted\n"
    assert run("delete")[0] == 1


def test_what_is_exported_is_imported_elsewhere(
    make_app: MakeApp, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    names = [share(app, f"-- {number}")["id"] for number in range(2)]
    before = app.test_client().get(f"/z/{names[1]}.json").get_data()
    file = tmp_path / "links.jsonl"
    assert run("export", names[1], "--to", str(file))[0] == 0
    assert len(file.read_text().splitlines()) == 1
    assert run("export", "--to", str(file)) == (0, "", "2 written\n")
    assert run("export", "nothing", "--to", "-")[2].endswith("There is no link nothing.\n")
    assert run("import", str(file))[1] == "0 new, 2 already there\n"
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv("STRIDESCOPE_DATA", str(elsewhere))
    assert run("import", str(file))[1] == "2 new, 0 already there\n"
    other = make_app(DATA=str(elsewhere))
    assert other.test_client().get(f"/z/{names[1]}.json").get_data() == before
    assert share(other, "-- 1")["id"] == names[1], "it is the same link"


def test_a_damaged_link_is_left_out_and_named(make_app: MakeApp, run: Run, tmp_path: Path) -> None:
    app = make_app()
    names = [share(app, f"-- {number}")["id"] for number in range(2)]
    with sqlite3.connect(tmp_path / "data" / "permalinks.sqlite") as database:
        database.execute("update permalinks set content = x'00' where id = ?", names[:1])
    status, told, said = run("export", "--to", "-")
    assert (status, len(told.splitlines())) == (1, 1)
    assert said == f"1 written\nSkipped because they are damaged: {names[0]}.\n"


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "{}",
        '{"id": "aa", "digest": "00", "made": "2026-01-01", "version": "1", "state": {}}',
        '{"id": "bb", "digest": "00", "made": "2026-01-01", "version": "1", "state": {}}',
        '{"id": "aa", "digest": "00", "made": "then", "version": "1", "state": {}}',
        '{"id": "", "digest": "00", "made": "2026-01-01", "version": "1", "state": {}}',
        "[" * 10_000,
    ],
)
def test_what_is_no_link_is_not_imported(run: Run, tmp_path: Path, line: str) -> None:
    file = tmp_path / "links.jsonl"
    file.write_text(f"\n{line}\n")
    status, told, said = run("import", str(file))
    assert (status, told) == (1, "")
    assert said.startswith("Line 2 is not a link: ")
    assert run("list")[1] == "0 links, 0.0 MB\n"


def test_one_deletes_ones_own_link_by_its_key(make_app: MakeApp, run: Run) -> None:
    with serving(make_app()) as address:
        app = make_app()
        made = share(app)
        url = f"{address}/z/{made['id']}"
        assert run("delete", url, "--key", "x")[0] == 1
        assert run("delete", url, "--key", made["key"]) == (0, "deleted\n", "")
        status, _, said = run("delete", url, "--key", made["key"])
        assert status == 1
        assert said.startswith("There is no link with this id and this key.")
    assert app.test_client().get(f"/z/{made['id']}").status_code == 404
    assert "does not answer" in run("delete", url, "--key", "x")[2]
    for wrong in ("x", "ftp://x/z/y", "http://x/"):
        assert "is not the address of a link" in run("delete", wrong, "--key", "x")[2]
    assert run("delete", "a", "b", "--key", "x")[0] == 1


def test_a_database_that_cannot_be_used_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STRIDESCOPE_DATABASE_URL", "nosuch://host/links")
    assert run("list")[2].startswith("The database cannot be used: ")
    monkeypatch.setenv("STRIDESCOPE_LINKS_MB", "many")
    assert run("list") == (2, "", "STRIDESCOPE_LINKS_MB must be int, not 'many'\n")
    monkeypatch.delenv("STRIDESCOPE_LINKS_MB")
    assert "cannot be opened" in run("import", str(tmp_path / "nothing"))[2]
