"""What a warning is: a program may do that, and its author probably did not mean it."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.base.spans import Span, caret


@dataclass(frozen=True, slots=True)
class Warning_:
    """A sentence, its position, and a way out or ""."""

    message: str
    span: Span
    hint: str = ""

    def render(self, source: str) -> str:
        """The message with its position, the line with carets, and the hint."""
        head = f"{self.span.position}: warning: {self.message}"
        return "\n".join(p for p in (head, caret(source, self.span), self.hint) if p)
