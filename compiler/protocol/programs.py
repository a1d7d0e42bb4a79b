"""Operations about a program as a whole: checking it, and showing its stages."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import (
    Answer,
    Json,
    Length,
    OfProgram,
    Operation,
    Own,
    Request,
    Says,
    Span,
)

Runner = Annotated[str, Says("is `ref` or the id of a target")]


class RelatedPlace(TypedDict):
    """Another place that an error concerns."""

    span: Span | None
    message: str
    """the description of that place"""


class Traced(TypedDict):
    """The values given to `trace` or `break` at a place of the program."""

    function: str
    """`trace` or `break`"""
    src: list[Span]
    values: list[str]
    """the first ones, in order of sequential execution, each cut where it is long"""
    count: int
    """the number of all values"""


class Traces(TypedDict):
    """The traced values of a run, in the order in which their places are first reached."""

    places: list[Traced]
    note: str
    """why values may be missing, or empty"""


class Problem(TypedDict):
    """An error or a warning."""

    kind: str
    message: str
    hint: str
    """a way out, or empty"""
    span: Span | None
    """null where it has no place in the user's texts"""
    code: NotRequired[str]
    """the code that `explain` describes; left out where the program is right"""
    related: NotRequired[list[RelatedPlace]]
    """the places that disagree with `span`"""
    calls: NotRequired[list[Span]]
    """for a failed run: the calls that led to `span`, innermost first"""
    traces: NotRequired[Traces]
    """for a failed run: the values traced before"""
    rendered: NotRequired[str]
    """the whole error as text, with the line"""
    errors: NotRequired[list[Problem]]
    """all errors that were found, this one first"""
    position: NotRequired[int]
    """the number of requests before it in the queue of a busy server"""
    retry: NotRequired[int]
    """seconds after which a busy server takes such a request again"""


class Failure(TypedDict):
    """The answer of an operation that fails."""

    ok: Literal[False]
    error: Problem


class StageInfo(TypedDict):
    """A stage of the pipeline."""

    id: str
    title: str
    explain: str
    kind: str
    """`syntax`, `typed`, `ir`, `imp`, `kernels`, `text` or `listing`"""
    memory: bool
    """true if it says where arrays lie"""
    machine: NotRequired[str]
    """the hardware that runs a text"""
    of: NotRequired[str]
    """the stage that a listing is made from"""


class Rule(TypedDict):
    """A decision of a pass."""

    id: str
    does: str
    equation: str
    """the rewrite as an equation, with code in backquotes, or empty"""


class Switch(Rule):
    """A rule that can be switched off, or on."""

    asked: bool
    """true for an opt-in rule: it applies only if the option `enable` names it"""


class Pass(TypedDict):
    """A pass that can be switched off."""

    id: str
    does: str
    rules: list[Switch]


class ManifestAnswer(Answer):
    """The pipeline."""

    stages: list[StageInfo]
    """in order"""
    listings: list[StageInfo]
    """the listings that the operation `listing` makes"""
    switches: list[Pass]
    """the values of the option `disable`, and for rules that are `asked` of the option `enable`"""


@dataclass(frozen=True, slots=True)
class ManifestRequest(Request):
    """List the stages in order, and the passes and rules that can be switched off."""


MANIFEST = Operation(
    "manifest", ManifestRequest, ManifestAnswer, {}, share=0.0, served=False, batched=False
)


class Backend(TypedDict):
    """A back end that runs programs."""

    id: Runner
    title: str
    missing: str
    """why it cannot run on this machine, or empty"""


class BackendsAnswer(Answer):
    """The back ends of this machine."""

    backends: list[Backend]


@dataclass(frozen=True, slots=True)
class BackendsRequest(Request):
    """List the back ends, with the reason why one cannot run on this machine."""


BACKENDS = Operation(
    "backends",
    BackendsRequest,
    BackendsAnswer,
    {},
    runs=True,
    share=0.0,
    served=False,
    batched=False,
)


class Entry(TypedDict):
    """An entry point as its author wrote it."""

    name: str
    names: list[str]
    """of its parameters"""
    params: list[str]
    """their types"""
    results: list[str]


class CheckAnswer(Answer):
    """The program is right."""

    entries: list[Entry]
    warnings: list[Problem]


@dataclass(frozen=True, slots=True)
class CheckRequest(OfProgram):
    """Parse and type check a program: entry points, warnings, errors."""


CHECK = Operation(
    "check",
    CheckRequest,
    CheckAnswer,
    {},
    limit="check",
    share=0.15,
    answered_in="compiler.driver.checking",
)


class TranslateAnswer(Answer):
    """The program in Futhark; a Futhark program is its own translation."""

    text: str
    src: list[Span]
    """for each line its place in the program"""


@dataclass(frozen=True, slots=True)
class TranslateRequest(OfProgram):
    """Translate a FlatPack program (`main` ends in `.fp`) to Futhark."""


TRANSLATE = Operation("translate", TranslateRequest, TranslateAnswer, {}, limit="check")


class Line(TypedDict):
    """A line of a stage's text."""

    text: str
    src: list[Span]
    node: int
    """the number of its statement"""


class Stage(TypedDict):
    """A stage of a program."""

    text: str | None
    """null in streamed stages, whose lines come alone, and where the text is not wanted"""
    lines: list[Line] | None
    """null where the text is not wanted"""
    counts: dict[str, int]
    """nodes of each kind; for syntax trees definitions, for texts lines"""
    same: bool
    """true if its passes have not changed the program"""
    ms: float
    """the time of making it"""
    show_ms: float
    """the time of printing it"""


