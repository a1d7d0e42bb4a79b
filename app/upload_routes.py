"""The routes of files that become inputs: begin one, add a piece, delete it."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, jsonify, request

from app.api import json_body
from app.bodies import PIECE, longest, too_long
from app.clients import address_key, page_key
from app.context import parts
from app.errors import AppError

blueprint = Blueprint("uploads", __name__, url_prefix="/api/uploads")


@blueprint.post("")
def begin() -> Response:
    """Begin a file of `size` bytes; answers its id, and how long a piece may be."""
    parts().limits.count("run")
    size = json_body().get("size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise AppError("usage", "`size` must be a number of bytes.")
    name = parts().jobs.uploads.begin(page_key(request), address_key(request), size)
    return jsonify(ok=True, id=name, piece=PIECE)


@blueprint.put("/<name>")
def add(name: str) -> Response:
    """Add the piece that begins at `?offset=`; answers how many bytes the file has then."""
    length, most = request.content_length, longest(request.path, current_app.config)
    if length is None:
        raise AppError("usage", "A part of an upload needs a `Content-Length` header.", 411)
    if length > most:
        raise too_long(most)
    offset = request.args.get("offset", "")
    if not offset.isascii() or not offset.isdigit():
        raise AppError("usage", "`offset` must be a number of bytes.")
    parts().limits.count(kilobytes=max(1, length >> 10))
    data = request.get_data(cache=False)
    have = parts().jobs.uploads.add(page_key(request), name, int(offset), data)
    return jsonify(ok=True, have=have)


@blueprint.delete("/<name>")
def forget(name: str) -> Response:
    """Delete a file of one's own."""
    parts().jobs.uploads.forget(page_key(request), name)
    return jsonify(ok=True)
