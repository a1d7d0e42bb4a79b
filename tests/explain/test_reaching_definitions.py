"""Who has written last what is read: what runs have seen is among the edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from app.gallery import Example, load
from app.paths import EXAMPLES
from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parser import parse
from compiler.driver.pipeline import Compilation
from compiler.explain.reaching_definitions import RESULTS, Reaching, Source
from compiler.ir import values
from compiler.ir.values import Value
from testing import blocks, last_writing_threads
from testing.compiling import compiled
from testing.generators import nests, programs, storage
from testing.last_writers import Flow, Run, Step, recorded
from testing.last_writing_threads import Place, Places


def small(example: Example) -> str:
    """The input whose output is written out, which is small, or the only one."""
    path = EXAMPLES / f"{example.name}.fut"
    cases = blocks.read(path) if path.exists() else []
    known = [case.input.text for case in cases if case.output and case.input]
    return known[0] if known else example.input


GALLERY = [replace(one, input=small(one)) for one in load(EXAMPLES) if one.input]
SEEDS = 8
Made = tuple[str, list[list[Value]]]


def stored(seed: int) -> Made:
    made = storage.program(seed)
    return made.source, made.inputs


MADE: dict[str, Callable[[int], Made]] = {
    "programs": lambda seed: _one(programs.program(seed, 8)),
    "empty": lambda seed: _one(programs.program(seed, 8, smallest=0)),
    "nests": lambda seed: _one(nests.program(seed)),
    "storage": stored,
}


def _one(made: programs.Generated) -> Made:
    return made.source, [made.inputs]


def missing(flow: Flow, name: str = "", direct: bool = False) -> str:
    """What of a flow is not among the edges; `direct`: it has to be one edge, else a path."""
    writer, reader = flow
    shared = min(len(writer), len(reader))
    depth = next((n for n in range(shared) if writer[n] != reader[n]), shared)
    if depth == shared:
        return ""  # within one statement
    a, b = writer[depth], reader[depth]
    if not leads(a, b.vertex, carried=a.run != b.run, direct=direct, name=name):
        return f"{'carried ' * (a.run != b.run)}{stm(a)} -> {stm(b)}"
    if direct:
        return ""
    return between(writer[depth + 1 :], reader[depth + 1 :])


def between(writer: Sequence[Step | Place], reader: Sequence[Step | Place]) -> str:
    """What is not among the edges on the way out of bodies, and into others."""
    for step in writer:
        if not leads(step, RESULTS):
            return f"{stm(step)} -> results"
    for step in reader:
        names = {e.source for e in step.graph.edges if isinstance(e.source, str)}
        if not any(leads(step, step.vertex, start=name) for name in names):
            return f"given -> {stm(step)}"
    return ""


def missing_of_threads(writer: Places, reader: Places) -> str:
    """The same where nobody knows whether it was the same thread, and the same round."""
    said = ""
    for depth, (a, b) in enumerate(zip(writer, reader, strict=False)):
        if any(leads(a, b.vertex, carried=carried) for carried in (False, True)):
            said = between(writer[depth + 1 :], reader[depth + 1 :])
            if not said:
                return ""
        else:
            said = f"{stm(a)} -> {stm(b)}"
        if a != b:
            break
    return said


def stm(step: Step | Place) -> object:
    return step.graph.stms[step.vertex]


def leads(
    step: Step | Place,
    target: int,
    start: Source | None = None,
    carried: bool = False,
    direct: bool = False,
    name: str = "",
) -> bool:
    """Whether there is a path of edges from a vertex, or from what is given, to another one."""
    graph = step.graph
    first = step.vertex if start is None else start
    seen = {(first, False)}
    todo = [*seen]
    while todo:
        at, around = todo.pop()
        for edge in graph.edges:
            source, back = edge.source, False
            if isinstance(source, int) and source < 0:
                source, back = ~source, True
            if source != at or (edge.name != name if name else edge.name not in graph.blocks):
                continue
            here = edge.target, around or back
            if here == (target, carried):
                return True
            if here not in seen and not direct:
                seen.add(here)
                todo.append(here)
    return False


def check(work: Compilation, args: Sequence[Value]) -> Run:
    """Run a program's IMP; all that it saw is among the edges."""
    prog = work.result("imp").prog
    names = [fun.name for fun in prog.funs]
    _, run = recorded(prog, "main" if "main" in names else names[0], args)
    for flow in run.cells:
        assert not missing(flow)
    for flow in run.blocks:
        assert not missing(flow, direct=True)
    for name, flow in run.scalars:
        assert not missing(flow, name, direct=True)
    return run


@pytest.mark.parametrize("example", GALLERY, ids=lambda one: one.name)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_what_examples_read_comes_from_its_last_writers(example: Example, target: str) -> None:
    work = compiled(example.source, Options(target=target, main=example.main))
    run = check(work, values.parse(example.input))
    assert run.cells or run.scalars


CHOICES = imp.If | imp.For | imp.While


