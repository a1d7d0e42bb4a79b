"""Convert exceptions to answers: the JSON error shape, or a page."""

from __future__ import annotations

from flask import Flask, Response, jsonify, render_template, request
from werkzeug.exceptions import HTTPException, NotFound

from app.errors import BROKEN, MISDIRECTED, AppError, failure
from compiler.protocol.kinds import Json


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
