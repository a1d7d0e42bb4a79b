"""Random functions: reverse mode against forward mode, against numbers, against differences."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.semantics import interp, value
from testing.compiling import compiled
from testing.generators.derivatives import program
from tests.derive.helpers import close

STEP = 1e-6


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
