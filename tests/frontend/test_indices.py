"""What may stand between `[` and `]`: signed integers, whichever number comes first."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import TypeError_
from compiler.frontend.check import check
from compiler.frontend.parser import parse

ACCEPTED = [
    "xs[1 + i]",
    "xs[(1 + i)]",
    "xs[2 * 1 - i]",
    "xs[if i > 3 then 0 else i]",
    "xs[match i case 0 -> 1 case x -> x]",
    "xs[let x = 3 in 2 * x + i]",
    "xs[assert (i > 0) 1 + i]",
    "xs[#[trace] 1 + i]",
    "xs[loop a = 1 for _j < 3 do a + i]",
    "(copy xs with [1 + i] = 3)[0]",
    "let ys = copy xs let ys[1 + i] = 3 in ys[0]",
    "([[xs]])[0, 1 - 1][1 + i]",
    "(.[1 + i]) xs",
]
PLACES = ["xs[i]", "xs[1 + i]", "(copy xs with [i] = 3)[0]", "(.[i]) xs"]


@pytest.mark.parametrize("prim", ["i8", "i32", "i64"])
@pytest.mark.parametrize("exp", ACCEPTED)
def test_a_literal_does_not_say_what_type_an_index_has(exp: str, prim: str) -> None:
    check(parse(f"def f (xs: []i32) (i: {prim}) : i32 = {exp}"), Ctx())


@pytest.mark.parametrize("prim", ["u8", "u64"])
@pytest.mark.parametrize("exp", PLACES)
def test_an_index_has_a_sign(exp: str, prim: str) -> None:
    with pytest.raises(TypeError_, match=f"An index.*found `{prim}`") as caught:
        check(parse(f"def f (xs: []i32) (i: {prim}) : i32 = {exp}"), Ctx())
    assert caught.value.hint == f"Convert it, as in `i64.{prim} x`."
