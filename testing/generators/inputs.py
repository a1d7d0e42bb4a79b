"""Input as a hostile or careless user sends it: what is valid, and changed until it nearly is not.

Every case comes from its kind and its number alone. Changes know the structure: tokens of programs,
fields and types of requests, shapes and numbers of values, polynomials of problems.
"""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from compiler.protocol.fields import fields
from compiler.protocol.operations import OPERATIONS

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]
Change = Callable[[random.Random, str], str]

NUMBERS = (
    "0 1 2 -1 3 7 16 127 128 255 256 32767 65535 65536 2147483647 2147483648 4294967295 4294967296 "
    "4611686018427387904 9223372036854775807 9223372036854775808 -9223372036854775808 "
    "18446744073709551615 18446744073709551616 1e400 1e-400 0x7fffffffffffffff 0b1 1_0 00 1.5 "
    "340282366920938463463374607431768211456"
).split()
ODD: list[str] = [
    *"\0\x01\x07\x0b\x0c\r\x1a\x1c\x1d\x1e\x1f\x7f\x85\xa0\xad\u2028\u2029\u200b\ufeff\ufffd\uffff",
    "\r\n", "\r\r\n", "é", "\u0301", "𝒙", "😀", "٣", "\U0010ffff", "‮", "\t",
]  # fmt: skip
HALVES = ["\ud800", "\udfff", "\udc80", "a\ud83d"]
"""Halves of surrogate pairs: JSON can say them, text cannot hold them."""


def choose(rng: random.Random, changes: Sequence[Change], text: str, most: int = 4) -> str:
    """A text after some changes; mostly after one, now and then after none."""
    for _ in range(rng.choice((0, 1, 1, 1, *range(1, most + 1)))):
        text = rng.choice(changes)(rng, text)
    return text


# --- text of any kind ------------------------------------------------------------------------


def _place(rng: random.Random, text: str) -> int:
    return rng.randint(0, len(text))


def _insert_odd(rng: random.Random, text: str) -> str:
    at = _place(rng, text)
    odd, times = rng.choice(ODD), rng.choice((1, 1, 2))
    return text[:at] + odd * times + text[at:]


def _cut_out(rng: random.Random, text: str) -> str:
    at = _place(rng, text)
    return text[:at] + text[at + rng.choice((1, 1, 2, 5, 40)) :]


def _end_early(rng: random.Random, text: str) -> str:
    return text[: _place(rng, text)]


def _again(rng: random.Random, text: str) -> str:
    at = _place(rng, text)
    piece = text[at : at + rng.choice((1, 3, 10, 60))]
    return text[:at] + piece * rng.choice((2, 2, 3, 30)) + text[at:]


def _exchange(rng: random.Random, text: str) -> str:
    if not text:
        return text
    at = rng.randrange(len(text))
    return text[:at] + chr(rng.choice((*range(32, 127), 10))) + text[at + 1 :]


def number(rng: random.Random) -> str:
    """A number that is at an edge of something, now and then far beyond."""
    if rng.random() < 0.04:
        digits = rng.choice("0123456789") * rng.choice((30, 320, 1200, 4301, 9000))
        return rng.choice(("", "", "-", "0x", "0b")) + digits
    return rng.choice(NUMBERS) if rng.random() < 0.7 else str(rng.randint(-1000, 1000))


def _other_number(rng: random.Random, text: str) -> str:
    found = list(re.finditer(r"-?\d[\w.]*", text))
    if not found:
        return text
    one = rng.choice(found)
    suffix = re.search(r"(?:[iu](?:8|16|32|64)|f(?:16|32|64))$", one[0])
    ending = suffix[0] if suffix and rng.random() < 0.7 else ""
    return text[: one.start()] + number(rng) + ending + text[one.end() :]


CHARACTERS: tuple[Change, ...] = (_insert_odd, _cut_out, _end_early, _again, _exchange)

