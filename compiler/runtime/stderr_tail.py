"""Keep the last standard error of a process, to explain its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading

KEPT = 1 << 14
"""The last bytes of a process's output that are kept."""
SHOWN = 500
"""Characters of it that an error shows."""
END_SECONDS = 5.0
"""Seconds for a process that has closed its channel to end."""


class StderrTail:
    """Drains a process's output, so that it never blocks."""

    def __init__(self) -> None:
        self.heard = b""
        self.reads, self.writes = os.pipe()
        """The pipe; the process gets the writing end, `begin` closes our copy."""
        self.thread = threading.Thread(target=self._listen, daemon=True)

    def begin(self) -> None:
        """Start reading, once the process has its end."""
        os.close(self.writes)
        self.thread.start()

    def _listen(self) -> None:
        with os.fdopen(self.reads, "rb", buffering=0) as end:
            while said := end.read(KEPT):
                self.heard = (self.heard + said)[-KEPT:]

    def of(self, process: subprocess.Popen[bytes]) -> str:
        """Describe the end of a process: its status and last line (Python's error message)."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        self.thread.join(END_SECONDS)
        lines = [line for line in self.heard.decode(errors="replace").splitlines() if line.strip()]
        said = "".join(c for c in (lines or [""])[-1].strip() if c.isprintable())[-SHOWN:]
        return f"{said} ({ending(process.returncode)})" if said else ending(process.returncode)


def ending(status: int | None) -> str:
    """Describe an exit status."""
    if status is None:
        return "it closed its channel"
    if status >= 0:
        return f"exit status {status}"
    name = signal.Signals(-status).name if -status in {*signal.Signals} else f"{-status}"
    return f"signal {name}"
