"""Operations about places of a text, for editors (`docs/editors.md`). They run nothing."""

from __future__ import annotations

from typing import Annotated, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, AtLeast, OfProgram, Operation, Request, Says, Span

Natural = Annotated[int, AtLeast(1)]


@dataclass(frozen=True, slots=True)
class OfFile(OfProgram):
    """A request about one of a program's files."""

    file: str = ""
    """its path among `files`; empty: `source`"""


@dataclass(frozen=True, slots=True)
class AtPlace(OfFile):
    """A request about a place of a file."""

    line: Natural = 1
    column: Natural = 1


class InspectAnswer(Answer):
    """A name with its declaration, or an expression with its type."""

    says: str
    """the type or the declaration, in the language; empty if nothing is known"""
    doc: str
    span: Span | None
    declared: Span | None
    """where the name is declared; null for anything but a name, and for the library's"""
    uses: list[Span]
    """of the name in all files, its declaration included"""


@dataclass(frozen=True, slots=True)
class InspectRequest(AtPlace):
    """Describe the code at a place: its type, documentation, declaration and uses."""


_PLACE = {"line": 2, "column": 7}
INSPECT = Operation(
    "inspect",
    InspectRequest,
    InspectAnswer,
    _PLACE,
    limit="check",
    share=0.15,
    answered_in="compiler.editor.answers",
)


class CompletionItem(TypedDict):
    """A completion item."""

    name: str
    kind: str
    """`function`, `constant`, `variable`, `size`, `type`, `type parameter`, `module`, \
`module type`, `field`, `constructor` or `keyword`"""
    says: str
    """its type, or empty"""
    doc: str


class CompleteAnswer(Answer):
    """Completions at a place."""

    column: int
    """the column where the word to replace begins"""
    items: list[CompletionItem]


@dataclass(frozen=True, slots=True)
class CompleteRequest(AtPlace):
    """Complete at a place, also in an unfinished text."""


COMPLETE = Operation(
    "complete",
    CompleteRequest,
    CompleteAnswer,
    _PLACE,
    limit="check",
    share=0.15,
    answered_in="compiler.editor.answers",
)


class TextEdit(TypedDict):
    """A text that replaces another."""

    span: Span
    text: str


class RenameAnswer(Answer):
    """The edits of a renaming."""

    edits: list[TextEdit]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameRequest(AtPlace):
    """Rename a declaration; refused if the program's meaning would change."""

    name: str


RENAME = Operation(
    "rename",
    RenameRequest,
    RenameAnswer,
    {**_PLACE, "name": "fresh"},
    limit="check",
    share=0.2,
    answered_in="compiler.editor.answers",
)


class Fix(TypedDict):
    """A change that mends an error without causing others."""

    title: str
    """its effect, with code in backquotes"""
    edits: list[TextEdit]


class FixesAnswer(Answer):
    """The fixes to choose from."""

    fixes: list[Fix]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixesRequest(AtPlace):
    """Find changes suggested by an error's hint that reduce the number of errors."""

    end_line: Natural
    end_column: Natural
    hint: str


_WRONG = {**_PLACE, "end_line": 2, "end_column": 8, "hint": "Did you mean `map`?"}
FIXES = Operation(
    "fixes",
    FixesRequest,
    FixesAnswer,
    _WRONG,
    limit="check",
    share=0.2,
    answered_in="compiler.editor.answers",
)


class OutlineSymbol(TypedDict):
    """A declaration."""

    name: str
    kind: str
    span: Span
    """of its name"""
    depth: int
    """the number of modules around it"""


class OutlineAnswer(Answer):
    """Symbols and folds of a file."""

    symbols: list[OutlineSymbol]
    """in order, members behind their module"""
    folds: list[list[int]]
    """the first and last lines of each fold"""


@dataclass(frozen=True, slots=True)
class OutlineRequest(OfFile):
    """List the declarations and the folds of a file."""


OUTLINE = Operation(
    "outline",
    OutlineRequest,
    OutlineAnswer,
    {},
    limit="check",
    share=0.1,
    answered_in="compiler.editor.answers",
)


class FormatAnswer(Answer):
    """The formatted text."""

    text: str


@dataclass(frozen=True, slots=True)
class FormatRequest(Request):
    """Format a text; fails on errors of syntax."""

    source: str
    """the text of a file"""
    main: str = ""
    """its path, whose suffix gives the language"""
    width: Annotated[int, AtLeast(20), Says("is a number of characters, 20 or more")] = 100
    """the longest line, where it can be broken so"""


FORMAT = Operation(
    "format",
    FormatRequest,
    FormatAnswer,
    {},
    limit="check",
    share=0.1,
    answered_in="compiler.editor.answers",
)


class Occurrence(TypedDict):
    """The lines of a stage that come from an expression."""

    lines: int
    """how many come from it, or from a part of it"""
    text: str
    """the first of them that has a word; if there are none, of those that it is a part of, or \
else that hold it; or empty"""


class OccurrencesAnswer(Answer):
    """The lines of all stages that come from an expression."""

    stages: dict[str, Occurrence]
    """by stage id, for the stages that compile"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrencesRequest(AtPlace):
    """Find the lines of each stage that come from an expression of the program."""

    end_line: Natural
    end_column: Natural


OCCURRENCES = Operation(
    "occurrences",
    OccurrencesRequest,
    OccurrencesAnswer,
    {"line": 3, "column": 13, "end_line": 3, "end_column": 39},
    answered_in="compiler.driver.texts",
)
