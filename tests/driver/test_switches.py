"""Optimisations can be switched off by name: the names are those that the passes go by."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from compiler.base.context import Options
from compiler.command_line.parser import parser
from compiler.driver import pipeline, switches
from compiler.driver.pipeline import Compilation
from compiler.driver.worker import answer
from compiler.explain.tiny_programs import BY_RULE
from compiler.ir.nodes import Prog
from compiler.runtime import runner
from testing.compiling import begun
from tests import switches as combined

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "app" / "examples").glob("*.fut"))
OWNERS = {rule.id.partition("/")[0] for p in pipeline.PASSES for rule in p.rules}
ID = re.compile(rf"({'|'.join(sorted(OWNERS))})/([a-z-]+)")


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    """All modules of the compiler."""
    paths = sorted((ROOT / "compiler").rglob("*.py"))
    return [(path, ast.parse(path.read_text("utf-8"))) for path in paths]


def literals(node: ast.AST) -> Iterator[str]:
    """The ids of rules that are written in a piece of code."""
    for part in ast.walk(node):
        value = part.value if isinstance(part, ast.Constant) else None
        if isinstance(value, str) and ID.fullmatch(value):
            yield value


def defined(tree: ast.Module) -> Iterator[str]:
    """The ids of the rules that a module defines."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id in ("Rule", "NodeRule"):
            yield from literals(node.args[0])


def test_every_rule_is_defined_once_and_belongs_to_a_pass() -> None:
    found = [rule for _, tree in trees() for rule in defined(tree)]
    assert len(found) == len(set(found))
    assert sorted(found) == sorted({*switches.RULES, *switches.NECESSARY})
    assert not switches.RULES.keys() & switches.NECESSARY.keys()


def test_nothing_goes_by_the_id_of_a_rule() -> None:
    """What has to do with a rule names its value: a wrong name is an error then.

    Tiny programs stand under the ids of their pages; `test_rulebook` finds a wrong one.
    """
    for path, tree in trees():
        if path.name == "tiny_programs.py":
            continue
        assert sorted(literals(tree)) == sorted(defined(tree)), path


