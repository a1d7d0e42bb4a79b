"""The three ways in which a compilation fails.

`UserError`: the program or its input is wrong. `Limitation`: the program is right and we have not
built what it needs. `CompilerBug`: a promise between our own parts was broken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from compiler.base.code import Code
from compiler.base.spans import NOWHERE, Prov, Span, called_from, caret, line_of

ErrorKind = Literal["syntax", "type", "usage", "runtime", "limitation", "timeout", "internal"]


class Related(NamedTuple):
    """Another place that an error concerns, and a sentence about it."""

    span: Span
    says: str


class CompileError(Exception):
    """Base of all three: `message` is a sentence, `hint` a way out, `span` a place or NOWHERE."""

    kind: ErrorKind = "internal"
    code: Code | None = None

    def __init__(self, message: str, span: Span = NOWHERE, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
        self.related: tuple[Related, ...] = ()
        """The places that disagree with `span`."""
        self.others: tuple[CompileError, ...] = ()
        """Further errors found in the same run, this one first in the text."""
        self.text = ""
        """The text of `span.file`, where the caller does not have it."""
        self.prov: Prov = ()
        """Provenance of a run-time failure; its first span is `span`."""
        self.calls: Prov = ()
        """Calls that led to a run-time failure, innermost first."""
        self.traces: Any = None
        """Values traced before a run-time failure."""

    def render(
        self, source: str = "", files: Mapping[str, str] = MappingProxyType({}), main: str = ""
    ) -> str:
        """Render the message with code and position, the lines with carets, calls and hint.

        `main` is the name of the program's own file.
        """
        called = ", ".join(line_of((span,)) for span in self.calls)
        texts = {**files, "": source, **({self.span.file: self.text} if self.text else {})}
        coded = f"error[{self.code.id}]: {self.message}" if self.code else self.message
        parts = [
            drawn(coded, self.span, texts, main),
            *(drawn(says, span, texts, main) for span, says in self.related),
            called and f"Calls that led there, innermost first: {called}.",
            self.hint,
        ]
        return "\n".join(part for part in parts if part)


def drawn(says: str, span: Span, texts: Mapping[str, str], main: str = "") -> str:
    """Render a sentence with its position and the line with carets; `texts` are files by path."""
    place = f"{span.position}: " if span.line else ""
    head = f"{main}:{place or ' '}{says}" if main and not span.file else f"{place}{says}"
    return "\n".join(filter(None, (head, caret(texts.get(span.file, ""), span))))


class UserError(CompileError):
    """The program is wrong."""

    kind: ErrorKind = "type"


class CodedError(CompileError):
    """A user error with a code that `compiler/codes/` declares."""

    code: Code

    def __init__(
        self,
        code: Code,
        message: str,
        span: Span = NOWHERE,
        hint: str = "",
        related: tuple[Related, ...] = (),
    ) -> None:
        super().__init__(message, span, hint)
        self.code = code
        self.related = related


class SyntaxError_(CodedError, UserError):
    """The text is not a program. `others` holds the errors after the first."""

    kind: ErrorKind = "syntax"


class TypeError_(CodedError, UserError):
    """Names, types, sizes or uniqueness are wrong."""

    kind: ErrorKind = "type"


class RuntimeError_(UserError):
    """A run failed: index out of bounds, assertion, division by zero, bad input."""

    kind: ErrorKind = "runtime"
    cause: str = ""
    """"race" where two threads met in a cell, "bounds" where an access that nothing has
    checked left its array or block, "memory" where a run may not use so much."""
    site: int | None = None
    """The number of the failed check, in programs whose checks are numbered."""


class TimeoutError_(RuntimeError_):
    """A run, or another piece of work, took longer than its deadline."""

    kind: ErrorKind = "timeout"


class UsageError(UserError):
    """An option, stage, entry point or input that does not exist or does not fit."""

    kind: ErrorKind = "usage"


class InputError(UsageError):
    """Input values that are malformed, or that do not fit the entry point."""


class Limitation(CodedError):
    """A correct program that needs a feature not built yet."""

    kind: ErrorKind = "limitation"

    @classmethod
    def at(cls, code: Code, message: str, prov: Prov, hint: str = "") -> Limitation:
        """Make a limitation at a statement, with the call that led into an imported file."""
        span = next((span for span in prov if span.is_own), prov[0] if prov else NOWHERE)
        related = [Related(caller, "It is called from here.") for caller in called_from(prov)[:1]]
        return cls(code, message, span, hint, tuple(related))


class CompilerBug(CompileError):
    """A pass broke an invariant; always our fault. Paths of our own files are left out."""

    kind: ErrorKind = "internal"

    def __init__(self, message: str, span: Span = NOWHERE, hint: str = "") -> None:
        super().__init__(without_folders(message), span, hint)


_PATH = re.compile(r"(?<![\w./])/(?:[^\s/:'\"`()<>]+/)+(?=[^\s/])")


def without_folders(text: str) -> str:
    """Strip folders from file names in another program's message."""
    return _PATH.sub("", text)
