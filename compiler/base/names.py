"""Unique names. A name is a plain string `base_tag`; the text form shows it as it is.

Every binding of a program has a name of its own: passes may move code without capturing anything.
"""

from __future__ import annotations

Name = str


def base_of(name: Name) -> str:
    """`xs` for `xs_12`: what the author of the program called it."""
    base, underscore, tag = name.rpartition("_")
    return base if underscore and tag.isdigit() else name


class NameSource:
    """Hands out names that no other call of the same source has handed out."""

    __slots__ = ("_next",)

    def __init__(self, start: int = 0) -> None:
        self._next = start

    def fork(self) -> NameSource:
        """Another source that goes on from here: for two programs that have a common beginning."""
        return NameSource(self._next)

    def fresh(self, base: str) -> Name:
        """A new name that reads like `base` (whose own tag, if any, is dropped)."""
        self._next += 1
        return f"{base_of(base)}_{self._next}"
