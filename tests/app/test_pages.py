"""The HTML pages and the gallery, without a browser."""

import gzip
from pathlib import Path

import pytest
import zstandard
from flask.testing import FlaskClient

from app.gallery import Look, load, parse
from app.paths import EXAMPLES
from tests.app.browsing import BUILT

TEXT = """\
-- A title.
-- The point,
-- in two lines.
-- group: Memory
-- order: 20
-- look: fused/proof {main (xs: []i32)}: what is fused
-- look: funmem/memory(xs) {xs[0]}: where it is
-- ==
-- entry: main
-- random input { [10]i32 }
-- input { [1i32] }
-- output { 1i32 }

entry main (xs: []i32) =
  xs[0]
"""


def test_an_examples_head_is_read_and_kept_out_of_the_program() -> None:
    example = parse("name", TEXT)
    assert example.title == "A title"
    assert example.point == "The point, in two lines."
    assert (example.group, example.order) == ("Memory", 20)
    assert (example.input, example.random) == ("[1i32]", "[10]i32")
    assert example.source.startswith("-- A title.\n\nentry main")
    assert example.looks == (
        Look("fused", "main (xs: []i32)", "what is fused", "proof"),
        Look("funmem", "xs[0]", "where it is", "memory", "xs"),
    )


@pytest.mark.parametrize("text", ["", "entry main = 1", "-- ==\n-- input {}\n\nentry main = 1"])
def test_an_example_without_a_head_has_a_name(text: str) -> None:
    assert parse("dot_product", text).title == "Dot product"


def test_all_examples_have_a_title_a_point_and_things_to_look_at() -> None:
    examples = load(EXAMPLES)
    assert examples
    for example in examples:
        assert example.title, example.name
        assert example.point, example.name
        file = EXAMPLES / (example.main or f"{example.name}.fut")
        written = file.read_text("utf-8").count("\n-- look:")
        assert 0 < len(example.looks) == written, example.name
        for look in example.looks:
            assert example.source.count(look.code) == 1, look


def test_the_front_page_reads_without_javascript(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    for example in load(EXAMPLES):
        assert f'href="/examples/{example.name}"' in page
    assert "<script>" not in page


def test_an_example_has_a_page(client: FlaskClient) -> None:
    name = load(EXAMPLES)[0].name
    page = client.get(f"/examples/{name}").get_data(as_text=True)
    assert f'data-example="{name}"' in page
    assert client.get("/examples/nothing").status_code == 404


@pytest.mark.skipif(not BUILT.exists(), reason="the page is not built: run `make setup`")
@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip, deflate, zstd", "zstd"),
        ("gzip, deflate", "gzip"),
        ("gzip, br;q=0", "gzip"),
        ("gzip, zstd;q=0", "gzip"),
        ("gzip;q=0, identity", None),
        ("", None),
    ],
)
def test_static_files_come_as_small_as_the_browser_takes_them(
    client: FlaskClient, accepted: str, coding: str | None
) -> None:
    answer = client.get("/static/dist/main.js", headers={"Accept-Encoding": accepted})
    assert answer.headers.get("Content-Encoding") == coding
    assert "Accept-Encoding" in answer.headers["Vary"]
    if coding == "br":  # a browser unpacks it in all of its tests
        assert answer.data == BUILT.with_name("main.js.br").read_bytes()
        assert len(answer.data) < 0.32 * BUILT.stat().st_size
        return
    unpack = {"zstd": zstandard.decompress, "gzip": gzip.decompress, None: bytes}[coding]
    assert unpack(answer.data) == BUILT.read_bytes()


def test_static_files_of_a_version_are_kept_for_ever(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    start = page.index("/static/icon.svg?v=")
    url = page[start : page.index('"', start)]
    assert "immutable" in client.get(url).headers["Cache-Control"]
    assert client.get("/static/icon.svg").headers["Cache-Control"] == "no-cache"


def test_templates_name_no_style_and_no_script_of_their_own() -> None:
    for template in (Path(__file__).parents[2] / "templates").glob("*.html"):
        text = template.read_text()
        assert "style=" not in text, template.name
        assert "onclick" not in text, template.name
