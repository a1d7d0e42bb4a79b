"""Inputs that scripts make."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.errors import CompileError
from compiler.base.spans import Span
from compiler.ir.values import Value, show
from compiler.testing.blocks import Data
from compiler.testing.script import Callee, Callees, Uncallable, evaluate


def load(path: str) -> bytes:
    return {"one": b"[1.5f32, 2f32]", "two": b"1i32 [true]", "raw": b"\x01\xff"}[path]


def iota(args: list[Value]) -> list[list[Value]]:
    return [[np.arange(int(args[0]))]]


def both(args: list[Value]) -> list[list[Value]]:
    return [[args[0]], [np.int32(int(args[0]) + 1)]]


CALLEES: Callees = {
    "iota": Callee((("i64",),), iota),
    "both": Callee((("i32",),), both),
    "swap": Callee((("i32",), ("i64",)), lambda args: [[args[1]], [args[0]]]),
    "record": Callee((("i32", "bool"),), lambda args: [list(args)]),
    "bits": Callee((), lambda _: [[np.array([True, False])]]),
    "sum": Callee((("i32",),), lambda args: [[np.int32(np.sum(args[0]))]]),
    "of_pair": Callee((("i32", "i32"),), lambda args: [[np.int32(int(args[0]) - int(args[1]))]]),
    "hidden": Uncallable("it takes or gives a function"),
    "none": Callee((), lambda args: [[np.bool_(True)]]),
}


def made(text: str, *prims: tuple[str, ...], form: str = "script") -> list[str]:
    wanted = Callee(prims, iota)  # type: ignore[arg-type]
    data = Data(form, text, Span(3, 10, 3, 11))  # type: ignore[arg-type]
    return [show(value) for value in evaluate(data, CALLEES, load, wanted)]


@pytest.mark.parametrize(
    ("text", "prims", "values"),
    [
        ("1", [("i64",)], ["1i64"]),
        ("-1.5", [("f32",)], ["-1.5f32"]),
        ("[1, 2]", [("u8",)], ["[1u8, 2u8]"]),
        ("[[1], [2]]", [("u8",)], ["[[1u8], [2u8]]"]),
        ("empty([0]f32)", [("f32",)], ["empty([0]f32)"]),
        ("iota 3", [("i64",)], ["[0i64, 1i64, 2i64]"]),
        ("(iota 2, true)", [("i64",), ("bool",)], ["[0i64, 1i64]", "true"]),
        ("both 4", [("i32",), ("i32",)], ["4i32", "5i32"]),
        ("swap (1, 2)", [("i64",), ("i32",)], ["2i64", "1i32"]),
        ("swap (swap 1 2)", [("i64",), ("i32",)], None),
        ("let x = 2 in let (a, b) = both x in swap b 7", [("i64",), ("i32",)], ["7i64", "3i32"]),
        ("let x = 2 let (a, b) = both x in swap b 7", [("i64",), ("i32",)], ["7i64", "3i32"]),
        ("record {b = true, a = 1}", [("i32", "bool")], ["1i32", "true"]),
        ("[none, none]", [("bool",)], ["[true, true]"]),
        ('(2f32, $loaddata "one")', [("f32",), ("f32",)], ["2.0f32", "[1.5f32, 2.0f32]"]),
        ('let (a, b) = $loaddata "two" in (b, a)', [("bool",), ("i32",)], ["[true]", "1i32"]),
        ('$loadbytes "raw"', [("u8",)], ["[1u8, 255u8]"]),
        ("+5", [("i64",)], ["5i64"]),
        ("(swap 1 2).1", [("i32",)], ["1i32"]),
        ("let p = {a = 1i32, b = (2i32, 3i32)} in p.b.1", [("i32",)], ["3i32"]),
        ("let p = (1i32, ((2i32, 3i32), 4i32)) in p.1.0.1", [("i32",)], ["3i32"]),
        ("let p = (1, {x' = (2, 3)}) in p.1.x'.0", [("i32",)], ["2i32"]),
        ("let a = iota 3 in a[2]", [("i64",)], ["2i64"]),
        (
            "let a = [[1, 2], [3, 4]] in (a[1], a[0, 1])",
            [("i32",), ("i32",)],
            ["[3i32, 4i32]", "2i32"],
        ),
        ("bits[1]", [("bool",)], ["false"]),
        ("sum[1, 2]", [("i32",)], ["3i32"]),
        ("sum [1, 2]", [("i32",)], ["3i32"]),
        ("sum (let a = [1, 2] in a)", [("i32",)], ["3i32"]),
        ("of_pair (1, 2)", [("i32",)], ["-1i32"]),
        ("of_pair (of_pair (1, 2), 3)", [("i32",)], ["-4i32"]),
        ('"text"', [("u8",)], ["[116u8, 101u8, 120u8, 116u8]"]),
    ],
)
def test_values(text: str, prims: list[tuple[str, ...]], values: list[str] | None) -> None:
    if values is None:
        # The numbers have got their types by the first call: the second wants them the other way.
        assert made(text, *prims) == ["1i32", "2i64"]
    else:
        assert made(text, *prims) == values
    spread = text.replace(" ", "\n  ")
    if '"' not in text and not text.startswith("let"):
        assert made(spread, *prims) == made(text, *prims)


@pytest.mark.parametrize(
    ("text", "says", "column"),
    [
        ("iota (1", "Expected `,`, found the end", 7),
        ("iota 1)", "Expected the end of the script, found `)`", 6),
        ("itoa 1", "no entry point `itoa`", 0),
        ("iota 1 2", "Wanted: 1 arguments; given: 2.", 0),
        ("1 # 2", "`#` begins nothing", 2),
        ("1 + 2", "It has no operators and variants", 2),
        ("#red", "It has no operators and variants", 0),
        ("1 -- one", "It has no comments", 2),
        ("{a = 1, a = 2}", "The field `a` is given twice.", 0),
        ("let p = {a = 1} in p.b", "no field `b`", 21),
        ("let p = {a = 1} in p.[", "Expected the name of a field", 21),
        ("let (1, a) = 2 in a", "Expected a name, found `1`", 5),
        ("let a = [1, 2] in a[2]", "Index [2] is out of bounds for an array of shape [2].", 18),
        ("let a = [1, 2] in a[-1]", "Index [-1] is out of bounds", 18),
        ("let a = [1, 2] in a[0, 1]", "Given 2 indices, and the value has 1 dimensions", 18),
        ("let a = 1 in a[0]", "the value has 0 dimensions", 13),
        ("let a = [1, 2] in a[true]", "An index is one integer", 18),
        ("let a = [1, 2] in a [0]", "`a` is no function", 18),
        ("hidden 1", "A script cannot call `hidden`: it takes or gives a function.", 0),
        ("f (\\x -> x) 2", "Its functions are those of the program.", 3),
        ("let (a, b) = 1 in a", "no tuple of 2 values", 4),
        ("$loadvideo 1", "no `$loadvideo`", 0),
        ("$loaddata 1", "takes the name of a file", 0),
        ("[iota 1, iota 2]", "one type and shape", 0),
    ],
)
def test_errors_have_their_place(text: str, says: str, column: int) -> None:
    with pytest.raises(CompileError) as caught:
        made(text, ("i64",))
    assert says in caught.value.message
    assert caught.value.span[:2] == (3, 10 + column)
