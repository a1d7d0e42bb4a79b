"""Certificates of the examples with one thing changed: refused, or what they claim holds.

A change may give another proof of the same claim, or a claim that is true as well. Whether it is
true is counted out for small values of its names.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compiler.algebra import checker
from compiler.driver import explanations
from compiler.protocol.proofs import CertificateRequest
from testing import meaning

EXAMPLES = sorted((Path(__file__).parents[1] / "app" / "examples").glob("*.fut"))
CLAIMS, CHANGES, LARGEST = 8, 3, 40_000
"""Of each example so many claims of at most so many characters, each changed so often."""
VALUES, NEEDED = 3000, 5
"""How many values of its names are tried for a claim, and with how many of them it can be seen."""
NOTHING_TO_PROVE = {"black_scholes", "dot_product", "mandelbrot", "mean_and_variance"}
Json = dict[str, Any]
Place = tuple[Any, Any]
"""A list or object, and where in it something stands."""


# --- one change ---


def places(data: Any, wanted: Callable[[Any], bool]) -> Iterator[Place]:
    """Where what is wanted stands in a claim, but for what it says that it is about."""
    for at, part in data.items() if isinstance(data, dict) else enumerate(data):
        if at == "about":
            continue
        if wanted(part):
            yield data, at
        if isinstance(part, dict | list):
            yield from places(part, wanted)


def is_term(data: Any) -> bool:
    return isinstance(data, list) and len(data) > 1 and all(isinstance(n, str) for n in data[1:])


def one_number(claim: Json, rng: random.Random) -> None:
    data, at = rng.choice(list(places(claim, lambda part: type(part) is int)))
    number = data[at]
    data[at] = rng.choice([one for one in (number + 1, number - 1, -number) if one != number])


def one_leaf(claim: Json, rng: random.Random) -> None:
    """One product of a sum is left out, or there twice."""
    found = [
        (data, at)
        for data, at in places(claim, lambda part: isinstance(part, list) and bool(part))
        if at == "terms"
    ]
    if found:
        data, at = rng.choice(found)
        one = rng.randrange(len(data[at]))
        data[at][one : one + 1] = data[at][one : one + 1] * rng.choice((0, 2))


def one_name(claim: Json, rng: random.Random) -> None:
    """One name of a monomial, which stays sorted, is another name of the claim."""
    terms = [
        (data, at)
        for data, at in places(claim, is_term)
        if type(data[at][0]) is int and isinstance(data, list)
    ]
    names = sorted({name for data, at in terms for name in data[at][1:]})
    if len(names) > 1:
        data, at = rng.choice(terms)
        coefficient, *factors = data[at]
        k = rng.randrange(len(factors))
        factors[k] = rng.choice([name for name in names if name != factors[k]])
        data[at] = [coefficient, *sorted(factors)]


# --- whether a claim holds, by counting ---


def seen(claim: Json, rng: random.Random) -> int:
    """With how many values it was seen that a claim holds. Fails where it does not."""
    found = 0
    for _ in range(VALUES):
        env = meaning.drawn(claim, rng, (0, 1, 1, 2, 3, 4, 5, 7))
        if env is not None:
            assert meaning.concluded(claim, env), (claim, env)
            found += 1
            if found == NEEDED:
                break
    return found


def accepted(claim: Json) -> bool:
    try:
        checker.Theorem(claim).check()
    except checker.Refused:
        return False
    return True


# --- the tests ---


def claims_of(path: Path, rng: random.Random) -> list[str]:
    """Some claims of an example, as text."""
    answer = explanations.certificate(CertificateRequest(path.read_text("utf-8")))
    found = [json.dumps(claim) for claim in answer["certificate"]["claims"]]
    assert found or path.stem in NOTHING_TO_PROVE
    small = [text for text in found if len(text) <= LARGEST]
    return rng.sample(small, min(CLAIMS, len(small)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_changed_certificate_is_refused_or_true(path: Path) -> None:
    rng = random.Random(path.stem)
    texts = claims_of(path, rng)
    refused = 0
    for text in texts:
        for change in (one_number, one_leaf, one_name) * CHANGES:
            claim = json.loads(text)
            change(claim, rng)
            if claim == json.loads(text):
                continue
            if accepted(claim):
                seen(claim, rng)
            else:
                refused += 1
    assert refused >= 3 * len(texts)


def test_what_is_false_is_seen() -> None:
    """The counting tells a false claim from a true one: not all that it looks at is empty."""
    rng = random.Random(1)
    pair: Json = {
        "claim": "disjoint", "types": [], "nonnegative": [[[1, "n"]]], "equal": [], "given": [],
        "a": {"offset": [], "dims": [[[[1, "n"]], [[1]]]]},
        "b": {"offset": [[1, "n"]], "dims": [[[[1, "n"]], [[1]]]]},
    }  # fmt: skip
    assert seen(pair, rng) == NEEDED
    with pytest.raises(AssertionError):
        seen({**pair, "b": {**pair["b"], "offset": [[1, "n"], [-1]]}}, rng)
    stated: Json = {
        "claim": "nonnegative", "types": [], "nonnegative": [], "equal": [],
        "given": [
            {"given": "compare", "type": "i64", "op": "<", "left": [[1, "i"]], "right": [[1, "n"]]}
        ],
        "polynomials": [[[1, "n"], [-1, "i"], [-1]]],
    }  # fmt: skip
    assert seen(stated, rng) == NEEDED
    with pytest.raises(AssertionError):
        seen({**stated, "polynomials": [[[1, "i"], [-1]]]}, rng)
