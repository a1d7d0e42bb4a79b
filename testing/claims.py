"""One claim with its proof for each kind of step, as plain data; all are accepted."""

from __future__ import annotations

from typing import Any

from compiler.algebra import checker
from compiler.algebra.as_data import plain
from compiler.algebra.notation import Reader

Json = dict[str, Any]


def p(text: str) -> list[Any]:
    """A polynomial."""
    return plain(Reader().poly(text))


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
        "types": [],
        "nonnegative": [p(fact) for fact in facts.split(";") if fact],
        "equal": [[name.strip(), p(value)] for name, value in equations],
        "given": [],
        "lines": [],
        "a": a,
        "b": b,
        "proof": proof,
    }


def given(
    kind: str,
    op: str = "",
    left: str = "0",
    right: str = "0",
    reads: str = "",
    type: str = "i64",
) -> Json:
    """Make a `given` of a certificate about `x`.

    `reads`: polynomials with types, separated by `;`.
    """
    pairs = [one.rsplit(":", 1) for one in reads.split(";") if one]
    parts: Json = {"op": op, "type": type, "left": p(left), "right": p(right), "name": "x"}
    parts["reads"] = [[p(poly), prim.strip()] for poly, prim in pairs]
    return {"given": kind, **{field: parts[field] for field in checker.GIVEN[kind][0].split()}}


def line(rule: str, claim: str, *numbers: int, of: int | None = 0) -> Json:
    """A line that is no sum."""
    return {"rule": rule, "of": of, "numbers": list(numbers), "claim": p(claim)}


def lines(given: list[Json], *made: Json, facts: str = "", types: str = "") -> Json:
    """Lines that show what they claim; `types` are names with theirs, such as `i n: i64; k: u8`."""
    typed = [one.split(":") for one in types.split(";") if one]
    return {
        "claim": "nonnegative",
        "about": "",
        "types": [[name, prim.strip()] for names, prim in typed for name in names.split()],
        "nonnegative": [p(fact) for fact in facts.split(";") if fact],
        "equal": [],
        "given": given,
        "lines": list(made),
        "polynomials": [made[-1]["claim"]],
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
        "rounded": claim(
            lmad("x"), lmad("0"), apart(1, leaf("x - 1", (1, "3*x - 1"), scale=3)), "3*x - 1"
        ),
        "line": claim(
            lmad("x*k"),
            lmad("0"),
            {
                "step": "line",
                "line": leaf("x - 1", (1, "2*x - 1"), scale=2),
                "rest": apart(
                    1, leaf("x*k - 1", (1, "x - 1", "k - 1"), (1, "x - 1"), (1, "k - 1"))
                ),
            },
            "2*x - 1; k - 1",
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
            "types": [],
            "nonnegative": [p("n"), p("k - n - 1")],
            "equal": [["m", p("k + 1")]],
            "polynomials": [p("m - n - 2"), p("k*k"), p("n"), p("3")],
            "given": [],
            "lines": [
                leaf("k", (1, "k - n - 1"), (1, "n"), (1,)),
                leaf("k*k", (1, "k", "k")),
            ],
        },
    }


