"""The example programs: their text, and what their comments say about them.

An example begins with comment lines:

    -- Title in a few words
    -- The point of it, in one line or more.
    -- group: memory
    -- order: 20
    -- look: fused: the map has become a part of the reduction
    -- look: funmem 7: `ys` is a view of `xs`

`look` names a stage, perhaps a line of the source, and says what is to be seen there. The rest of
the comment block, up to the first line that is no comment, is left alone; so are `-- ==` blocks,
whose first data set the page offers as input.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_KEY = re.compile(r"^(group|order|look|point|title)\s*:\s*(.*)$")
_LOOK = re.compile(r"^([\w-]+)(?:\s+(\d+))?\s*:\s*(.+)$")


@dataclass(frozen=True, slots=True)
class Look:
    """Something to look at: a stage, a source line (0: none), a sentence."""

    stage: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """One program of the gallery."""

    name: str
    title: str
    point: str
    group: str
    order: int
    looks: tuple[Look, ...]
    source: str

    def shape(self) -> dict[str, Any]:
        """Plain data, as the page gets it."""
        return asdict(self)


def load(folder: Path) -> tuple[Example, ...]:
    """All examples, in the order that they want to be shown in."""
    found = [parse(path.stem, path.read_text("utf-8")) for path in sorted(folder.glob("*.fut"))]
    return tuple(sorted(found, key=lambda example: (example.order, example.name)))


def parse(name: str, source: str) -> Example:
    """Read an example's head; what is missing is made up from its name."""
    title, prose, looks = "", [], []
    keys = {"group": "Examples", "order": "1000"}
    for line in _head(source):
        if match := _KEY.match(line):
            key, value = match.groups()
            if key == "look" and (look := _LOOK.match(value)):
                looks.append(Look(look[1], int(look[2] or 0), look[3]))
            elif key == "title":
                title = value
            elif key == "point":
                prose.append(value)
            else:
                keys[key] = value
        elif not title:
            title = line.rstrip(".")
        elif line:
            prose.append(line)
    order = int(keys["order"]) if keys["order"].isdigit() else 1000
    title = title or name.replace("_", " ").replace("-", " ").capitalize()
    return Example(name, title, " ".join(prose), keys["group"], order, tuple(looks), source)


def _head(source: str) -> list[str]:
    lines = []
    for line in source.splitlines():
        if not line.startswith("--") or line.startswith("-- =="):
            break
        lines.append(line.lstrip("-").strip())
    return lines
