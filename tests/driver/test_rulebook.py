"""The page of each rule: a program at which it does something, and which gives the same without."""

from __future__ import annotations

import pytest

from compiler.base.rules import Pass
from compiler.driver import api, pipeline, rulebook, switches
from compiler.driver.pipeline import Compilation
from compiler.driver.worker import answer
from compiler.explain.tiny_programs import BY_PASS, BY_RULE
from compiler.protocol.kinds import OfProgram
from compiler.protocol.programs import RuleRequest, Shown
from compiler.semantics import interp
from compiler.testing.compare import same
from testing import kernel_interp

RULES = {rule.id: rule for step in pipeline.PASSES for rule in step.rules}


def shown(name: str) -> Shown:
    return rulebook.rule(RuleRequest(name))["shown"]


def test_every_rule_has_a_program_and_so_has_every_pass_without_rules() -> None:
    assert BY_RULE.keys() == RULES.keys()
    assert BY_PASS.keys() == {step.id for step in pipeline.PASSES if not step.rules}


@pytest.mark.parametrize("name", BY_RULE)
def test_a_rule_does_something_that_changes_no_result(name: str) -> None:
    found = shown(name)
    before, after = found["before"], found["after"]
    assert {remark["rule"] for remark in found["remarks"]} == {name}
    limits = BY_RULE[name].limits
    assert (before["stage"] == after["stage"]) is (RULES[name].optional or bool(limits))
    assert [one["here"] for one in found["limits"]] == [number for _, number in limits]
    assert before["changed"] or after["changed"]
    if name.startswith(("kernels/", "cuda/")):
        assert after["output"] == ""
        gives_the_same_on_threads(name)
    elif name.startswith("c/"):
        assert after["output"] == ""  # `tests/codegen/test_numbers.py` has what becomes of results
    else:
        assert before["output"] == (after["output"] if before["stage"] else "")
        assert after["output"] != ""


def gives_the_same_on_threads(name: str) -> None:
    """The reference interpreters do not run what threads run."""
    tiny = BY_RULE[name]
    given = api.inputs(OfProgram(tiny.source), "main", tiny.given)
    for off in (frozenset[str](), frozenset((name,))):
        work = Compilation(tiny.source, pipeline.Options(target=tiny.target, disabled=off))
        expected = interp.run(work.result("soa").prog, "main", given)
        assert same(kernel_interp.run(work.result("kernels").prog, "main", given), expected)


@pytest.mark.parametrize("step", [p for p in pipeline.PASSES if not p.rules], ids=lambda p: p.id)
def test_a_pass_without_rules_is_shown_by_the_stages_around_it(step: Pass) -> None:
    before, after = shown(step.id)["before"], shown(step.id)["after"]
    assert before["stage"] != after["stage"]
    assert after["changed"]
    assert before["output"] in ("", after["output"]) or not after["output"]


def test_what_is_marked_is_what_the_other_text_has_not() -> None:
    found = shown("fuse/map-reduce")
    lines = found["before"]["text"].split("\n")
    marked = [lines[k - 1].strip() for k in found["before"]["changed"]]
    assert any(line.startswith("let (ys_") for line in marked)
    assert not any(line.startswith("entry") for line in marked)


def test_a_pass_lists_its_rules_and_all_are_listed() -> None:
    every = rulebook.rule(RuleRequest())["passes"]
    listed = [name for p in every for name in (p["id"], *(r["id"] for r in p["rules"]))]
    assert tuple(listed) == switches.IDS
    (fuse,) = rulebook.rule(RuleRequest("fuse"))["passes"]
    assert fuse["optional"]
    assert "fuse/map-map" in [rule["id"] for rule in fuse["rules"]]
    told = answer({"op": "rule", "rule": "fuse/mapmap"})
    assert "There is no pass or rule `fuse/mapmap`." in told["error"]["message"]
    assert "fuse/map-map" in told["error"]["hint"]


def test_limits_are_known_and_go_down_alone() -> None:
    for name, wrong in {
        "shortcircuit/budget/step": (1, "There is no limit `shortcircuit/budget/step`."),
        "shortcircuit/budget/steps": (100_001, "may be 0 to 100000."),
        "simplify/keep-function/least": (-1, "may be 0 to 24."),
    }.items():
        told = answer(
            {"op": "show", "source": "entry main = 1", "options": {"limits": {name: wrong[0]}}}
        )
        assert wrong[1] in told["error"]["message"]


def test_with_the_usual_limits_a_tiny_program_shows_nothing() -> None:
    for name, tiny in BY_RULE.items():
        if tiny.limits:
            work = api.compilation(OfProgram(tiny.source, {"target": tiny.target}))
            work.result(tiny.target)
            assert name not in {remark.rule for remark in work.remarks()}
