"""Functions whose module is imported when they are first called.

So a worker that only compiles loads neither interpreters nor device runtimes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports `module` and calls its `name`."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*args, **options)

    return call
