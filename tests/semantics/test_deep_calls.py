"""Calls nest as deep as the language says in the interpreters, and no deeper.

What they need is memory, and nothing of C's stack.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.ir.nodes import Prog
from compiler.semantics import interp, limits, value
from testing.compiling import compiled

PATH = Path(__file__).parent / "recursion.fut"
SOURCE = PATH.read_text("utf-8")
ENTRIES = [fun.name for fun in compiled(SOURCE).result("soa").prog.funs if fun.entry]
AT_END = ("ends", "ends_in_lanes")
ENDLESS = "def f (n: i64): i64 = 1 + f (n + 1)\nentry main = f\n"
RUNS = [value.run, interp.run]


def soa(source: str) -> Prog:
    prog: Prog = compiled(source).result("soa").prog
    return prog


def test_calls_nest_as_deep_as_the_language_says_and_no_deeper() -> None:
    """The one that goes by the letter; `parallel/test_recursion.py` asks the fast one and C."""
    with pytest.raises(RuntimeError_) as caught:
        value.run(soa(ENDLESS), "main", [np.int64(0)])
    assert caught.value.message == "Calls of `f` nest deeper than 100,000."


@pytest.mark.parametrize("run", RUNS, ids=["by the letter", "fast"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_only_calls_with_more_to_do_count(
    run: Any, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DEEPEST", 60)
    monkeypatch.setattr(interp, "DEEPEST_TOGETHER", 20)
    for n in (0, 1, 30, 59):
        assert run(soa(SOURCE), entry, [np.int64(n)]) == [n]
    if entry in AT_END:
        assert run(soa(SOURCE), entry, [np.int64(500)]) == [500]
        return
    with pytest.raises(RuntimeError_, match="nest deeper"):
        run(soa(SOURCE), entry, [np.int64(60)])


ON_A_SMALL_STACK = f"""
import resource, sys, threading
import numpy as np
from compiler.base.errors import RuntimeError_
from compiler.driver.pipeline import Compilation
from compiler.semantics import interp, value

prog = Compilation(open({str(PATH)!r}).read()).result("soa").prog
endless = Compilation({ENDLESS!r}).result("soa").prog
told = []

def work():
    for entry in {ENTRIES!r}:
        for run in (value.run, interp.run):
            assert run(prog, entry, [np.int64(500)]) == [500], entry
    pages = int(open("/proc/self/statm").read().split()[0])
    room = pages * resource.getpagesize() + (1 << 27)
    resource.setrlimit(resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
    for run in (value.run, interp.run):
        try:
            run(endless, "main", [np.int64(1)])
        except RuntimeError_ as error:
            told.append(error.message)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)

threading.stack_size(1 << 17)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(told)
"""


def test_they_take_nothing_of_cs_stack_and_say_where_memory_ends() -> None:
    """The stack has less than 300 bytes for each call."""
    command = [sys.executable, "-c", ON_A_SMALL_STACK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = ["The run needs more memory than the machine has."] * 2
    assert done.stdout.strip() == str(said), done.stderr
