"""The operation about literate programs (`docs/tools.md`)."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, OfProgram, Operation, Own, Says, Span
from compiler.protocol.programs import Problem, Runner

BlockKind = Literal["text", "code", "directive"]


class Result(TypedDict):
    """The result of a directive."""

    text: NotRequired[str]
    """a value"""
    type: NotRequired[str]
    """of a value that is one array of numbers or booleans"""
    media: NotRequired[str]
    """the media type of any other result, such as `image/png`"""
    data: NotRequired[str]
    """that result, in base64"""


class Block(TypedDict):
    """A part of a literate program."""

    kind: BlockKind
    text: str
    """in Markdown, or code; for a directive the text shown for it, which may be empty"""
    src: Span
    html: NotRequired[str]
    """for text"""
    result: NotRequired[Result]
    """for a directive"""
    error: NotRequired[Problem]
    """why there is no result"""


class LiterateAnswer(Answer):
    """A program as text, code, and directives with their results."""

    blocks: list[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiterateRequest(OfProgram):
    """Run the directives of a literate program."""

    backend: Runner = "c"
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """of each call, in seconds"""


LITERATE = Operation(
    "literate",
    LiterateRequest,
    LiterateAnswer,
    {"source": "-- # Two\n\nentry two = 2i32\n\n-- > two\n", "backend": "ref"},
    limit="run",
    runs=True,
    batched=False,
    answered_in="compiler.notebooks.literate",
)
