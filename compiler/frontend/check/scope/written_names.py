"""The names in a definition's text, so that generated size names differ from them."""

from __future__ import annotations

from compiler.frontend.ast import all_inside


class Spoken:
    """The names in parts of the syntax, collected on demand, and those generated beside them."""

    __slots__ = ("_names", "_nodes")

    def __init__(self, nodes: tuple[object, ...]) -> None:
        """`nodes`: the syntax of the definition."""
        self._nodes = nodes
        self._names: set[str] | None = None

    def unlike(self, base: str) -> str:
        """Append primes to `base` until it differs from all names so far, and record it."""
        if self._names is None:
            self._names = {part for part in all_inside(self._nodes) if isinstance(part, str)}
        while base in self._names:
            base += "'"
        self._names.add(base)
        return base
