"""Literate programs: text, code, and directives whose results stand below them.

Comments that begin a line are text in Markdown, one that begins with `-- > ..` is a directive, all
else is code.
`docs/tools.md` lists the directives.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np

from compiler.base import cache
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, InputError, UsageError
from compiler.base.spans import Span, span_at
from compiler.base.text import plain
from compiler.driver import api
from compiler.driver.answers import error_json, span_json
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.typed import TypedProg
from compiler.frontend.types import Array, PrimT
from compiler.ir.values import Value
from compiler.lower.external_values import show, type_texts
from compiler.notebooks.exposing import defined, exposing
from compiler.protocol import notebooks
from compiler.protocol.answering import answers
from compiler.protocol.kinds import OfProgram
from compiler.testing import cases, media, plot
from compiler.testing.blocks import Data, Load
from compiler.testing.script import Callee, Callees, Uncallable, applied, value
from compiler.testing.script_values import Literal, Made, RecordOf, Tuple, flat, kind_of

_DIRECTIVE = re.compile(r"-- ?>")
_KIND = re.compile(r"\s*:(\w+)")
_NAME = re.compile(r"[A-Za-z_][\w']*")
_PARAMETER = re.compile(r"\s*(\w+)\s*:\s*(.*?)\s*")
MOST_FRAMES = 2000
LONGEST = 20_000
"""The longest printed value, in characters."""
_PARAMETERS = {
    "img": ("file",),
    "plot2d": ("size",),
    "video": ("fps", "loop", "autoplay", "format", "repeat"),
    "audio": ("sampling_frequency", "codec"),
}
_UNKNOWN = (*_PARAMETERS, "brief", "covert")


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """Lines of a program: `text` without the comment signs; code as it is."""

    kind: notebooks.BlockKind
    text: str
    span: Span


def blocks(source: str) -> Iterator[NotebookCell]:
    """Split a program into its cells, in order."""
    kind, start, found = "", 0, list[str]()
    lines = source.split("\n")
    for number, line in enumerate([*lines, ""]):
        now = _kind(line, kind) if number < len(lines) else "end"
        both = {now, kind} == {"code", "comment"}
        if (now != kind and not both) or (now == "directive" and _DIRECTIVE.match(line)):
            if any(one.strip() for one in found):
                yield _block(kind, found, start + 1)
            start, found = number, []
        kind = now
        found.append(line)


def _kind(line: str, before: str) -> str:
    """Classify a line behind one of kind `before`."""
    if _DIRECTIVE.match(line) and before != "text":  # text goes on to the end of the comment
        return "directive"
    rest = line[2:].strip()
    is_comment = line.startswith("--") and (line[2:3] in ("", " ", "\r"))
    if is_comment and before == "comment" and not rest.startswith("=="):
        return "comment"
    if is_comment and rest.startswith(("==", "|")):
        return "comment"  # tests and documentation belong to the code
    if is_comment and before == "directive" and rest:
        return "directive"
    return "text" if is_comment else "code"


def _block(kind: str, lines: Sequence[str], first: int) -> NotebookCell:
    full = [number for number, line in enumerate(lines) if line.strip()]
    last = full[-1]
    span = Span(first + full[0], 1, first + last, len(lines[last]) + 1)
    if kind == "text":
        return NotebookCell("text", "\n".join(line[3:].rstrip("\r") for line in lines), span)
    if kind == "directive":
        return NotebookCell("directive", "\n".join("   " + line[3:] for line in lines), span)
    return NotebookCell("code", "\n".join(lines).strip("\n"), span)


@dataclass(slots=True)
class _Directive:
    """A directive with its expression and its parameters."""

    kind: str = ""
    brief: bool = False
    covert: bool = False
    data: Data = field(default_factory=lambda: Data("script", "", Span(0, 0, 0, 0)))
    parameters: dict[str, str] = field(default_factory=dict)
    shown: str = ""


def _directive(block: NotebookCell) -> _Directive:
    """Parse a directive. Raises UsageError with its place."""
    found = _Directive()
    text, at = block.text, block.text.index(">") + 1
    while name := _KIND.match(text, at):
        if name[1] == "gnuplot":
            message = "`:gnuplot` is not run: its script can run commands of the shell."
            hint = "`:plot2d {a=(xs, ys), b=(xs, zs)}` draws lines."
            raise UsageError(message, block.span, hint)
        if name[1] not in _UNKNOWN or found.kind:
            hint = f"{did_you_mean(name[1], _UNKNOWN)} There are {', '.join(_UNKNOWN)}."
            raise UsageError(f"There is no directive `:{name[1]}`.", block.span, hint.strip())
        found.brief |= name[1] == "brief"
        found.covert |= name[1] == "covert"
        found.kind = "" if name[1] in ("brief", "covert") else name[1]
        at = name.end()
    script, _, rest = text[at:].partition(";") if found.kind else (text[at:], "", "")
    known = _PARAMETERS.get(found.kind, ())
    for part in re.split(r"[;\n]", rest):
        one = _PARAMETER.fullmatch(part)
        if part.strip() and (one is None or one[1] not in known):
            hint = f"Parameters of `:{found.kind}` are {', '.join(known)}."
            raise UsageError(f"`{part.strip()}` is no parameter here.", block.span, hint)
        if one:
            found.parameters[one[1]] = one[2]
    start = span_at(text, at)
    place = Span(block.span.line + start.line - 1, start.col, 0, 0)
    found.data = Data("script", script, place)
    whole = text[at:].strip() if not (found.brief and found.kind) else script.strip()
    found.shown = f"{f':{found.kind} ' if found.kind else ''}{_lines(whole)}"
    return found


def _lines(text: str) -> str:
    """Strip the indentation that stands for comment signs from a directive's lines."""
    return text.replace("\n   ", "\n")


