"""The app's one way into the compiler: its manifest and its version. Work goes through workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any


@cache
def manifest() -> Sequence[dict[str, Any]]:
    """The pipeline's stages: id, title, explain, kind, in order."""
    from compiler import api  # the only import of the compiler, and only when it is needed

    return list(api.manifest())


@cache
def compiler_version() -> str:
    """The version that permalinks name."""
    try:
        return version("stridescope")
    except PackageNotFoundError:
        return "checkout"
