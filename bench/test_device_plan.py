"""One command for a device: parts end by their deadlines, and one that fails stops no other."""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path

import pytest

from bench import device_plan
from bench.device_plan import Part, carried_out
from bench.machine import UNAVAILABLE
from compiler.runtime import device_process


def part(name: str, code: str, seconds: float = 60) -> Part:
    return Part(name, (sys.executable, "-c", code), seconds)


def test_parts_end_one_after_the_other(tmp_path: Path) -> None:
    """A hanging one with its children, of which nothing is left; all are told of."""
    mark = tmp_path / "pid"
    hangs = (
        "import subprocess, sys, time; print('begun', flush=True);"
        f"one = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(mark)!r}, 'w').write(str(one.pid)); time.sleep(600)"
    )
    parts = [
        part("right", "print('fine')"),
        part("hangs", hangs, 8),
        part("fails", "raise SystemExit('why')"),
        part("last", "print('there')"),
    ]
    right, hung, failed, last = carried_out(parts, 100)
    assert (right.how, right.said, right.is_right) == ("done", "fine\n", True)
    assert (hung.how, hung.said) == ("ended after 8 s", "begun\n")
    assert not Path(f"/proc/{mark.read_text()}").exists() or _is_gone(int(mark.read_text()))
    assert (failed.how, failed.said, failed.is_right) == ("exit status 1", "why\n", False)
    assert last.is_right


def _is_gone(pid: int) -> bool:
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.1)
    return False


def test_no_part_begins_without_time() -> None:
    parts = [part("long", "import time; time.sleep(600)"), part("other", "print(1)")]
    first, second = carried_out(parts, 6)
    assert first.how == "ended after 6 s"
    assert (second.how, second.seconds) == ("no time was left", 0)


def test_the_plan_is_of_benches_that_are_there_and_takes_ten_minutes(tmp_path: Path) -> None:
    parts = device_plan.plan(tmp_path)
    assert len({one.name for one in parts}) == len(parts)
    for one in parts:
        assert importlib.import_module(one.command[2]).main
    assert device_plan.SECONDS <= 600
    assert sum(one.seconds for one in device_plan.plan(None)) <= device_plan.SECONDS


def test_without_a_gpu_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device_process, "why_not", lambda: "There is none.")
    monkeypatch.setattr(sys, "argv", ["device_plan"])
    assert device_plan.main() == UNAVAILABLE
    assert "There is none." in capsys.readouterr().err


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    (ended,) = carried_out([part("right", "print('fine')")], 60)
    device_plan.keep(ended, tmp_path / "out")
    assert (tmp_path / "out" / "right.txt").read_text() == "fine\n"
    assert (tmp_path / "out" / "device.json").exists()
