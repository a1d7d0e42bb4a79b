"""Parse the test blocks of a program, the comments that begin with `-- ==`.

A block holds cases: for one or several entry points an input and its results. A program whose only
block is `error: REGEX` must be refused. `docs/testing.md` has the notation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from compiler.base.dataclass import dataclass
from compiler.base.errors import InputError
from compiler.base.spans import NOWHERE, Span, span_at

Kind = Literal["run", "refused", "warning", "structure", "property", "compiles"]
Load = Callable[[str], bytes]
"""Reads a file beside the program by its relative path. Raises UsageError."""
Form = Literal["values", "file", "random", "script", "script file"]
PIPELINES = ("gpu-mem", "gpu", "mc-mem", "mc", "seq-mem", "internalised")
"""Pipelines that `structure` can name; without a name it is the program before kernels."""


@dataclass(frozen=True, slots=True)
class Data:
    """Values in a block: `text` is the content of the braces, or a path."""

    form: Form
    text: str
    span: Span
    """The span from the first character of the text."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A test case.

    `run`: the entry point on `input` gives `output`, or the reference interpreter's results
    (`auto`), or fails with a message in which `regex` is found (`error`). `refused` and `warning`:
    the compiler's message contains `regex`. `structure`: the program of a pipeline has so many
    nodes of each kind. `property`: the entry point gives true for every input.
    """

    kind: Kind
    span: Span
    name: str
    entry: str = "main"
    tags: frozenset[str] = frozenset()
    input: Data | None = None
    output: Data | None = None
    auto: bool = False
    error: bool = False
    regex: str = ""
    pipeline: str = ""
    counts: tuple[tuple[str, int], ...] = ()

    @property
    def said(self) -> str:
        """Return its name in a report."""
        return f"{self.entry}, {self.name}" if self.kind in ("run", "property") else self.name


@dataclass(frozen=True, slots=True)
class Blocks:
    """The cases of all blocks; `tags` are those of the program."""

    cases: tuple[Trial, ...]
    tags: frozenset[str]


_BLOCK = re.compile(r"^-- ==(?!=).*(?:\n|\Z)(?:^--(?! ==(?!=)).*(?:\n|\Z))*", re.MULTILINE)
"""A block may begin on the line of its marker; a line of further `=` is none."""
_START = re.compile(r"^--", re.MULTILINE)
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[\w-]+")
_PATH = re.compile(r"[^\s{}]+")
_REST = re.compile(r"[^\n]*")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_METRIC = re.compile(r"([A-Za-z/]+)\s*([0-9]+)")
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[^{}"]+|[{}]')
_LONGEST_NAME = 50
_NO_COLON = {"error": "error:", "entry": "entry:", "warning": "warning:", "property": "property:"}


def read(source: str) -> Blocks:
    """Parse all cases of a program. Raises InputError with the place in the text."""
    blocks = list(_BLOCK.finditer(source))
    readers = [_Reader(source, found.start(), found.end()) for found in blocks]
    by_block = [list(reader.cases()) for reader in readers]
    cases = [case for block in by_block for case in block]
    tags = frozenset[str]().union(*(reader.program_tags for reader in readers))
    refused = next((case for case in cases if case.kind == "refused"), None)
    if refused is not None and len(cases) > 1:
        other = next(case for case in cases if case is not refused)
        raise InputError(
            "A program that must be refused can have no other tests.",
            max(refused.span, other.span),
            "Give it a file of its own, with the block that begins with `error:` alone.",
        )
    for block in by_block:
        _check_names(block)
    if blocks and not any(case.kind in ("run", "refused", "property") for case in cases):
        start = span_at(source, blocks[0].start())
        cases.insert(0, Trial("compiles", start, "compiles"))
    return Blocks(tuple(cases), tags)


def _check_names(cases: list[Trial]) -> None:
    """Raise an error for two tests of one name in a block."""
    known: set[tuple[str, str]] = set()
    for case in cases:
        if case.kind == "run" and (case.entry, case.name) in known and case.name[:1] != "#":
            raise InputError(
                f"`{case.entry}` has two tests called `{case.name}`.",
                case.span,
                'Give one of them another name, in quotes before it: `"other" input ..`.',
            )
        known.add((case.entry, case.name))


class _Reader:
    """A position in a block.

    Comment markers are blanked out, so offsets are those of the program.
    """

    def __init__(self, source: str, start: int, end: int) -> None:
        self.source = source
        block = _START.sub("  ", source[start:end].rstrip()).replace("==", "  ", 1)
        self.text = source[:start] + block
        self.at = start
        self.program_tags: set[str] = set()
        self.taken = 0

    # --- words -------------------------------------------------------------------------------

    def wrong(self, message: str, hint: str, at: int | None = None) -> InputError:
        """Make an error here, or at an offset."""
        place = span_at(self.source, self.at if at is None else at)
        return InputError(message, place, hint)

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def accept(self, word: str) -> bool:
        """Consume a word if it is next; return True if so."""
        self.skip()
        end = self.at + len(word)
        whole = not word[-1].isalnum() or not (self.text[end : end + 1] or " ").isalnum()
        if not self.text.startswith(word, self.at) or not whole:
            return False
        self.at = end
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern behind white space and consume it; return the match."""
        self.skip()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def found(self) -> str:
        """Describe the next word for an error."""
        self.skip()
        word = re.match(r"\S+", self.text[self.at : self.at + 40])
        return f"`{word[0]}`" if word else "the end of the block"

    def rest(self) -> str:
        """Consume the rest of the line."""
        found = _REST.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0].strip() if found else ""

    def braces(self, what: str) -> tuple[str, Span]:
        """Parse nested braces; return their content and its place."""
        start = self.at
        if not self.accept("{"):
            raise self.wrong(f"Expected `{{` with {what}, found {self.found()}.", "Write `{ .. }`.")
        begin, depth = self.at, 1
        for piece in _PIECE.finditer(self.text, self.at):
            depth += {"{": 1, "}": -1}.get(piece[0], 0)
            if not depth:
                self.at = piece.end()
                return self.text[begin : piece.start()], span_at(self.source, begin)
        self.skip()
        raise self.wrong(
            "This `{` has no `}` before the block ends.",
            "A block ends at the first line that is no comment: put `--` before each of its lines.",
            self.text.find("{", start),
        )

    def regex(self) -> str:
        at = self.at
        text = self.rest()
        try:
            re.compile(text)
        except re.error as error:
            said = f"This is no regular expression: {error}."
            raise self.wrong(said, "Put `\\` before signs that stand for themselves.", at) from None
        return text

    # --- the block ---------------------------------------------------------------------------

    def cases(self) -> Iterator[Trial]:
        """Parse all cases of the block."""
        entries = ["main"]
        while True:
            self.skip()
            if self.at >= len(self.text):
                return
            place = span_at(self.source, self.at)
            if self.accept("tags"):
                self.program_tags |= set(self.braces("tags")[0].split())
            elif self.accept("entry:"):
                entries = self.rest().split()
                if not entries:
                    hint = "Write its name: `entry: main`."
                    raise self.wrong("Which entry point is missing.", hint)
            elif self.accept("property:"):
                for name in self.rest().split():
                    yield Trial("property", place, "holds", name)
            elif self.accept("error:"):
                if self.taken:
                    raise self.wrong(
                        "There is no input before this error.",
                        "Write the input that leads to it first: `input { .. } error: ..`.",
                    )
                yield Trial("refused", place, "is refused", error=True, regex=self.regex())
            elif self.accept("warning:"):
                yield Trial("warning", place, "warns", regex=self.regex())
            elif self.accept("structure"):
                yield self.structure(place)
            else:
                case = self.run(place)
                yield from (replace(case, entry=entry) for entry in entries)

    def structure(self, place: Span) -> Trial:
        pipeline = next((one for one in PIPELINES if self.accept(one)), "")
        self.skip()
        begin = self.at
        text, _ = self.braces("kinds of nodes and their numbers")
        counts = [(found[1], int(found[2])) for found in _METRIC.finditer(text)]
        if _METRIC.sub("", text).strip():
            hint = "Write each kind with its number: `structure { Map 1 Reduce 0 }`."
            raise self.wrong("Between these braces are kinds of nodes with numbers.", hint, begin)
        name = f"structure {pipeline}".strip()
        return Trial("structure", place, name, pipeline=pipeline, counts=tuple(counts))

    def run(self, place: Span) -> Trial:
        """Parse `["name"] tags.. input .. [output .. | auto output | error: ..]`."""
        begin = self.at
        quoted = self.match(_STRING)
        tags: list[str] = []
        while not self.accept("input"):
            word = self.match(_WORD)
            if word is None or word[0] in ("output", "auto", *_NO_COLON):
                self.at = begin if tags or word else self.at
                raise self.no_case("" if word is None else word[0])
            tags.append(word[0])
        form: Form = "random" if "random" in tags else "script" if "script" in tags else "values"
        given = self.data(form)
        name = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else self.name(given)
        self.taken += 1
        shown = frozenset(tags) - {"random", "script"}
        case = Trial("run", place, name, tags=shown, input=given)
        if self.accept("auto"):
            if not self.accept("output"):
                said = f"Expected `output` after `auto`, found {self.found()}."
                raise self.wrong(said, "Write `auto output`.")
            return replace(case, auto=True)
        if self.accept("output"):
            return replace(case, output=self.data("values"))
        if self.accept("error:"):
            return replace(case, error=True, regex=self.regex())
        return case

    def no_case(self, word: str) -> InputError:
        """Make the error for a word that begins no case, or is misplaced in one."""
        if word in _NO_COLON:
            return self.wrong(f"Expected `{_NO_COLON[word]}` here.", "There is a colon behind it.")
        if word:
            text = "auto output" if word == "auto" else "output"
            return self.wrong(f"This `{text}` has no input.", "Write `input { .. }` before it.")
        return self.wrong(
            f"Expected a test, found {self.found()}.",
            "It begins with `input`, `random input`, `script input`, `entry:`, `error:`,"
            " `warning:`, `property:`, `structure` or `tags`; an empty line ends the block.",
        )

    def data(self, form: Form) -> Data:
        """Parse the data behind `input` or `output`."""
        if self.accept("@"):
            if form == "random":
                hint = "Write them between braces: `random input { [10]i32 }`."
                raise self.wrong("Random values are told by their types.", hint)
            self.skip()
            place = span_at(self.source, self.at)
            path = self.match(_PATH)
            if path is None:
                raise self.wrong("The name of the file is missing.", "Write it behind `@`.")
            return Data("script file" if form == "script" else "file", path[0], place)
        text, place = self.braces("values" if form == "values" else form)
        return Data(form, text, place)

    def name(self, given: Data) -> str:
        """Return the name of a data set without a name, as in Futhark."""
        if given.form in ("file", "script file"):
            return given.text.removesuffix(".gz")
        text = " ".join(given.text.split())
        if given.form != "values":
            return text
        short = text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."
        return f'#{self.taken} ("{short}")'


def place_in(data: Data, span: Span) -> Span:
    """Convert a place in a block's values to one in the program."""
    if span.line <= 0:
        return NOWHERE
    column = data.span.col - 1 if span.line == 1 else 0
    line = data.span.line + span.line - 1
    return Span(line, span.col + column, line, span.end_col + column, data.span.file)