# --- programs --------------------------------------------------------------------------------

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
WORDS = (
    "true false if then else def let loop in val for do with local open include import type entry "
    "module while assert match case ( ) [ ] { } , : :> \\ -> => = == < <= | || && ! - + * / ** % "
    "// .. ... ..< ..> ' \" ` # #[ ] ??? ? _ . .( .[ -- n x xs i32 f64 i64 bool map reduce scan "
    "iota replicate scatter zip unzip #some #none 'a 'b '^t 1i8 2.5f32 \"s\" 'c' copy"
).split()
SNIPPETS = (
    "#[a\n  b]",
    "#[sequential\n(x,\n y)] ",
    '"a\\1234567890"',
    '"\\xd800"',
    "'\\ud800'",
    "entry main = (\\x -> x) 1",
    "module m = { def x = 1 }",
    "open m",
    "type t 'a = {x: a, y: t a}",
    "def f [n] (xs: [n]i32) : [n + 1]i32 = f xs",
    "-- | doc\r\n",
    "let (a, b) = (1, 2) in a",
    "match x case #a y -> y case _ -> 0",
    "loop (i, acc) = (0, 0) while i < n do (i + 1, acc + i)",
    "xs with [0] = 1",
    "{x = 1, 99999999999999999999 = 2}",
)


@cache
def programs() -> tuple[str, ...]:
    """The examples, and what their parts are by themselves."""
    whole = [p.read_text("utf-8") for p in sorted((ROOT / "app" / "examples").glob("*.fut"))]
    parts = [part for text in whole for part in re.split(r"\n(?=def |entry |let |type )", text)[1:]]
    return (*whole, *parts, *parts, *SNIPPETS)


def _tokens_changed(rng: random.Random, text: str) -> str:
    tokens = _TOKEN.findall(text)
    if not tokens:
        return rng.choice(WORDS)
    at = rng.randrange(len(tokens))
    match rng.randrange(6):
        case 0:
            del tokens[at : at + rng.choice((1, 1, 2, 4))]
        case 1:
            tokens.insert(at, f" {rng.choice(WORDS)} ")
        case 2:
            tokens[at] = rng.choice(WORDS)
        case 3:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 4:
            tokens[at] = rng.choice(tokens)
        case _:
            tokens.insert(at, f"\n{rng.choice(SNIPPETS)}\n")
    return "".join(tokens)


def _lines_changed(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, rng.choice(programs()[-400:]).split("\n")[0])
        case _:
            lines.insert(rng.randrange(len(lines)), lines[at])
    return rng.choice(("\n", "\n", "\n", "\r\n")).join(lines)


def _nested(rng: random.Random, text: str) -> str:
    at, deep = _place(rng, text), rng.choice((3, 30, 30, 400))
    left, right = rng.choice(("()", "[]", "{}", ("-", ""), ("\\x -> ", ""), ("(", ""), ("#[", "")))
    return text[:at] + left * deep + "x" + right * deep + text[at:]


_PROGRAM: tuple[Change, ...] = (
    *(_tokens_changed,) * 5, _lines_changed, _other_number, _nested, *CHARACTERS,
)  # fmt: skip


def source(rng: random.Random) -> str:
    """The text of a program, or what was one."""
    return choose(rng, _PROGRAM, rng.choice(programs()))


# --- values ----------------------------------------------------------------------------------

PRIMS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool")
RUNS: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = (
    ("entry main (x: i32) (y: i64) = i64.i32 x + y", (("i32", 0), ("i64", 0))),
    ("entry main [n] (xs: [n]i32) = map (+ 1) xs", (("i32", 1),)),
    ("entry main [n][m] (a: [n][m]i64) = transpose a", (("i64", 2),)),
    ("entry main [n][m] (a: [n][m]f32) (x: [m]f32) = map (\\r -> reduce (+) 0 (map2 (*) r x)) a",
     (("f32", 2), ("f32", 1))),
    ("entry main [n] (s: [n]u8) (k: i64) = (n, s, map (\\c -> c == 10) s, k)",
     (("u8", 1), ("i64", 0))),
    ("entry main [n] (b: [n]bool) (x: f64) = (map (!) b, x / 2)", (("bool", 1), ("f64", 0))),
    ("entry main [n] (a: [n]f16) (b: [n]f64) = (length a, b)", (("f16", 1), ("f64", 1))),
    ("entry main [a][b][c] (x: [a][b][c]i8) = (a, b, c, flatten_3d x)", (("i8", 3),)),
    ("entry main [n] (xs: [n]i64) (is: [n]i64) = map (\\i -> xs[i]) is", (("i64", 1), ("i64", 1))),
    ("entry main [n][m] (a: [n][m]u16) = (map (\\r -> reduce (+) 0 r) a, a[n - 1, m - 1])",
     (("u16", 2),)),
)  # fmt: skip
"""Programs that take values of many kinds, with the types and ranks of their parameters."""
_SIZES = (0, 1, 2, 3, 5, 2**31, 2**32, 2**59, 2**60, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64)


