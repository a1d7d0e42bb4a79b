"""The example programs: their text, and what their comments say about them.

An example begins with comment lines:

    -- Title in a few words
    -- The point of it, in one line or more.
    -- group: Memory
    -- order: 20
    -- look: fused: the map has become a part of the reduction
    -- look: funmem 7: `ys` is a view of `xs`
    -- look: shortcircuit/proof: the copy is gone, and why that is safe
    -- ==
    -- input { [1, 2] }
    -- output { 3 }

`look` names a stage, perhaps with a tab of the details (after `/`) or a line of the file, and says
what is to be seen there. The page shows the program with its title only: what the other lines say
is shown around it.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

_KEY = re.compile(r"^(group|order|look)\s*:\s*(.*)$")
_LOOK = re.compile(r"^look\s*:\s*([\w-]+)(?:/(\w+))?(?:\s+(\d+))?\s*:\s*(.+)$")
_INPUT = re.compile(r"^(random |)input\s*\{(.*)\}\s*$")


@dataclass(frozen=True, slots=True)
class Look:
    """Something to look at: a stage, a source line (0: none), a sentence, a tab of the details."""

    stage: str
    line: int
    text: str
    tab: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """One program of the gallery. `input` are values, `random` types with sizes, or empty."""

    name: str
    title: str
    point: str
    group: str
    order: int
    looks: tuple[Look, ...]
    input: str
    random: str
    source: str

    def shape(self) -> dict[str, Any]:
        """Plain data, as the page gets it."""
        return asdict(self)


def load(folder: Path) -> tuple[Example, ...]:
    """All examples, in the order that they want to be shown in."""
    found = [parse(path.stem, path.read_text("utf-8")) for path in sorted(folder.glob("*.fut"))]
    return tuple(sorted(found, key=lambda example: (example.order, example.name)))


def parse(name: str, text: str) -> Example:
    """Read an example; what its head does not say is made up from its name."""
    lines = text.splitlines()
    end = next((k for k, line in enumerate(lines) if not line.startswith("--")), len(lines))
    head = [line.lstrip("-").strip() for line in lines[:end]]
    start = next((k for k, line in enumerate(head) if _KEY.match(line) or line == "=="), len(head))
    prose, facts = head[:start], head[start:]
    keys = {"group": "Examples", "order": "1000", **_pairs(_KEY, facts)}
    inputs = {"": "", "random ": "", **_pairs(_INPUT, facts)}
    looks = [Look(m[1], int(m[3] or 0), m[4], m[2] or "") for m in map(_LOOK.match, facts) if m]
    body = lines[end:]
    while body and not body[0].strip():
        body = body[1:]
    title = prose[:1]
    gap = len(title) + 1 - (len(lines) - len(body))
    return Example(
        name=name,
        title=prose[0].rstrip(".") if prose else name.replace("_", " ").capitalize(),
        point=" ".join(prose[1:]),
        group=keys["group"],
        order=int(keys["order"]) if keys["order"].isdigit() else 1000,
        looks=tuple(replace(look, line=look.line + gap if look.line else 0) for look in looks),
        input=inputs[""],
        random=inputs["random "],
        source="\n".join([*(f"-- {line}" for line in title), "", *body]) + "\n",
    )


def _pairs(pattern: re.Pattern[str], lines: list[str]) -> dict[str, str]:
    """What the pattern finds in the lines, by its first group; the first of each."""
    found: dict[str, str] = {}
    for match in map(pattern.match, lines):
        if match:
            found.setdefault(match[1], match[2].strip())
    return found
