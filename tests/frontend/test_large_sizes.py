"""Checking takes work in proportion to a program, also where sizes are sums of many parts."""

import math
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import TypeError_
from compiler.frontend.check import check
from compiler.frontend.check.types import metas, size_exps
from compiler.frontend.parser import parse
from compiler.frontend.types import Size
from testing.generators import families


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


class TooMuch(Exception):
    """More calls than a test allows."""


def calls(source: str, most: float = math.inf) -> int:
    """How many calls of functions the check of a program takes. Errors: more than `most`."""
    program, count = parse(source), 0

    def counted(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"
        if count > most:
            raise TooMuch

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        check(program, Ctx())
    finally:
        sys.setprofile(before)
    return count


GROWING = [
    families.called_sizes,
    families.called_sizes_nested,
    families.doubled_sizes,
    families.squared_numbers,
    families.multiplied_sizes,
    families.multiplied_sizes_in_place,
    families.factors,
]


@pytest.mark.parametrize("family", GROWING)
def test_sizes_that_mention_each_other_are_not_written_out(family: Callable[[int], str]) -> None:
    calls(family(4))
    few = calls(family(20))
    calls(family(60), most=5 * few)


@pytest.mark.parametrize(
    "source",
    [
        "  let (a, s) = span small s\n  let (b, t) = span small s\n"
        "  let (c, u) = span small t\n  let (d, v) = span small t\n  in map2 (+) u v",
        "  let t = s ++ s ++ s\n  let t = t ++ t ++ t\n  let u = t ++ t\n  let v = t ++ t\n"
        "  in map2 (+) u v",
        "  let k = length s\n  let k = k * k + 1\n  let k = k * k + 1\n  let k = k * k + 1\n"
        "  let k = k * k + 1\n  let m = k * k + 1\n  let n = k * k + 1\n"
        "  in map2 (+) (replicate m 1) (replicate n 1u8)",
        "  let n = length s let (a, b, c, d, e, f) = (n, n + 1, n + 2, n + 3, n + 4, n + 5)\n"
        "  let g = (a + b) * (b + c) * (c + d) * (d + e) * (e + f) * (f + a) * (a + c)\n"
        "  in map2 (+) (replicate (g * (f + 1)) 1) (replicate ((1 + f) * g) 1u8)",
    ],
    ids=["called", "doubled", "squared", "factors"],
)
def test_sizes_that_are_called_by_names_are_equal_where_their_meanings_are(source: str) -> None:
    head, _ = families.called_sizes(1).split("entry")
    check(parse(f"{head}entry main (s: []u8) =\n{source}\n"), Ctx())


def test_a_size_with_a_name_is_told_to_differ() -> None:
    head, _ = families.called_sizes(1).split("entry")
    body = "  let (_, t) = span small s\n  let (a, u) = span small t\n  in map2 (+) a u"
    with pytest.raises(TypeError_, match=r"expected `.d.u8`, found") as caught:
        check(parse(f"{head}entry main (s: []u8) =\n{body}\n"), Ctx())
    assert any("what `span` gives here" in one.says for one in caught.value.related)
