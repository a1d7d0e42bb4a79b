"""The example programs: their text, and the metadata in their comments.

An example begins with comment lines:

    -- Title in a few words
    -- The point of it, in one line or more.
    -- group: Memory
    -- order: 20
    -- look: fused {map f xs}: the map has become a part of the reduction
    -- look: funmem/memory(ys) {transpose xs}: `ys` is a view of `xs`
    -- look: shortcircuit/proof {xs ++ ys}: the copy is gone, and why that is safe
    -- ==
    -- input { [1, 2] }
    -- output { 3 }

`look` names a stage, optionally a tab of the details (after `/`) and the array that it draws (in
parentheses), then in braces a part of the program, and explains it. The page shows the program with
its title only, and the other lines around it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from compiler.protocol.kinds import Json

_KEY = re.compile(r"^(group|order|look)\s*:\s*(.*)$")
_LOOK = re.compile(
    r"^look\s*:\s*(?P<stage>[\w-]+)(?:/(?P<tab>\w+)(?:\((?P<object>\w+)\))?)?"
    r"\s*\{(?P<code>.+?)\}\s*:\s*(?P<text>.+)$"
)
_INPUT = re.compile(r"^(random |)input\s*\{(.*)\}\s*$")


@dataclass(frozen=True, slots=True)
class Look:
    """A point of interest: a stage, a part of the program, a sentence.

    Optionally also a tab of the details, and the array that it draws.
    """

    stage: str
    code: str
    text: str
    tab: str = ""
    object: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """One program of the gallery. `input` has values, `random` types with sizes, or both are empty.

    `main`: the path of its file, or "" for a Futhark program.
    """

    name: str
    title: str
    point: str
    group: str
    order: int
    looks: tuple[Look, ...]
    input: str
    random: str
    source: str
    main: str = ""

    def shape(self) -> Json:
        """Return plain data for the page."""
        return asdict(self)


def load(folder: Path) -> tuple[Example, ...]:
    """Load all examples, in display order."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".fut", ".fp"))
    found = [
        parse(path.stem, path.read_text("utf-8"), path.name if path.suffix == ".fp" else "")
        for path in paths
    ]
    return tuple(sorted(found, key=lambda example: (example.order, example.name)))


def front_example(config: Mapping[str, Any], examples: Sequence[Example]) -> Example | None:
    """Return the example that a first visit shows."""
    named = [example for example in examples if example.name == config["FRONT_EXAMPLE"]]
    return next(iter(named or examples), None)


def parse(name: str, text: str, main: str = "") -> Example:
    """Parse an example; missing metadata are derived from its name.

    `main` is the name of its file, if that determines its language.
    """
    lines = text.splitlines()
    end = next((k for k, line in enumerate(lines) if not line.startswith("--")), len(lines))
    head = [line.lstrip("-").strip() for line in lines[:end]]
    start = next((k for k, line in enumerate(head) if _KEY.match(line) or line == "=="), len(head))
    prose, facts = head[:start], head[start:]
    keys = {"group": "Examples", "order": "1000", **_pairs(_KEY, facts)}
    inputs = {"": "", "random ": "", **_pairs(_INPUT, facts)}
    looks = [Look(**match.groupdict("")) for match in map(_LOOK.match, facts) if match]
    body = lines[end:]
    while body and not body[0].strip():
        body = body[1:]
    title = prose[:1]
    return Example(
        name=name,
        title=prose[0].rstrip(".") if prose else name.replace("_", " ").capitalize(),
        point=" ".join(prose[1:]),
        group=keys["group"],
        order=int(keys["order"]) if keys["order"].isdigit() else 1000,
        looks=tuple(looks),
        input=inputs[""],
        random=inputs["random "],
        source="\n".join([*(f"-- {line}" for line in title), "", *body]) + "\n",
        main=main,
    )


def _pairs(pattern: re.Pattern[str], lines: list[str]) -> dict[str, str]:
    """Match the pattern on lines; return the second group by the first, the first of each."""
    found: dict[str, str] = {}
    for match in map(pattern.match, lines):
        if match:
            found.setdefault(match[1], match[2].strip())
    return found
