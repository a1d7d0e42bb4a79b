"""Frozen states: one content, one link; pages read without JavaScript; failures stay."""

import html
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.context import EXTENSION, parts
from app.database import Database
from app.errors import failure
from app.fair_queue import Client
from app.permalinks import Permalinks, frozen, identity, identity_digest
from tests.app.conftest import SOURCE, MakeApp
from tests.app.fake_worker import MANIFEST


def share(client: FlaskClient, source: str = SOURCE, **more: object) -> str:
    answer = client.post("/api/share", json={"source": source, **more}).get_json()
    assert answer["url"].endswith(f"/z/{answer['id']}")
    return str(answer["id"])


def test_sharing_twice_gives_one_link(client: FlaskClient) -> None:
    name = share(client)
    assert re.fullmatch(r"[a-z2-7]{10}", name)
    assert share(client) == name
    assert share(client, options={"target": "cuda"}) != name
    assert share(client, source=SOURCE + "-- more") != name


def test_sharing_gives_one_link_whoever_compiles_and_runs(make_app: MakeApp) -> None:
    """Nothing is known of the first time but what is stored; the worker's times are others."""
    run = {"input": "[1i64]", "backend": "c"}
    names = {
        share(make_app().test_client(), options=options, run=run)
        for options in ({}, {"target": "c"}, {"disable": [], "fuel": None, "verify": False})
    }
    assert len(names) == 1
    assert share(make_app().test_client()) not in names
    assert share(make_app().test_client(), run={**run, "input": "[2i64]"}) not in names


def test_a_link_does_not_change_when_it_is_shared_again(make_app: MakeApp) -> None:
    body = {"source": SOURCE, "run": {"input": "[1i64]", "backend": "c"}}
    first = make_app().test_client()
    name = share(first, **body)
    page, state = first.get(f"/z/{name}").data, first.get(f"/z/{name}.json").data
    again = make_app().test_client()
    again.post("/api/share", json=body)
    assert (again.get(f"/z/{name}").data, again.get(f"/z/{name}.json").data) == (page, state)


def test_options_that_say_something_make_another_link(client: FlaskClient) -> None:
    given: list[dict[str, object]] = [{}, {"fuel": 0}, {"target": "cuda"}, {"verify": True}]
    given += [{"enable": ["c/fast-functions"]}, {"disable": ["fuse"]}, {"disable": ["fuse", "cse"]}]
    names = [share(client, options=options) for options in given]
    assert len(set(names)) == len(given)
    assert share(client, options={"disable": ["cse", "fuse", "cse"]}) == names[-1]
    both = ["c/fast-functions", "cuda/other"]
    one = share(client, options={"enable": both})
    assert share(client, options={"enable": both[::-1]}) == one


def test_how_it_was_compiled_reads_without_javascript(client: FlaskClient) -> None:
    options = {
        "target": "cuda",
        "disable": ["fuse", "cse"],
        "enable": ["c/fast-functions"],
        "fuel": 3,
    }
    name = share(client, options={**options, "thresholds": {"t_1": 8}})
    for address in (f"/z/{name}", f"/embed/{name}", f"/z/{name}/offline.html"):
        text = html.unescape(re.sub(r"<[^>]*>", "", client.get(address).get_data(as_text=True)))
        assert (
            "Compiled for cuda, without fuse, cse, with c/fast-functions, with 3 rewrites, "
            "with t_1=8."
        ) in text
    assert "Compiled" not in client.get(f"/z/{share(client)}").get_data(as_text=True)


def test_the_files_of_a_program_are_part_of_its_link(client: FlaskClient) -> None:
    """A program without files has the link that it had before programs could have some."""
    name = share(client)
    assert share(client, files={}, main="") == name
    names = [name, share(client, files={"a.fut": ""}), share(client, files={"a.fut": " "})]
    names += [share(client, files={"b.fut": ""}), share(client, files={"a.fut": ""}, main="m.fut")]
    assert len(set(names)) == len(names)
    kept = client.get(f"/z/{names[-1]}.json").get_json()
    assert (kept["files"], kept["main"]) == ({"a.fut": ""}, "m.fut")
    plain = client.get(f"/z/{name}.json").get_json()
    assert not {"files", "main"} & {*plain, *identity(plain)}


def test_a_link_opens_without_compiling(make_app: MakeApp) -> None:
    name = share(make_app().test_client())
    broken = make_app(WORKER_COMMAND=["/bin/false"], MANIFEST=[]).test_client()
    state = broken.get(f"/z/{name}.json").get_json()
    assert state["source"] == SOURCE
    assert list(state["stages"]) == [stage["id"] for stage in MANIFEST]
    assert state["manifest"] == MANIFEST
    assert broken.get(f"/z/{name}").status_code == 200


