"""Maintain links: list, delete, export and import them.

A line of an export is a link as JSON: its id, digest and version, its time, and its state, as
stored. Imports are checked: a link's id must be a prefix of its digest.
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
from app.link_owners import Holder
from app.permalinks import Permalink, names_of
from app.unpacking import DAMAGED, FIELDS, packed
from compiler.protocol.kinds import Json

PORTION = 100
"""Links read from the database at a time."""


class NoLink(Exception):
    """A line of an import is not a link."""


@dataclass(frozen=True, slots=True)
class LinkSize:
    """A link, and its size in bytes."""

    name: str
    made: datetime
    version: str
    size: int

    def as_json(self) -> Json:
        """Return plain data."""
        made = self.made.isoformat() + "Z"
        return {"id": self.name, "made": made, "version": self.version, "bytes": self.size}


def listed(database: Database, before: datetime | None = None) -> list[LinkSize]:
    """List all links, or those made before a time, oldest first. Raises FAILURES."""
    size = func.length(Permalink.content)
    asked = select(Permalink.id, Permalink.made, Permalink.version, size).order_by(Permalink.made)
    if before is not None:
        asked = asked.where(Permalink.made < before)
    with database.session(Permalink) as session:
        return [LinkSize(*row) for row in session.execute(asked)]


def deleted(database: Database, names: Sequence[str]) -> list[str]:
    """Delete links, whoever owns them; return those that existed. Raises FAILURES."""
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
    """Yield links as JSON with their ids; None for a damaged one. Raises FAILURES."""
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
    """Import links of a file; return the numbers of new and of known ones.

    Raises NoLink, which names the line, after storing those before it, and FAILURES.
    """
    new = known = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = _row(json.loads(line))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise NoLink(f"Line {number} is not a link: {error}") from error
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
        raise ValueError("its id does not match its digest")
    if not state.keys() >= FIELDS:
        raise ValueError("it has no state")
    made = datetime.fromisoformat(told["made"])
    return Permalink(
        id=name, digest=digest, made=made, version=str(told["version"]), content=packed(state)
    )
