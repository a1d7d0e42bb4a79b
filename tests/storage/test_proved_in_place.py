"""Programs that write over what they read, and near ones that would overwrite what is needed.

Each accepted one means the same at all stages with memory and its proofs are verified; each refused
one differs from what it means if it is built in its place all the same, so no proof may be found.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from compiler.algebra import checker
from compiler.base.text import plain
from compiler.driver import explanations
from compiler.ir.values import Value
from compiler.protocol.proofs import CertificateRequest
from compiler.runtime.runner import run_c
from testing import kernels
from testing.compiling import compiled
from testing.generators.programs import Generated
from testing.refusals import Program, refusals
from tests.runtime.cuda_on_cpu import needs_cxx
from tests.storage.test_short_circuit import check, outcomes


def numbers(*shape: int) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) % 7 - 2


def accepted(source: str, *inputs: list[Value]) -> None:
    """All updates are built in their places, which is proved, and means the same."""
    assert [done for rule, done in outcomes(source) if rule == "update"].count(0) >= 1
    assert all(not done for rule, done in outcomes(source) if rule == "update")
    for args in inputs:
        check(source, args)
    made = explanations.certificate(CertificateRequest(source))["certificate"]
    assert list(checker.verify(checker.read(json.dumps(made).encode())))


def refused(source: str) -> None:
    """An update is refused, rightly: made all the same, it gives something else."""
    verdicts = [one.verdict for one in refusals(Program("", source))]
    assert verdicts
    assert set(verdicts) == {"justified"}


# --- scans over their own cells ---

SCANS = {
    "a row": "entry main [n] [m] (a: *[n][m]i64) = a with [n / 2] = scan (+) 0 a[n / 2]",
    "all": "entry main [n] [m] (a: *[n][m]i64) = a with [0:n, 0:m] = map (scan (+) 0) a",
    "mapped": """
entry main [n] [m] (a: *[n][m]i64) =
  let (v, w) = unzip (scan (\\(a, b) (c, d) -> (a + c, i64.max b d)) (0, -9)
                           (map (\\j -> (a[0, j] * 2, a[0, j])) (iota m)))
  in (a with [0] = v, w)""",
}
"""Each thread reads the cell that it writes, and no other."""


@pytest.mark.parametrize("name", SCANS)
def test_a_scan_writes_over_the_cells_that_its_threads_read(name: str) -> None:
    accepted(SCANS[name], [numbers(1, 0)], [numbers(1, 1)], [numbers(3, 5)])


@pytest.mark.parametrize("name", SCANS)
def test_such_a_scan_means_the_same_in_kernels(name: str) -> None:
    for version in kernels.VERSIONS:
        kernels.check(Generated(0, SCANS[name], [numbers(2, 70)]), version)


@needs_cxx
def test_such_a_scan_means_the_same_in_the_text_of_cuda() -> None:
    kernels.check_text(Generated(1, SCANS["a row"], [numbers(2, 700)]), "default")


def test_such_a_scan_of_many_elements_means_the_same_in_c() -> None:
    """They are several blocks of elements, whose points are computed twice."""
    rows = numbers(2, 100_000)
    want = rows.copy()
    want[1] = np.cumsum(rows[1])
    found = run_c(plain(compiled(SCANS["a row"]).result("c").text), "main", [rows]).values
    assert np.array_equal(found[0], want)


@pytest.mark.parametrize(
    "body",
    [
        "a with [0:n] = scan (+) 0 (map (\\i -> a[i64.max 0 (i - 1)]) (iota n))",
        "a with [0:n] = scan (+) 0 (map (\\i -> a[i] + a[0]) (iota n))",
        "a with [1:n] = scan (+) 0 a[0:n - 1]",
        "a with [0:n] = scan (+) 0 (reverse a[0:n])",
        "a with [0:n] = scan (\\x y -> x * a[0] + y) 1 (map (+ 1) (iota n))",
        "a with [0:n] = scan (+) 0 (map (\\i -> i64.sum a[0:i]) (iota n))",
    ],
)
def test_a_scan_that_reads_other_cells_is_left_alone(body: str) -> None:
    refused(f"entry main [n] (a: *[n]i64) = {body}")


# --- buffers that a loop exchanges ---

BUFFERS = {
    "two": """
