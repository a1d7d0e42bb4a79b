"""Lectures: the view of a teacher's page, for followers with a code.

A lecture is one row of the database: the last view, under a number that grows with each change. The
teacher's page publishes views with a secret; followers poll for views newer than a number. Several
servers may share the database: views published by another one are seen within `FRESH`.

A code has six characters, and attempts are rate limited. It leads to the lecture's id, which cannot
be guessed, and all other requests use the id.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Boolean, Float, Integer, LargeBinary, String, delete, func, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.cache import Bounded
from app.database import FAILURES, Base, Database, available
from app.errors import AppError
from compiler.protocol.kinds import Json

log = logging.getLogger(__name__)

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Characters of codes: without letters that are mistaken for digits, or for others."""
LENGTH = 6
ALIKE = str.maketrans("OIL", "011")
FRESH = 0.5
"""Seconds for which a row of the database stays cached."""
AWAITED = 60.0
"""Seconds for which a lecture is watched after a follower has waited for it."""
QUIET = 600.0
"""Seconds without its teacher after which a lecture may be dropped to make room."""
REMEMBERED = 16 << 20
"""Bytes of the views in memory; the database has all."""


class Lecture(Base):
    """One lecture. `heard` is the time of the last message from its teacher's page, in seconds."""

    __tablename__ = "lectures"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    code: Mapped[str] = mapped_column(String(LENGTH), unique=True)
    secret: Mapped[str] = mapped_column(String(64))
    owner: Mapped[str] = mapped_column(String(64), index=True)
    page: Mapped[str] = mapped_column(String(64))
    number: Mapped[int] = mapped_column(Integer)
    heard: Mapped[float] = mapped_column(Float, index=True)
    ended: Mapped[bool] = mapped_column(Boolean)
    content: Mapped[bytes] = mapped_column(LargeBinary)


@dataclass(frozen=True, slots=True)
class Shown:
    """The view of a lecture: an answer, as gzip of JSON."""

    number: int
    heard: float
    ended: bool
    content: bytes


