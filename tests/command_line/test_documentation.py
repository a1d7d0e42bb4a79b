"""`stridescope doc`: what the pages show, where their links lead, and that text stays text."""

from __future__ import annotations

import posixpath
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from compiler.__main__ import main
from compiler.command_line.documentation import pages

VECTORS = """\
-- | Points of the plane.
type point = {x: f32, y: f32}
-- | Moves `p` to the right.
--
-- A <script>alert(1)</script> & more.
def move (p: point) (d: f32): point = {x = p.x + d, y = p.y}
local def hidden = 1i32
def inferred xs = map (+ 1i64) xs
-- | Joins.
def (<+>) (a: i32) (b: i32) = a + b
module type shape = {
  -- | Its type.
  type t
  val area: t -> f32
}
module square: shape with t = f32 = {
  type t = f32
  def area (x: t) = x * x
}
"""
FILES = {
    "vectors.fut": VECTORS,
    'lib/a "b" <i>.fut': 'import "../vectors"\n-- | Twice.\ndef twice (p: point) = move p p.x\n',
    "index.fut": "def x = 1i32\n",
}


class Reader(HTMLParser):
    """The tags, links, ids and words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = dict(attrs)
        assert known.keys() <= {"href", "id", "lang", "charset"}
        if link := known.get("href"):
            self.links.append(link)
        if name := known.get("id"):
            self.ids.append(name)

    def handle_data(self, data: str) -> None:
        self.words += data


READ = {path: Reader(text) for path, text in pages(FILES).items()}


def test_there_is_a_page_for_each_file_and_an_index() -> None:
    assert READ.keys() == {"index.html", *(f"{path}.html" for path in FILES)}
    assert {unquote(link) for link in READ["index.html"].links} == {f"{p}.html" for p in FILES}


@pytest.mark.parametrize("path", READ)
def test_all_links_lead_somewhere(path: str) -> None:
    for link in READ[path].links:
        target, anchor = urldefrag(link)
        page = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(target)))
        assert page in READ, link
        assert not anchor or unquote(anchor) in READ[page].ids


def test_a_page_shows_what_others_may_use_with_types_and_comments() -> None:
    found = READ["vectors.fut.html"]
    assert "type.point" in found.ids
    assert "function.<+>" in found.ids
    assert "module-type.shape.type.t" in found.ids
    assert "def move (p: point) (d: f32): point" in found.words
    assert "Moves p to the right." in found.words
    assert "Type: def inferred [n] (xs: [n]i64): *[n]i64" in found.words
    assert "Joins." in found.words
    assert "module square: shape with t = f32type t" in found.words
    assert "This file has errors." not in found.words
    assert "hidden" not in found.words
    other = READ['lib/a "b" <i>.fut.html']
    assert "../vectors.fut.html#type.point" in other.links


def test_what_is_written_is_text() -> None:
    found = READ["vectors.fut.html"]
    assert "script" not in found.tags
    assert "A <script>alert(1)</script> & more." in found.words
    assert "i" not in READ['lib/a "b" <i>.fut.html'].tags
    assert 'lib/a "b" <i>.fut' in READ["index.html"].words


def test_a_file_with_errors_has_a_page_that_says_so() -> None:
    for wrong in ("def x = 1 +\ndef y = 2\n", "def y: i32 = true\n", "def y = z\n", ")", "\0"):
        found = Reader(pages({"a.fut": wrong})["a.fut.html"])
        assert "This file has errors." in found.words


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/v.fut").write_text(VECTORS)
    assert main(["doc", str(tmp_path / "lib"), "--to", str(tmp_path / "out/html")]) == 0
    assert capsys.readouterr().out.split() == ["index.html", "v.fut.html"]
    assert "Moves <code>p</code>" in (tmp_path / "out/html/v.fut.html").read_text()
    assert main(["doc", str(tmp_path / "out"), "--to", str(tmp_path / "x")]) == 2
    assert "There is no file in" in capsys.readouterr().err
    assert main(["doc", str(tmp_path / "lib"), "--to", str(tmp_path / "lib/v.fut")]) == 2
    assert "Cannot write" in capsys.readouterr().err
