"""The server's workers are confined, and it says what the machine lacks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app import server
from app.context import EXTENSION, Parts
from compiler.sandbox import walls
from tests.app.conftest import MakeApp
from tests.codegen.helpers import needs_cc

LACKING = walls.WallState(walls.Wall(), {"landlock": 0}, ("The kernel has no Landlock.",))


def test_health_says_what_is_missing(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls, "state", lambda: LACKING)
    client = make_app().test_client()
    told = client.get("/health").get_json()
    assert told == {
        "ok": True,
        "sandbox": {"layers": {"landlock": 0}, "missing": ["The kernel has no Landlock."]},
    }
    far = client.get("/health", environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert far.get_json() == {"ok": True}


def test_a_server_says_at_its_start_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(walls, "state", lambda: LACKING)
    monkeypatch.setattr(server.Server, "run", lambda self: None)
    server.serve(port=1)
    assert "Not confined as it should be: The kernel has no Landlock." in capsys.readouterr().out


def below(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            found += below(int(child))
    return found


def status(pid: int) -> dict[str, str]:
    """What the kernel tells of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@needs_cc
def test_every_worker_of_a_server_is_confined(
    real_app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = walls.state().layers
    if not layers.get("seccomp"):
        pytest.skip("this kernel has no seccomp")
    client = real_app.test_client()
    body: dict[str, Any] = {"source": "entry main (x: i64) = x + 1"}
    assert client.post("/api/check", json=body).get_json()["ok"]
    for _ in range(2):
        done = client.post("/api/run", json={**body, "input": "41i64"}).get_json()
        assert done["output"] == "42i64"
    parts: Parts = real_app.extensions[EXTENSION]
    pids = [pid for pool in parts.jobs.pools for pid in pool.pids()]
    inside = [pid for top in pids for pid in below(top) if is_python(pid)]
    assert len(inside) >= 3  # workers that compile and run, and what runs are forked from
    for pid in inside:
        told = status(pid)
        assert told["NoNewPrivs"] == "1"
        assert told["Seccomp"] == "2"
        if layers["user"]:
            assert told["Uid"].split()[0] != "0"
        if layers["bubblewrap"]:
            for space in ("net", "pid", "ipc", "mnt"):
                assert os.readlink(f"/proc/{pid}/ns/{space}") != os.readlink(
                    f"/proc/self/ns/{space}"
                )


def is_python(pid: int) -> bool:
    """Whether a process is Python, and not a part of the wall."""
    return "python" in os.path.basename(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0])
