"""Keep over many runs which random programs were run at which commit, and the results.

A row is of one generator, compared in one way, at one commit: ranges of seeds, counts, and each
difference. Runs add to it batch by batch, so that a run that is stopped is gone on with, and what
several runs did at once is put together.
"""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

Span = tuple[int, int]
"""Seeds from the first one up to, not including, the second."""


class Subject(NamedTuple):
    """The subject of a row: `compared` is with what, or where."""

    generator: str
    compared: str
    commit: str


@dataclass
class Row:
    """The runs of a subject.

    A difference is (seed, where, what). A difference is a seed, where it is, and what it is.
    """

    seeds: list[Span] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, other: Row) -> None:
        """Put another one to it, of other seeds."""
        if any(a < d and c < b for a, b in self.seeds for c, d in other.seeds):
            raise ValueError("Some of these seeds have been run.")
        self.seeds = joined((*self.seeds, *other.seeds))
        self.counts += other.counts
        self.differences += other.differences

    def has(self, seed: int) -> bool:
        """Return True if a seed has been run."""
        return any(a <= seed < b for a, b in self.seeds)


Rows = dict[Subject, Row]


def joined(spans: Iterable[Span]) -> list[Span]:
    """Ranges in order, neighbours in one."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and found[-1][1] == first:
            found[-1] = found[-1][0], last
        else:
            found.append((first, last))
    return found


def rows(data: Mapping[str, Any]) -> Rows:
    """The rows of a file."""
    return {
        Subject(one["generator"], one["compared"], one["commit"]): Row(
            [(a, b) for a, b in one["seeds"]],
            Counter(one["counts"]),
            [(seed, where, what) for seed, where, what in one["differences"]],
        )
        for one in data["figures"]["rows"]
    }


def load(path: Path) -> Rows:
    """Read a record; empty if there is no such file."""
    return rows(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def add(path: Path, more: Rows, about: Mapping[str, Any]) -> None:
    """Put rows to those of a file, which others may write to as well; `about` is beside them."""
    path.touch()
    with path.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        old = file.read()
        data = json.loads(old) if old else {"figures": {"rows": []}}
        found = rows(data)
        for subject, row in more.items():
            found.setdefault(subject, Row()).add(row)
        text = _shown({**data, **about}, found)
        file.seek(0)
        file.truncate()
        file.write(text)


def _shown(data: Mapping[str, Any], found: Rows) -> str:
    """The text of a file, with each row in a line."""
    lines = [
        json.dumps({**subject._asdict(), **vars(row), "counts": dict(sorted(row.counts.items()))})
        for subject, row in sorted(found.items())
    ]
    mark = "the rows"
    text = json.dumps({**data, "figures": {**data["figures"], "rows": mark}}, indent=2)
    return text.replace(f'"{mark}"', "[\n      " + ",\n      ".join(lines) + "\n    ]") + "\n"
