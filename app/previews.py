"""Draw the preview picture of a link: the program's cells or memory, as a PNG.

It has no words: sites print the title and the sentence below it.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

from app.proofs import grid
from app.unpacking import State
from compiler.protocol.kinds import Json

WIDTH, HEIGHT = 1200, 630
_EDGE = 60
_GROUND, _LINE, _FREE = (243, 244, 242), (141, 148, 152), (255, 255, 255)
_WRITTEN, _USED, _BOTH = (0, 105, 168), (196, 79, 0), (179, 38, 30)
_HUES = [(0, 105, 168), (196, 79, 0), (0, 130, 95), (150, 65, 159), (154, 115, 0), (140, 29, 79)]
_MOST = 24

Picture = npt.NDArray[np.uint8]
Box = tuple[float, float, float, float]
"""x, y, width, height."""


def said(state: State) -> str:
    """Describe the picture in a sentence."""
    if _proof(state):
        return "The cells that two accesses touch, one colour each."
    if _lanes(state):
        return "Memory blocks over the statements that need them; larger blocks are drawn higher."
    return "The number of lines of each stage of the compilation."


def picture(state: State) -> bytes:
    """Draw the first proof with cells, else the memory after the last stage, else the stages."""
    canvas: Picture = np.full((HEIGHT, WIDTH, 3), _GROUND, np.uint8)
    if proof := _proof(state):
        _draw_cells(canvas, grid(proof["sets"], proof["strides"])[:_MOST])
    elif lanes := _lanes(state):
        _draw_lanes(canvas, lanes)
    else:
        _draw_stages(canvas, [len(stage["lines"]) for stage in state["stages"].values()])
    return _png(canvas)


def memory(blocks: list[Json]) -> bytes:
    """Draw blocks of memory; without any, an empty picture."""
    canvas: Picture = np.full((HEIGHT, WIDTH, 3), _GROUND, np.uint8)
    if blocks:
        _draw_lanes(canvas, blocks)
    return _png(canvas)


def _proof(state: State) -> Json | None:
    pairs = (one for attempt in state.get("attempts") or () for one in attempt["obligations"])
    return next((one["picture"] for one in pairs if "picture" in one), None)


def _lanes(state: State) -> list[Json]:
    kept = state.get("lifetimes") or []
    functions = [fun["blocks"] for fun in kept[-1]["functions"]] if kept else []
    return max(functions, key=len, default=[])


def _fill(canvas: Picture, box: Box, colour: tuple[int, int, int]) -> None:
    x, y, width, height = map(round, box)
    canvas[y : y + max(1, height), x : x + max(1, width)] = colour


def _draw_cells(canvas: Picture, rows: list[tuple[int, list[str]]]) -> None:
    columns = len(rows[0][1]) if rows else 1
    side = min((WIDTH - 2 * _EDGE) / columns, (HEIGHT - 2 * _EDGE) / max(1, len(rows)))
    left, top = (WIDTH - side * columns) / 2, (HEIGHT - side * len(rows)) / 2
    colours = {"": _FREE, "a": _WRITTEN, "b": _USED, "ab": _BOTH}
    for y, (_, marks) in enumerate(rows):
        for x, mark in enumerate(marks):
            box = (left + x * side, top + y * side, side, side)
            _fill(canvas, box, _LINE)
            _fill(canvas, (box[0] + 1, box[1] + 1, side - 2, side - 2), colours[mark])
            if mark in ("b", "ab"):  # with a sign beside the colour
                middle = (box[0] + side / 2 - 3, box[1] + side / 2 - 3, 6, 6)
                _fill(canvas, middle, _FREE)


def _draw_lanes(canvas: Picture, blocks: list[Json]) -> None:
    blocks = sorted(blocks, key=lambda block: -(block.get("size") or 0))[:_MOST]
    last = max(1, *(block["until"] for block in blocks))
    sizes = [max(1.0, float(block.get("size") or 1)) ** 0.5 for block in blocks]
    room = HEIGHT - 2 * _EDGE - 6 * len(blocks)
    y = float(_EDGE)
    for k, (block, size) in enumerate(zip(blocks, sizes, strict=True)):
        height = room * size / sum(sizes)
        start, end = block["at"] / last, block["until"] / last
        reach = WIDTH - 2 * _EDGE
        _fill(canvas, (_EDGE, y + height, reach, 1), _LINE)
        box = (_EDGE + start * reach, y, max(0.01, end - start) * reach, height)
        _fill(canvas, box, _HUES[k % len(_HUES)])
        y += height + 6


def _draw_stages(canvas: Picture, lengths: list[int]) -> None:
    width = (WIDTH - 2 * _EDGE) / max(1, len(lengths))
    for k, length in enumerate(lengths):
        height = (HEIGHT - 2 * _EDGE) * length / max(lengths)
        box = (_EDGE + k * width + 4, HEIGHT - _EDGE - height, width - 8, height)
        _fill(canvas, box, _HUES[k % len(_HUES)])


def _png(pixels: Picture) -> bytes:
    """Encode rows of pixels as PNG, without a filter."""
    rows = np.concatenate([np.zeros((HEIGHT, 1), np.uint8), pixels.reshape(HEIGHT, -1)], axis=1)

    def chunk(name: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    head = chunk(b"IHDR", struct.pack(">2I5B", WIDTH, HEIGHT, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")