entry main [n] (a: *[n]i64) (k: i64) =
  (loop (x, y) = (a, replicate n 0) for i < k do
     let z = map (\\j -> x[n - 1 - j] + i) (iota n)
     in (y with [0:n] = z, x)).0""",
    "three, of which two change places in a loop": """
entry main [n] (xs: *[n]i64) (ys: *[n]i64) (k: i64): ([n]i64, [n]i64, [n]i64) =
  loop (a: *[n]i64, b: *[n]i64, c: *[n]i64) = (xs, ys, replicate n 0) for i < k do
    let (b, c) = loop (b: *[n]i64, c: *[n]i64) = (b, c) for j < i % 3 do
      let z = map (\\p -> b[n - 1 - p] + a[p]) (iota n)
      in (c with [0:n] = z, b)
    let z = map2 (+) b (reverse c)
    in (b, c, a with [0:n] = z)""",
}
"""What is read lies in a block that is never the one that is written."""


@pytest.mark.parametrize("name", BUFFERS)
def test_a_buffer_is_written_while_the_other_is_read(name: str) -> None:
    given = range(BUFFERS[name].partition("=")[0].count("*"))
    sizes = ((0, 3), (1, 1), (5, 4))
    accepted(BUFFERS[name], *([*(numbers(n) + i for i in given), np.int64(k)] for n, k in sizes))


@pytest.mark.parametrize(
    "body",
    [
        "loop x for i < k do x with [0:n] = map (\\j -> x[n - 1 - j] + i) (iota n)",
        """(loop (x, y) = (a, replicate n 0) for i < k do
              let z = map (\\j -> x[n - 1 - j] + y[j]) (iota n)
              in (y, x with [0:n] = z)).0""",
    ],
)
def test_the_buffer_that_is_read_is_not_written(body: str) -> None:
    refused(f"entry main [n] (a: *[n]i64) (k: i64) = {body.replace('loop x', 'loop x = a')}")


# --- sums that may wrap ---

CHUNKS = {
    "chunk to chunk": """
entry main [n] (a: *[n]i64) (b: i64) (t: i64) =
  let v = map (\\i -> a[t * b + i] + 1) (iota b) in a with [(t + 1) * b:(t + 2) * b] = v""",
    "chunk from before": """
entry main [n] (a: *[n]i64) (b: i64) (t: i64) =
  let v = map (\\i -> a[(t - 1) * b + b - 1 - i]) (iota b) in a with [t * b:(t + 1) * b] = v""",
    "itself": """
entry main [n] (a: *[n]i64) (b: i64) (t: i64) =
  let v = map (\\i -> a[t * b + i] + 1) (iota b) in a with [t * b:t * b + b] = v""",
}
"""What is read is told by how far it is from what is written, wherever that is."""


@pytest.mark.parametrize("name", CHUNKS)
def test_a_product_that_may_wrap_is_a_number_of_its_own(name: str) -> None:
    start = int("before" in name)
    small = ([numbers(4), np.int64(b), np.int64(start)] for b in (0, 1, 2))
    wraps = [numbers(32), np.int64(16), np.int64((1 << 60) + start)]
    accepted(CHUNKS[name], *small, wraps)


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("map (\\i -> a[b - 1 - i]) (iota b) in a with [t * b:t * b + b] = v", 1 << 60),
        ("map (\\i -> a[i + 1]) (iota b) in a with [t * b - b:t * b] = v", (1 << 60) + 1),
        ("map (\\i -> a[t * b + i]) (iota b) in a with [b - 1:2 * b - 1] = v", 1 << 60),
        ("map (\\i -> a[t * b + i]) (iota b) in a with [t * b + 1:t * b + b + 1] = v", 1 << 60),
    ],
)
def test_a_place_that_wraps_may_be_any(body: str, wrong: int) -> None:
    """That `t * b` is at least `b` for a `t` of 1 or more is only so where it does not wrap."""
    source = f"""
