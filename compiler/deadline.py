"""A bound on the time that a piece of our own Python code may take."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from compiler.base.errors import TimeoutError_

_HINT = "Try a smaller input, or look for a loop that does not end."


class Passed(BaseException):
    """Raised in the thread that is late; no `except Exception` on the way stops it.

    It can arrive a moment after `deadline` has ended, and means the same there.
    """


@contextmanager
def deadline(seconds: float, what: str = "The program", hint: str = _HINT) -> Iterator[None]:
    """Raise TimeoutError_ in the body if it takes longer than that.

    The exception arrives between two steps of the interpreter: a call into NumPy finishes first.
    """
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
            yield
        finally:
            with lock:
                done = True
            timer.cancel()
    except Passed:
        raise TimeoutError_(f"{what} did not finish within {seconds:g} s.", hint=hint) from None
