"""The plan for a device, with small sizes, on the observer's; `device.py` has the real ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import accesses, device, device_arrays, device_suite, libraries, sectors
from bench.device_suite import Found, Ready
from bench.machine import UNAVAILABLE
from bench.peer_bytes import Work
from compiler.protocol.kinds import OfProgram
from compiler.runtime import device_process
from compiler.runtime.device_process import Toolkit
from compiler.runtime.observer import build

SMALL = {"matrix multiplication": {"n": 9, "m": 8, "p": 7}, "scan": {"n": 600}}
PROFILED = """==PROF== Connected to process 1
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","scan_1","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","1,200"
"0","scan_1","l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum","sector","34"
"1","scan_2","other","sector","5"
"""


def image(kernels: str, *_: object) -> Path:
    return build.library(kernels)


@pytest.mark.skipif(bool(build.why_not()), reason=build.why_not())
def test_the_whole_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but what takes NVIDIA's tools."""
    monkeypatch.setattr(device, "RUNS", 2)
    monkeypatch.setattr(device, "LAUNCHES", 40)
    few = {name: (accesses.PROGRAMS[name][0], sizes) for name, sizes in SMALL.items()}
    monkeypatch.setattr(accesses, "PROGRAMS", few)
    toolkit = Toolkit(build.driver(), image)
    found = device.measure(toolkit, SMALL, 600, lambda: ThreadPoolExecutor(3), tools=False)
    assert found["results"] == dict.fromkeys([*SMALL, "scan, by look-back"], "")
    assert found["graphs"]["rounds"] == 40
    assert min(found["graphs"]["graphs_ms"], found["graphs"]["launches_ms"]) > 0
    assert found["subnormals"] == ""
    assert list(found["times"]) == ["copy", *SMALL]
    assert found["times"]["copy"]["of_copy"] == 1
    assert found["times"]["scan"]["peak_bytes"] >= 2 * 4 * 600
    assert "did not finish" in found["drills"]["hang"]["says"]
    assert "not enough memory" in found["drills"]["memory"]["says"]
    device.inside(toolkit, "scan")
    text = device.part(found, "python -m bench.device")
    assert "| scan | " in text
    assert "Observer 0" in text
    assert "A loop of 40 launches takes" in text
    assert "All programs give what the interpreter gives" in text
    document = "# Title\n\n## What only a device can show\n\nTimes.\n"
    once = device.written(document, text)
    assert once.startswith(document)
    assert device.written(once, text) == once
    later = once + "\n## More\n\nWords.\n"
    assert device.written(later, text) == later


@pytest.mark.skipif(bool(build.why_not()), reason=build.why_not())
def test_a_part_that_fails_is_told_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Toolkit) -> str:
        raise OSError("no such luck")

    monkeypatch.setattr(device, "subnormals", broken)
    monkeypatch.setattr(device, "LAUNCHES", 40)
    monkeypatch.setattr(device, "RUNS", 2)
    toolkit = Toolkit(build.driver(), image)
    found = device.measure(toolkit, only=["subnormals", "graphs"])
    assert found["graphs"]["rounds"] == 40
    text = device.part(found, "python -m bench.device subnormals graphs")
    assert "- subnormals failed: OSError: no such luck" in text


@pytest.mark.skipif(bool(build.why_not()), reason=build.why_not())
def test_versions_of_a_program_beside_each_other() -> None:
    text = device.code_of("entry main (xs: []i32) = i32.sum xs")
    work = Work("sum", OfProgram(""), Path(), "main", [np.arange(10, dtype=np.int32)])
    ready = Ready({"default": text, "all": text}, None, {"Futhark": "is not there"})
    found = device_suite.measured(ready, work, 3, 60, Toolkit(build.driver(), image))
    assert found.ms.keys() == {"default", "all"}
    told = device_suite.row("sum", found)
    assert told.startswith("| sum | ")
    assert told.endswith("| nan | nan | nan | Futhark: is not there |")


def test_what_arrays_of_others_gave_is_told() -> None:
    results = dict.fromkeys(device_arrays.CHECKS, "") | {"strides": "reversed"}
    told = {"results": results, "call_us": 20.0, "cupy_call_us": 5.0}
    text = device._called(told)
    assert "takes the host 20.0 microseconds" in text
    assert "- arrays, strides: reversed" in text


def test_a_version_that_does_not_compile_is_told() -> None:
    found = Found({}, {"default": "there is no such file"})
    assert device_suite.row("sum", found).endswith("| default: there is no such file |")


def test_what_the_profiler_counts() -> None:
    assert device.counted(PROFILED) == 1234


@pytest.mark.skipif(not device_process.why_not(), reason="there is a GPU")
def test_without_a_device_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["device"])
    assert device.main() == UNAVAILABLE
    assert device_process.why_not() in capsys.readouterr().err


def test_programs_of_all_forms_wait_for_a_device() -> None:
    assert len(sectors.PROGRAMS) >= 60
    if not build.why_not():
        warps = -(-sectors.VECTOR["n"] // 32)
        assert sectors.observed("map i8") == 2 * warps


@pytest.mark.skipif(bool(build.why_not()), reason=build.why_not())
def test_tasks_of_libraries_run_and_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"row sums": "[3][5]f32", "matvec": "[3][5]f32 [5]f32", "filter": "[90]i32<9"}
    small = {
        name: replace(task, takes=next(takes for key, takes in few.items() if key in name))
        for name, task in libraries.TASKS.items()
        if any(key in name for key in few) and "transposed" not in name
    }
    monkeypatch.setattr(libraries, "TASKS", small)
    found = dict(libraries.measured("", 2, kit=Toolkit(build.driver(), image)))
    assert len(found) == 3
    assert all(one["ok"] and one["ours"] > 0 for one in found.values())
    broken = {"sum": replace(small["matvec 8192"], numpy=lambda a, x: a @ x + 1)}
    monkeypatch.setattr(libraries, "TASKS", broken)
    ((_, one),) = libraries.measured("", 2, kit=Toolkit(build.driver(), image))
    assert one["ok"] is False
