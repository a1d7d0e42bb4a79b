"""The plan for a device, with small sizes, on the observer's; `device.py` has the real ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench import accesses, device
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
    few = {name: (accesses.PROGRAMS[name][0], sizes) for name, sizes in SMALL.items()}
    monkeypatch.setattr(accesses, "PROGRAMS", few)
    toolkit = Toolkit(build.driver(), image)
    found = device.measure(toolkit, SMALL, lambda: ThreadPoolExecutor(3), tools=False)
    assert found["results"] == dict.fromkeys(SMALL, "")
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
    assert "All programs give what the interpreter gives" in text
    document = "# Title\n\n## What only a device can show\n\nTimes.\n"
    once = device.written(document, text)
    assert once.startswith(document)
    assert device.written(once, text) == once
    later = once + "\n## More\n\nWords.\n"
    assert device.written(later, text) == later


def test_what_the_profiler_counts() -> None:
    assert device.counted(PROFILED) == 1234


@pytest.mark.skipif(not device_process.why_not(), reason="there is a GPU")
def test_without_a_device_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["device"])
    assert device.main() == device.UNAVAILABLE
    assert device_process.why_not() in capsys.readouterr().err
