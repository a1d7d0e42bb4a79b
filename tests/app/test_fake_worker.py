"""The worker of the server's tests answers in the shapes that the protocol declares."""

from typing import Any

import pytest

from tests.app import fake_worker
from tests.protocol.shapes import wrong, wrong_answer

SOURCE = "entry main (n: i64) (m: i64) =\n  let UNUSED = n\n  in map f xs\n"
PAIR = {"a": "{(n : 1)}", "b": "n + {(n : 1)}"}
LMADS = [PAIR["a"], PAIR["b"]]
MEMORY = {"op": "memory", "stage": "funmem"}
REQUESTS: dict[str, dict[str, Any]] = {
    "backends": {"op": "backends"},
    "show": {"op": "show"},
    "show in parts": {"op": "show", "stream": True},
    "show what is wrong": {"op": "show", "source": "WRONG"},
    "check": {"op": "check"},
    "check without parameters": {"op": "check", "source": "map"},
    "check what is wrong": {"op": "check", "source": "WRONG"},
    "run": {"op": "run", "input": "[1, 2]"},
    "run that fails": {"op": "run", "source": "FAILS"},
    "memory": MEMORY,
    "memory of an array": {**MEMORY, "array": "ys_1", "values": {"n": 2, "m": 3}},
    "memory of a kernel": {**MEMORY, "kernel": "ys_1", "values": {"n": 2, "m": 3}},
    "prove": {"op": "prove", **PAIR},
    "prove what meets": {"op": "prove", **PAIR, "b": "OVER"},
    "prove what is open": {"op": "prove", **PAIR, "b": "OPEN"},
    "prove what is wrong": {"op": "prove", **PAIR, "a": "BAD"},
    "cells": {"op": "cells", "lmads": LMADS, "values": {}},
    "attempts": {"op": "attempts"},
    "bounds": {"op": "bounds"},
    "interference": {"op": "interference"},
    "fusion": {"op": "fusion"},
    "index functions": {"op": "index_functions"},
    "formulas": {"op": "formulas"},
    "lifetimes": {"op": "lifetimes"},
    "lifetimes in bytes": {"op": "lifetimes", "values": {"n": 3}},
    "tuning": {"op": "tuning"},
    "validity": {"op": "validity"},
    "generate": {"op": "generate", "sizes": {"n": 3}},
    "batch": {"op": "batch", "requests": [{"op": "check"}, {"op": "attempts"}]},
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_shape_is_the_declared_one(name: str) -> None:
    request = {"source": SOURCE, **REQUESTS[name]}
    for answer in fake_worker.answer(request):
        assert wrong_answer(request["op"], answer) == []


def test_the_stages_are_of_the_declared_shape() -> None:
    manifest = {"ok": True, "stages": fake_worker.MANIFEST, "switches": [], "listings": []}
    assert wrong("manifest", "answer", manifest) == []
