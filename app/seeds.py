"""The grammar's tables and the checked prelude, which new workers begin with, in the user's cache.

No worker can leave them there, and each would take half a second to make them. So a process does
it once for all, while the server is being imported.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
import time

SECONDS = 60.0
"""After which workers start without them."""
COMMAND = (sys.executable, "-m", "compiler.__main__", "worker")
ASKED = b'{"op": "check", "source": "entry main = 0i64"}\n'


class Seeds:
    """The process that makes them. It may be waited for in a child of who has started it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._until = 0.0
        self._made = False

    def begin(self) -> None:
        """Start the process, if none was started."""
        with self._lock:
            if self._process is not None:
                return
            with contextlib.suppress(OSError):
                self._process = subprocess.Popen(
                    COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
                self._until = time.monotonic() + SECONDS
                assert self._process.stdin is not None
                self._process.stdin.write(ASKED)
                self._process.stdin.close()

    def wait(self) -> None:
        """Wait until they are made, or will not be; not at all where they were not begun."""
        with self._lock:
            if self._process is None or self._made:
                return
            assert self._process.stdout is not None
            pipe = self._process.stdout.fileno()
            while (left := self._until - time.monotonic()) > 0:
                if select.select([pipe], [], [], left)[0] and not os.read(pipe, 1 << 16):
                    break
            self._made = True


SEEDS = Seeds()
