"""A process that makes the sheets of links, so that the server never unpacks a state.

    python -m app.sheet_worker --with-parent

It speaks the worker protocol: a request has a link's id, its state as stored, the names of sheets,
and facts of the server (`renderer`, `version`, `settings`). The answers have these sheets, in that
order, in pieces (`data`, in base64) of at most `PORTION` bytes; `ends` marks a sheet's last one.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO, Any

from flask import Flask

from app.errors import BROKEN, failure
from app.factory import bare_app
from app.sheet_rendering import Link, make
from app.sheets import written
from app.unpacking import DAMAGED, unpacked
from compiler.protocol.kinds import Json
from compiler.sandbox import kernel

PORTION = 1 << 19


def answers(app: Flask, request: Json) -> Iterator[Json]:
    """Yield the answers to one request."""
    if request.get("op") != "make":
        yield failure("usage", "A maker makes sheets of links.")
        return
    try:
        state, text = unpacked(b64decode(request["state"]))
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
        thread = threading.Thread(target=_guarded, args=(app, line, told))
        thread.start()
        thread.join()


def _guarded(app: Flask, line: bytes, told: IO[str]) -> None:
    request = json.loads(line)

    def send(answer: Json) -> None:
        told.write(json.dumps({"id": request.get("id"), **answer}, separators=(",", ":")) + "\n")
        told.flush()

    try:
        _send_all(answers(app, request), send)
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