def _scalar(rng: random.Random, prim: str) -> str:
    roll = rng.random()
    if prim == "bool":
        text = rng.choice(("true", "false"))
    elif roll < 0.02:
        text = number(rng)
    elif prim[0] == "f":
        text = rng.choice((f"{rng.uniform(-9, 9)}", f"{prim}.nan", f"-{prim}.inf", "1e30", "2"))
    else:
        text = str(rng.randint(0 if prim[0] == "u" else -9, 9))
    typed = roll > 0.6 and prim != "bool" and not text.endswith(("nan", "inf"))
    return text + (prim if typed else "")


def _value(rng: random.Random, prim: str, rank: int) -> str:
    if rank == 0:
        return _scalar(rng, prim)
    if prim == "u8" and rank == 1 and rng.random() < 0.5:
        return rng.choice(('"text"', '"\\n\\u00e9"', '"\\ud800"', '"\\q"', '""', '"é😀"'))
    if rng.random() < 0.25:
        sizes = [rng.choice(_SIZES) for _ in range(rank + rng.choice((0, 0, 0, 1, 70)))]
        if rng.random() < 0.8:
            sizes[rng.randrange(len(sizes))] = 0
        return f"empty({''.join(f'[{size}]' for size in sizes)}{prim})"
    shape = [rng.choice((1, 2, 3, 3, 3, 30)) for _ in range(rank)]

    def rows(dims: list[int]) -> str:
        if not dims:
            return _scalar(rng, prim)
        return f"[{', '.join(rows(dims[1:]) for _ in range(dims[0]))}]"

    return rows(shape)


def _shape_changed(rng: random.Random, text: str) -> str:
    at = _place(rng, text)
    return text[:at] + rng.choice(("[", "]", ",", "[" * 70, "]" * 3, "[]", ", ")) + text[at:]


def _word_added(rng: random.Random, text: str) -> str:
    words = ("empty([0]i32)", "empty([0][9223372036854775807]i64)", "f32.nan", "-- ", '"', "\\",
             *PRIMS, "_", "0x", "1e", "true", "nan", "inf", ".5", "5.")  # fmt: skip
    at = _place(rng, text)
    return text[:at] + rng.choice(words) + text[at:]


_VALUES: tuple[Change, ...] = (
    _other_number, _other_number, _shape_changed, _shape_changed, _word_added, *CHARACTERS,
)  # fmt: skip


def run_text(rng: random.Random) -> tuple[str, str]:
    """A program and its input in Futhark's notation."""
    program, params = rng.choice(RUNS)
    if rng.random() < 0.05:
        params = rng.choice(RUNS)[1]
    text = " ".join(_value(rng, prim, rank) for prim, rank in params)
    return program, choose(rng, _VALUES, text, 2) if rng.random() < 0.6 else text


