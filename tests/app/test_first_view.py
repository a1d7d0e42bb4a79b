"""What the page tells of its first view: what is known, and nothing that has to be awaited."""

import json
import re
from pathlib import Path
from typing import Any

from flask import Flask

from app.context import EXTENSION, Parts
from app.first_view import LONGEST, prepare
from tests.app.conftest import MakeApp

PROGRAM = "-- Greeting </script> & <b>\n-- Its point.\n-- ==\n\nentry main (x: i64) = x + 1\n"


def folder(where: Path, program: str = PROGRAM) -> Path:
    found = where / "examples"
    found.mkdir()
    (found / "greeting.fut").write_text(program)
    return found


def told(app: Flask, path: str = "/") -> dict[str, Any] | None:
    """The data that a page carries for its first view."""
    text = app.test_client().get(path).get_data(as_text=True)
    found = re.search(r'<script type="application/json" id="first">(.*?)</script>', text, re.S)
    return json.loads(found[1]) if found else None


def prepared(app: Flask) -> None:
    parts: Parts = app.extensions[EXTENSION]
    prepare(parts.jobs, parts.examples()[0])


def test_a_page_is_there_before_anything_is_known(make_app: MakeApp, tmp_path: Path) -> None:
    """Also where no compiler ever answers."""
    app = make_app(EXAMPLES=folder(tmp_path), WORKER_COMMAND=["/bin/false"], MANIFEST=None)
    assert app.test_client().get("/").status_code == 200
    assert told(app) is None


def test_what_is_known_of_the_front_example_comes_with_the_page(
    make_app: MakeApp, tmp_path: Path
) -> None:
    app = make_app(EXAMPLES=folder(tmp_path))
    assert told(app) is None
    prepared(app)
    first = told(app)
    assert first is not None
    assert first["example"] == "greeting"
    assert first["known"]["text"]["source"].startswith("-- Greeting </script> & <b>\n")
    asked = [one["request"]["op"] for one in first["known"]["answers"]]
    assert asked[:4] == ["check", "show", "places", "costs"]
    assert all(one["answer"]["ok"] for one in first["known"]["answers"])
    title = "-- Greeting &lt;/script&gt; &amp; &lt;b&gt;"
    assert first["source"][0] == f'<span class="t-comment">{title}</span>'
    shown = first["known"]["answers"][1]["answer"]["stages"]
    for name, lines in first["stages"].items():
        assert len(lines) == len(shown[name]["lines"])
    assert told(app, "/examples/greeting") == first


def test_what_a_narrow_page_asked_for_is_known_too(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app(EXAMPLES=folder(tmp_path))
    client = app.test_client()
    client.get("/api/manifest")
    source = client.get("/api/examples").get_json()["examples"][0]["source"]
    lives = {"op": "lifetimes", "stage": "funmem", "values": {}}
    costs = {"op": "costs", "sizes": {}}
    requests = [{"op": "check"}, {"op": "show", "texts": ["fused"]}, {"op": "places"}, costs, lives]
    body = {"source": source, "options": {}, "requests": requests}
    client.post("/api/batch", json=body).get_data()
    first = told(app)
    assert first is not None
    assert [one["request"] for one in first["known"]["answers"]] == requests
    assert list(first["stages"]) == ["fused"]


def test_what_is_long_is_asked_for_by_the_page(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app(EXAMPLES=folder(tmp_path, PROGRAM + "-- more\n" * (LONGEST // 8)))
    prepared(app)
    assert told(app) is None
