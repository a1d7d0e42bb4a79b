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
    """the type or the declaration, in the language; empty: nothing is known"""
    doc: str
    span: Span | None
    declared: Span | None
    """where the name is declared; null for what is no name, or the library's"""
    uses: list[Span]
    """of the name in all files, that of its declaration too"""


@dataclass(frozen=True, slots=True)
class InspectRequest(AtPlace):
    """What stands at a place: its type, its documentation, where it is declared and used."""


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
    """Something that may be written."""

    name: str
    kind: str
    """`function`, `constant`, `variable`, `size`, `type`, `type parameter`, `module`, \
`module type`, `field`, `constructor` or `keyword`"""
    says: str
    """its type, or nothing"""
    doc: str


class CompleteAnswer(Answer):
    """What may stand at a place."""

    column: int
    """where in the line the word begins that it replaces"""
    items: list[CompletionItem]


@dataclass(frozen=True, slots=True)
class CompleteRequest(AtPlace):
    """What may be written at a place, also in a text that is not done."""


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
    """A text in the place of another."""

    span: Span
    text: str


class RenameAnswer(Answer):
    """The changes of a new name."""

    edits: list[TextEdit]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameRequest(AtPlace):
    """The changes of a new name, which is refused if the program would then say another thing."""

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
    """A change that mends an error, and no other thing."""

    title: str
    """what it does, with code in backquotes"""
    edits: list[TextEdit]


class FixesAnswer(Answer):
    """Changes to choose from."""

    fixes: list[Fix]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixesRequest(AtPlace):
    """The changes of which an error's hint speaks, as far as there are fewer errors then."""

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
    """in how many modules it is"""


class OutlineAnswer(Answer):
    """A file from afar."""

    symbols: list[OutlineSymbol]
    """in order, those of a module behind it"""
    folds: list[list[int]]
    """the first and last lines of what folds"""


@dataclass(frozen=True, slots=True)
class OutlineRequest(OfFile):
    """The declarations of a file, and what folds in it."""


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
    """A text in its layout."""

    text: str


@dataclass(frozen=True, slots=True)
class FormatRequest(Request):
    """A text in the one layout of all programs; one with errors of syntax has none."""

    source: str
    """the text of a file"""
    main: str = ""
    """its path, which says its language"""
    width: Annotated[int, AtLeast(20), Says("is a number of characters, 20 or more")] = 100
    """of a line, where it can be broken so"""


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
    """What a stage has of an expression."""

    lines: int
    """how many come from it, or from inside of it"""
    text: str
    """the first of them that has a word; if there are none, of those that it has a part in, or \
else that hold it; or nothing"""


class OccurrencesAnswer(Answer):
    """What became of an expression."""

    stages: dict[str, Occurrence]
    """by their ids; those that the program reaches"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrencesRequest(AtPlace):
    """What each stage has of an expression of the program."""

    end_line: Natural
    end_column: Natural


OCCURRENCES = Operation(
    "occurrences",
    OccurrencesRequest,
    OccurrencesAnswer,
    {"line": 3, "column": 13, "end_line": 3, "end_column": 39},
    answered_in="compiler.driver.texts",
)
