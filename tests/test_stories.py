"""What the heads of the examples say of copies and memory, counted in the compiled programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from compiler.base.context import Options
from compiler.driver import api
from compiler.ir import nodes
from compiler.ir.nodes import Prog, SegOp, Stm
from compiler.ir.walk import all_stms
from compiler.protocol.programs import ShowRequest
from testing.compiling import compiled

EXAMPLES = {
    path.stem: path.read_text("utf-8")
    for path in sorted((Path(__file__).parent.parent / "app" / "examples").glob("*.fut"))
}


def stage(name: str, which: str) -> Prog:
    return compiled(EXAMPLES[name], Options()).result(which).prog


def stms(prog: Prog) -> list[Stm]:
    return [stm for fun in prog.funs for stm in all_stms(fun.body.stms)]


def count(prog: Prog, *kinds: type) -> int:
    return sum(isinstance(stm.exp, kinds) for stm in stms(prog))


def copies(name: str) -> int:
    """Those that are left: what is built in its place is copied onto itself, which is none."""
    shown = api.show(ShowRequest(EXAMPLES[name], stages=["merged"]))["stages"]["merged"]
    return int(shown["counts"].get("copy", 0))


def blocks(name: str, which: str = "merged") -> int:
    return count(stage(name, which), nodes.Alloc)


def within(name: str, which: str, outer: type | tuple[type, ...]) -> int:
    """Allocations of blocks inside of loops, or inside of kernels; not of a thread's own values."""
    bodies = [stm.exp.body for stm in stms(stage(name, which)) if isinstance(stm.exp, outer)]
    made = [s.exp for body in bodies for s in all_stms(body.stms) if isinstance(s.exp, nodes.Alloc)]
    return sum(one.space != "private" for one in made)


STORIES: dict[tuple[str, str], Callable[[], bool]] = {
    ("blocked_lu", "four updates without a copy"): lambda: copies("blocked_lu") == 0,
    ("blocked_rows", "one allocation for the temporaries of all rows"): lambda: (
        within("blocked_rows", "funmem", SegOp) > 0 == within("blocked_rows", "expanded", SegOp)
    ),
    ("blocked_wavefront", "nothing is copied"): lambda: copies("blocked_wavefront") == 0,
    ("concatenation", "nothing is copied"): lambda: copies("concatenation") == 0,
    ("concatenation", "every part has a block of its own"): lambda: (
        blocks("concatenation", "funmem") == 4
    ),
    ("concatenation", "one block is left"): lambda: blocks("concatenation", "shortcircuit") == 1,
    ("dot_product", "no memory is allocated for the products"): lambda: (
        blocks("dot_product", "funmem") == 0
    ),
    ("dot_product", "the products are never in memory"): lambda: blocks("dot_product") == 0,
    ("heat_by_parts", "one block, in which every part is where it belongs"): lambda: (
        blocks("heat_by_parts", "shortcircuit") == 1 and copies("heat_by_parts") == 0
    ),
    ("implicit_steps", "two blocks take turns, no step allocates"): lambda: (
        within("implicit_steps", "merged", nodes.Loop) == 0
    ),
    ("lattice_boltzmann", "two blocks take turns, no step allocates"): lambda: (
        within("lattice_boltzmann", "merged", nodes.Loop) == 0
    ),
    ("in_place_map", "nothing is allocated"): lambda: blocks("in_place_map", "shortcircuit") == 0,
    ("in_place_map", "the result gets a block of its own"): lambda: (
        blocks("in_place_map", "funmem") == 1
    ),
    ("mandelbrot", "no array but the result"): lambda: blocks("mandelbrot") == 1,
    ("matrix_multiplication", "whose operands are never in memory"): lambda: (
        count(stage("matrix_multiplication", "fused"), nodes.Map) == 2
    ),
    ("wavefront", "three reads and a write to one block"): lambda: blocks("wavefront") == 1,
    ("wavefront", "The whole table stays in one block"): lambda: (
        blocks("wavefront") == 1 and copies("wavefront") == 0
    ),
    ("maybe_transposed", "not a copy"): lambda: copies("maybe_transposed") == 0,
    ("strided_update", "without a copy of the array"): lambda: copies("strided_update") == 0,
    ("strided_update", "no allocation inside of it"): lambda: (
        within("strided_update", "merged", nodes.Loop) == 0
    ),
}
SWEEPING = re.compile(
    r"nothing is|never|\bno (?!second)|without a copy|not a copy|one block|one alloc"
)


def head(source: str) -> str:
    return source.partition("-- ==")[0]


@pytest.mark.parametrize(("name", "words"), STORIES)
def test_what_a_story_says_is_so(name: str, words: str) -> None:
    assert words in " ".join(head(EXAMPLES[name]).replace("\n--", " ").split())
    assert STORIES[name, words]()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_sweeping_sentence_of_a_story_is_tried(name: str) -> None:
    tried = [words for example, words in STORIES if example == name]
    for line in head(EXAMPLES[name]).splitlines():
        said = line.rpartition("}: ")[2]
        if SWEEPING.search(said):
            assert any(words in said for words in tried), said
