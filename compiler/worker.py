"""The worker: one JSON object per line in, one per line out (architecture, section 5).

Requests with `"stream": true` get the stages one by one as answers marked `"partial": true` before
the last one. Nothing but answers is written to standard output.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from compiler import api
from compiler.answers import failure
from compiler.base.errors import (
    CompileError,
    CompilerBug,
    Limitation,
    RuntimeError_,
    SyntaxError_,
    UsageError,
)
from compiler.base.spans import place_of
from compiler.sandbox import kernel

Json = dict[str, Any]
STACK_BYTES = 1 << 29
"""Address space, of which only what is used counts: programs nest as deeply as they like."""
RECURSION_LIMIT = 200_000
GARBAGE_THRESHOLD = 200_000
"""Programs are trees without cycles: looking for garbage often costs a third of the time."""

LONGEST_PROGRAM = 1 << 26
"""Bytes of a file."""

_MISSING: Any = object()


def with_deep_stack(work: Callable[[], None]) -> None:
    """Call `work` in a thread in which deep recursion is safe, and wait for it."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION_LIMIT)
    failed: list[BaseException] = []

    def guarded() -> None:
        threading.stack_size(before)  # here, so that no thread of the work gets such a stack
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=guarded)
    before = threading.stack_size(STACK_BYTES)
    thread.start()
    thread.join()
    sys.setrecursionlimit(limit)
    if failed:
        raise failed[0]


def end_with_parent() -> None:
    """Have this process killed when the thread that started it ends, where the system can."""
    with contextlib.suppress(OSError):
        kernel.die_with_parent()


def serve(requests: IO[bytes], answers: IO[str]) -> None:
    """Answer requests until the input ends."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    with_deep_stack(lambda: serve_lines(requests, answers))


def serve_lines(requests: IO[bytes], answers: IO[str]) -> None:
    """Answer requests on the stack that there is."""

    def send(answer: Json) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    for line in requests:
        if line.strip():
            _serve_line(line, send)


def _serve_line(line: bytes, send: Callable[[Json], None]) -> None:
    number: Any = None
    try:
        request = _request(line)
        number = _id(request)
    except UsageError as error:
        send({"id": number, **failure(error)})
        return
    send({"id": number, **answer(request, lambda part: send({"id": number, **part}))})


def _request(line: bytes) -> Json:
    try:
        request = read_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"This is no request: byte {error.start} is not UTF-8 text.") from None
    except UsageError as error:
        raise UsageError(f"This is no request: {error.message}") from None
    if not isinstance(request, dict):
        raise UsageError("This is no request: a request is a JSON object.")
    return request


def _id(request: Json) -> Any:
    number = request.get("id")
    if number is not None and not isinstance(number, str | int | float):
        raise UsageError("`id` is text or a number.")
    return number


def read_json(text: str) -> Any:
    """What a text in JSON says; numbers are finite. Raises UsageError."""
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_float)
    except RecursionError:
        raise UsageError("it nests too deeply.") from None
    except ValueError as error:
        raise UsageError(f"{error}.") from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name[:40]} is no number here")


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def answer(request: Json, partial: Callable[[Json], None] | None = None) -> Json:
    """The answer to one request, without its id; never an exception."""
    source = ""
    try:
        operation = request.get("op")
        if not isinstance(operation, str) or operation not in _OPERATIONS:
            known = ", ".join(_OPERATIONS)
            named = f" `{operation}`" if isinstance(operation, str) else ""
            raise UsageError(f"There is no operation{named}.", hint=f"There are {known}.")
        if operation not in _WITHOUT_PROGRAM:
            source = _source(request)
        _check_text(request)
        return _OPERATIONS[operation](source, request, partial)
    except Exception as problem:
        return failure(as_error(problem), source)


def as_error(problem: Exception) -> CompileError:
    """What a user is told of an exception, whatever it is."""
    match problem:
        case CompileError():
            return problem
        case RecursionError():
            return Limitation("This nests too deeply.")
        case MemoryError():
            return RuntimeError_("There is not enough memory for this.")
    return CompilerBug(
        f"{type(problem).__name__}: {problem}",
        hint="This is a defect of Stridescope, not of the program.",
    )


def _check_text(data: Any) -> None:
    """Refuse strings that are no text, at whatever depth: they cannot be written anywhere."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UsageError(
            "The request holds half of a surrogate pair, which is no character."
        ) from None


