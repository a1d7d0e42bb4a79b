"""What a warning is: a program may do that, and its author probably did not mean it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.base.spans import Span, caret


@dataclass(frozen=True, slots=True)
class Warning_:
    """A sentence, its position, and a way out or ""."""

    message: str
    span: Span
    hint: str = ""

    def render(self, source: str, files: Mapping[str, str]) -> str:
        """The message with its position, the line with carets, and the hint."""
        text = files.get(self.span.file, "") if self.span.file else source
        head = f"{self.span.position}: warning: {self.message}"
        return "\n".join(p for p in (head, caret(text, self.span), self.hint) if p)
