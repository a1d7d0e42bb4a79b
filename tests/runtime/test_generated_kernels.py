"""Random programs mean the same in the kernel IR and as CUDA text, without a fault.

A failure names the seed, of which the generator in `testing/generators` makes the program again.
`bench/kernels.py` runs them by the thousand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

from compiler.base.errors import TypeError_
from compiler.base.rules import Rule
from compiler.codegen.kernels.stencils import STENCILS
from compiler.codegen.kernels.tiles import TILED
from compiler.driver.pipeline import Compilation
from compiler.semantics import interp
from compiler.storage.coalesce import WRITES
from testing import kernels
from testing.generators import buffers, guards, nests, programs, results, stencils
from testing.generators.programs import Generated
from tests.codegen.helpers import told
from tests.runtime.cuda_on_cpu import needs_cxx


@pytest.mark.parametrize("seed", range(5000, 5008))
def test_programs_agree(seed: int) -> None:
    made = programs.program(seed, 8)
    for version in kernels.VERSIONS:
        kernels.check(made, version)


@pytest.mark.parametrize("seed", range(16))
def test_nests_agree(seed: int) -> None:
    kernels.check(nests.program(seed), "outer")


@needs_cxx
@pytest.mark.parametrize("seed", range(4))
def test_texts_agree_with_narrow_indices(seed: int) -> None:
    kernels.check_text(programs.program(6000 + seed, 8), "default")
    kernels.check_text(nests.program(seed), "outer")


@needs_cxx
@pytest.mark.parametrize("seed", range(12))
def test_texts_of_stencils_agree(seed: int) -> None:
    kernels.check_text(stencils.program(seed), "default")


@pytest.mark.parametrize("seed", range(2))
def test_several_results_in_one_destination_agree(seed: int) -> None:
    made = results.program(seed)
    for version in kernels.VERSIONS:
        kernels.check(made, version)
    kernels.check_c(made, "default")


@pytest.mark.parametrize("seed", range(6))
def test_parts_of_what_is_read_agree(seed: int) -> None:
    kernels.check(buffers.program(seed).with_one_input(), "grid" if seed % 2 else "default")


def test_generators_make_what_is_accepted_of_all_types() -> None:
    """Of few programs a part is refused: that is no part of them by design."""
    kinds, accepted = set[str](), 0
    for seed in range(40):
        for made in (buffers.program(seed), results.program(seed), guards.program(seed)):
            kinds.update(re.findall(r"\]([iuf]\d+)\)", made.source))
            with suppress(TypeError_):
                Compilation(made.source).result("typed")
                accepted += 1
    assert kinds >= {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"}
    assert accepted >= 105


def test_halves_in_one_destination_are_exact_in_any_order() -> None:
    found = (results.program(seed) for seed in range(200))
    halves = [made for made in found if made.inputs[0].dtype == np.float16][:8]
    assert len(halves) == 8
    for made in halves:
        soa = Compilation(made.source).result("soa").prog
        for result in interp.run(soa, "main", list(made.inputs)):
            whole = np.asarray(result, np.float64)
            assert np.all(np.abs(whole) <= 2048)
            assert np.array_equal(whole, np.round(whole))


@needs_cxx
@pytest.mark.parametrize("seed", range(4, 6))
def test_texts_of_several_results_agree(seed: int) -> None:
    kernels.check_text(results.program(seed), "default")


@pytest.mark.parametrize(
    ("made", "version", "rule"),
    [
        (nests.program, "outer", TILED),
        (stencils.program, "default", STENCILS),
        (results.program, "default", WRITES),
    ],
    ids=["tiles", "windows", "rows"],
)
def test_some_are_what_they_are_made_for(
    made: Callable[[int], Generated], version: str, rule: Rule
) -> None:
    done = 0
    for seed in range(16):
        work = kernels.compiled(made(seed).source, version)
        done += any(kind == "applied" for kind, _ in told(work, rule.id))
    assert done >= 4