def test_the_page_reads_without_javascript(client: FlaskClient) -> None:
    name = share(client, run={"input": "[1i64]", "backend": "ref"})
    page = client.get(f"/z/{name}").get_data(as_text=True)
    assert "<title>A test" in page
    for stage in MANIFEST:
        assert f'id="{stage["id"]}"' in page
        assert stage["explain"] in page
    assert "<code>ys</code> is read once." in page
    assert '<span class="t-keyword">entry</span>' in page
    assert '<span class="t-keyword">let</span>' in page
    assert '<pre class="value" tabindex="0">[1i64]</pre>' in page
    assert "<script>" not in page


@pytest.mark.parametrize(
    ("comment", "title"),
    [
        ("-- Sums of rows", "Sums of rows"),
        ("-- Sums of rows\n-- They go to a new array.", "Sums of rows"),
        (
            "\n--\n-- | Sums of rows, each\n-- by itself. Then more.",
            "Sums of rows, each by itself.",
        ),
        ("-- Sums\n--\n-- of rows", "Sums"),
        ("-- " + "word " * 40, "word " * 14 + "word…"),
        ("", "entry main (n: i64) = n"),
    ],
)
def test_a_link_is_called_what_its_comment_begins_with(
    client: FlaskClient, comment: str, title: str
) -> None:
    name = share(client, f"{comment}\nentry main (n: i64) = n")
    page = client.get(f"/z/{name}").get_data(as_text=True)
    assert f"<title>{title}" in page


def test_proofs_and_memory_read_without_javascript(client: FlaskClient) -> None:
    page = client.get(f"/z/{share(client)}").get_data(as_text=True)
    text = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
    assert "1 of 3 arrays" in text
    assert "✓ row into ys : built in place update, line 4" in text
    assert "✗ row into ys : refused copy, line 4" in text
    assert "– zs into ys : does not apply concatenation, line 2" in text
    assert "They never share a cell: proved, and confirmed by an independent checker." in text
    assert "n - 2*b - 1 >= 0 k counts the iterations of a loop, line 3" in text
    assert "Witness: cell 4 for b = 1, n = 4." in text
    assert "Not proved: m - k - 1 >= 0 ." in text
    assert page.count('<td class="in-a">/</td>') >= 5
    assert '<td class="in-ab">x</td>' in page
    assert "FUNMEM 2 160 160" in text


def test_links_without_proofs_and_memory_still_read(client: FlaskClient, make_app: MakeApp) -> None:
    name = share(client)
    state = client.get(f"/z/{name}.json").get_json()
    state["version"] = "0.0.9"
    old = {key: value for key, value in state.items() if key not in ("attempts", "lifetimes")}
    app = make_app()
    with app.app_context():
        kept, *_ = parts().permalinks.keep(frozen(old))
    page = app.test_client().get(f"/z/{kept}").get_data(as_text=True)
    assert 'id="attempts"' not in page
    assert 'id="fused"' in page


def test_a_stage_as_text(client: FlaskClient) -> None:
    name = share(client)
    stage = client.get(f"/z/{name}/fused.txt")
    assert stage.mimetype == "text/plain"
    assert "-- fused\n" in stage.get_data(as_text=True)
    assert client.get(f"/z/{name}/source.txt").get_data(as_text=True) == SOURCE
    missing = client.get(f"/z/{name}/nothing.txt")
    assert missing.status_code == 404
    assert "typed, fused, funmem, c" in missing.get_data(as_text=True)


def test_all_files_as_a_zip(client: FlaskClient) -> None:
    files = {"lib/a.fut": "def a = 1i32\n", "main.fut": "def b = 2i32 -- ø\n"}
    source = f'import "lib/a"\nimport "main"\n{SOURCE}'
    for main, name in ("", "main1.fut"), ("top.fut", "top.fut"):
        link = share(client, source=source, files=files, main=main)
        assert f'href="/z/{link}/source.zip"' in client.get(f"/z/{link}").get_data(as_text=True)
        packed = io.BytesIO(client.get(f"/z/{link}/source.zip").data)
        with zipfile.ZipFile(packed) as archive:
            assert {n: archive.read(n).decode() for n in archive.namelist()} == {
                name: source,
                **files,
            }
    assert client.get("/z/aaaaaaaaaa/source.zip").status_code == 404


def test_a_failure_is_kept(client: FlaskClient) -> None:
    name = share(client, source="let x = WRONG\n")
    state = client.get(f"/z/{name}.json").get_json()
    assert state["error"]["span"] == [1, 9, 1, 14]
    page = client.get(f"/z/{name}").get_data(as_text=True)
    assert "Unknown name <code>WRONG</code>." in page
    assert "Did you mean <code>RIGHT</code>?" in page


