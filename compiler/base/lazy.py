"""Functions whose module is imported when they are first called.

So a worker that compiles and waits holds neither interpreters nor what runs programs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """The function of that name in a module that is not imported yet."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*args, **options)

    return call
