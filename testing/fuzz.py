"""Send bad input, and check that every answer is well-formed, with valid places, and in time.

The kinds are check (programs), protocol (lines of the worker's), run-text and run-binary (values on
the command line), prove (questions about LMADs). A report is an answer of kind `internal`, or none,
a span that is not inside of the text, an answer that is no JSON, or one that takes longer than
`SECONDS`. Processes that die are reported with the case that they died of.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import multiprocessing
import os
import random
import resource
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from compiler.__main__ import main
from compiler.base.spans import lines
from compiler.base.stack import with_deep_stack
from compiler.command_line.status import INTERNAL, OK
from compiler.driver import worker
from testing.generators import inputs as generate

Json = dict[str, Any]
BATCH = 1000
"""Cases of one process."""
SECONDS = 60
"""After which a case counts as endless; the machine may be busy with other things."""
MEMORY = 3 << 30
"""Bytes of address space that a process may add: two deep stacks, and room for a case to use up."""
START = "forkserver"
"""The start method of worker processes."""
KINDS = ("check", "protocol", "run-text", "run-binary", "prove")


@dataclass
class Report:
    """Results of a fuzzing run: `found` has (case, what), `outcomes` counts answers by kind."""

    found: list[tuple[int, str]] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, -1)
    """Seconds of processors, and which case."""

    def add(self, other: Report) -> None:
        """Both together."""
        self.found += other.found
        self.outcomes += other.outcomes
        self.slowest = max(self.slowest, other.slowest)


class Wrong(Exception):
    """An answer that should not be."""


# --- one case --------------------------------------------------------------------------------


def spans(answer: Any) -> Iterator[list[int]]:
    """All spans in an answer."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name == "span" and value is not None:
                yield value
            elif name == "src":
                yield from value
            else:
                yield from spans(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from spans(value)


def check_spans(answer: Json, source: str) -> None:
    """Raise Wrong for a span that is not a piece of the text, its newlines included."""
    widths = [len(line) for line in source.split("\n")]
    assert len(widths) == len(lines(source))

    def inside(line: int, column: int) -> bool:
        return 1 <= line <= len(widths) and 1 <= column <= widths[line - 1] + 1

    for span in spans(answer):
        first, last = (span[0], span[1]), (span[2], span[3])
        at_newline = span[2] < len(widths) and span[3] == widths[span[2] - 1] + 2
        if not inside(*first) or not (inside(*last) or at_newline) or first > last:
            raise Wrong(f"the span {span} of a text of {len(widths)} lines")


def check_answer(answer: Json, source: str = "") -> str:
    """The outcome of an answer. Raises Wrong."""
    text = json.dumps(answer, allow_nan=False)
    if len(text) > 2_000_000 + 1000 * len(source):
        raise Wrong(f"an answer of {len(text)} characters")
    if answer["ok"]:
        check_spans(answer, source)
        return "ok"
    error = answer["error"]
    for one in (error, *error["errors"]):
        if one["kind"] == "internal":
            raise Wrong(one["message"])
        if not one["message"].strip():
            raise Wrong("an error without a message")
    check_spans(answer, source)
    return str(error["kind"])


def try_check(rng: random.Random) -> str:
    """A program is checked."""
    source = generate.source(rng)
    return check_answer(worker.answer({"op": "check", "source": source}), source)


def try_prove(rng: random.Random) -> str:
    """A question is asked."""
    asked = json.loads(json.dumps(generate.problem(rng)))
    return check_answer(worker.answer(asked))


def try_protocol(rng: random.Random) -> str:
    """A line is sent; the last of the answers, all of which are JSON, is what counts."""
    line = generate.line(rng)
    if not line.strip():
        return "nothing"
    out = io.BytesIO()
    worker.serve_lines(io.BytesIO(line), out)
    answers = [json.loads(text) for text in out.getvalue().splitlines()]
    if not answers or any(not one.get("partial") for one in answers[:-1]):
        raise Wrong(f"{len(answers)} answers")
    last = answers[-1]
    with contextlib.suppress(ValueError, RecursionError):
        request = json.loads(line)
        source = request.get("source") if isinstance(request, dict) else None
        if isinstance(source, str) and "path" not in request:
            return check_answer(last, source)
    return check_answer(last)


def _command(program: str, data: bytes, folder: Path) -> str:
    """`stridescope run`: the outcome by its exit status."""
    source, given = folder / "program.fut", folder / "input"
    source.write_text(program)
    given.write_bytes(data)
    backend = "c" if len(data) % 20 == 0 else "ref"
    said = io.TextIOWrapper(io.BytesIO(), "utf-8")
    complained = io.StringIO()
    arguments = [
        "run",
        str(source),
        "--input",
        str(given),
        "--backend",
        backend,
        "--deadline",
        "0.2",
    ]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        status = main(arguments)
    message = complained.getvalue()
    if status == INTERNAL or "Traceback" in message:
        raise Wrong(message[:500])
    if status != OK and not message.strip():
        raise Wrong("an error without a message")
    return "ok" if status == OK else "refused"


def _run(rng: random.Random, case: Callable[[random.Random], tuple[str, str | bytes]]) -> str:
    program, data = case(rng)
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory() as folder:
        return _command(program, raw, Path(folder))


TRY: dict[str, Callable[[random.Random], str]] = {
    "check": try_check,
    "protocol": try_protocol,
    "run-text": lambda rng: _run(rng, generate.run_text),
    "run-binary": lambda rng: _run(rng, generate.run_binary),
    "prove": try_prove,
}


def seeded(kind: str, case: int) -> random.Random:
    """Return the random generator of a case."""
    return random.Random(f"{kind} {case}")


def _spent() -> float:
    """Seconds that this process and those it has waited for have computed."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def try_case(kind: str, case: int, report: Report) -> None:
    """Try one case and write down what came of it."""
    start = _spent()
    try:
        outcome = TRY[kind](seeded(kind, case))
    except Wrong as wrong:
        report.found.append((case, str(wrong)))
        outcome = "wrong"
    except Exception as error:
        report.found.append((case, f"{type(error).__name__}: {error}"[:500]))
        outcome = "wrong"
    report.outcomes[outcome] += 1
    report.slowest = max(report.slowest, (_spent() - start, case))


# --- many ------------------------------------------------------------------------------------


def _mapped() -> int:
    """Bytes of address space that the process has already, of its parent if it was forked."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    return pages * resource.getpagesize()


def _child(kind: str, first: int, count: int, now: Any, out: Connection) -> None:
    """The cases of one batch, in a process of its own."""
    limit = MEMORY + _mapped()
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    report = Report()

    def work() -> None:
        for case in range(first, first + count):
            now.value = case
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try_case(kind, case, report)
            faulthandler.cancel_dump_traceback_later()

    with_deep_stack(work)
    out.send(report)


def run_batch(kind: str, first: int, count: int) -> Report:
    """The cases of one batch. A process that dies is reported, and the next goes on behind it."""
    context: Any = multiprocessing.get_context(START)
    total, end = Report(), first + count
    while first < end:
        now = context.Value("q", first)
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(kind, first, end - first, now, theirs))
        process.start()
        theirs.close()
        try:
            total.add(ours.recv())
            first = end
        except EOFError:
            process.join()
            total.found.append((now.value, f"the process died, status {process.exitcode}"))
            first = now.value + 1
        process.join()
    return total
