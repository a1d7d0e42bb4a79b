"""Warnings as data: legal code that its author probably did not intend."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.code import Code
from compiler.base.dataclass import dataclass
from compiler.base.errors import drawn
from compiler.base.spans import Span


@dataclass(frozen=True, slots=True)
class Warning_:
    """A message with its span, and a hint or ""."""

    code: Code
    message: str
    span: Span
    hint: str = ""

    def render(self, source: str, files: Mapping[str, str]) -> str:
        """Format the message with code and position, the line with carets, and the hint."""
        texts = {**files, "": source}
        told = drawn(f"warning[{self.code.id}]: {self.message}", self.span, texts)
        return "\n".join(filter(None, (told, self.hint)))