entry main [n] (a: *[n]i64) (b: i64) (t: i64) =
  let t = assert (t >= 1) t
  let v = {body}"""
    assert ("update", 0) not in outcomes(source)
    check(source, [numbers(32), np.int64(16), np.int64(wrong)])


@pytest.mark.parametrize(
    "body",
    [
        "let w = a[t * b:t * b + b] in w with [1:k + 1] = map (\\i -> a[k - 1 - i]) (iota k)",
        """let v = replicate n 0
  let u = map (\\i -> a[b - 1 - i]) (iota b)
  let v = v with [t * b:t * b + b] = u
  in a with [0:n] = v""",
    ],
)
def test_a_part_of_a_view_that_wraps_may_be_any(body: str) -> None:
    """The view begins where the array does, and not behind what is read."""
    source = f"""
entry main [n] (a: *[n]i64) (b: i64) (t: i64) (k: i64) =
  let t = assert (t >= 1) t
  let k = assert (k < b) k
  {body}
"""
    check(source, [numbers(32), np.int64(16), np.int64(1 << 60), np.int64(8)])


LARGEST = (1 << 63) - 1
WINDOWS = {
    "moved": """
entry main [n] (a: *[n]i64) (i: i64) (k: i64) =
  let v = map (+ 1) a[i:i + k] in a with [i + k:i + 2 * k] = v""",
    "as long as it fits": """
entry main [n] (a: *[n]i64) (i: i64) (k: i64) =
  (loop (a, p) = (a, i) while p + 2 * k <= n && k > 0 do
     let v = map (\\j -> a[p + k - 1 - j] + 1) (iota k)
     in (a with [p + k:p + 2 * k] = v, p + k)).0""",
}
"""A slice that has elements is inside, so that its ends do not wrap."""


@pytest.mark.parametrize("name", WINDOWS)
def test_the_ends_of_a_slice_with_elements_do_not_wrap(name: str) -> None:
    ends = ((0, 0), (1, 1), (0, 2), (LARGEST, 0), (-LARGEST, 0))
    accepted(WINDOWS[name], *([numbers(5), np.int64(i), np.int64(k)] for i, k in ends))


def test_windows_that_meet_are_left_alone() -> None:
    refused("""
entry main [n] (a: *[n]i64) (i: i64) (k: i64) =
  let v = map (+ 1) a[i:i + k] in a with [i + 1:i + k + 1] = v""")


# --- choices, and divisors whose sign a later check tells ---

CHOSEN = """
entry main [n] (a: *[n]i64) (f: bool) (g: bool) =
  let h = n / 2
  let o = if f then 0 else h
  let p = if g then h - o else SECOND
  let v = map (\\i -> a[p + h - 1 - i] + 1) (iota h) in a with [o:o + h] = v
"""


def test_both_sides_of_a_choice_are_looked_at() -> None:
    sizes = (0, 1, 2, 5)
    sides = [(f, g) for f in (False, True) for g in (False, True)]
    inputs = [[numbers(n), *map(np.bool_, both)] for n in sizes for both in sides]
    accepted(CHOSEN.replace("SECOND", "h - o"), *inputs)
    refused(CHOSEN.replace("SECOND", "o"))


@pytest.mark.parametrize(("first", "fits"), [("b", True), ("b - 1", False), ("0", False)])
@pytest.mark.parametrize("index", ["i % b", "(i + 1) % b"])
def test_a_remainder_is_below_a_divisor_that_the_place_shows_to_be_positive(
    index: str, first: str, fits: bool
) -> None:
    source = f"""
entry main [n] (a: *[n]i64) (b: i64) =
  let v = map (\\i -> a[{index}] + i) (iota (n - b)) in a with [{first}:{first} + n - b] = v
"""
    if fits:
        accepted(source, *([numbers(n), np.int64(b)] for n, b in ((1, 1), (5, 2), (4, 4))))
    else:
        refused(source)
