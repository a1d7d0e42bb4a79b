"""The parts of one application, kept with it so that requests find them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from flask import current_app

from app.gallery import Example
from app.jobs import Jobs
from app.lectures import Lectures
from app.lesson_files import Lesson
from app.limits import RateLimits
from app.metrics import Metrics
from app.permalinks import Permalinks
from app.renderings import Renderings

EXTENSION = "stridescope"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the routes work with."""

    jobs: Jobs
    metrics: Metrics
    permalinks: Permalinks
    lectures: Lectures
    renderings: Renderings
    limits: RateLimits
    examples: Callable[[], Sequence[Example]]
    lessons: Callable[[], Sequence[Lesson]]


def parts() -> Parts:
    """The current application's parts."""
    return cast(Parts, current_app.extensions[EXTENSION])
