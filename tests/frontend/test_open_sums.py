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
    "def f (c: bool) (x: opt i32) = (if c then #none else #some 1) == x",
    "def f (x: opt i32) = (let y = 1i32 in #some y) == x",
    "def f (x: opt i32) = let p = #none in #none == p",
]
ACCEPTED = [
    "def f (xs: []opt i32) = filter (\\x -> x != #none) xs",
    "def f (x: opt i32) = x == #none",
    "def f (x: opt i32) = (==) x #none",
    "def f (x: opt i32) = (#none : opt i32) == x",
    "def f (x: opt i32) = let p = #none in p == x",
    "def f (x: opt i32) = let p = #none in p == #none && p == x",
    "def f (x: opt i32) = let (p, q) = (#none, #some 1) in p == x && q == x",
    "def f (x: opt i32) = let p = #none let g y = p == y in g x",
    "def f (xs: []opt i32) = let p = #none in map (== p) xs",
    "def f (xs: []opt i32) = let p = #none in map ((==) p) xs",
    "def f (xs: []opt i32) = let p = #none in map (p ==) xs",
    "def f (x: opt i32) = loop p = #some 1 while p != x do #none",
    "def f (r: {left: opt i32}) (k: i32) =\n"
    "  (loop (b, p) = (false, #some (-1)) for i < k do (p == r.left, #some i)).0",
    "def f (xs: [](i32, i32)) = map ((==) (1, 2)) xs",
    "def f (x: i32) = (== 3) x && (3 ==) x && 3 == x",
]


@pytest.mark.parametrize("source", REFUSED)
def test_a_constructor_is_compared_with_nothing_unknown(source: str) -> None:
    with pytest.raises(TypeError_) as caught:
        check(parse(OPTION + source), Ctx())
    error = caught.value
    assert "The variants of the type are unknown here." in error.message + error.hint


@pytest.mark.parametrize("source", ACCEPTED)
def test_a_constructor_is_compared_where_its_type_is_known(source: str) -> None:
    check(parse(OPTION + source), Ctx())


def test_names_that_futhark_has_not_are_not_in_the_prelude() -> None:
    with pytest.raises(TypeError_, match="Unknown name `concat_to`"):
        check(parse("def f (xs: []i32) = concat_to 3 xs xs"), Ctx())
