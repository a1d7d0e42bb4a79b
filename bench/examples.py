"""The examples with inputs for which memory traffic matters: a million elements and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.machine import EXAMPLES
from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Prog
from testing import blocks

Values = list[Any]
Random = np.random.Generator


def _ints(rng: Random, *shape: int, most: int = 1000, kind: str = "int32") -> Any:
    return rng.integers(0, most, shape).astype(kind)


def _floats(rng: Random, *shape: int, kind: str = "float32") -> Any:
    return (rng.random(shape) + 0.5).astype(kind)


def _dominant(rng: Random, n: int) -> Any:
    """A matrix that can be decomposed without exchanging rows."""
    return rng.random((n, n)) + n * np.eye(n)


def _table(n: int, gap: int) -> Any:
    """A table whose first row and column say what gaps cost."""
    table = np.zeros((n, n), np.int32)
    table[0] = table[:, 0] = -gap * np.arange(n)
    return table


def _similar(rng: Random, n: int) -> Any:
    return rng.integers(-10, 10, (n, n)).astype(np.int32)


i32, i64 = np.int32, np.int64

INPUTS: dict[str, tuple[str, Callable[[Random], Values]]] = {
    # By the example's name; an entry point other than `main` stands behind a colon.
    "anti_diagonal": (
        "3000 of 9·10^6 i32",
        lambda rng: [i64(3000), _ints(rng, 9_000_000)],
    ),
    "black_scholes": (
        "10^6 f64",
        lambda rng: [_floats(rng, 1_000_000, kind="float64") for _ in range(3)],
    ),
    "blocked_lu": ("960^2 f64, blocks of 32", lambda rng: [i64(32), _dominant(rng, 960)]),
    "blocked_rows": ("2000·1600 i32", lambda rng: [i64(16), _ints(rng, 2000, 1600)]),
    "blocked_wavefront": (
        "2049^2 i32, blocks of 64",
        lambda rng: [i64(64), i32(10), _similar(rng, 2049), _table(2049, 10)],
    ),
    "concatenation": (
        "4·10^6 and 2·10^6 i32",
        lambda rng: [_ints(rng, 4_000_000), _ints(rng, 2_000_000)],
    ),
    "copies_that_stay:read_later": ("2000^2 i32", lambda rng: [_ints(rng, 2000, 2000)]),
    "copies_that_stay:threads_meet": ("4·10^6 i32", lambda rng: [_ints(rng, 4_000_000)]),
    "dot_product": ("10^7 f32", lambda rng: [_floats(rng, 10_000_000) for _ in range(2)]),
    "edit_distance": (
        "4000 and 4000 u8",
        lambda rng: [_ints(rng, 4000, most=4, kind="uint8") for _ in range(2)],
    ),
    "heat_by_parts": ("2000^2 f32", lambda rng: [_floats(rng, 2000, 2000)]),
    "histogram": ("5·10^6 i32, 100 bins", lambda rng: [i64(100), _ints(rng, 5_000_000)]),
    "implicit_steps": (
        "4000·250 f64, 10 steps",
        lambda rng: [_floats(rng, 4000, 250, kind="float64"), np.float64(0.5), i32(10)],
    ),
    "in_place_map": ("10^7 i32", lambda rng: [_ints(rng, 10_000_000)]),
    "lattice_boltzmann": (
        "500^2 cells, 10 steps",
        lambda rng: [_floats(rng, 500, 500, 9), i32(10)],
    ),
    "lu_step": ("2000^2 f64, blocks of 16", lambda rng: [i64(16), _dominant(rng, 2000)]),
    "mandelbrot": ("1000·1500, 100 steps", lambda rng: [i64(1000), i64(1500), i32(100)]),
    "mapscan": ("1000^2 i64, 10 steps", lambda rng: [_ints(rng, 1000, 1000, kind="i8"), i64(10)]),
    "matrix_multiplication": ("1000^3 f32", lambda rng: [_floats(rng, 1000, 1000)] * 2),
    "maybe_transposed": ("2000^2 i32", lambda rng: [np.bool_(False), _ints(rng, 2000, 2000)]),
    "mean_and_variance": (
        "5·10^6 f64",
        lambda rng: [_floats(rng, 5_000_000, kind="float64") for _ in range(2)],
    ),
    "nearest_neighbours": (
        "20 of 10^6 points, 8 f32 each",
        lambda rng: [i64(20), _floats(rng, 1_000_000, 8), _floats(rng, 8)],
    ),
    "option_paths": (
        "10^4 paths of 256 f64",
        lambda rng: [i64(8), rng.standard_normal((10_000, 256))],
    ),
    "prefix_filter": ("10^7 i32", lambda rng: [_ints(rng, 10_000_000) - i32(500)]),
    "radix_sort": ("10^6 u32", lambda rng: [_ints(rng, 1_000_000, most=1 << 32, kind="uint32")]),
    "stencil": ("2000^2 f32, 10 steps", lambda rng: [_floats(rng, 2000, 2000), i32(10)]),
    "strided_update": ("10^7 bool", lambda rng: [i64(10_000_000)]),
    "three_generations": (
        "2000^2 i32",
        lambda rng: [np.bool_(False), i64(7), _ints(rng, 2000, 2000)],
    ),
    "wavefront": (
        "2000 and 2000 i32",
        lambda rng: [_ints(rng, 2000, most=4) for _ in range(2)],
    ),
}


def names() -> list[str]:
    """All examples there are, with the entry points that are measured."""
    found: list[str] = []
    for path in sorted(EXAMPLES.glob("*.fut")):
        others = [name for name in INPUTS if name.startswith(f"{path.stem}:")]
        found += others if "entry main" not in path.read_text("utf-8") else [path.stem]
    return found


def source_of(name: str) -> str:
    """An example's text."""
    return (EXAMPLES / f"{name.partition(':')[0]}.fut").read_text("utf-8")


def entry_of(name: str) -> str:
    """The entry point that is measured."""
    return name.partition(":")[2] or "main"


def inputs_of(name: str) -> tuple[str, Values]:
    """Return an example's inputs in words and as values; without such, its largest data set."""
    if name in INPUTS:
        words, make = INPUTS[name]
        return words, make(np.random.default_rng(1))
    prog: Prog = Compilation(source_of(name), Options()).result("soa").prog
    found: list[Values] = []
    for case in blocks.read(EXAMPLES / f"{name}.fut"):
        fun = next(f for f in prog.funs if f.name == case.entry)
        if case.entry == "main":
            found.append(blocks.arguments(case, fun))
    return "its own data", max(found, key=elements)


def elements(values: Values) -> int:
    """Return the number of scalars in values."""
    return sum(int(np.asarray(v).size) for v in values)
