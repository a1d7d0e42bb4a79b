"""Return the texts of stages on demand, and the places in them."""

from __future__ import annotations

from contextlib import suppress

from compiler.base.errors import CompileError
from compiler.driver.api import compilation, stage_json
from compiler.driver.pipeline import STAGES, Compilation, stage_named
from compiler.explain.occurrences import Index
from compiler.protocol import editing, programs
from compiler.protocol.answering import answers

PLACED = ("typed", "soa")
"""Stages whose lines together cover every clickable place.

In `typed` each expression with a line of its own stands once; the core language names the
operands of the others, and later stages add no places.
"""


@answers(programs.TEXT)
def text(asked: programs.TextRequest) -> programs.TextAnswer:
    """Return a stage with its text."""
    return {"ok": True, "stage": stage_json(compilation(asked), stage_named(asked.stage).id, True)}


@answers(programs.PLACES)
def places(asked: programs.PlacesRequest) -> programs.PlacesAnswer:
    """Return the places that lines come from, in the stages that compile."""
    work = compilation(asked)
    indexes = [_index(work, PLACED[0])]
    with suppress(CompileError):  # the stages that are there have places, too
        indexes += [_index(work, name) for name in PLACED[1:]]
    found = {tuple(place): place for index in indexes for place in index.places()}
    return {"ok": True, "places": list(found.values())}


@answers(editing.OCCURRENCES)
def occurrences(asked: editing.OccurrencesRequest) -> editing.OccurrencesAnswer:
    """Return the lines and statements of a place, at each stage that compiles."""
    work = compilation(asked)
    work.result(PLACED[0])
    place: list[int | str] = [asked.line, asked.column, asked.end_line, asked.end_column]
    place += [asked.file] if asked.file else []
    found: dict[str, editing.Occurrence] = {}
    for stage in STAGES:
        try:
            found[stage.id] = _index(work, stage.id).occurrence(place)
        except CompileError:
            break
    return {"ok": True, "stages": found}


def _index(work: Compilation, name: str) -> Index:
    """Return the index of a stage's text, made once."""
    if name not in work.indexes:
        work.indexes[name] = Index(work.result(name).text)
    return work.indexes[name]
