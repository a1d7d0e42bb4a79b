"""One claim with its proof for each kind of step, as plain data; all are accepted."""

from __future__ import annotations

from typing import Any

from compiler.algebra import checker
from compiler.algebra.encode import _Writer
from compiler.algebra.notation import Reader

Json = dict[str, Any]


def p(text: str) -> list[Any]:
    """A polynomial."""
    return _Writer().poly(Reader().poly(text))


def leaf(claim: str, *terms: tuple[Any, ...], scale: Any = 1) -> Json:
    """`scale * claim` is the sum of `coefficient * factors`."""
    made = [[coefficient, [p(factor) for factor in factors]] for coefficient, *factors in terms]
    return {"claim": p(claim), "scale": scale, "terms": made}


def lmad(offset: str, *dims: tuple[str, str]) -> Json:
    return {"offset": p(offset), "dims": [[p(size), p(stride)] for size, stride in dims]}


def claim(a: Json, b: Json, proof: Json, facts: str = "", equal: str = "") -> Json:
    """Facts that are not negative and equalities stand with `;` between them."""
    equations = [one.split("=") for one in equal.split(";") if one]
    return {
        "claim": "disjoint",
        "about": "",
        "nonnegative": [p(fact) for fact in facts.split(";") if fact],
        "equal": [[name.strip(), p(value)] for name, value in equations],
        "a": a,
        "b": b,
        "proof": proof,
    }


def apart(side: int, because: Json, *signs: list[Any]) -> Json:
    return {"step": "apart", "side": side, "signs": list(signs), "because": because}


ONE = [1, leaf("1", (1,))]


def genuine() -> dict[str, Json]:
    """All of them, made anew."""
    return {
        "apart": claim(
            lmad("2*n + k"),
            lmad("0", ("n", "1")),
            apart(1, leaf("n + k", (1, "n - 1"), (1, "k"), (1,)), [*ONE]),
            "k",
        ),
        "tidy": claim(
            lmad("0", ("n", "1")),
            lmad("n", ("m", "1")),
            {"step": "tidy", "rest": apart(-1, leaf("0"), [*ONE])},
        ),
        "flip": claim(
            lmad("0", ("n", "-1")),
            lmad("1"),
            {"step": "flip", "k": 0, "rest": apart(-1, leaf("0"), [*ONE])},
        ),
        "join": claim(
            lmad("0", ("q", "m"), ("m", "1")),
            lmad("q*m"),
            {
                "step": "join",
                "outer": 0,
                "inner": 1,
                "factor": p("m"),
                "positive": leaf("m", (1, "m - 1"), (1,)),
                "covers": leaf("0"),
                "rest": apart(-1, leaf("0"), [*ONE]),
            },
        ),
        "pivot": claim(
            lmad("k", ("m", "n")),
            lmad("0", ("m", "n")),
            {
                "step": "pivot",
                "divisor": p("n"),
                "positive": leaf("n - 1", (1, "n - k - 1"), (1, "k - 1"), (1,)),
                "members": [0, 1],
                "quotients": [p("1"), p("1")],
                "quotient": p("0"),
                "remainder": p("k"),
                "signs": [],
                "first": 0,
                "last": 0,
                "from_below": leaf("n - k - 1", (1, "n - k - 1")),
                "from_above": leaf("n + k - 1", (1, "n - k - 1"), (2, "k - 1"), (2,)),
                "cases": [
                    {
                        "value": 0,
                        "members": False,
                        "signs": [[*ONE], [*ONE]],
                        "rest": apart(1, leaf("k - 1", (1, "k - 1"))),
                    }
                ],
            },
            "n - k - 1; k - 1",
        ),
        "split": claim(
            lmad("x*x + x + 1"),
            lmad("0"),
            {
                "step": "split",
                "term": p("x"),
                "yes": apart(1, leaf("x*x + x", (1, "x", "x"), (1, "x"))),
                "no": apart(1, leaf("x*x + x", (1, "-x - 1", "-x - 1"), (1, "-x - 1"))),
            },
        ),
        "relax": claim(
            lmad("0", ("m", "n + 1")),
            lmad("-1"),
            {
                "step": "relax",
                "k": 0,
                "first": p("n"),
                "second": p("1"),
                "rest": apart(1, leaf("0"), [1, leaf("n", (1, "n"))], [*ONE]),
            },
            "n",
        ),
        "absurd": claim(
            lmad("0"),
            lmad("0"),
            {"step": "absurd", "because": leaf("-1", (1, "n"), (1, "-n - 1"))},
            "n; -n - 1",
        ),
        "numbers": claim(
            lmad("0", ("3", "4")), lmad("2", ("2", "10"), ("3", "-24")), {"step": "numbers"}
        ),
        "equal": claim(lmad("n"), lmad("q*b"), apart(1, leaf("0")), "", "n = q*c + 1; c = b"),
        "sums": {
            "claim": "nonnegative",
            "about": "",
            "nonnegative": [p("n"), p("k - n - 1")],
            "equal": [["m", p("k + 1")]],
            "polynomials": [p("m - n - 2"), p("k*k"), p("n"), p("3")],
            "proof": [
                leaf("k", (1, "k - n - 1"), (1, "n"), (1,)),
                leaf("k*k", (1, "k", "k")),
            ],
        },
    }


def refusal(data: Any) -> str:
    """Why one claim is refused; "" if it is accepted."""
    try:
        checker.Theorem(data).check()
    except RecursionError:
        return "nested too deeply"
    except checker.Refused as why:
        return str(why)
    return ""
