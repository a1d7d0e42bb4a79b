"""What readers of links get, made once: the page and the JSON of a link, compressed, in bytes.

A link's content does not change, so that neither does what is made of it by one renderer: these
templates, this version, these style sheets. It is made when the link is, or (when it was dropped
for its size) by its first reader, while others wait for that one. After an upgrade readers get what
the renderer before made of it, and it is made anew behind them, one link after another. It is kept
in memory and in the database, in each up to a bound; if neither takes it, it is made again.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from sqlalchemy import DateTime, Integer, LargeBinary, String, delete, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.cache import Bounded
from app.database import FAILURES, Base, Database
from app.paths import static_folder, template_folder
from app.version import compiler_version

log = logging.getLogger(__name__)

Form = Literal["page", "state"]
LEVEL = 6
"""Of compression."""
BEHIND = 1.0
"""Seconds after which a link is made anew: readers come all at once, and are answered first."""


class RenderedLink(Base):
    """What one renderer made of one link."""

    __tablename__ = "rendered"
    link: Mapped[str] = mapped_column(String(64), primary_key=True)
    form: Mapped[str] = mapped_column(String(16), primary_key=True)
    renderer: Mapped[str] = mapped_column(String(64), primary_key=True)
    token: Mapped[str] = mapped_column(String(64))
    made: Mapped[datetime] = mapped_column(DateTime, index=True)
    size: Mapped[int] = mapped_column(Integer)
    content: Mapped[bytes] = mapped_column(LargeBinary)


@dataclass(frozen=True, slots=True)
class Rendering:
    """Text in UTF-8, compressed by gzip, under a random token.

    The token is the text's ETag and the nonce of its style sheets: it was drawn after the link's
    content had been fixed, so that nothing in the content can have known it.
    """

    token: str
    content: bytes
    current: bool = True
    """Whether this renderer has made it, and not an earlier one."""


class Renderings:
    """The store."""

    def __init__(self, database: Database, memory: int, stored: int, address: str = "") -> None:
        """So many bytes are kept in memory and in the database, by a server at this address."""
        self._database = database
        self._memory: Bounded[Rendering] = Bounded(memory)
        self._stored = stored
        self._renderer = renderer_name(address)
        self._lock = threading.Lock()
        self._flights: dict[str, Future[Rendering]] = {}
        self._renewing: set[str] = set()
        self._behind = threading.Lock()

    def get(self, link: str, form: Form, make: Callable[[str], str]) -> Rendering:
        """What there is of a link, or what `make` makes of it with a token. Raises what that does.

        `make` is called in another thread where there is something of an earlier renderer. A
        database that fails is no error here: what it has not got is made.
        """
        key = f"{link} {form}"
        found = self._memory.get(key)
        if found is not None and (found.current or key in self._renewing):
            return found
        with self._lock:
            is_first = key not in self._flights
            flight = self._flights.setdefault(key, Future())
        if not is_first:
            return flight.result()
        try:
            found = self._memory.get(key) or self._load(link, form)
            if found is None:
                flight.set_result(self._make(key, make))
                self._store(link, form, flight.result())  # when all others have it
                return flight.result()
            self._memory.keep(key, found, len(found.content))
            flight.set_result(found)
        except BaseException as problem:
            if not flight.done():
                flight.set_exception(problem)
            raise
        finally:
            with self._lock:
                del self._flights[key]
        if not found.current and key not in self._renewing:
            self._renewing.add(key)
            later = threading.Timer(BEHIND, self._renew, (key, link, form, make))
            later.daemon = True
            later.start()
        return found

    def _make(self, key: str, make: Callable[[str], str]) -> Rendering:
        token = secrets.token_urlsafe(12)
        content = gzip.compress(make(token).encode(errors="replace"), LEVEL, mtime=0)
        made = Rendering(token, content)
        self._memory.keep(key, made, len(content))
        return made

    def _renew(self, key: str, link: str, form: Form, make: Callable[[str], str]) -> None:
        """Make a link anew, when no other is. A failure is logged: its next reader tries again."""
        try:
            with self._behind:
                self._store(link, form, self._make(key, make))
        except Exception:
            log.exception("link %s cannot be rendered anew", link)
        finally:
            self._renewing.discard(key)

    def _load(self, link: str, form: Form) -> Rendering | None:
        try:
            with self._database.session(RenderedLink) as session:
                row = session.get(RenderedLink, (link, form, self._renderer))
                if row is not None:
                    return Rendering(row.token, row.content)
                of_link = (RenderedLink.link == link, RenderedLink.form == form)
                last = select(RenderedLink).where(*of_link).order_by(RenderedLink.made.desc())
                row = session.scalars(last.limit(1)).first()
                return None if row is None else Rendering(row.token, row.content, current=False)
        except FAILURES as error:
            log.info("rendered links cannot be read: %s", error)
            return None

    def _store(self, link: str, form: Form, made: Rendering) -> None:
        size = len(made.content)
        if size > self._stored:
            return
        now = datetime.now(UTC).replace(tzinfo=None)
        row = RenderedLink(
            link=link,
            form=form,
            renderer=self._renderer,
            token=made.token,
            made=now,
            size=size,
            content=made.content,
        )
        try:
            with self._database.session(RenderedLink) as session:
                self._drop_oldest(session, size)
                session.add(row)
                session.commit()
        except FAILURES as error:
            log.info("a rendered link cannot be stored: %s", error)

    def _drop_oldest(self, session: Session, size: int) -> None:
        """Make room for so many bytes within the bound."""
        sizes = select(func.sum(RenderedLink.size))
        excess = (session.scalar(sizes) or 0) + size - self._stored
        key = (RenderedLink.link, RenderedLink.form, RenderedLink.renderer)
        oldest = select(*key, RenderedLink.size).order_by(RenderedLink.made)
        for link, form, renderer, dropped in session.execute(oldest).all() if excess > 0 else ():
            if excess <= 0:
                break
            row = (RenderedLink.link == link, RenderedLink.form == form)
            session.execute(delete(RenderedLink).where(*row, RenderedLink.renderer == renderer))
            excess -= dropped

    def drop_stored(self) -> None:
        """Drop everything from the database. Raises FAILURES."""
        with self._database.session(RenderedLink) as session:
            session.execute(delete(RenderedLink))
            session.commit()


def renderer_name(address: str) -> str:
    """The same for all that makes the same of a link: version, templates, scripts, styles.

    The server's `address` is part of it: it stands in the page.
    """
    found = hashlib.sha256(f"{compiler_version()} {address}".encode())
    for folder in (template_folder(), static_folder(), static_folder() / "dist"):
        for path in sorted(folder.glob("*.*")):
            if path.is_file():
                found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
