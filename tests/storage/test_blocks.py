"""Which blocks a name may mean: compared with the blocks that it means in runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Alloc, Function, Loop, Mem, Stm
from compiler.ir.parser import parse
from compiler.ir.walk import all_stms, children, stms_of
from compiler.semantics import heap
from compiler.semantics.limits import USUAL_BYTES
from compiler.semantics.machine import Block, Cells, Machine
from compiler.storage.blocks import Meanings, classes
from tests.storage.helpers import ALL, arguments, with_memory

FLAT = {name: with_memory(text).funs[0] for name, text in ALL.items()}
SOURCES = {
    "swapped": """
entry main [n] (xs: *[n]i32) (ys: *[n]i32) (k: i64): ([n]i32, [n]i32) =
  loop (a: [n]i32, b: [n]i32) = (xs, ys) for i < k do
    if i % 3 == 0 then (b, scan (+) 0 a) else if i % 3 == 1 then (b, a) else (a, b)
""",
    "while": """
entry main [n] (xs: *[n]i32) (k: i64): ([n]i32, i64) =
  loop (a, i) = (xs, k) while i > 0 do
    let b = loop b = a for j < i do scan (+) 0 b
    in (if i % 2 == 0 then b else replicate n 3, i - 2)
""",
    "exchanged": """
entry main [n] (xs: *[n]i32) (ys: *[n]i32) (k: i64): ([n]i32, [n]i32, [n]i32) =
  loop (a: *[n]i32, b: *[n]i32, c: *[n]i32) = (xs, ys, replicate n 0) for i < k do
    let (b, c) = loop (b: *[n]i32, c: *[n]i32) = (b, c) for j < i % 3 do
      let z = map (\\p -> b[n - 1 - p] + a[p]) (iota n)
      in (c with [0:n] = z, b)
    let z = map2 (+) b c
    in (b, c, a with [0:n] = z)
""",
    "one at first": """
entry main [n] (xs: [n]i32) (ys: [n]i32) (k: i64): ([n]i32, [n]i32) =
  loop (a: [n]i32, b: [n]i32) = (xs, xs) for i < k do
    if i % 2 == 0 then (ys, a) else (b, map (+ 1) b)
""",
    "one later": """
entry main [n] (xs: [n]i32) (ys: [n]i32) (k: i64): ([n]i32, [n]i32, [n]i32) =
  loop (a: [n]i32, b: [n]i32, c: [n]i32) = (xs, ys, xs) for i < k do (b, c, a)
""",
}
APART = {"swapped", "exchanged"}
"""Where names are said never to mean one block, though each may mean the same ones."""


class Watch(Machine):
    """A run that compares what every name of a block means with what it may mean."""

    def __init__(self, fun: Function) -> None:
        super().__init__({fun.name: fun}, {}, heap.STEPS, USUAL_BYTES)
        self.meanings, self.classes = Meanings(fun.body.stms), classes(fun.body.stms)
        given = (p.name for p in fun.params if isinstance(p.type, Mem))
        self.bound = dict(bound(fun.body.stms, frozenset(given)))
        self.apart = 0
        """How often two names were compared that may mean the same blocks, and are never one."""
        self.others = 0
        """How often a name meant a block of another name."""

    def block(self, name: str, cells: Cells) -> Block:
        """A block that knows how it was called first."""
        return Block(name, cells)

    def stms(self, code: Sequence[Stm]) -> None:
        """Run statements one by one, and look at all names behind each."""
        for stm in code:
            super().stms((stm,))
            for name, block in self.env.items():
                if isinstance(block, Block):
                    may = {one.removesuffix("'") for one in self.meanings.of(name)}
                    assert block.label in may, name
                    assert self.classes.find(name) == self.classes.find(block.label)
                    self.others += name != block.label
            self.keep_apart(self.bound[id(stm)])

    def keep_apart(self, names: frozenset[str]) -> None:
        """No two names that are bound mean one block if they never do."""
        for one, other in combinations(sorted(names), 2):
            if not self.meanings.may_be_one(one, other):
                alike = not self.meanings.of(one).isdisjoint(self.meanings.of(other))
                self.apart += alike
                assert self.env[one] is not self.env[other], (one, other)


def bound(stms: Sequence[Stm], around: frozenset[str]) -> Iterator[tuple[int, frozenset[str]]]:
    """For each statement, by its `id`: the names of blocks that are bound behind it."""
    for stm in stms:
        params = stm.exp.params if isinstance(stm.exp, Loop) else ()
        inside = around | {p.name for p in params if isinstance(p.type, Mem)}
        for child in children(stm.exp):
            yield from bound(stms_of(child), inside)
        around |= {p.name for p in stm.pat if isinstance(p.type, Mem)}
        yield id(stm), around


@pytest.mark.parametrize("name", [*FLAT, *SOURCES])
def test_a_name_means_what_it_may_mean(name: str) -> None:
    prog = Compilation(SOURCES[name]).result("funmem").prog if name in SOURCES else None
    fun = FLAT[name] if prog is None else prog.funs[0]
    others = apart = 0
    for seed in range(6):
        watch = Watch(fun)
        args = arguments(parse(ALL[name]), seed) if prog is None else given(name, seed)
        with suppress(RuntimeError_):  # which may well stop on these
            heap.execute(watch, fun, args, tracing=False)
        others += watch.others
        apart += watch.apart
    assert others or name not in SOURCES
    assert bool(apart) == (name in APART) or name not in SOURCES


def given(name: str, k: int) -> list[np.generic | np.ndarray]:
    """Small arrays, also empty ones, and how often the loop runs."""
    xs = np.arange(k % 4, dtype=np.int32)
    return [xs, np.int64(k)] if name == "while" else [xs, xs + 1, np.int64(k)]


def test_what_an_earlier_iteration_made_is_another_block() -> None:
    fun = Compilation(SOURCES["swapped"]).result("funmem").prog.funs[0]
    meanings = Meanings(fun.body.stms)
    (loop,) = [stm.exp for stm in fun.body.stms if isinstance(stm.exp, Loop)]
    made = [stm for stm in all_stms(loop.body.stms) if isinstance(stm.exp, Alloc)]
    new = {stm.pat[0].name for stm in made}
    carried = {one for param in loop.params for one in meanings.of(param.name)}
    assert carried & {f"{name}'" for name in new}
    assert not carried & new
    assert new <= {one for result in fun.body.results for one in meanings.of(str(result))}
