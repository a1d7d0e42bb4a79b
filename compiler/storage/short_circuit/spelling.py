"""Names in formulas as their author knows them, each the same in all texts about a function."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from compiler.base.names import Name, base_of

_TAGGED = re.compile(r"\b[A-Za-z]\w*_\d+\b")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Spelling:
    """What is shown for a unique name: of several `n`, the first one is `n`, the next one `n₂`.

    Sizes and parameters of the function come first, so that an inner `n` is never taken for its.
    """

    def __init__(self, said: Callable[[Name], str | None], first: Iterable[Name]) -> None:
        self._said = said
        self._shown: dict[Name, str] = {}
        self._taken: Counter[str] = Counter()
        for name in first:
            self._name(name)

    def __call__(self, text: str) -> str:
        """A text in which unique names stand, such as a polynomial's."""
        return _TAGGED.sub(lambda found: self._name(found[0]), text)

    def _name(self, name: Name) -> str:
        shown = self._shown.get(name)
        if shown is None:
            plain = self._said(name) or base_of(name)
            self._taken[plain] += 1
            count = self._taken[plain]
            shown = plain + (str(count).translate(_LOWERED) if count > 1 else "")
            self._shown[name] = shown
        return shown
