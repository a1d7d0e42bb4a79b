"""Unique names. A name is a plain string `base_tag`; the text form shows it as it is.

Every binding of a program has a name of its own: passes may move code without capturing anything.

Note [Names are strings]. A class of names that carries base and number costs nothing that can be
measured, even as a subclass of `str`. But names come from outside as well: out of the text form,
certificates, requests and problems for the prover, whose readers would have to make values of
strings of which nobody knows a number; and the checker of proofs takes strings and no subclasses.
What a tag says is read here alone, by `base_of`. What cannot be read off a name, since authors end
names in digits too, a `NameSource` knows: whether it is an author's, and how that one spelt it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

Name = str
Called = Callable[[Name], str]
"""How a name is shown."""
Mark = tuple[int, int]
"""How far a source of names was: the last number, and how many names were authors'."""


def base_of(name: Name) -> str:
    """`xs` for `xs_12`: what a unique name was made from, and `_1` for `_1`, never nothing.

    An author's `xs_07` reads `xs` as well: `NameSource.called` is who knows what authors wrote.
    """
    base, _, tag = name.rpartition("_")
    return base if base and tag.isdigit() else name


class NameSource:
    """Hands out names that no other call of the same source has handed out.

    It knows which of them stand for names of the program's author, and how these are spelt: the
    spelling of a unique name says neither. A copy of such a name is one as well.
    """

    __slots__ = ("_authors", "_next")

    def __init__(self, start: int = 0, authors: Mapping[Name, str] | None = None) -> None:
        """`authors`: the author's names so far; None: all are, as where there is no source."""
        self._next = start
        self._authors = None if authors is None else dict(authors)

    def mark(self) -> Mark:
        """Where the source is now."""
        return self._next, 0 if self._authors is None else len(self._authors)

    def fork(self, start: int) -> NameSource:
        """Another source that knows the same names and goes on from that number."""
        return NameSource(start, self._authors)

    def fork_at(self, mark: Mark) -> NameSource:
        """Another source that goes on from where this one was."""
        start, count = mark
        authors = None if self._authors is None else dict(islice(self._authors.items(), count))
        return NameSource(start, authors)

    def round_up(self, step: int) -> None:
        """Go on from the next multiple of `step`."""
        self._next = -(-self._next // step) * step

    def go_past(self, number: int) -> None:
        """Hand out no names with this number, or a smaller one."""
        self._next = max(self._next, number)

    def since(self, mark: Mark) -> dict[Name, str]:
        """The authors' names, with their spelling, that came after the source was there."""
        return dict(islice((self._authors or {}).items(), mark[1], None))

    def go_on(self, mark: Mark, authors: Mapping[Name, str]) -> None:
        """Be where a source like this one was after it had handed out these names of authors."""
        self._next = mark[0]
        if self._authors is not None:
            self._authors.update(authors)

    def fresh(self, base: str) -> Name:
        """A new name that reads like `base` (whose own tag, if any, is dropped)."""
        self._next += 1
        name = f"{base_of(base)}_{self._next}"
        if self._authors and base in self._authors:
            self._authors[name] = self._authors[base]
        return name

    def authored(self, base: str, said: str) -> Name:
        """A new name that reads like `base`, for what the author of the program calls `said`."""
        name = self.fresh(base)
        if self._authors is not None:
            self._authors[name] = said
        return name

    def called(self, name: Name) -> str:
        """What it was made from, in full where that is the author's name: `xs_07`, and not `xs`."""
        base, said = base_of(name), self.said(name)
        return said if said is not None and base_of(said) == base else base

    def said(self, name: Name) -> str | None:
        """What the author of the program calls it; None if that is nobody's name but ours."""
        return base_of(name) if self._authors is None else self._authors.get(name)
