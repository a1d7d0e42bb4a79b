"""NumPy types of primitive types, in a file of their own: checking a program needs no NumPy."""

from __future__ import annotations

import numpy as np

from compiler.base.prim import PRIMS, Prim

DTYPE: dict[Prim, np.dtype[np.generic]] = {
    p: np.dtype("bool" if p == "bool" else {"i": "int", "u": "uint", "f": "float"}[p[0]] + p[1:])
    for p in PRIMS
}
