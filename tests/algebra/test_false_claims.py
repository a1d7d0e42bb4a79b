"""Forged claims: each differs from an accepted one in the way that its name says.

First as plain data, as a file would have them; then as objects, as a prover that lies would hand
them over. None may be accepted, and none may end in anything but a refusal.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from compiler.algebra import checker, encode
from compiler.algebra.certificate import (
    Case,
    DisjointRanges,
    Flip,
    Normalise,
    Pivot,
    Proof,
    Signs,
    Split,
    Sum,
)
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from testing.claims import ONE, apart, claim, genuine, leaf, lmad, p, refusal

Json = dict[str, Any]


@pytest.mark.parametrize("name", list(genuine()))
def test_what_the_forgeries_differ_from_is_accepted(name: str) -> None:
    assert refusal(genuine()[name]) == ""


class Liar(int):
    """A number that is whatever it is compared with, and vanishes in products."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __ge__ = __le__ = __eq__
    __hash__ = int.__hash__

    def __mul__(self, other: object) -> Any:
        return 0

    __rmul__ = __add__ = __radd__ = __mul__


class Text(str):
    """A name that is every other."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("n")


class Moving(list[Any]):
    """A list that holds something else whenever it is looked at again."""

    def __init__(self, *versions: list[Any]) -> None:
        super().__init__(versions[0])
        self.versions = [*versions]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.versions.pop(0) if len(self.versions) > 1 else self.versions[0])


class Open(dict[str, Any]):
    """An object that has every field."""

    def __missing__(self, key: str) -> Any:
        return []


def put(name: str, path: str, value: Any) -> Json:
    """An accepted claim with one thing in it replaced; dots in the path, numbers in lists."""
    data = genuine()[name]
    *way, last = [int(part) if part.lstrip("-").isdigit() else part for part in path.split(".")]
    here: Any = data
    for part in way:
        here = here[part]
    here[last] = value
    return data


def without(name: str, path: str) -> Json:
    data = genuine()[name]
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    here: Any = data
    for part in way:
        here = here[part]
    del here[last]
    return data


def meeting(because: Json, facts: str = "k; n - 1") -> Json:
    """That `k` is none of `0 .. n-1`, which it is: needed is `k - n >= 0`."""
    return claim(lmad("k"), lmad("0", ("n", "1")), apart(1, because, [*ONE]), facts)


def nested(depth: int) -> Json:
    data = genuine()["tidy"]
    for _ in range(depth):
        data["proof"] = {"step": "tidy", "rest": data["proof"]}
    return data


def endless() -> Json:
    data = genuine()["tidy"]
    data["proof"]["rest"] = data["proof"]
    return data


def swapped() -> Json:
    data = genuine()["join"]
    data["a"], data["b"] = data["b"], data["a"]
    return data


def crossed() -> Json:
    """The fact of one side of a split on the other."""
    data = genuine()["split"]
    data["proof"]["no"] = data["proof"]["yes"]
    return data


def lent_twice() -> Json:
    """Of two cases that follow each other, the second uses what the first was lent."""
    data = genuine()["pivot"]
    data["proof"]["cases"][0]["rest"] = apart(1, leaf("k - 1", (1, "n - 2*k"), (1, "3*k - n - 1")))
    return data


def wide() -> Json:
    """More sums than are looked at."""
    rng = random.Random(1)
    rows = [("2", str(rng.getrandbits(60))) for _ in range(40)]
    return claim(lmad("0", *rows), lmad(str(18 << 60)), {"step": "numbers"})


PIVOT = "proof.members"
BECAUSE = "proof.because"
DATA: dict[str, Callable[[], Json]] = {
    # sums
    "a scale of 0": lambda: meeting(leaf("k - n", scale=0)),
    "a scale below 0": lambda: put("absurd", BECAUSE, leaf("-1", (1,), scale=-1)),
    "a scale that is a fraction": lambda: put("apart", f"{BECAUSE}.scale", Fraction(1)),
    "a scale that is a float": lambda: put("apart", f"{BECAUSE}.scale", 1.0),
    "a scale that is true": lambda: put("apart", f"{BECAUSE}.scale", True),
    "a scale that lies": lambda: meeting(leaf("k - n", scale=Liar(1))),
    "a scale of nothing": lambda: put("apart", f"{BECAUSE}.scale", None),
    "a scale that is text": lambda: put("apart", f"{BECAUSE}.scale", "1"),
    "a scale that is infinite": lambda: meeting(leaf("k - n", (1,), scale=float("inf"))),
    "a scale that is not a number": lambda: meeting(leaf("k - n", (1,), scale=float("nan"))),
    "a coefficient below 0": lambda: meeting(leaf("k - n", (1, "k"), (-1, "n - 1"), (-1,))),
    "a coefficient of 0": lambda: put("apart", f"{BECAUSE}.terms.2.0", 0),
    "a coefficient that is a half": lambda: meeting(
        leaf("k - n", (Fraction(1, 2), "k - n"), (Fraction(1, 2), "k - n"))
    ),
    "a coefficient that is a decimal": lambda: put("apart", f"{BECAUSE}.terms.0.0", Decimal(1)),
    "a coefficient of another library": lambda: put("apart", f"{BECAUSE}.terms.0.0", np.int64(1)),
    "a coefficient that is complex": lambda: put("apart", f"{BECAUSE}.terms.0.0", 1 + 0j),
    "a coefficient that lies": lambda: meeting(leaf("k - n", (1, "k"), (Liar(1), "n - 1"))),
    "a coefficient of thousands of digits": lambda: put(
        "apart", f"{BECAUSE}.terms.2.0", 1 << checker.BITS
    ),
    "the claim as its own fact": lambda: meeting(leaf("k - n", (1, "k - n"))),
    "a fact with its sign turned": lambda: meeting(leaf("k - n", (1, "k"), (1, "-n"))),
    "a fact that is stronger by one": lambda: put(
        "apart", BECAUSE, leaf("n + k", (1, "n"), (1, "k"))
    ),
    "a sum that is not the claim": lambda: meeting(leaf("k - n", (1, "k"), (1, "n - 1"))),
    "a sum that is less than the claim by one": lambda: put(
        "apart", BECAUSE, leaf("n + k", (1, "n - 1"), (1, "k"))
    ),
    "a claim that is not the one needed": lambda: meeting(leaf("k", (1, "k"))),
    "a claim that is needed elsewhere": lambda: put(
        "join", "proof.covers", leaf("m", (1, "m - 1"), (1,))
    ),
    "a product of more facts than the sum says": lambda: put(
        "split", "proof.yes.because.terms.0.1", [p("x")]
    ),
    "a pair of three": lambda: put("apart", f"{BECAUSE}.terms.2", [1, [], []]),
    "terms that move": lambda: meeting({**leaf("k - n"), "terms": Moving([], [[1, []]])}),
    "endless products": lambda: put(
        "apart", f"{BECAUSE}.terms.0.1", [p("n - 1")] * (checker.DEGREE + 1)
    ),
    # polynomials
    "a monomial twice": lambda: put("apart", f"{BECAUSE}.claim", [[1, "n"], [1, "k"], [1, "n"]]),
    "a monomial of 0": lambda: put("apart", f"{BECAUSE}.claim", [[1, "n"], [1, "k"], [0]]),
    "an offset of 0 that is there": lambda: put("apart", "b.offset", [[0]]),
    "a split by a half": lambda: put("split", "proof.term", [[Fraction(-1, 2)]]),
    "a split by a float": lambda: put("split", "proof.term", [[-0.5]]),
    "a quotient of a half": lambda: put("pivot", "proof.quotient", [[Fraction(1, 2)]]),
    "a power below 0": lambda: put("split", "proof.term", [[1, "x", -1]]),
    "a name with its power": lambda: put("split", "proof.term", [[1, ["x", -1]]]),
    "a name that is a number": lambda: put("split", "proof.term", [[1, 7]]),
    "a name of bytes": lambda: put("split", "proof.term", [[1, b"x"]]),
    "a name without a letter": lambda: put("apart", "nonnegative", [p("k"), [[1, ""]]]),
    "a name that breaks the line": lambda: put(
        "apart", "nonnegative", [p("k"), [[1, "n\nproved: all"]]]
    ),
    "a name that is every other": lambda: put("apart", "nonnegative", [[[1, Text("k")]]]),
    "names in disorder": lambda: put("join", "b.offset", [[1, "q", "m"]]),
    "a term without a number": lambda: put("apart", "a.offset", [[2, "n"], []]),
    "a polynomial that is a number": lambda: put("tidy", "b.offset", 5),
    "a polynomial that is text": lambda: put("tidy", "b.offset", "n"),
    "a polynomial that is a tuple": lambda: put("tidy", "b.offset", ([1, "n"],)),
    "a term that is a tuple": lambda: put("tidy", "b.offset", [(1, "n")]),
    "a polynomial that moves": lambda: put("tidy", "b.offset", Moving([[1, "n"]], [])),
    "a polynomial of a degree too high": lambda: put(
        "split", "proof.term", [[1, *["x"] * (checker.DEGREE + 1)]]
    ),
    # the equation
    "an LMAD that starts one earlier": lambda: put("tidy", "b.offset", p("n - 1")),
    "an LMAD that is larger by one": lambda: put("tidy", "a.dims.0.0", p("n + 1")),
    "another stride": lambda: put("tidy", "a.dims.0.1", p("2")),
    "one dimension more": lambda: put("tidy", "b.dims", [[p("m"), p("1")], [p("2"), p("-1")]]),
    "a dimension of three": lambda: put("tidy", "b.dims.0", [p("m"), p("1"), p("1")]),
    "a dimension that is a tuple": lambda: put("tidy", "b.dims.0", (p("m"), p("1"))),
    "an LMAD without offset": lambda: without("tidy", "b.offset"),
    "the sides exchanged": swapped,
    "an unknown kind of claim": lambda: put("tidy", "claim", "disjoint "),
    "a kind that is every other": lambda: put("tidy", "claim", Text("overlap")),
    "a field that nobody reads": lambda: put("tidy", "checked", True),
    "an object that has every field": lambda: Open(genuine()["tidy"]),
    "a key that is no text": lambda: {**without("tidy", "about"), 1: ""},  # type: ignore[dict-item]
    # facts
    "a fact that was left out": lambda: put("apart", "nonnegative", []),
    "a fact with another number": lambda: put("apart", "nonnegative", [p("k + 1")]),
    "a size that is not one of the LMADs": lambda: put(
        "apart", BECAUSE, leaf("n + k", (1, "n - 1"), (1, "k"), (1, "m - 1"), (1,))
    ),
    "an equality of a name by itself": lambda: put("equal", "equal", [["n", p("n + 1")]]),
    "equalities in a circle": lambda: put(
        "equal", "equal", [["n", p("q*c + 1")], ["c", p("b")], ["b", p("c")]]
    ),
    "an equality that is there twice": lambda: put(
        "equal", "equal", [["n", p("q*b")], ["n", p("q*b + 1")]]
    ),
    "an equality that is missing": lambda: put("equal", "equal", [["n", p("q*c + 1")]]),
    "an equality of a product": lambda: put("equal", "equal", [["n*1", p("q*b + 1")]]),
    "an equality to a list of names": lambda: put("equal", "equal", [[["n"], p("q*b + 1")]]),
    "an equality as a bound": lambda: put("equal", "equal", [[p("n"), p("q*b + 1")]]),
    "a fact before the equalities": lambda: claim(
        lmad("n"), lmad("0"), apart(1, leaf("k - 1", (1, "n - 1"))), "n - 1", "n = k + 1"
    ),
    "equalities that explode": lambda: claim(
        lmad("x0"),
        lmad("0"),
        apart(1, leaf("0")),
        "",
        ";".join(f"x{k} = (x{k + 1} + y{k})**2" for k in range(9)),
    ),
    # sums in order
    "a sum that uses a later one": lambda: put(
        "sums", "lines", genuine()["sums"]["lines"][::-1]
    ),
    "a sum that uses itself": lambda: put("sums", "lines", [leaf("k", (1, "k"))]),
    "a sum that is missing": lambda: put("sums", "lines.1", leaf("n", (1, "n"))),
    "a polynomial that no sum shows": lambda: put("sums", "polynomials", [p("n - 1")]),
    "a number below 0": lambda: put("sums", "polynomials", [p("-1")]),
    "a name that may be below 0": lambda: put("sums", "polynomials", [p("z")]),
    "a polynomial of other equalities": lambda: put("sums", "equal", [["m", p("k")]]),
    "steps where sums belong": lambda: put("sums", "lines", genuine()["tidy"]["proof"]),
    "sums where steps belong": lambda: put("tidy", "proof", []),
    "cells where there are none": lambda: put("sums", "a", genuine()["tidy"]["a"]),
    "another kind of claim": lambda: put("sums", "claim", "disjoint"),
    # steps
    "no step": lambda: put("tidy", "proof", {}),
    "a step that nobody knows": lambda: put("tidy", "proof.step", "trust"),
    "a step that is every other": lambda: put("tidy", "proof.step", Text("nothing")),
    "a list of steps": lambda: put("tidy", "proof", [genuine()["tidy"]["proof"]]),
    "a step without a rest": lambda: without("tidy", "proof.rest"),
    "a step with something else": lambda: put("tidy", "proof.because", leaf("0")),
    "steps without end": endless,
    "a thousand steps": lambda: nested(1000),
    "a hundred thousand steps": lambda: nested(100_000),
    "a contradiction that is none": lambda: put("absurd", BECAUSE, leaf("0")),
    "a contradiction of names": lambda: put("absurd", BECAUSE, leaf("n", (1, "n"))),
    "a contradiction with half of the facts": lambda: put("absurd", "nonnegative", [p("n")]),
    "no side": lambda: put("apart", "proof.side", 0),
    "the other side": lambda: put("apart", "proof.side", -1),
    "a side that is true": lambda: put("apart", "proof.side", True),
    "a side that is a float": lambda: put("apart", "proof.side", 1.0),
    "no sign for a stride": lambda: put("apart", "proof.signs", []),
    "a sign for no stride": lambda: put("apart", "proof.signs", [[*ONE], [*ONE]]),
    "a sign of 0": lambda: put("apart", "proof.signs", [[0, leaf("0")]]),
    "the wrong sign": lambda: put("flip", "proof", apart(-1, leaf("0"), [*ONE])),
    "a sign of 2": lambda: put("apart", "proof.signs", [[2, leaf("2", (2,))]]),
    "a dimension from behind": lambda: put("flip", "proof.k", -1),
    "a dimension that is not there": lambda: put("flip", "proof.k", 1),
    "a dimension that is false": lambda: put("flip", "proof.k", False),
    "the other dimension turned": lambda: put("flip", "a.dims", [[p("n"), p("1")]]),
    "a dimension joined with another's multiple": lambda: put("join", "a.dims.0.1", p("2*m")),
    "a dimension joined with itself": lambda: claim(
        lmad("0", ("n", "1")),
        lmad("5"),
        {
            "step": "join",
            "outer": 0,
            "inner": 0,
            "factor": p("1"),
            "positive": leaf("1", (1,)),
            "covers": leaf("n - 1", (1, "n - 1")),
            "rest": apart(-1, leaf("4", (4,))),
        },
    ),
    "outer and inner exchanged": lambda: put(
        "join", "proof", {**genuine()["join"]["proof"], "outer": 1, "inner": 0}
    ),
    "a factor that is not the right one": lambda: put("join", "proof.factor", p("m + 1")),
    "a factor that is a half": lambda: put("join", "proof.factor", [[0.5, "m"]]),
    "an inner dimension from behind": lambda: put("join", "proof.inner", -1),
    "a factor below 0": lambda: claim(
        lmad("0", ("q", "-1"), ("m", "1")),
        lmad("-1"),
        {
            **genuine()["join"]["proof"],
            "factor": p("-1"),
            "positive": leaf("-1"),
            "covers": leaf("m + 1", (1, "m - 1"), (2,)),
            "rest": apart(1, leaf("0"), [*ONE]),
        },
    ),
    "a member twice": lambda: put("pivot", PIVOT, [0, 0]),
    "a member from behind": lambda: put("pivot", PIVOT, [0, -1]),
    "a member that is not there": lambda: put("pivot", PIVOT, [0, 2]),
    "a member that is true": lambda: put("pivot", PIVOT, [0, True]),
    "members in a tuple": lambda: put("pivot", PIVOT, (0, 1)),
    "a member left out": lambda: put("pivot", PIVOT, [0]),
    "a quotient left out": lambda: put("pivot", "proof.quotients", [p("1")]),
    "a wrong quotient of a stride": lambda: put("pivot", "proof.quotients", [p("1"), p("-1")]),
    "a quotient that is no polynomial": lambda: put(
        "pivot", "proof.quotients", [p("1"), [[1, "n", "m", -1]]]
    ),
    "a wrong quotient of the offset": lambda: put("pivot", "proof.quotient", p("1")),
    "a wrong remainder": lambda: put("pivot", "proof.remainder", p("k + n")),
    "a divisor of 0": lambda: put("pivot", "proof.divisor", []),
    "a divisor below 0": lambda: put("pivot", "proof.divisor", p("-n")),
    "a divisor that may be 0": lambda: put("pivot", "proof.positive", leaf("n", (1, "n - k - 1"))),
    "values from one later on": lambda: put("pivot", "proof.first", 1),
    "values to one earlier": lambda: put("pivot", "proof.last", -1),
    "no value for no reason": lambda: put(
        "pivot", "proof", {**genuine()["pivot"]["proof"], "last": -9, "cases": []}
    ),
    "a bound for another value": lambda: put(
        "pivot", "proof.from_below", leaf("2*n - k - 1", (2, "n - k - 1"), (1, "k - 1"), (2,))
    ),
    "a case left out": lambda: put("pivot", "proof.cases", []),
    "a case twice": lambda: put("pivot", "proof.cases", genuine()["pivot"]["proof"]["cases"] * 2),
    "a case of another value": lambda: put("pivot", "proof.cases.0.value", 1),
    "a case of a float": lambda: put("pivot", "proof.cases.0.value", 0.0),
    "a case of the other side": lambda: put("pivot", "proof.cases.0.members", True),
    "a case of neither side": lambda: put("pivot", "proof.cases.0.members", 0),
    "a case without its proof": lambda: put("pivot", "proof.cases.0.rest", None),
    "signs for half of what lends": lambda: put("pivot", "proof.cases.0.signs", [[*ONE]]),
    "facts that nothing lends": lent_twice,
    "one side of a split on the other": crossed,
    "half of a split": lambda: without("split", "proof.no"),
    "strides that add up to another": lambda: put("relax", "a.dims.0.1", p("n - 3")),
    "strides that do not add up": lambda: put("relax", "proof.second", p("2")),
    "a stride of a fraction": lambda: put("relax", "proof.second", [[Fraction(1)]]),
    "rounded by the scale": lambda: put(
        "rounded", "proof.because", leaf("x - 1", (1, "3*x - 1"), (1,), scale=3)
    ),
    "rounded the other way": lambda: put(
        "rounded", "nonnegative.0", p("3*x - 4")
    ),
    "rounded by a name": lambda: put(
        "rounded", "proof.because", leaf("x - 1", (1, "3*x - 1"), (1, "3*x - 1"), scale=3)
    ),
    "a third that is rounded": lambda: put("rounded", "a.offset", p("x - 1")),
    "a line that is not shown": lambda: put("line", "proof.line", leaf("x - 2", (1, "2*x - 1"))),
    "a line that is no sum": lambda: put("line", "proof.line", p("x - 1")),
    "a line about what is not given": lambda: put(
        "line", "proof.line", {"rule": "quotient", "of": 0, "numbers": [], "claim": p("x - 1")}
    ),
    "a line for something else": lambda: put(
        "line", "proof.line", leaf("k - 1", (1, "k - 1"))
    ),
    "numbers that are names": lambda: put("tidy", "proof", {"step": "numbers"}),
    "numbers that meet": lambda: put("numbers", "b.offset", p("-2")),
    "numbers with one point more": lambda: put("numbers", "a.dims.0.0", p("4")),
    "numbers that are too many": wide,
}  # fmt: skip


@pytest.mark.parametrize("name", DATA)
def test_forged_data_is_refused(name: str) -> None:
    assert refusal(DATA[name]()) != ""


# --- as objects ------------------------------------------------------------------------------

n, m, k, x = map(Poly.var, "nmkx")
NOTHING = Sum(Poly.const(0), 1, ())
UNIT = (1, Sum(Poly.const(1), 1, ((1, ()),)))
PAIR = Lmad(k, (Dim(m, n),)), Lmad(Poly.const(0), (Dim(m, n),))
KNOWN = Facts.of([n - k - 1, k - 1])
HONEST = Pivot(
    n, Sum(n - 1, 1, ((1, (n - k - 1,)), (1, (k - 1,)), (1, ()))),
    (0, 1), (Poly.const(1), Poly.const(1)), Poly.const(0), k, Signs(()), 0, 0,
    Sum(n - k - 1, 1, ((1, (n - k - 1,)),)),
    Sum(n + k - 1, 1, ((1, (n - k - 1,)), (2, (k - 1,)), (2, ()))),
    (
        Case(
            0, False, Signs((UNIT, UNIT)),
            DisjointRanges(1, Signs(()), Sum(k - 1, 1, ((1, (k - 1,)),))),
        ),
    ),
)  # fmt: skip


class Chameleon(Poly):
    """Equal to everything, and of another form whenever it is asked for it."""

    __slots__ = ("_looks",)

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(n)


class Tuple(tuple[Any, ...]):
    """Equal to every other, and as long as it should be."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = tuple.__hash__


