"""The one place where an exception becomes the JSON error shape or a page.

    {"ok": false, "error": {"kind": "...", "message": "...", "hint": "...", "span": [..] | null}}

Kinds are those of the worker protocol, and `busy` for a full queue or too many requests, `usage`
for what is wrong with a request, `unavailable` for what the server needs and has not got, `gone`
where nobody waits any more. A program that is wrong is an ordinary
answer (status 200); what is wrong with a request or with us has a status of its own.
"""

from __future__ import annotations

from typing import Any

from flask import Flask, Response, jsonify, render_template, request
from werkzeug.exceptions import HTTPException, NotFound

from compiler.protocol.kinds import Json

STATUS = {"gone": 499, "busy": 503, "timeout": 504, "internal": 500}
"""Statuses of answers that are no answer; every other kind is 200."""

MISDIRECTED = 421
"""The status for a name that the server does not go by."""


BROKEN = "Something is broken in Stridescope itself, not in your program."


class AppError(Exception):
    """A request that gets an error for an answer."""

    def __init__(
        self, kind: str, message: str, status: int = 400, hint: str = "", **more: Any
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.hint = hint
        self.more = more
        self.headers: dict[str, str] = {}

    def shape(self) -> Json:
        """The JSON error shape."""
        return failure(self.kind, self.message, self.hint, **self.more)


def failure(kind: str, message: str, hint: str = "", **more: Any) -> Json:
    """The JSON error shape of one error."""
    error = {"kind": kind, "message": message, "hint": hint, "span": None, **more}
    return {"ok": False, "error": error}


def status_of(answer: Json) -> int:
    """The HTTP status of a worker's answer."""
    if answer.get("ok"):
        return 200
    return STATUS.get(str(answer.get("error", {}).get("kind")), 200)


def install(app: Flask) -> None:
    """Answer every exception in the error shape under /api, as a page elsewhere."""

    @app.errorhandler(AppError)
    def on_app_error(error: AppError) -> tuple[Response | str, int, dict[str, str]]:
        return *_respond(error.shape(), error.status), error.headers

    @app.errorhandler(HTTPException)
    def on_http_error(error: HTTPException) -> tuple[Response | str, int]:
        status = error.code or 500
        return _respond(failure("usage" if status < 500 else "internal", _words(error)), status)

    @app.errorhandler(Exception)
    def on_bug(error: Exception) -> tuple[Response | str, int]:
        app.logger.exception("unexpected error in %s", request.path, exc_info=error)
        return _respond(failure("internal", BROKEN), 500)


def _words(error: HTTPException) -> str:
    if error.description == NotFound.description:
        return f"There is nothing at {request.path}."
    if error.code == 413:
        return "The request is too large."
    return error.description or error.name


def _respond(shape: Json, status: int) -> tuple[Response | str, int]:
    if request.path.startswith("/api/") or request.path.endswith(".json"):
        return jsonify(shape), status
    if status == MISDIRECTED:  # no page has an address under a name that is not the server's
        text = f"{shape['error']['message']} {shape['error']['hint']}\n"
        return Response(text, mimetype="text/plain"), status
    return render_template("error.html", status=status, error=shape["error"]), status
