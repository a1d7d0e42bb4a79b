"""Random nests of parallel operators mean the same before and after flattening."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.base.names import NameSource
from compiler.driver.pipeline import verify
from compiler.ir.nodes import Concat, Function, If, Loop, Prog, SegMap, Soac, Stm, Update, Write
from compiler.ir.values import Value
from compiler.ir.walk import all_stms
from compiler.parallel.sequentialise import sequentialise
from tests.cases import compare, run
from tests.parallel.random_nests import program
from tests.parallel.versions import compare_all, flat

SEEDS = st.integers(0, 1 << 32)
SIZES = st.sampled_from([(1, 1), (3, 2), (1, 4), (2, 3)])


def arguments(seed: int, n: int, m: int) -> list[Value]:
    """Vectors, matrices and a cube of small numbers."""
    rng = np.random.default_rng(seed)
    shapes = ((n,), (n, m), (n, m, m), (m,), (3, m), (20, 3))
    return [rng.integers(-5, 9, size=shape) for shape in shapes]


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, sizes=SIZES, target=st.sampled_from(["c", "cuda"]))
def test_flattening_keeps_the_values(seed: int, sizes: tuple[int, int], target: str) -> None:
    before = program(seed)
    after, _ = flat(before, target)
    compare_all(before, after, arguments(seed, *sizes))


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, sizes=SIZES)
def test_sequentialising_keeps_the_values(seed: int, sizes: tuple[int, int]) -> None:
    before = program(seed)
    (fun,) = before.funs
    stms = sequentialise(fun.body.stms, NameSource(10_000).fresh)
    assert not any(isinstance(stm.exp, Soac) for stm in all_stms(stms))
    body = type(fun.body)(stms, fun.body.results)
    after = Prog((Function(fun.name, fun.params, fun.results, body, True, fun.implicit),))
    verify(after, "flat")
    args = arguments(seed, *sizes)
    compare(run(before, "main", args), run(after, "main", args))


def _in_blocks(stms: tuple[Stm, ...]) -> set[str]:
    """How blocks of threads change or make arrays, in loops and branches as well."""
    found: set[str] = set()
    for stm in stms:
        match stm.exp:
            case SegMap("block", _, body) if any(isinstance(r, Write) for r in body.results):
                found.add("scatter")
            case Update() | Concat():
                found.add(type(stm.exp).__name__.lower())
            case Loop(body=inner):
                found |= _in_blocks(inner.stms)
            case If(_, then, orelse):
                found |= _in_blocks(then.stms) | _in_blocks(orelse.stms)
    return found


def test_some_blocks_of_threads_change_arrays_of_their_own() -> None:
    found: set[str] = set()
    for seed in range(40):
        after, _ = flat(program(seed), "cuda")
        for stm in all_stms(after.funs[0].body.stms):
            if isinstance(stm.exp, SegMap) and stm.exp.per_block:
                found |= _in_blocks(stm.exp.body.stms)
    assert found == {"scatter", "update", "concat"}
