"""Deadlines inside of deadlines: each stops its own work, whichever comes first."""

import subprocess
import sys
import time

import pytest

from compiler.base.deadline import before, within
from compiler.base.errors import TimeoutError_


def endless() -> None:
    while True:
        pass


def test_the_outer_deadline_passes_while_an_inner_one_runs() -> None:
    with pytest.raises(TimeoutError_, match="The whole did not finish"):
        within(0.05, lambda: within(60.0, endless, "The part"), "The whole")


def test_what_is_left_of_a_deadline_is_told() -> None:
    found, left = before(60.0, lambda: "done")
    assert found == "done"
    assert 0 < left < 60.0
    with pytest.raises(TimeoutError_, match=r"The part did not finish within 0\.02 s"):
        before(0.02, lambda: time.sleep(0.04), "The part")  # no bell is heard inside of a call


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
