"""The wheel: built from this checkout, installed alone, it serves the page."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

from app.version import version_of
from testing.ports import free_port

ROOT = Path(__file__).parent.parent
BUILT = ROOT / "static" / "dist" / "main.js"


def wait_for(url: str, process: subprocess.Popen[bytes], seconds: float = 60) -> bytes:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                body: bytes = answer.read()
                return body
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"no answer from {url}")


def test_the_wheel_serves_the_page_and_compiles(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    before = BUILT.stat().st_mtime_ns
    build = [*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)]
    subprocess.run(build, check=True)
    # A server of this checkout may be running: what it serves is not built anew.
    assert BUILT.stat().st_mtime_ns == before
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    (wheel,) = wheels.glob("stridescope-*.whl")
    install = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", str(wheel)]
    subprocess.run(install, check=True)
    port = free_port()
    environment = {**os.environ, "STRIDESCOPE_DATA": str(tmp_path / "data")}
    environment.pop("PYTHONPATH", None)
    command = [str(home / "bin" / "stridescope"), "serve", "--port", str(port)]
    server = subprocess.Popen(command, cwd=tmp_path, env=environment)
    try:
        base = f"http://127.0.0.1:{port}"
        assert b"Stridescope" in wait_for(base, server)
        request = urllib.request.Request(
            f"{base}/api/check",
            json.dumps({"source": "def main (x: i32) = x + 1"}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert json.load(answer)["ok"]
        with urllib.request.urlopen(f"{base}/api/", timeout=60) as answer:
            assert json.load(answer)["version"] == version_of(ROOT, version("stridescope"))
    finally:
        server.terminate()
        server.wait(30)
