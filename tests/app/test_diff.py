"""The page's differences of texts: they say both, are the fewest, and large ones end in time."""

import random
import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.app.browsing import MARKS

pytestmark = MARKS
ROOT = Path(__file__).parents[2]
ESBUILD = ROOT / "node_modules" / ".bin" / "esbuild"
Pieces = list[dict[str, Any]]
Diff = Callable[[list[list[list[str]]]], list[Pieces]]


@pytest.fixture(scope="module")
def diffs(browser: Browser) -> Iterator[Diff]:
    """The differences of pairs of texts, as the page's own code finds them."""
    if not ESBUILD.exists():
        pytest.skip("esbuild is not installed: run `make setup`")
    command = [
        str(ESBUILD),
        "static/src/diff.ts",
        "--bundle",
        "--format=iife",
        "--global-name=made",
    ]
    bundle = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    page = browser.new_page()
    page.evaluate(f"() => {{ {bundle}; window.made = made; }}")
    yield lambda pairs: page.evaluate("ps => ps.map(([a, b]) => made.diff(a, b))", pairs)
    page.close()


def edits(before: list[str], after: list[str], pieces: Pieces) -> int:
    """How many lines differ. Fails unless the pieces are both texts, each in its order."""
    assert [p["old"] for p in pieces if p["kind"] != "added"] == [*range(len(before))]
    assert [p["new"] for p in pieces if p["kind"] != "removed"] == [*range(len(after))]
    for p in pieces:
        if p["kind"] == "same":
            assert before[p["old"]] == after[p["new"]]
        else:
            assert (p["old"] < 0) == (p["kind"] == "added") != (p["new"] < 0)
    return sum(p["kind"] != "same" for p in pieces)


def fewest(before: list[str], after: list[str]) -> int:
    """The fewest edits, by the table of all prefixes."""
    least = {(i, j): i + j for i, j in product(range(len(before) + 1), range(len(after) + 1))}
    for i, j in product(range(1, len(before) + 1), range(1, len(after) + 1)):
        least[i, j] = min(least[i - 1, j], least[i, j - 1]) + 1
        if before[i - 1] == after[j - 1]:
            least[i, j] = min(least[i, j], least[i - 1, j - 1])
    return least[len(before), len(after)]


def test_the_differences_of_small_texts_are_the_fewest(diffs: Diff) -> None:
    chance = random.Random(1)
    pairs = []
    for _ in range(600):
        lines = "abcdef"[: chance.randint(1, 6)]
        pairs.append([chance.choices(lines, k=chance.randint(0, 12)) for _ in "ab"])
    for (before, after), pieces in zip(pairs, diffs(pairs), strict=True):
        assert edits(before, after, pieces) == fewest(before, after)


def test_names_are_the_same_whatever_their_numbers(diffs: Diff) -> None:
    before, after = ["let x_12 = y_3 + 1 ", "in x_12"], ["let x_40 = y_5 + 1", "in x_41"]
    [pieces] = diffs([[before, after]])
    assert [p["kind"] for p in pieces] == ["same", "same"]
    [pieces] = diffs([[["a 12", "x_1y"], ["a 40", "x_2y"]]])
    assert {p["kind"] for p in pieces} == {"removed", "added"}


def test_long_texts_with_many_differences_are_still_compared(diffs: Diff) -> None:
    size = 5000
    long = [f"line {i}" for i in range(size)]
    tenth = [one if i % 10 else f"new {i}" for i, one in enumerate(long)]
    second = [one if i % 2 else f"new {i}" for i, one in enumerate(long)]
    turned = long[size // 2 :] + long[: size // 2]
    other = [f"other {i}" for i in range(size)]
    pairs = [[long, text] for text in (tenth, second, turned, other)]
    amounts = [edits(long, text, p) for (_, text), p in zip(pairs, diffs(pairs), strict=True)]
    assert amounts == [size // 5, size, size, 2 * size]
