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

from compiler import explanations
from compiler.__main__ import main
from compiler.algebra import checker
from compiler.algebra.checker import Theorem
from compiler.algebra.encode import document
from compiler.algebra.export import exported, smtlib
from compiler.protocol.proofs import CertificateRequest
from tests.algebra.claims import by_rules, genuine

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
CERTIFICATE = document(list(genuine().values()))


def answers(text: str) -> Iterator[str]:
    """What Z3 says to each question of a script."""
    for question in text.split("(push 1)")[1:]:
        solver = z3.SimpleSolver()  # it tries no strategies first: a twelfth of the time
        solver.set("timeout", 20_000)
        solver.from_string(question.split("(check-sat)")[0])
        yield str(solver.check())


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


def test_the_names_of_a_program_are_quoted() -> None:
    data = genuine()["flip"]
    awkward = ["(n//b)", "a|b", "x\\y", "größe", "let", "; (check-sat)"]
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
