"""Random programs that read and write at computed places, made in ways that say where they lie.

Some of the places are right by how they are made, some by luck, and some are not: then a check has
to fail, as it does where nothing is known.
"""

from __future__ import annotations

import random


def program(seed: int) -> str:
    """A program with arrays of places, and what is read and written there."""
    rng = random.Random(seed)
    lines = ["entry main [n] (xs: [n]i32) (ks: [n]i64) (m: i64) ="]
    arrays: list[str] = []
    for k in range(rng.randint(2, 4)):
        lines.append(f"  let p{k} = {_places(rng, arrays)}")
        arrays.append(f"p{k}")
    results = [_use(rng, rng.choice(arrays)) for _ in range(rng.randint(1, 2))]
    results.append(_use(rng, arrays[-1]))
    lines.append(f"  in ({', '.join(results)})")
    return "\n".join(lines) + "\n"


def _number(rng: random.Random, name: str) -> str:
    return rng.choice(
        [
            f"{name} % n",
            f"{name} %% n",
            f"i64.max 0 {name}",
            f"i64.min (n - 1) (i64.max 0 {name})",
            f"{name} / 2",
            f"if {name} > 0 then {name} - 1 else 0",
            f"n - 1 - {name}",
            f"{name} + {rng.choice([-1, 0, 1, 2])}",
            f"i64.bool ({name} > m)",
            "m % n",
        ]
    )


def _places(rng: random.Random, arrays: list[str]) -> str:
    source = rng.choice([*arrays, "ks", "iota n"])
    number = _number(rng, "k")
    ways = [
        f"map (\\k -> {number}) ({source})",
        f"filter (\\k -> {rng.choice(['k > m', 'k % 2 == 0', 'true', 'false'])}) ({source})",
        f"(partition (\\k -> {rng.choice(['k < m', 'k % 3 == 1'])}) ({source})).{rng.choice('01')}",
        f"scan i64.max {rng.choice(['0', '(-1)', 'i64.lowest', '3'])} ({source})",
        f"scan i64.min {rng.choice(['0', '(n - 1)', 'i64.highest'])} ({source})",
        f"scan (+) 0 (map (\\k -> i64.bool ({rng.choice(['k > m', 'k == 1'])})) ({source}))",
        f"map (\\u -> u - 1) (scan (+) 0 (map (\\k -> i64.bool (k >= 0)) ({source})))",
        f"({source})[0:{rng.choice(['1', '0', 'length (' + source + ')'])}]",
        f"reverse ({source})",
        f"({source}) ++ [{rng.choice(['0', '1', 'n - 1'])}]",
        f"map (\\k -> [2, 0, 1, 1][k % {rng.choice(['4', '3', '2'])}]) (map (* 3) [0, 1, 2, 5])",
        _scattered(rng, source),
    ]
    return rng.choice(ways)


def _scattered(rng: random.Random, source: str) -> str:
    """As `filter` does it, and nearly so."""
    kept = rng.choice(["u - 1", "u - 1", "u", "u - 2"])
    other = rng.choice(["-1", "-1", "0", "k"])
    flag = rng.choice(["f", "f", "!f"])
    whole = rng.choice(["", "", "[0:if length s == 0 then 0 else c[length s - 1]]"])
    return (
        f"(let s = {source} let fs = map (\\k -> k % 2 == 0) s "
        f"let c = scan (+) 0 (map (\\f -> i64.bool f) fs) "
        f"let w = map3 (\\f u k -> if {flag} then {kept} else {other}) fs c s "
        f"in (scatter (replicate (length s) {rng.choice(['0', 'n', '-1'])}) w s){whole})"
    )


def _use(rng: random.Random, places: str) -> str:
    return rng.choice(
        [
            f"map (\\i -> xs[i] + 1) {places}",
            f"map (\\i -> xs[{_number(rng, 'i')}]) {places}",
            f"scatter (copy xs) {places} (map (\\i -> i32.i64 i) {places})",
            f"reduce_by_index (copy xs) (+) 0 {places} (map (\\i -> i32.i64 i) {places})",
            f"(loop a = copy xs for i in {places} do a with [i] = a[i] + 1)",
        ]
    )
