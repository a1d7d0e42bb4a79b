"""Disassemble GPU machine code with nvdisasm, in a sandbox.

    python -m compiler.runtime.nvdisasm TOOL

is the process that is replaced by the tool: machine code on standard input.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from compiler.base.errors import CompilerBug, UsageError
from compiler.runtime import nvrtc, tools
from compiler.sandbox import walls
from compiler.sandbox.policies import DISASSEMBLE

HINT = "Install `stridescope[cuda13]`, which needs no GPU for that."


def find() -> str:
    """Find nvdisasm. Raises UsageError where there is none."""
    found = next(map(str, nvrtc.packaged("bin/nvdisasm")), None) or shutil.which("nvdisasm")
    if found is None:
        raise UsageError("nvdisasm, which shows machine code, is not installed.", hint=HINT)
    return found


def instructions(cubin: bytes, tool: str) -> str:
    """Disassemble machine code. Raises CompilerBug if `tool` rejects it."""
    command = (sys.executable, "-m", "compiler.runtime.nvdisasm", tool)
    with tempfile.TemporaryDirectory(prefix="sass-", ignore_cleanup_errors=True) as scratch:
        made = walls.confine(DISASSEMBLE, command, scratch)
        status, told, said = tools.run(
            made.command, cubin, Path(scratch), "nvdisasm", made.environment
        )
    if status:
        complaint = (said or told).decode(errors="replace")[:2000]
        raise CompilerBug(f"nvdisasm refused our kernels:\n{complaint}")
    return told.decode(errors="replace")


def main() -> None:
    """Write standard input to a file in this process's own folder, and run the tool on it."""
    path = os.path.join(os.environ["TMPDIR"], "kernels.cubin")
    Path(path).write_bytes(sys.stdin.buffer.read())
    os.execv(sys.argv[1], [sys.argv[1], "-c", "-g", path])


if __name__ == "__main__":
    main()
