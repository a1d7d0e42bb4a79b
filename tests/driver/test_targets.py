"""Targets are values: passes ask what they can do, and one list says which there are."""

import ast
from pathlib import Path

import pytest

from compiler.base.context import Options
from compiler.base.errors import UsageError
from compiler.base.target import AskedTarget, Target
from compiler.base.text import plain
from compiler.driver import api, targets
from compiler.driver.pipeline import CHOSEN, STAGES, Compilation
from compiler.optimise import shared_functions

COMPILER = Path(__file__).parents[2] / "compiler"
IDS = [one.target.id for one in targets.BACK_ENDS]


def test_every_target_is_a_stage_a_choice_and_a_back_end() -> None:
    texts = [stage for stage in STAGES if stage.kind == "text"]
    assert [stage.id for stage in texts] == IDS == list(api.TARGETS)
    assert [stage.machine for stage in texts] == [one.target.machine for one in targets.BACK_ENDS]
    assert all(stage.machine for stage in texts)
    assert [*IDS, "ref"] == list(api.RUNNERS)


def asks(node: ast.AST) -> bool:
    """Whether something is compared with a target's id."""
    sides: list[ast.AST] = []
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
    elif isinstance(node, ast.MatchValue):
        sides = [node.value]
    return any(isinstance(side, ast.Constant) and side.value in IDS for side in sides)


def test_no_target_is_asked_for_by_its_name() -> None:
    assert asks(ast.parse('target == "cuda"', mode="eval").body)
    found = [
        f"{path.relative_to(COMPILER)}:{node.lineno}"
        for path in COMPILER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if asks(node) and isinstance(node, ast.expr | ast.pattern)
    ]
    assert found == []


def test_the_machine_before_all_choices_is_that_of_the_first_target() -> None:
    """Passes that a test calls with a plain context do what they do for the default."""
    first, plain = targets.target_named(IDS[0]), Target()
    for trait in set(Target.__slots__) - {"id", "title", "explain", "machine"}:
        assert getattr(first, trait) == getattr(plain, trait), trait


def test_an_unknown_target_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        api.options_from({"target": "abacus"})
    assert "abacus" in caught.value.message
    assert ", ".join(IDS) in caught.value.hint


@pytest.mark.parametrize("name", IDS)
def test_the_text_of_a_target_is_made_for_it(name: str) -> None:
    """Rows of a matrix have a version for blocks of threads where there are such."""
    source = "entry f (xss: [][]f32) = map (\\xs -> scan (+) 0 xs |> reduce f32.max 0) xss"
    other = IDS[1 - IDS.index(name)]
    shown_for_other = Compilation(source, api.options_from({"target": other}))
    shown_for_it = Compilation(source, api.options_from({"target": name}))
    assert shown_for_other.result(name).text == shown_for_it.result(name).text
    blocks = "intra" in "\n".join(line.text for line in shown_for_it.result("flat").text)
    assert blocks == targets.target_named(name).has_blocks


def test_what_a_target_is_asked_is_noted_with_its_answer() -> None:
    asked = AskedTarget(Target(warp=32, most_threads=8))
    assert asked.in_step
    assert asked.saturation == Target().saturation
    assert asked.answers == {"in_step": True, "saturation": Target().saturation}
    assert Target(warp=16).answers_alike(asked.answers)
    assert not Target().answers_alike(asked.answers)


ROWS = "map (\\xs -> scan (+) 0 xs |> reduce f32.max 0)"
"""Threads in step or not, there are thresholds: the chains part at once."""
OWN = (
    "map (\\x -> let a = loop a = replicate n x for i < n - 1 do a with [i] = x * a[i + 1] in a[0])"
)
"""Each thread has an array, which lies elsewhere for threads in step: the chains part late."""


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize(
    ("source", "common"),
    [
        ("entry f (xs: []f32) = reduce (+) 0 (map (* 2) xs)", 6),
        (f"entry f (n: i64) (xs: []f32) = {OWN} xs", 3),
        (f"entry f (xss: [][]f32) = {ROWS} xss", 0),
    ],
)
def test_a_chain_is_shared_as_far_as_it_is_the_same(name: str, source: str, common: int) -> None:
    """And nothing tells that it was: names, texts and fuel are those of a chain made alone."""
    options = api.options_from({"target": IDS[1 - IDS.index(name)], "fuel": 500})
    chosen = [stage.id for stage in STAGES if stage.target == CHOSEN and not stage.blocks]
    both, alone = Compilation(source, options), Compilation(source, options)
    for stage in (*chosen, options.target):
        both.result(stage)
    assert both.result(name).text == alone.result(name).text
    same = [both.result(stage) is both.result(stage, name) for stage in chosen]
    assert same == [k < common for k in range(len(chosen))]
    for stage in chosen:
        one, other = both.result(stage, name), alone.result(stage, name)
        assert (one.text, one.names, one.spent) == (other.text, other.names, other.spent)


CALLED = """
def f [n] (xss: [n][2]i32): *[n][2]i32 = map (\\i -> [xss[i, 1], xss[n - 1 - i, 0]]) (iota n)
entry main [n] (xss: [n][2]i32): *[n][2]i32 = f (f (f xss))
"""


def test_a_chain_that_comes_to_the_same_program_is_shared_whatever_it_has_asked() -> None:
    """So are functions that stay functions, and names go on from there."""
    limits = {limit.id: 0 for limit in shared_functions.SHARED.limits}
    work = Compilation(CALLED, Options(limits=limits, verify=True))
    asked = work.result("expanded").answers
    assert not targets.target_named("cuda").answers_alike(asked)
    for stage in ("expanded", "merged", "imp"):
        shown = work.result(stage)
        assert work.result(stage, "cuda") is shown, stage
    assert [fun.entry for fun in work.result("kernels").prog.funs] == [False, True]
    alone = Compilation(CALLED, Options(target="cuda", limits=limits, verify=True))
    for stage in ("imp", "kernels", "cuda"):
        assert plain(work.result(stage, "cuda").text) == plain(alone.result(stage).text), stage
