"""Run compilers and other tools: text in, bytes out; kill them with all their children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from compiler import codes
from compiler.base.errors import Limitation

SECONDS = 120
"""Seconds that a tool may take for one program."""


def run(
    command: Sequence[str],
    given: bytes,
    folder: Path,
    title: str,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, bytes, bytes]:
    """Return exit status, output and error output; temporary files go to `folder`.

    Raises Limitation, naming the tool by its `title`, if it takes too long.
    """
    env = {**(os.environ if environment is None else environment), "TMPDIR": str(folder)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as process:
        try:
            told, said = process.communicate(given, SECONDS)
        except BaseException as error:
            _kill(process.pid)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise Limitation(
                codes.limits.RESOURCES,
                f"{title} needs more than {SECONDS} s for this program",
                hint="Run it with the reference interpreter, or compile a part of it.",
            ) from None
    return process.returncode, told, said


def _kill(pid: int) -> None:
    """Kill a tool with its child processes."""
    children: list[int] = []
    for tasks in Path(f"/proc/{pid}").glob("task/*/children"):
        with contextlib.suppress(OSError):
            children += map(int, tasks.read_text().split())
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for child in children:
        _kill(child)
