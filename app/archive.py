"""Links as an operator has them: listed, deleted, written to a file and read from one.

A line of such a file is a link as JSON: its id, digest and version, when it was made, and its
state, as it was stored. What is read is checked: a link's id begins its digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import zstandard
from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError

from app.database import Database
from app.holders import Holder
from app.permalinks import Permalink, names_of
from app.unpacking import DAMAGED, FIELDS, packed
from compiler.protocol.kinds import Json

PORTION = 100
"""Links that are read from the database at a time."""


class NoLink(Exception):
    """What is no link of such a file."""


@dataclass(frozen=True, slots=True)
class LinkSize:
    """A link, and the bytes that it takes."""

    name: str
    made: datetime
    version: str
    size: int

    def as_json(self) -> Json:
        """For programs."""
        made = self.made.isoformat() + "Z"
        return {"id": self.name, "made": made, "version": self.version, "bytes": self.size}


def listed(database: Database, before: datetime | None = None) -> list[LinkSize]:
    """All links, or those made before a time; the oldest first. Raises FAILURES."""
    size = func.length(Permalink.content)
    asked = select(Permalink.id, Permalink.made, Permalink.version, size).order_by(Permalink.made)
    if before is not None:
        asked = asked.where(Permalink.made < before)
    with database.session(Permalink) as session:
        return [LinkSize(*row) for row in session.execute(asked)]


def deleted(database: Database, names: Sequence[str]) -> list[str]:
    """Delete links, whoever has them: those that were there. Raises FAILURES."""
    found: list[str] = []
    with database.session(Permalink, Holder) as session:
        for some in _portions(names):
            found += session.scalars(select(Permalink.id).where(Permalink.id.in_(some)))
            session.execute(delete(Permalink).where(Permalink.id.in_(some)))
            session.execute(delete(Holder).where(Holder.link.in_(some)))
        session.commit()
    return found


def _portions(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[at : at + PORTION] for at in range(0, len(names), PORTION))


def exported(database: Database, names: Sequence[str]) -> Iterator[tuple[str, Json | None]]:
    """Links as JSON, each with its id; None for one that is damaged. Raises FAILURES."""
    every = list(names) or [one.name for one in listed(database)]
    for some in _portions(every):
        with database.session(Permalink) as session:
            asked = select(Permalink).where(Permalink.id.in_(some))
            for row in session.scalars(asked.order_by(Permalink.made)):
                yield row.id, _as_json(row)


def _as_json(row: Permalink) -> Json | None:
    try:
        state = json.loads(zstandard.decompress(row.content))
        made = row.made.isoformat()
    except DAMAGED:
        return None
    return {
        "id": row.id,
        "digest": row.digest,
        "made": made,
        "version": row.version,
        "state": state,
    }


def imported(database: Database, lines: Iterable[str]) -> tuple[int, int]:
    """Store links of a file: how many were new, and how many there already.

    Raises NoLink, which names the line, when those before it are stored, and FAILURES.
    """
    new = known = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = _row(json.loads(line))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise NoLink(f"Line {number} is no link: {error}") from error
        with database.session(Permalink) as session:
            try:
                session.add(row)
                session.commit()
                new += 1
            except IntegrityError:
                known += 1
    return new, known


def _row(told: Json) -> Permalink:
    name, digest, state = told["id"], told["digest"], told["state"]
    if len(name) < 1 or not names_of(digest).startswith(name):
        raise ValueError("its id is not that of its digest")
    if not state.keys() >= FIELDS:
        raise ValueError("it has no state")
    made = datetime.fromisoformat(told["made"])
    return Permalink(
        id=name, digest=digest, made=made, version=str(told["version"]), content=packed(state)
    )
