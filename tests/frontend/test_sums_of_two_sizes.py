"""Branches and loops whose variants hold arrays of different sizes."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompileError
from compiler.frontend.check import check
from compiler.frontend.parser import parse

HEAD = """
type opt 'a = #none | #some a
def t (o: opt ([]i64)): i64 = match o case #some xs -> length xs case #none -> 0
def f (n: i64): opt ([]i64) = if n > 3 then #some (iota n) else #none
def g 'a (x: a): opt a = #some x
def same [n] (o: opt ([n]i64)): [n]i64 = match o case #some xs -> xs case #none -> iota n
"""
ONE, TWO = "#some (iota n)", "#some (iota (n + 1))"
BRANCHES = f"if c then {ONE} else {TWO}"
GROW = "match s case #none -> #some [0] case #some xs -> #some (xs ++ [i])"
ACCEPTED = (
    f"(c: bool) (n: i64): opt ([]i64) = {BRANCHES}",
    f"(c: bool) (n: i64) = ({BRANCHES}): opt ([]i64)",
    f"(c: bool) (n: i64) = t ({BRANCHES})",
    f"(c: bool) (n: i64) = ({BRANCHES}) |> t",
    f"(c: bool) (n: i64) = same ({BRANCHES})",
    f"(c: bool) (n: i64) = let o: opt ([]i64) = {BRANCHES} in t o",
    f"(c: bool) (n: i64): opt ([]i64) = let go c = {BRANCHES} in go c",
    f"(c: bool) (n: i64): opt ([]i64) = let o = {BRANCHES} in o",
    f"(c: bool) (n: i64) = map (\\n -> t ({BRANCHES})) (iota n)",
    f"(c: bool) (n: i64): [](opt ([]i64)) = if c then [{ONE}] else [{TWO}]",
    f"(c: bool) (n: i64): (opt ([]i64), i64) = if c then ({ONE}, 1) else ({TWO}, 2)",
    f"(c: i64) (n: i64): opt ([]i64) = if c == 0 then #none else if c > 1 then {ONE} else {TWO}",
    f"(c: i64) (n: i64): opt ([]i64) = if c > 1 then {ONE} else if c == 0 then #none else {TWO}",
    f"(c: i64) (n: i64): opt ([]i64) = match c case 0 -> #none case 1 -> {ONE} case _ -> {TWO}",
    f"(c: i64) (n: i64): opt ([]i64) = match c case 0 -> {ONE} case 1 -> #none case _ -> {TWO}",
    "(c: bool) (n: i64): opt (opt ([]i64)) = if c then #some (#some (iota n)) else #some #none",
    f"(c: bool) (n: i64): opt (opt ([]i64)) = if c then #some (#some (iota n)) else #some ({TWO})",
    "(c: bool) (n: i64): (#l ([]i64) | #r ([]f32)) ="
    " if c then #l (iota n) else if n > 3 then #r (replicate n 1) else #l (iota 2)",
    "(c: bool) (n: i64): opt ([]i64) = if c then g (iota n) else g (iota (n + 1))",
    "(c: bool) (n: i64) = t (if c then f n else f (n + 1))",
    "(c: bool) (xs: []i64) = let ys = filter (> 3) xs in t (if c then #some ys else #some xs)",
    f"(n: i64): opt ([]i64) = loop (s: opt ([]i64)) = #none for i < n do {GROW}",
    f"(n: i64): opt ([]i64) = loop s = #none for i < n do {GROW}",
    "(n: i64) = loop (s: opt ([]i64)) = #none while t s < n do #some (iota (t s + 1))",
    "(n: i64) = loop s = f n for i < n do f i",
    "(n: i64) = loop (s: opt ([n]i64)) = #none for i < n do #some (iota n)",
)


def tried(rest: str) -> None:
    check(parse(f"{HEAD}entry main {rest}"), Ctx())


@pytest.mark.parametrize("rest", ACCEPTED)
def test_it_is_accepted(rest: str) -> None:
    tried(rest)


REFUSED = (
    (
        f"(c: bool) (n: i64): opt ([n]i64) = {BRANCHES}",
        "The body of `main`: expected `#none | #some [n]i64`, found a value `#some [n']i64`.",
        f"(c: bool) (n: i64): opt ([]i64) = {BRANCHES}",
    ),
    (
        "(n: i64) = loop (s: opt ([n]i64)) = #none for i < n do #some (iota i)",
        "A size of the loop parameter must not change. The sizes `n` and `i` are not the same.",
        "(n: i64) = loop [k] (s: opt ([k]i64)) = #none for i < n do #some (iota i)",
    ),
    (
        f"(n: i64) = [{ONE}, {TWO}]",
        "An element after the first: expected a value `#some [n]i64`, found a value"
        " `#some [n + 1]i64`.",
        "",
    ),
)


@pytest.mark.parametrize(("rest", "said", "mended"), REFUSED, ids=range(len(REFUSED)))
def test_a_message_names_both_sizes_and_shows_a_way_out(rest: str, said: str, mended: str) -> None:
    with pytest.raises(CompileError) as caught:
        tried(rest)
    assert caught.value.message == said
    if mended:
        tried(mended)
