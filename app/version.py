"""The version of Stridescope that is running, as permalinks name it."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def compiler_version() -> str:
    """The installed version, or `checkout` where nothing is installed."""
    try:
        return version("stridescope")
    except PackageNotFoundError:
        return "checkout"
