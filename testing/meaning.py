"""Evaluate claims of certificates for values of their names, without the checker's code.

Values are numbers, or arrays of numbers for many points at once. Types have the widths of the
`ranges`: a machine of 6 bits has few enough values to look at all of them.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Mapping
from itertools import islice, product
from typing import Any

Json = dict[str, Any]
Env = Mapping[str, Any]
Ranges = Mapping[str, tuple[int, int]]


def widths(**bits: int) -> dict[str, tuple[int, int]]:
    """The ranges of types, whose names begin with `i` or `u`, by their numbers of bits."""
    return {
        prim: (-(1 << n - 1), (1 << n - 1) - 1) if prim[0] == "i" else (0, (1 << n) - 1)
        for prim, n in bits.items()
    }


RANGES = widths(i8=8, i16=16, i32=32, i64=64, u8=8, u16=16, u32=32, u64=64)
SIX_BITS = widths(i8=3, i64=6, u8=3, u64=6)
"""The same machine with words of 6 bits, and of 3."""
FIRST = 50
"""The number of points to look at in each dimension."""
ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip


def value(poly: Iterable[list[Any]], env: Env) -> Any:
    """A polynomial."""
    total: Any = 0
    for coefficient, *names in poly:
        term = coefficient
        for name in names:
            term = term * env[name]
        total = total + term
    return total


def cut(number: Any, prim: str, ranges: Ranges = RANGES) -> Any:
    """The value of a type that equals a number modulo the type's size."""
    low, high = ranges[prim]
    return (number - low) % (high - low + 1) + low


def results(op: str, one: Any, other: Any) -> list[tuple[Any, Any]]:
    """Return possible results of an integer operation, each with its condition."""
    if op in ("min", "max", "either"):
        first = True if op == "either" else (one <= other) == (op == "min")
        return [(first | (one == other), one), (True if op == "either" else first ^ True, other)]
    by = other + (other == 0)  # nothing is divided by 0
    if op in ("/", "%"):
        quotient = one // by
    else:
        quotient = abs(one) // abs(by) * (1 - 2 * ((one < 0) ^ (by < 0)))
    return [(other != 0, quotient if op in ("/", "//") else one - by * quotient)]


def holds(given: Json, env: Env, ranges: Ranges = RANGES) -> Any:
    """Return True, or a mask, where a `given` holds.

    It says nothing where its reads are out of range.
    """
    unread: Any = False
    for poly, prim in given.get("reads", ()):
        read = value(poly, env)
        unread = unread | (read < 0 if prim == "natural" else cut(read, prim, ranges) != read)
    left, right = value(given["left"], env), value(given.get("right", ()), env)
    kind, prim, op = given["given"], given.get("type", ""), given["op"]
    if prim and kind != "wrap":
        left, right = cut(left, prim, ranges), cut(right, prim, ranges)
    if kind == "compare":
        return unread | ORDERS[op](left, right)
    if kind == "product":
        low, high = ranges[prim]
        return unread | (left * right >= 0) & (left * right <= high - low)
    name, found = env[given["name"]], unread
    if kind == "wrap":
        return name == cut(left, prim, ranges)
    for possible, result in results(op, left, right):
        found = found | possible & (name == (cut(result, prim, ranges) if prim else result))
    return found


def assumed(claim: Json, env: Env, ranges: Ranges = RANGES) -> Any:
    """Return True, or a mask, where all assumptions of a claim hold."""
    found: Any = True
    for name, prim in claim["types"]:
        found = found & (cut(env[name], prim, ranges) == env[name])
    for name, poly in claim["equal"]:
        found = found & (env[name] == value(poly, env))
    for poly in claim["nonnegative"]:
        found = found & (value(poly, env) >= 0)
    for given in claim["given"]:
        found = found & holds(given, env, ranges)
    return found


def concluded(claim: Json, env: Env) -> Any:
    """Return True, or a mask, where the conclusion of a claim holds; cells: for numbers only."""
    if claim["claim"] == "disjoint":
        return cells(claim["a"], env).isdisjoint(cells(claim["b"], env))
    found: Any = True
    for poly in claim["polynomials"]:
        found = found & (value(poly, env) >= 0)
    return found


def refutes(claim: Json, env: Env, ranges: Ranges = RANGES) -> bool:
    """Return True if the values show that a claim is false."""
    return bool(assumed(claim, env, ranges)) and not concluded(claim, env)


def cells(lmad: Json, env: Env) -> set[int]:
    """The cells of an LMAD, or some of those that come first."""
    dims = [(value(size, env), value(stride, env)) for size, stride in lmad["dims"]]
    steps = islice(product(*(range(min(size, FIRST)) for size, _ in dims)), FIRST**2)
    offset = value(lmad["offset"], env)
    return {offset + sum(z * s for z, (_, s) in zip(at, dims, strict=True)) for at in steps}


def names(claim: Json) -> list[str]:
    """The names in what a claim says; those of its proof alone are not among them."""
    found = {name for name, _ in (*claim["types"], *claim["equal"])}
    found |= {one["name"] for one in claim["given"] if "name" in one}
    said = {key: part for key, part in claim.items() if key not in ("proof", "lines", "types")}
    return sorted(found.union(_named(said)))


def _named(data: Any) -> set[str]:
    if isinstance(data, dict):
        return set().union(*map(_named, data.values()))
    if not isinstance(data, list):
        return set()
    is_term = len(data) > 1 and isinstance(data[0], int) and isinstance(data[1], str)
    return set(data[1:]) if is_term else set().union(*map(_named, data))


def drawn(claim: Json, rng: random.Random, values: Iterable[int]) -> dict[str, Any] | None:
    """Values that meet what a claim assumes; None if those that were drawn do not.

    What is given of a name, or an equality, tells its value.
    """
    choice = list(values)
    env: dict[str, Any] = {name: rng.choice(choice) for name in names(claim)}
    for name, poly in reversed(claim["equal"]):
        env[name] = value(poly, env)
    for given in claim["given"]:
        if "name" in given:
            left, right = value(given["left"], env), value(given.get("right", ()), env)
            prim = given.get("type", "")
            if given["given"] != "wrap":
                left, right = (cut(p, prim) if prim else p for p in (left, right))
            found = (
                [(True, left)] if given["given"] == "wrap" else results(given["op"], left, right)
            )
            possible = [one for may, one in found if may] or [0]
            env[given["name"]] = cut(possible[0], prim) if prim else possible[0]
    return env if assumed(claim, env) else None
