"""The laws of FlatPack: what they rewrite means the same and computes less, or is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import codes
from compiler.base.context import Ctx
from compiler.base.dtypes import DTYPE
from compiler.base.errors import RuntimeError_, TypeError_
from compiler.frontend.flatpack import read
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.evaluate import Meaning
from compiler.frontend.flatpack.laws import LAWS, apply_laws
from compiler.semantics import flatpack as model

APPLIED = {
    "laws/inverse": "main (xs : n Of m) = transpose (transpose xs)",
    "laws/inverse 2": "main (xs : n Of m Of k) = Twist (RotateL . RotateR) xs",
    "laws/inverse 3": "main (xs : n Of m Of k) = Twist RotateR (Twist RotateL xs)",
    "laws/split-join": "main (xs : 6 Of m) = Join (Split 3 xs)",
    "laws/slice-zip": "main (xs : n) (ys : n) = Twist (Slice 1) (Zip [xs, ys])",
    "laws/part-arith": "main (xs : 5 Of m) (ys : 5 Of m) = Twist (Slice 2) (xs + ys * 2)",
    "laws/part-arith 2": "main (xs : 6) (s : Scalar) = Twist (SubRange 1 3) (If (xs > s) xs s)",
    "laws/part-arith 3": "main (i : Int) (xs : 6) = Twist (Slice i) (xs + 1)",
    "laws/part-arith 4": "main (ps : 4 Of (i32, f32)) = let (k, x) = ps in head (As f32 k * x)",
    "laws/part-map": "main (xs : n Of m) = head (map sum xs)",
    "laws/part-map 2": "main (xs : n Of m) = Twist (DownSample 2) (LetMap x xs (Repack x))",
    "laws/part-map of tuples": (
        "main (ps : n Of (m Of i32, f32)) =\n"
        "  let (a, b) = map (\\(k, x) -> (sum k, k * As i32 x)) ps in (head a, take 1 b)"
    ),
    "laws/part-map 3": "main (xs : 3) (ys : m) = head (LetMap x xs (LetMap y ys (x * y)))",
}
MISSED = {
    "laws/part-arith": (
        "type i32\nmain (xs : 3) (ys : 3) = head (xs / ys)",
        "main (xs : 3) = let ys = xs + 1 in Zip [ys, HasShape (head ys) 3]",
    ),
    "laws/part-map": (
        "type i32\nmain (xs : n) (ys : n) = head (LetMap x xs (sum ys / x))",
        "main (xs : n Of m) = let ys = map sum xs in ys + head ys",
        "main (xs : n Of m) = let ys = map sum xs in (head ys, ys)",
        "main (xs : n) (ys : m) = head (LetMap x xs (LetMap y ys (x * y)))",
        "main (xs : n) (ys : m) = head (LetMap x xs (sum ys))",
        "main (i : Int) (xs : n Of m) = Twist (SubRange 1 i) (LetMap x xs (Twist (Slice i) x))",
    ),
    "laws/slice-zip": (
        "main (i : Int) (xs : n) (ys : n) = Twist (Slice i) (Zip [xs, ys])",
        "main (xs : n) (ys : m) = Twist (Slice 0) (Zip [xs, HasShape ys n])",
    ),
    "laws/split-join": ("main (xs : n) = Join (Split 2 xs)",),
}


def with_laws(found: Meaning) -> tuple[Meaning, list[tuple[str, str]]]:
    """The program after its laws, and the remarks: kind and rule."""
    ctx = Ctx()
    after = apply_laws(found, ctx)
    return after, [(remark.kind, remark.rule) for remark in ctx.remarks]


def outcome(found: Meaning, seed: int) -> Any:
    """What a run gives, or that it fails."""
    random = np.random.default_rng(seed)
    ints = {name: int(random.integers(0, 4)) for name in found.ints}
    sizes: dict[str, int] = dict(ints)
    for one in found.sources:
        for size in one.shape:
            if (name := size.as_name) is not None:
                sizes.setdefault(name, int(random.integers(0, 5)))
    arrays = {}
    for one in found.sources:
        shape = [model.sized(size, found.sizes, sizes) for size in one.shape]
        kind = DTYPE[one.prim or found.element]
        arrays[one.name] = random.integers(0, 5, shape).astype(kind)
    try:
        return [one.tolist() for one in model.run(found, arrays, ints)[0]]
    except RuntimeError_:
        return "fails"


def test_each_law_has_a_case() -> None:
    assert {name.split(" ")[0] for name in APPLIED} == {law.id for law in LAWS}
    assert all("==>" in law.equation for law in LAWS)


@pytest.mark.parametrize("name", APPLIED)
def test_a_law_is_applied_and_means_the_same(name: str) -> None:
    found = read(APPLIED[name])
    after, remarks = with_laws(found)
    assert ("applied", name.split(" ")[0]) in remarks
    for seed in range(20):
        assert outcome(after, seed) == outcome(found, seed), seed


@pytest.mark.parametrize(
    ("law", "source"), [(k, one) for k, all_ in MISSED.items() for one in all_]
)
def test_a_law_is_left_alone_where_it_would_hide_a_failure_or_repeat_work(
    law: str, source: str
) -> None:
    found = read(source)
    after, remarks = with_laws(found)
    assert ("missed", law) in remarks
    assert ("applied", law) not in remarks
    for seed in range(20):
        assert outcome(after, seed) == outcome(found, seed), seed


def test_less_is_computed() -> None:
    after, _ = with_laws(read("main (xs : 100 Of m) = Twist (Slice 3) (map (\\r -> r * r) xs + 1)"))
    pending: list[t.Term] = [after.result]
    while pending:
        one = pending.pop()
        assert not isinstance(one, t.LetMap)
        assert not isinstance(one, t.Arith) or len(one.shape) <= 1
        pending += t.parts(one)


ORDERS = ["Transpose", "RotateL", "RotateR", "SubRange 1 2", "DownSample 2", "Smap RotateL"]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Programs over a cube that puts orders, arithmetic and maps on top of each other."""
    text = "xs"
    for _ in range(draw(st.integers(1, 6))):
        match draw(st.integers(0, 6)):
            case 0 | 1 | 2:
                text = f"Twist ({draw(st.sampled_from(ORDERS))}) ({text})"
            case 3:
                text = f"(({text}) * {draw(st.integers(1, 3))})"
            case 4:
                text = f"LetMap r ({text}) (r + {draw(st.integers(1, 3))})"
            case 5:
                text = f"let y = {text} in y + y"
            case 6:
                text = f"Twist (Slice 1) (Zip [{text}, {text}])"
    return f"main (xs : 4 Of 4 Of 4) = {text}"


@settings(max_examples=60, deadline=None)
@given(programs())
def test_generated_programs_mean_the_same(source: str) -> None:
    try:
        found = read(source)
    except TypeError_ as error:  # a range that an order before has made too large
        assert error.code is codes.flatpack.RANGE
        assert "SubRange" in source
        return
    after, _ = with_laws(found)
    assert outcome(after, 1) == outcome(found, 1)
