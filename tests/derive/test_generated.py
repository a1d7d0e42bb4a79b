"""Random functions: reverse mode against forward mode, against numbers, against differences."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime import runner
from compiler.semantics import interp, value
from testing.compiling import compiled
from testing.generators.derivatives import program
from testing.gradients import check, check_batch
from tests.derive.helpers import close

STEP = 1e-6


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
def test_a_batch_agrees_in_c_and_under_the_observer() -> None:
    row = check_batch(range(2))
    assert row.counts["programs"] == 2
    assert row.differences == []


def test_a_wrong_slope_is_found() -> None:
    made = program(1, "1")
    work = Compilation(made.source)
    wrong = made.source.replace("in (vjp f_1 (w, xs) 1", "in (vjp f_1 (w, xs) 1.001")
    assert wrong != made.source
    code = plain(Compilation(wrong).result("c").prog)
    ((where, _),) = check(work, code, made, 1)
    assert where == "forward"


@pytest.mark.parametrize("seed", range(12))
def test_slopes_agree(seed: int) -> None:
    made = program(seed)
    work = compiled(made.source, Options(verify=True))
    fused = work.result("fused").prog
    backward = interp.run(fused, "reverse", made.point)
    assert close(backward, value.run(work.result("soa").prog, "reverse", made.point))
    (forward,) = interp.run(fused, "forward", [*made.point, *made.direction])
    product = sum(np.sum(a * b) for a, b in zip(backward, made.direction, strict=True))
    assert np.isclose(product, forward, rtol=1e-8, atol=1e-9)

    def there(side: float) -> float:
        pairs = zip(made.point, made.direction, strict=True)
        (found,) = interp.run(fused, "plain", [p + side * STEP * d for p, d in pairs])
        return float(found)

    slope = (there(1) - there(-1)) / (2 * STEP)
    assert np.isclose(forward, slope, rtol=1e-4, atol=1e-5)
