"""Attempts to build in place are kept from the one run of the pass, and remarks name theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.driver import api, explanations
from compiler.protocol.programs import ShowRequest
from compiler.protocol.proofs import AttemptsRequest, CertificateRequest
from compiler.storage.short_circuit.points import Shortcut

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_remark_of_the_stage_names_an_attempt_at_its_place(path: Path) -> None:
    source = path.read_text("utf-8")
    found = explanations.attempts(AttemptsRequest(source))["attempts"]
    known = {one["number"]: one for one in found}
    assert len(known) == len(found)
    remarks = api.show(ShowRequest(source, stages=["merged"]))["remarks"]
    for remark in remarks:
        if remark["stage"] != "shortcircuit":
            assert remark["attempt"] is None
            continue
        assert remark["attempt"] is not None
        attempt = known[remark["attempt"]]
        assert (attempt["rule"], attempt["src"]) == (remark["rule"], remark["src"])
        assert attempt["done"] == (remark["kind"] == "applied")


def test_what_is_shown_of_a_program_takes_one_run_of_the_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    before = Shortcut.run

    def counted(self: Shortcut) -> object:
        made.append(self.state.now.tree.fun.name)
        return before(self)

    source = "entry main [n] (xs: [n]i32) = map (+ 1) xs ++ map (* 2) xs -- only here"
    monkeypatch.setattr(Shortcut, "run", counted)
    api.show(ShowRequest(source))
    stages = len(made)
    first = explanations.attempts(AttemptsRequest(source))
    assert explanations.attempts(AttemptsRequest(source)) == first
    explanations.certificate(CertificateRequest(source))
    assert len(made) == stages == 1


def test_the_pane_tells_of_the_program_that_is_shown() -> None:
    """Where fuel has run out an attempt is not made, and the pane does not say that it is."""
    source = "entry main [n] (xs: [n]i32) = map (+ 1) xs ++ map (* 2) xs -- without fuel"
    assert any(one["done"] for one in explanations.attempts(AttemptsRequest(source))["attempts"])
    found = explanations.attempts(AttemptsRequest(source, {"fuel": 0}))["attempts"]
    assert found
    assert not any(one["done"] for one in found)
