"""Convert Python arguments to a program's values, and errors to the library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.errors import InputError
from compiler.base.names import base_of
from compiler.base.stack import with_deep_stack
from compiler.driver.answers import as_error
from compiler.ir.nodes import Param
from compiler.ir.values import Value
from compiler.runtime.interface import near

T = TypeVar("T")


def deep(work: Callable[[], T]) -> T:
    """Call `work` on a deep stack. Raises its errors as `Error`."""
    found: list[T] = []
    try:
        with_deep_stack(lambda: found.append(work()))
    except Exception as problem:
        raise as_error(problem) from None
    return found[0]


def as_value(param: Param, arg: Any) -> Value:
    """Convert an argument to the parameter's type. Raises InputError if it does not fit."""
    arg = near(arg)
    if isinstance(arg, np.ndarray | np.generic):
        return np.ascontiguousarray(arg) if arg.ndim else arg.dtype.type(arg)
    prim = param.type.prim
    name = base_of(param.name)
    try:
        plain = np.asarray(arg)
        with np.errstate(over="ignore"):
            made = plain.astype(DTYPE[prim])
    except (ValueError, TypeError, OverflowError) as problem:
        raise InputError(f"`{name}` has no value: {problem}.") from None
    exact = prim[0] == "f" and plain.dtype.kind in "iuf"
    kind = "b" if prim == "bool" else "iu"
    fits = plain.dtype.kind in kind and bool((made == plain).all())
    if plain.size and not exact and not fits:
        raise InputError(f"`{name}` has type {prim}, which cannot hold the given value.")
    return made if made.ndim else made.dtype.type(made)
