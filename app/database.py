"""The database of links: its connections, its tables' base, and what is said when it fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Table, create_engine, event, inspect, text
from sqlalchemy.engine import Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Session

from app.errors import AppError

log = logging.getLogger(__name__)

FAILURES = (SQLAlchemyError, OSError, ImportError)
"""What a database that is full, read-only, locked, damaged or away raises."""


class Base(DeclarativeBase):
    """The tables."""


class Database:
    """SQLite, PostgreSQL or whatever else SQLAlchemy speaks to, opened at first use.

    What fails is tried anew with the next request.
    """

    def __init__(self, url: Callable[[], str], megabytes: int = 0) -> None:
        """SQLite's file grows to so many megabytes at most; 0: as it can."""
        self._url = url
        self._megabytes = megabytes
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._tables: set[str] = set()

    def session(self, *kinds: type[Base]) -> Session:
        """A session for kinds of rows, whose tables are made if the database has not got them.

        Each table is made by itself, so that what is in an earlier version's database is read even
        where nothing can be written. Raises FAILURES, as everything done in the session does.
        """
        with self._lock:
            if self._engine is None:
                self._engine = self._open()
            for table in (kind.__table__ for kind in kinds):
                assert isinstance(table, Table)
                if table.name not in self._tables:
                    _make(table, self._engine)
                    self._tables.add(table.name)
            return Session(self._engine)

    def _open(self) -> Engine:
        engine = create_engine(self._url(), pool_pre_ping=True)
        if engine.dialect.name == "sqlite" and self._megabytes:
            event.listen(engine, "connect", partial(_bound, self._megabytes))
        return engine


def _make(table: Table, engine: Engine) -> None:
    """Make a table unless it is there, or another server makes it meanwhile."""
    try:
        table.create(engine, checkfirst=True)
    except SQLAlchemyError:
        if not inspect(engine).has_table(table.name):
            raise


def _bound(megabytes: int, connection: DBAPIConnection, _: object) -> None:
    """Let SQLite's file grow to so many megabytes."""
    cursor = connection.cursor()
    (page,) = cursor.execute("pragma page_size").fetchone()
    cursor.execute(f"pragma max_page_count = {(megabytes << 20) // page}")
    cursor.close()


def drop_abandoned(session: Session) -> None:
    """Drop what earlier versions kept here, and can be made again. Raises FAILURES."""
    session.execute(text("drop table if exists rendered"))
    session.commit()


def is_full(error: Exception) -> bool:
    """Whether a failure says that SQLite's file may not grow any more, or that a disk is full."""
    orig = getattr(error, "orig", None)
    return getattr(orig, "sqlite_errorname", "") == "SQLITE_FULL" or (
        getattr(orig, "sqlstate", "") == "53100"  # PostgreSQL's
    )


@contextmanager
def available(done: str, what: str = "Links") -> Iterator[None]:
    """Say that links cannot be `stored` or `read` now (AppError, 503) where the database fails."""
    try:
        yield
    except FAILURES as error:
        log.error("%s cannot be %s: %s", what, done, error)
        hint = "What you wrote is still on the page. " if done == "stored" else ""
        raise AppError(
            "unavailable",
            f"{what} cannot be {done} now.",
            503,
            f"{hint}The server's database does not answer as it should; try again later.",
        ) from error
