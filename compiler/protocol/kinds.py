"""The vocabulary of declarations: operations, and types more precise than Python's."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

from compiler.base.dataclass import dataclass

Json = dict[str, Any]
"""A JSON object that is not declared here: of a line, a file or a database."""
R = TypeVar("R", bound="Request")
"""The type of a request."""
LEAST, MOST = -(1 << 63), (1 << 64) - 1
"""Whole numbers from outside are those of the language's integer types."""


@dataclass(frozen=True, slots=True)
class Says:
    """The description of a value in an error: "`field` " and these words."""

    words: str


@dataclass(frozen=True, slots=True)
class Length:
    """A list of exactly so many elements."""

    count: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list of these types, with a name; the last ones are optional."""

    name: str
    types: tuple[type, ...]
    more: tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A type with a name and a description in schemas."""

    name: str
    says: str


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A lower bound of a number."""

    least: int


@dataclass(frozen=True, slots=True)
class Own:
    """A field that only the owner of a worker sets; a server takes it from no client."""


Span = Annotated[list[int | str], Items("Span", (int, int, int, int), (str,))]
"""Line, column, end line, end column; counted from 1, the end is exclusive. A fifth element is the
path of the file that it is in, one of `files`; without it that is `source`."""
Numbers = Annotated[dict[str, int], Says("maps names to whole numbers of at most 64 bits")]


Target = Annotated[str, Says("is the id of a target")]


class Options(TypedDict, total=False):
    """Options of a compilation."""

    entry: Annotated[str, Says("is the name of an entry point")]
    """compile only this entry point"""
    target: Target
    """the target of the stages from `flat` to `imp`: the id of a stage of kind `text`"""
    disable: Annotated[list[str], Says("is a list of ids of passes and rules")]
    """passes and rules that are switched off, such as `fuse` or `fuse/map-map`; `manifest` lists \
them"""
    enable: Annotated[list[str], Says("is a list of ids of rules")]
    """opt-in rules to enable, such as `c/fast-functions`; `manifest` lists them as `asked`"""
    fuel: Annotated[int | None, AtLeast(0), Says("is a number of rewrites, 0 or more")]
    """stop after that many rewrites"""
    thresholds: Annotated[
        dict[str, int], Says("maps names of tuning parameters to whole numbers of at most 64 bits")
    ]
    """values of tuning parameters by name; `tuning` lists them"""
    limits: Annotated[dict[str, int], Says("maps limits of rules to whole numbers")]
    """limits of rules by id, below the defaults, so that a small program shows the decisions of \
large ones; `rule` lists those of its program"""
    edited: Annotated[dict[str, str], Says("maps ids of stages to texts")]
    """texts that replace the output of a stage's passes, by its id: later stages are made from \
these; on a server only the reference interpreter runs the result"""
    verify: bool
    """check the program after every pass"""
    unsafe: bool
    """honour `#[unsafe]` and `#[scratch]`; a server refuses it"""
    sanitize: bool
    """run C, without a sandbox, under the address and undefined-behaviour sanitisers; their \
reports are errors of kind `internal`; a server refuses it"""


@dataclass(frozen=True, slots=True)
class Request:
    """The fields of an operation, beside `op` and `id`."""


@dataclass(frozen=True, slots=True)
class OfProgram(Request):
    """A request about a program."""

    source: str
    """the program's text"""
    options: Options = field(default_factory=lambda: Options())
    """how to compile"""
    files: Annotated[dict[str, str], Says("maps paths to texts")] = field(default_factory=dict)
    """the texts of the files that it may import, by path: `lib/sums.fut`"""
    main: str = ""
    """the path of `source` itself, which is not among `files`; empty: at the top, without a name"""


class Answer(TypedDict):
    """The answer of an operation that succeeds."""

    ok: Literal[True]


@dataclass(frozen=True, slots=True)
class Operation(Generic[R]):
    """An operation: its request, its answer, and facts for the server."""

    id: str
    request: type[R]
    """Its docstring describes the operation."""
    answer: Any
    """The answer's type, or a union of types."""
    example: Json
    """Fields of a valid request, beside `source` (`EXAMPLE`)."""
    partial: Any = None
    """The type of the answers before the last one, where the request streams."""
    limit: Literal["check", "show", "ask", "run"] = "ask"
    """The rate limit of the server that it counts for."""
    runs: bool = False
    """True if it executes the user's program: other workers, another deadline."""
    cached: bool = True
    """True if the same request gets the same answer again."""
    share: float = 1.0
    """Rough cost, as a fraction of a whole compilation."""
    served: bool = True
    """True if a server takes it from clients."""
    batched: bool = True
    """True if it may be part of a batch."""
    answered_in: str = "compiler.driver.api"
    """The module with the function that answers it (`answering.py`)."""

    @property
    def help(self) -> str:
        """Return its description, a sentence."""
        return " ".join((self.request.__doc__ or "").split())


EXAMPLE = """\
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  let unused = k
  let new = map (+ 1) (reverse xs[:k])
  in map (* 2) xs with [0:k] = new
"""
"""The source of the examples."""
