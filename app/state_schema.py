"""The JSON Schema of a frozen state: `GET /api/state.schema.json`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from app.permalinks import FORMAT
from compiler.protocol.kinds import Json, Options
from compiler.protocol.programs import Entry, Problem, Remark, Stage, StageInfo
from compiler.protocol.schema import Schemas


class FrozenRun(TypedDict):
    """A run that was seen."""

    request: dict[str, Any]
    """the fields of a `run`"""
    answer: dict[str, Any]


class FrozenQuestion(TypedDict):
    """A further question and its answer."""

    op: Literal[
        "eval", "literate", "profile", "bench", "accesses", "observe", "listing", "flow",
        "fusion", "dataflow", "sums", "costs",
    ]  # fmt: skip
    request: dict[str, Any]
    answer: dict[str, Any]


class FrozenState(TypedDict):
    """Everything that was seen when a link was made, which never changes."""

    format: int
    """the version of this schema: fields may be added, but never change their meaning"""
    version: str
    """of the compiler"""
    made: str
    """when, in UTC"""
    source: str
    files: NotRequired[dict[str, str]]
    main: NotRequired[str]
    options: Options
    manifest: list[StageInfo]
    stages: dict[str, Stage]
    """by the ids in `manifest`, which has the listings that were seen as well"""
    remarks: list[Remark]
    error: Problem | None
    """the error of a program that does not compile"""
    entries: list[Entry]
    attempts: list[dict[str, Any]] | None
    """as `attempts` answers, pairs of accesses with the cells of a picture"""
    lifetimes: list[dict[str, Any]] | None
    """as `lifetimes` answers, for each stage with memory"""
    run: FrozenRun | None
    asked: NotRequired[list[FrozenQuestion]]
    """expressions, notebooks, profiles, measurements, costs of accesses, value flows, graphs
    and sums that were seen; of links since 1.0.0 `costs`, what the program costs in short"""
    view: dict[str, Any]
    """the page's arrangement: panes, tab, selection; what its author wrote: `title`, `notes`; the
    link that it was compared with: `a`"""


def document() -> Json:
    """Return the schema."""
    schemas = Schemas("#/$defs/", own=False)
    whole = schemas.of(FrozenState)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A frozen state of Stridescope, format {FORMAT}",
        **whole,
        "$defs": schemas.found,
    }
