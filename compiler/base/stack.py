"""Prepare a process that compiles: deep stack, rare garbage collection."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable

STACK_BYTES = 1 << 29
"""Address space of the stack; only pages in use cost memory, so programs may nest deeply."""
RECURSION_LIMIT = 200_000
GARBAGE_THRESHOLD = 1_000_000
"""Programs are trees without cycles, so frequent collection wastes a third of the time; rare
collection keeps the memory of many programs."""


def with_deep_stack(work: Callable[[], None]) -> None:
    """Call `work` in a thread with a deep stack, and wait for it."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION_LIMIT)
    failed: list[BaseException] = []

    def guarded() -> None:
        threading.stack_size(before)  # here, so that no thread of the work gets such a stack
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=guarded)
    before = threading.stack_size(STACK_BYTES)
    thread.start()
    while thread.is_alive():
        thread.join(0.5)  # a signal may be given to the other thread, and is seen in this one
    sys.setrecursionlimit(limit)
    if failed:
        raise failed[0]


def seldom_look_for_garbage() -> None:
    """Collect garbage rarely (`GARBAGE_THRESHOLD`); objects alive now are never collected."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
