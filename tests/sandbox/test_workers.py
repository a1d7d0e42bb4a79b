"""A worker that was taken over reaches what its policy says, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.base.errors import UsageError
from compiler.runtime import runner
from compiler.sandbox import walls
from compiler.sandbox.policies import COMPILE, RUN, Policy
from tests.codegen.helpers import needs_cc
from tests.sandbox import hostile

SCRIPT = Path(__file__).with_name("taken_over.py")
MAY = {
    "compile": {"a file of its own", "a thread"},
    "run": {"a file of its own", "a thread", "a fork", "a program"},
}
BARE = {"four GiB of scratch"}
"""What only an outer wall bounds: each file is bounded without, not their sum."""


def wall_of(kind: str) -> walls.Wall:
    """A wall of this machine. Skips where it has none such."""
    state = walls.state()
    if not (state.layers.get("landlock") and state.layers.get("seccomp")):
        pytest.skip("this kernel has no Landlock or no seccomp")
    if kind == "the best wall" and not state.wall.bubblewrap:
        pytest.skip("bubblewrap does not work here")
    return state.wall if kind == "the best wall" else walls.Wall()


def started(
    policy: Policy, wall: walls.Wall, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What a worker that was taken over has got."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:password@host/base")
    folder.chmod(0o755)
    other, scratch = folder / "other", folder / "scratch"
    for made in (other, scratch):
        made.mkdir(mode=0o700)
    (folder / "secret").write_text("a secret")
    with socket.create_server(("127.0.0.1", 0)) as database:
        aims = {
            "secret": str(folder / "secret"),
            "folder": str(folder),
            "other": str(other),
            "server": os.getpid(),
            "port": database.getsockname()[1],
            "compiler": walls.__file__,
        }
        command = [sys.executable, str(SCRIPT), json.dumps(aims)]
        made = walls._confined(wall, policy, command, str(scratch), 1 << 30, {})
        done = subprocess.run(
            made.command,
            env=made.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    assert not (folder / "new").exists()
    assert not (folder / "n").exists()
    return found


@pytest.mark.parametrize("kind", ["the best wall", "no outer wall"])
@pytest.mark.parametrize("policy", [COMPILE, RUN], ids=lambda policy: policy.name)
def test_a_worker_reaches_what_its_policy_says(
    policy: Policy, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = wall_of(kind)
    got = set(started(policy, wall, tmp_path, monkeypatch))
    if not (os.geteuid() or wall.user):
        got.discard("a fork bomb")  # nothing bounds root
    assert got - MAY[policy.name] <= (set() if wall.bubblewrap else BARE)
    assert got >= MAY[policy.name]


@pytest.mark.parametrize("kind", ["the best wall", "no outer wall"])
@needs_cc
def test_a_program_in_a_worker_reaches_nothing(kind: str, tmp_path: Path) -> None:
    """The server's case: a run inside the wall of the worker that has asked for it."""
    wall = wall_of(kind)
    attempts = hostile.ATTEMPTS
    (tmp_path / "secret").write_text("a secret")
    text = hostile.program(
        "return ss_try(ss_x);",
        hostile.choices(attempts),
        SECRET=tmp_path / "secret",
        FOLDER=tmp_path,
        PYTHON=os.__file__,
        COMPILER=walls.__file__,
        SERVER=os.getpid(),
        ZYGOTE=4,
    )
    script, scratch = tmp_path / "script.py", tmp_path / "scratch"
    script.write_text(
        "import json, numpy as np\nfrom compiler.runtime import runner\n"
        f"code, count = {text!r}, {len(attempts)}\n"
        "def go(k): return int(runner.run_c(code, 'main', [np.int64(k)]).values[0])\n"
        "print(json.dumps([k for k in range(count) if not go(k)]))\n"
    )
    scratch.mkdir()
    for path in (tmp_path, script):
        path.chmod(0o755)
    made = walls._confined(wall, RUN, [sys.executable, str(script)], str(scratch), 1 << 30, {})
    done = subprocess.run(
        made.command, env=made.environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [list(attempts)[k] for k in json.loads(done.stdout)] == []


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang not installed")
@pytest.mark.parametrize("kind", ["the best wall", "no outer wall"])
def test_the_zig_wheel_compiles_in_a_worker(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = wall_of(kind)
    monkeypatch.setenv("PATH", str(tmp_path))
    request = {"op": "run", "source": "entry main (x: f64) = f64.exp x", "input": "0f64"}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "compiler", "worker"]
    made = walls._confined(wall, RUN, command, str(scratch), 0, {})
    done = subprocess.run(
        made.command,
        env=made.environment,
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert (told["backend"], told["output"]) == ("c", "1.0f64")


def test_the_attempts_succeed_without_walls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"the database's address", "the database", "a secret", "a folder", "a program"}
    monkeypatch.setenv("DATABASE_URL", "x")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "secret").write_text("a secret")
    with socket.create_server(("127.0.0.1", 0)) as database:
        names = {name: str(tmp_path) for name in ("folder", "other")}
        aims = {**names, "secret": str(tmp_path / "secret"), "server": os.getppid()}
        aims |= {"port": database.getsockname()[1], "compiler": str(tmp_path / "secret")}
        text = SCRIPT.read_text().replace("for name, attempt in attempts().items():", LIMITED, 1)
        text = text.replace("WANTED", repr(wanted))
        command = [sys.executable, "-c", text, json.dumps(aims)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == wanted


LIMITED = "for name, attempt in ((n, a) for n, a in attempts().items() if n in WANTED):"


def test_an_environment_is_an_allow_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "STRIDESCOPE_DATABASE_URL", "AWS_SECRET", "LD_PRELOAD", "HOME"):
        monkeypatch.setenv(name, "a secret")
    given = walls.environment(RUN, "/scratch")
    assert "a secret" not in given.values()
    assert {name for name, value in given.items() if value.startswith("/scratch")} == {
        *("HOME", "TMPDIR", "XDG_CACHE_HOME")
    }


