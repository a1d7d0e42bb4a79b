"""The lexers lose no character and colour words; the page knows the same words."""

import re
from pathlib import Path

import pytest

from app import lexers
from app.highlight import LONGEST, html_lines
from app.paths import EXAMPLES

WORDS = Path(__file__).parents[2] / "static" / "src" / "words.ts"


def tokens(name: str, text: str) -> list[tuple[str, str]]:
    lexer = lexers.LEXERS[name](stripnl=False, ensurenl=False)
    return [(str(kind).removeprefix("Token."), piece) for kind, piece in lexer.get_tokens(text)]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.fut")), ids=lambda path: path.stem)
def test_no_character_is_lost_and_none_is_an_error(path: Path) -> None:
    text = path.read_text()
    for name in ("futhark", "ir"):
        found = tokens(name, text)
        assert "".join(piece for _, piece in found) == text
        assert not [piece for kind, piece in found if kind == "Error"]


def test_futhark_words() -> None:
    text = "def f 't [n] (xs: *[n]i32) = map (+1i32) xs with [0] = i32.max 0x1f 2.5e-3f32 -- done"
    found = {piece: kind for kind, piece in tokens("futhark", text)}
    assert found["def"] == "Keyword"
    assert found["f"] == "Name.Function"
    assert found["'t"] == "Name.Variable"
    assert found["i32"] in ("Keyword.Type", "Name.Namespace")
    assert found["map"] == "Name.Builtin"
    assert found["1i32"] == "Literal.Number"
    assert found["2.5e-3f32"] == "Literal.Number"
    assert found["-- done"] == "Comment.Single"


def test_ir_words() -> None:
    text = "let xs_3: [n_1]f32 @ mem_2 -> 0 + i*4 = segmap (i < n_1) { f(x) }"
    found = {piece: kind for kind, piece in tokens("ir", text)}
    assert found["let"] == found["segmap"] == "Keyword"
    assert found["mem_2"] == "Name.Label"
    assert found["f"] == "Name.Function"


def test_lines_are_complete_in_themselves() -> None:
    lines = html_lines('/* one\n two */ int x = "a<b";\n', "text")
    assert len(lines) == 2
    for line in lines:
        assert line.count("<span") == line.count("</span>")
    assert "&lt;" in lines[1]


@pytest.mark.parametrize("length", [1, LONGEST])
def test_only_a_newline_ends_a_line(length: int) -> None:
    lines = html_lines("-- a\r b\x0c\x1d\u2028c\n" + "x" * length + "\n", "source")
    assert len(lines) == 2


def test_the_page_knows_the_same_words() -> None:
    text = WORDS.read_text()
    for name in ("KEYWORDS", "PRIMS", "FUNCTIONS", "IR_WORDS"):
        match = re.search(rf"{name} = list\(`([^`]*)`\)", text)
        assert match, name
        assert match[1].split() == getattr(lexers, name), name
