"""Checks and what relies on them, in maps whose statements become several kernels.

A point checks something about its number, and something else relies on it: an array that it reads,
a size, a number of rounds. Where the map is distributed the two are kernels of their own, or the
second one is the host's. `source` has an entry point for each that relies on a check; `program`
puts one pair among other statements. What is checked holds, or does not, by the number `k`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from compiler.ir.values import Value
from testing.generators.programs import Generated


class Check(NamedTuple):
    """Statements of point `i` that bind a row `r`, an index `j` below `n` and a count `c`.

    They fail for some `i` if `k` is `bad`, and for none if it is `good`.
    """

    text: str
    good: int
    bad: int


CHECKS = {
    "bounds": Check("let r = xs[k + i] let j = k + i let c = k + i", 0, 1000),
    "slices": Check("let r = ys[k + i:k + i + m] :> [m]i32 let j = i let c = k + i", 1, 1000),
    "division": Check(
        "let q = (m + i) / (k + i) let r = map (+ i32.i64 q) xs[i] let j = q % n let c = i64.abs q",
        5,
        -1,
    ),
    "assert": Check(
        "let j = assert (k + i >= 0 && k + i < n) (k + i) let r = xs[j] let c = j", 0, 1000
    ),
    "shapes": Check("let r = ys[i:k + i] :> [m]i32 let j = k - m let c = k", 4, 5),
    "unflatten": Check(
        "let z = unflatten (ys :> [k * m]i32) let r = z[i] let j = k - 3 let c = k", 3, 1000
    ),
    "zip": Check("let r = map2 (+) xs[i] (ys[i:k + i] :> [m]i32) let j = k - m let c = k", 4, 5),
}
READERS = {
    "kernel": ("[m]i32", "map (+ 1) r"),
    "gather": ("[m]i32", "map (\\t -> xs[j, t] + r[t]) (iota m)"),
    "scan": ("[m]i32", "scan (+) 0 (map (+ 1) r)"),
    "reduce": ("i32", "reduce (+) 0 (map (+ 1) r)"),
    "hist": ("[m]i32", "reduce_by_index (replicate m 0) (+) 0 (map (\\x -> i64.i32 x % m) r) r"),
    "scatter": ("[m]i32", "scatter (copy r) (iota m) (map (+ i32.i64 j) r)"),
    "rounds": ("[m]i32", "loop s = map (+ 1) xs[i] for _q < k do map (+ 1) s"),
    "rows": (
        "[m]i32",
        "loop s = map (+ 1) xs[i] for q < k do map (\\t -> s[t] + xs[(q + j) % n, t]) (iota m)",
    ),
    "until": (
        "[m]i32",
        "(loop (s, t) = (map (+ 1) xs[i], c) while t > 0 do (map (+ 1) s, t - 1)).0",
    ),
    "iota": ("i32", "i32.sum (map (\\t -> i32.i64 t) (iota c))"),
    "allocation": ("i32", "i32.sum (scan (+) 0 (replicate c (i32.i64 i)))"),
    "host": ("i32", "let s = i64.i32 xs[j, 0] in i32.sum (map (\\t -> i32.i64 (t * t)) (iota s))"),
    "update": ("[m]i32", "let b = copy xs[i] let b = b with [j] = 9 in map (+ 1) b"),
}
"""Expressions that rely on a check: the type of a point's value, and the value."""
PARAMS = "[n] [m] (xs: [n][m]i32) (ys: []i32) (k: i64)"


def source(check: str, readers: Iterable[str] = READERS) -> str:
    """A program with an entry point for each reader of what a check is about, named `by_READER`."""
    return "".join(
        f"entry by_{reader} {PARAMS}: [n]{READERS[reader][0]} =\n"
        f"  map (\\i -> {CHECKS[check].text}\n    in {READERS[reader][1]}) (iota n)\n"
        for reader in readers
    )


def inputs(k: int, n: int = 3, m: int = 4) -> list[Value]:
    """Return arguments for the entry points."""
    rows = np.arange(n * m, dtype=np.int32).reshape(n, m) % 4
    return [rows, np.arange(n * m, dtype=np.int32), np.int64(k)]


WRAPPED = (
    "map (\\i -> {value}) (iota n)",
    "map (\\z -> map (\\i -> {value}) (map (+ z) (replicate n 0))) (replicate 2 0)",
    "let a = map (\\i -> {value}) (iota n) in (map (\\i -> i + 1) (iota n), a)",
    "let b = scan (+) 0 (iota n) in map2 (\\z i -> (z, {value})) b (iota n)",
    "map (\\i -> if i % 2 == 0 then {value} else {other}) (iota n)",
    "loop a = map (\\i -> {other}) (iota n) for _t < 3 do map (\\i -> {value}) (iota n)",
)


def program(seed: int) -> Generated:
    """The program of that seed, which fails for every other one."""
    rng = random.Random(f"parted {seed}")
    check, reader = rng.choice(list(CHECKS)), rng.choice(list(READERS))
    kind, read = READERS[reader]
    between = rng.choice(("", " let r = scan (+) 0 r", " let r = copy (reverse r)", " let _e = c"))
    value = f"({CHECKS[check].text}{between} in {read})"
    other = "replicate m 7i32" if kind == "[m]i32" else "7i32"
    body = rng.choice(WRAPPED).format(value=value, other=other)
    made = f"entry main {PARAMS} =\n  {body}\n"
    return Generated(seed, made, inputs(CHECKS[check].bad if seed % 2 else CHECKS[check].good))
