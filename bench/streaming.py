"""Measure FlatPack programs on files read window by window, next to a plain read of the file.

    python -m bench.streaming [GIGABYTES] [FOLDER] [--remark "what the machine did beside this"]

The file is a simulation as that of FlatPack's paper, 600 x 250 x 250 values of 32 bits a step, with
as many steps as there is room for. In turns, with the file dropped from the system's memory before
each: all bytes read into one buffer of 4 MB, and the programs. Then the same with a file that is in
memory, which must be smaller. A program's time is that of its readings, without compiling; its
memory is all that its process had at the worst moment, files that it has mapped included. Each is
compared with the read right before it, since a disk that others use too is not always as fast.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from itertools import chain
from operator import truediv
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import save
from compiler.base.context import Options
from compiler.driver import streaming

PLACES = 600 * 250 * 250
PROGRAMS = {
    "sum": "type f32\nmain (steps : n) = sum steps\n",
    "largest change between neighbours": "type f32\n"
    "main (steps : n) = Fold max 0 (tail steps - init steps)\n",
    "slice and downsample": "type f32\nmain (steps : time Of 600 Of 250 Of 250) =\n"
    "  Fold (+) 0 (Twist (Smap (DownSample 4 . Smap (Smap (Slice 0)))) steps)\n",
}
ROUNDS = {"in memory": 3, "on disk": 3}
BUFFER = 1 << 22


def make(path: Path, steps: int) -> None:
    """A file of so many steps."""
    step = np.random.default_rng(1).random(PLACES, np.float32)
    with path.open("wb") as file:
        for k in range(steps):
            file.write((step + k).astype(np.float32).data)
        file.flush()
        os.fsync(file.fileno())


def forget(path: Path) -> None:
    """Drop a file from the system's memory."""
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def plain(path: Path) -> float:
    """Seconds that reading all bytes takes."""
    buffer = bytearray(BUFFER)
    began = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - began


def measure(path: Path, cold: bool, rounds: int) -> dict[str, Any]:
    """The median bandwidths in GB/s of reading and of all programs, and their memory."""
    size = path.stat().st_size
    read: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    took: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    most = dict.fromkeys(PROGRAMS, 0)
    for _ in range(rounds):
        for name, source in PROGRAMS.items():
            if cold:
                forget(path)
            read[name].append(plain(path))
            if cold:
                forget(path)
            done = streaming.run(source, Options(main="a.fp"), {"steps": str(path)})
            took[name].append(done.ms / 1000)
            most[name] = max(most[name], done.peak_bytes)
    programs = {
        name: {
            "gb_per_s": round(size / statistics.median(times) / 1e9, 3),
            "of_a_read": round(statistics.median(map(truediv, read[name], times)), 3),
            "least_and_most": [
                round(one(map(truediv, read[name], times)), 3) for one in (min, max)
            ],
            "memory_mb": round(most[name] / 1e6, 1),
        }
        for name, times in took.items()
    }
    return {
        "bytes": size,
        "read_gb_per_s": round(size / statistics.median(chain(*read.values())) / 1e9, 3),
        "programs": programs,
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="How fast FlatPack programs go through a file.")
    parser.add_argument("gigabytes", nargs="?", type=float, default=20.0)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--remark", default="", help="a sentence about the machine, kept with it")
    args = parser.parse_args()
    gigabytes: float = args.gigabytes
    figures: dict[str, Any] = {"remark": args.remark, "files": {}}
    with tempfile.TemporaryDirectory(dir=args.folder) as made:
        for name, size in (("in memory", min(gigabytes, 2.0)), ("on disk", gigabytes)):
            path = Path(made) / "steps.bin"
            make(path, max(2, int(size * 1e9) // (PLACES * 4)))
            figures["files"][name] = measure(path, name == "on disk", ROUNDS[name])
            print(name, figures["files"][name], flush=True)
            path.unlink()
    save("streaming", f"python -m bench.streaming {gigabytes:g}", figures)


if __name__ == "__main__":
    main()
