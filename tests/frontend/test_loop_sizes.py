"""Sizes of a loop's arrays that tell each other, and sizes that a type says and nobody tells."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompileError
from compiler.driver.worker import answer
from compiler.frontend.check import check
from compiler.frontend.parser import parse

EXCHANGED = {
    "an inner loop": "loop (x, y) = (a, b) for _i < 3i32 do\n"
    "  loop (u, v) = (x, y) for _j < 2i32 do (map2 (+) v (iota n), u)",
    "an inner loop, the other one asks": "loop (x, y) = (a, b) for _i < 3i32 do\n"
    "  loop (u, v) = (x, y) for _j < 2i32 do (v, map2 (+) u (iota n))",
    "rows of matrices": "let (p, q) =\n"
    "  loop (x, y) = (map (replicate n) a, map (replicate n) b) for _i < 3i32 do\n"
    "   loop (u, v) = (x, y) for _j < 2i32 do (v with [:, 0] = iota n, u)\n"
    " in (map head p, map last q)",
    "three in turn": "let (x, y, _) =\n"
    "  loop (u, v, w) = (a, b, copy a) for _i < 4i32 do (v, w, map2 (+) u (iota n))\n in (x, y)",
}


@pytest.mark.parametrize("body", EXCHANGED.values(), ids=EXCHANGED.keys())
def test_arrays_of_one_size_may_exchange_places(body: str) -> None:
    """Which of them the body asks a size of does not matter."""
    source = f"entry main [n] (a: *[n]i64) (b: *[n]i64): ([n]i64, [n]i64) =\n {body}"
    given = {"op": "run", "source": source, "input": "[1i64, 2i64] [3i64, 4i64]", "backend": "ref"}
    assert answer(given)["ok"], answer(given)


def test_arrays_of_two_sizes_may_not() -> None:
    source = (
        "def f [n] [m] (a: [m]i64) (b: [n]i64) = loop (x, y) = (a, b) for _i < 3i32 do\n"
        " loop (u, v) = (x, y) for _j < 2i32 do (map2 (+) v (iota n), u)"
    )
    with pytest.raises(CompileError, match="`n` and `m` are not the same"):
        check(parse(source), Ctx())


@pytest.mark.parametrize(
    "source",
    [
        "def f (x: i32): ?[k].i32 = x",
        "def f (x: i32): ?[k][l].[k]i32 = [x]",
        "def f (n: i64): ?[k].[k + 1]i64 = iota (n + 1)",
        "def f (x: i32) (_: ?[k].i32) = x",
        "def f (x: i32) = let g (y: i32): ?[k].i32 = y in g x",
        "def f (n: i64): ?[k].(i64 -> [k]i64) = \\_ -> iota n",
        "type t 'a = i32 def f (x: i32): ?[k].t ([k]i32) = x",
        "type~ t = ?[k].([k]i32, ?[l].[k]i32)",
        "type^ t = i32 -> ?[k].i32",
        "module type m = {val f: i32 -> ?[k].i32}",
    ],
)
def test_a_size_that_no_array_of_a_type_has_is_refused(source: str) -> None:
    with pytest.raises(CompileError, match="alone is not the size of an array"):
        check(parse(source), Ctx())


@pytest.mark.parametrize(
    "source",
    [
        "def f (n: i64): ?[k].(i64, [k]i64) = (n, iota n)",
        "type t [n] = #a | #b ([n]i64) def f (n: i64): ?[k].t [k] = #b (iota n)",
        "module m: {type t [n] val f: i64 -> ?[k].t [k]} =\n"
        " {type t [n] = [n]i64 def f (n: i64): ?[k].t [k] = iota n}",
    ],
)
def test_a_size_that_an_array_of_a_type_has_is_accepted(source: str) -> None:
    check(parse(source), Ctx())


def test_two_sizes_of_one_type_have_two_names() -> None:
    with pytest.raises(CompileError, match="same name"):
        check(parse("def f (n: i64): ?[k][k].[k]i64 = iota n"), Ctx())


def test_a_loop_keeps_the_size_that_its_body_asks_for() -> None:
    """It may be another one than the loop begins with; said of the parameter, it is compared."""
    head = "def f (n: i64) (ys: [n]i64) = map (+ n) ys\nentry main [m] (k: i64) (xs: [m]i64) =\n"
    refused = "loop ys = xs for _i < 2 do f k ys :> [m]i64"
    with pytest.raises(CompileError, match="`k` and `m` are not the same"):
        check(parse(head + refused), Ctx())
    compared = "loop ys: [m]i64 = xs for _i < 2 do f k (ys :> [k]i64) :> [m]i64"
    given = {"op": "run", "source": head + compared, "backend": "ref"}
    found = answer({**given, "input": "3 [1, 2, 3]"})
    assert found["output"] == "[7i64, 8i64, 9i64]", found
    assert "cannot match" in str(answer({**given, "input": "4 [1, 2, 3]"})["error"])
