"""What the page's first view shows of an example, told with the page: nothing is waited for.

`static/src/first.ts` draws it before the editors are there. It is what the page would ask for
first, as far as that is known already: since the server's start, or since somebody looked at it.
"""

from __future__ import annotations

import itertools
import json

from app.gallery import Example
from app.highlight import html_lines, kind_of
from app.jobs import Jobs
from app.pool import Client
from compiler.protocol.kinds import Json

SHOWN = (("fused", "funmem"), ("fused",))
"""Stages that a wide and a narrow page show first, as `firstStages` of the page has them."""
LONGEST = 100_000
"""Characters of what is told: more is asked for by the page."""


def first_view(jobs: Jobs, example: Example) -> Json | None:
    """The answers about an example, and its lines with their colours; None: not all is known."""
    stages = jobs.known_manifest
    if stages is None:
        return None
    text = _text(example)
    for shown in SHOWN:
        questions = _questions(stages, shown)
        answers = [jobs.last(one["op"], {**one, **text}) for one in questions]
        found = [answer for answer in answers if answer and answer.get("ok")]
        if len(found) == len(questions):
            told = _told(stages, example, list(zip(questions, found, strict=True)))
            return told if len(json.dumps(told)) <= LONGEST else None
    return None


def prepare(jobs: Jobs, example: Example) -> None:
    """Ask for all that the first view of an example shows. AppError if there is nobody to ask."""
    questions = _questions(jobs.manifest(), SHOWN[0])
    jobs.of(Client("the server")).call("batch", {**_text(example), "requests": questions})


def _text(example: Example) -> Json:
    """The program as the page names it, with the order of its fields."""
    more = {"files": {}, "main": example.main} if example.main else {}
    return {"source": example.source, "options": {}, **more}


def _questions(stages: list[Json], shown: tuple[str, ...]) -> list[Json]:
    texts = _texts(stages, shown)
    pictures = [stage["id"] for stage in stages if stage.get("memory")]
    first: list[Json] = [{"op": "check"}, {"op": "show", "texts": texts}, {"op": "places"}]
    first.append({"op": "costs", "sizes": {}})
    return first + [{"op": "lifetimes", "stage": stage, "values": {}} for stage in pictures]


def _texts(stages: list[Json], shown: tuple[str, ...]) -> list[str]:
    """Those stages, with the ones before that they are compared with."""
    ids = [stage["id"] for stage in stages]
    seen = {stage for stage in shown if stage in ids} or set(ids[:1])
    pairs = itertools.pairwise(stages)
    before = {a["id"] for a, b in pairs if b["id"] in seen and a["kind"] == b["kind"]}
    return [stage for stage in ids if stage in seen | before]


def _told(stages: list[Json], example: Example, answers: list[tuple[Json, Json]]) -> Json:
    kinds = {stage["id"]: stage["kind"] for stage in stages}
    shown = next(answer for question, answer in answers if question["op"] == "show")
    texts = {
        name: "\n".join(line["text"] for line in stage["lines"])
        for name, stage in shown["stages"].items()
        if stage.get("lines")
    }
    known = [{"request": question, "answer": answer} for question, answer in answers]
    return {
        "example": example.name,
        "known": {"text": _text(example), "answers": known},
        "source": html_lines(example.source, kind_of(example.main)),
        "stages": {name: html_lines(lines, kinds[name]) for name, lines in texts.items()},
    }
