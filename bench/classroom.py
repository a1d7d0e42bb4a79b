"""Measure the answers of a server to a class, alone and beside a hostile client.

    python -m bench.classroom [--remark "what the machine did beside this"]

Thirty pupils behind one address open the page within ten seconds, write programs of three sizes
(each its own, so that no cache helps) and ask of them what the page asks: one batch with the check,
the stages and the map of memory. Ten of them run theirs.
The server is a real one on loopback, with every limit on and nothing more generous for this
machine. The hostile client comes from an address of its own, and asks for compiles and runs that
never end, two of each at a time, again and again; or the same under a new name each time.

A class of a hundred comes as well, and one to a server that has just been started and knows
nothing. Modules are compiled before, as setting up does. What the page shows first, the check, is
timed by itself. The processor's seconds of the server are counted, which depend less than waiting
on what else the machine does.

Everything is bounded: each part ends when the class has its answers, after two minutes at the
latest.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from app.clients import TOKEN_HEADER
from app.first_view import SHOWN
from bench.compile import program_of
from bench.machine import ROOT, processor_seconds, save
from compiler.driver.pipeline import MEMORY_STAGES
from compiler.sandbox import walls
from testing import endless
from testing.ports import free_port

PUPILS = 30
RUNS = sum(number % 3 == number // 3 % 3 for number in range(PUPILS))
SECONDS = 10.0
"""Within which they all come."""
LINES = (10, 30, 100)
EDIT: list[dict[str, Any]] = [
    {"op": "check"},
    {"op": "show", "texts": list(SHOWN[0])},
    {"op": "places"},
    *({"op": "lifetimes", "stage": stage, "values": {}} for stage in MEMORY_STAGES),
]
"""Requests of the page about a text as it is first arranged."""
TOO_LONG = 120.0
CLASS, HOSTILE = "127.0.0.1", "127.0.0.2"
MANY = 100
"""A class of many pupils."""
GOALS = {"alone": 2.0, "beside a hostile client": 3.0}
"""Seconds for 95 of 100 answers."""
GOALS_OF = {
    "alone": {"check": 0.5, "edit": 3.0},
    "on a server just started": {"check": 0.5, "edit": 3.0},
    f"a class of {MANY}": {"edit": 4.0},
}
"""The same of what was asked."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer: what was asked, by a program of how many lines, seconds, and what came."""

    what: str
    lines: int
    seconds: float
    outcome: str


@dataclass(slots=True)
class Record:
    """The observations of one part."""

    samples: list[Sample] = field(default_factory=list)
    hostile: dict[str, int] = field(default_factory=dict)
    told_place: int = 0
    """The number of edits and runs that were told a place in the queue."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Browser:
    """One page: an address and a token."""

    def __init__(self, port: int, address: str, token: str) -> None:
        self._port = port
        self._address = address
        self._headers = {
            TOKEN_HEADER: token,
            "Content-Type": "application/json",
            "Accept-Encoding": "gzip",
        }
        self.first = 0.0
        """Seconds until the first part of the last streamed answer."""
        self.places = 0
        """The number of times that it was told its place in the queue."""

    def ask(self, method: str, path: str, body: Any = None, stream: bool = False) -> str:
        """The whole answer's outcome: `ok`, or what kind of refusal or error it is."""
        accept = "text/event-stream" if stream else "application/json"
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=TOO_LONG, source_address=(self._address, 0)
        )
        with contextlib.closing(connection):
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {**self._headers, "Accept": accept})
            began = time.monotonic()
            response = connection.getresponse()
            data = self._read(response, began)
        if response.status != 200:
            return f"status {response.status}"
        if body is None:
            return "ok"
        if stream:
            data = data.rstrip().rpartition(b"\ndata: ")[2]
        answer = json.loads(data)
        return "ok" if answer.get("ok") else str(answer["error"]["kind"])

    def _read(self, response: http.client.HTTPResponse, began: float) -> bytes:
        zipped = response.headers.get("Content-Encoding") == "gzip"
        unpacker, data = zlib.decompressobj(31), b""
        self.first = 0.0
        while chunk := response.read1(1 << 16):
            data += unpacker.decompress(chunk) if zipped else chunk
            if not self.first and b"event: part\n" in data:
                self.first = time.monotonic() - began
        self.places = data.count(b"event: queued\n")
        return data