def has_choices(graph: Reaching) -> bool:
    """Whether what a kernel does is up to a condition or a number, such as that of a bin."""
    inside = (body for bodies in graph.inside.values() for body in bodies)
    choices = CHOICES | imp.Histogram
    return any(isinstance(one, choices) for one in graph.stms) or any(map(has_choices, inside))


def test_no_more_is_told_than_is_seen_where_there_is_one_way() -> None:
    """Of entry points without branches and loops of the host, by kernels that have none either."""
    compared = 0
    made = [(one.source, [values.parse(one.input)]) for one in GALLERY if not one.main]
    made += [MADE["programs"](seed) for seed in range(40)]
    for source, inputs in made:
        prog = compiled(source).result("imp").prog
        if "main" not in {fun.name for fun in prog.funs}:
            continue
        graph, run = recorded(prog, "main", inputs[0])
        if any(isinstance(one, CHOICES) for one in graph.stms):
            continue
        chooses = {n for n, inside in graph.inside.items() if any(map(has_choices, inside))}
        seen = {(a[0].vertex, b[0].vertex) for a, b in run.blocks if a[0] != b[0]}
        told = {
            (e.source, e.target)
            for e in graph.edges
            if isinstance(e.source, int) and e.how == "read" and e.name in graph.blocks
            if e.target != RESULTS
        }
        assert seen <= told
        assert {pair for pair in told - seen if pair[1] not in chooses} == set(), source
        compared += len(told)
    assert compared >= 6


ALIASES = """entry main (n_1: i64, xs_mem_2: mem(i32)) -> (s_9: i32, t_10: i32) {
  sizes n_1
  takes xs_3: *[n_1]i32 in xs_mem_2
  gives s_9: i32
  gives t_10: i32
  var a_4: mem(i32) = xs_mem_2
  if n_1 > 3i64 {
    let b_5: mem(i32) = alloc(n_1)
    a_4 <- b_5
  }
  xs_mem_2[0] <- 6i32
  a_4[0] <- 7i32
  let x_6: i32 = xs_mem_2[0]
  var c_7: mem(i32) = a_4
  c_7[1] <- 8i32
  let y_8: i32 = a_4[0]
  if n_1 > 3i64 {
    a_4[0] <- 9i32
  }
  let z_11: i32 = c_7[0]
  return (x_6, y_8 + z_11)
}
"""


@pytest.mark.parametrize("size", [2, 5])
def test_what_is_written_under_one_name_is_read_under_another(size: int) -> None:
    graph, run = recorded(parse(ALIASES), "main", values.parse(str([1] * size)))
    assert run.blocks
    for flow in run.blocks:
        assert not missing(flow, direct=True)
    stores = [n for n, one in enumerate(graph.stms) if isinstance(one, imp.Store)]
    x, y, z = (n for n, one in enumerate(graph.stms) if isinstance(one, imp.Load))
    branches = [n for n, one in enumerate(graph.stms) if isinstance(one, imp.If)]
    read = {(e.source, e.target) for e in graph.edges if e.how == "read" and e.name != "n_1"}
    assert {end for end in read if end[1] == x} == {(stores[0], x), (stores[1], x)}
    assert {end for end in read if end[1] == y} == {(stores[2], y)}
    assert {end for end in read if end[1] == z} == {(stores[2], z), (branches[1], z)}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_what_generated_programs_read_comes_from_its_last_writers(kind: str, target: str) -> None:
    seen = 0
    for seed in range(SEEDS):
        source, inputs = MADE[kind](seed)
        work = compiled(source, Options(target=target))
        work.result("imp")
        for args in inputs:
            try:
                run = check(work, args)
            except RuntimeError_:
                continue  # a check of the program fails
            seen += len(run.cells) + len(run.scalars)
    assert seen


def check_threads(work: Compilation, args: Sequence[Value]) -> int:
    """Run a program's kernels; how much of what threads saw is among the edges: all."""
    prog = work.result("kernels").prog
    names = [fun.name for fun in prog.funs]
    entry = "main" if "main" in names else names[0]
    flows = last_writing_threads.recorded(prog, entry, args, 32)
    for writer, reader in flows:
        assert not missing_of_threads(writer, reader)
    return len(flows)


@pytest.mark.parametrize("example", GALLERY, ids=lambda one: one.name)
def test_what_threads_of_examples_read_comes_from_its_last_writers(example: Example) -> None:
    work = compiled(example.source, Options(target="cuda", main=example.main))
    check_threads(work, values.parse(example.input))


@pytest.mark.parametrize("kind", MADE)
def test_what_threads_of_generated_programs_read_comes_from_its_last_writers(kind: str) -> None:
    seen = 0
    for seed in range(SEEDS):
        source, inputs = MADE[kind](seed)
        work = compiled(source, Options(target="cuda"))
        try:
            seen += check_threads(work, inputs[0])
        except RuntimeError_:
            continue  # a check of the program fails
    assert seen
