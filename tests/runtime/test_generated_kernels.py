"""Random programs mean the same in the kernel IR and as CUDA text, without a fault.

A failure names the seed, of which the generator in `testing/generators` makes the program again.
`bench/kernels.py` runs them by the thousand.
"""

from __future__ import annotations

import pytest

from compiler.codegen.kernels.stencils import STENCILS
from compiler.codegen.kernels.tiles import TILED
from testing import kernels
from testing.generators import nests, programs, stencils
from tests.runtime.cuda_on_cpu import needs_cxx


@pytest.mark.parametrize("seed", range(5000, 5008))
def test_programs_agree(seed: int) -> None:
    made = programs.program(seed, 8)
    for version in kernels.VERSIONS:
        kernels.check(made, version)


@pytest.mark.parametrize("seed", range(16))
def test_nests_agree(seed: int) -> None:
    kernels.check(nests.program(seed), "outer")


def test_some_nests_are_tiled() -> None:
    done = 0
    for seed in range(16):
        work = kernels.compiled(nests.program(seed).source, "outer")
        work.result("kernels")
        done += any(one.rule == TILED.id and one.kind == "applied" for one in work.remarks())
    assert done >= 4


@needs_cxx
@pytest.mark.parametrize("seed", range(4))
def test_texts_agree_with_narrow_indices(seed: int) -> None:
    kernels.check_text(programs.program(6000 + seed, 8), "default")
    kernels.check_text(nests.program(seed), "outer")


@needs_cxx
@pytest.mark.parametrize("seed", range(12))
def test_texts_of_stencils_agree(seed: int) -> None:
    kernels.check_text(stencils.program(seed), "default")


def test_some_stencils_have_windows() -> None:
    done = 0
    for seed in range(12):
        work = kernels.compiled(stencils.program(seed).source, "default")
        work.result("kernels")
        done += any(one.rule == STENCILS.id and one.kind == "applied" for one in work.remarks())
    assert done >= 4
