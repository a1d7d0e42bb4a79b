"""Store frozen states: a link always shows what was seen when it was made.

A state is one JSON object (source, files, options, version, stages, remarks, run, error, view),
stored compressed under a short id that is computed from its identity: requests and answers. Times
and memory of runs are left out, so that sharing the same thing twice with one version gives one
link.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    DateTime,
    LargeBinary,
    String,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, defer, mapped_column

from app.cache import ENTRY, Bounded
from app.database import FAILURES, Base, Database, available, drop_abandoned, is_full
from app.errors import AppError
from app.link_owners import ANY, MB, Holder, Holders, Quotas, Sharer
from app.unpacking import DAMAGED, LONGEST, State, is_intact, packed, unpacked
from compiler.protocol.kinds import Json

log = logging.getLogger(__name__)

FORMAT = 1
SHORTEST = 10
KNOWN = 10_000
"""Existing links that are cached."""
KNOWN_SECONDS = 2.0
"""Seconds of that: afterwards a link deleted here or elsewhere is gone."""


class Permalink(Base):
    """One frozen state."""

    __tablename__ = "permalinks"
    id: Mapped[str] = mapped_column(String(LONGEST), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    made: Mapped[datetime] = mapped_column(DateTime)
    version: Mapped[str] = mapped_column(String(64))
    content: Mapped[bytes] = mapped_column(LargeBinary)


KINDS = (Permalink, Holder)
ROW = 400
"""Bytes of a row beside a link's content, including indexes."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A state as it is stored; `digest` identifies it."""

    digest: str
    version: str
    made: datetime
    content: bytes


class Stored(NamedTuple):
    """A stored link: its id, whether it is new, and the key that deletes it ("": none)."""

    name: str
    new: bool
    key: str


class Permalinks:
    """The store. AppError (503) while the database fails."""

    def __init__(
        self, database: Database, quotas: Quotas = ANY, days: float = 0.0, megabytes: int = 0
    ) -> None:
        """Links expire after so many days (0: never), and take so many `megabytes` (0: any)."""
        self._database = database
        self._holders = Holders(database, quotas)
        self._days = days
        self._megabytes = megabytes
        self._known: Bounded[float] = Bounded(KNOWN * ENTRY)

    def keep(self, state: Frozen, sharer: Sharer | None = None) -> Stored:
        """Store a shared state. AppError where there is no room for it."""
        digest, now = state.digest, state.made
        name = names_of(digest)
        with available("stored"):
            self._drop_expired()
            for length in range(SHORTEST, len(name) + 1):
                fresh = Permalink(
                    id=name[:length],
                    digest=digest,
                    made=now,
                    version=state.version,
                    content=state.content,
                )
                found = self._find(fresh.id)
                key = self._add(fresh, sharer) if found is None else None
                if key is not None:
                    return Stored(name[:length], True, key)
                # Another state has this id, or another request has just stored this one.
                found = found or self._find(name[:length])
                if found is not None and found.digest == digest:
                    self._mend(found, state.content)
                    return Stored(found.id, False, self._shared_again(found.id, sharer, now))
        raise AssertionError("two states have one digest")

    def _shared_again(self, name: str, sharer: Sharer | None, now: datetime) -> str:
        """Return the key for another owner of a link; "" if there is none."""
        with suppress(*FAILURES), self._database.session(Permalink, Holder) as session:
            if sharer is not None:
                key = self._holders.join(session, name, sharer, now, self._has_room(session, 0))
                session.commit()
                return key
        return ""

    def give_up(self, name: str, key: str) -> bool | None:
        """Remove the owner with this key; return True if the link is gone, None for a wrong key."""
        with available("deleted"), self._database.session(Permalink, Holder) as session:
            gone = self._holders.give_up(session, name, key)
            if gone:
                session.execute(delete(Permalink).where(Permalink.id == name))
            session.commit()
        if gone:
            self._known.keep(name, float("-inf"), 1)
        return gone

    def _drop_expired(self) -> None:
        """Delete expired links."""
        if self._days:
            with self._database.session(Permalink, Holder) as session:
                session.execute(delete(Permalink).where(Permalink.made < self._oldest()))
                there = select(Permalink.id)
                session.execute(delete(Holder).where(Holder.link.not_in(there)))
                session.commit()

    def _oldest(self) -> datetime:
        now = datetime.now(UTC).replace(tzinfo=None)
        return now - timedelta(days=self._days) if self._days else datetime.min

    def _is(self, name: str) -> ColumnElement[bool]:
        """Return the condition for the row of an unexpired link."""
        is_named = Permalink.id == name
        return is_named & (Permalink.made >= self._oldest()) if self._days else is_named

    def _find(self, name: str) -> Permalink | None:
        with self._database.session(Permalink) as session:
            return session.get(Permalink, name, options=[defer(Permalink.made)])

    def _add(self, row: Permalink, sharer: Sharer | None) -> str | None:
        """Store a row; return its key, or None if its id or digest exists."""
        try:
            return self._added(row, sharer)
        except SQLAlchemyError as error:
            if not is_full(error):
                raise
        with self._database.session(Permalink) as session:
            drop_abandoned(session)
        try:
            return self._added(row, sharer)
        except SQLAlchemyError as error:
            if not is_full(error):
                raise
            raise no_room(self._megabytes) from error

    def _added(self, row: Permalink, sharer: Sharer | None) -> str | None:
        columns = {column.name: getattr(row, column.name) for column in Permalink.__table__.columns}
        size = len(row.content)
        with self._database.session(Permalink, Holder) as session:
            if not self._has_room(session, size):
                raise no_room(self._megabytes)
            if sharer is not None:
                self._holders.check(session, sharer, size)
            try:
                session.execute(insert(Permalink).values(columns))
            except IntegrityError:
                return None
            key = ""
            if sharer is not None:
                key = self._holders.add(session, row.id, sharer, size, row.made)
            session.commit()
        return key

    def _has_room(self, session: Session, size: int) -> bool:
        """Return True if so many bytes may be added; SQLite's file has its own bound.

        Links stored concurrently may together exceed the bound.
        """
        if not self._megabytes or session.get_bind().dialect.name == "sqlite":
            return True
        links = session.scalar(select(func.sum(func.octet_length(Permalink.content)))) or 0
        rows = sum(session.scalar(select(func.count()).select_from(kind)) or 0 for kind in KINDS)
        return int(links) + rows * ROW + size <= self._megabytes * MB

    def _mend(self, row: Permalink, content: bytes) -> None:
        """Store a state again if its row is damaged."""
        if not is_intact(row.content):
            log.error("The row of the link %s was damaged, and is stored anew.", row.id)
            with self._database.session(Permalink) as session:
                session.execute(
                    update(Permalink).where(Permalink.id == row.id).values(content=content)
                )
                session.commit()

    def is_there(self, name: str) -> bool:
        """Return True if a link exists, as cached for a moment, or if the database fails."""
        known = self._known.get(name)
        now = time.monotonic()
        if known is not None and now - known < KNOWN_SECONDS:
            return True
        try:
            with self._database.session(Permalink) as session:
                found = session.scalar(select(Permalink.id).where(self._is(name)))
        except FAILURES as error:
            log.warning("It is not known whether there is the link %s: %s", name, error)
            return True
        if found is not None:
            self._known.keep(name, now, 0)
        return found is not None

    def content(self, name: str) -> bytes | None:
        """Return the state of an id as stored; None for an unknown one."""
        with available("read"), self._database.session(Permalink) as session:
            found: Any = session.scalar(select(Permalink.content).where(self._is(name)))
        return found if found is None or isinstance(found, bytes) else b""

    def read(self, name: str) -> tuple[State, str] | None:
        """Return the state of an id, and that as JSON.

        A damaged row is logged, and treated as missing.
        """
        content = self.content(name)
        try:
            return None if content is None else unpacked(content)
        except DAMAGED as error:
            tell_damaged(name, repr(error))
            return None


