"""Embed the answers of the page's first view of an example into the page.

`static/src/first.ts` draws it before the editors load. These are the answers that the page would
request first, if they are cached: since the server's start, or since an earlier visit.
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
"""The first stages of a wide and a narrow page, as `firstStages` of the page has them."""
LONGEST = 100_000
"""Characters embedded at most; the page requests the rest."""


def first_view(jobs: Jobs, example: Example) -> Json | None:
    """Return an example's answers and highlighted lines; None unless all are cached."""
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
    """Compute the answers for the first view of an example. AppError if there is no worker."""
    questions = _questions(jobs.manifest(), SHOWN[0])
    jobs.of(Client("the server")).call("batch", {**_text(example), "requests": questions})


def _text(example: Example) -> Json:
    """Return the program as the page sends it, with the order of its fields."""
    more = {"files": {}, "main": example.main} if example.main else {}
    return {"source": example.source, "options": {}, **more}


def _questions(stages: list[Json], shown: tuple[str, ...]) -> list[Json]:
    texts = _texts(stages, shown)
    pictures = [stage["id"] for stage in stages if stage.get("memory")]
    first: list[Json] = [{"op": "check"}, {"op": "show", "texts": texts}, {"op": "places"}]
    first.append({"op": "costs", "sizes": {}})
    return first + [{"op": "lifetimes", "stage": stage, "values": {}} for stage in pictures]


def _texts(stages: list[Json], shown: tuple[str, ...]) -> list[str]:
    """Return those stages, with the earlier ones that they are compared with."""
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
