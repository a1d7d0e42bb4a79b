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
"""Renders a name for display."""
Mark = tuple[int, int]
"""State of a name source: its last number, and the count of authors' names."""


def base_of(name: Name) -> str:
    """`xs` for `xs_12`: the base of a unique name; `_1` for `_1`, never empty.

    An author's `xs_07` gives `xs` as well: ask `NameSource.called` for authors' spelling.
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
        """`authors`: the author's names so far; None treats all names as the author's."""
        self._next = start
        self._authors = None if authors is None else dict(authors)

    def mark(self) -> Mark:
        """Return the current state."""
        return self._next, 0 if self._authors is None else len(self._authors)

    def fork(self, start: int) -> NameSource:
        """Return a source with the same authors' names, which continues from `start`."""
        return NameSource(start, self._authors)

    def fork_at(self, mark: Mark) -> NameSource:
        """Return a source that continues from a recorded state."""
        start, count = mark
        authors = None if self._authors is None else dict(islice(self._authors.items(), count))
        return NameSource(start, authors)

    def round_up(self, step: int) -> None:
        """Round the counter up to a multiple of `step`."""
        self._next = -(-self._next // step) * step

    def go_past(self, number: int) -> None:
        """Make later names use numbers above `number`."""
        self._next = max(self._next, number)

    def since(self, mark: Mark) -> dict[Name, str]:
        """Return authors' names, with their spelling, added since a recorded state."""
        return dict(islice((self._authors or {}).items(), mark[1], None))

    def go_on(self, mark: Mark, authors: Mapping[Name, str]) -> None:
        """Restore a recorded state, with the authors' names handed out until then."""
        self._next = mark[0]
        if self._authors is not None:
            self._authors.update(authors)

    def fresh(self, base: str) -> Name:
        """Return a new name with the base of `base`."""
        self._next += 1
        name = f"{base_of(base)}_{self._next}"
        if self._authors and base in self._authors:
            self._authors[name] = self._authors[base]
        return name

    def authored(self, base: str, said: str) -> Name:
        """Return a new name with the base of `base` for the author's name `said`."""
        name = self.fresh(base)
        if self._authors is not None:
            self._authors[name] = said
        return name

    def called(self, name: Name) -> str:
        """Return the base of a name, or the author's spelling where it has that base: `xs_07`."""
        base, said = base_of(name), self.said(name)
        return said if said is not None and base_of(said) == base else base

    def said(self, name: Name) -> str | None:
        """Return the author's spelling of a name; None if the compiler made it."""
        return base_of(name) if self._authors is None else self._authors.get(name)
