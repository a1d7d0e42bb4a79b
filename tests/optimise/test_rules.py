"""Every rule of simplification is a value: what it does, its equation, and a case of its own."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from compiler.base.rules import NodeRule, Rule
from compiler.driver import switches
from compiler.driver.pipeline import Compilation
from compiler.driver.worker import answer
from compiler.ir.nodes import Function
from compiler.optimise import simplify
from compiler.optimise.simplify import SIMPLIFY, branch, engine, hoist, index, loop, parallel, soac
from compiler.optimise.simplify.state import State

CASES = Path(__file__).with_name("simplify.cases").read_text("utf-8")
SHARING = ("simplify/cse", "simplify/hoist", "simplify/out-of-branch")
FILES = [branch, engine, hoist, index, loop, parallel, soac, simplify]


@pytest.mark.parametrize("rule", SIMPLIFY.rules, ids=lambda rule: rule.id)
def test_a_rule_has_an_equation_and_a_case(rule: Rule) -> None:
    assert "==>" in rule.equation
    assert rule.equation.count("`") % 2 == 0
    assert f"-- applied {rule.id}: " in CASES


@pytest.mark.parametrize("module", FILES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_what_a_rule_says_is_said_by_its_own_function(module: ModuleType) -> None:
    """Only what shares and hoists has no function: it is asked about every statement."""
    said = {
        node.args[0].id
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "commit"
        and isinstance(node.args[0], ast.Name)
    }
    assert said <= {"CSE", "HOIST", "OUT_OF_BRANCH"}


def test_only_sharing_hoisting_and_elements_are_no_functions_of_an_expression() -> None:
    plain = {rule.id for rule in SIMPLIFY.rules if not isinstance(rule, NodeRule)}
    assert plain == {*SHARING, "simplify/elements"}


def test_who_lists_rules_tells_their_equations() -> None:
    listed = answer({"op": "manifest"})["switches"]
    told = {rule["id"]: rule["equation"] for one in listed for rule in one["rules"]}
    assert told == {id_: switches.EQUATIONS[id_] for id_ in switches.RULES}
    source = "entry main (xs: [5]i32) = map (+ 1) (replicate 5 2i32)"
    used = {rule["id"]: rule for rule in answer({"op": "rules", "source": source})["rules"]}
    assert "replicate n x" in used["simplify/soac-input"]["equation"]


def test_what_fusion_leaves_is_not_tidied_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function is simplified again where it is fused itself, not where another one is."""
    tidied: set[str] = set()

    def noted(state: State, fun: Function) -> Function:
        tidied.add(fun.name)
        return engine.simplify_function(state, fun)

    alone = "entry apart [n] (xs: [n]i32): [n]i32 = map (+ 1) xs\n"
    other = "entry joined [n] (xs: [n]i32): i32 = reduce (+) 0 (map (* 2) xs)\n"
    work = Compilation(alone + other)
    work.result("simplified")
    monkeypatch.setattr(simplify, "simplify_function", noted)
    work.result("fused")
    assert tidied == {"joined"}