def read_source(path: str | Path) -> str:
    """A program's text from a file. Raises UsageError where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LONGEST_PROGRAM + 1)
    except OSError as error:
        raise UsageError(f"Cannot read `{path}`: {error.strerror}.") from None
    except ValueError as error:  # a zero byte
        raise UsageError(f"This is no path: {error}.") from None
    if len(data) > LONGEST_PROGRAM:
        raise UsageError(f"`{path}` is longer than {LONGEST_PROGRAM} bytes: that is no program.")
    return decode_source(data)


def decode_source(data: bytes) -> str:
    """UTF-8 text. Raises a syntax error at the place of the first byte that is none."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise SyntaxError_(
            f"The byte 0x{data[error.start]:02x} is not UTF-8 text.",
            place_of(before + "?", len(before)),
            "Save the file as UTF-8.",
        ) from None


def _source(request: Json) -> str:
    if "path" in request:
        path = _text(request, "path")
        _check_text(path)
        if not os.path.isfile(path) and os.path.exists(path):
            raise UsageError(f"Cannot read `{path}`: it is no file.")
        return read_source(path)
    source = _text(request, "source")
    try:
        source.encode()
    except UnicodeEncodeError as error:
        span = place_of(source, error.start)
        raise SyntaxError_("Half of a surrogate pair is no character.", span) from None
    return source


def _text(request: Json, name: str, default: Any = _MISSING) -> str:
    value = request.get(name, default)
    if value is _MISSING:
        raise UsageError(f"The request lacks `{name}`.")
    if not isinstance(value, str):
        raise UsageError(f"`{name}` is a string.")
    return value


def _object(request: Json, name: str) -> Json:
    value = request.get(name)
    if value is not None and not isinstance(value, dict):
        raise UsageError(f"`{name}` is an object.")
    return value or {}


def _numbers(request: Json, name: str) -> dict[str, int]:
    value = _object(request, name)
    for number in value.values():
        if not api.is_whole(number):
            raise UsageError(f"`{name}` maps names to whole numbers of at most 64 bits.")
    return value


def _whole(request: Json, name: str, default: int) -> int:
    value: int = request.get(name, default)
    if not api.is_whole(value):
        raise UsageError(f"`{name}` is a whole number of at most 64 bits.")
    return value


def _longest(request: Json) -> int | None:
    return None if request.get("longest") is None else _whole(request, "longest", 0)


def _seconds(request: Json) -> float:
    value = request.get("deadline", 60.0)
    if not isinstance(value, float) and not api.is_whole(value):
        raise UsageError("`deadline` is a number of seconds.")
    return float(value)


def _inputs(request: Json) -> api.Inputs:
    if "sizes" in request and "input" not in request:
        return api.Inputs("", _numbers(request, "sizes"), _whole(request, "seed", 1))
    return api.Inputs(_text(request, "input", ""))


Partial = Callable[[Json], None] | None


def _manifest(_source: str, _request: Json, _partial: Partial) -> Json:
    return {"ok": True, "stages": api.manifest(), "switches": api.switchable()}


def _backends(_source: str, _request: Json, _partial: Partial) -> Json:
    return {"ok": True, "backends": api.backends()}


def _check(source: str, request: Json, _partial: Partial) -> Json:
    return api.check(source, _object(request, "options"))


def _show(source: str, request: Json, partial: Partial) -> Json:
    stages = request.get("stages")
    if stages is not None and not (
        isinstance(stages, list) and all(isinstance(s, str) for s in stages)
    ):
        raise UsageError("`stages` is a list of ids.")
    stream = partial if request.get("stream") else None
    return api.show(source, stages, _object(request, "options"), stream)


def _run(source: str, request: Json, _partial: Partial) -> Json:
    return api.run(
        source,
        _text(request, "entry", ""),
        _inputs(request),
        _text(request, "backend", "c"),
        _text(request, "stage", "") if request.get("stage") is not None else "",
        _object(request, "options"),
        _seconds(request),
        _longest(request),
    )


