"""The database of links: connections, base of tables, and errors."""

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
"""Exceptions of a database that is full, read-only, locked, damaged or away."""


class Base(DeclarativeBase):
    """Base of the tables."""


class Database:
    """A database (SQLite, PostgreSQL or others of SQLAlchemy), opened on first use.

    A failed opening is repeated by the next request.
    """

    def __init__(self, url: Callable[[], str], megabytes: int = 0) -> None:
        """`megabytes` bounds SQLite's file; 0: no bound."""
        self._url = url
        self._megabytes = megabytes
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._tables: set[str] = set()

    def session(self, *kinds: type[Base]) -> Session:
        """Open a session for kinds of rows; create missing tables.

        Each table is created separately, so that an earlier version's database can be read even if
        it is read-only. Raises FAILURES, as everything done in the session does.
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
    """Create a table unless it exists, or another server creates it meanwhile."""
    try:
        table.create(engine, checkfirst=True)
    except SQLAlchemyError:
        if not inspect(engine).has_table(table.name):
            raise


def _bound(megabytes: int, connection: DBAPIConnection, _: object) -> None:
    """Bound the size of SQLite's file."""
    cursor = connection.cursor()
    (page,) = cursor.execute("pragma page_size").fetchone()
    cursor.execute(f"pragma max_page_count = {(megabytes << 20) // page}")
    cursor.close()


def drop_abandoned(session: Session) -> None:
    """Drop tables of earlier versions that are only caches. Raises FAILURES."""
    session.execute(text("drop table if exists rendered"))
    session.commit()


def is_full(error: Exception) -> bool:
    """Return True if SQLite's file has reached its bound, or a disk is full."""
    orig = getattr(error, "orig", None)
    return getattr(orig, "sqlite_errorname", "") == "SQLITE_FULL" or (
        getattr(orig, "sqlstate", "") == "53100"  # PostgreSQL's
    )


@contextmanager
def available(done: str, what: str = "Links") -> Iterator[None]:
    """Convert database failures to AppError (503): links cannot be `stored` or `read` now."""
    try:
        yield
    except FAILURES as error:
        log.error("%s cannot be %s: %s", what, done, error)
        hint = "Your program is still on the page. " if done == "stored" else ""
        raise AppError(
            "unavailable",
            f"{what} cannot be {done} now.",
            503,
            f"{hint}The server's database is not available; try again later.",
        ) from error
