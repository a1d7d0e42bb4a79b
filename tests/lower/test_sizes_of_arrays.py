"""What makes an array checks that it has 0 to 2^47 rows, also where it is never made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
import pytest

from compiler.algebra.limits import LARGEST_SIZE
from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir.values import Value
from compiler.runtime.runner import Settings, run_c
from compiler.semantics import interp
from tests.codegen.helpers import needs_cc

MADE = {
    "iota": "length (iota n)",
    "replicate": "length (replicate n 1u8)",
    "units": "length (replicate n ())",
    "rows without elements": "length (replicate n ([]: [0]u8))",
    "tabulate": "length (tabulate n (\\i -> i))",
    "tabulate_2d": "length (tabulate_2d n 0 (\\i j -> i + j))",
    "range": "length (0..<n)",
    "range with its end": "length (1...n)",
    "range that begins later": "length (n..<n + n)",
    "range that falls": "length (n..n - 1..>0)",
    "range of u64": "length (0u64..<u64.i64 n)",
    "concatenation": "length (iota (n / 2) ++ iota (n - n / 2))",
    "three in one": "length (iota (n / 2) ++ iota (n / 4) ++ iota (n - n / 2 - n / 4))",
    "flatten": "length (flatten (tabulate_2d (n / 2) 2 (\\i j -> i + j)))",
    "flatten the other way": "length (flatten (tabulate_2d 2 (n / 2) (\\i j -> i + j)))",
    "flatten_3d": "length (flatten_3d (tabulate_3d (n / 2) 2 1 (\\i j k -> i)))",
    "transpose": "length (transpose (replicate 2 (replicate n 1u8)))",
    "transpose what has no rows": "length (transpose (map (\\_ -> iota n) (iota 0)))",
    "rows that are concatenated": "length (transpose"
    " (map (\\_ -> iota (n / 2) ++ iota (n - n / 2)) (iota 0)))",
    "transpose rows": "length (head (map transpose (replicate 3 (map (\\_ -> iota n) (iota 0)))))",
    "sums of columns": "length (map i64.sum (transpose (map (\\_ -> iota n) (iota 0))))",
    "size of an inner array": "let f [a] [b] (_: [a][b]i64) = length (iota b)"
    " in f (map (\\_ -> iota n) (iota 0))",
    "unflatten": "length (unflatten (([]: [0]i64) :> [n * 0]i64))",
    "cells of an LMAD": "length (intrinsics.flat_index_2d (iota 9) 0 n 0 1 1)",
    "in a map": "i64.sum (map (\\i -> length (iota (n - i))) (iota 1))",
    "in a branch": "if n != 3 then length (iota n) else 0",
    "in a loop": "loop x = n for _i < 2i32 do length (iota x)",
    "a sum that wraps": "length (iota (n + i64.highest + i64.highest + 2))",
}
"""Each is `n`, of which there are so many rows, if there may be."""
WRAPS = {
    "a product of a difference": "length (flatten (replicate (n - m) (replicate n 0u8)))",
    "of two": "length (flatten (replicate (n - m) (replicate (n - m) 0u8)))",
    "of a sum": "length (flatten (replicate (m + m) (replicate n 0u8)))",
    "of a product": "length (flatten (replicate n (replicate (k * k) 0u8)))",
    "of three": "length (flatten_3d (tabulate_3d (n - m) k k (\\i _ _ -> i)))",
    "of what a function is given": "wide (replicate n (replicate n 0u8))",
    "unflatten": "length (unflatten (([]: [0]u8) :> [(n - m) * n]u8))",
    "unflatten a sum": "length (unflatten (([]: [0]u8) :> [(m + m) * n]u8))",
}
"""`n` = 2^32, `m` = 2^31 or 0, `k` = 2^16: the product is 2^64, or 2^63."""
HEAD = "#[noinline]\ndef wide [a][b] (xs: [a][b]u8) = length (flatten xs)\n"


def entry(name: str, body: str) -> str:
    params = "(n: i64)" if body in MADE.values() else "(n: i64) (m: i64) (k: i64)"
    return f"entry {name} {params}: i64 = {body}\n"


@cache
def compiled() -> Compilation:
    """All of them."""
    bodies = [*MADE.values(), *WRAPS.values()]
    return Compilation(HEAD + "".join(entry(f"e{k}", body) for k, body in enumerate(bodies)))


def names(of: dict[str, str]) -> list[tuple[str, str]]:
    first = 0 if of is MADE else len(MADE)
    return [(name, f"e{k}") for k, name in enumerate(of, first)]


def outcome(run: Callable[[], Sequence[Value]]) -> int | str:
    """What a program is, or that it fails."""
    try:
        return int(run()[0])
    except RuntimeError_ as error:
        assert error.kind not in ("memory", "time"), error.message
        return "fails"


def in_c(name: str, *args: int) -> int | str:
    """In C, where what is never made needs no memory."""
    code = plain(compiled().result("c").text)
    given: list[Value] = [np.int64(x) for x in args]
    settings = Settings(flags=("-O1",))
    return outcome(lambda: run_c(code, name, given, settings=settings).values)


@needs_cc
@pytest.mark.parametrize(("what", "name"), names(MADE))
def test_an_array_has_0_to_2_to_the_47_rows(what: str, name: str) -> None:
    assert [in_c(name, size) for size in (LARGEST_SIZE, 8)] == [LARGEST_SIZE, 8], what
    for size in (LARGEST_SIZE + 2, -2, 2**63 - 1, -(2**63)):
        assert in_c(name, size) == "fails", (what, size)
    prog = compiled().result("soa").prog
    for size in (LARGEST_SIZE + 2, -2):
        run = partial(interp.run, prog, name, [np.int64(size)], 1 << 60)
        assert outcome(run) == "fails", (what, size)


@needs_cc
@pytest.mark.parametrize(("what", "name"), names(WRAPS))
def test_a_product_of_sizes_does_not_wrap(what: str, name: str) -> None:
    assert in_c(name, 1 << 32, 1 << 31, 1 << 16) == "fails", what
    assert "sum" in what or in_c(name, 1 << 32, 0, 1 << 16) == "fails", what


def test_a_definition_of_which_only_the_size_is_used_is_not_computed() -> None:
    head = "def k: i64 = -1\ndef xs: [k]u8 = rep 1\nentry main: i64 = "
    size = Compilation(f"{head}length xs").result("soa").prog
    assert int(interp.run(size, "main", [])[0]) == -1
    used = Compilation(f"{head}i64.u8 (u8.sum xs)").result("soa").prog
    assert outcome(lambda: interp.run(used, "main", [])) == "fails"
