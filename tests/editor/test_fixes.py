"""Changes that mend errors are offered where they do."""

from __future__ import annotations

import pytest

from compiler.base.errors import CompileError
from compiler.base.spans import Span
from compiler.driver import checking
from compiler.editor.fixes import fixes
from compiler.editor.places import changed
from compiler.editor.project import Project
from compiler.protocol.programs import CheckRequest


def offered(text: str) -> dict[str, str]:
    """What each fix of the first error or warning makes of a text."""
    try:
        problem = checking.check(CheckRequest(text))["warnings"][0]
        span, hint = Span(*map(int, problem["span"] or ())), problem["hint"]
    except CompileError as error:
        span, hint = error.span, error.hint
    project = Project({"": text})
    return {fix.title: changed(text, list(fix.edits), "") for fix in fixes(project, "", span, hint)}


@pytest.mark.parametrize(
    ("text", "title", "after"),
    [
        ("def f xs = lenght xs", "Change to `length`", "def f xs = length xs"),
        ("def f x = f32.sqr x", "Change to `sqrt`", "def f x = f32.sqrt x"),
        ("def f x = x § + 1", "Remove `§`", "def f x = x  + 1"),
        ("def main (x: i32) = let {a} = {a = 1} in x", "Call it `_a`",
         "def main (x: i32) = let {a = _a} = {a = 1} in x"),
    ],
)  # fmt: skip
def test_a_hint_becomes_a_change(text: str, title: str, after: str) -> None:
    assert offered(text)[title] == after


def test_what_does_not_help_is_not_offered() -> None:
    assert offered("def f (x: i32) (y: bool): bool = xx") == {}
