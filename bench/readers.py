"""Measure a hundred readers of one permalink at once: their waits, and the cost for the server.

    python -m bench.readers [--remark "what the machine did beside this"]

The server is a real one on loopback, with every limit on and nothing more generous for this
machine. A reader asks for one form of a link (its page, its JSON, what is embedded elsewhere, ..),
each on a connection of its own, all at the same time. The link holds the example with the longest
texts.

They read a link that has just been made; the same again, as a browser that has it; the same from
another server on the same data; one that nobody has read since an upgrade; and one whose forms were
dropped, so that they have to be made.

Then one client asks for the largest form of a link as often as it may, and reads nothing it is
sent, while somebody else asks for the front page; and eight clients send requests as long as any
that are taken, and longer ones. The memory of the web process is looked at.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import multiprocessing
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from app.clients import TOKEN_HEADER
from bench.classroom import CLASS, HOSTILE, TOO_LONG, percentile, serving
from bench.machine import EXAMPLES, processor_seconds, save
from testing.web_process import web_process

READERS = 100
EXAMPLE = "blocked_lu"
GOAL = 0.3
"""Seconds for 95 of 100 readers."""
MEMORY_GOAL = 300
"""MB of the web process."""
GREEDY = 20
"""Requests at a time of the client that asks for much."""
SENDERS = 8
ATTACK_SECONDS = 10.0
FORMS = {
    "page": "/z/{}",
    "json": "/z/{}.json",
    "embed": "/embed/{}?stages=source,fused,c&theme=dark",
    "picture": "/z/{}/preview.png",
    "one file": "/z/{}/offline.html",
    "zip": "/z/{}/source.zip",
    "stage": "/z/{}/c.txt",
}


@dataclass(slots=True)
class Readings:
    """Seconds of each answer, their statuses, bytes and tag."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    tag: str = ""
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


def reader(number: int, port: int, path: str, known: str, found: Readings) -> None:
    """Read one form, which is perhaps known under a tag."""
    headers = {TOKEN_HEADER: f"reader-number-{number:08}"}
    if known:
        headers["If-None-Match"] = known
    began = time.monotonic()
    try:
        status, size, tag = ask(port, path, headers)
    except OSError as error:
        status, size, tag = -(error.errno or 1), 0, ""
    with found.lock:
        found.seconds.append(time.monotonic() - began)
        found.statuses[str(status)] += 1
        found.bytes, found.tag = size, tag


