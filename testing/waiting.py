"""Wait for other threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait until something holds; whether it does. The time is a safety net, not a measure."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
