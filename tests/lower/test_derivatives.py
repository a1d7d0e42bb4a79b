"""`jvp`, `vjp` and the like: their types, and what they are at the stage that still has them."""

from __future__ import annotations

import pytest

from compiler.driver import checking
from compiler.driver.worker import answer
from compiler.protocol.programs import CheckRequest

F = "def f (x: f64, ys: [2]f64) = x * ys[0] + f64.sin ys[1]\n"
CALLS = [
    ("jvp f (1, [2, 3]) (0, [1, 0])", "f64", "1.0f64"),
    ("vjp f (1, [2, 3]) 1", "(f64, [2]f64)", "2.0f64\n[1.0f64, -0.9899924966004454f64]"),
    ("jvp2 f (1, [2, 0]) (0, [1, 0])", "(f64, f64)", "2.0f64\n1.0f64"),
    ("vjp2 f (1, [2, 0]) 3", "(f64, (f64, [2]f64))", "2.0f64\n(6.0f64, [3.0f64, 3.0f64])"),
    (
        "jmp f (1, [2, 0]) [(1, [0, 0]), (0, [1, 0]), (0, [0, 1])]",
        "[3]f64",
        "[2.0f64, 1.0f64, 1.0f64]",
    ),
    (
        "mjp f (1, [2, 0]) [1, 2]",
        "[2](f64, [2]f64)",
        "[(2.0f64, [1.0f64, 1.0f64]), (4.0f64, [2.0f64, 2.0f64])]",
    ),
    ("jmp2 f (1, [2, 0]) [(1, [0, 0])]", "(f64, [1]f64)", "2.0f64\n[2.0f64]"),
    (
        "mjp2 f (1, [2, 0]) [1, 2]",
        "(f64, [2](f64, [2]f64))",
        "2.0f64\n[(2.0f64, [1.0f64, 1.0f64]), (4.0f64, [2.0f64, 2.0f64])]",
    ),
]


@pytest.mark.parametrize(("call", "type_", "expected"), CALLS)
def test_they_have_types_and_values(call: str, type_: str, expected: str) -> None:
    """Where they still are derivatives, the reference interpreter knows what they give."""
    source = f"{F}entry main: {type_} = {call}\n"
    assert checking.check(CheckRequest(source))["ok"]
    told = answer({"op": "run", "source": source, "backend": "ref", "stage": "soa", "input": ""})
    shown = told.get("output", "").replace("\n(", "\n(")
    assert shown == expected, told


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("jvp f (1, [2, 3]) 1", "expected `(f64, [2]f64)`"),
        ("vjp f (1, [2, 3]) (1, [0, 0])", "expected `f64`"),
        ("jmp f (1, [2, 3]) (1, [0, 0])", "expected `[]"),
    ],
)
def test_a_seed_of_the_wrong_type_is_told(call: str, found: str) -> None:
    told = answer({"op": "check", "source": f"{F}entry main = {call}\n"})
    assert found in told["error"]["message"], told


def test_a_function_with_an_adjoint_of_its_own_is_the_function() -> None:
    source = (
        "entry main (x: f64) = (with_vjp (\\x -> x * x) (\\_ seed -> seed) x,"
        " with_vjp_tape (\\x -> (x, x + 1)) (\\(x, seed) -> x * seed) x)"
    )
    told = answer({"op": "run", "source": source, "input": "3f64", "backend": "c"})
    assert told.get("output") == "9.0f64\n4.0f64", told


def test_arrays_in_variants_are_refused() -> None:
    source = (
        "type~ opt = #none | #some ([]f32)\n"
        "entry main (n: i64): f32 =\n"
        "  let g (o: opt) = match o case #none -> 0 case #some xs -> f32.sum xs\n"
        "  in jvp g (#some (replicate n 1)) (#some (replicate n 2))\n"
    )
    told = answer({"op": "show", "source": source})
    assert told["error"]["code"] == "L001"
    assert told["error"]["span"][0] == 4