# --- what directives give --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Results:
    """Runs directives."""

    callees: Callees
    load: Load
    key: str = ""
    """Cache key of the results: all that they depend on beside the directive."""

    def of(self, one: _Directive) -> notebooks.Result:
        """Run a directive. Raises the errors of its expression."""
        made = value(one.data, self.callees, self.load)
        match one.kind:
            case "img":
                return _media("image/png", media.png(_single(made)))
            case "audio":
                if one.parameters.get("codec", "wav") != "wav":
                    raise UsageError("Only WAV sounds are supported.", hint="Leave `codec` out.")
                rate = _number(one, "sampling_frequency", 30_000)
                return _media("audio/wav", media.wav(_single(made), rate))
            case "plot2d":
                size = re.findall(r"[0-9]+", one.parameters.get("size", ""))
                width, height = map(int, size) if len(size) == 2 else (640, 400)
                return _media("image/svg+xml", plot.svg(_series(made), width, height).encode())
            case "video":
                return self._video(one, made)
        return _printed(made)

    def _video(self, one: _Directive, made: Made) -> notebooks.Result:
        form = one.parameters.get("format", "")
        if form == "webm":
            raise UsageError("A video must be an animated PNG or GIF.", hint="Leave `format` out.")
        said = one.parameters
        repeat = said.get("loop", said.get("repeat", "true")) == "true"
        frames = list(self._frames(made) if isinstance(made, Tuple) else np.asarray(_single(made)))
        shown = media.moving(frames, _number(one, "fps", 30), repeat, form)
        return _media("image/gif" if form == "gif" else "image/apng", shown)

    def _frames(self, made: Tuple) -> Iterator[Value]:
        """Yield the frames of `(step, state, count)`; a step gives a picture and the next state."""
        if len(made.parts) != 3:
            raise InputError("A video needs pictures, or a step, a state and a number of pictures.")
        step, state, count = made.parts
        number = int(_single(count))
        if not 0 < number <= MOST_FRAMES:
            raise InputError(f"A video must have 1 to {MOST_FRAMES} pictures.")
        for _ in range(number):
            both = applied(step, (state,), self.callees)
            if not isinstance(both, Tuple) or len(both.parts) != 2:
                raise InputError("A step must return a pair: a picture and the next state.")
            picture, state = both.parts
            yield _single(picture)


def _single(made: Made) -> Value:
    found = flat(made)
    if len(found) != 1:
        raise InputError(f"Expected one array, found {len(found)} values.")
    return found[0]


def _number(one: _Directive, name: str, usual: int) -> int:
    text = one.parameters.get(name, str(usual))
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise UsageError(f"`{name}` must be a number above 0.")
    return int(text)


def _series(made: Made) -> list[tuple[str, Value, Value]]:
    """Return the named lines of a plot: pairs of arrays."""
    match made:
        case RecordOf(names, parts):
            return [(name, *_pair(part)) for name, part in zip(names, parts, strict=True)]
        case Tuple(parts) if parts and all(isinstance(part, Tuple) for part in parts):
            return [("", *_pair(part)) for part in parts]
    return [("", *_pair(made))]


