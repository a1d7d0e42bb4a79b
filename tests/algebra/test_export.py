"""What certificates come down to, as other provers see it."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import z3

from compiler.__main__ import main
from compiler.algebra import checker
from compiler.algebra.checker import Theorem, in_range
from compiler.algebra.encode import document
from compiler.algebra.export import exported
from compiler.algebra.smtlib import smtlib, symbol
from compiler.driver import explanations
from compiler.protocol.proofs import CertificateRequest
from testing.claims import by_rules, genuine, given, line, lines, lmad, refusal

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
CERTIFICATE = document(list(genuine().values()))


def answers(text: str, **limits: int) -> Iterator[str]:
    """What Z3 says to each question of a script."""
    for question in text.split("(push 1)")[1:]:
        solver = z3.SimpleSolver()  # it tries no strategies first: a twelfth of the time
        solver.set(**(limits or {"timeout": 20_000}))
        solver.from_string(question.split("(check-sat)")[0])
        yield str(solver.check())


def claims(*claims: Any) -> str:
    """Questions about claims, whose proofs are not looked at."""
    return exported(document(claims), "claims")


def theorem(name: str) -> Theorem:
    found = Theorem((genuine() | by_rules())[name])
    found.check()
    return found


@pytest.mark.parametrize("name", [*genuine(), *by_rules()])
def test_z3_agrees_with_each_step(name: str) -> None:
    found = theorem(name)
    said = list(answers("\n".join(smtlib(found))))
    assert said == ["unsat"] * (len(found.leaves) + len(found.rules) + len(found.equations))
    assert said


@pytest.mark.parametrize("name", list(by_rules()))
def test_z3_finds_values_where_a_step_claims_more(name: str) -> None:
    """Steps are sharp, and what is given is no nonsense; only `nearby` has one to spare."""
    found = theorem(name)
    ((at, step, needs),) = found.rules
    less = {**step.claim, (): step.claim.get((), 0) - 1 - (name == "nearby")}
    found.rules = [(at, step._replace(claim=less), needs)]
    assert list(answers("\n".join(smtlib(found)))) == ["sat"]


@pytest.mark.parametrize(
    "example", ["blocked_wavefront", "blocked_lu", "lu_step", "concatenation", "in_place_map"]
)
def test_z3_agrees_with_the_proofs_of_examples(example: str) -> None:
    source = (EXAMPLES / f"{example}.fut").read_text()
    certificate = explanations.certificate(CertificateRequest(source))["certificate"]
    blocks = exported(certificate, "smtlib").split("(push 1)")[1:]
    different = list(dict.fromkeys("(push 1)" + block.split("(pop 1)")[0] for block in blocks))
    assert different
    assert set(answers("".join(different))) == {"unsat"}


def test_z3_finds_values_where_a_leaf_is_false() -> None:
    """Forged leaves: a claim that is larger by one where it was tight, or a fact that is gone."""
    for name, at in (("pivot", 1), ("relax", 0), ("flip", 1), ("split", 0)):
        found = theorem(name)
        place, claim, scale, terms = found.leaves[at]
        more = {**claim, (): claim.get((), 0) - 1}
        found.leaves = [(place, more, scale, terms), (place, more, scale, [])]
        assert list(answers("\n".join(smtlib(found)))) == ["sat", "sat"], name
    found = theorem("numbers")
    (place, offset, dims), *_ = found.equations
    found.leaves, found.equations = [], [(place, offset + 2, dims)]
    assert list(answers("\n".join(smtlib(found)))) == ["sat"]


TRUE_ANYWAY = {"unlike", "range min", "nearby"}
"""What wraps differs too; and numbers bound what is compared or divided."""
READ = [name for name, data in by_rules().items() if data["types"] and name not in TRUE_ANYWAY]


@pytest.mark.parametrize("name", READ)
def test_z3_finds_values_where_the_type_of_a_name_is_not_asked_for(name: str) -> None:
    """What is compared or divided may have wrapped around: a step says so by itself."""
    found = theorem(name)
    fits = [p for side, prim in found.types.items() for p in in_range({(side,): 1}, prim)]
    ((at, step, needs),) = found.rules
    found.rules = [(at, step, [need for need in needs if need not in fits])]
    assert list(answers("\n".join(smtlib(found)))) == ["sat"]


def test_z3_finds_values_where_what_is_read_is_not_shown() -> None:
    found = theorem("natural")
    ((at, step, needs),) = found.rules
    found.rules = [(at, step, [need for need in needs if need != {("k",): 1, ("i",): -1}])]
    assert list(answers("\n".join(smtlib(found)))) == ["sat"]


@pytest.mark.parametrize("name", [*genuine(), *by_rules()])
def test_z3_finds_no_counterexample_to_what_is_shown(name: str) -> None:
    """Where products are compared it finds nothing at all."""
    effort = 50_000 if name in PRODUCTS else 2_000_000
    (said,) = answers(claims((genuine() | by_rules())[name]), rlimit=effort)
    assert said == "unsat" or (said == "unknown" and name in PRODUCTS)


PRODUCTS = {
    "join", "pivot", "relax", "sums", "given product", "quotient by a name", "nearby", "divides",
    "remainder is not larger", "line", "floor above",
}  # fmt: skip


def test_z3_finds_a_counterexample_where_a_claim_is_false() -> None:
    """As a program computes them: a sum of 2^63 and a product of 2^64 do not fit."""
    half = lines(
        [given("choice", "/", "n + k", "2", "n + k: natural")],
        line("quotient", "x"),
        facts="n + k; 4611686018427387904 - n; 4611686018427387904 - k",
    )
    square = lines(
        [given("compare", "==", "k*n", "0", "k*n: natural")],
        line("given", "-k*n"),
        facts="k*n; n - 4294967296; 4294967296 - n; k - 4294967296; 4294967296 - k",
    )
    unsigned = lines(
        [given("compare", "<", "n", "k")], line("given", "k - n - 1"), types="n k: u64"
    )
    integers = lines([given("compare", "<", "n", "k")], line("given", "k - n - 1"))
    for data in (half, square, unsigned, integers):
        assert refusal(data)
        assert list(answers(claims(data))) == ["sat"]
    moved = genuine()["tidy"] | {"b": lmad("n - 1", ("m", "1"))}
    assert list(answers(claims(moved))) == ["sat"]


@pytest.mark.parametrize("example", ["in_place_map", "concatenation"])
def test_z3_finds_no_counterexample_to_the_claims_of_examples(example: str) -> None:
    source = (EXAMPLES / f"{example}.fut").read_text()
    certificate = explanations.certificate(CertificateRequest(source))["certificate"]
    said = list(answers(exported(certificate, "claims"), rlimit=100_000))
    assert len(said) == len(certificate["claims"])
    assert "sat" not in said
    assert said.count("unsat") > len(said) / 2


def test_the_names_of_a_program_are_quoted() -> None:
    data = genuine()["flip"]
    awkward = ["(n//b)", "a|b", "x\\y", "größe", "let", "; (check-sat)", "%00left", "left"]
    assert len({symbol(name) for name in (*awkward, "a%7Cb", "\0left")}) == len(awkward) + 2
    for name in awkward:
        text = json.dumps(data).replace('"n"', json.dumps(name))
        said = exported(document([json.loads(text)]), "smtlib")
        assert set(answers(said)) == {"unsat"}, name
        assert said.isascii()


def test_the_identities_for_lean_hold() -> None:
    """Lean itself may be missing where the tests run: the text is evaluated at many points."""
    text = exported(CERTIFICATE, "lean")
    rng = random.Random(4)
    identities = re.findall(r"have identity : (.*?) := by grind", text)
    leaves = sum(len(theorem(name).leaves) for name in genuine())
    assert len(identities) == text.count("\ntheorem ") - 1 == leaves
    steps = exported(document(list(by_rules().values())), "lean")
    assert len(re.findall(r"theorem claim\d+_step1 .* := by", steps, re.S)) == 1
    assert steps.count("_step1 ") == len(by_rules())
    for identity in identities:
        left, right = re.sub(r"\((-?\d+) : Int\)", r"(\1)", identity).split(" = ")
        for _ in range(20):
            point = {f"x{k}": rng.randint(-9, 9) for k in range(9)}
            assert eval(left, {}, point) == eval(right, {}, point), identity


def test_a_certificate_that_does_not_hold_is_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(CERTIFICATE))
    assert main(["export", str(file), "--to", "smtlib"]) == 0
    assert capsys.readouterr().out.count("(check-sat)") > 20
    assert main(["export", str(file), "--to", "lean"]) == 0
    assert "theorem claim1_leaf1" in capsys.readouterr().out
    forged: dict[str, Any] = genuine()["tidy"]
    forged["b"]["offset"] = []
    file.write_text(json.dumps(document([forged])))
    assert main(["export", str(file), "--to", "smtlib"]) == 1
    assert "Claim 1 is not shown" in capsys.readouterr().err
    with pytest.raises(checker.Refused):
        exported(document([forged]), "lean")


@pytest.mark.skipif(shutil.which("lean") is None, reason="Lean 4 is not installed")
def test_lean_accepts_every_theorem(tmp_path: Path) -> None:
    file = tmp_path / "Leaves.lean"
    file.write_text(exported(CERTIFICATE, "lean"))
    run = subprocess.run(["lean", str(file)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "")
