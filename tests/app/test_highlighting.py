"""No language loses a character; words have their colours; the page knows the same words."""

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from pygments.lexer import RegexLexer
from pygments.lexers import find_lexer_class_by_name

from app.highlight import LEXERS, LONGEST, html_lines, runs
from app.paths import EXAMPLES
from compiler.codegen.kernels.nodes import KERNELS
from compiler.frontend.flatpack.evaluate import WORDS as WORDS_OF_FLATPACK
from compiler.frontend.flatpack.evaluate import library
from compiler.frontend.flatpack.parser import RESERVED
from compiler.ir.nodes import CORE
from compiler.public import lexers
from compiler.public.lexers import FlatPackLexer, FutharkLexer, StageLexer

WORDS = Path(__file__).parents[2] / "static" / "src" / "words.ts"


def classes(name: str, text: str) -> dict[str, str]:
    """The class of each run that is not empty; of equal ones the last one's."""
    return {run.strip(): kind for kind, run in runs(name, text) if run.strip()}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.f*")), ids=lambda path: path.stem)
def test_no_character_is_lost(path: Path) -> None:
    text = path.read_text() + "\x00\x1d\u2028 é∀ \\\n'\n\"\n#[\n/*"
    for name in LEXERS:
        assert "".join(run for _, run in runs(name, text)) == text, name


def test_futhark_words() -> None:
    text = (
        "def f 't [n] (xs: *[n]i32) = map (+1i32) xs with [0] = i32.max 0x1f 2.5e-3f32 "
        "0rXIVi32 0x1.8p-3 "
        "(m.g #none 'c' \"s\" in' map') -- done"
    )
    found = classes("futhark", text)
    assert {found["def"], found["with"]} == {"keyword"}
    assert found["f"] == "def"
    assert {found["'t"], found["i32"], found["#none"]} == {"type"}
    assert {found["map"], found["m"]} == {"fun"}
    assert {found["1i32"], found["2.5e-3f32"], found["0x1f"]} == {"number"}
    assert {found["0rXIVi32"], found["0x1.8p-3"]} == {"number"}
    assert {found["'c'"], found['"s"']} == {"string"}
    assert {found["xs"], found["in'"], found["map'"]} == {""}
    assert found["-- done"] == "comment"


def test_flatpack_words() -> None:
    text = (
        'type f32\nhalf (rows : 2 * n Of m) = Twist (Slice 0) (GetData "a.npy" 3)\n'
        "  where' -- type\n"
    )
    found = classes("flatpack", text)
    assert found["type"] == found["Of"] == "keyword"
    assert found["f32"] == "type"
    assert found["half"] == "def"
    assert found["Twist"] == found["Slice"] == "fun"
    assert found['"a.npy"'] == "string"
    assert found["rows"] == found["where'"] == ""
    assert found["-- type"] == "comment"


def test_flatpack_has_no_other_words() -> None:
    """All words and the whole library of the compiler have a colour, and nothing else has."""
    coloured = {*lexers.FLATPACK_FUNCTIONS, *lexers.FLATPACK_KEYWORDS, *lexers.FLATPACK_TYPES}
    own = {one.name.text for one in library().definitions}
    assert coloured == WORDS_OF_FLATPACK | own | RESERVED


def test_what_a_code_and_a_rule_show_has_its_own_language(client: FlaskClient) -> None:
    page = client.get("/explain/P003").get_data(as_text=True)
    assert '<span class="t-fun">Twist</span>' in page
    whole = client.get("/explain/P003/wrong").get_data(as_text=True)
    assert "main.fp" in whole


def test_ir_words() -> None:
    text = "let xs_3: [n_1]f32 @ mem_2 -> 0 + i*4 = segmap (i < n_1) { f(x) }"
    found = classes("ir", text)
    assert found["let"] == found["segmap"] == "keyword"
    assert found["f32"] == "type"
    assert found["mem_2"] == "block"
    assert found["f"] == "def"
    assert found["xs_3"] == ""


def test_c_words() -> None:
    text = (
        "#include <stdint.h>\n  if (f(x)) { /* two\nlines */ int64_t y = 0x1fLL; "
        'puts("//"); } // end\n'
    )
    found = classes("c", text)
    assert found["include"] == "op"
    assert found["if"] == "keyword"
    assert found["f"] == found["puts"] == "def"
    assert found["int64_t"] == "type"
    assert found["/* two\nlines */"] == found["// end"] == "comment"
    assert found["0x1fLL"] == "number"
    assert found["//"] == "string"


@pytest.mark.parametrize("name", LEXERS)
@pytest.mark.parametrize("piece", ['"\\"', "#[", "/*", "1", "_1", "a ", "'", "def ", "\\", "0x"])
def test_each_character_is_looked_at_a_few_times(name: str, piece: str) -> None:
    """Some 60,000 characters, of what begins a run that does not end."""
    text = piece * (60_000 // len(piece)) + "\n"
    assert "".join(run for _, run in runs(name, text * 3)) == text * 3


def test_a_comment_on_the_last_line_is_one() -> None:
    for end in ("", "\n"):
        assert 'class="t-comment"' in html_lines(f"x(); // end{end}", "text")[-1]


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
    for name in (
        "KEYWORDS",
        "PRIMS",
        "FUNCTIONS",
        "IR_WORDS",
        "FLATPACK_KEYWORDS",
        "FLATPACK_FUNCTIONS",
        "FLATPACK_TYPES",
    ):
        assert words_of_the_page(name) == getattr(lexers, name), name


def words_of_the_page(name: str) -> list[str]:
    match = re.search(rf"{name} = list\(`([^`]*)`\)", WORDS.read_text())
    assert match, name
    return match[1].split()


@pytest.mark.parametrize("name", ["C_WORDS", "C_TYPES"])
def test_the_words_of_c_are_those_of_the_page(name: str) -> None:
    words = words_of_the_page(name)
    other = {
        word for word in words if not {"keyword", "type", "fun"} & {classes("c", word + " x")[word]}
    }
    assert other <= {"index_t", "half"}  # names of ours, which no lexer can know


@pytest.mark.parametrize("lexer", [FutharkLexer, FlatPackLexer, StageLexer])
def test_each_lexer_is_a_plugin_of_pygments(lexer: type[RegexLexer]) -> None:
    for alias in lexer.aliases:
        assert find_lexer_class_by_name(alias).__name__ == lexer.__name__


BY_HAND = (
    "block blocks device entry fun gives grid hist host in launch let mem neutral points private "
    "return shared sizes takes thread"
).split()
"""What no format line of the intermediate languages has."""


def test_the_words_of_the_intermediate_languages_are_those_of_their_format_lines() -> None:
    heads = {word for node in KERNELS.nodes.values() for word in node.traits.begins}
    assert set(lexers.IR_WORDS) == {*CORE.words(), *KERNELS.words(), *heads, *BY_HAND}