class Believed(Proof):
    """A step of its own."""

    __slots__ = ()


class Signed(Signs):
    """Signs of a kind of their own."""


def changed(**changes: Any) -> Proof:
    return replace(HONEST, **changes)


def remembered() -> Poly:
    """A polynomial that says it is another."""
    false = Poly({((("n"), 1),): 2})
    false._hash = hash(n)
    return false


def deep() -> Proof:
    proof: Proof = HONEST
    for _ in range(100_000):
        proof = Normalise(proof)
    return proof


OBJECTS: dict[str, Callable[[], Any]] = {
    "members (0, 0)": lambda: changed(members=(0, 0)),
    "members in a list": lambda: changed(members=[0, 1]),
    "members in a tuple of its own": lambda: changed(members=Tuple((0, 1))),
    "members that are true": lambda: changed(members=(False, True)),
    "members that lie": lambda: changed(members=(Liar(0), Liar(1))),
    "a divisor that is equal to all": lambda: changed(divisor=Chameleon({(("n", 1),): 1})),
    "a divisor with the hash of another": lambda: changed(divisor=remembered()),
    "a quotient of a half": lambda: changed(quotient=Poly({(): Fraction(1, 2)})),  # type: ignore[dict-item]
    "a quotient of 0.0": lambda: changed(quotient=Poly({(): 0.0})),  # type: ignore[dict-item]
    "a remainder with a power of -1": lambda: changed(remainder=Poly({(("k", -1),): 1})),
    "a remainder with a power of 0": lambda: changed(remainder=Poly({(("k", 0),): 1})),
    "a remainder with a power of a half": lambda: changed(remainder=Poly({(("k", 0.5),): 1})),  # type: ignore[dict-item]
    "a remainder with a huge power": lambda: changed(remainder=Poly({(("k", 10**9),): 1})),
    "a remainder whose name is twice there": lambda: changed(
        remainder=Poly({(("k", 1), ("k", 1)): 1, (("k", 1),): 1})
    ),
    "a remainder of a name that is a number": lambda: changed(remainder=Poly({((5, 1),): 1})),  # type: ignore[dict-item]
    "a remainder with a coefficient that is true": lambda: changed(
        remainder=Poly({(("k", 1),): True})
    ),
    "a remainder with terms in a list": lambda: changed(remainder=Poly([(("k", 1), 1)])),  # type: ignore[arg-type]
    "a remainder that is a number": lambda: changed(remainder=0),
    "a first value that is true": lambda: changed(first=False),
    "a first value below the last": lambda: changed(first=1, last=0, cases=()),
    "a case that nobody asked for": lambda: changed(cases=(*HONEST.cases, *HONEST.cases)),
    "a case that is a tuple": lambda: changed(
        cases=((0, False, Signs(()), HONEST.cases[0].rest),)
    ),
    "a case without a proof": lambda: changed(cases=(replace(HONEST.cases[0], rest=None),)),  # type: ignore[arg-type]
    "signs of a kind of their own": lambda: changed(signs=Signed(())),
    "no signs at all": lambda: changed(signs=None),
    "a claim of another": lambda: changed(positive=Sum(n, 1, HONEST.positive.terms)),
    "a sum in a list": lambda: changed(positive=replace(HONEST.positive, terms=[])),  # type: ignore[arg-type]
    "a leaf that is true": lambda: changed(positive=True),
    "a step of its own": Believed,
    "no proof": lambda: None,
    "a function": lambda: changed,
    "a split by a half": lambda: Split(Poly({(): Fraction(-1, 2)}), HONEST, HONEST),  # type: ignore[dict-item]
    "a hundred thousand steps": deep,
    "a dimension that is true": lambda: Flip(True, Flip(0, HONEST)),
}  # fmt: skip


