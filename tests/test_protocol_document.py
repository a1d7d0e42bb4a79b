"""The tables of `docs/protocol.md`: operations with what they read and answer, options, kinds."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from compiler import api, worker
from compiler.base.errors import ErrorKind
from compiler.pipeline import BY_ID
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


class Watched(dict[str, Any]):
    """A request that remembers which of its fields were asked for."""

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__(request)
        self.read: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)


def names_in(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def keys(data: Any) -> set[str]:
    """The names of all fields, at whatever depth."""
    if isinstance(data, dict):
        return set(data).union(*map(keys, data.values()))
    return set().union(*map(keys, data)) if isinstance(data, list) else set()


def test_every_operation_has_its_row() -> None:
    assert ROWS.keys() == worker._OPERATIONS.keys()


@pytest.mark.parametrize("name", ROWS)
def test_an_operation_reads_and_answers_what_its_row_says(name: str) -> None:
    takes, answers = ROWS[name]
    request = Watched({"op": name, "source": PROGRAM, **REQUESTS.get(name, {})})
    answer = worker.answer(request, lambda part: None)
    assert answer["ok"], answer
    values = {"ref", "c", "cuda", "op", *api.OPTIONS, *worker._ALONE} - {"entry"}
    taken = set(names_in(re.sub(r"\(`[^)]*\)", "", takes))) - (values - {"options"})
    assert request.read - COMMON == taken
    said = set(names_in(re.sub(r"\(`[^)]*\)", "", answers))) - {"disable", *taken, *BY_ID}
    assert said <= keys(answer), said - keys(answer)


def test_options_and_kinds_are_all_there() -> None:
    """What is wrong with a request is told as `runtime`."""
    rows = re.findall(r"^\| `(\w+)` \| ", TEXT.partition("## Options")[2], re.M)
    assert set(rows) == {*api.OPTIONS, *get_args(ErrorKind)} - {"usage"}
