"""Frozen dataclasses that are cheap to make: the type checker guards their fields, not each call.

Programs and proofs are made of hundreds of thousands of small values. What `dataclasses` has a
frozen class do at run time makes each of them take twice as long, and each class twice the memory.
"""

from __future__ import annotations

from dataclasses import dataclass as dataclass
from typing import TYPE_CHECKING, Any


class KeepsHash:
    """A frozen dataclass of this kind finds its hash once: for trees that are looked up often."""

    __slots__ = ("_hash",)
    _hash: int

    def __reduce__(self) -> Any:
        """Another process has other hashes."""
        return type(self), tuple(getattr(self, name) for name in self.__dataclass_fields__)  # type: ignore[attr-defined]


class KeepsNames:
    """A tree that keeps which names are `mentioned` in it, once somebody has found out."""

    __slots__ = ("mentioned",)
    mentioned: frozenset[str]


if not TYPE_CHECKING:
    _guarded = dataclass

    def dataclass(*, frozen: bool = False, eq: bool = True, **options: Any) -> Any:
        """As in `dataclasses`; one that is frozen has a hash, but does not refuse assignments."""
        made = _guarded(unsafe_hash=frozen and eq, eq=eq, **options)
        return lambda cls: _keeping(made(cls)) if issubclass(cls, KeepsHash) else made(cls)

    def _keeping(cls: type) -> type:
        """A class whose values keep what their hash is."""
        of_fields = cls.__hash__

        def found(self: Any) -> int:
            kept = getattr(self, "_hash", None)  # raising an error would take longer than the rest
            if kept is None:
                kept = self._hash = of_fields(self)
            return kept

        cls.__hash__ = found
        return cls
