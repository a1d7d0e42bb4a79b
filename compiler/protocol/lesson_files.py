"""Parse the file of a lesson or a puzzle (`docs/lessons.md`); nothing is compiled here.

A file has a front matter, text in Markdown, one program, and text for afterwards:

    ---
    title: Fusion
    measure: count map at fused
    ---
    Text.

    ```futhark
    entry main (xs: []i32) = map (+ 1) (map (* 2) xs)
    ```

    What is said once the answer is known.
"""

from __future__ import annotations

import re
from dataclasses import field, fields
from typing import NoReturn

from compiler.base.dataclass import dataclass
from compiler.base.errors import UsageError
from compiler.base.spans import Span
from compiler.protocol.kinds import Options

_KEY = re.compile(r"([a-z]+)[ \t]*:[ \t]*(.*)")
_FENCE = "```"
_PROGRAM, _SOLUTION = f"{_FENCE}futhark", f"{_FENCE}futhark solution"
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_SIZE = re.compile(r"([A-Za-z_]\w*)\s*=\s*([0-9]{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonFile:
    """A lesson, or a puzzle, which has a `goal`. Missing keys are empty or None.

    `lines`: line numbers of keys and of the program, from 1.
    """

    title: str = ""
    order: int = 1000
    stage: str = ""
    select: str = ""
    tab: str = ""
    object: str = ""
    target: str = ""
    entry: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    measure: str = ""
    question: str = ""
    choices: tuple[int, ...] = ()
    answer: int | None = None
    goal: int | None = None
    par: int | None = None
    hint: tuple[str, ...] = ()
    input: tuple[str, ...] = ()
    text: str = ""
    program: str = ""
    after: str = ""
    solution: str = ""
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def is_puzzle(self) -> bool:
        """Return True for a puzzle."""
        return self.goal is not None

    @property
    def options(self) -> Options:
        """Return the options for its program."""
        return {"target": self.target} if self.target else {}

    def wrong(self, key: str, message: str, hint: str = "") -> UsageError:
        """Make an error about a key, with its place."""
        return UsageError(message, line_span(self.lines.get(key, 1)), hint)


TABS = (
    "memory", "proof", "selection", "remarks", "bounds", "warps", "formulas", "layouts", "graph",
    "versions", "compare", "tests", "notebook", "bench",
)  # fmt: skip
"""Details of the page that a lesson can open."""
_PARTS = ("text", "program", "after", "solution", "lines")
KEYS = tuple(one.name for one in fields(LessonFile) if one.name not in _PARTS)
_NUMBERS = ("order", "answer", "goal", "par")
_SEVERAL = ("hint", "input")
_OF_LESSONS = ("measure", "question", "choices", "answer")
_OF_PUZZLES = ("measure", "goal", "par")


def read(text: str) -> LessonFile:
    """Parse a file. Raises UsageError with the line of a wrong or missing part."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].strip() != "---":
        _refuse(1, "A lesson must begin with a line `---`.", "`stridescope lesson new` writes one.")
    end = next((k for k, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    if not end:
        _refuse(len(lines), "The front matter does not end.", "End it with a line `---`.")
    found: dict[str, object] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(lines[1:end], 2):
        if line.strip():
            _key(line, number, found, places)
    lesson = LessonFile(**found, **_body(lines, end + 1, places), lines=places)  # type: ignore[arg-type]
    _complete(lesson)
    return lesson


def _refuse(line: int, message: str, hint: str = "") -> NoReturn:
    raise UsageError(message, line_span(line), hint)


def line_span(line: int) -> Span:
    """Return the span of a line."""
    return Span(line, 1, line + 1, 1)


def _key(line: str, number: int, found: dict[str, object], places: dict[str, int]) -> None:
    match = _KEY.fullmatch(line.strip())
    if match is None or match[1] not in KEYS:
        _refuse(number, "This is not a key with a value.", f"The keys are {', '.join(KEYS)}.")
    key, value = match[1], match[2]
    if key in places and key not in _SEVERAL:
        _refuse(number, f"`{key}` occurs twice.", "Remove one of them.")
    places.setdefault(key, number)
    if key in _SEVERAL:
        before = found.get(key, ())
        assert isinstance(before, tuple)
        found[key] = (*before, value)
    elif key in _NUMBERS:
        found[key] = _whole(value, key, number)
    elif key == "choices":
        found[key] = tuple(_whole(one.strip(), key, number) for one in value.split(","))
    elif key == "sizes":
        sizes = [_SIZE.fullmatch(one.strip()) for one in value.split(",")]
        if not all(sizes):
            _refuse(number, "`sizes` must be names and numbers.", "As in `sizes: n = 64, m = 8`.")
        found[key] = {one[1]: int(one[2]) for one in sizes if one}
    else:
        found[key] = value


def _whole(value: str, key: str, line: int) -> int:
    if not _NUMBER.fullmatch(value.replace(",", "")):
        _refuse(line, f"`{key}` must be a whole number, not `{value}`.")
    return int(value)


def _body(lines: list[str], start: int, places: dict[str, int]) -> dict[str, str]:
    """Split the body into text, program, text afterwards and solution."""
    parts: dict[str, list[str]] = {"text": [], "after": []}
    now = "text"
    for number, line in enumerate(lines[start:], start + 1):
        head = line.rstrip()
        if now in ("program", "solution"):
            if head == _FENCE:
                now = "after"
            else:
                parts[now].append(line)
        elif head in (_PROGRAM, _SOLUTION):
            now = "program" if head == _PROGRAM else "solution"
            if now in parts:
                _refuse(
                    number, f"There is a second {now}.", "A lesson must have exactly one program."
                )
            parts[now] = []
            places[now] = number + 1
        else:
            parts[now].append(line)
    if now in ("program", "solution"):
        _refuse(places[now] - 1, f"The {now} does not end.", f"End it with a line `{_FENCE}`.")
    return {name: "\n".join(part).strip("\n") + "\n" for name, part in parts.items() if any(part)}


def _complete(lesson: LessonFile) -> None:
    """Raise UsageError for missing parts of a lesson or a puzzle."""
    puzzle = lesson.is_puzzle
    for key in ("title", "program", *(_OF_PUZZLES if puzzle else _OF_LESSONS)):
        if getattr(lesson, key) in ("", (), None):
            what = "puzzle" if puzzle else "lesson"
            how = f"A block that begins with `{_PROGRAM}`." if key == "program" else f"`{key}: ..`"
            raise lesson.wrong(key, f"The {what} has no `{key}`.", how)
    if puzzle:
        assert lesson.goal is not None
        assert lesson.par is not None
        if lesson.par > lesson.goal:
            raise lesson.wrong(
                "par", "`par` is the best known value, so it cannot be more than `goal`."
            )
    elif lesson.answer not in lesson.choices or len(set(lesson.choices)) < 2:
        raise lesson.wrong("choices", "`choices` must be several numbers that include the answer.")
