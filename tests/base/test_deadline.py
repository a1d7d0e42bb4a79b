"""Deadlines inside of deadlines: each stops its own work, whichever comes first."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from compiler.base.deadline import Deadline, within
from compiler.base.errors import TimeoutError_


def endless() -> None:
    while True:
        pass


def passes(work: Callable[[], None], seconds: float = 0.05) -> None:
    """Work whose deadline passes."""
    with pytest.raises(TimeoutError_):
        within(seconds, work)


def test_the_outer_deadline_passes_while_an_inner_one_runs() -> None:
    with pytest.raises(TimeoutError_, match="The whole did not finish"):
        within(0.05, lambda: within(60.0, endless, "The part"), "The whole")


def test_several_works_have_one_deadline_together() -> None:
    deadline = Deadline.of(60.0)
    assert Deadline.of(deadline) is deadline
    assert deadline.within(lambda: "done") == "done"
    assert 0 < deadline.left() < 60.0
    short = Deadline.of(0.02)
    with pytest.raises(TimeoutError_, match=r"The part did not finish within 0\.02 s"):
        short.within(lambda: time.sleep(0.04), "The part")  # no bell is heard inside of a call
    began: list[str] = []
    with pytest.raises(TimeoutError_, match=r"The next did not finish within 0\.02 s"):
        short.within(lambda: began.append("next"), "The next")
    assert not began


def test_the_outer_work_goes_on_after_an_inner_deadline() -> None:
    def whole() -> str:
        with pytest.raises(TimeoutError_, match="The part did not finish"):
            within(0.05, endless, "The part")
        return "done"

    assert within(60.0, whole, "The whole") == "done"


def test_work_that_swallows_the_exception_stops_all_the_same() -> None:
    swallowed: list[BaseException] = []

    def stubborn() -> None:
        while True:
            try:
                endless()
            except BaseException as passed:
                if swallowed:
                    raise
                swallowed.append(passed)

    with pytest.raises(TimeoutError_, match="The work did not finish"):
        within(0.05, stubborn, "The work")
    assert len(swallowed) == 1


SWALLOWED = """
from compiler.base.deadline import within
from compiler.base.errors import TimeoutError_

class Slow:
    def __del__(self):
        while True:
            pass

def work():
    Slow()
    while True:
        pass

try:
    within(0.05, work)
except TimeoutError_ as error:
    print(error.message)
"""


def test_a_destructor_that_swallows_it_is_not_told_about() -> None:
    done = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, text=True)
    assert done.stdout == "The program did not finish within 0.05 s.\n"
    assert done.stderr == ""


def test_nothing_is_left_for_the_interpreter_to_look_for() -> None:
    """Its sign is that profiled functions end: where an exception is taken back they do not."""
    program = (
        "import sys\n"
        "from compiler.base.deadline import within\n"
        "from tests.base.test_deadline import endless, passes\n"
        "passes(endless)\n"
        "passes(lambda: within(60.0, endless))\n"
        "seen = []\n"
        "sys.setprofile(lambda frame, event, value: seen.append(event))\n"
        "passes(endless, 0.01)\n"
        "(lambda: None)()\n"
        "sys.setprofile(None)\n"
        "print(seen.count('call') > 0)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "True\n"
