"""`stridescope serve` and `links`: the server is a program of its own, not imported here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def serve(arguments: Sequence[str]) -> NoReturn:
    """Become the server."""
    os.execv(sys.executable, [sys.executable, "-m", "app.__main__", *arguments])


def links(arguments: Sequence[str]) -> NoReturn:
    """Become the command that looks after the server's links."""
    os.execv(sys.executable, [sys.executable, "-m", "app.links", *arguments])
