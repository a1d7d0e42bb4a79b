"""A scalar operation of a lambda lights the lines that compute it, down to C and CUDA.

The page lights, for a place of the source, the lines of a stage that come from it (`linesFor` in
`static/src/spans.ts`); here the same is asked of every scalar operation of every example's lambdas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from statistics import mean, median

import pytest

from compiler.base.context import Options
from compiler.base.spans import Span
from compiler.base.text import Line
from compiler.driver.pipeline import STAGES, Compilation
from compiler.frontend import typed as ty

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
SIGNS = {"max": ("max", "Max"), "%": ("%", "mod_"), "+": ("+", "Add")}
"""How operators are written in C and CUDA, where that may not be as in the source."""
FUSED_SIGNS = "+-*"
"""Operators that CUDA may write as one `fma`, which rounds once."""

SINGLE = frozenset({"kernels/wide"})
"""Without the version in which each thread computes several points, each of them on its lines."""


def own(line: Line) -> list[Span]:
    return [span for span in line.src if span.is_own]


def lit(text: Sequence[Line], place: Span) -> list[int]:
    """The lines that the page lights for a place: strongly and weakly."""
    inside = [k for k, line in enumerate(text) if any(place.holds(span) for span in own(line))]
    return inside or [
        k for k, line in enumerate(text) if own(line)[:1] and own(line)[0].holds(place)
    ]


def operations(node: object, in_lambda: bool = False) -> Iterator[ty.PrimOp]:
    """The operators in the bodies of lambdas that the author wrote."""
    if isinstance(node, tuple):
        for item in node:
            yield from operations(item, in_lambda)
    elif is_dataclass(node) and type(node).__module__ == ty.__name__:
        if isinstance(node, ty.PrimOp) and in_lambda and node.span.is_own:
            yield node
        for field in fields(node):
            if field.name not in ("span", "type"):
                inner = in_lambda or isinstance(node, ty.Lambda)
                yield from operations(getattr(node, field.name), inner)


@cache
def compiled(
    source: str, target: str, disabled: frozenset[str] = SINGLE
) -> dict[str, Sequence[Line]]:
    work = Compilation(source, Options(target=target, disabled=disabled))
    return {stage.id: work.result(stage.id).text for stage in STAGES}


def known(texts: dict[str, Sequence[Line]], place: Span) -> Span | None:
    """The innermost place that a stage knows around one, as a click in the source finds it."""
    spans = {
        s for k, text in texts.items() if k not in ("ast", "typed") for at in text for s in own(at)
    }
    around = [s for s in spans if s.holds(place)]
    return min(around, key=lambda s: (s.end_line - s.line, s.end_col - s.col), default=None)


def kernels(text: Sequence[Line]) -> list[range]:
    """The lines of each CUDA kernel."""
    starts = [k for k, line in enumerate(text) if "__global__" in line.text]
    ends = [next(k for k in range(start, len(text)) if text[k].text == "}") for start in starts]
    return [range(start, end + 1) for start, end in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_an_operation_lights_what_computes_it_and_no_kernel(target: str) -> None:
    amounts = []
    for path in EXAMPLES:
        source = path.read_text("utf-8")
        texts = compiled(source, target)
        if texts["ad"] != texts["soa"]:
            continue  # its adjoint is computed, and the operation itself only where that needs it
        for operation in operations(Compilation(source).result("typed").prog.defs):
            place = known(texts, operation.span)
            assert place is not None, (path.stem, operation.span)
            found = lit(texts[target], place)
            words = "".join(texts[target][k].text for k in found)
            signs = SIGNS.get(operation.op, (operation.op,))
            if target == "cuda" and operation.op in FUSED_SIGNS:
                signs = (*signs, "fma")
            assert any(sign in words for sign in signs), (path.stem, operation.span, words)
            for kernel in kernels(texts[target]):
                assert not set(kernel) <= set(found), (path.stem, operation.span)
            amounts.append(len(found))
    assert len(amounts) > 100
    assert median(amounts) <= 3
    assert mean(amounts) <= 5
    assert max(amounts) <= 30


FUSED = """\
entry main [n] (xs: [n]f32) (ys: [n]f32): f32 =
  let zs = map2 (\\x y -> x * y) xs ys
  in reduce (+) 0 zs
"""


def test_several_points_of_a_thread_are_lit_where_they_are_computed() -> None:
    source = "entry main (xs: []f32) = map (\\x -> 3 * (x * x)) xs"
    texts = compiled(source, "cuda", frozenset())
    product, square = operations(Compilation(source).result("typed").prog.defs)
    for operation in product, square:
        place = known(texts, operation.span)
        assert place is not None
        found = lit(texts["cuda"], place)
        words = "".join(texts["cuda"][k].text for k in found)
        assert words.count("3.0f * (x") == 4 + 1 + 1  # several, those that are left, each alone
        for kernel in kernels(texts["cuda"]):
            assert not set(kernel) <= set(found)


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_both_operations_of_a_fused_reduction_are_told_apart(target: str) -> None:
    product, sum_ = Span(2, 26, 2, 31), Span(3, 13, 3, 16)
    stages = compiled(FUSED, target)
    for stage in [*stages][[*stages].index("soa") :]:
        text = stages[stage]
        of_product = [text[k].text for k in lit(text, product)]
        assert of_product, stage
        rounds_once = stage in ("kernels", "cuda")
        sign = "fma" if rounds_once else " * "
        assert all(sign in line for line in of_product), (stage, of_product)
        of_sum = [text[k].text for k in lit(text, sum_)]
        assert of_sum, stage
        signs = (" + ", "fma") if rounds_once else (" + ",)  # the sums of threads are added plainly
        assert all(any(sign in line for sign in signs) for line in of_sum), (stage, of_sum)


MEETING = """\
def square (x: f32): f32 = x * x

entry main [n] (xs: [n]f32) (c: bool): ([n]f32, [n]f32) =
  let weighted (f: f32 -> f32) = map (\\x -> 3 * f x) xs
  in (weighted (\\x -> if c then x + 1 else x - 7), weighted square)
"""


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(
    ("place", "sign"), [(Span(1, 28, 1, 33), " * "), (Span(5, 23, 5, 49), " ? ")]
)
def test_what_was_put_in_the_place_of_a_call_keeps_its_own_place(
    target: str, place: Span, sign: str
) -> None:
    text = compiled(MEETING, target)[target]
    found = [text[k].text for k in lit(text, place)]
    assert 1 <= len(found) <= 4
    assert any(sign in line for line in found)
