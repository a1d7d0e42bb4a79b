"""Windows: what is computed of them is what is computed of the whole, or it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.base.context import Ctx
from compiler.frontend.flatpack import read
from compiler.frontend.flatpack.chunks import FIRST, STEPS, Chunk, SinkValues, SizedProgram
from compiler.frontend.flatpack.laws import apply_laws
from compiler.frontend.flatpack.windows import NoWindow, WindowPlan, report_windows, windows
from compiler.semantics import flatpack as model
from tests.frontend.test_flatpack import PROGRAMS, inputs

WINDOWS = {
    "neighbours": "main (xs : n) = tail xs - init xs",
    "neighbours of squares": "main (xs : n) = let y = xs * xs in sum (tail y - init y)",
    "two readings": "main (xs : n) = sum ((xs - mean xs) * (xs - mean xs)) / size xs",
    "two folds": "main (xs : n) = sum xs * product (xs + 1)",
    "columns": "main (xs : n Of m) = LetMap c (transpose xs) (sum c)",
    "columns of rows": "main (xs : n Of m Of 2) = map (\\p -> map sum p) (transpose xs)",
    "rows in pieces": "main (xs : 12 Of m) = Fold max 0 (Twist (DownSample 2) (Split 6 xs))",
    "part of what is joined": "main (xs : 6 Of 4) = Twist (SubRange 4 15) (Join xs) * 2",
    "pairs of what is joined": "main (xs : 6 Of 4) = map sum (Split 12 (Join xs))",
    "beside memory": "main (xs : n Of m) (ys : n Of m) = sum (Twist (Smap (Slice 0)) (xs * ys))",
    "beside a counted one": "main (xs : n) = sum (xs * Enumerate 1 (+ 1) n)",
    "stacked": "main (xs : n) = Fold (+) 0 (transpose (Zip [xs, xs * xs, 1]))",
    "a row in the middle": "main (xs : 6 Of m) = head xs + Twist (Slice 3) xs",
    "one column of many": "main (xs : 6 Of m) = Twist (Smap (Slice 2)) (transpose xs)",
    "kept": "main (xs : n) = Filter x xs (x > 2) * 3",
    "kept and added": "main (xs : n Of m) = Fold (-) 5 (Filter r xs (sum r > 6))",
    "least": "main (xs : n Of m) = Fold min 3 xs",
    "row by row": "main (xs : n) = LetMap x xs (sum xs * x)",
}
REFUSED = {
    "main (xs : n Of n) = xs + transpose xs": "+",
    "main (xs : n) = LetMap x xs (sum (xs * x))": "LetMap",
    "main (xs : n) (ys : m) = LetMap y ys (sum (xs * y) * 2)": "sum",
    "main (xs : 8) = Twist (SubRange 0 3) xs + Twist (DownSample 2) xs": "Twist",
    "main (xs : n Of 3) = Join (transpose xs)": "Join",
    "main (xs : n) = Fold (/) 1 xs": "Fold",
    "main (xs : n) = tail (Filter x xs (x > 1))": "tail",
    "main (xs : n) = Filter x xs (x > 1) * size (Filter x xs (x > 1))": "*",
    "main (xs : n Of m) = Filter c (transpose xs) (sum c > 1)": "sum c",
    "main (xs : n) = Split 2 xs": "Split",
    "main (xs : n) = (xs, xs)": "main",
    "main (xs : n) = sum (As f32 xs)": "sum",
    "main (xs : n) = LetMap (x, y) (xs, xs) (x * y)": "LetMap",
    "main (xs : n) = let (a, b) = Filter (x, y) (xs, xs * 2) (x < y) in a": "Filter",
    "main (xs : 6 Of 4) = tail (Join xs)": "tail",
}


def computed(made: WindowPlan, arrays: Mapping[str, Any], at_once: int) -> Any:
    """The result, of windows of so many steps."""
    stage, known = SinkValues(made), dict(arrays)
    for reading in made.readings:
        chunk = Chunk(stage, reading)
        program = chunk.program()
        total = (reading.sinks[0].rows.constant or 0) // reading.per_step
        parts: list[list[Any]] = [[] for _ in reading.sinks]
        for first in range(0, total, at_once):
            count = min(at_once, total - first)
            given = dict(known)
            for one in made.meaning.sources:
                if id(one) in reading.demands:
                    demand = reading.demands[id(one)]
                    begin = demand.step * first + (demand.low.constant or 0)
                    end = begin + demand.step * (count - 1) + (demand.rows.constant or 0)
                    assert 0 <= begin <= end <= len(arrays[one.name])
                    given[f"window_{one.name}"] = arrays[one.name][begin:end]
            for part, result in zip(parts, program.results, strict=True):
                alone = replace(program, result=result, more=())
                part.append(model.run(alone, given, {STEPS: count, FIRST: first})[0][0])
        for sink, found in zip(reading.sinks, parts, strict=True):
            folds = sink.folds
            shape = tuple(size.constant or 0 for size in sink.term.shape)
            none = [np.empty((0, *shape) if folds else shape)]
            axis = 0 if folds else made.axes[id(sink.term)]
            join = np.stack if folds and found else np.concatenate
            whole = join(found or none, axis)
            stage.give(sink, whole.shape)
            known[stage.sources[id(sink.term)].name] = whole
    return model.run(stage.program(), known, {})[0][0]


def sizes_of(found: Any, arrays: Mapping[str, Any], ints: Mapping[str, int]) -> dict[str, int]:
    """All sizes, by name."""
    sizes = dict(ints)
    for one in found.sources:
        for size, count in zip(one.shape, arrays[one.name].shape, strict=True):
            if (name := size.as_name) is not None:
                sizes.setdefault(name, count)
    return sizes


@pytest.mark.parametrize("name", [*PROGRAMS, *WINDOWS])
def test_windows_give_what_the_whole_gives(name: str) -> None:
    found = read({**PROGRAMS, **WINDOWS}[name])
    ints, _, arrays = inputs(found)
    if name == "claimed":
        arrays = dict.fromkeys(arrays, arrays["xs"])
    expected, _ = model.run(found, arrays, ints)
    known = SizedProgram(found, sizes_of(found, arrays, ints)).program()
    for source in (one for one in known.sources if one.shape):
        try:
            made = windows(known, [source.name])
        except NoWindow:
            assert name in PROGRAMS
            continue
        for at_once in (1, 3, 100):
            assert np.array_equal(computed(made, arrays, at_once), expected[0]), source.name


@pytest.mark.parametrize("source", REFUSED)
def test_what_needs_the_whole_is_refused_with_its_operation(source: str) -> None:
    with pytest.raises(NoWindow) as refused:
        windows(read(source), ["xs"])
    span = refused.value.span
    assert REFUSED[source] in source.split("\n")[span.line - 1][span.col - 1 : span.end_col - 1]


STEPS_OF = st.lists(
    st.sampled_from(
        ["tail", "init", "Twist (DownSample 2)", "Split (size a / 2)", "Join", "a + a *", "map sum"]
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(STEPS_OF, st.integers(9, 24), st.integers(1, 5))
def test_chains_of_operations(chain: list[str], rows: int, at_once: int) -> None:
    body = "xs"
    for step in chain:
        body = f"(let a = {body} in {step} a)"
    try:
        found = apply_laws(read(f"type i64\nmain (xs : {rows}) = {body}"), Ctx())
        made = windows(SizedProgram(found, {}).program(), ["xs"])
    except Exception as error:
        assert type(error).__name__ in ("NoWindow", "TypeError_", "RuntimeError_"), error
        return
    xs = np.arange(rows, dtype=np.int64) ** 2
    (expected,), _ = model.run(found, {"xs": xs}, {})
    if expected.shape[0]:
        assert np.array_equal(computed(made, {"xs": xs}, at_once), expected)


@pytest.mark.parametrize(
    ("source", "kind", "rows"),
    [
        ("main (xs : n) = sum (tail xs - init xs)", "note", "2"),
        ("main (xs : n Of m) = sum (map sum xs)", "note", "1"),
        ("main (xs : n) = sum (Split 2 xs)", "missed", None),
    ],
)
def test_a_remark_tells_the_window(source: str, kind: str, rows: str | None) -> None:
    ctx = Ctx()
    report_windows(read(source), ctx)
    (told,) = ctx.remarks
    assert (told.kind, told.rule) == (kind, "windows/stream")
    assert dict(told.numbers).get("rows of a window") == rows
