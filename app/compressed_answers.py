"""Answers as their workers packed them (`compiler/protocol/packing.py`): kept and sent as they are.

What a worker says is not read on its way to who asked. Where the server itself needs what is in it,
`opened` reads it, and `merged` puts together what came in parts.
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
"""Bytes of an answer that is not read on its way."""


@dataclass(frozen=True, slots=True)
class PackedAnswer:
    """JSON, as a piece of a gzip stream. In answers it stands under `packed`."""

    piece: Deflated
    data: bytes

    def text(self) -> bytes:
        """The JSON. AppError where the bytes are not what the worker said that they are."""
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            text = unpacker.decompress(self.data, self.piece.length + 1)
        except zlib.error:
            raise _broken() from None
        if len(text) != self.piece.length or zlib.crc32(text) != self.piece.crc:
            raise _broken()
        return text

    def chunks(self) -> Iterator[bytes]:
        """The JSON, a little at a time."""
        return unpacked(iter((self.data,)))


def packed(answer: Json) -> PackedAnswer:
    """An answer, packed if it is not yet."""
    if "packed" in answer:
        found: PackedAnswer = answer["packed"]
        return found
    data = json.dumps(slim(answer), separators=(",", ":")).encode()
    content = packing.deflated(data, packing.LEVEL)
    return PackedAnswer(Deflated(len(content), len(data), zlib.crc32(data), ""), content)


def is_short(parts: Sequence[Json]) -> bool:
    """Whether the parts of an answer may be read by the process that serves."""
    told: list[PackedAnswer] = [one["packed"] for one in parts if "packed" in one]
    return sum(one.piece.length for one in told) <= LONG


def at_once(parts: Sequence[Json]) -> Json:
    """The answer that came in these parts: as it was packed where it came whole and is long."""
    return parts[0] if len(parts) == 1 and not is_short(parts) else merged(parts)


def opened(answer: Json) -> Json:
    """An answer with what is in it, and those that it holds. AppError where one is no answer."""
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
    """The last of some answers, with the stages of all of them. AppError as `opened`."""
    stages: Json = {}
    last: Json = {}
    for last in map(opened, answers):
        if isinstance(last.get("stages"), dict):
            stages.update(last["stages"])
    return {**last, "stages": stages} if stages else last


def with_texts(answer: Json) -> Json:
    """Give stages whose lines came alone their texts: none crosses a pipe twice.

    Raises TypeError or KeyError where lines are none.
    """
    for stage in _stages(answer).values():
        if stage.get("text", "") is None and stage.get("lines") is not None:
            stage["text"] = "".join(f"{line['text']}\n" for line in stage["lines"])
    return answer


def slim(answer: Json) -> Json:
    """The same without texts of stages whose lines are there."""
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
    return AppError("internal", "A worker gave an answer that is none.", 500)
