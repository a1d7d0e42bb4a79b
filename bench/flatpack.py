"""Compare FlatPack programs with NumPy, which has the same views and materialises each operation.

`python -m bench.flatpack [--remark "what the machine did beside this"]`. Traversals are the
operations of a program that compute (arithmetic and folds, each a pass of NumPy's), and the loops
over arrays that are left of them after fusion. Both sides run in turns, on the same arrays of
32-bit floats, and must agree; times are of the computation alone, bytes what each side allocates.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from bench.machine import save
from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.frontend import flatpack
from compiler.frontend.flatpack import terms as t
from compiler.ir import nodes as ir
from compiler.runtime import runner

Cells = np.ndarray[Any, Any]
OPTIONS = Options(main="a.fp", target="c")
ROUNDS = 7


def _moving(frames: Cells) -> Cells:
    coarse = frames[:, ::2, ::2]
    found: Cells = np.maximum.reduce(coarse[1:] - coarse[:-1])
    return found


PROGRAMS: dict[str, tuple[str, tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "slice and downsample": (
        "main (steps : time Of x Of y Of z) =\n"
        "  Fold (+) 0 (Twist (Smap (DownSample 4 . Smap (Smap (Slice 0)))) steps)\n",
        ((20, 600, 250, 10),),
        lambda steps: steps[:, ::4, :, 0].sum(0),
    ),
    "what moves in a video": (
        "main (frames : time Of height Of width) =\n"
        "  let coarse = Twist (Smap (Smap (DownSample 2) . DownSample 2)) frames\n"
        "  in Fold max (-1000) (tail coarse - init coarse)\n",
        ((40, 720, 1280),),
        _moving,
    ),
    "sum of squared differences": (
        "main (xs : n) (ys : n) = sum ((xs - ys) * (xs - ys))\n",
        ((20_000_000,), (20_000_000,)),
        lambda xs, ys: ((xs - ys) * (xs - ys)).sum(),
    ),
    "turned and weighed": (
        "main (xs : n Of m) (ys : m Of n) = Fold (+) 0 (Twist Transpose xs * ys + 1)\n",
        ((4000, 4000), (4000, 4000)),
        lambda xs, ys: (xs.T * ys + 1).sum(0),
    ),
}


def traversals(source: str) -> tuple[int, int]:
    """The operations that compute, and the loops over arrays after fusion."""
    meaning = flatpack.read(source)
    passes = sum(isinstance(one, t.Arith | t.Fold | t.If) for one in _terms(meaning.results))
    body = Compilation(source, OPTIONS).result("fused").prog.funs[-1].body
    outer = [one for one in body.stms if isinstance(one.exp, get_args(ir.Soac))]
    return passes, len(outer)


def _terms(results: tuple[t.Term, ...]) -> list[t.Term]:
    """All terms, each once, whose value is an array or was made of one."""
    found: dict[int, t.Term] = {}
    todo = list(results)
    while todo:
        term = todo.pop()
        if id(term) not in found:
            found[id(term)] = term
            todo += t.parts(term)
    return [one for one in found.values() if one.shape or isinstance(one, t.Fold)]


def measure(
    source: str, shapes: tuple[tuple[int, ...], ...], in_numpy: Callable[..., Any], rounds: int
) -> dict[str, Any]:
    """Times and bytes of both sides in turns."""
    source = f"type f32\n{source}"
    rng = np.random.default_rng(1)
    args = [rng.random(shape, np.float32) for shape in shapes]
    text = Compilation(source, OPTIONS).result("c").text
    ours, theirs, ratios = [], [], []
    for _ in range(rounds):
        began = time.perf_counter()
        expected = in_numpy(*args)
        theirs.append((time.perf_counter() - began) * 1000)
        done = runner.run_c(text, "main", args)
        ours.append(done.ms)
        ratios.append(theirs[-1] / ours[-1])
        assert np.allclose(done.values[0], expected, rtol=1e-3), "the two sides differ"
    tracemalloc.start()
    in_numpy(*args)
    allocated = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    before, after = traversals(source)
    return {
        "traversals": [before, after],
        "bytes": sum(one.nbytes for one in args),
        "numpy_ms": round(statistics.median(theirs), 2),
        "ms": round(statistics.median(ours), 2),
        "faster": round(statistics.median(ratios), 2),
        "least_and_most": [round(min(ratios), 2), round(max(ratios), 2)],
        "numpy_allocated": allocated,
        "allocated": done.allocated_bytes,
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="FlatPack programs next to NumPy's views.")
    parser.add_argument("--remark", default="", help="a sentence about the machine, kept with it")
    args = parser.parse_args()
    found = {}
    for name, (source, shapes, in_numpy) in PROGRAMS.items():
        found[name] = measure(source, shapes, in_numpy, ROUNDS)
        print(name, found[name], flush=True)
    save("flatpack", "python -m bench.flatpack", {"remark": args.remark, "programs": found})


if __name__ == "__main__":
    main()