def test_new_processes_begin_with_what_the_last_versions_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert walls.seeds() == {}
    for age in range(6):
        kept = tmp_path / "stridescope" / f"prelude-{age}.pickle"
        kept.write_bytes(b"")
        os.utime(kept, (1000 - age, 1000 - age))
    assert [Path(path).name for path in walls.seeds().values()] == [
        f"prelude-{age}.pickle" for age in range(walls.VERSIONS)
    ]


def test_what_is_readable_is_no_home_and_no_project(tmp_path: Path) -> None:
    root = str(walls.TOP)
    for path in walls.readable():
        assert path not in ("/", "/etc", "/home", "/root", "/var", "/tmp", root)
        assert not Path.home().is_relative_to(path)


def test_a_compiler_at_home_does_not_make_the_home_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "bin" / "cc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{compiler.parent}:{os.environ['PATH']}")
    walls.readable.cache_clear()
    try:
        assert str(tmp_path) not in walls.readable()
    finally:
        walls.readable.cache_clear()


def test_a_machine_without_bubblewrap_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls.shutil, "which", lambda name: None)
    walls.state.cache_clear()
    try:
        state = walls.state()
        assert not state.wall.bubblewrap
        assert any("bubblewrap: it is not installed" in words for words in state.missing)
    finally:
        walls.state.cache_clear()


def test_a_bubblewrap_that_is_refused_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n"
    )
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    walls.state.cache_clear()
    try:
        state = walls.state()
        assert not state.wall.bubblewrap
        assert any("No permissions to create a new namespace" in words for words in state.missing)
    finally:
        walls.state.cache_clear()


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        ("bubblewrap", "it is not installed"),
        ("own processes", "other processes: bwrap: no"),
        ("landlock", "Landlock"),
        ("seccomp", "seccomp"),
        ("privileges", "no_new_privs"),
        ("network", "network"),
        ("files", "files"),
        ("signals", "signalled"),
        ("user", "root"),
    ],
)
def test_each_layer_that_is_missing_is_named(layer: str, words: str) -> None:
    names = ("bubblewrap", "own processes", "privileges", "landlock", "seccomp")
    all_there = dict.fromkeys((*names, "network", "files", "signals", "user"), 1)
    assert walls._missing(all_there, []) == []
    complaints = ["bwrap: no"] if layer == "own processes" else []
    (said,) = walls._missing({**all_there, layer: 0}, complaints)
    assert words in said


def test_a_confined_worker_runs_nothing_under_sanitisers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(walls.CONFINED, "run")
    with pytest.raises(UsageError) as caught:
        runner.run_c("", "main", [], settings=runner.Settings(sanitized=True))
    assert "sanitisers" in caught.value.message


def test_only_programs_of_python_are_confined() -> None:
    with pytest.raises(ValueError, match="only Python"):
        walls.confine(COMPILE, ["/bin/sh"], "/tmp")


def test_users_differ_from_process_to_process() -> None:
    many = walls.Wall(user=walls.FIRST_USER)
    assert len({walls.fresh_user(many) for _ in range(20)}) == 20
    assert walls.fresh_user(replace(many, user=walls.NOBODY)) == walls.NOBODY
    assert walls.fresh_user(walls.Wall()) == 0
