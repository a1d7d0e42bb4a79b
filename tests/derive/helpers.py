"""Whether slopes agree: but for the order in which they are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

RELATIVE = {2: 4e-3, 4: 1e-5, 8: 1e-10}
"""By the bytes of a number."""


def close(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether results are alike, in types and shapes as well."""
    return len(found) == len(expected) and all(map(_alike, found, expected))


def _alike(found: Any, expected: Any) -> bool:
    a, b = np.asarray(found), np.asarray(expected)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    tolerance = RELATIVE[a.dtype.itemsize]
    return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
