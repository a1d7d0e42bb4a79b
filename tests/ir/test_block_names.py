"""Which blocks a name may mean, for the check of memory: compared with going all ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compiler.base.names import Name
from compiler.ir.memory.blocks import BlockNames
from compiler.ir.nodes import Function, Mem
from compiler.ir.walk import all_stms
from testing.compiling import compiled

SOURCES = {
    "exchanged": "loop (a: [n]i64, b: [n]i64) = (copy xs, map (+ 1) xs) for i < k do"
    " (b, map (+ i) a)",
    "branches": "loop (a: [n]i64, b: [n]i64) = (copy xs, copy xs) for i < k do"
    " if i % 2 == 0 then (b, map (+ i) a) else (scan (+) 0 b, b)",
    "loops in loops": "loop (a: [n]i64, b: [n]i64) = (copy xs, copy xs) for i < k do"
    " let c = loop c: [n]i64 = a for j < i do scan (+) j c"
    " in loop (a: [n]i64, c: [n]i64) = (c, b) for j < i do (c, map (+ j) a)",
}


def function(body: str) -> Function:
    """An entry point in memory form."""
    source = f"entry main [n] (xs: [n]i64) (k: i64): ([n]i64, [n]i64) = {body}"
    return compiled(source).result("funmem").prog.funs[0]


def every_way(names: BlockNames, block: Name) -> Iterator[Name]:
    """What a name may mean: from source to source, with the loops whose rounds were passed."""
    start: tuple[Name, frozenset[int]] = (block, frozenset())
    seen, todo = {start}, [start]
    while todo:
        name, rounds = todo.pop()
        sources = names._sources.get(name)
        if sources is None:
            passed = not rounds.isdisjoint(names._made_in.get(name, ()))
            yield f"{name}'" if passed else name
        for source, loop in sources or ():
            step = (source, rounds | {loop} if loop else rounds)
            if step not in seen:
                seen.add(step)
                todo.append(step)


def blocks(fun: Function) -> list[Name]:
    """All names of blocks that statements bind."""
    return [p.name for stm in all_stms(fun.body.stms) for p in stm.pat if isinstance(p.type, Mem)]


@pytest.mark.parametrize("name", SOURCES)
def test_a_name_means_what_one_comes_to_on_all_ways(name: str) -> None:
    fun = function(SOURCES[name])
    names, some = BlockNames(fun), blocks(fun)
    assert any(block in names._sources for block in some)
    for block in some:
        assert names.meant(block) == set(every_way(names, block))


def test_loops_behind_each_other_are_not_gone_through_in_all_sets() -> None:
    """Of 60 loops, each behind a condition, there are 2**60 sets whose rounds may be passed."""
    lines = (
        f"let x = if k > {i} then loop x: [n]i64 = x for j < k do scan (+) j x else x"
        for i in range(60)
    )
    fun = function(f"let x = copy xs {' '.join(lines)} in (x, x)")
    names = BlockNames(fun)
    assert max(len(names.meant(block)) for block in blocks(fun)) >= 60
