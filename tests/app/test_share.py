"""What others get of a link: parts for their pages, a file, a picture; and the API's page."""

import html
import json
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from playwright.sync_api import Browser, expect

from app.gallery import load
from app.paths import EXAMPLES
from app.previews import HEIGHT, WIDTH
from tests.app.browsing import MARKS, serving, violations
from tests.app.conftest import SOURCE
from tests.app.test_permalinks import share

EXAMPLE = {example.name: example.source for example in load(EXAMPLES)}
PROVED = EXAMPLE["concatenation"]


@pytest.fixture
def real(real_app: Flask) -> FlaskClient:
    return real_app.test_client()


def test_a_link_shows_in_other_pages_what_is_asked_for_and_only_there(client: FlaskClient) -> None:
    name = share(client, view={"title": "Why <it> fuses", "notes": "Look at `map`.\n\nThen on."})
    answer = client.get(f"/embed/{name}?stages=fused,source&theme=dark")
    assert answer.status_code == 200
    text = answer.get_data(as_text=True)
    assert "frame-ancestors" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "<script" not in text
    assert 'data-theme="dark"' in text
    assert "Why &lt;it&gt; fuses" in text
    assert "Look at <code>map</code>." in text
    assert text.index('id="fused"') < text.index('id="source"')
    assert 'id="funmem"' not in text
    assert "frame-ancestors 'none'" in client.get(f"/z/{name}").headers["Content-Security-Policy"]
    usual = share(client, view={"panes": [{"stage": "funmem", "compare": ""}]})
    text = client.get(f"/embed/{usual}").get_data(as_text=True)
    assert 'id="source"' in text
    assert 'id="funmem"' in text
    for query in ("stages=fussed", "spoiler=fussed", "theme=fussed"):
        told = client.get(f"/embed/{name}?{query}")
        assert told.status_code == 404
        assert "`fussed`" in told.get_data(as_text=True)
        # What is wrong is read in the frame that it is written for.
        assert "frame-ancestors" not in told.headers["Content-Security-Policy"]
        assert told.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    wrong = client.get(f"/embed/{name}?stages=fussed")
    assert wrong.status_code == 404
    assert "no part `fussed`" in html.unescape(wrong.get_data(as_text=True))
    assert client.get(f"/embed/{name}?theme=pink").status_code == 404
    assert client.get("/embed/aaaaaaaaaa").status_code == 404


def test_a_spoiler_is_folded(client: FlaskClient) -> None:
    name = share(client)
    address = f"/embed/{name}?stages=source,fused,funmem"
    hidden = {"": 0, "&spoiler=1": 2, "&spoiler=all": 3, "&spoiler=funmem": 1}
    for spoiler, count in hidden.items():
        text = client.get(address + spoiler).get_data(as_text=True)
        assert text.count('<details class="spoiler">') == count, spoiler
        assert "<details open" not in text


def test_one_file_holds_everything_and_asks_for_nothing(real: FlaskClient) -> None:
    run = {"input": "[1i32] [2i32]", "backend": "ref"}
    name = share(real, PROVED, run=run)
    answer = real.get(f"/z/{name}/offline.html")
    assert f"stridescope-{name}.html" in answer.headers["Content-Disposition"]
    text = answer.get_data(as_text=True)
    outside = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!#)|url\(|@import', outside)
    (state,) = re.findall(r'<script type="application/json" id="state">(.*?)</script>', text)
    assert json.loads(state) == real.get(f"/z/{name}.json").json
    for stage in json.loads(state)["stages"]:
        assert f'id="{stage}"' in text
    tricky = share(real, SOURCE + "-- </script><script>alert(1)</script>\n")
    text = real.get(f"/z/{tricky}/offline.html").get_data(as_text=True)
    assert "<script>alert" not in text


