"""Keep and forward answers as their workers packed them (`compiler/protocol/packing.py`).

An answer is not parsed on its way to the client. Where the server itself needs its content,
`opened` parses it, and `merged` joins parts.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.errors import AppError
from app.pieces import Deflated, unpacked
from compiler.protocol import packing
from compiler.protocol.kinds import Json

LONG = 1 << 18
"""Bytes of an answer above which it is not parsed here."""


@dataclass(frozen=True, slots=True)
class PackedAnswer:
    """JSON, as a piece of a gzip stream, under the key `packed` of an answer."""

    piece: Deflated
    data: bytes

    def text(self) -> bytes:
        """Unpack the JSON. AppError where the bytes do not match the worker's checksum."""
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            text = unpacker.decompress(self.data, self.piece.length + 1)
        except zlib.error:
            raise _broken() from None
        if len(text) != self.piece.length or zlib.crc32(text) != self.piece.crc:
            raise _broken()
        return text

    def chunks(self) -> Iterator[bytes]:
        """Unpack the JSON in chunks."""
        return unpacked(iter((self.data,)))


def packed(answer: Json) -> PackedAnswer:
    """Pack an answer unless it is packed."""
    if "packed" in answer:
        found: PackedAnswer = answer["packed"]
        return found
    data = json.dumps(slim(answer), separators=(",", ":")).encode()
    content = packing.deflated(data, packing.LEVEL)
    return PackedAnswer(Deflated(len(content), len(data), zlib.crc32(data), ""), content)


def is_short(parts: Sequence[Json]) -> bool:
    """Return True if the parts of an answer are short enough to be parsed here."""
    told: list[PackedAnswer] = [one["packed"] for one in parts if "packed" in one]
    return sum(one.piece.length for one in told) <= LONG


def at_once(parts: Sequence[Json]) -> Json:
    """Return the answer in these parts: still packed if it is one long part."""
    return parts[0] if len(parts) == 1 and not is_short(parts) else merged(parts)


def opened(answer: Json) -> Json:
    """Unpack an answer and its members. AppError for a malformed one."""
    if "answers" in answer:
        return {**answer, "answers": [opened(one) for one in answer["answers"]]}
    if "packed" not in answer:
        return answer
    try:
        found = json.loads(answer["packed"].text())
        if not isinstance(found, dict):
            raise TypeError
        return with_texts(found)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _broken() from None


def merged(answers: Iterable[Json]) -> Json:
    """Merge answers: the last one, with the stages of all. AppError as `opened`."""
    stages: Json = {}
    last: Json = {}
    for last in map(opened, answers):
        if isinstance(last.get("stages"), dict):
            stages.update(last["stages"])
    return {**last, "stages": stages} if stages else last


def with_texts(answer: Json) -> Json:
    """Restore the texts of stages from their lines: pipes carry only the lines.

    Raises TypeError or KeyError for malformed lines.
    """
    for stage in _stages(answer).values():
        if stage.get("text", "") is None and stage.get("lines") is not None:
            stage["text"] = "".join(f"{line['text']}\n" for line in stage["lines"])
    return answer


def slim(answer: Json) -> Json:
    """Remove texts of stages that have lines."""
    stages = {
        name: {**stage, "text": None}
        for name, stage in _stages(answer).items()
        if isinstance(stage.get("lines"), list)
    }
    return {**answer, "stages": {**answer["stages"], **stages}} if stages else answer


def _stages(answer: Json) -> dict[str, Json]:
    stages = answer.get("stages")
    every = stages.items() if isinstance(stages, dict) else ()
    return {name: stage for name, stage in every if isinstance(stage, dict)}


def _broken() -> AppError:
    return AppError("internal", "A worker gave a malformed answer.", 500)
