"""Entry points of abstract types that might be functions: those that are data are taken."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import TypeError_
from compiler.frontend.check import check
from compiler.frontend.parser import parse

MODULE = (
    "module m : {{ type^ t  val mk : i64 -> t }} = {{ type^ t = {} def mk (n: i64) : t = {} }}\n"
)
ENTRIES = ["entry f (n: i64) : m.t = m.mk n", "entry f (n: i64) : (m.t, i64) = (m.mk n, n)"]


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("made", [("{c: i64}", "{c = n}"), ("i64", "n"), ("[]i64", "iota n")])
def test_a_lifted_type_that_is_data_goes_out(entry: str, made: tuple[str, str]) -> None:
    check(parse(MODULE.format(*made) + entry), Ctx())


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    "made", [("i64 -> i64", "(+ n)"), ("{c: i64, f: i64 -> i64}", "{c = n, f = (+ n)}")]
)
def test_a_lifted_type_that_holds_a_function_does_not(entry: str, made: tuple[str, str]) -> None:
    with pytest.raises(TypeError_, match="may be a function"):
        check(parse(MODULE.format(*made) + entry), Ctx())
