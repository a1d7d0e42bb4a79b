"""A constructor by itself has no equality: which others its type has must be known before."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import TypeError_
from compiler.frontend.check import check
from compiler.frontend.parser import parse

OPTION = "type opt 'a = #none | #some a\n"
REFUSED = [
    "def f (xs: []opt i32) = filter ((!=) #none) xs",
    "def f (xs: []opt i32) = filter (!= #none) xs",
    "def f (xs: []opt i32) = filter (#none !=) xs",
    "def f (xs: []opt i32) = map ((==) #none) xs",
    "def f (x: opt i32) = #none == x",
    "def f (x: opt i32) = (==) #none x",
    "def f (x: opt i32) = let g y = y == #none in g x",
    "def f (xs: [](#a | #b)) = map2 (==) [#a, #a] xs",
]
ACCEPTED = [
    "def f (xs: []opt i32) = filter (\\x -> x != #none) xs",
    "def f (x: opt i32) = x == #none",
    "def f (x: opt i32) = (==) x #none",
    "def f (x: opt i32) = (#none : opt i32) == x",
    "def f (xs: [](i32, i32)) = map ((==) (1, 2)) xs",
    "def f (x: i32) = (== 3) x && (3 ==) x && 3 == x",
]


@pytest.mark.parametrize("source", REFUSED)
def test_a_constructor_is_compared_with_nothing_unknown(source: str) -> None:
    with pytest.raises(TypeError_) as caught:
        check(parse(OPTION + source), Ctx())
    error = caught.value
    assert "The variants of the type are not known here." in error.message + error.hint


@pytest.mark.parametrize("source", ACCEPTED)
def test_a_constructor_is_compared_where_its_type_is_known(source: str) -> None:
    check(parse(OPTION + source), Ctx())


def test_names_that_futhark_has_not_are_not_in_the_prelude() -> None:
    with pytest.raises(TypeError_, match="Unknown name `concat_to`"):
        check(parse("def f (xs: []i32) = concat_to 3 xs xs"), Ctx())
