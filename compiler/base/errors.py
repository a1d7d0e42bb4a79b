"""The three ways in which a compilation ends early, and never a fourth.

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
    """Another place that has to do with an error, and what is there, in a sentence."""

    span: Span
    says: str


class CompileError(Exception):
    """Base of all three; `message` is a sentence, `hint` a way out, `span` where or NOWHERE."""

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
        """The text of `span.file`, where nobody else has it."""
        self.prov: Prov = ()
        """Of what failed in a run: the places that it came from, the first of which is `span`."""
        self.calls: Prov = ()
        """Of what failed in a run: the calls that led there, the innermost first."""
        self.traces: Any = None
        """Of what failed in a run: the values that were traced before."""

    def render(
        self, source: str = "", files: Mapping[str, str] = MappingProxyType({}), main: str = ""
    ) -> str:
        """The message with code and position, the lines with carets, the calls, and the hint.

        `main` is what the program's own file is called.
        """
        called = ", ".join(line_of((span,)) for span in self.calls)
        texts = {**files, "": source, **({self.span.file: self.text} if self.text else {})}
        coded = f"error[{self.code.id}]: {self.message}" if self.code else self.message
        parts = [
            drawn(coded, self.span, texts, main),
            *(drawn(says, span, texts, main) for span, says in self.related),
            called and f"Calls that led there, from the inside: {called}.",
            self.hint,
        ]
        return "\n".join(part for part in parts if part)


def drawn(says: str, span: Span, texts: Mapping[str, str], main: str = "") -> str:
    """A sentence with its position, and the line with carets; `texts` are the files by path."""
    place = f"{span.position}: " if span.line else ""
    head = f"{main}:{place or ' '}{says}" if main and not span.file else f"{place}{says}"
    return "\n".join(filter(None, (head, caret(texts.get(span.file, ""), span))))


class UserError(CompileError):
    """The program is wrong."""

    kind: ErrorKind = "type"


class CodedError(CompileError):
    """One that has a code, which `compiler/codes/` declares."""

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
    """The number of the check that failed, in a program that knows its checks by number."""


class TimeoutError_(RuntimeError_):
    """A run, or another piece of work, took longer than its deadline."""

    kind: ErrorKind = "timeout"


class UsageError(UserError):
    """An option, stage, entry point or input that does not exist or does not fit."""

    kind: ErrorKind = "usage"


class InputError(UsageError):
    """Input values that are malformed, or that do not fit the entry point."""


class Limitation(CodedError):
    """A correct program that needs something that is not built yet."""

    kind: ErrorKind = "limitation"

    @classmethod
    def at(cls, code: Code, message: str, prov: Prov, hint: str = "") -> Limitation:
        """About a statement: where it is from, and from where an imported file is called there."""
        span = next((span for span in prov if span.is_own), prov[0] if prov else NOWHERE)
        related = [Related(caller, "It is called from here.") for caller in called_from(prov)[:1]]
        return cls(code, message, span, hint, tuple(related))


class CompilerBug(CompileError):
    """A pass broke a promise; always our fault. Where our files lie is nobody's business."""

    kind: ErrorKind = "internal"

    def __init__(self, message: str, span: Span = NOWHERE, hint: str = "") -> None:
        super().__init__(without_folders(message), span, hint)


_PATH = re.compile(r"(?<![\w./])/(?:[^\s/:'\"`()<>]+/)+(?=[^\s/])")


def without_folders(text: str) -> str:
    """A message of other programs, in which files have their names only."""
    return _PATH.sub("", text)
