"""Pivots of tridiagonal systems by a scan of matrices that divides by what may be nearly 0.

Another order of the same products may give other digits: of random systems f32 loses all of them in
a few rows, as Futhark's kernels do (docs/performance.md). Whether the kernels compute the right
thing is asked where digits are left: in f64, and in f32 of systems whose diagonal is large.
"""

from __future__ import annotations

import numpy as np
import pytest

from testing.kernels import VERSIONS, compiled, observed
from tests.runtime.cuda_on_cpu import needs_cxx

SOURCE = """
def pivots [m] (a: [m]T) (b: [m]T) (c: [m]T): [m]T =
  let step i = if i == 0 then (1, 0, 0, 1) else (b[i], 0 - a[i] * c[i - 1], 1, 0)
  let after (p, q, r, s) (t, u, v, w) =
    let by = 1 / (p * t)
    in ((t*p + u*r) * by, (t*q + u*s) * by, (v*p + w*r) * by, (v*q + w*s) * by)
  in scan after (1, 0, 0, 1) (tabulate m step)
     |> map (\\(p, q, r, s) -> (p * b[0] + q) / (r * b[0] + s))

entry main [n] [m] (a: [n][m]T) (b: [n][m]T) (c: [n][m]T): [n][m]T =
  map3 pivots a b c
"""


def exact(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Row by row, in more digits."""
    a, b, c = (values.astype(np.longdouble) for values in (a, b, c))
    for i in range(1, b.shape[1]):
        b[:, i] -= a[:, i] * c[:, i - 1] / b[:, i - 1]
    return b


@needs_cxx
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("prim", "diagonal", "most"), [("f64", 0, 1e-6), ("f32", 2, 1e-4)])
def test_pivots_are_right_where_digits_are_left(
    prim: str, diagonal: int, most: float, version: str
) -> None:
    rng = np.random.default_rng(3)
    kind = {"f32": np.float32, "f64": np.float64}[prim]
    a, b, c = (rng.random((40, 70)).astype(kind) for _ in range(3))
    b += kind(diagonal)
    (found,) = observed(compiled(SOURCE.replace("T", prim), version), "main", [a, b, c], "random")
    expected = exact(a, b, c)
    assert np.abs((found - expected) / expected).max() < most
