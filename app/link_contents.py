"""Ask for what a permalink stores beside the stages: attempts with pictures, lives of blocks.

Both are the worker's answers from when the link was made, so that the link shows them without a
compiler, and without JavaScript.
"""

from __future__ import annotations

from compiler.protocol.kinds import Json

PICTURES = 24
"""Pairs of accesses drawn in one link."""


def of_attempts(program: Json) -> Json:
    """Return the fields of the question about attempts to build arrays in place."""
    return {**program, "pictures": PICTURES}


def of_lifetimes(program: Json, manifest: list[Json]) -> dict[str, Json]:
    """Return the fields of the questions about blocks and arrays, by stage with memory."""
    stages = (info["id"] for info in manifest if info["memory"])
    return {stage: {**program, "stage": stage, "values": {}} for stage in stages}


def attempts(answer: Json) -> list[Json] | None:
    """Return the attempts; None where the program does not compile."""
    found: list[Json] | None = answer["attempts"] if answer.get("ok") else None
    return found


def lifetimes(answers: dict[str, Json]) -> list[Json]:
    """Return blocks and arrays over the program, at each stage with memory."""
    return [
        {"stage": stage, **{key: told[key] for key in ("values", "functions")}}
        for stage, told in answers.items()
        if told.get("ok")
    ]
