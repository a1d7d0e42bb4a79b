"""Describe the machine and commit of a measurement, and save figures."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
UNAVAILABLE = 69
"""The exit status of a command whose machine has no GPU."""
RESULTS = Path(__file__).parent / "results"
EXAMPLES = ROOT / "app" / "examples"


def describe() -> dict[str, Any]:
    """The processor, the number of cores, the versions, the day."""
    model = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "commit": commit.stdout.strip(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def processor_seconds(pid: int) -> float:
    """Return CPU seconds of a process and its descendants, without children not waited for."""
    stats: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            ticks = sum(map(int, fields[11:15]))  # its own, and of children that have ended
            stats[int(path.parent.name)] = int(fields[1]), ticks / os.sysconf("SC_CLK_TCK")
    family = {pid}
    while more := {one for one, (parent, _) in stats.items() if parent in family} - family:
        family |= more
    return sum(stats[one][1] for one in family if one in stats)


def save(name: str, command: str, figures: Any, **more: Any) -> Path:
    """Write figures as JSON, with the machine and the command that made them, and `more`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    data = {"machine": describe(), "command": command, **more, "figures": figures}
    path.write_text(json.dumps(data, indent=2) + "\n")
    return path


def words(doc: str | None, names: str = "") -> list[str]:
    """The words behind a command, which takes none unless `names` says what they are.

    Ends with the command's help where that is asked for, with usage where words are not known.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if names:
        parser.add_argument("words", nargs="*", metavar=names)
    return list(getattr(parser.parse_args(), "words", ()))
