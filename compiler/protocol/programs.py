"""Operations about a program as a whole: is it right, what do its stages look like."""

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
    """Another place that has to do with an error."""

    span: Span | None
    message: str
    """what is there"""


class Traced(TypedDict):
    """What `trace` or `break` was given at a place of the program."""

    function: str
    """`trace` or `break`"""
    src: list[Span]
    values: list[str]
    """the first ones, in the order of one step after the other, each cut where it is long"""
    count: int
    """how many there were"""


class Traces(TypedDict):
    """What a run would show, in the order in which the places are reached first."""

    places: list[Traced]
    note: str
    """why there may be more, or nothing"""


class Problem(TypedDict):
    """An error or a warning."""

    kind: str
    message: str
    hint: str
    """a way out, or nothing"""
    span: Span | None
    """null where there is no place in the user's texts"""
    code: NotRequired[str]
    """what `explain` tells more about; not where the program is right"""
    related: NotRequired[list[RelatedPlace]]
    """the places that disagree with `span`"""
    calls: NotRequired[list[Span]]
    """of a run that failed: the calls that led to `span`, the innermost first"""
    traces: NotRequired[Traces]
    """of a run that failed: the values that were traced before"""
    rendered: NotRequired[str]
    """all of it as text, with the line"""
    errors: NotRequired[list[Problem]]
    """all that were found, this one first"""
    position: NotRequired[int]
    """how many were before it in the queue of a server that is busy"""
    retry: NotRequired[int]
    """seconds after which a busy server takes such a request again"""


class Failure(TypedDict):
    """What an operation answers where something went wrong."""

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
    """whether it says where arrays lie"""
    machine: NotRequired[str]
    """what runs a text"""
    of: NotRequired[str]
    """the stage that a listing is made of"""


class Rule(TypedDict):
    """A decision of a pass."""

    id: str
    does: str
    equation: str
    """what becomes what, with code in backquotes, or nothing"""


class Switch(Rule):
    """A rule that can be switched off, or on."""

    asked: bool
    """whether it is done only where the option `enable` names it"""


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
    """what the operation `listing` makes of texts"""
    switches: list[Pass]
    """what the option `disable` takes, and of rules that are `asked` the option `enable`"""


@dataclass(frozen=True, slots=True)
class ManifestRequest(Request):
    """The stages in order, and the passes and rules that can be switched off."""


MANIFEST = Operation(
    "manifest", ManifestRequest, ManifestAnswer, {}, share=0.0, served=False, batched=False
)


class Backend(TypedDict):
    """What runs programs."""

    id: Runner
    title: str
    missing: str
    """why it cannot run on this machine, or nothing"""


class BackendsAnswer(Answer):
    """What can run programs here."""

    backends: list[Backend]


@dataclass(frozen=True, slots=True)
class BackendsRequest(Request):
    """The back ends, and why one cannot run on this machine."""


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
    """Parse and type-check: entry points, warnings, errors."""


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
    """for each line the place in the program that it is from"""


@dataclass(frozen=True, slots=True)
class TranslateRequest(OfProgram):
    """The Futhark program that a FlatPack program (`main` ends in `.fp`) stands for."""


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
    """null in what is streamed, where the lines come alone, and where the text is not wanted"""
    lines: list[Line] | None
    """null where the text is not wanted"""
    counts: dict[str, int]
    """how many nodes of each kind it has; of syntax trees definitions, of texts lines"""
    same: bool
    """whether its passes have left the program of the stage before as it is"""
    ms: float
    """what making it took"""
    show_ms: float
    """what printing it took"""


class Remark(TypedDict):
    """A decision of the compiler."""

    kind: Literal["applied", "missed", "note"]
    rule: str
    stage: str
    src: list[Span]
    because: str
    hint: str
    attempt: int | None
    """the number of the attempt to build in place that it tells of"""
    refusal: str
    """the kind of refusal that it tells of, by its id in the list of refusals, or empty"""
    fused: list[list[Span]]
    """of a fusion: the reader's places, then those of what was fused with it; `src` has both"""
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
    """Compile: stages as text lines, counts, remarks."""

    stages: Annotated[list[str], Says("is a list of ids")] | None = None
    """their ids; all if left out"""
    texts: Annotated[list[str], Says("is a list of ids")] | None = None
    """of these whose texts are wanted; of all if left out. What is long is made when it is asked
    for, by `text`"""
    stream: Annotated[bool, Own()] = False
    """each stage comes as an answer of its own, marked `partial`, as soon as it is there"""


SHOW = Operation("show", ShowRequest, ShowAnswer, {"stages": ["c"]}, partial=ShowPart, limit="show")


class TextAnswer(Answer):
    """A stage with its text."""

    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRequest(OfProgram):
    """The text of one stage, for who compiled with `show` and wanted other texts only."""

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
    """The expressions that lines of stages come from: of the types and of the core language."""


PLACES = Operation(
    "places", PlacesRequest, PlacesAnswer, {}, share=0.2, answered_in="compiler.driver.texts"
)


class RuleUse(Rule):
    """What a rule has done in a program."""

    optional: bool
    """whether the option `disable` takes it"""
    applied: int
    """how many remarks say that it was done"""
    missed: int
    """how many say that it was not done, and why"""
    notes: int


class RulesAnswer(Answer):
    """The rules that a program's remarks name."""

    rules: list[RuleUse]
    """in the order of the stages"""


@dataclass(frozen=True, slots=True)
class RulesRequest(OfProgram):
    """What the rules do that the remarks name, and how often each was applied or missed."""


RULES = Operation("rules", RulesRequest, RulesAnswer, {})


class RuleDescription(Switch):
    """A rule, also one that cannot be switched off."""

    optional: bool
    """whether the option `disable` takes it"""


class PassDescription(TypedDict):
    """A pass, also one that cannot be switched off."""

    id: str
    does: str
    optional: bool
    """whether the option `disable` takes it"""
    rules: list[RuleDescription]


class Version(TypedDict):
    """A stage of a program."""

    stage: str
    """its id; nothing for the program as it was written"""
    text: str
    changed: list[int]
    """the numbers, from 1, of the lines that the other version has not"""
    output: str
    """what it gives there, or nothing: what stands before the core language runs as that, and \
the texts of back ends do not"""


class LimitShown(TypedDict):
    """A limit of a rule that is lower for its tiny program."""

    id: str
    counts: str
    """what it is a number of"""
    usual: int
    here: int


class Shown(TypedDict):
    """A rule or pass at work on a tiny program."""

    source: str
    main: str
    """its path, or nothing"""
    input: str
    target: str
    disable: list[str]
    """what else is switched off, before and after"""
    limits: list[LimitShown]
    """what is lower than usual"""
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
    """What a rule or a pass does, shown at a tiny program that is compiled with it and without."""

    rule: str = ""
    """the id of a rule, or of a pass, whose rules are listed; nothing: all passes with theirs"""


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
    """in the order of the requests; each of them came by itself if they are left out"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest(OfProgram):
    """Several requests about one program, which run nothing: each with its `op` and fields."""

    requests: Annotated[list[Json], Says("is a list of objects")]
    stream: Annotated[bool, Own()] = False
    """each answer comes by itself as soon as it is there"""
    whole: Annotated[bool, Own()] = False
    """no answer comes in parts"""


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
