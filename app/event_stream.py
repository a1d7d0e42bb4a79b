"""Answers as server-sent events, in one gzip stream where the client takes that.

Packed answers are sent unchanged: only the lines around them are made here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from flask import Response, stream_with_context

from app.compressed_answers import PackedAnswer, slim
from app.http import accepts_gzip
from app.pieces import CHUNK, Zipper
from compiler.protocol.kinds import Json

HEADERS = {"X-Accel-Buffering": "no", "Cache-Control": "no-store", "Vary": "Accept-Encoding"}


def events(answers: Iterator[Json]) -> Response:
    """Respond with answers as they come. AppError if the first one is refused."""
    first = next(answers)
    zipped = accepts_gzip()
    content = _zipped if zipped else _plain
    stream = stream_with_context(content(_chained(first, answers)))
    headers = {**HEADERS, **({"Content-Encoding": "gzip"} if zipped else {})}
    return Response(stream, mimetype="text/event-stream", headers=headers)


def _chained(first: Json, rest: Iterator[Json]) -> Iterator[Json]:
    yield first
    yield from rest


def _zipped(answers: Iterator[Json]) -> Iterator[bytes]:
    zipper = Zipper()
    for before, packed, behind in map(_event, answers):
        if packed is None:
            yield zipper.text(before + behind)
        elif packed.piece.size <= CHUNK:
            pieces = zipper.text(before), zipper.piece(packed.piece, packed.data)
            yield b"".join((*pieces, zipper.text(behind)))
        else:  # who reads slowly holds no copy of a long answer
            yield zipper.text(before)
            data = zipper.piece(packed.piece, packed.data)
            yield from (data[at : at + CHUNK] for at in range(0, len(data), CHUNK))
            yield zipper.text(behind)
    yield zipper.end()


def _plain(answers: Iterator[Json]) -> Iterator[bytes]:
    for before, packed, behind in map(_event, answers):
        yield before if packed else before + behind
        if packed:
            yield from packed.chunks()
            yield behind


def _event(answer: Json) -> tuple[bytes, PackedAnswer | None, bytes]:
    """Format an event: text before a packed answer, the answer if there is one, text behind.

    Stages are sent without `text`, which their lines contain.
    """
    last = "part" if answer.get("partial") else "done"
    name = "queued" if "queued" in answer else last
    inner = answer.get("answer", answer)
    packed = inner.get("packed")
    if packed is None:
        told = {**answer, "answer": slim(inner)} if "answer" in answer else slim(answer)
        text = _json(told)
    elif "answer" in answer:
        rest = {key: value for key, value in answer.items() if key != "answer"}
        text = _json(rest)[:-1] + b',"answer":'
    else:
        text = b""
    end = b"}" if packed is not None and "answer" in answer else b""
    return b"event: %s\ndata: %s" % (name.encode(), text), packed, end + b"\n\n"


def _json(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
