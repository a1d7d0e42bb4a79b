"""The files of the course: lessons and puzzles (`docs/lessons.md`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compiler.protocol.lesson_files import LessonFile, read


@dataclass(frozen=True, slots=True)
class Lesson:
    """One file of the course.

    `name` is its address, `back` and `next` are its neighbours of the same kind.
    """

    name: str
    text: str
    file: LessonFile
    back: str = ""
    next: str = ""


def load(folder: Path) -> tuple[Lesson, ...]:
    """Load all lessons in order, then all puzzles. Raises UsageError for a malformed file."""
    found = [(path.stem, text, read(text)) for path in sorted(folder.glob("*.md"))
             for text in (path.read_text("utf-8"),)]  # fmt: skip
    found.sort(key=lambda one: (one[2].is_puzzle, one[2].order, one[0]))
    names = ["", *(name for name, _, _ in found), ""]
    return tuple(
        Lesson(*one, back, after) for one, back, after in zip(found, names, names[2:], strict=False)
    )
