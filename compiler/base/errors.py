"""The three ways in which a compilation ends early, and never a fourth.

`UserError`: the program or its input is wrong. `Limitation`: the program is right and we have not
built what it needs. `CompilerBug`: a promise between our own parts was broken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from compiler.base.spans import NOWHERE, Prov, Span, caret, line_of

ErrorKind = Literal["syntax", "type", "usage", "runtime", "limitation", "timeout", "internal"]


class CompileError(Exception):
    """Base of all three; `message` is a sentence, `hint` a way out, `span` where or NOWHERE."""

    kind: ErrorKind = "internal"

    def __init__(self, message: str, span: Span = NOWHERE, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
        self.code = code
        self.others: tuple[CompileError, ...] = ()
        """Further errors found in the same run, this one first in the text."""
        self.text = ""
        """The text of `span.file`, where nobody else has it."""
        self.prov: Prov = ()
        """Of what failed in a run: the places that it came from, the first of which is `span`."""
        self.calls: Prov = ()
        """Of what failed in a run: the calls that led there, the innermost first."""

    def render(self, source: str = "", files: Mapping[str, str] = MappingProxyType({})) -> str:
        """The message with its position, the line with carets, the calls, and the hint."""
        head = f"{self.span.position}: {self.message}" if self.span.line else self.message
        text = self.text or (files.get(self.span.file, "") if self.span.file else source)
        called = ", ".join(line_of((span,)) for span in self.calls)
        parts = [
            head,
            caret(text, self.span),
            called and f"Calls that led there, from the inside: {called}.",
            self.hint,
        ]
        return "\n".join(part for part in parts if part)


class UserError(CompileError):
    """The program is wrong."""

    kind: ErrorKind = "type"


class SyntaxError_(UserError):
    """The text is not a program. `others` holds the errors after the first."""

    kind: ErrorKind = "syntax"


class TypeError_(UserError):
    """Names, types, sizes or uniqueness are wrong."""

    kind: ErrorKind = "type"


class RuntimeError_(UserError):
    """A run failed: index out of bounds, assertion, division by zero, bad input."""

    kind: ErrorKind = "runtime"
    site: int | None = None
    """The number of the check that failed, in a program that knows its checks by number."""


class TimeoutError_(RuntimeError_):
    """A run, or another piece of work, took longer than its deadline."""

    kind: ErrorKind = "timeout"


class UsageError(UserError):
    """An option, stage, entry point or input that does not exist or does not fit."""

    kind: ErrorKind = "usage"


class InputError(UsageError):
    """Input values that are malformed, or that do not fit the entry point."""


class Limitation(CompileError):
    """A correct program that needs something that is not built yet."""

    kind: ErrorKind = "limitation"


class CompilerBug(CompileError):
    """A pass broke a promise; always our fault. Where our files lie is nobody's business."""

    kind: ErrorKind = "internal"

    def __init__(self, message: str, span: Span = NOWHERE, hint: str = "", code: str = "") -> None:
        super().__init__(without_folders(message), span, hint, code)


_PATH = re.compile(r"(?<![\w./])/(?:[^\s/:'\"`()<>]+/)+(?=[^\s/])")


def without_folders(text: str) -> str:
    """A message of other programs, in which files have their names only."""
    return _PATH.sub("", text)