class Remark(TypedDict):
    """A decision of the compiler."""

    kind: Literal["applied", "missed", "note"]
    rule: str
    stage: str
    src: list[Span]
    because: str
    hint: str
    attempt: int | None
    """the number of the attempt to build in place that it reports"""
    refusal: str
    """the kind of refusal, by its id in the list of refusals, or empty"""
    fused: list[list[Span]]
    """for a fusion: the consumer's places, then those of each producer; `src` has both"""
    numbers: list[Annotated[list[str], Length(2)]]
    """names with values and units"""


class ShowPart(Answer):
    """Stages that are ready."""

    partial: Literal[True]
    stages: dict[str, Stage]


class ShowAnswer(Answer):
    """A compiled program."""

    stages: dict[str, Stage]
    """by their ids"""
    remarks: list[Remark]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowRequest(OfProgram):
    """Compile a program: stages as text lines, counts, remarks."""

    stages: Annotated[list[str], Says("is a list of ids")] | None = None
    """their ids; all if left out"""
    texts: Annotated[list[str], Says("is a list of ids")] | None = None
    """the stages whose texts are wanted; all if left out. A long text can be fetched later
    by `text`"""
    stream: Annotated[bool, Own()] = False
    """send each stage as an answer of its own, marked `partial`, as soon as it is ready"""


SHOW = Operation("show", ShowRequest, ShowAnswer, {"stages": ["c"]}, partial=ShowPart, limit="show")


class TextAnswer(Answer):
    """A stage with its text."""

    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRequest(OfProgram):
    """Return the text of one stage, after `show` without it."""

    stage: str
    """its id"""


TEXT = Operation(
    "text", TextRequest, TextAnswer, {"stage": "c"}, answered_in="compiler.driver.texts"
)


class PlacesAnswer(Answer):
    """Places in the program."""

    places: list[Span]
    """each once"""


@dataclass(frozen=True, slots=True)
class PlacesRequest(OfProgram):
    """List the expressions that lines of stages come from (typed and core language)."""


PLACES = Operation(
    "places", PlacesRequest, PlacesAnswer, {}, share=0.2, answered_in="compiler.driver.texts"
)


class RuleUse(Rule):
    """The effects of a rule in a program."""

    optional: bool
    """true if the option `disable` takes it"""
    applied: int
    """number of remarks that it was applied"""
    missed: int
    """number of remarks that it was not applied, and why"""
    notes: int


class RulesAnswer(Answer):
    """The rules that a program's remarks name."""

    rules: list[RuleUse]
    """in the order of the stages"""


@dataclass(frozen=True, slots=True)
class RulesRequest(OfProgram):
    """Describe the rules that the remarks name, with counts of applied and missed."""


RULES = Operation("rules", RulesRequest, RulesAnswer, {})


class RuleDescription(Switch):
    """A rule, also one that cannot be switched off."""

    optional: bool
    """true if the option `disable` takes it"""


class PassDescription(TypedDict):
    """A pass, also one that cannot be switched off."""

    id: str
    does: str
    optional: bool
    """true if the option `disable` takes it"""
    rules: list[RuleDescription]


class Version(TypedDict):
    """A stage of a program."""

    stage: str
    """its id; empty for the source"""
    text: str
    changed: list[int]
    """the numbers, from 1, of the lines that the other version lacks"""
    output: str
    """its output, or empty: stages before the core language are run as that, and texts of back \
ends are not run"""


class LimitShown(TypedDict):
    """A limit of a rule that is lower for its tiny program."""

    id: str
    counts: str
    """the unit of the limit"""
    usual: int
    here: int


class Shown(TypedDict):
    """A rule or pass at work on a tiny program."""

    source: str
    main: str
    """its path, or empty"""
    input: str
    target: str
    disable: list[str]
    """other switches, off before and after"""
    limits: list[LimitShown]
    """the limits that are lower than usual"""
    before: Version
    """the same stage with the rule switched off; where it cannot be, with the usual limits, or \
the stage before"""
    after: Version
    remarks: list[Remark]
    """those of the rule"""


class RuleAnswer(Answer):
    """Passes with their rules."""

    passes: list[PassDescription]
    shown: NotRequired[Shown]
    """for one rule, or a pass without rules"""


@dataclass(frozen=True, slots=True)
class RuleRequest(Request):
    """Show a rule or a pass at work on a tiny program, compiled with it and without it."""

    rule: str = ""
    """the id of a rule, or of a pass, whose rules are listed; empty: all passes with theirs"""


RULE = Operation(
    "rule",
    RuleRequest,
    RuleAnswer,
    {"rule": "fuse"},
    limit="show",
    batched=False,
    answered_in="compiler.driver.rulebook",
)


class BatchPart(Answer):
    """An answer to one of the requests."""

    partial: Literal[True]
    request: int
    """its number, from 0"""
    answer: Any


class BatchAnswer(Answer):
    """All answers, or their end."""

    answers: NotRequired[list[Any]]
    """in the order of the requests; left out where each came by itself"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest(OfProgram):
    """Answer several requests about one program that run nothing, each with its `op` and fields."""

    requests: Annotated[list[Json], Says("is a list of objects")]
    stream: Annotated[bool, Own()] = False
    """send each answer by itself as soon as it is ready"""
    whole: Annotated[bool, Own()] = False
    """send no answer in parts"""


BATCH = Operation(
    "batch",
    BatchRequest,
    BatchAnswer,
    {"requests": [{"op": "check"}]},
    partial=BatchPart,
    cached=False,
    batched=False,
    answered_in="compiler.driver.worker",
)
