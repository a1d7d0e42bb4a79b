"""A process that makes the sheets of links, so that the server never unpacks a state.

    python -m app.sheet_worker --with-parent

It speaks the worker protocol; what is `attached` to a request follows its line. To `make` sheets it
has a link's id, its state as stored (attached), the names of sheets, and facts of the server
(`renderer`, `version`, `settings`). The answers have these sheets, in that order, in pieces
(`data`, in base64) of at most `PORTION` bytes; `ends` marks a sheet's last one. To `freeze` the
answers about a program it has these, and answers with the state as it is stored, in such pieces.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import IO, Any

from flask import Flask

from app.errors import BROKEN, AppError, failure
from app.factory import bare_app
from app.freezing import state_of
from app.permalinks import frozen
from app.sheet_rendering import Link, make
from app.sheets import written
from app.unpacking import DAMAGED, unpacked
from app.worker import ATTACHED
from compiler.protocol.kinds import Json
from compiler.sandbox import kernel

PORTION = 1 << 19


def answers(app: Flask, request: Json, attached: Sequence[bytes]) -> Iterator[Json]:
    """Yield the answers to one request."""
    match request.get("op"):
        case "make":
            return _sheets(app, request, attached[0])
        case "freeze":
            return _frozen(request, attached)
    return iter([failure("usage", "A maker makes sheets of links.")])


def _frozen(request: Json, attached: Sequence[bytes]) -> Iterator[Json]:
    """Make a state of answers."""
    try:
        made = datetime.fromisoformat(request["made"])
        stored = frozen(state_of(request, attached), made, request["most"])
    except AppError as error:
        yield {**error.shape(), "status": error.status}
        return
    for portion in _portions([stored.content]):
        yield {"ok": True, "partial": True, "data": b64encode(portion).decode()}
    yield {"ok": True, "digest": stored.digest}


def _sheets(app: Flask, request: Json, stored: bytes) -> Iterator[Json]:
    """Make sheets of a stored state."""
    try:
        state, text = unpacked(stored)
    except DAMAGED as error:
        yield {"ok": False, "damaged": repr(error)}
        return
    app.config.update(request["settings"])
    app.jinja_env.globals["version"] = request["version"]
    link = Link(request["name"], state, text)
    for sheet in request["sheets"]:
        about, pieces = make(app, sheet, link)
        last = b""
        for portion in _portions(written(request["renderer"], about, pieces)):
            if last:
                yield _answer(sheet, last, ends=False)
            last = portion
        yield _answer(sheet, last, ends=True)
    yield {"ok": True}


def _answer(sheet: str, data: bytes, ends: bool) -> Json:
    made = {"sheet": sheet, "data": b64encode(data).decode(), "ends": ends}
    return {"ok": True, "partial": True, **made}


def _portions(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Split bytes into pieces of bounded length."""
    for chunk in chunks:
        for at in range(0, len(chunk), PORTION):
            yield chunk[at : at + PORTION]


def serve(requests: IO[bytes], told: IO[str]) -> None:
    """Answer requests until the input ends, each in a thread of its own.

    So a lowered priority, given to a long request, ends with its thread.
    """
    with suppress(OSError):
        kernel.give_back_memory()
    app = bare_app({})
    for name in app.jinja_env.list_templates(["html"]):
        app.jinja_env.get_template(name)
    for line in requests:
        request = json.loads(line)
        attached = [requests.read(length) for length in request.get(ATTACHED, ())]
        thread = threading.Thread(target=_guarded, args=(app, request, attached, told))
        thread.start()
        thread.join()


def _guarded(app: Flask, request: Json, attached: Sequence[bytes], told: IO[str]) -> None:
    def send(answer: Json) -> None:
        told.write(json.dumps({"id": request.get("id"), **answer}, separators=(",", ":")) + "\n")
        told.flush()

    try:
        _send_all(answers(app, request, attached), send)
    except Exception:
        traceback.print_exc()
        send(failure("internal", BROKEN))


def _send_all(each: Iterable[Json], send: Callable[[Json], Any]) -> None:
    for answer in each:
        send(answer)


def main() -> None:
    """Read requests until the input ends."""
    if "--with-parent" in sys.argv:
        with suppress(OSError):
            kernel.die_with_parent()
    serve(sys.stdin.buffer, sys.stdout)


if __name__ == "__main__":
    main()
