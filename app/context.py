"""The parts of one application, where requests find them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from flask import current_app

from app.bodies import Bodies
from app.forms import Forms
from app.gallery import Example
from app.jobs import Jobs
from app.lectures import Lectures
from app.lesson_files import Lesson
from app.limits import RateLimits
from app.metrics import Metrics
from app.permalinks import Permalinks
from app.sheet_pool import Makers

EXTENSION = "stridescope"


@dataclass(frozen=True, slots=True)
class Parts:
    """The services that routes use."""

    jobs: Jobs
    metrics: Metrics
    permalinks: Permalinks
    lectures: Lectures
    address: str
    """The server's public address; "" if unknown."""
    bodies: Bodies
    makers: Makers
    forms: Forms
    limits: RateLimits
    examples: Callable[[], Sequence[Example]]
    lessons: Callable[[], Sequence[Lesson]]

    def close(self, grace: float = 0.0) -> None:
        """Refuse new jobs; stop idle workers, and all others after `grace` seconds."""
        closing = [
            threading.Thread(target=one.close, args=(grace,))
            for one in (self.jobs, self.makers, self.bodies)
        ]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()


def parts() -> Parts:
    """Return the current application's parts."""
    return cast(Parts, current_app.extensions[EXTENSION])
