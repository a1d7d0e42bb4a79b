"""Frozen states: what a link shows is what was seen when it was made, for as long as it exists.

A state is one JSON object (source, options, version, stages, remarks, run, error, view), stored
compressed under a short id that is computed from its content. Times are not part of the identity,
so sharing the same thing twice gives the same link.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import zstandard
from sqlalchemy import DateTime, LargeBinary, String, create_engine, event
from sqlalchemy.engine import Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from app.errors import AppError

log = logging.getLogger(__name__)

State = dict[str, Any]
FORMAT = 1
SHORTEST = 10
TIMING = frozenset({"ms", "made"})


class Base(DeclarativeBase):
    """The tables."""


class Permalink(Base):
    """One frozen state."""

    __tablename__ = "permalinks"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    made: Mapped[datetime] = mapped_column(DateTime)
    version: Mapped[str] = mapped_column(String(64))
    content: Mapped[bytes] = mapped_column(LargeBinary)


class Permalinks:
    """The store. The database is made at first use.

    A database that is full, read-only, locked, damaged or away is an AppError (503) that says so,
    and is tried anew with the next request.
    """

    def __init__(self, url: Callable[[], str], megabytes: int = 0) -> None:
        """SQLite's file grows to so many megabytes at most; 0: as it can."""
        self._url = url
        self._megabytes = megabytes
        self._engine: Engine | None = None

    def engine(self) -> Engine:
        """The connection pool of the database; its tables are made first."""
        if self._engine is None:
            engine = create_engine(self._url(), pool_pre_ping=True)
            if engine.dialect.name == "sqlite" and self._megabytes:
                event.listen(engine, "connect", partial(_bound, self._megabytes))
            Base.metadata.create_all(engine)
            self._engine = engine
        return self._engine

    def keep(self, state: State) -> tuple[str, bool]:
        """Store a state; its id, and whether it is new."""
        digest = content_digest(state)
        name = base64.b32encode(bytes.fromhex(digest)).decode().lower().rstrip("=")
        now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
        text = json.dumps({**state, "made": now.isoformat() + "Z"}, separators=(",", ":"))
        content = zstandard.ZstdCompressor(level=10).compress(text.encode())
        with _available("stored"), Session(self.engine()) as session:
            for length in range(SHORTEST, len(name) + 1):
                known = session.get(Permalink, name[:length])
                if known is not None and known.digest == digest:
                    return known.id, False
                if known is None:
                    break
            row = Permalink(
                id=name[:length], digest=digest, made=now, version=state["version"], content=content
            )
            session.add(row)
            try:
                session.commit()
            except IntegrityError:  # another request stored the same state meanwhile
                session.rollback()
            return name[:length], True

    def open(self, name: str) -> State | None:
        """The state behind an id."""
        if not name.isalnum() or len(name) > 64:
            return None
        with _available("read"), Session(self.engine()) as session:
            row = session.get(Permalink, name.lower())
            content = row.content if row is not None else None
        if content is None:
            return None
        state: State = json.loads(zstandard.ZstdDecompressor().decompress(content))
        return state


def _bound(megabytes: int, connection: DBAPIConnection, _: object) -> None:
    """Let SQLite's file grow to so many megabytes."""
    cursor = connection.cursor()
    (page,) = cursor.execute("pragma page_size").fetchone()
    cursor.execute(f"pragma max_page_count = {(megabytes << 20) // page}")
    cursor.close()


@contextmanager
def _available(done: Literal["stored", "read"]) -> Iterator[None]:
    """Say that links cannot be stored or read now, where the database fails."""
    try:
        yield
    except (SQLAlchemyError, OSError, ImportError) as error:
        log.error("links cannot be %s: %s", done, error)
        hint = "What you wrote is still on the page. " if done == "stored" else ""
        raise AppError(
            "unavailable",
            f"Links cannot be {done} now.",
            503,
            f"{hint}The server's database does not answer as it should; try again later.",
        ) from error


def content_digest(state: State) -> str:
    """A hash of everything but times."""
    text = json.dumps(_without_times(state), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in TIMING}
    if isinstance(value, list):
        return [_without_times(item) for item in value]
    return value
