"""`jvp`, `vjp` and the like: they have types; entry points that need none can be run."""

from __future__ import annotations

import pytest

from compiler.base.errors import Limitation
from compiler.driver import api, checking
from compiler.driver.worker import answer
from compiler.protocol.programs import CheckRequest, ShowRequest

F = "def f (x: f64, ys: [2]f64) = x * ys[0] + f64.sin ys[1]\n"


@pytest.mark.parametrize(
    ("call", "type_"),
    [
        ("jvp f (1, [2, 3]) (0, [1, 0])", "f64"),
        ("vjp f (1, [2, 3]) 1", "(f64, [2]f64)"),
        ("jvp2 f (1, [2, 3]) (0, [1, 0])", "(f64, f64)"),
        ("vjp2 f (1, [2, 3]) 1", "(f64, (f64, [2]f64))"),
        ("jmp f (1, [2, 3]) [(1, [0, 0]), (0, [1, 0]), (0, [0, 1])]", "[3]f64"),
        ("mjp f (1, [2, 3]) [1, 2]", "[2](f64, [2]f64)"),
        ("jmp2 f (1, [2, 3]) [(1, [0, 0])]", "(f64, [1]f64)"),
        ("mjp2 f (1, [2, 3]) [1, 2]", "(f64, [2](f64, [2]f64))"),
    ],
)
def test_they_have_types_but_no_code(call: str, type_: str) -> None:
    """They are refused at the call; the file's other entry points are run."""
    source = f"{F}entry main: {type_} = {call}\nentry other (x: f64) = f (x, [x, 0])\n"
    assert checking.check(CheckRequest(source))["ok"]
    with pytest.raises(Limitation, match="Differentiation is not there yet") as refused:
        api.show(ShowRequest(source))
    assert refused.value.span is not None
    assert refused.value.span.line == 2
    told = answer({"op": "run", "source": source, "entry": "other", "input": "3f64"})
    assert told.get("output") == "9.0f64", told


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
