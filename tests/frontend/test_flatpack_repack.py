"""Packing: what is decided, and that it changes no result."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx
from compiler.frontend.flatpack import read, translate
from compiler.frontend.flatpack.repack import repack
from compiler.semantics import flatpack as model
from compiler.testing.compare import same
from tests.frontend.test_flatpack import PROGRAMS, inputs

DECIDED = {
    "main (xs : n Of m) = Join (transpose xs)": ("applied", "repack/insert", "do not fill", 1),
    "main (xs : n Of m) = Split 2 (Twist (Smap (Slice 0)) xs)": (None, "", "", 0),
    "main (xs : n) = Split 2 (Twist (DownSample 2) xs)": (None, "", "", 0),
    "main (xs : n Of m) = Join (Join (Split 2 xs))": (None, "", "", 0),
    "main (xs : a Of b Of c) = map Join (Twist RotateL xs)": (
        "applied",
        "repack/insert",
        "No loop can read",
        1,
    ),
    "main (xs : n Of m) = Join (LetMap r (transpose xs) (r + 1))": (None, "", "", 0),
    "main (xs : n Of m) = Repack (xs + 1)": ("applied", "repack/remove", "already", 0),
    "main (xs : n Of m) = sum (Repack (transpose xs))": (
        "applied",
        "repack/remove",
        "read once",
        0,
    ),
    "main (xs : n Of m) = Join (Repack (transpose xs))": ("missed", "repack/remove", "no loop", 1),
    "main (xs : n Of m) = let y = Repack (transpose xs) in y * y": (
        "missed",
        "repack/remove",
        "2 tim",
        1,
    ),
    "main (xs : n Of m) = dotProduct (Repack (transpose xs)) xs": (
        "missed",
        "repack/remove",
        "again",
        1,
    ),
    "main (xs : n Of m) = LetMap r xs (sum (Repack (r * 2)))": (
        "applied",
        "repack/remove",
        "already",
        0,
    ),
}


@pytest.mark.parametrize("source", DECIDED)
def test_where_values_are_packed(source: str) -> None:
    kind, rule, because, copies = DECIDED[source]
    ctx = Ctx()
    text = translate(repack(read(source), ctx)).text
    assert text.count("copy ") == copies
    told = [(one.kind, one.rule) for one in ctx.remarks]
    assert told == ([(kind, rule)] if kind else [])
    assert all(because in one.because for one in ctx.remarks)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_stay_and_what_runs_pack_was_told(name: str) -> None:
    found = read(PROGRAMS[name])
    ints, _, arrays = inputs(found)
    if name == "claimed":
        arrays = dict.fromkeys(arrays, arrays["xs"])
    expected, _ = model.run(found, arrays, ints)
    after, packed = model.run(repack(found, Ctx()), arrays, ints)
    assert same(list(after), list(expected))
    assert not {"Split", "Join"} & {one.what for one in packed}