def names_of(digest: str) -> str:
    """Return the longest id of a state; a shorter free one is a prefix."""
    return base64.b32encode(bytes.fromhex(digest)).decode().lower().rstrip("=")


def frozen(state: State, made: datetime | None = None, most: int = 0) -> Frozen:
    """Pack a state for the store, as made now. AppError above `most` bytes (0: any)."""
    made = made or now_in_seconds()
    content = packed({**state, "made": made.isoformat() + "Z"})
    check_size(state, len(content), most)
    return Frozen(identity_digest(state), state["version"], made, content)


def now_in_seconds() -> datetime:
    """Return the time, as links have it."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def check_size(state: State, size: int, most: int) -> None:
    """Raise AppError for a link that is too large, naming its largest part."""
    if not most or size <= most:
        return
    parts = {
        "the program": (state.get("source"), state.get("files")),
        "its stages": state.get("stages"),
        "the run with its input": state.get("run"),
        "the answers asked for in addition": state.get("asked"),
        "its proofs and memory": (state.get("attempts"), state.get("lifetimes")),
    }
    largest = max(parts, key=lambda name: len(json.dumps(parts[name])))
    raise AppError(
        "limitation",
        f"This link would take {size / MB:.1f} MB, but a link may take at most {most / MB:.0f} MB.",
        413,
        f"Its largest part is {largest}.",
    )


def no_room(megabytes: int) -> AppError:
    """Make the error for a full database."""
    bound = f"the {megabytes} MB that this server keeps" if megabytes else "the server's disk"
    return AppError(
        "unavailable",
        "The server has no room for more links.",
        507,
        f"Your program is still on the page. Links fill {bound}: the operator can "
        "delete some (`stridescope links`) or raise the limit.",
    )


def tell_damaged(name: str, why: str) -> None:
    """Log a damaged row."""
    log.error("The row of the link %s is damaged: %s", name, why)


def identity_digest(state: State) -> str:
    """Return a hash of a state's identity."""
    text = json.dumps(identity(state), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def identity(state: State) -> Json:
    """Return the identity of a state: the requests, the version, and the answers.

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
    """Return a request with its outcome."""
    return {**asked, "answer": _outcome(asked["answer"])}


def _options(options: Json) -> Json:
    """Remove default options, and sort switches."""
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
    """Return the outcome of a run, without time and memory."""
    if not answer.get("ok"):
        return {"error": _error(answer.get("error"))}
    return {name: answer.get(name) for name in ("output", "cut", "results")}


def _error(error: Json | None) -> Json | None:
    return error and {name: error.get(name) for name in ("kind", "message", "span")}
