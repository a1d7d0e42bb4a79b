"""The vocabulary of declarations: operations, and types that say more than Python's.

A type of a field is what JSON holds: `str`, `bool`, `int`, `float`, `list`, `dict` with text for
keys, `Literal`, `Any`, a `TypedDict`, or several with `|`; `Annotated` adds to it what is below.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

from compiler.base.dataclass import dataclass

Json = dict[str, Any]
"""An object of JSON: what goes over a line, into a file or a database, and is not declared here."""
R = TypeVar("R", bound="Request")
"""The type of a request."""
LEAST, MOST = -(1 << 63), (1 << 64) - 1
"""Whole numbers from outside are those that some type of the language holds."""


@dataclass(frozen=True, slots=True)
class Says:
    """What a value is, for an error: "`field` " and these words."""

    words: str


@dataclass(frozen=True, slots=True)
class Length:
    """A list of so many elements."""

    count: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list of these types, the last of which may be left out, under a name."""

    name: str
    types: tuple[type, ...]
    more: tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A type that has a name in schemas, and what is said of it."""

    name: str
    says: str


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number that is not smaller."""

    least: int


@dataclass(frozen=True, slots=True)
class Own:
    """A field that whoever runs a worker sets; a server takes it from nobody."""


Span = Annotated[list[int | str], Items("Span", (int, int, int, int), (str,))]
"""Line, column, end line, end column; counted from 1, the end is exclusive. A fifth element is the
path of the file that it is in, one of `files`; without it that is `source`."""
Numbers = Annotated[dict[str, int], Says("maps names to whole numbers of at most 64 bits")]


Target = Annotated[str, Says("is the id of a target")]


class Options(TypedDict, total=False):
    """How to compile."""

    entry: Annotated[str, Says("is the name of an entry point")]
    """compile only this entry point"""
    target: Target
    """what the stages from `flat` to `imp` are made for: the id of a stage of kind `text`"""
    disable: Annotated[list[str], Says("is a list of ids of passes and rules")]
    """passes and rules that are switched off, such as `fuse` or `fuse/map-map`; `manifest` lists \
them"""
    enable: Annotated[list[str], Says("is a list of ids of rules")]
    """rules that are done only where they are asked for, such as `cuda/fma`; `manifest` lists \
them as `asked`"""
    fuel: Annotated[int | None, AtLeast(0), Says("is a number of rewrites, 0 or more")]
    """stop after that many rewrites"""
    thresholds: Annotated[
        dict[str, int], Says("maps names of tuning parameters to whole numbers of at most 64 bits")
    ]
    """values of tuning parameters by name; `tuning` lists them"""
    limits: Annotated[dict[str, int], Says("maps limits of rules to whole numbers")]
    """limits of rules by id, below the usual ones: so a small program shows what else only large \
ones do; `rule` lists those of its program"""
    edited: Annotated[dict[str, str], Says("maps ids of stages to texts")]
    """texts in the place of what the passes of a stage make, by its id: all that follows is made \
from these; on a server only the reference interpreter runs that"""
    verify: bool
    """check the program after every pass"""
    unsafe: bool
    """honour `#[unsafe]` and `#[scratch]`; a server refuses it"""
    sanitize: bool
    """run C, without walls, under the address and undefined-behaviour sanitisers; what they find \
is an error of kind `internal`; a server refuses it"""


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
    """the texts of what it may import, by path: `lib/sums.fut`"""
    main: str = ""
    """the path of `source` itself, which is not among `files`; empty: at the top, without a name"""


class Answer(TypedDict):
    """What an operation answers where nothing went wrong."""

    ok: Literal[True]


@dataclass(frozen=True, slots=True)
class Operation(Generic[R]):
    """One thing that can be asked."""

    id: str
    request: type[R]
    """The docstring says what is asked."""
    answer: Any
    """Its type; of several types it is one."""
    example: Json
    """Fields for a request that is answered, beside `source` (`EXAMPLE`)."""
    partial: Any = None
    """The type of the answers before the last one, where the request streams."""
    limit: Literal["check", "show", "ask", "run"] = "ask"
    """Which of the server's rate limits it counts for."""
    runs: bool = False
    """Whether it executes the user's program: other workers, another deadline."""
    cached: bool = True
    """Whether the same request gets the same answer again."""
    share: float = 1.0
    """What part of a whole compile it takes, roughly."""
    served: bool = True
    """Whether a server takes it from clients."""
    batched: bool = True
    """Whether it may be part of a batch."""
    answered_in: str = "compiler.driver.api"
    """The module with the function that answers it (`answering.py`)."""

    @property
    def help(self) -> str:
        """What it is for, in a sentence."""
        return " ".join((self.request.__doc__ or "").split())


EXAMPLE = """\
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  let unused = k
  let new = map (+ 1) (reverse xs[:k])
  in map (* 2) xs with [0:k] = new
"""
"""The program of the examples."""
