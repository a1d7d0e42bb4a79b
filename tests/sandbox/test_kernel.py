"""What a process asks of the system about itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


_HEAPS = """
import sys, threading
from compiler.sandbox import kernel
if sys.argv[1] == "one":
    kernel.one_heap()
kept = []
for _ in range(3):
    thread = threading.Thread(target=lambda: kept.append(bytearray(50_000)))
    thread.start()
    thread.join()
SIZE = 1 << 26
lines = [line.split() for line in open("/proc/self/maps")]
parts = [(*(int(at, 16) for at in where.split("-")), kind) for where, kind, *_ in lines]
heaps = [
    used
    for used, rest in zip(parts, parts[1:])
    if used[0] % SIZE == 0 and rest == (used[1], used[0] + SIZE, "---p")
]
print(len(heaps))
"""


def test_threads_share_one_heap() -> None:
    many, one = (
        int(
            subprocess.run(
                [sys.executable, "-c", _HEAPS, how], capture_output=True, cwd=ROOT
            ).stdout
        )
        for how in ("many", "one")
    )
    assert one < many or many == 0, "a C library whose threads share one anyway"