def _generate(source: str, request: Json, _partial: Partial) -> Json:
    sizes, seed = _numbers(request, "sizes"), _whole(request, "seed", 1)
    entry, options = _text(request, "entry", ""), _object(request, "options")
    return api.generate(source, entry, sizes, seed, options, _longest(request))


def _memory(source: str, request: Json, _partial: Partial) -> Json:
    stage, array = _text(request, "stage", "funmem"), _text(request, "array", "")
    numbers, kernel = _numbers(request, "values"), _text(request, "kernel", "")
    return api.memory(source, stage, array, numbers, _object(request, "options"), kernel)


def _tuning(source: str, request: Json, _partial: Partial) -> Json:
    return api.tuning_tree(source, _object(request, "options"))


def _validity(source: str, request: Json, _partial: Partial) -> Json:
    entry, options = _text(request, "entry", ""), _object(request, "options")
    return api.check_validity(source, entry, _inputs(request), options)


def _prove(_source: str, request: Json, _partial: Partial) -> Json:
    certified = request.get("certificate", False)
    if not isinstance(certified, bool):
        raise UsageError("`certificate` is true or false.")
    return api.prove(request.get("assumptions"), request.get("a"), request.get("b"), certified)


def _certificate(source: str, request: Json, _partial: Partial) -> Json:
    return api.certificate(source, _object(request, "options"))


def _cells(_source: str, request: Json, _partial: Partial) -> Json:
    lmads = request.get("lmads")
    if not isinstance(lmads, list):
        raise UsageError("`lmads` is a list.")
    return api.cells(request.get("assumptions"), lmads, _numbers(request, "values"))


def _lifetimes(source: str, request: Json, _partial: Partial) -> Json:
    values = _numbers(request, "values") if "values" in request else None
    stage = _text(request, "stage", "funmem")
    return api.lifetimes(source, stage, values, _object(request, "options"))


def _interference(source: str, request: Json, _partial: Partial) -> Json:
    stage = _text(request, "stage", "expanded")
    return api.interference(source, stage, _object(request, "options"))


def _bounds(source: str, request: Json, _partial: Partial) -> Json:
    return api.bounds(source, _object(request, "options"))


def _attempts(source: str, request: Json, _partial: Partial) -> Json:
    return api.attempts(source, _object(request, "options"))


def _batch(source: str, request: Json, partial: Partial) -> Json:
    """Several requests about one program; streamed, each answer comes as soon as it is there."""
    requests = request.get("requests")
    if not isinstance(requests, list) or not all(isinstance(one, dict) for one in requests):
        raise UsageError("`requests` is a list of objects.")
    stream = partial if request.get("stream") else None
    answers: list[Json] = []
    for number, one in enumerate(requests):
        if one.get("op") in _ALONE:
            raise UsageError(f"`{one['op']}` is asked for alone.")

        def tell(part: Json, number: int = number) -> None:
            if stream:
                stream({"ok": True, "partial": True, "request": number, "answer": part})

        shared = {"source": source, "options": request.get("options"), "stream": bool(stream)}
        told = answer({**one, **shared}, tell)
        if not stream:
            answers.append(told)
        elif told.get("ok") and one.get("op") == "show":
            tell({**told, "stages": {}})  # they are all there already
        else:
            tell(told)
    return {"ok": True} if stream else {"ok": True, "answers": answers}


_WITHOUT_PROGRAM = ("manifest", "backends", "prove", "cells")
_ALONE = ("manifest", "backends", "run", "validity", "batch")
"""Operations that are no part of a batch."""

_OPERATIONS: dict[str, Callable[[str, Json, Partial], Json]] = {
    "manifest": _manifest,
    "backends": _backends,
    "check": _check,
    "show": _show,
    "run": _run,
    "generate": _generate,
    "memory": _memory,
    "tuning": _tuning,
    "validity": _validity,
    "prove": _prove,
    "cells": _cells,
    "lifetimes": _lifetimes,
    "interference": _interference,
    "attempts": _attempts,
    "bounds": _bounds,
    "certificate": _certificate,
    "batch": _batch,
}