def pixels(data: bytes) -> set[bytes]:
    """The colours of a PNG of ours."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body = 8, b""
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, chunk = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + chunk)
        if kind == b"IHDR":
            assert struct.unpack(">2I", chunk[:8]) == (WIDTH, HEIGHT)
        body += chunk if kind == b"IDAT" else b""
        at += length + 12
    rows = zlib.decompress(body)
    width = 1 + 3 * WIDTH
    assert len(rows) == width * HEIGHT
    return {
        rows[y * width + 1 + 3 * x : y * width + 4 + 3 * x]
        for y in range(HEIGHT)
        for x in range(0, WIDTH, 3)
    }


def test_a_preview_draws_this_program(real: FlaskClient) -> None:
    seen = {}
    for name in ("concatenation", "matrix_multiplication"):
        link = share(real, EXAMPLE[name])
        seen[name] = real.get(f"/z/{link}/preview.png").data
        assert len(pixels(seen[name])) > 2
        text = real.get(f"/z/{link}").get_data(as_text=True)
        (picture,) = re.findall(r'property="og:image" content="([^"]+)"', text)
        assert picture == f"/z/{link}/preview.png"
        assert 'property="og:title"' in text
        assert "stages" in re.findall(r'property="og:description" content="([^"]+)"', text)[0]
    assert seen["concatenation"] != seen["matrix_multiplication"]
    failing = share(real, "entry main = y\n")
    assert pixels(real.get(f"/z/{failing}/preview.png").data)


def test_states_are_what_the_schema_says(real: FlaskClient) -> None:
    schema = real.get("/api/state.schema.json").json
    assert schema is not None
    checker = Draft202012Validator(schema)
    run = {"input": "[1i32] [2i32]", "backend": "ref"}
    for link in (
        share(real, PROVED, run=run, view={"title": "t"}),
        share(real, "entry main = y\n"),
        share(real, 'import "a"\n', files={"a.fut": "entry main = 1i32\n"}, main="b.fut"),
    ):
        answer = real.get(f"/z/{link}.json")
        assert list(checker.iter_errors(answer.json)) == []
        assert "/api/state.schema.json" in answer.headers["Link"]
    assert list(checker.iter_errors({"format": 1})) != []


def test_the_examples_of_the_apis_page_are_answered(real_app: Flask, tmp_path: Path) -> None:
    with serving(real_app) as address:
        client = real_app.test_client()
        page = client.get("/api/reference", base_url=address).get_data(as_text=True)
        requests = re.findall(r'data-operation="(\w+)">(.*?)</pre>', page, re.DOTALL)
        assert len(requests) > 15
        for operation, body in requests:
            answer = client.post(f"/api/{operation}", json=json.loads(html.unescape(body))).json
            assert answer is not None
            assert answer["ok"], operation
        (program,) = re.findall(r'<pre id="python-program">(.*?)</pre>', page, re.DOTALL)
        file = tmp_path / "ask.py"
        file.write_text(html.unescape(program))
        command = [sys.executable, str(file)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "entry main" in said
    assert "\n12i32\n" in said
    assert re.search(rf"{address}/z/[a-z2-7]{{10}}\n$", said)


@pytest.mark.browser
@pytest.mark.skipif(MARKS[1].args[0], reason="there is no chromium on this machine")
def test_a_part_shows_inside_another_page_and_the_page_itself_does_not(
    browser: Browser, real_app: Flask
) -> None:
    name = share(real_app.test_client(), PROVED)
    blog = Flask("blog")
    blog.add_url_rule("/<path:link>", view_func=lambda link: f'<iframe src="{link}"></iframe>')
    with serving(real_app) as address, serving(blog) as other:
        page = browser.new_context().new_page()
        link = quote(f"{address}/embed/{name}?stages=proofs,source&spoiler=proofs")
        page.goto(f"{other}/{link}")
        inside = page.frame_locator("iframe")
        inside.locator("summary", has_text="Show: Proofs").click()
        expect(inside.locator(".kept-attempt").first).to_be_visible()
        expect(inside.locator(".kept-grid:visible")).to_have_count(1)
        page.goto(f"{other}/{quote(address)}/z/{name}")
        expect(inside.locator("main")).to_have_count(0)
        page.goto(f"{address}/embed/{name}?stages=proofs,source&theme=contrast")
        assert violations(page) == []
        page.goto(f"{address}/api/reference")
        assert violations(page) == []
        page.context.close()
