"""Frozen states: what a link shows is what was seen when it was made, for as long as it exists.

A state is one JSON object (source, files, options, version, stages, remarks, run, error, view),
stored compressed under a short id that is computed from its identity: what was asked, and what came
of it. Neither times nor how much memory a run took belong to it, so that sharing the same thing
twice with one version gives one link.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import zstandard
from sqlalchemy import DateTime, LargeBinary, String, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Mapped, defer, mapped_column

from app.database import Base, Database, available, is_full
from app.older import upgraded
from compiler.protocol.kinds import Json

log = logging.getLogger(__name__)

State = Json
FORMAT = 1
FIELDS = frozenset({"version", "source"})
"""What a state has that a link cannot be without."""
DAMAGED = (zstandard.ZstdError, ValueError, TypeError, LookupError, AttributeError)
"""What a row raises that holds something else."""
SHORTEST = 10
LONGEST = 64


class Permalink(Base):
    """One frozen state."""

    __tablename__ = "permalinks"
    id: Mapped[str] = mapped_column(String(LONGEST), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    made: Mapped[datetime] = mapped_column(DateTime)
    version: Mapped[str] = mapped_column(String(64))
    content: Mapped[bytes] = mapped_column(LargeBinary)


class Permalinks:
    """The store. AppError (503) while the database fails."""

    def __init__(self, database: Database, make_room: Callable[[], None]) -> None:
        """`make_room` drops from a full database what can be made again."""
        self._database = database
        self._make_room = make_room

    def keep(self, state: State) -> tuple[str, bool]:
        """Store a state; its id, and whether it is new."""
        digest = identity_digest(state)
        name = base64.b32encode(bytes.fromhex(digest)).decode().lower().rstrip("=")
        now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
        text = json.dumps({**state, "made": now.isoformat() + "Z"}, separators=(",", ":"))
        content = zstandard.ZstdCompressor(level=10).compress(text.encode())
        with available("stored"):
            for length in range(SHORTEST, len(name) + 1):
                fresh = Permalink(
                    id=name[:length],
                    digest=digest,
                    made=now,
                    version=state["version"],
                    content=content,
                )
                found = self._find(fresh.id)
                if found is None and self._add(fresh):
                    return name[:length], True
                # Another state has this id, or another request has just stored this one.
                found = found or self._find(name[:length])
                if found is not None and found.digest == digest:
                    self._mend(found, content)
                    return found.id, False
        raise AssertionError("two states have one digest")

    def _find(self, name: str) -> Permalink | None:
        with self._database.session(Permalink) as session:
            return session.get(Permalink, name, options=[defer(Permalink.made)])

    def _add(self, row: Permalink) -> bool:
        """Store a row unless there is one with its id or digest."""
        with self._database.session(Permalink) as session:
            try:
                session.add(row)
                session.commit()
            except IntegrityError:
                return False
            except SQLAlchemyError as error:
                if not is_full(error):
                    raise
                session.rollback()
                self._make_room()
                session.add(row)
                session.commit()
        return True

    def _mend(self, row: Permalink, content: bytes) -> None:
        """Store a state anew whose row is damaged."""
        try:
            _unpacked(row.content)
        except DAMAGED as error:
            log.error("The row of the link %s was damaged, and is stored anew: %r", row.id, error)
            with self._database.session(Permalink) as session:
                session.execute(
                    update(Permalink).where(Permalink.id == row.id).values(content=content)
                )
                session.commit()

    def read(self, name: str) -> tuple[State, str] | None:
        """The state behind an id, and the same as JSON.

        A row that holds none is told in the log, and answered as one that is not there.
        """
        with available("read"):
            try:
                row = self._find(name)
                return None if row is None else _unpacked(row.content)
            except DAMAGED as error:
                log.error("The row of the link %s is damaged: %r", name, error)
                return None


def _unpacked(content: bytes) -> tuple[State, str]:
    """A state as it is today, and the same as JSON. Raises DAMAGED."""
    text = zstandard.decompress(content).decode()
    state = json.loads(text)
    if not isinstance(state, dict) or not state.keys() >= FIELDS:
        raise ValueError("it is no state")
    today = upgraded(state)
    return today, text if today is state else json.dumps(today, separators=(",", ":"))


def is_id(name: str) -> bool:
    """Whether a text looks like a link's id."""
    return name.isascii() and name.isalnum() and len(name) <= LONGEST


def identity_digest(state: State) -> str:
    """A hash of a state's identity."""
    text = json.dumps(identity(state), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def identity(state: State) -> Json:
    """What makes two states one: the same was asked of the same version, and the same came of it.

    Everything else in a state follows from this, or is a measurement.
    """
    run, asked = state.get("run"), state.get("asked")
    return {
        "version": state["version"],
        "source": state["source"],
        **{name: state[name] for name in ("files", "main") if state.get(name)},
        "options": _options(state.get("options") or {}),
        "stages": {name: stage["text"] for name, stage in (state.get("stages") or {}).items()},
        "error": _error(state.get("error")),
        "run": run and _kept(run),
        **({"asked": [_kept(one) for one in asked]} if asked else {}),
        "view": state.get("view") or {},
    }


def _kept(asked: Json) -> Json:
    """What was asked, and what came of it."""
    return {**asked, "answer": _outcome(asked["answer"])}


def _options(options: Json) -> Json:
    """Options without those that say what holds without them; switches in an order of their own."""
    given = {name: value for name, value in options.items() if not _is_usual(name, value)}
    for name in ("disable", "enable"):
        switches = given.get(name)
        if isinstance(switches, list) and all(isinstance(one, str) for one in switches):
            given[name] = sorted(set(switches))
    return given


def _is_usual(name: str, value: Any) -> bool:
    nothing = value is None or value is False or value in ("", [], {})
    return nothing or (name, value) == ("target", "c")


def _outcome(answer: Json) -> Json:
    """What a run gave, without how long it took and what it needed."""
    if not answer.get("ok"):
        return {"error": _error(answer.get("error"))}
    return {name: answer.get(name) for name in ("output", "cut", "results")}


def _error(error: Json | None) -> Json | None:
    return error and {name: error.get(name) for name in ("kind", "message", "span")}
