"""View facts as they were before some were learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from compiler.analysis.ranges import BoundFact, Ranges, SpanFact

K = TypeVar("K")
V = TypeVar("V")


class Snapshot(Ranges):
    """Facts as of an earlier time: the same tables without later entries."""

    __slots__ = ()

    def __init__(self, now: Ranges, since: int) -> None:
        for slot in Ranges.__slots__:
            setattr(self, slot, getattr(now, slot))
        self._ranges, self._tried = {}, {}
        self.bounds = _Before(now.bounds, lambda _, bounds: _older(bounds, since))
        self._spans = _Before(now._spans, lambda _, known: _older_span(known, since))
        self._cases = _Before(
            now._cases,
            lambda name, case: case if now.choices[name].since < since else None,
        )


class _Before(dict[K, V]):
    """A filtered view of a table."""

    __slots__ = ("_seen", "_table")

    def __init__(self, table: Mapping[K, V], seen: Callable[[K, V], V | None]) -> None:
        super().__init__()
        self._table = table
        self._seen = seen

    def get(self, key: K, default: Any = None) -> Any:
        found = self._table.get(key)
        found = None if found is None else self._seen(key, found)
        return default if found is None else found

    def __contains__(self, key: object) -> bool:
        return self.get(cast(K, key)) is not None

    def __getitem__(self, key: K) -> V:
        found: V | None = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __bool__(self) -> bool:
        return bool(self._table)


def _older(bounds: tuple[BoundFact, ...], since: int) -> tuple[BoundFact, ...] | None:
    if bounds[-1].since < since:
        return bounds
    return tuple([b for b in bounds if b.since < since]) or None


def _older_span(known: SpanFact | None, since: int) -> SpanFact | None:
    while known is not None and known.since >= since:
        known = known.before
    return known
