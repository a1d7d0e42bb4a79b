"""`stridescope serve` and `links`: start the server, a program of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def serve(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the server."""
    os.execv(sys.executable, [sys.executable, "-m", "app.__main__", *arguments])


def links(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the command that maintains the server's links."""
    os.execv(sys.executable, [sys.executable, "-m", "app.links", *arguments])
