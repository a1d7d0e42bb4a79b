"""The operation about literate programs (`docs/tools.md`)."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, OfProgram, Operation, Own, Says, Span
from compiler.protocol.programs import Problem, Runner

BlockKind = Literal["text", "code", "directive"]


class Result(TypedDict):
    """What a directive gives."""

    text: NotRequired[str]
    """a value"""
    type: NotRequired[str]
    """of a value that is one array of numbers or truths"""
    media: NotRequired[str]
    """the kind of what else it is, such as `image/png`"""
    data: NotRequired[str]
    """that, in base64"""


class Block(TypedDict):
    """A part of a literate program."""

    kind: BlockKind
    text: str
    """in Markdown, or code; of a directive what is shown of it, which may be nothing"""
    src: Span
    html: NotRequired[str]
    """of text"""
    result: NotRequired[Result]
    """of a directive"""
    error: NotRequired[Problem]
    """why there is none"""


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
