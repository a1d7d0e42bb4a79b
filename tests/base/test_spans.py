"""Places: what a line is, what carets stand under, and messages without the machine's folders."""

import pytest

from compiler.base.errors import CompilerBug, without_folders
from compiler.base.spans import Span, caret, lines, span_at


@pytest.mark.parametrize("odd", ["\x0b", "\x0c", "\x1c", "\x1d", "\x85", "\u2028", "\u2029", "\r"])
def test_only_a_newline_ends_a_line(odd: str) -> None:
    assert lines(f"a{odd}b\nc") == [f"a{odd}b", "c"]
    assert span_at(f"a{odd}b\nc", 4) == Span(2, 1, 2, 2)
    assert caret(f"a{odd}b\nc", Span(1, 3, 1, 4)) == "1 | a b\n  |   ^"


def test_a_return_before_a_newline_belongs_to_it() -> None:
    assert lines("a\r\nb\r\n") == ["a", "b", ""]


def test_the_end_of_a_text_is_a_place_of_no_width() -> None:
    assert span_at("ab", 2) == Span(1, 3, 1, 3)
    assert span_at("ab\n", 3) == Span(2, 1, 2, 1)
    assert span_at("", 0) == Span(1, 1, 1, 1)
    assert caret("ab", Span(1, 3, 1, 3)) == "1 | ab\n  |   ^"


def test_of_a_long_line_the_place_is_shown() -> None:
    source = "x" * 5000 + "!" + "y" * 5000
    text, under = caret(source, Span(1, 5001, 1, 9000)).split("\n")
    assert len(text) < 250
    assert text[under.index("^")] == "!"
    assert len(under) <= len(text)


def test_where_there_is_no_such_line_nothing_is_shown() -> None:
    assert caret("ab", Span(2, 1, 2, 2)) == ""
    assert caret("", Span(1, 1, 1, 2)) == ""


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/usr/bin/ld: no /root/.cache/x/t.so: No space", "ld: no t.so: No space"),
        ("FileNotFoundError: '/tmp/a b/c.so'", "FileNotFoundError: 'a b/c.so'"),
        ("a/b and n // 2 and x / y", "a/b and n // 2 and x / y"),
        ("(/home/someone/x.py)", "(x.py)"),
    ],
)
def test_a_defect_does_not_tell_where_files_lie(said: str, shown: str) -> None:
    assert without_folders(said) == shown
    assert CompilerBug(said).message == shown