def readers(port: int, path: str, known: str = "") -> Readings:
    """All readers of a form at once."""
    found = Readings()
    threads = [
        threading.Thread(target=reader, args=(number, port, path, known, found))
        for number in range(READERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def every_form(
    port: int, server: int, name: str, tags: Mapping[str, str] = {}
) -> tuple[dict[str, Any], dict[str, str]]:
    """Figures of each form, one after the other; and their tags."""
    parts, found_tags = {}, {}
    for form, path in FORMS.items():
        before = processor_seconds(server)
        found = readers(port, path.format(name), tags.get(form, ""))
        spent = processor_seconds(server) - before
        found_tags[form] = found.tag
        parts[form] = {
            "statuses": dict(found.statuses),
            "bytes": found.bytes,
            "seconds": [percentile(found.seconds, p) for p in (50, 95, 100)],
            "processor_ms_an_answer": round(1000 * spent / READERS, 2),
        }
    return parts, found_tags


def beside(port: int, server: int, what: str) -> dict[str, Any]:
    """Measure the front page's latency beside another process, and the server's memory."""
    with multiprocessing.get_context("spawn").Pool(1) as others:
        done = others.apply_async(attack, (port, what, ATTACK_SECONDS))
        time.sleep(2.0)  # until it has started
        waits: list[float] = []
        while not done.ready():
            asked = time.monotonic()
            ask(port, "/", {TOKEN_HEADER: "reader-of-the-page-000"})
            waits.append(time.monotonic() - asked)
            time.sleep(0.05)
    return {
        "requests": done.get(),
        "seconds": [percentile(waits, p) for p in (50, 95, 100)],
        "web_process_mb": peak_megabytes(web_process(server)),
    }


def attack(port: int, what: str, seconds: float) -> int:
    """Ask for the forms of a link, or send long requests if it is ""; how often, in so long."""
    until = time.monotonic() + seconds
    doing = (
        [partial(_ask_and_read_nothing, port, what, n) for n in range(GREEDY)]
        if what
        else [partial(_send_long, port, n) for n in range(SENDERS)]
    )
    with ThreadPoolExecutor(len(doing)) as threads:
        return sum(threads.map(lambda one: one(until), doing))


def _ask_and_read_nothing(port: int, name: str, number: int, until: float) -> int:
    """Ask again and again, without gzip, which makes the answer long."""
    path = (FORMS["one file"], FORMS["embed"])[number % 2].format(name)
    for count in itertools.count():
        if time.monotonic() > until:
            return count
        with contextlib.suppress(OSError), socket.socket() as sock:
            sock.settimeout(TOO_LONG)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.bind((HOSTILE, 0))
            sock.connect(("127.0.0.1", port))
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            sock.sendall(head.encode())
            sock.recv(100)
            time.sleep(0.2)
    raise AssertionError


def _send_long(port: int, number: int, until: float) -> int:
    """Send what is as long as any that is taken, what is longer, and what has many entries."""
    taken = {"source": "", "input": "1\n" * 2_000_000, "backend": "ref"}
    thresholds = dict.fromkeys(map(str, range(70_000)), 1)
    bodies = [
        json.dumps(taken).encode(),
        json.dumps({**taken, "more": "x" * 8_000_000}).encode(),
        json.dumps({"source": "", "options": {"thresholds": thresholds}}).encode(),
    ]
    headers = {TOKEN_HEADER: f"sender-number-{number:08}", "Content-Type": "application/json"}
    for count in itertools.count():
        if time.monotonic() > until:
            return count
        connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=TOO_LONG, source_address=(HOSTILE, 0)
        )
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request("POST", "/api/run", bodies[count % 3], headers)
            connection.getresponse().read()
    raise AssertionError


def peak_megabytes(pid: int) -> float:
    """The most memory that a process has had."""
    return _megabytes(pid, "VmHWM")


def megabytes(pid: int) -> float:
    """The memory that a process has now."""
    return _megabytes(pid, "VmRSS")


def _megabytes(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (found,) = [line for line in lines if line.startswith(f"{name}:")]
    return round(int(found.split()[1]) / 1024, 1)


def make_link(port: int, source: str = "") -> str:
    """A new link, to the example if to nothing else; its id."""
    source = source or (EXAMPLES / f"{EXAMPLE}.fut").read_text()
    body = json.dumps({"source": source, "options": {}})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TOO_LONG)
    with contextlib.closing(connection):
        connection.request("POST", "/api/share", body, {"Content-Type": "application/json"})
        return str(json.loads(connection.getresponse().read())["id"])


def measure() -> dict[str, Any]:
    """All parts, and what a greedy client does to others."""
    parts: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with serving(folder) as (port, server):
            name = make_link(port)
            parts["just made"], tags = every_form(port, server, name)
            parts["known to the browser"], _ = every_form(port, server, name, tags)
        with serving(folder) as (port, server):
            parts["from another server"], _ = every_form(port, server, name)
            others = {"greedy": beside(port, server, name), "senders": beside(port, server, "")}
        changes: tuple[tuple[str, Callable[[Path], None]], ...] = (
            ("not read since an upgrade", _age),
            ("dropped", partial(Path.unlink, missing_ok=True)),
        )
        for part, change in changes:
            for path in (Path(folder) / "forms").iterdir():
                change(path)
            with serving(folder) as (port, server):
                parts[part], _ = every_form(port, server, name)
    return {"parts": parts, **others}


def _age(path: Path) -> None:
    """Make what is kept that of an earlier version."""
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"renderer":"', b'"renderer":"not', 1))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="How long the readers of a permalink wait.")
    parser.add_argument("--remark", default="", help="a sentence about the machine, kept with it")
    args = parser.parse_args()
    found = measure()
    for name, part in found["parts"].items():
        print(name)
        for form, one in part.items():
            middle, most, largest = one["seconds"]
            print(
                f"  {form:9} {one['statuses']}, {one['bytes']} B, p50 {middle} s, p95 {most} s, "
                f"largest {largest} s, {one['processor_ms_an_answer']} ms an answer"
            )
    print(f"beside a greedy client: {found['greedy']}")
    print(f"beside long requests: {found['senders']}")
    figures = {
        **found,
        "goal_s": GOAL,
        "memory_goal_mb": MEMORY_GOAL,
        "readers": READERS,
        "greedy_requests": GREEDY,
        "senders_clients": SENDERS,
        "example": EXAMPLE,
        "remark": args.remark,
    }
    print(f"written to {save('readers', 'python -m bench.readers', figures).name}")


if __name__ == "__main__":
    main()