def test_what_a_rule_would_do_is_not_done_when_it_is_refused() -> None:
    """`commit` answers whether to go on: a pass that does not look cannot be switched off."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
                continue
            call = node.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "commit":
                named = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}
                assert "Applied" not in named, f"{path}:{node.lineno}"


def applied(begun: Compilation, disabled: frozenset[str]) -> set[str]:
    """The rules that were applied to a program, up to merged blocks."""
    work = combined.without(begun, disabled)
    work.result("merged")
    return {remark.rule for remark in work.remarks() if remark.kind == "applied"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_switched_off_is_not_applied(path: Path) -> None:
    known = {p.id: {rule.id for rule in p.switches} for p in switches.PASSES}
    work = begun(path.read_text("utf-8"), Options(), "soa")
    used = applied(work, frozenset())
    assert used <= switches.RULES.keys() | switches.NECESSARY.keys()
    for name in sorted({rule.partition("/")[0] for rule in used} & known.keys()):
        assert not applied(work, frozenset((name,))) & known[name], name
    for rule in sorted(used & switches.RULES.keys()):
        assert rule not in applied(work, frozenset((rule,)))


def test_what_is_only_asked_for_is_offered_everywhere_and_off_unless_it_is() -> None:
    """It is declared once, beside the pass that does it."""
    listed = {one["id"]: one for p in switches.listing() for one in p["rules"]}
    for name, rule in switches.ASKED.items():
        assert listed[name]["asked"]
        for command in ("show", "run", "test", "bench"):
            known = parser().parse_args([command, "x.fut", rule.option])
            assert known.enable == [name]
            assert parser().parse_args([command, "x.fut"]).enable == []
        assert not Options(enabled=frozenset((name,))).is_off(rule)
        assert Options().is_off(rule)
        assert Options(enabled=frozenset((name,)), disabled=frozenset((name,))).is_off(rule)
        assert name in BY_RULE  # whose page is tested: it does something there
    assert "c/fast-functions" in switches.ASKED


def test_what_changes_results_has_an_option_against_it() -> None:
    for rule in switches.STOPPED:
        for command in ("check", "show", "run", "test", "bench"):
            assert parser().parse_args([command, "x.fut", rule.option]).disable == [rule.id]
            assert parser().parse_args([command, "x.fut"]).disable == []
        assert not Options().is_off(rule)
    assert [rule.option for rule in switches.STOPPED] == ["--no-fma"]


def test_a_usual_rule_may_be_asked_for() -> None:
    """As by a link that was made when it was opt-in."""
    for name in ("kernels/fma", "fuse/map-map"):
        told = answer({"op": "show", "source": "entry main = 1", "options": {"enable": [name]}})
        assert told["ok"]


def test_what_cannot_be_asked_for_is_refused() -> None:
    for name, says in {
        "kernels/fmad": "There is no opt-in rule `kernels/fmad`.",
        "fuse": "`fuse` is on by default.",
    }.items():
        told = answer({"op": "show", "source": "entry main = 1", "options": {"enable": [name]}})
        assert told["error"]["message"] == says
        assert "c/fast-functions" in told["error"]["hint"]


def test_all_at_once() -> None:
    everything = frozenset(switches.RULES)
    for path in EXAMPLES:
        work = begun(path.read_text("utf-8"), Options(), "soa")
        assert not applied(work, everything) & everything


def try_all(subject: combined.Subject) -> None:
    """All combinations on small inputs: in the heap with its race check, and on C."""
    tried = combined.Tried()
    made = combined.variants(subject, tried)
    combined.on_heap(subject, made, tried)
    if runner.compiler_available():
        combined.on_c(subject, made, subject.cases, tried, "-O0")
    assert tried.combinations == 2 ** (len(subject.passes) + len(combined.MEMORY) + 1)
    assert tried.heap_runs
    assert not tried.problems


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_all_combinations_agree_on_examples(path: Path) -> None:
    try_all(combined.example(path))


@pytest.mark.parametrize("name", combined.STORAGE)
def test_all_combinations_agree_on_programs_with_memory(name: str) -> None:
    try_all(combined.storage_program(name))


@pytest.mark.parametrize("name", ["concatenation", "nearest_neighbours", "mapscan", "lu_step"])
@pytest.mark.parametrize("front", [frozenset(), frozenset(("fuse",))], ids=["all", "without fuse"])
def test_combinations_that_are_left_out_give_nothing_new(name: str, front: frozenset[str]) -> None:
    path = ROOT / "app" / "examples" / f"{name}.fut"
    _same_variants(combined.example(path), front)


@pytest.mark.parametrize("name", combined.STORAGE)
def test_combinations_that_are_left_out_of_programs_with_memory(name: str) -> None:
    _same_variants(combined.storage_program(name), frozenset())


def _same_variants(subject: combined.Subject, front: frozenset[str]) -> None:
    funmem = subject.funmem(front)
    with combined.remembering():
        few = [combined.canonical(short) for _, short in combined.shortened(funmem, front)]
        each = [combined.canonical(short) for _, short in combined.shortened_each(funmem, front)]
    assert set(few) == set(each)
    assert len(each) == 2 ** len(combined.MEMORY)


@pytest.mark.parametrize("name", ["concatenation", "nearest_neighbours", "in_place_map"])
def test_the_switches_of_memory_make_a_difference(name: str) -> None:
    subject = combined.example(ROOT / "app" / "examples" / f"{name}.fut")
    assert len(combined.variants(subject, combined.Tried(), [frozenset()])) > 1


def test_a_wrong_variant_is_found() -> None:
    """A program that computes something else is told from what it should compute."""
    right = combined.example(ROOT / "app" / "examples" / "in_place_map.fut")
    wrong = "entry main [n] (xs: *[n]i32): *[n]i32 = map (+ 3) xs"

    def funmem(off: frozenset[str]) -> Prog:
        prog: Prog = Compilation(wrong, Options(disabled=off)).result("funmem").prog
        return prog

    subject, tried = replace(right, funmem=funmem), combined.Tried()
    made = combined.variants(subject, tried)
    combined.on_heap(subject, made, tried)
    assert any("should be" in problem for problem in tried.problems)
    if runner.compiler_available():
        tried = combined.Tried()
        combined.on_c(subject, made, subject.cases, tried, "-O0")
        assert any("C gives" in problem for problem in tried.problems)


def test_the_worker_lists_them() -> None:
    listed = answer({"op": "manifest"})["switches"]
    assert [p["id"] for p in listed] == [p.id for p in switches.PASSES]
    assert [r["id"] for p in listed for r in p["rules"]] == list(switches.RULES)
    assert all(entry["does"].endswith(".") for p in listed for entry in (p, *p["rules"]))
