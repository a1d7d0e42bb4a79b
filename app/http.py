"""Set headers and compress responses: content policy, caching, gzip and zstd."""

from __future__ import annotations

import gzip
import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import zstandard
from flask import Flask, Response, g, request

from app import pieces
from app.compressed_answers import PackedAnswer
from app.paths import static_folder
from app.pieces import Part
from compiler.protocol.kinds import Json

TEXT = ("text/", "application/json", "application/javascript", "image/svg+xml")
SMALLEST = 1000
FOREVER = "public, max-age=31536000, immutable"
A_WHILE = "public, max-age=3600, stale-while-revalidate=604800"
"""Caching of a frozen state's page: its content stays, but an upgrade changes the rest of the page.
"""


def install(app: Flask) -> None:
    """Hook into every request."""

    @app.before_request
    def make_nonce() -> None:
        g.nonce = secrets.token_urlsafe(12)

    @app.after_request
    def finish(response: Response) -> Response:
        _secure(response)
        _cache(response)
        return _compress(response)

    @app.url_defaults
    def with_version(endpoint: str, values: Json) -> None:
        if endpoint == "static" and "v" not in values:
            values["v"] = file_version(str(values.get("filename", "")))


def policy(framed: bool) -> str:
    """Return the content policy of a page; `framed`: other sites may embed it.

    Then ancestors are left out: `*` would not include a page that is opened from a file.
    """
    ancestors = "" if framed else "frame-ancestors 'none'; "
    return (
        "default-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none'; "
        f"{ancestors}form-action 'self'; img-src 'self' data:; "
        "media-src 'self' data:; "
        f"style-src 'self' 'nonce-{g.get('nonce', '')}'"
    )


def _secure(response: Response) -> None:
    # What is wrong with a frame's address has to be read in the frame, too.
    framed = request.path.startswith("/embed/")
    response.headers.setdefault("Content-Security-Policy", policy(framed))
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    origin = "cross-origin" if framed else "same-origin"
    response.headers.setdefault("Cross-Origin-Resource-Policy", origin)


def _cache(response: Response) -> None:
    if request.endpoint == "static":
        # The names of fonts and chunks say what is in them.
        named = request.path.endswith(".woff2") or "/chunks/" in request.path
        versioned = "v" in request.args or named
        response.headers["Cache-Control"] = FOREVER if versioned else "no-cache"
    else:
        response.headers.setdefault("Cache-Control", "no-cache")


def _compress(response: Response) -> Response:
    accepted = request.accept_encodings.quality("gzip") > 0
    kind = response.mimetype or ""
    if kind == "text/event-stream" or not kind.startswith(TEXT):
        return response
    response.headers.add("Vary", "Accept-Encoding")
    is_made = "Content-Encoding" in response.headers or (
        response.is_streamed and request.endpoint != "static"
    )
    if not accepted or response.status_code != 200 or is_made:
        return response
    response.direct_passthrough = False
    data = response.get_data()
    if len(data) < SMALLEST:
        return response
    if request.endpoint != "static":
        coding, packed = "gzip", gzip.compress(data, 5)
    else:
        coding, packed = _static(data, str((request.view_args or {}).get("filename")))
    response.set_data(packed)
    response.headers["Content-Encoding"] = coding
    return response


def _static(data: bytes, filename: str) -> tuple[str, bytes]:
    """A static file as small as the client takes it: the bundles lie beside what brotli made."""
    takes = request.accept_encodings.quality
    made = static_folder() / f"{filename}.br"
    if takes("br") and made.is_file():
        return "br", made.read_bytes()
    coding = "zstd" if takes("zstd") else "gzip"
    return coding, _pack_static(data, coding)


@lru_cache(maxsize=32)
def _pack_static(data: bytes, coding: str) -> bytes:
    """Compress as far as possible: it is done once, and zstd is an eighth smaller."""
    return zstandard.compress(data, 19) if coding == "zstd" else gzip.compress(data, 9)


def streamed(parts: Sequence[Part], mimetype: str, caching: str) -> Response:
    """Respond with pieces in chunks; 304 if the client has the same already."""
    accepted = mimetype.startswith(TEXT) and request.accept_encodings.quality("gzip") > 0
    response = Response(
        pieces.zipped(parts) if accepted else pieces.plain(parts), mimetype=mimetype
    )
    length = pieces.zipped_length if accepted else pieces.plain_length
    response.content_length = length(parts)
    if accepted:
        response.headers["Content-Encoding"] = "gzip"
    return tagged(response, pieces.tag(parts), caching)


def zipped(content: bytes, mimetype: str, tag: str, caching: str) -> Response:
    """Respond with gzip data; 304 if the client has this tag already."""
    accepted = accepts_gzip()
    response = Response(content if accepted else pieces.gunzipped(content), mimetype=mimetype)
    if not accepted:
        response.content_length = int.from_bytes(content[-4:], "little")
    if accepted:
        response.headers["Content-Encoding"] = "gzip"
    return tagged(response, tag, caching)


def accepts_gzip() -> bool:
    """Return True if the client of the current request accepts gzip."""
    return "gzip" in request.headers.get("Accept-Encoding", "").lower()


def packed_json(answer: Json) -> Response:
    """Respond with an answer that is or contains packed ones, without parsing them."""
    parts = list(_parts(answer))
    accepted = accepts_gzip()
    content = pieces.zipped(parts) if accepted else pieces.plain(parts)
    response = Response(content, mimetype="application/json")
    response.content_length = (pieces.zipped_length if accepted else pieces.plain_length)(parts)
    if accepted:
        response.headers["Content-Encoding"] = "gzip"
    return response


def _parts(answer: Json) -> Iterator[Part]:
    if "packed" in answer:
        packed: PackedAnswer = answer["packed"]
        yield packed.piece, lambda: iter((packed.data,))
        return
    if "answers" not in answer:
        yield pieces.part_of(json.dumps(answer, separators=(",", ":")))
        return
    rest = {name: value for name, value in answer.items() if name != "answers"}
    before = f'{json.dumps(rest)[:-1]},"answers":['
    for one in answer["answers"]:
        yield pieces.part_of(before)
        yield from _parts(one)
        before = ","
    yield pieces.part_of("]}")


def tagged(response: Response, tag: str, caching: str) -> Response:
    """Set a response's ETag (weak, since it may be compressed), or make it 304."""
    response.set_etag(tag, weak=True)
    response.headers["Cache-Control"] = caching
    response.make_conditional(request)
    return response


def page_files(pattern: str) -> list[str]:
    """Return URLs of bundled files, whose names have content hashes."""
    dist = static_folder() / "dist"
    found = sorted(path.relative_to(dist).as_posix() for path in dist.glob(pattern))
    return [f"/static/dist/{name}" for name in found]


def file_version(filename: str) -> str:
    """Return a hash of a static file's content, for its URL."""
    path = static_folder() / filename
    try:
        return _hash(path, path.stat().st_mtime_ns)
    except OSError:
        return "0"


@lru_cache(maxsize=256)
def _hash(path: Path, mtime: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