class Lectures:
    """The store. AppError (503) while the database fails."""

    def __init__(self, database: Database, most: int, hours: float) -> None:
        """`most` lectures at a time; each ends after so many hours without its teacher."""
        self._database = database
        self._most = most
        self._of_owner = max(1, most // 8)
        self._silence = 3600.0 * hours
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._known: Bounded[tuple[Shown, float]] = Bounded(REMEMBERED)
        self._awaited: dict[str, float] = {}
        self._watching = False
        self._listeners: list[Callable[[str], None]] = []

    # --- the teacher -------------------------------------------------------------------------

    def start(self, address: str) -> tuple[str, str, str]:
        """Begin a lecture for a teacher at an address; return its id, code and secret.

        AppError where there are too many active ones, of all (503) or of this address (429).

        """
        owner, now = _hash(address), time.time()
        secret = secrets.token_urlsafe(16)
        with available("kept", "Lectures"), self._database.session(Lecture) as session:
            session.execute(delete(Lecture).where(Lecture.heard < now - self._silence))
            self._make_room(session, now, owner)
            name, code = secrets.token_urlsafe(16), _code()
            while session.scalar(select(Lecture.id).where(Lecture.code == code)):
                code = _code()
            row = Lecture(
                id=name, code=code, secret=_hash(secret), owner=owner, page="", number=0,
                heard=now, ended=False, content=_content(0, False, None),
            )  # fmt: skip
            session.add(row)
            session.commit()
        return name, code, secret

    def _make_room(self, session: Session, now: float, owner: str) -> None:
        """Drop inactive or ended lectures if there are too many."""
        count = select(func.count()).select_from(Lecture)
        oldest = select(Lecture).order_by(Lecture.ended.desc(), Lecture.heard).limit(1)
        whose = Lecture.owner == owner
        for asked, found, most, status in (
            (count.where(whose), oldest.where(whose), self._of_owner, 429),
            (count, oldest, self._most, 503),
        ):
            if (session.scalar(asked) or 0) < most:
                continue
            row = session.scalar(found)
            if row is not None and (row.ended or row.heard < now - QUIET):
                session.delete(row)
                session.flush()
                continue
            where = "Too many lectures run from your address" if status == 429 else (
                "Too many lectures run on this server"
            )  # fmt: skip
            raise AppError("busy", f"{where} now.", status, "End one, or try again later.")

    def publish(
        self, name: str, secret: str, page: str, view: Json | None, *, take: bool, end: bool
    ) -> int:
        """Publish a view, end the lecture, or only report that its teacher is there.

        Return the number of the view. One page leads at a time: another one that knows the secret
        has to `take` the lecture. AppError for an unknown lecture or a wrong secret (404), if
        another page leads (409), or if it has ended (410).
        """
        now = time.time()
        with available("kept", "Lectures"), self._database.session(Lecture) as session:
            row = session.get(Lecture, name)
            if row is None or not hmac.compare_digest(row.secret, _hash(secret)):
                raise AppError("usage", "You have no such lecture.", 404)
            if row.ended or row.heard < now - self._silence:
                raise AppError("gone", "This lecture has ended.", 410)
            if row.page and row.page != page and not take:
                raise _elsewhere()
            before = row.number
            number = before + (end or view is not None)
            # Of an ended lecture the last view stays with who has it.
            content = _content(number, end, view) if number > before else row.content
            changed = session.execute(
                update(Lecture)
                .where(Lecture.id == name, Lecture.number == before)
                .values(page=page, heard=now, number=number, ended=end, content=content)
                .execution_options(synchronize_session=False)
            )
            if not changed.rowcount:  # type: ignore[attr-defined]
                raise _elsewhere()
            session.commit()
        self._remember(name, Shown(number, now, end, content))
        return number

    # --- who follows -------------------------------------------------------------------------

    def join(self, code: str) -> str | None:
        """Return the id of the lecture with a code, as people type it; None for an unknown one."""
        plain = code_of(code)
        if len(plain) != LENGTH:
            return None
        since = time.time() - self._silence
        asked = select(Lecture.id).where(
            Lecture.code == plain, Lecture.heard >= since, Lecture.ended.is_(False)
        )
        with available("read", "Lectures"), self._database.session(Lecture) as session:
            return session.scalar(asked)

    def shown(self, name: str) -> Shown | None:
        """Return the view of a lecture; None if it does not exist."""
        with self._reading:  # who comes together reads once
            with self._lock:
                found, read = self._known.get(name) or (None, 0.0)
            if found is None or read < time.monotonic() - FRESH:
                found = self._read(name, found)
                if found is None:
                    with self._lock:
                        self._known.drop(name)
                    return None
                self._remember(name, found)
        return found

    def _read(self, name: str, known: Shown | None) -> Shown | None:
        columns = select(Lecture.number, Lecture.heard, Lecture.ended).where(Lecture.id == name)
        with available("read", "Lectures"), self._database.session(Lecture) as session:
            row = session.execute(columns).one_or_none()
            if row is None or row.heard < time.time() - self._silence:
                return None
            if known is not None and known.number == row.number:
                return Shown(row.number, row.heard, row.ended, known.content)
            whole = session.get(Lecture, name)
            if whole is None:
                return None
            return Shown(whole.number, whole.heard, whole.ended, whole.content)

    def _remember(self, name: str, shown: Shown) -> None:
        with self._lock:
            before = self._known.get(name)
            if before is not None and before[0].number > shown.number:
                shown = before[0]
            self._known.keep(name, (shown, time.monotonic()), len(shown.content))
            listeners = list(self._listeners) if before and before[0].number < shown.number else []
        for listener in listeners:
            listener(name)

    # --- who waits ---------------------------------------------------------------------------

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener`, in any thread, with lectures whose view has changed."""
        self._listeners.append(listener)

    def nothing_new(self, name: str, after: int) -> bool:
        """Return True if a lecture is known to have no newer view; then watch it.

        Reads no database, so that an event loop may call it.
        """
        with self._lock:
            found = self._known.get(name)
            if found is None or found[0].number > after or found[0].ended:
                return False
            self._awaited[name] = time.monotonic()
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="lectures", daemon=True).start()
        return True

    def _watch(self) -> None:
        """Poll for views of other servers, while followers here wait."""
        while True:
            time.sleep(FRESH)
            with self._lock:
                since = time.monotonic() - AWAITED
                self._awaited = {name: at for name, at in self._awaited.items() if at > since}
                if not self._awaited:
                    self._watching = False
                    return
                known = ((name, self._known.get(name)) for name in self._awaited)
                numbers = {name: found[0].number for name, found in known if found is not None}
            try:
                for name in self._changed(numbers):
                    self.shown(name)
            except (AppError, *FAILURES):
                log.warning("lectures cannot be read")

    def _changed(self, numbers: dict[str, int]) -> list[str]:
        asked = select(Lecture.id, Lecture.number).where(Lecture.id.in_(numbers))
        with self._database.session(Lecture) as session:
            return [name for name, number in session.execute(asked) if number > numbers[name]]


def code_of(typed: str) -> str:
    """Normalise a code as typed."""
    plain = "".join(typed.split()).replace("-", "").upper().translate(ALIKE)
    return plain if set(plain) <= set(ALPHABET) else ""


def _code() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _content(number: int, ended: bool, view: Json | None) -> bytes:
    answer = {"ok": True, "number": number, "ended": ended, "view": view}
    return gzip.compress(json.dumps(answer, separators=(",", ":")).encode(), 5, mtime=0)


def _elsewhere() -> AppError:
    return AppError("usage", "Another window now leads this lecture.", 409)
