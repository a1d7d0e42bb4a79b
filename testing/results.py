"""Whether results are equal, as the Futhark compiler's own tests understand it."""

from __future__ import annotations

from typing import Any

import numpy as np


def same(found: list[Any], expected: list[Any]) -> bool:
    """Equal shapes and types; equal integers; floats within the suite's tolerance."""
    if len(found) != len(expected):
        return False
    for left, right in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        if left.shape != right.shape or left.dtype != right.dtype:
            return False
        if left.dtype.kind == "f":
            if not np.allclose(left, right, rtol=2e-3, atol=2e-3, equal_nan=True):
                return False
        elif not np.array_equal(left, right):
            return False
    return True
