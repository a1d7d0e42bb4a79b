"""Quotients and remainders of numbers of any sign: what is proved of them is counted out."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import pytest

from compiler.algebra import checker
from compiler.algebra.decide import Decided, decide
from compiler.algebra.disjoint import Disjoint, Overlap
from compiler.algebra.notation import Reader
from compiler.base.errors import UsageError
from testing.generators.quotients import VALUES, problem
from testing.problems import meeting, read


def decided(a: str, b: str, *known: str) -> Decided:
    return decide(a, b, {"other": list(known)})


def kind(a: str, b: str, *known: str) -> str:
    return type(decided(a, b, *known).verdict).__name__


@pytest.mark.parametrize("divisor", [-3, -2, -1, 1, 2, 3])
def test_quotients_of_numbers_round_down(divisor: int) -> None:
    """`docs/proving.md`: `//` rounds down, and `%` leaves what is left then."""
    for dividend in range(-7, 8):
        for op, value in (("//", dividend // divisor), ("%", dividend % divisor)):
            text = f"({dividend}) {op} (0 + {divisor})"
            assert kind(text, str(value)) == "Overlap"
            assert kind(text, str(value + 1)) == kind(text, str(value - 1)) == "Disjoint"


@pytest.mark.parametrize("divisor", ["-3", "-1", "2", "3", "m"])
def test_a_verdict_holds_for_all_integers(divisor: str) -> None:
    """Whether a quotient of some numbers of both signs is a certain one."""
    known = ["-4 <= i", "i < 5"], ["m <= -1", "m >= -2"] if divisor == "m" else []
    divisors = (-2, -1) if divisor == "m" else (int(divisor),)
    for less, cell in product((0, 3, 7), range(-6, 5)):
        places = {(i - less) // by for i in range(-4, 5) for by in divisors}
        relations = [one for some in known for one in some]
        found = kind(f"(i - {less}) // ({divisor})", str(cell), *relations)
        assert found == ("Overlap" if cell in places else "Disjoint")


def test_random_quotients_agree_with_brute_force() -> None:
    rng, count = random.Random(5), Counter[str]()
    for _ in range(150):
        given = problem(rng)
        try:
            found = decide(given["a"], given["b"], given["assumptions"]).verdict
        except UsageError as error:
            assert "positive or negative" in error.message
            continue
        count[type(found).__name__] += 1
        match found:
            case Disjoint():
                assert meeting(given, VALUES) is None, given
                checker.Theorem(found.theorem()).check()
            case Overlap(point, cell):
                of = read(given)
                assert cell in of.shared({name: point[name] for name in of.names}), given
    assert count["Disjoint"] > 25
    assert count["Overlap"] > 60


FALSE = [
    ("100 + (n - 20)//4 + {(2 : 1)}", "96 + {(2 : 1)}", "n >= 0", "n < 10"),
    ("(i - 5)//2", "-1", "i >= 0"),
    ("-7//2", "-4"),
    ("7//(0 - 2)", "-4"),
    ("n//m", "-3", "n >= 0", "m < 0"),
    ("(i*2 - p)//3 + {(3 : 1)}", "-1", "0 <= i", "p >= 1"),
    ("(i + d - p)//s", "(j - p)//s - 1", "s >= 1", "i >= 0", "d >= 0", "j >= i", "p >= 0"),
]


@pytest.mark.parametrize("given", FALSE)
def test_quotients_below_zero_meet(given: tuple[str, ...]) -> None:
    assert kind(*given) == "Overlap"


@pytest.mark.parametrize(
    "given",
    [
        ("n//d + {}", "1 + {}", "d >= 1", "2*d <= n"),
        ("n//d + {}", "0 + {}", "d >= 1", "n < 0"),
        ("(n + d)//d + {}", "n//d + {}", "d >= 1"),
        ("i//2 + {}", "(i + 2)//2 + {}"),
        ("i//4 + {}", "(i//2)//2 + 1 + {}"),
        ("(i//l)//m + {}", "i//l + 1 + {}", "l >= 1", "m >= 1", "i >= 0"),
        ("i%m + {}", "m + {}", "m >= 1"),
        ("i%m + {}", "1 + {}", "m <= -1"),
        ("i//m + {}", "1 + {}", "i >= 1", "m <= 0"),
        ("m*(i//m) + i%m + {}", "i + 1 + {}", "m >= 0"),
    ],
)
def test_what_quotients_say(given: tuple[str, ...]) -> None:
    """Nothing is divided by 0: a divisor that is not negative is positive."""
    assert kind(*given) == "Disjoint"


@pytest.mark.parametrize("known", [(), ("m >= -1",), ("m*m >= 1",), ("m != 0",)])
def test_a_divisor_has_a_sign(known: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refused:
        decided("n//m", "5", *known)
    if known != ("m != 0",):
        assert "`m` in `(n//m)`" in refused.value.message
        assert "m <= -1" in refused.value.hint


def test_an_assumption_may_be_about_a_quotient() -> None:
    assert kind("i", "n//b", "b >= 1", "i < n//b") == "Disjoint"
    assert kind("b*i + {(b : 1)}", "n + {}", "b >= 1", "i >= 0", "i < n//b") == "Disjoint"
    with pytest.raises(UsageError):
        decided("i", "5", "i < n//b")


@pytest.mark.parametrize("text", ["i//(2*m)", "(2*i)//m", "i//(-m)", "(i//m)//(n + 1)", "i%(2*m)"])
def test_a_quotient_is_read_as_it_is_printed(text: str) -> None:
    reader = Reader()
    assert str(reader.poly(str(reader.poly(text)))) == str(reader.poly(text))


def test_a_certificate_says_what_quotients_are_of() -> None:
    found = decided("i//m + {}", "-1 + {}", "i >= 0", "m >= 1").verdict
    assert isinstance(found, Disjoint)
    (given,) = found.theorem()["given"]
    assert (given["given"], given["op"]) == ("atom", "/")
    without: dict[str, Any] = {**found.theorem(), "given": []}
    with pytest.raises(checker.Refused):
        checker.Theorem(without).check()


def test_unknown_is_not_proved_by_a_missing_sign() -> None:
    assert isinstance(decided("i//m + {}", "-1 + {}", "m >= 1", "i >= -m*m").verdict, Overlap)
