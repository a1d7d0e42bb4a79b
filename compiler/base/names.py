"""Unique names. A name is a plain string `base_tag`; the text form shows it as it is.

Every binding of a program has a name of its own: passes may move code without capturing anything.
"""

from __future__ import annotations

import re

Name = str


def base_of(name: Name) -> str:
    """`xs` for `xs_12`: what the author of the program called it."""
    base, underscore, tag = name.rpartition("_")
    return base if underscore and tag.isdigit() else name


_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_TAGGED = re.compile(r"\b([A-Za-z]\w*)_(\d+)\b")


def untagged(text: str) -> str:
    """A text about names as their author knows them; of two `i`, the later one is `i₂`."""
    taken: dict[str, list[Name]] = {}

    def plain(found: re.Match[str]) -> str:
        same = taken.setdefault(found[1], [])
        if found[0] not in same:
            same.append(found[0])
        at = same.index(found[0])
        return found[1] + (str(at + 1).translate(_LOWERED) if at else "")

    return _TAGGED.sub(plain, text)


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
