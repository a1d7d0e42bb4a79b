"""Run a server under mixed use for so many answers, and record the memory of its process.

    python -m bench.soak [--answers 12000] [--remark "what the machine did beside this"]

The server is a real one on loopback. Its caches are made small, so that their bounds are reached in
the first quarter; what grows after that has none. It is used for as many answers as a class of
thirty asks for in an hour, one each nine seconds and pupil, in as little time as the machine
takes for them. Each of a few clients does one kind
of thing again and again, with a program, an input, a link or a page of its own each time: edits,
runs with results, links and all their forms, ids that there are not, lectures, requests that are
none, and long ones.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from app.clients import TOKEN_HEADER
from bench.classroom import TOO_LONG, serving
from bench.compile import program_of
from bench.machine import processor_seconds, save
from bench.readers import FORMS, megabytes
from testing.web_process import web_process

ANSWERS = 12_000
PAUSE = 0.02
"""Seconds between two things that one client does."""
SMALL = {"CACHE_MB": 8, "RESULTS_MB": 8, "RENDERED_MB": 4, "LECTURES": 20, "LINKS_MB": 64}
"""Bounds that are reached soon."""
WHOLE = [{"op": "check"}, {"op": "show"}]
"""Requests about a text: all stages with all lines."""
GOAL = 10.0
"""Percent that memory may grow by, in the second half."""


@dataclass(slots=True)
class Soak:
    """A server that is used, and what was seen."""

    port: int
    stop: threading.Event = field(default_factory=threading.Event)
    statuses: Counter[str] = field(default_factory=Counter)
    samples: list[tuple[int, float]] = field(default_factory=list)
    """Answers so far, and megabytes."""
    links: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def answered(self) -> int:
        """The number of answers so far."""
        with self.lock:
            return self.statuses.total()

    def ask(self, method: str, path: str, body: Any = None, page: str = "") -> Any:
        """An answer's object, or its bytes; its status is counted."""
        headers = {TOKEN_HEADER: page or f"page-{random.getrandbits(64):016x}"}
        headers |= {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TOO_LONG)
        with contextlib.closing(connection):
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            with self.lock:
                self.statuses[str(response.status)] += 1
            if "json" in response.headers.get("Content-Type", ""):
                return json.loads(response.read())
            while response.read(1 << 16):
                pass
            return {}


def edits(soak: Soak, number: int) -> None:
    """Send the requests of the page about a text."""
    source = f"{program_of((10, 30, 100)[number % 3])}-- {random.random()}\n"
    soak.ask("POST", "/api/batch", {"source": source, "options": {}, "requests": WHOLE})


def runs(soak: Soak, number: int) -> None:
    """A run whose results are kept, of an input that is typed."""
    values = ", ".join(f"{random.randrange(100)}i32" for _ in range(20_000))
    more = {"input": f"[{values}]", "backend": "ref"}
    soak.ask("POST", "/api/run", {"source": "entry main (xs: []i32) = xs", **more})


def links(soak: Soak, number: int) -> None:
    """A link, and all that can be read of it."""
    source = f"{program_of(10)}-- {random.random()}\n"
    name = soak.ask("POST", "/api/share", {"source": source, "options": {}}).get("id")
    soak.links += [name] * bool(name)
    for path in FORMS.values():
        soak.ask("GET", path.format(name))


def older_links(soak: Soak, number: int) -> None:
    """Read a link that was made before, and may have been dropped."""
    if soak.links:
        name = random.choice(soak.links)
        soak.ask("GET", list(FORMS.values())[number % len(FORMS)].format(name))


def nonsense(soak: Soak, number: int) -> None:
    """Ids, pages and requests that are none."""
    name = f"{random.getrandbits(50):010x}"
    soak.ask("GET", f"/z/{name}/preview.png")
    soak.ask("GET", f"/{name}")
    soak.ask("POST", "/api/check", b"{" * (1 + number % 1000))
    soak.ask("POST", "/api/share", {"source": f"let x = {name}"})


