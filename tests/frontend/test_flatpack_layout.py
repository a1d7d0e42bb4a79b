"""FlatPack programs in one layout: words and comments stay, and a second time nothing changes."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.__main__ import main
from compiler.base.errors import SyntaxError_
from compiler.driver.worker import answer
from compiler.frontend.flatpack.layout import laid_out
from compiler.frontend.flatpack.parser import words_of

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Of a busy machine."""
ROOT = Path(__file__).parents[2]
FILES = [*(ROOT / "app" / "examples").glob("*.fp"), *(ROOT / "compiler").rglob("*.fp")]
SPACES = st.sampled_from(["", " ", "  ", "\t", "\n  ", "\n\n      ", "  -- a note\n   "])
WORDS = r"(\s+|(?<=[()\[\],])|(?=[()\[\],]))"
PROGRAM = """type i32

-- Weights, with a text that has -- in it.
f a b = let x = a + (-1) * 2.5e-3 in Fold (+) 0 (map (\\y -> y . x) (Zip [a, b]))
main (xs : n Of m) (k : Int) = Arith (max) (f xs xs) (GetData "a -- b.bin" n)
"""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_our_programs_are_laid_out(path: Path) -> None:
    text = path.read_text("utf-8")
    assert laid_out(text) == text


@PATIENT
@given(st.data())
def test_any_spacing_comes_to_a_layout_that_stays(data: st.DataObject) -> None:
    rows = []
    for row in PROGRAM.splitlines():
        if row.startswith("--"):
            rows.append(row)
            continue
        parts = re.split(r"( )", row)
        keep = '"' in row  # blanks in a string are a part of it
        rows.append(
            "".join(
                (data.draw(SPACES) or " ") if part == " " and not keep else part for part in parts
            )
        )
    source = "\n".join(rows)
    made = laid_out(source)
    said = [(word.text, word.span.col == 1) for word in words_of(source)]
    assert [(word.text, word.span.col == 1) for word in words_of(made)] == said
    assert made.count("-- a note") == source.count("-- a note")
    assert laid_out(made) == made


def test_a_layout() -> None:
    with pytest.raises(SyntaxError_):
        laid_out("main = (1\n")
    wide = "main( xs:n Of m )=Fold(+)0   (  Zip[xs ,xs] )-- why\n\n\n\nf  = 1-2 *  3\r\n"
    assert laid_out(wide) == (
        "main (xs : n Of m) = Fold (+) 0 (Zip [xs, xs])  -- why\n\nf = 1 - 2 * 3\n"
    )
    assert laid_out("f=1\r\nmain=f\r\n") == "f = 1\r\nmain = f\r\n"


def test_the_command_and_the_operation_lay_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.fp"
    file.write_text("main=1\n")
    assert main(["fmt", "--check", str(tmp_path)]) == 1
    assert "is laid out in another way" in capsys.readouterr().out
    assert main(["fmt", str(tmp_path)]) == 0
    assert file.read_text() == "main = 1\n"
    told = answer({"op": "format", "source": "main=1\n", "main": "a.fp"})
    assert told == {"ok": True, "text": "main = 1\n"}
