"""Hundreds of operators over one array: what is looked at and told grows with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.optimise.fuse.graph import Above
from compiler.storage.interference import Sizes
from testing.generators.families import filter_chain, filters


def remarks(count: int) -> int:
    """How many remarks there are on scans that each need the one before, over one array."""
    lines = [f"  let a{k + 1} = scan (+) {k} (map2 (+) a{k} xs)" for k in range(count)]
    body = "\n".join(lines)
    source = f"entry main [n] (a0: [n]i64) (xs: [n]i64): [n]i64 =\n{body}\n  in a{count}\n"
    work = Compilation(source, Options())
    work.result("fused")
    return sum(remark.rule == "fuse/side-by-side" for remark in work.remarks())


def test_of_many_operators_over_one_array_each_is_told_of_a_few_others() -> None:
    few, many = remarks(20), remarks(40)
    assert few > 0
    assert many <= 3 * few


def test_operators_with_a_few_others_between_them_are_still_joined() -> None:
    between = [f"  let a = scan (+) {k} (map2 (+) a xs)" for k in range(12)]
    body = "\n".join(["  let s = reduce (+) 0 xs", *between, "  let t = reduce i64.max s xs"])
    source = f"entry main [n] (a: [n]i64) (xs: [n]i64): ([n]i64, i64) =\n{body}\n  in (a, s + t)\n"
    work = Compilation(source, Options())
    work.result("fused")
    joined = [r for r in work.remarks() if r.rule == "fuse/side-by-side" and r.kind == "applied"]
    assert not joined, "the second needs the first"
    work = Compilation(source.replace("i64.max s", "i64.max 0"), Options())
    work.result("fused")
    joined = [r for r in work.remarks() if r.rule == "fuse/side-by-side" and r.kind == "applied"]
    assert joined


def test_two_without_names_are_not_called_the_same() -> None:
    work = Compilation("entry main (xs: []f32) = (f32.sum xs, f32.maximum xs)", Options())
    work.result("fused")
    (said,) = (r.because for r in work.remarks() if r.rule == "fuse/side-by-side")
    assert said == "One pass over `xs` computes the reduction and another reduction."


@pytest.mark.parametrize("family", [filters, filter_chain])
def test_what_is_looked_at_grows_with_the_number_of_filters(
    family: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edges between statements while they are joined, sizes of blocks while these become one."""
    looked: Counter[str] = Counter()

    def counted(what: type, name: str) -> None:
        real = getattr(what, name)

        def call(*args: Any) -> Any:
            looked[name] += 1
            return real(*args)

        monkeypatch.setattr(what, name, call)

    counted(Above, "_reach")
    counted(Sizes, "holds")
    counts = []
    for count in (80, 160):
        looked.clear()
        Compilation(family(count), Options(target="cuda")).result("merged")
        counts.append(looked.copy())
    for name in ("_reach", "holds") if family is filter_chain else ("_reach",):
        assert 0 < counts[1][name] <= 3 * counts[0][name], name
