"""Answers are remembered for questions that differ in their names only: nobody can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compiler.algebra.disjoint import Verdict, disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.driver.pipeline import Compilation
from compiler.storage.short_circuit import assumptions
from testing.attempts import attempts

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
TWICE = """
entry main [n] [m] (a: *[n][m]i64) (b: *[n][m]i64) (s: i64): ([n][m]i64, [n][m]i64) =
  (map (map (+ s)) a, map (map (* s)) b)
"""


class Forgetful(dict[Any, Any]):
    """Keeps nothing."""

    def get(self, key: object, default: Any = None) -> Any:
        """Nothing is known."""
        return default


def outcome(source: str, patch: pytest.MonkeyPatch, memory: dict[Any, Any]) -> tuple[Any, int]:
    """The attempts on a program, and how many questions were answered by a search for a proof."""
    searched = 0

    def counted(first: Lmad[Poly], second: Lmad[Poly], facts: Facts) -> Verdict:
        nonlocal searched
        searched += 1
        return disjoint(first, second, facts)

    with patch.context() as changed:
        changed.setattr(assumptions, "_answers", memory)
        changed.setattr(assumptions, "disjoint", counted)
        found = attempts(Compilation(source).result("funmem").prog)
    return found, searched


@pytest.mark.parametrize("name", ["", "blocked_lu", "heat_by_parts", "concatenation", "wavefront"])
def test_attempts_are_the_same_without_a_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (EXAMPLES / f"{name}.fut").read_text("utf-8") if name else TWICE
    told, searched = outcome(source, monkeypatch, {})
    again, most = outcome(source, monkeypatch, Forgetful())
    assert told == again
    assert 0 < searched <= most
    if not name:
        assert 2 * searched == most