def long_requests(soak: Soak, number: int) -> None:
    """Some that are taken, and some that are not."""
    soak.ask("POST", "/api/run", {"source": "", "input": "1\n" * 1_000_000, "backend": "ref"})
    thresholds = {f"t{k}": k for k in range(30_000)}
    soak.ask("POST", "/api/check", {"source": "", "options": {"thresholds": thresholds}})


def lectures(soak: Soak, number: int) -> None:
    """A lecture that shows something, and is forgotten."""
    made = soak.ask("POST", "/api/lecture", {})
    if made.get("ok"):
        path = f"/api/lecture/{made['id']}"
        view = {"source": program_of(100), "panes": [], "options": {}}
        soak.ask("POST", path, {"secret": made["secret"], "page": "p", "view": view})
        soak.ask("GET", f"{path}?after=-1")
        soak.ask("POST", path, {"secret": made["secret"], "page": "p", "end": True})


KINDS: tuple[Callable[[Soak, int], None], ...] = (
    *(edits, runs, links, older_links),
    *(nonsense, long_requests, lectures),
)


def use(soak: Soak, kind: Callable[[Soak, int], None]) -> None:
    """One kind of thing, until all is answered."""
    for number in itertools.count():
        if soak.stop.wait(PAUSE):
            return
        try:
            kind(soak, number)
        except (OSError, http.client.HTTPException) as error:
            with soak.lock:
                soak.statuses[type(error).__name__] += 1


@contextmanager
def small_server() -> Iterator[tuple[int, int]]:
    """A server whose bounds are reached soon; its port and process."""
    settings = {f"STRIDESCOPE_{name}": str(value) for name, value in SMALL.items()}
    temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with temporary as folder, mock.patch.dict("os.environ", settings), serving(folder) as found:
        yield found


def measure(answers: int) -> dict[str, Any]:
    """Megabytes of the web process after each hundredth of the answers, and what was answered."""
    with small_server() as (port, server):
        soak, process, used = Soak(port), web_process(server), processor_seconds(server)
        threads = [threading.Thread(target=use, args=(soak, kind)) for kind in KINDS]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        for number in range(1, 101):
            while (answered := soak.answered) < answers * number / 100:
                time.sleep(0.02)
            soak.samples.append((answered, megabytes(process)))
        took, used = time.monotonic() - began, processor_seconds(server) - used
        soak.stop.set()
        for thread in threads:
            thread.join()
    found = {"samples": soak.samples, "statuses": dict(soak.statuses), **summary(soak.samples)}
    return {**found, "seconds": round(took, 1), "processor_s": round(used, 1)}


def summary(samples: list[tuple[int, float]]) -> Mapping[str, float]:
    """The means of the second and the last quarter, and by how much they differ."""
    quarter = len(samples) // 4
    second = [mb for _, mb in samples[quarter : 2 * quarter]]
    last = [mb for _, mb in samples[-quarter:]]
    before, after = sum(second) / len(second), sum(last) / len(last)
    return {
        "second_quarter_mb": round(before, 1),
        "last_quarter_mb": round(after, 1),
        "most_mb": max(mb for _, mb in samples),
        "growth_percent": round(100 * (after / before - 1), 1),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Whether the server's memory stays what it is.")
    parser.add_argument("--answers", type=int, default=ANSWERS, help="how much it is used")
    parser.add_argument("--remark", default="", help="a sentence about the machine, kept with it")
    args = parser.parse_args()
    found = measure(args.answers)
    for at, mb in found["samples"][9::10]:
        print(f"{at:7} answers {mb:7.1f} MB")
    names = ("second_quarter_mb", "last_quarter_mb", "most_mb", "growth_percent")
    print(", ".join(f"{name} {found[name]}" for name in names), f"(goal {GOAL} %)")
    print(f"statuses: {found['statuses']}")
    print(f"{found['processor_s']} s of the processor in {found['seconds']} s")
    figures = {**found, "goal_percent": GOAL, "remark": args.remark}
    command = f"python -m bench.soak --answers {args.answers}"
    print(f"written to {save('soak', command, figures).name}")


if __name__ == "__main__":
    main()
