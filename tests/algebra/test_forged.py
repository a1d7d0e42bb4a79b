"""The kept forgeries: each claim is false, as its witness shows, and none is accepted."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
import z3

from compiler.algebra import checker
from compiler.algebra.bitvectors import counterexample
from testing import forged, meaning
from testing.claims import by_rules, genuine

KEPT: list[dict[str, Any]] = json.loads(forged.KEPT.read_text("utf-8"))


def file(text: str) -> bytes:
    """A certificate of one claim, which may be no plain data."""
    seal = checker.digest([forged.lenient(text)])
    head = f'"format": "{checker.FORMAT}", "version": {checker.VERSION}, "sha256": "{seal}"'
    return f'{{{head}, "claims": [{text}]}}'.encode()


def test_a_claim_that_is_true_is_accepted_as_these_are_offered() -> None:
    for claim in (*genuine().values(), *by_rules().values()):
        assert len(list(checker.verify(checker.read(file(json.dumps(claim)))))) == 1


@pytest.mark.parametrize("what", sorted({one["what"] for one in KEPT}))
def test_no_forgery_is_accepted(what: str) -> None:
    for one in KEPT:
        if one["what"] == what:
            assert meaning.refutes(forged.lenient(one["claim"]), one["witness"]), one
            with pytest.raises(checker.Refused):
                list(checker.verify(checker.read(file(one["claim"]))))


def test_there_are_enough_of_many_kinds() -> None:
    assert len(KEPT) > 300
    assert len({one["what"] for one in KEPT}) >= 50
    assert max(len(one["claim"]) for one in KEPT) < 10_000


def test_the_maker_makes_them() -> None:
    rng = random.Random(1)
    kinds = {one["what"] for one in forged.made([genuine()["tidy"]], rng, most=1)}
    assert {"a sum that wraps", "a key twice", "an offset changed"} <= kinds


def test_z3_finds_what_is_exported_of_them_false() -> None:
    """At the witness of each; other values it finds for most of them, which takes a minute."""
    rng = random.Random(2)
    small = [one for one in KEPT if not re.search(r"\d{30}", one["claim"])]
    for one in rng.sample(small, 40):
        solver = z3.SimpleSolver()
        question = z3.parse_smt2_string(export(one["claim"]).split("(check-sat)")[0])
        at = [
            (part, z3.BitVecVal(one["witness"][part.decl().name()], part.size()))
            for part in constants(question)
            if part.decl().name() in one["witness"]
        ]
        solver.add(*(z3.simplify(z3.substitute(part, *at)) for part in question))
        assert solver.check() == z3.sat, one


def export(text: str) -> str:
    """The question for a counterexample; none that can be answered if the claim cannot be read."""
    try:
        return counterexample(checker.Theorem(json.loads(text)), "")
    except checker.Refused:
        return ""


def constants(question: Any) -> set[Any]:
    """What a question is about."""
    found, waiting = set(), list(question)
    while waiting:
        part = waiting.pop()
        if z3.is_const(part) and part.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.add(part)
        waiting += part.children()
    return found
