"""The tables of `docs/protocol.md`: operations with what they read and answer, options, kinds."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from compiler import worker
from compiler.base.errors import ErrorKind
from compiler.pipeline import BY_ID
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Options
from compiler.protocol.operations import OPERATIONS
from tests.test_advice import OLD

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "protocol.md").read_text("utf-8")
ROWS = {
    row[0]: row[1:]
    for row in re.findall(r"^\| `(\w+)` \|(.*?)\| (.*) \|$", TEXT.partition("## Options")[0], re.M)
}
PROGRAM = """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  let unused = k
  let new = map (+ 1) (reverse xs[:k])
  in map (* 2) xs with [0:k] = new
"""
LMADS = {"a": "{(n : 1)}", "b": "n + {(n : 1)}", "assumptions": {"nonnegative": ["n"]}}
REQUESTS: dict[str, dict[str, Any]] = {
    "show": {"stages": ["c"]},
    "run": {"sizes": {"n": 4, "k": 2}, "backend": "ref", "stage": "funmem"},
    "generate": {"entry": "main", "sizes": {"n": 4, "k": 2}, "longest": 1000},
    "memory": {"stage": "funmem"},
    "lifetimes": {"stage": "funmem", "values": {"n": 5}},
    "validity": {"sizes": {"n": 4, "k": 2}, "seed": 1},
    "attempts": {"source": OLD},
    "prove": {**LMADS, "certificate": True},
    "cells": {"lmads": [LMADS["a"], LMADS["b"]], "values": {"n": 3}},
    "batch": {"requests": [{"op": "check"}]},
}
COMMON = {"op", "id", "source", "path"}


def names_in(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def keys(data: Any) -> set[str]:
    """The names of all fields, at whatever depth."""
    if isinstance(data, dict):
        return set(data).union(*map(keys, data.values()))
    return set().union(*map(keys, data)) if isinstance(data, list) else set()


def test_every_operation_has_its_row() -> None:
    assert ROWS.keys() == OPERATIONS.keys()


@pytest.mark.parametrize("name", ROWS)
def test_an_operation_reads_and_answers_what_its_row_says(name: str) -> None:
    takes, answers = ROWS[name]
    request = {"op": name, "source": PROGRAM, **REQUESTS.get(name, {})}
    if "source" not in fields(OPERATIONS[name].request):
        del request["source"]
    answer = worker.answer(request, lambda part: None)
    assert answer["ok"], answer
    alone = [one.id for one in OPERATIONS.values() if not one.batched]
    values = {"ref", "c", "cuda", "op", *fields(Options), *alone} - {"entry"}
    taken = set(names_in(re.sub(r"\(`[^)]*\)", "", takes))) - (values - {"options"})
    assert fields(OPERATIONS[name].request).keys() - COMMON == taken
    said = set(names_in(re.sub(r"\(`[^)]*\)", "", answers))) - {"disable", *taken, *BY_ID}
    assert said <= keys(answer), said - keys(answer)


def test_options_and_kinds_are_all_there() -> None:
    """What is wrong with a request is told as `runtime`."""
    rows = re.findall(r"^\| `(\w+)` \| ", TEXT.partition("## Options")[2], re.M)
    assert set(rows) == {*fields(Options), *get_args(ErrorKind)} - {"usage"}
