"""The typed program as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from compiler.base.context import Ctx
from compiler.base.text import plain
from compiler.frontend import show_typed
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.frontend.show_typed import WIDTH, show

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))

PAIRS = [
    (
        "def f (x: i32) = (x + 1) * x - -x",
        "def f (x: i32): i32 =\n  (x + 1i32) * x - -x\n",
    ),
    (
        "def f [n] (xs: *[n]f32) (i: i64) = xs with [i] = f32.sqrt xs[i]",
        "def f [n] (xs: *[n]f32) (i: i64): *[n]f32 =\n  xs with [i] = f32.sqrt xs[i]\n",
    ),
    (
        "def f xs = let ys = filter (> 0i8) xs let n = length ys in (n, ys)",
        "def f [n] (xs: [n]i8): ?[filtered].*(i64, [filtered]i8) =\n"
        "  let ys: [filtered]i8 = filter{i8, [n]} (\\(x: i8) -> x > 0i8) xs ?[filtered]\n"
        "  let n: i64 = length{i8, [filtered]} ys\n"
        "  in (n, ys)\n",
    ),
    (
        "def f a b c = a && (b || c)",
        "def f (a: bool) (b: bool) (c: bool): bool =\n  a && (b || c)\n",
    ),
    (
        "entry f (n: i64) = loop x = 1 for i < n do x * 2",
        "entry f (n: i64): i32 =\n  loop x: i32 = 1i32\n  for i: i64 < n do\n    x * 2i32\n",
    ),
]


def shown(source: str) -> str:
    """The text without the names' tags."""
    text = plain(show(check(parse(source), Ctx())))
    return re.sub(r"_\d+", "", text.partition("-- from the prelude")[0])


@pytest.mark.parametrize(("source", "expected"), PAIRS, ids=lambda x: x[:40])
def test_text(source: str, expected: str) -> None:
    assert shown(source) == expected


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_lines_of_examples(path: Path) -> None:
    lines = show(check(parse(path.read_text()), Ctx()))
    body = [
        line for line in lines if line.text and not line.text.startswith(("--", "def", "entry"))
    ]
    assert all(line.src for line in body), "every line is linked to the source"
    assert all(len(line.text) <= WIDTH + 30 for line in body)
    assert all(line.text == line.text.rstrip() for line in lines)


def test_of_a_chain_that_is_too_long_for_a_line_only_the_end_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line holds so many operators: a chain of twice the length is twice the work."""
    calls: list[object] = []
    old = show_typed._Flat.exp

    def counting(self: show_typed._Flat, e: Any) -> str:
        calls.append(e)
        return old(self, e)

    monkeypatch.setattr(show_typed._Flat, "exp", counting)

    def looked(filtered: int) -> int:
        calls.clear()
        heads = " ".join(f"(p{k}: i64)" for k in range(filtered))
        total = " + ".join(f"p{k}" for k in range(filtered))
        show(check(parse(f"def f {heads} = {total}\n"), Ctx()))
        return len(calls)

    assert looked(120) < 2.6 * looked(60)
