"""What a process said on standard error before it ended, so that its end can be explained."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading

KEPT = 1 << 14
"""Bytes of what a process says that are kept: the last ones."""
SHOWN = 500
"""Characters of it that an error has."""
END_SECONDS = 5.0
"""What a process may take to end that has closed its channel."""


class LastWords:
    """Reads what a process says, so that it never waits for a reader."""

    def __init__(self) -> None:
        self.heard = b""
        self.reads, self.writes = os.pipe()
        """The end to give the process; `begin` closes the own one."""
        self.thread = threading.Thread(target=self._listen, daemon=True)

    def begin(self) -> None:
        """The process has its end."""
        os.close(self.writes)
        self.thread.start()

    def _listen(self) -> None:
        with os.fdopen(self.reads, "rb", buffering=0) as end:
            while said := end.read(KEPT):
                self.heard = (self.heard + said)[-KEPT:]

    def of(self, process: subprocess.Popen[bytes]) -> str:
        """How a process ended, and the last line that it said: what Python has for an error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        self.thread.join(END_SECONDS)
        lines = [line for line in self.heard.decode(errors="replace").splitlines() if line.strip()]
        said = "".join(c for c in (lines or [""])[-1].strip() if c.isprintable())[-SHOWN:]
        return f"{said} ({ending(process.returncode)})" if said else ending(process.returncode)


def ending(status: int | None) -> str:
    """An exit status in words."""
    if status is None:
        return "it closed its channel"
    if status >= 0:
        return f"exit status {status}"
    name = signal.Signals(-status).name if -status in {*signal.Signals} else f"{-status}"
    return f"signal {name}"
