"""A hundred readers of one permalink at once: how long each waits, and what each costs the server.

    python -m bench.readers [--remark "what the machine did beside this"]

The server is a real one on loopback, with every limit on and nothing more generous for this
machine. A reader asks for the page, and then, as its script does, for the JSON: each on a
connection of its own, all at the same time. The link holds the example with the longest texts.

They read a link that has just been made; the same again, as a browser that has it; the same
from a server that has to take it from its database; one that nobody has read since an upgrade; and
one whose page was dropped, so that it has to be made.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import sqlite3
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.clients import TOKEN_HEADER
from bench.classroom import CLASS, TOO_LONG, percentile, serving
from bench.machine import EXAMPLES, save

READERS = 100
EXAMPLE = "blocked_lu"
GOAL = 0.3
"""Seconds for 95 of 100 pages."""


@dataclass(slots=True)
class Readings:
    """Seconds of each answer by what was asked, their statuses, their bytes, their tags."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"page": [], "json": []})
    statuses: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def ask(port: int, path: str, headers: dict[str, str]) -> tuple[int, int, str]:
    """Status, bytes and tag of an answer."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=TOO_LONG, source_address=(CLASS, 0)
    )
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"Accept-Encoding": "gzip", **headers})
        response = connection.getresponse()
        return response.status, len(response.read()), response.headers.get("ETag", "")


def reader(number: int, port: int, name: str, known: dict[str, str], found: Readings) -> None:
    """Read the page, then the JSON."""
    token = {TOKEN_HEADER: f"reader-number-{number:08}"}
    for what, path, headers in (("page", f"/z/{name}", {}), ("json", f"/z/{name}.json", token)):
        if what in known:
            headers = {**headers, "If-None-Match": known[what]}
        began = time.monotonic()
        try:
            status, size, tag = ask(port, path, headers)
        except OSError as error:
            status, size, tag = -(error.errno or 1), 0, ""
        with found.lock:
            found.seconds[what].append(time.monotonic() - began)
            found.statuses[str(status)] = found.statuses.get(str(status), 0) + 1
            found.bytes[what] = size
            found.tags[what] = tag


def readers(port: int, server: int, name: str, known: dict[str, str]) -> tuple[Readings, float]:
    """All readers at once; and processor seconds of the server's processes for all of them."""
    found, before = Readings(), processor_seconds(server)
    threads = [
        threading.Thread(target=reader, args=(number, port, name, known, found))
        for number in range(READERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, processor_seconds(server) - before


def processor_seconds(pid: int) -> float:
    """What a process and all its descendants that live have used so far."""
    stats: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            ticks = int(fields[11]) + int(fields[12])
            stats[int(path.parent.name)] = int(fields[1]), ticks / os.sysconf("SC_CLK_TCK")
    family = {pid}
    while more := {one for one, (parent, _) in stats.items() if parent in family} - family:
        family |= more
    return sum(stats[one][1] for one in family if one in stats)


def make_link(port: int) -> str:
    """A new link to the example; its id."""
    body = json.dumps({"source": (EXAMPLES / f"{EXAMPLE}.fut").read_text(), "options": {}})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TOO_LONG)
    with contextlib.closing(connection):
        connection.request("POST", "/api/share", body, {"Content-Type": "application/json"})
        return str(json.loads(connection.getresponse().read())["id"])


def summary(found: Readings, seconds: float) -> dict[str, Any]:
    """Percentiles, outcomes, and milliseconds of processor for each answer."""
    return {
        "statuses": found.statuses,
        "bytes": found.bytes,
        "seconds": {
            what: [percentile(values, p) for p in (50, 95, 100)]
            for what, values in found.seconds.items()
        },
        "processor_ms_an_answer": round(1000 * seconds / (2 * READERS), 2),
    }


def measure() -> dict[str, Any]:
    """All parts."""
    parts: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with serving(folder) as (port, server):
            name = make_link(port)
            found, seconds = readers(port, server, name, {})
            parts["just made"] = summary(found, seconds)
            parts["known to the browser"] = summary(*readers(port, server, name, found.tags))
        with serving(folder) as (port, server):
            parts["from the database"] = summary(*readers(port, server, name, {}))
        for part, change in (
            ("not read since an upgrade", "update rendered set renderer = 'an earlier one'"),
            ("dropped", "delete from rendered"),
        ):
            database = sqlite3.connect(Path(folder) / "permalinks.sqlite")
            database.execute(change)
            database.commit()
            database.close()
            with serving(folder) as (port, server):
                parts[part] = summary(*readers(port, server, name, {}))
    return parts


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="How long the readers of a permalink wait.")
    parser.add_argument("--remark", default="", help="a sentence about the machine, kept with it")
    args = parser.parse_args()
    parts = measure()
    for name, part in parts.items():
        print(f"{name}: {part['statuses']}, {part['processor_ms_an_answer']} ms an answer")
        for what, (middle, most, largest) in part["seconds"].items():
            size = part["bytes"][what]
            print(f"  {what}: {size} B, p50 {middle} s, p95 {most} s, largest {largest} s")
    figures = {
        "parts": parts,
        "goal_s": GOAL,
        "readers": READERS,
        "example": EXAMPLE,
        "remark": args.remark,
    }
    print(f"written to {save('readers', 'python -m bench.readers', figures).name}")


if __name__ == "__main__":
    main()
