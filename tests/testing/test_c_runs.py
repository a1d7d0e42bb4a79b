"""Many runs of C in one process: what they give, and what becomes of one that ends it."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir.values import Value
from compiler.runtime import runner, sanitize
from testing import c_runs, campaign
from testing.c_runs import Stopped, outcomes
from testing.campaign import Difference, Manner
from testing.generators.storage import Generated

pytestmark = pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
SOURCE = """\
entry one [n] (xs: [n]f32) (k: i64) = (map (+ 1) xs, k + n, filter (> 2) xs)

entry two [n] (xs: *[n]i64) (k: i64) = xs with [k] = xs[k] + 1
"""
XS = np.array([1, 5, -2], np.float32)
YS = np.array([1, 5, -2])
CALLS: list[tuple[str, list[Value]]] = [
    ("one", [XS, np.int64(4)]),
    ("two", [YS, np.int64(3)]),
    ("two", [YS, np.int64(1)]),
]


def text() -> str:
    return plain(Compilation(SOURCE).result("c").text)


@pytest.mark.parametrize("sanitized", [False, True])
def test_runs_give_what_they_give_by_themselves(sanitized: bool) -> None:
    if sanitized and not sanitize.available():
        pytest.skip("no sanitisers")
    flags = c_runs.QUICK if sanitized else ("-O0",)
    first, failed, last = outcomes(text(), CALLS, flags, sanitized, again=True)
    assert isinstance(first, list)
    campaign.same(first, [XS + 1, np.int64(7), XS[1:2]], "c")
    assert isinstance(failed, RuntimeError_)
    assert failed.message == "Index [3] out of bounds for array of shape [3]."
    assert isinstance(last, list), "a run that fails changes nothing for the next one"
    assert last[0].tolist() == [1, 6, -2], "the second run begins with the same input"


@pytest.mark.parametrize("sanitized", [False, True])
def test_a_run_that_ends_its_process_is_told_and_the_next_go_on(sanitized: bool) -> None:
    if sanitized and not sanitize.available():
        pytest.skip("no sanitisers")
    wrong = (
        "char *volatile p = malloc(3); p[3 + in[0] * 0] = 1;" if sanitized else "__builtin_trap();"
    )
    head, body = text().split("int entry_two(", 1)
    code = f"{head}int entry_two({body.replace('{', '{ ' + wrong, 1)}"
    flags = c_runs.QUICK if sanitized else ("-O0",)
    found = outcomes(code, [*CALLS, CALLS[0]], flags, sanitized)
    assert [type(one) for one in found] == [list, Stopped, Stopped, list]
    assert set(found[1:3]) == {Stopped.DIED}


def test_a_run_without_end_is_late() -> None:
    head, body = text().split("int entry_two(", 1)
    code = f"{head}int entry_two({body.replace('{', '{ for (volatile int k = 0;;) k = 1;', 1)}"
    found = outcomes(code, [CALLS[0], CALLS[1], CALLS[0]], ("-O0",), seconds=1.0)
    assert [type(one) for one in found] == [list, Stopped, list]
    assert found[1] is Stopped.LATE


def test_a_crash_only_behind_others_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Generated(0, "main", "entry main (x: i64) = x + 1\n", [[np.int64(1)]])
    joint = campaign.compiled([made], Manner())
    assert not campaign.check(joint, made)
    monkeypatch.setitem(joint.in_c, ("main", 0), Stopped.DIED)
    with pytest.raises(Difference, match="it crashes behind other programs"):
        campaign.check(joint, made)