def test_the_honest_proof_is_accepted() -> None:
    assert encode.refusal(*PAIR, KNOWN, HONEST) == ""
    assert encode.refusal(*PAIR, KNOWN, Flip(1, Flip(1, HONEST))) == ""


@pytest.mark.parametrize("name", OBJECTS)
def test_forged_objects_are_refused(name: str) -> None:
    assert encode.refusal(*PAIR, KNOWN, OBJECTS[name]()) != ""


def test_facts_of_another_place_are_refused() -> None:
    assert encode.refusal(*PAIR, Facts.of([n - k - 1, k]), HONEST)
    assert encode.refusal(*PAIR, Facts.of([k - 1]), HONEST)
    assert encode.refusal(*reversed(PAIR), KNOWN, HONEST)


def file(version: str = "3", claims: str = "[]", kind: str = "stridescope-certificate") -> bytes:
    seal = hashlib.sha256(claims.encode()).hexdigest()
    head = f'"format": "{kind}", "version": {version}, "sha256": "{seal}"'
    return f'{{{head}, "claims": {claims}}}'.encode()


FILES = {
    "nothing": b"",
    "no text": b"\xff\xfe\x00",
    "another encoding": file().decode().encode("utf-16"),
    "a list": b"[]",
    "a number": b"1",
    "cut off": file()[:-1],
    "something behind": file() + b" []",
    "another format": file(kind="stridescope"),
    "a version that is true": file("true"),
    "a version with a point": file("1.0"),
    "the first version": file("1"),
    "the version before": file("2"),
    "a later version": file("4"),
    "a version without end": file("1e999"),
    "claims twice": file(claims='[1], "claims": []'),
    "other claims": file().replace(b"[]", b"[1]"),
    "claims that are no list": file(claims="{}"),
    "no number": file(claims="[NaN]"),
    "a number of many digits": file("9" * 100_000),
    "lists in lists": b"[" * 1_000_000,
    "objects in objects": b'{"a":' * 1_000_000,
}


def test_the_file_that_these_differ_from_is_accepted() -> None:
    assert list(checker.verify(checker.read(file()))) == []


@pytest.mark.parametrize("name", FILES)
def test_forged_files_are_refused(name: str) -> None:
    with pytest.raises(checker.Refused):
        list(checker.verify(checker.read(FILES[name])))


@pytest.mark.parametrize(
    ("limit", "least", "because"),
    [("BITS", 1, "bits"), ("DEGREE", 2, "list"), ("DEPTH", 0, "step"), ("WORK", 9, "too large")],
)
def test_what_is_read_is_bounded(
    limit: str, least: int, because: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, limit, least)
    assert any(because in refusal(honest) for honest in genuine().values())
    monkeypatch.setattr(checker, "BYTES", 10)
    with pytest.raises(checker.Refused, match="more than 10 bytes"):
        checker.read(file())


def test_there_are_enough_of_them() -> None:
    assert len(DATA) + len(OBJECTS) >= 100
