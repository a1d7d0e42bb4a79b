"""Owners of links: their quotas, and the keys that delete links.

Addresses and tokens are stored as hashes, keyed by a secret of the database.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import DateTime, Integer, LargeBinary, String, delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.database import Base, Database
from app.errors import AppError
from app.unpacking import LONGEST

MB = 1 << 20
MOST = 100
"""Pages recorded as owners of one link."""
EVERYBODY = "everybody"
"""The owner of links with more pages: no key deletes them."""


class Holder(Base):
    """A page that has made a link, or shared the same again."""

    __tablename__ = "holders"
    link: Mapped[str] = mapped_column(String(LONGEST), primary_key=True)
    page: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    address: Mapped[str] = mapped_column(String(64), index=True)
    key: Mapped[str] = mapped_column(String(64))
    size: Mapped[int] = mapped_column(Integer)
    """Bytes that it added to the database; 0 if the link existed."""
    made: Mapped[datetime] = mapped_column(DateTime)


class Salt(Base):
    """The database's secret."""

    __tablename__ = "salts"
    name: Mapped[str] = mapped_column(String(16), primary_key=True)
    value: Mapped[bytes] = mapped_column(LargeBinary)


class Sharer(NamedTuple):
    """A client that shares: keys of its page and address, and the factor of its quotas."""

    page: str
    address: str
    factor: int = 1


@dataclass(frozen=True, slots=True)
class Quotas:
    """Most bytes of one link, of a page's links, of an address's links; 0: unlimited."""

    link: int = 0
    page: int = 0
    address: int = 0

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Quotas:
        """Return the quotas of the settings."""
        return cls(*(int(config[name]) * MB for name in ("LINK_MB", "PAGE_MB", "ADDRESS_MB")))


ANY = Quotas()


class Holders:
    """The store of owners."""

    def __init__(self, database: Database, quotas: Quotas) -> None:
        self._database = database
        self.quotas = quotas
        self._salt = b""

    def check(self, session: Session, sharer: Sharer, size: int) -> None:
        """Raise AppError if so many bytes exceed the client's quotas."""
        page, address = self._names(sharer)
        for whose, name, most, words in (
            (Holder.page, page, self.quotas.page, "this page"),
            (Holder.address, address, self.quotas.address, "your address"),
        ):
            had = session.scalar(select(func.sum(Holder.size)).where(whose == name)) or 0
            if most and had + size > most * sharer.factor:
                raise AppError(
                    "limitation",
                    f"The links of {words} take {had / MB:.1f} MB of at most "
                    f"{most * sharer.factor / MB:.0f} MB, and this one would take "
                    f"{size / MB:.1f} MB.",
                    507,
                    "Delete links that you do not need, or export the program to a file.",
                )

    def add(self, session: Session, link: str, sharer: Sharer, size: int, now: datetime) -> str:
        """Record the owner of a new link; return the key that deletes it."""
        page, address = self._names(sharer)
        key = secrets.token_urlsafe(16)
        known = session.get(Holder, (link, page))
        if known is not None:
            known.key = _hash(key)
        else:
            row = Holder(link=link, page=page, address=address, key=_hash(key), size=size, made=now)
            session.add(row)
        return key

    def join(
        self, session: Session, link: str, sharer: Sharer, now: datetime, has_room: bool
    ) -> str:
        """Record another owner of an existing link; return its key.

        The key is "" if owners are unknown, or too many: then the link stays.
        """
        of_link = Holder.link == link
        pages = set(session.scalars(select(Holder.page).where(of_link)))
        if not pages:
            return ""
        if self._names(sharer)[0] in pages or (has_room and len(pages) < MOST):
            return self.add(session, link, sharer, 0, now)
        if EVERYBODY not in pages:
            session.add(Holder(link=link, page=EVERYBODY, address="", key="", size=0, made=now))
        return ""

    def give_up(self, session: Session, link: str, key: str) -> bool | None:
        """Remove the owner with this key; return True if none is left, None for a wrong key."""
        of_link = Holder.link == link
        found = session.scalar(select(Holder).where(of_link, Holder.key == _hash(key)))
        if found is None:
            return None
        session.delete(found)
        session.flush()
        return not session.scalar(select(func.count()).select_from(Holder).where(of_link))

    def _names(self, sharer: Sharer) -> tuple[str, str]:
        if not self._salt:
            self._salt = self._kept_salt()
        page, address = (
            hmac.new(self._salt, text.encode(), hashlib.sha256).hexdigest() for text in sharer[:2]
        )
        return page, address

    def _kept_salt(self) -> bytes:
        """Return the database's secret, made on first use."""
        with self._database.session(Salt) as session:
            try:
                session.add(Salt(name="holders", value=secrets.token_bytes(16)))
                session.commit()
            except IntegrityError:
                session.rollback()
            return session.scalars(select(Salt.value).where(Salt.name == "holders")).one()


def forget(session: Session, link: str) -> None:
    """Forget the owners of a link."""
    session.execute(delete(Holder).where(Holder.link == link))


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