_WIDTH = {"bool": 1, **{prim: int(prim[1:]) // 8 for prim in PRIMS if prim != "bool"}}


def _binary(rng: random.Random, prim: str, rank: int) -> bytes:
    shape = [rng.choice((0, 1, 2, 3)) for _ in range(rank)]
    if rng.random() < 0.2 and shape:
        shape[rng.randrange(rank)] = min(rng.choice(_SIZES), 2**64 - 1)
        shape[rng.randrange(rank)] = 0
    count = 1
    for size in shape:
        count *= size
    head = struct.pack("<cBB", b"b", 2, rank) + prim.rjust(4).encode()
    body = rng.randbytes(min(count, 64) * _WIDTH[prim])
    return head + struct.pack(f"<{rank}Q", *shape) + body


def _bytes_changed(rng: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    at = rng.randrange(len(made)) if made else 0
    match rng.randrange(7):
        case 0 if made:
            made[at] ^= 1 << rng.randrange(8)
        case 1 if made:
            made[at] = rng.choice((0, 1, 2, 32, 64, 65, 98, 127, 128, 255))
        case 2:
            del made[at : at + rng.choice((1, 4, 8))]
        case 3:
            made[at:at] = rng.randbytes(rng.choice((1, 8)))
        case 4 if len(made) >= 15:
            made[7:15] = struct.pack("<Q", min(rng.choice(_SIZES), 2**64 - 1))
        case 5:
            del made[at:]
        case _ if len(made) > 2:
            made[2] = rng.choice((0, 1, 2, 3, 31, 33, 64, 65, 255))
    return bytes(made)


def run_binary(rng: random.Random) -> tuple[str, bytes]:
    """A program and its input in the binary format."""
    program, params = rng.choice(RUNS)
    data = b"".join(_binary(rng, prim, rank) for prim, rank in params)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        data = _bytes_changed(rng, data)
    return program, data


# --- problems --------------------------------------------------------------------------------

_NAMES = ("n", "m", "b", "i", "j", "k", "g", "(n//b)")


def _polynomial(rng: random.Random, depth: int | None = None) -> str:
    depth = rng.choice((1, 1, 1, 2)) if depth is None else depth
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(_NAMES) if rng.random() < 0.6 else str(rng.randint(-3, 9))
    left, right = _polynomial(rng, depth - 1), _polynomial(rng, depth - 1)
    return f"({left} {rng.choice('+-*+-*+-*+-*' if rng.random() < 0.95 else ('//', '**'))} {right})"


def _lmad(rng: random.Random) -> Any:
    dims = [[_polynomial(rng), _polynomial(rng, 1)] for _ in range(rng.choice((0, 1, 1, 2)))]
    offset = _polynomial(rng)
    if rng.random() < 0.3:
        inside = ", ".join(f"({size} : {stride})" for size, stride in dims)
        return f"{offset} + {{{inside}}}"
    return {"offset": offset, "dims": dims}


@cache
def _known() -> list[Json]:
    groups = json.loads((ROOT / "testing" / "pairs.json").read_text())
    return [
        {"assumptions": group["assumptions"], "a": pair["a"], "b": pair["b"]}
        for group in groups
        for pair in group["pairs"]
    ]


def problem(rng: random.Random) -> Json:
    """A question about two LMADs."""
    if rng.random() < 0.3:
        made: Json = json.loads(json.dumps(rng.choice(_known())))
    else:
        few = range(rng.choice((0, 1, 1, 2)))
        made = {
            "assumptions": {
                "nonnegative": [rng.choice(_NAMES) for _ in few],
                "equalities": [f"{rng.choice('nmb')} = {_polynomial(rng)}" for _ in few[1:]],
                "upper_bounds_exclusive": {rng.choice("ijk"): _polynomial(rng) for _ in few},
                "lower_bounds_exclusive": {rng.choice("bn"): rng.choice(("0", "1")) for _ in few},
                "other": [
                    f"{_polynomial(rng)} {rng.choice(('<', '<=', '==', '>', '>='))} "
                    f"{_polynomial(rng)}"
                    for _ in few
                ],
            },
            "a": _lmad(rng),
            "b": _lmad(rng),
        }
    if rng.random() < 0.3:
        made = {
            "op": "cells",
            "assumptions": made["assumptions"],
            "lmads": [made["a"], made["b"]],
            "values": {rng.choice(_NAMES): rng.choice((0, 1, 5, -7, 2**63 - 1, 2**64))},
        }
    else:
        made = {"op": "prove", **made}
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        made = _changed(rng, made)
    return made


# --- requests --------------------------------------------------------------------------------

_SMALL = "entry main [n] (xs: [n]i32) = reduce (+) 0 (map (+ 1) xs)\n"
_IN_PLACE = "entry main [n] (xs: *[n]i32) = xs with [0] = n32 n\ndef n32 (n: i64) = i32.i64 n\n"
_SOURCES = (_SMALL, _IN_PLACE, RUNS[2][0], "entry main = 1", "def f = ", "entry main (x: i32) = y")
_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 1.5, 1e308, 1e-320,
    "", " ", "main", "x", "\0", "a" * 5000, "_", [], {}, [[]], [0], ["x"], [None], {"x": 1},
    {"": ""}, {"n": None}, [[[[[[]]]]]], *HALVES, *ODD, "1" * 5000, "-", "n + 1", "{(n : 1)}",
)  # fmt: skip
_DISABLE = ("fuse", "fuse/map-map", "simplify", "shortcircuit", "nothing", "merge", "")
_STAGES = "ast typed soa fused flat funmem shortcircuit expanded merged imp c cuda nothing".split()


def _request(rng: random.Random) -> Json:
    pick = rng.choice
    op = pick(("manifest", "check", "show", "run", "run", "generate", "memory", "tuning",
               "validity", "lifetimes", "interference", "index_functions", "attempts", "batch",
               "nothing"))  # fmt: skip
    made: Json = {"id": pick((1, "x", None, 2**70)), "op": op}
    if pick((0, 0, 0, 1)):
        made["path"] = pick(("nowhere.fut", "/", "/dev/null", "a\0b", "", "x" * 5000, "\udc80"))
    if pick((0, 1, 1, 1, 1, 1)):
        made["source"] = pick(_SOURCES)
    if pick((0, 1)):
        made["options"] = {
            name: value
            for name, value in (
                ("entry", pick(("", "main", "f", "g"))),
                ("target", pick(("c", "cuda", "x"))),
                ("disable", [pick(_DISABLE)]),
                ("fuel", pick((0, 1, 5, 10**6, -1))),
                ("thresholds", {"x": 1}),
                ("verify", True),
                ("unsafe", pick((True, False))),
            )
            if pick((0, 0, 1))
        }
    more: dict[str, Any] = {
        "stage": pick(_STAGES), "stages": [pick(_STAGES)], "entry": pick(("", "main", "f")),
        "input": pick(("[1, 2, 3]", "[[1, 2], [3, 4]]", "", "1", "empty([0]i32)")),
        "sizes": {"n": pick((0, 3, 5, -1, 2**62))}, "seed": pick((1, 0, -1, 2**64)),
        "backend": pick(("ref", "ref", "ref", "c", "cuda", "x")), "deadline": pick((5, 0, 0.001)),
        "longest": pick((0, 1, 100, -5)), "stream": pick((True, False)),
        "array": pick(("", "xs", "x_1", "mem")), "kernel": pick(("", "k", "segmap_1")),
        "values": {"n": pick((0, 3, 100, 2**40, -2))},
        "requests": [{"op": pick(("check", "show", "memory", "run", ""))}, {"op": "lifetimes"}],
    }  # fmt: skip
    known = fields(OPERATIONS[op].request) if op in OPERATIONS else more
    taken = [name for name in sorted(more) if name in known or pick((0,) * 60 + (1,))]
    for name in rng.sample(taken, rng.randint(0, len(taken))):
        made[name] = more[name]
    return made


def _changed(rng: random.Random, data: Any, depth: int = 0) -> Any:
    """The same data with one thing in it changed: a value, a type, a field, a text."""
    if isinstance(data, dict) and data and (depth == 0 or rng.random() < 0.8):
        made = dict(data)
        name = rng.choice(sorted(made))
        match rng.randrange(8):
            case 0:
                del made[name]
            case 1:
                made[rng.choice((*HALVES, "x", "", "n", name.upper()))] = made.pop(name)
            case 2:
                made[name] = rng.choice(_ODD_VALUES)
            case _:
                made[name] = _changed(rng, made[name], depth + 1)
        return made
    if isinstance(data, list) and data and rng.random() < 0.8:
        made_list = list(data)
        at = rng.randrange(len(made_list))
        match rng.randrange(5):
            case 0:
                del made_list[at]
            case 1:
                made_list *= rng.choice((2, 3, 40))
            case _:
                made_list[at] = _changed(rng, made_list[at], depth + 1)
        return made_list
    if isinstance(data, str) and rng.random() < 0.7:
        return choose(rng, (*CHARACTERS, _other_number, _tokens_changed), data, 2)
    return rng.choice(_ODD_VALUES)


def line(rng: random.Random) -> bytes:
    """A line of the protocol."""
    request: Any = problem(rng) if rng.random() < 0.15 else _request(rng)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        request = _changed(rng, request)
    text = json.dumps(request, ensure_ascii=rng.random() < 0.7)
    if rng.random() < 0.1:
        text = choose(rng, (*CHARACTERS, _other_number, _shape_changed), text, 2)
    if rng.random() < 0.03:
        deep = rng.choice((50, 1000, 100_000))
        text = '{"op": "check", "id": ' + "[" * deep + "]" * deep + "}"
    data = text.encode("utf-8", "surrogatepass")
    return (_bytes_changed(rng, data) if rng.random() < 0.1 else data).replace(b"\n", b" ")
