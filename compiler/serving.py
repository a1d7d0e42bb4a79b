"""`stridescope serve`: the server is a program of its own, which the compiler does not import."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def serve(arguments: Sequence[str]) -> NoReturn:
    """Become the server."""
    os.execv(sys.executable, [sys.executable, "-m", "app", *arguments])
