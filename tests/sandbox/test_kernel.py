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
starts = [int(line.split("-")[0], 16) for line in open("/proc/self/maps")]
print(sum(start % (1 << 26) == 0 for start in starts))
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
