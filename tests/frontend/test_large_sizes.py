"""Checking takes work in proportion to a program, also where sizes are sums of many parts."""

import pytest

from compiler.base.context import Ctx
from compiler.frontend.check import check
from compiler.frontend.check.types import metas, size_exps
from compiler.frontend.parser import parse
from compiler.frontend.types import Size


def looked_at(parts: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many sizes are looked at for a concatenation of so many arrays."""
    count = 0

    def counted(size: Size) -> Size:
        nonlocal count
        count += 1
        return metas.resolve_size(size)

    arrays = " ++ ".join(f"map (+ {k}) xs" for k in range(parts))
    source = f"entry main [n] (xs: [n]i32) = {arrays}"
    with monkeypatch.context() as patch:
        patch.setattr(size_exps, "resolve_size", counted)
        check(parse(source), Ctx())
    return count


def test_the_size_of_a_long_concatenation_is_gone_through_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = (looked_at(parts, monkeypatch) for parts in (50, 200))
    assert few < many <= 6 * few
