"""The wheel: built from this checkout, installed alone, it serves the page.

Beside it lie the packages that it says it needs, those that they need, and no others: the ones
that are installed here.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.version import compiler_version
from compiler.runtime.runner import compiler_available
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


def needs(requires: list[str] | None) -> set[str]:
    """The packages that are meant by what a package says of others, without extras."""
    given = map(Requirement, requires or ())
    return {
        canonicalize_name(one.name)
        for one in given
        if not one.marker or one.marker.evaluate({"extra": ""})
    }


def copy_what_it_needs(site: Path) -> None:
    """Put into a folder with one package all others that it needs, compiled as they are here."""
    (alone,) = site.glob("stridescope-*.dist-info")
    pending, known = needs(PathDistribution(alone).requires), set[str]()
    while pending - known:
        name = min(pending - known)
        known.add(name)
        found = distribution(name)
        pending |= needs(found.requires)
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            part = Path(str(found.locate_file(top)))
            (shutil.copytree if part.is_dir() else shutil.copy2)(part, site / top)


LIBRARY = """
import sys, stridescope
assert "numpy" not in sys.modules
print(stridescope.run("entry main (xs: []i32) = i32.sum xs", [1, 2], backend=sys.argv[1])[0])
print(stridescope.prove("{(n : 2)}", "1 + {(n : 2)}").verdict)
from pygments import highlight, lexers, formatters
for name in ("funmem", "flatpack", "stridescope-futhark"):
    text = highlight("let x = i32", lexers.get_lexer_by_name(name), formatters.HtmlFormatter())
    assert 'class="k' in text, name
assert not {"app", "compiler"} & {name.partition(".")[0] for name in sys.modules}
"""


def answers_without_the_checkout(bin_: Path, folder: Path) -> None:
    """What is installed answers on the command line, and as a library."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    program = folder / "sum.fut"
    program.write_text("entry main (xs: []i32) = i32.sum xs")

    def told(command: str, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [str(bin_ / command), *arguments],
            cwd=folder,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    backends = ["ref", *(["c"] if compiler_available() else [])]
    assert told("stridescope", "check", str(program)) == "entry main (xs: []i32) : i32\n"
    assert "/map" in told("stridescope", "show", "--help")
    for backend in backends:
        run = ("stridescope", "run", str(program), "--backend", backend)
        assert told(*run, given="[1, 2]") == "3i32\n"
        assert told("python", "-c", LIBRARY, backend).split() == ["3", "disjoint"]


def test_the_wheel_serves_the_page_and_compiles(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    before = BUILT.stat().st_mtime_ns
    build = [*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)]
    subprocess.run(build, check=True)
    # A server of this checkout may be running: what it serves is not built anew.
    assert BUILT.stat().st_mtime_ns == before
    home = tmp_path / "venv"
    venv.create(home)
    pip += ["--python", str(home / "bin" / "python")]
    (wheel,) = wheels.glob("stridescope-*.whl")
    subprocess.run([*pip, "install", "--no-deps", str(wheel)], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    copy_what_it_needs(site)
    subprocess.run([*pip, "check"], check=True)  # versions
    installed = {path.name.partition("-")[0] for path in site.glob("*")}
    assert "stridescope" in installed
    assert installed.isdisjoint({"app", "compiler"}), "a user's own packages may be called so"
    answers_without_the_checkout(home / "bin", tmp_path)
    port = free_port()
    environment = {**os.environ, "STRIDESCOPE_DATA": str(tmp_path / "data")}
    environment |= {f"STRIDESCOPE_{kind}_WORKERS": "1" for kind in ("COMPILE", "RUN")}
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
            assert json.load(answer)["version"] == compiler_version()
    finally:
        server.terminate()
        server.wait(30)
