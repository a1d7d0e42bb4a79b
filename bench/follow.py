"""Measure a hundred followers of a lecture: the delay of each change, and the cost.

    python -m bench.follow [--remark "what the machine did beside this"]

The server is a real one on loopback, with every limit on and nothing more generous for this
machine. The followers, all behind one address, ask for what is newer, as their pages do, and ask
for what the page asks of a new text when the teacher's page has its answers. The teacher types:
first the text, then, when it is compiled, the same as compiled; between two texts the selection
moves. Beside them somebody else at another address compiles programs of their own, one after the
other: before the lecture, while the followers wait, and while the teacher types.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import http.client
import json
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from app.clients import TOKEN_HEADER
from bench.classroom import EDIT, TOO_LONG, percentile, serving
from bench.compile import program_of
from bench.machine import processor_seconds, save

FOLLOWERS = 100
TEXTS = 10
PAUSE = 2.0
"""Seconds between two things that the teacher does."""
LINES = 30
CLASS, TEACHER, OTHER = "127.0.0.1", "127.0.0.3", "127.0.0.2"
GOAL = 1.0
"""Seconds for 95 of 100 followers to have a change."""


class Page:
    """One page on a connection that it keeps."""

    def __init__(self, port: int, address: str, token: str) -> None:
        self._port, self._address = port, address
        self._headers = {TOKEN_HEADER: token, "Accept-Encoding": "gzip"}
        self._open: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None, stream: bool = False) -> bytes:
        """The answer. OSError for every status but 200."""
        for last in (False, True):
            if self._open is None:
                self._open = http.client.HTTPConnection(
                    "127.0.0.1", self._port, timeout=TOO_LONG, source_address=(self._address, 0)
                )
            kind = "text/event-stream" if stream else "application/json"
            headers = {**self._headers, "Accept": kind, "Content-Type": "application/json"}
            text = None if body is None else json.dumps(body)
            try:
                self._open.request(method, path, text, headers)
                response = self._open.getresponse()
                data = response.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if last:
                    raise
                continue  # a connection that is kept may have been closed meanwhile
            if response.status != 200:
                raise OSError(f"status {response.status}")
            zipped = response.headers.get("Content-Encoding") == "gzip"
            return gzip.decompress(data) if zipped else data
        raise AssertionError

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
        self._open = None


@dataclass(slots=True)
class Record:
    """When what was published, and what followers and the others had to wait, in seconds."""

    published: dict[int, tuple[str, float]] = field(default_factory=dict)
    delays: dict[str, list[float]] = field(default_factory=lambda: {"view": [], "stages": []})
    others: dict[str, list[float]] = field(default_factory=dict)
    seen: int = 0
    failures: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def follower(number: int, port: int, name: str, record: Record, stop: threading.Event) -> None:
    """Ask for what is newer until the end, and for the stages of each compiled text."""
    page = Page(port, CLASS, f"follower-number-{number:08}")
    after = -1
    with contextlib.closing(page):
        while not stop.is_set():
            began = time.monotonic()
            try:
                answer = json.loads(page.ask("GET", f"/api/lecture/{name}?after={after}"))
                had = time.monotonic()
                if answer["number"] > after:
                    after = answer["number"]
                    _had(record, after, "view", had)
                    view = answer["view"] or {}
                    if view.get("compiled"):
                        page.ask("POST", "/api/batch", {**view["program"], "requests": EDIT}, True)
                        _had(record, after, "stages", time.monotonic())
                    continue
            except OSError:
                with record.lock:
                    record.failures += 1
            stop.wait(max(0.0, began + 1.0 - time.monotonic()))


def _had(record: Record, number: int, what: str, at: float) -> None:
    with record.lock:
        if number in record.published:
            record.delays[what].append(at - record.published[number][1])
        record.seen += what == "view"


def other(port: int, part: list[str], record: Record, stop: threading.Event) -> None:
    """Compile one new program a second."""
    page = Page(port, OTHER, "somebody-else-somewhere")
    count = 0
    with contextlib.closing(page):
        while not stop.is_set():
            count += 1
            source = f"{program_of(LINES)}\n-- other {count}\n"
            began = time.monotonic()
            page.ask(
                "POST", "/api/batch", {"source": source, "options": {}, "requests": EDIT}, True
            )
            with record.lock:
                record.others.setdefault(part[0], []).append(time.monotonic() - began)
            stop.wait(0.5)


def measure() -> dict[str, Any]:
    """All of it: seconds, and the server's processor time."""
    record, stop, part = Record(), threading.Event(), ["before"]
    busy: dict[str, float] = {}
    temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with temporary as folder, serving(folder) as (port, server):
        teacher = Page(port, TEACHER, "the-teacher-the-teacher")
        lecture = json.loads(teacher.ask("POST", "/api/lecture", {}))
        path = f"/api/lecture/{lecture['id']}"

        def publish(program: dict[str, Any], compiled: bool, hash_: str = "") -> None:
            view = {"source": program["source"], "program": program, "compiled": compiled}
            body = {"secret": lecture["secret"], "page": "teacher", "view": {**view, "hash": hash_}}
            number = len(record.published) + 1
            with record.lock:
                record.published[number] = hash_, time.monotonic()
            assert json.loads(teacher.ask("POST", path, body))["number"] == number

        beside = threading.Thread(target=other, args=(port, part, record, stop), daemon=True)
        beside.start()
        time.sleep(PAUSE * 4)
        threads = [
            threading.Thread(
                target=follower, args=(k, port, lecture["id"], record, stop), daemon=True
            )
            for k in range(FOLLOWERS)
        ]
        for thread in threads:
            thread.start()
        _until(lambda: record.seen >= FOLLOWERS)
        with _counted(server, busy, "while they wait"):
            part[0] = "while they wait"
            time.sleep(PAUSE * 4)
        with _counted(server, busy, "while the teacher types"):
            part[0] = "while the teacher types"
            for k in range(TEXTS):
                source = program_of(LINES).replace("reduce (+) 0", f"reduce (+) {k + 7}")
                program = {"source": source, "options": {}}
                publish(program, compiled=False)
                teacher.ask("POST", "/api/batch", {**program, "requests": EDIT}, True)
                publish(program, compiled=True)
                time.sleep(PAUSE)
                publish(program, compiled=False, hash_=f"#L{k}")
                time.sleep(PAUSE)
        _until(lambda: record.seen >= FOLLOWERS * (1 + len(record.published)), PAUSE * 10)
        stop.set()
        for thread in (*threads, beside):
            thread.join(TOO_LONG)
        teacher.close()
    return {
        "changes": len(record.published),
        "missed": FOLLOWERS * (1 + len(record.published)) - record.seen,
        "failures": record.failures,
        "delays_s": {
            what: [percentile(values, p) for p in (50, 95, 100)]
            for what, values in record.delays.items()
        },
        "others_s": {
            what: [percentile(values, p) for p in (50, 95, 100)]
            for what, values in record.others.items()
        },
        "cores": busy,
    }


@contextlib.contextmanager
def _counted(server: int, busy: dict[str, float], name: str) -> Any:
    began, before = time.monotonic(), processor_seconds(server)
    yield
    used = processor_seconds(server) - before
    busy[name] = round(used / (time.monotonic() - began), 3)


def _until(done: Any, seconds: float = TOO_LONG) -> None:
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        time.sleep(0.05)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="How soon followers have what a teacher does.")
    parser.add_argument("--remark", default="", help="a sentence about the machine, kept with it")
    args = parser.parse_args()
    figures = {"followers": FOLLOWERS, "goal_s": GOAL, "remark": args.remark, **measure()}
    print(json.dumps(figures, indent=2))
    print(f"written to {save('follow', 'python -m bench.follow', figures).name}")


if __name__ == "__main__":
    main()