def by_rules() -> dict[str, Json]:
    """One claim for each rule, or more, made anew; each is as sharp as the rule is."""
    half = given("atom", "/", "n", "2")
    compared = given("compare", "<", "i + 1", "n", "i + 1: i64")
    chosen = given("choice", "min", "n", "k")
    either = given("choice", "either", "n", "k")
    wrapped = given("wrap", "cut", "n", type="u8")
    return {
        "given <": lines(
            [compared],
            line("given", "n - i - 2"),
            facts="i + 9223372036854775809; 9223372036854775806 - i",
            types="n: i64",
        ),
        "given <=": lines(
            [given("compare", "<=", "i", "n")], line("given", "n - i"), types="i n: i64"
        ),
        "given >": lines(
            [given("compare", ">", "i", "n", type="u64")],
            line("given", "i - n - 1"),
            types="i n: u64",
        ),
        "given >=": lines(
            [given("compare", ">=", "i", "n", type="u8")], line("given", "i - n"), types="i n: u8"
        ),
        "given ==": lines(
            [given("compare", "==", "i", "n")], line("given", "i - n"), types="i n: i64"
        ),
        "given product": lines(
            [given("product", "*", "i", "n")], line("given", "i*n"), types="i n: i64"
        ),
        "given min": lines([chosen], line("given", "n - x"), types="n k: i64"),
        "given max": lines(
            [given("choice", "max", "n", "k", type="u64")],
            line("given", "x - k"),
            types="n k: u64",
        ),
        "cases": lines([either], line("cases", "x - 3"), facts="n - 3; k - 3", types="n k: i64"),
        "range min": lines(
            [chosen],
            line("range", "4 - x", 1, 9, 2, 4),
            facts="n - 1; 9 - n; k - 2; 4 - k",
            types="n k: i64",
        ),
        "range /": lines(
            [given("atom", "/", "n", "k")],
            line("range", "4 - x", 1, 9, 2, 4),
            facts="n - 1; 9 - n; k - 2; 4 - k",
        ),
        "range %": lines(
            [given("atom", "%", "n", "k")],
            line("range", "3 - x", -9, 9, 2, 4),
            facts="n + 9; 9 - n; k - 2; 4 - k",
        ),
        "quotient": lines([half], line("quotient", "n - 2*x")),
        "quotient above": lines([half], line("quotient", "2*x + 1 - n")),
        "quotient is natural": lines([half], line("quotient", "x"), facts="n"),
        "quotient by a name": lines(
            [given("atom", "//", "n", "k")], line("quotient", "n - k*x"), facts="n; k - 1"
        ),
        "floor": lines([half], line("floor", "x - 3", 1), facts="n - 6"),
        "floor above": lines(
            [given("atom", "/", "n", "k")],
            line("floor", "i - x", -1),
            facts="k - 1; k*i + k - 1 - n",
        ),
        "floor towards zero": lines(
            [given("atom", "//", "n", "3")], line("floor", "4 - x", -1), facts="14 - n; n"
        ),
        "divisor": lines([given("atom", "/", "n", "k")], line("divisor", "k - 1"), facts="k"),
        "divisor below": lines(
            [given("atom", "%%", "n", "k")], line("divisor", "-k - 1"), facts="-k"
        ),
        "remainder": lines([given("atom", "%", "n", "2")], line("remainder", "1 - x")),
        "remainder is not larger": lines(
            [given("atom", "%%", "n", "k")], line("remainder", "n - x"), facts="n; k"
        ),
        "nearby": lines(
            [given("choice", "/", "n", "k")],
            line("nearby", "n - k*x + 5", 5),
            facts="k + 5; 5 - k; n + 9223372036854775807",
            types="n k: i64",
        ),
        "unlike": lines(
            [given("compare", "!=", "i", "n")],
            line("unlike", "n - i - 1"),
            facts="n - i",
            types="i n: i64",
        ),
        "round": lines([], line("round", "n - 2", 3, 2, of=None), facts="3*n - 4"),
        "divides": lines(
            [given("atom", "/", "n", "k")], line("divides", "n - k"), facts="n; x - 1"
        ),
        "divides above": lines(
            [given("atom", "/", "n", "k")], line("divides", "k - 1"), facts="n; x - 1"
        ),
        "chosen": lines([either], line("chosen", "k - 1"), facts="x - 1; -n", types="n k: i64"),
        "unwrap": lines(
            [wrapped], line("unwrap", "n - x", 3, 7), facts="x - 3; 7 - x; n + 248; 258 - n"
        ),
        "cut": lines([wrapped], line("cut", "n - x"), facts="n"),
        "natural": lines(
            [given("compare", "<=", "i", "n", "k - i: natural")],
            line("given", "n - i"),
            facts="k - i",
            types="i n: i64",
        ),
    }


def refusal(data: Any) -> str:
    """Return the reason why a claim is refused; "" if it is accepted."""
    try:
        checker.Theorem(data).check()
    except RecursionError:
        return "nested too deeply"
    except checker.Refused as why:
        return str(why)
    return ""