def test_the_result_of_a_run_is_kept_as_it_was_seen(client: FlaskClient) -> None:
    run = {"input": "[1i64]", "backend": "ref"}
    seen = client.post("/api/run", json={"source": SOURCE, **run}).get_json()
    name = share(client, run=run)
    kept = client.get(f"/z/{name}.json").get_json()["run"]
    assert kept["request"] == run
    assert kept["answer"] == seen


def test_text_in_a_link_is_text(client: FlaskClient) -> None:
    name = share(client, source="-- <script>alert(1)</script>\nentry main = 1\n")
    page = client.get(f"/z/{name}").get_data(as_text=True)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize("name", ["nothing123", "..%2f..", "a" * 100, "%00"])
def test_a_link_that_is_not_there(client: FlaskClient, name: str) -> None:
    assert client.get(f"/z/{name}").status_code == 404
    assert client.get(f"/z/{name}.json").get_json()["ok"] is False


def test_too_large_a_view_is_refused(client: FlaskClient) -> None:
    body = {"source": SOURCE, "view": {"x": "y" * 20_000}}
    assert client.post("/api/share", json=body).status_code == 413


def test_times_are_no_part_of_the_identity() -> None:
    base: dict[str, Any] = {"version": "1", "source": "a", "options": {}}

    def state(ms: float, text: str = "x", output: str = "1", **more: str) -> dict[str, Any]:
        answer = {"ok": True, "output": output, "total_ms": ms, "peak_bytes": int(ms), "cores": 2}
        stage = {"text": text, "ms": ms, "show_ms": ms}
        run = {"request": {"backend": "c"}, "answer": answer}
        return {**base, "stages": {"c": stage}, "run": run, "made": str(ms), **more}

    assert identity_digest(state(1.5)) == identity_digest(state(2.5))
    others = [state(1, text="y"), state(1, output="2"), state(1, version="2"), state(1, source="b")]
    assert len({identity_digest(one) for one in [state(1), *others]}) == 5


def test_ids_grow_where_they_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Permalinks(Database(lambda: f"sqlite:///{tmp_path / 'links.sqlite'}"))
    digests = iter(["00" * 32, "00" * 20 + "ff" * 12])
    monkeypatch.setattr("app.permalinks.identity_digest", lambda state: next(digests))
    first, new, _ = store.keep(frozen({"version": "1", "source": "a"}))
    second, also_new, _ = store.keep(frozen({"version": "1", "source": "b"}))
    assert new
    assert also_new
    assert len(second) > len(first)
    for name, source in ((first, "a"), (second, "b")):
        found = store.read(name)
        assert found is not None
        assert found[0] == json.loads(found[1])
        assert found[0]["source"] == source


def test_another_database_can_be_named(make_app: MakeApp, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.sqlite"
    name = share(make_app(DATABASE_URL=f"sqlite:///{file}").test_client())
    assert file.exists()
    assert not list((tmp_path / "data").glob("*.sqlite"))
    assert make_app().test_client().get(f"/z/{name}").status_code == 404


def test_states_are_stored_compressed(make_app: MakeApp, tmp_path: Path) -> None:
    long = SOURCE + "-- the same line again\n" * 2000
    client = make_app().test_client()
    name = share(client, source=long)
    size = len(json.dumps(client.get(f"/z/{name}.json").get_json()))
    assert (tmp_path / "data" / "permalinks.sqlite").stat().st_size < size / 4


def test_nothing_is_kept_of_what_there_was_no_worker_for(make_app: MakeApp, tmp_path: Path) -> None:
    response = make_app(QUEUE_LIMIT=0).test_client().post("/api/share", json={"source": SOURCE})
    assert response.status_code == 503
    assert response.get_json()["error"]["kind"] == "busy"
    assert not (tmp_path / "data" / "permalinks.sqlite").exists()


def test_a_link_has_all_of_a_state_or_there_is_no_link(make_app: MakeApp) -> None:
    app = make_app()
    client = app.test_client()
    jobs = app.extensions[EXTENSION].jobs
    answers = jobs.stream

    def one_too_many(
        name: str, body: dict[str, Any], asked: Client, **how: Any
    ) -> Iterator[dict[str, Any]]:
        if name == "attempts":
            return iter([failure("busy", "Every worker is busy.")])
        given: Iterator[dict[str, Any]] = answers(name, body, asked, **how)
        return given

    jobs.stream = one_too_many
    assert client.post("/api/share", json={"source": SOURCE}).status_code == 503
    jobs.stream = answers
    assert client.get(f"/z/{share(client)}.json").get_json()["attempts"]
