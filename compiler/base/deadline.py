"""The one bound on the time that a piece of our own Python code may take."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

from compiler.base.errors import TimeoutError_

T = TypeVar("T")
_HINT = "Try a smaller input, or look for a loop that does not end."


def within(
    seconds: float, work: Callable[[], T], what: str = "The program", hint: str = _HINT
) -> T:
    """What `work` gives; TimeoutError_ if it takes longer than that.

    The exception arrives between two steps of the interpreter: a call into NumPy finishes first.
    This is no context manager: in the frames of one, it could arrive outside of what catches it.
    Each call has an exception of its own, for work that has deadlines inside; being none of
    `Exception`, it passes every `except Exception` on the way.
    """

    class Passed(BaseException):
        pass

    thread = ctypes.c_ulong(threading.get_ident())
    lock = threading.Lock()
    done = False

    def ring() -> None:
        with lock:
            if not done:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Passed))

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    try:
        try:
            timer.start()
            return work()
        finally:
            with lock:
                done = True
            timer.cancel()
    except Passed:
        raise TimeoutError_(f"{what} did not finish within {seconds:g} s.", hint=hint) from None
