"""The gallery: all examples, each with a sentence and a picture; starting points come first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from flask import Blueprint, Response, abort, current_app, render_template, request

from app import previews
from app.clients import client_key
from app.context import parts
from app.fair_queue import Client
from app.gallery import Example, front_example
from app.http import A_WHILE
from compiler.protocol.kinds import Json

blueprint = Blueprint("showcase", __name__)
START = "Start here"
FIRST = ("dot_product", "matrix_multiplication", "mandelbrot")
"""Starting points beside the example of the front page."""


@blueprint.get("/examples/")
def gallery() -> str:
    """Render all examples by their groups."""
    examples = parts().examples()
    return render_template("gallery.html", groups=groups(examples, _front(examples)))


def groups(examples: Sequence[Example], front: str) -> list[tuple[str, list[Example]]]:
    """Return the starting points, then all groups in order, without repetitions."""
    first = [one for name in (front, *FIRST) for one in examples if one.name == name]
    found: dict[str, list[Example]] = {START: list(dict.fromkeys(first))}
    for one in examples:
        if one not in first:
            found.setdefault(one.group, []).append(one)
    return [(title, members) for title, members in found.items() if members]


def _front(examples: Sequence[Example]) -> str:
    found = front_example(current_app.config, examples)
    return found.name if found else ""


@blueprint.get("/examples/<name>/picture.png")
def picture(name: str) -> Response:
    """Return the picture of an example's memory, statement by statement."""
    example = next((one for one in parts().examples() if one.name == name), None)
    if example is None:
        abort(404)
    parts().limits.count("read")
    response = Response(_drawn(example), mimetype="image/png")
    response.headers["Cache-Control"] = A_WHILE
    return response


def _drawn(example: Example) -> bytes:
    jobs = parts().jobs.of(Client(client_key(request)))
    program: Json = {"source": example.source, "options": {}}
    program |= {"files": {}, "main": example.main} if example.main else {}
    with_memory = [stage["id"] for stage in jobs.manifest() if stage.get("memory")]
    lives = jobs.must("lifetimes", {**program, "stage": with_memory[-1], "values": {}})
    blocks = [fun["blocks"] for fun in lives.get("functions", ())]
    most: list[Json] = max(blocks, key=len, default=[])
    return _of_blocks(tuple((one["at"], one["until"], int(one.get("size") or 0)) for one in most))


@lru_cache(maxsize=128)
def _of_blocks(blocks: tuple[tuple[int, int, int], ...]) -> bytes:
    """Draw blocks: start, end and size of each."""
    return previews.memory([{"at": at, "until": until, "size": n} for at, until, n in blocks])