def runs_theirs(number: int) -> bool:
    """Return True if this pupil also runs the program: one of three, of each size."""
    return number % 3 == (number // 3) % 3


def pupil(number: int, port: int, record: Record) -> None:
    """Open the page and compile; some also run. One after another, as the page does."""
    lines = LINES[number % len(LINES)]
    source = program_of(lines).replace("in reduce (+) 0", f"in {number + 1} + reduce (+) 0")
    browser = Browser(port, CLASS, f"pupil-number-{number:08}")
    body = {"source": source, "options": {}}
    asked: list[tuple[str, str, str, Any, bool]] = [
        ("page", "GET", "/", None, False),
        ("edit", "POST", "/api/batch", {**body, "requests": EDIT}, True),
    ]
    if runs_theirs(number):
        more = {**body, "entry": "main", "sizes": {"n": 1000}, "seed": 1, "backend": "c"}
        asked.append(("run", "POST", "/api/run", more, True))
    for what, method, path, given, stream in asked:
        began = time.monotonic()
        try:
            outcome = browser.ask(method, path, given, stream)
        except OSError as error:
            outcome = type(error).__name__
        with record.lock:
            record.samples.append(Sample(what, lines, time.monotonic() - began, outcome))
            if what == "edit" and outcome == "ok":
                record.samples.append(Sample("check", lines, browser.first, outcome))
            record.told_place += stream and browser.places > 0


def hostile(port: int, stop: threading.Event, record: Record, forges: bool) -> None:
    """Two endless compiles and two endless runs at a time until told to stop."""

    def ask_on(number: int) -> None:
        count = 0
        while not stop.is_set():
            count += 1
            token = f"hostile-{number}-{count:08}" if forges else "hostile-hostile-hostile"
            browser = Browser(port, HOSTILE, token)
            op, source, more = (
                ("show", endless.COMPILE, {})
                if number % 2
                else ("run", endless.RUN, {"input": "10i64", "backend": "c"})
            )
            body = {"source": f"{source}\n-- {number} {count}\n", **more}
            try:
                outcome = browser.ask("POST", f"/api/{op}", body)
            except OSError as error:
                outcome = type(error).__name__
            with record.lock:
                record.hostile[outcome] = record.hostile.get(outcome, 0) + 1
            stop.wait(0.2)

    for number in range(4):
        threading.Thread(target=ask_on, args=(number,), daemon=True).start()


@contextmanager
def server(warm: bool = True) -> Iterator[tuple[int, int]]:
    """A server with nothing kept from before; its port and process."""
    temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with temporary as folder, serving(folder, warm) as found:
        yield found


@contextmanager
def serving(folder: str, warm: bool = True) -> Iterator[tuple[int, int]]:
    """A server that keeps everything in this folder; its port and process.

    If it is `warm`, its workers begin with what any use of the compiler leaves in a user's cache,
    and each has answered; else it is there as soon as it gives the page.
    """
    port = free_port()
    if warm:
        kept = Path(folder) / "stridescope"
        kept.mkdir(mode=0o700, exist_ok=True)
        for seed in walls.seeds().values():
            shutil.copy(seed, kept)
    process = subprocess.Popen(
        [sys.executable, "-m", "compiler", "serve", "--port", str(port)],
        cwd=ROOT,
        env={
            **os.environ,
            "XDG_CACHE_HOME": folder,
            "STRIDESCOPE_DATA": folder,
            "STRIDESCOPE_LOCAL_FACTOR": "1",
        },
        stdout=subprocess.DEVNULL,
    )
    try:
        _warm(port) if warm else _there(port)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _there(port: int) -> None:
    """Wait until the server gives its page."""
    until, browser = time.monotonic() + TOO_LONG, Browser(port, CLASS, "before-the-class")
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            if browser.ask("GET", "/") == "ok":
                return
        time.sleep(0.05)


def _warm(port: int) -> None:
    """Wait until every worker has answered."""
    until = time.monotonic() + TOO_LONG
    for number in range(8):
        browser = Browser(port, CLASS, f"before-the-class-{number}")
        for op, more in (("show", {}), ("run", {"backend": "c", "input": ""})):
            while time.monotonic() < until:
                try:
                    source = f"entry main: i64 = {number // 4}"
                    if browser.ask("POST", f"/api/{op}", {"source": source, **more}) == "ok":
                        break
                except OSError:
                    pass
                time.sleep(0.2)


def part(
    beside: Callable[[int, threading.Event, Record], None] | None = None,
    pupils: int = 0,
    warm: bool = True,
) -> dict[str, Any]:
    """One class of PUPILS, or so many, perhaps beside somebody; figures in seconds."""
    pupils = pupils or PUPILS
    record, stop = Record(), threading.Event()
    with server(warm) as (port, process):
        if beside is not None:
            beside(port, stop, record)
            time.sleep(2.0)
        began, used = time.monotonic(), processor_seconds(process)
        threads = []
        for number in range(pupils):
            time.sleep(max(0.0, began + SECONDS * number / pupils - time.monotonic()))
            thread = threading.Thread(target=pupil, args=(number, port, record), daemon=True)
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join(max(0.0, began + TOO_LONG - time.monotonic()))
        took, used = time.monotonic() - began, processor_seconds(process) - used
        stop.set()
    asked = 3 * pupils + sum(map(runs_theirs, range(pupils)))
    return {**summary(record, asked), "whole_s": round(took, 2), "processor_s": round(used, 2)}


def summary(record: Record, asked: int) -> dict[str, Any]:
    """Counts, outcomes and percentiles of what was asked."""
    kinds = sorted({(sample.what, sample.lines) for sample in record.samples})
    outcomes: dict[str, int] = {}
    for sample in record.samples:
        outcomes[sample.outcome] = outcomes.get(sample.outcome, 0) + 1
    return {
        "answers": len(record.samples),
        "missing": asked - len(record.samples),
        "told_place": record.told_place,
        "outcomes": outcomes,
        "p50_s": percentile([s.seconds for s in record.samples], 50),
        "p95_s": percentile([s.seconds for s in record.samples], 95),
        "largest_s": percentile([s.seconds for s in record.samples], 100),
        "by_what_s": {
            what: [
                percentile([s.seconds for s in record.samples if s.what == what], p)
                for p in (50, 95, 100)
            ]
            for what in sorted({sample.what for sample in record.samples})
        },
        "by_kind_s": {
            f"{what}, {lines} lines": [
                percentile(
                    [s.seconds for s in record.samples if (s.what, s.lines) == (what, lines)], p
                )
                for p in (50, 95, 100)
            ]
            for what, lines in kinds
        },
        "hostile": record.hostile,
    }


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that so many of 100 are not above; 0 without values."""
    ordered = sorted(values)
    return round(ordered[max(0, -(-len(ordered) * percent // 100) - 1)], 3) if ordered else 0.0


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "alone": part,
    "on a server just started": partial(part, warm=False),
    f"a class of {MANY}": partial(part, pupils=MANY),
    "beside a hostile client": partial(part, partial(hostile, forges=False)),
    "beside one who makes up names": partial(part, partial(hostile, forges=True)),
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="How long a class waits for its answers.")
    parser.add_argument("--remark", default="", help="a sentence about the machine, kept with it")
    parser.add_argument("--only", choices=PARTS, help="one part, which is not kept")
    args = parser.parse_args()
    compileall.compile_dir(ROOT / "compiler", quiet=1)  # as `make setup` does: no worker can
    compileall.compile_dir(ROOT / "app", quiet=1)
    parts = {name: measure() for name, measure in PARTS.items() if args.only in (None, name)}
    if any("status 400" in found["hostile"] for found in parts.values()):
        raise SystemExit("the hostile client's requests are malformed: nothing was measured")
    for name, found in parts.items():
        goal = f", goal {GOALS[name]:g} s" if name in GOALS else ""
        print(
            f"{name}: {found['answers']} answers, p50 {found['p50_s']} s, "
            f"p95 {found['p95_s']} s{goal}, largest {found['largest_s']} s; {found['outcomes']}, "
            f"{found['told_place']} told their place, {found['missing']} missing; "
            f"{found['processor_s']} s of the processor in {found['whole_s']} s"
        )
        for what, (middle, most, largest) in found["by_what_s"].items():
            told = GOALS_OF.get(name, {}).get(what, "-")
            print(f"  {what:18} p50 {middle:6.2f}  p95 {most:6.2f} (goal {told})  {largest:6.2f}")
        for kind, (middle, most, largest) in found["by_kind_s"].items():
            print(f"  {kind:18} p50 {middle:6.2f}  p95 {most:6.2f}  largest {largest:6.2f}")
        print(f"  hostile: {found['hostile']}")
    if args.only:
        return
    figures = {
        "parts": parts,
        "goals_s": GOALS,
        "goals_of_s": GOALS_OF,
        "pupils": PUPILS,
        "runs": RUNS,
        "seconds": SECONDS,
        "lines": LINES,
        "asks": "asks in one request for what the page first shows",
        "remark": args.remark,
    }
    print(f"written to {save('classroom', 'python -m bench.classroom', figures).name}")


if __name__ == "__main__":
    main()