def _pair(made: Made) -> tuple[Value, Value]:
    found = flat(made)
    if len(found) != 2 or any(one.ndim != 1 for one in found) or found[0].shape != found[1].shape:
        raise InputError("A line must be a pair of arrays of one size: all x and all y.")
    return found[0], found[1]


def _printed(made: Made) -> notebooks.Result:
    """Render a value as text; an array of numbers with its type, so that a page can draw it."""
    text = _text(made)
    match kind_of(made):
        case Array(_, PrimT()) as kind if text[:1] != '"':
            return {"text": text, "type": type_texts([kind], flat(made))[0]}
    return {"text": text}


def _text(made: Made) -> str:
    """Render a value as a notebook prints it."""
    match made:
        case Tuple(parts):
            return f"({', '.join(map(_text, parts))})"
        case RecordOf(names, parts):
            fields = (f"{name} = {_text(one)}" for name, one in zip(names, parts, strict=True))
            return f"{{{', '.join(fields)}}}"
        case Literal(text) if text[:1] == '"':
            return text
    return show([kind_of(made)], flat(made), LONGEST)[0]


def _media(kind: str, data: bytes) -> notebooks.Result:
    return {"media": kind, "data": base64.b64encode(data).decode()}


# --- a whole program -------------------------------------------------------------------------


@answers(notebooks.LITERATE)
def notebook(asked: notebooks.LiterateRequest) -> notebooks.LiterateAnswer:
    """Run a program's directives; return its blocks with the results. Errors: of the program."""
    return run(asked, asked.backend, asked.deadline, cases.among(asked))


def run(
    asked: OfProgram, backend: str, seconds: float, load: Load, keep: bool = False
) -> notebooks.LiterateAnswer:
    """Like `notebook`; `load` reads files beside the program, `keep` caches results on disk."""
    found = list(blocks(asked.source))
    directives = "\n".join(block.text for block in found if block.kind == "directive")
    program, refused = exposing(asked, set(_NAME.findall(directives)))
    typed: TypedProg = api.compilation(program).result("typed").prog
    # The others are there for hints: no directive names them.
    callees: dict[str, Callee | Uncallable] = dict.fromkeys(defined(asked), Uncallable(""))
    callees |= {name: Uncallable(why) for name, why in refused.items()}
    key = ""
    if typed.entries and directives:
        manner = cases.Manner(backend, seconds=seconds, load=load)
        callees |= cases.callees(program, "", manner)
        if keep:
            made = api.compilation(api.for_entry(program, ""))
            code = plain(made.result(backend if backend in api.TARGETS else "soa").text)
            key = f"{typed.entries} {code}"
    results = _Results(callees, load, key)
    return {"ok": True, "blocks": [_shown(one, asked, results) for one in found]}


def html(text: str) -> str:
    """Convert Markdown to HTML; raw HTML is escaped, and links lead to pages only."""
    found: str = _markdown().render(text)
    return found


@lru_cache(maxsize=1)
def _markdown() -> Any:
    """Import the Markdown library on first use."""
    return importlib.import_module("markdown_it").MarkdownIt("js-default", {"linkify": False})


def _shown(block: NotebookCell, asked: OfProgram, results: _Results) -> notebooks.Block:
    src = span_json(block.span) or []
    told: notebooks.Block = {"kind": block.kind, "text": block.text, "src": src}
    if block.kind == "text":
        told["html"] = html(block.text)
    if block.kind != "directive":
        return told
    told["text"] = _lines(block.text.partition(">")[2].strip())
    try:
        one = _directive(block)
        told["text"] = "" if one.covert else one.shown
        told["result"] = _kept(one, results)
    except CompileError as error:
        if not error.span.line:
            error.span = block.span
        told["error"] = error_json(error, asked.source, asked.files)
    return told


def _kept(one: _Directive, results: _Results) -> notebooks.Result:
    """Return a cached result of the same program and directive, or make and keep one."""
    if not results.key or "$load" in one.data.text:  # what files hold may have changed
        return results.of(one)
    key = json.dumps([results.key, one.kind, one.data.text, one.parameters])
    name = f"literate-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    if before := cache.load(name):
        found: notebooks.Result = json.loads(before)
        return found
    made = results.of(one)
    cache.keep(name, json.dumps(made).encode())
    return made
