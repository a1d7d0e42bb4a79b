"""Kill the worker processes of a web process that has died, in whatever way.

Started by `app/worker.py` as a process of its own, outside the web process's session. It reads
lines from the web process: `+PID FOLDER` for a worker that leads a process group and has a folder
for its temporary files, `-PID` for one that has been stopped. When the pipe closes, which the
kernel does even for a process that was killed, it kills all groups that are left, with the C
compilers and programs in them, and removes their folders.

It is run as a file, not as a part of the package, so that it starts at once and stays small.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys


def main() -> None:
    """Watch until the pipe closes."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    folders: dict[int, str] = {}
    for line in sys.stdin:
        pid, _, folder = line[1:].rstrip("\n").partition(" ")
        if line[0] == "+":
            folders[int(pid)] = folder
        else:
            folders.pop(int(pid), None)
    for group in folders:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
