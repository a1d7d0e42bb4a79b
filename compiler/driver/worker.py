"""The worker: one JSON object per line in, one per line out (architecture, section 5).

Requests with `"stream": true` get stages one by one as answers marked `"partial": true` before
the last one. Nothing but answers is written to standard output.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import IO, Any

from compiler import codes
from compiler.base.errors import (
    SyntaxError_,
    UsageError,
)
from compiler.base.spans import span_at
from compiler.base.stack import seldom_look_for_garbage, with_deep_stack
from compiler.driver import api as api  # nearly all requests need these: import them at once
from compiler.driver import checking as checking
from compiler.driver.answers import as_error, failure
from compiler.driver.disk import read_program
from compiler.frontend.files import check_paths
from compiler.protocol import packing, programs
from compiler.protocol.answering import Tell, answering, answers
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Json, OfProgram, Operation
from compiler.protocol.operations import OPERATIONS
from compiler.protocol.reading import checked, read_json
from compiler.sandbox import kernel

BETWEEN_ANSWERS = 100_000
"""New objects that trigger a collection after an answer: nobody waits then, and little of the
program is left to scan."""


def end_with_parent() -> None:
    """Have the kernel kill this process when the parent's thread ends, where supported."""
    with contextlib.suppress(OSError):
        kernel.die_with_parent()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until the input ends, each in a thread of its own.

    So a lowered priority, given to a long request, ends with its thread.
    """
    seldom_look_for_garbage()
    with contextlib.suppress(OSError):
        kernel.one_heap()
    for line in requests:
        with_deep_stack(partial(serve_lines, [line], answers))


def serve_lines(requests: Iterable[bytes], answers: IO[bytes]) -> None:
    """Answer requests on the current stack."""

    def send(told: bytes) -> None:
        answers.write(told)
        answers.flush()

    for line in requests:
        if line.strip():
            _serve_line(line, send)
            if gc.get_count()[0] > BETWEEN_ANSWERS:
                gc.collect(0)


def _serve_line(line: bytes, send: Callable[[bytes], None]) -> None:
    number: Any = None
    try:
        request = _request(line)
        number = _id(request)
        written = packing.packed if _is_packed(request) else packing.line
    except UsageError as error:
        send(packing.line({"id": number, **failure(error)}))
        return

    def tell(told: Json) -> None:
        send(written({"id": number, **told}))

    tell(answer(request, tell))


def _request(line: bytes) -> Json:
    try:
        request = read_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(
            f"The request is malformed: byte {error.start} is not UTF-8 text."
        ) from None
    except UsageError as error:
        raise UsageError(f"The request is malformed: {error.message}") from None
    if not isinstance(request, dict):
        raise UsageError("The request is malformed: a request must be a JSON object.")
    return request


def _id(request: Json) -> object:
    number = request.get("id")
    if number is not None and not isinstance(number, str | int | float):
        raise UsageError("`id` must be a string or a number.")
    return number


def _is_packed(request: Json) -> bool:
    packed = request.pop("packed", None)
    if not isinstance(packed, bool | None):
        raise UsageError("`packed` must be true or false.")
    return packed is True


def answer(request: Json, partial: Callable[[Json], None] | None = None) -> Json:
    """Answer one request, without its id; never raises."""
    source = ""
    files: dict[str, str] = {}
    try:
        operation = _operation(request)
        given = dict(request)
        if "source" in fields(operation.request):
            given["source"] = source = _source(given)
        _check_text(given)
        asked = operation.request(**checked(operation, given, own=True))
        if isinstance(asked, OfProgram) and request.get("path") is None:
            check_paths(asked.files, asked.main)
        files = getattr(asked, "files", files)
        found: Json = answering(operation)(asked, *((partial,) if operation.partial else ()))
        return found
    except Exception as problem:
        return dict(failure(as_error(problem), source, files))


def _operation(request: Json) -> Operation[Any]:
    name = request.get("op")
    if isinstance(name, str) and name in OPERATIONS:
        return OPERATIONS[name]
    named = f" `{name}`" if isinstance(name, str) else ""
    raise UsageError(f"There is no operation{named}.", hint=f"There are {', '.join(OPERATIONS)}.")


def _check_text(data: object) -> None:
    """Raise an error for strings that are no valid text, at any depth."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UsageError(
            "The request contains half of a surrogate pair, which is not a character."
        ) from None


def _source(given: Json) -> str:
    """Take the program from a request: its `source`, or the file at its `path`."""
    if given.get("path") is not None:
        path = given.pop("path")
        if not isinstance(path, str):
            raise UsageError("`path` must be a string.")
        _check_text(path)
        if not os.path.isfile(path) and os.path.exists(path):
            raise UsageError(f"Cannot read `{path}`: it is not a file.")
        program = read_program(path)
        given["files"], given["main"] = program.files, program.main
        return program.source
    source = given.get("source")
    if source is None:
        raise UsageError("The request lacks `source`.")
    if not isinstance(source, str):
        raise UsageError("`source` must be a string.")
    try:
        source.encode()
    except UnicodeEncodeError as error:
        span = span_at(source, error.start)
        raise SyntaxError_(
            codes.syntax.NOT_TEXT, "Half of a surrogate pair is not a character.", span
        ) from None
    return source


@answers(programs.BATCH)
def _batch(asked: programs.BatchRequest, tell: Tell | None) -> programs.BatchAnswer:
    """Answer each request as if alone; when streaming, send each answer at once."""
    stream = tell if asked.stream else None
    answers: list[Json] = []
    for number, one in enumerate(asked.requests):
        operation = OPERATIONS.get(str(one.get("op")))
        if operation is not None and not operation.batched:
            raise UsageError(f"`{operation.id}` cannot be part of a batch.")

        before: Json = {}

        def part(told: Json, number: int = number, before: Json = before) -> None:
            if asked.whole and told.get("partial"):
                before.update(told["stages"])
            elif stream:
                stream({"ok": True, "partial": True, "request": number, "answer": told})

        told = answer(_member(asked, one, operation), part)
        if before and not told.get("ok"):  # what came before the error stays
            told = {**told, "stages": before}
        if not stream:
            answers.append(told)
        elif told.get("ok") and one.get("op") == "show" and not asked.whole:
            part({**told, "stages": {}})  # they are all there already
        else:
            part(told)
    return {"ok": True} if stream else {"ok": True, "answers": answers}


def _member(batch: programs.BatchRequest, one: Json, operation: Operation[Any] | None) -> Json:
    """Add to a request the fields of its batch."""
    shared = {name: getattr(batch, name) for name in (*fields(OfProgram), "stream")}
    own = {name: value for name, value in one.items() if name not in (*shared, "path")}
    known = fields(operation.request) if operation is not None else {}
    return {**own, **{name: value for name, value in shared.items() if name in known}}
