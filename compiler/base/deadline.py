"""Bound the time of a piece of our own Python code.

Note [No exception is taken back]. CPython can be asked to forget an exception that a thread has not
had yet (`PyThreadState_SetAsyncExc` with NULL). In 3.11 the interpreter goes on looking for it, at
every call and every turn of a loop of every thread: calls take a third longer from then on, and a
function that is profiled never begins. So a last exception is sent instead, and taken.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from compiler.base.dataclass import dataclass
from compiler.base.errors import TimeoutError_, UsageError

T = TypeVar("T")
LONGEST_RUN = 1_000_000
"""The longest deadline, in seconds."""
_AGAIN = 0.5
"""Seconds after which work that has not stopped is interrupted again."""
_HINT = "Try a smaller input, or look for a loop that does not end."


class _Over(BaseException):
    """A deadline has passed."""


_tell = sys.unraisablehook


def _tell_others(swallowed: sys.UnraisableHookArgs) -> None:
    """Report exceptions swallowed by destructors, but not deadlines, which come again."""
    if not issubclass(swallowed.exc_type, _Over):
        _tell(swallowed)


sys.unraisablehook = _tell_others


def check_deadline(seconds: float, called: str = "deadline") -> None:
    """Check a number of seconds. Raises UsageError for one that no run can have."""
    if not 0 < seconds <= LONGEST_RUN:
        raise UsageError(f"`{called}` must be a number of seconds, at most {LONGEST_RUN}.")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A deadline shared by several pieces of work: its seconds, and when they are over."""

    seconds: float
    until: float
    """The end, by the monotonic clock."""

    @classmethod
    def of(cls, given: float | Deadline) -> Deadline:
        """Return a deadline as it is, or start one now from a number of seconds."""
        return given if isinstance(given, Deadline) else cls(given, time.monotonic() + given)

    def left(self, what: str = "The program", hint: str = _HINT) -> float:
        """Return the seconds left. Raises TimeoutError_ about `what` where none are left."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise self.late(what, hint)
        return left

    def late(self, what: str = "The program", hint: str = _HINT) -> TimeoutError_:
        """Make the error for work that did not finish in time."""
        return TimeoutError_(f"{what} did not finish within {self.seconds:g} s.", hint=hint)

    def within(self, work: Callable[[], T], what: str = "The program", hint: str = _HINT) -> T:
        """Call `work` within the time left. Raises TimeoutError_, even where unstoppable."""
        try:
            found = within(self.left(what, hint), work, what, hint)
        except TimeoutError_ as error:
            if time.monotonic() >= self.until:
                raise self.late(what, hint) from None
            raise error
        self.left(what, hint)
        return found


def within(
    seconds: float, work: Callable[[], T], what: str = "The program", hint: str = _HINT
) -> T:
    """Call `work` and return its result; raise TimeoutError_ after `seconds`.

    The exception arrives between two steps of the interpreter: a call into NumPy finishes first.
    Where it is swallowed (in a destructor, a callback of the garbage collector), it comes again.
    This is no context manager: in its frames the exception could arrive outside the `try`.
    Each call has an exception of its own, for work that has deadlines inside; being none of
    `Exception`, it passes every `except Exception` on the way.
    """

    class Passed(_Over):
        pass

    thread = ctypes.c_ulong(threading.get_ident())
    lock, begun, over = threading.Lock(), threading.Lock(), threading.Lock()
    begun.acquire()
    over.acquire()
    has_ended = False

    def ring_once() -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Passed))

    def ring() -> None:
        begun.acquire()  # not while Python's own code still starts this thread
        wait = max(seconds, 0.0)
        while not over.acquire(timeout=wait):
            with lock:
                if not has_ended:
                    ring_once()
            wait = _AGAIN

    def take_the_last() -> None:
        nonlocal has_ended
        with lock:
            has_ended = True
        while True:  # until it comes: see Note [No exception is taken back]
            ring_once()

    bell = threading.Thread(target=ring, daemon=True)
    bell.start()
    try:
        try:
            begun.release()
            return work()
        finally:
            with lock:
                has_ended = True
    except Passed:
        # The bell may have rung again, and that may not be heard yet: then the first is cut off.
        # Nothing is called outside of what catches it.
        try:  # noqa: SIM105 (`suppress` is a call)
            take_the_last()
        except Passed:
            pass
        try:  # noqa: SIM105 (`suppress` is a call)
            take_the_last()
        except Passed:
            pass
        raise TimeoutError_(f"{what} did not finish within {seconds:g} s.", hint=hint) from None
    finally:
        over.release()
