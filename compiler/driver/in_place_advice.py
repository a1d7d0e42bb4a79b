"""Advise a source change that lets an array be built in place, after trying it.

A refused attempt comes with conditions that would prove it. Each is put into the source as a check,
in front of the entry point's body or of the point itself; the program is compiled again, and only
if the attempt is made then, the line is offered.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from compiler.base.context import Options
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError
from compiler.base.remarks import NOTHING
from compiler.base.spans import user_spans
from compiler.driver.pipeline import Compilation
from compiler.frontend import decs
from compiler.frontend.files import FLATPACK
from compiler.frontend.parser import parse
from compiler.protocol.kinds import Json

COMPILED = 8
"""The most recompilations for all refusals of a program."""
_SECONDS = 4.0
"""Seconds after which no further one starts."""
_INDENT = "  "


def advise(source: str, options: Options, attempts: Sequence[Json]) -> None:
    """Set `way_out` of each attempt: None, or a source change.

    The change has `line`, `col`, `text`, and `says` for its effect. Each has been tried.
    """
    left = COMPILED
    deadline = time.monotonic() + _SECONDS
    known: dict[tuple[str, str, Insertion], Json | None] = {}
    for one in attempts:
        one["way_out"] = None
        if options.main.endswith(FLATPACK) or options.edited:
            continue  # FlatPack has no `assert`, and a check in the source changes no text
        body = _body(source, one["entry"]) if one["stated"] and one["holder"] else None
        own = [Insertion(span[0], span[1], 0) for span in one["src"][:1] if not _file(span)]
        for condition in one["stated"]:
            for insertion in (body, *own) if body is not None else ():
                key = (one["holder"], condition, insertion)
                if key not in known and left and time.monotonic() < deadline:
                    left -= 1
                    known[key] = _inserted(source, options, *key)
                change = known.get(key)
                if one["way_out"] is None and change is not None and _helps(one, attempts, change):
                    one["way_out"] = {k: change[k] for k in ("line", "col", "text", "says")}
        if one["open"] and not one["done"] and one["way_out"] is None:
            one["hint"] = one["hint"] or NOTHING
        del one["stated"], one["holder"], one["entry"], one["open"]


@dataclass(frozen=True, slots=True)
class Insertion:
    """An insertion before a line and column, which moves down by `lines`."""

    line: int
    col: int
    lines: int


def _body(source: str, entry: str) -> Insertion | None:
    """Return the beginning of an entry point's body."""
    span = next((dec.body.span for dec in _values(parse(source).decs) if dec.name == entry), None)
    if span is None:
        return None
    before = source.split("\n")[span.line - 1][: span.col - 1]
    return Insertion(span.line, span.col, 2 if before.strip() else 1)


def _inserted(
    source: str, options: Options, holder: str, condition: str, insertion: Insertion
) -> Json | None:
    """Insert a check.

    Return it with the outcomes of the new program's attempts by rule and line.
    """
    check = f"let {holder} = assert ({condition}) {holder} in"
    lines = source.split("\n")
    line, col = lines[insertion.line - 1], insertion.col - 1
    before, rest = line[:col], line[col:]
    text = (f"{check} ", f"{check}\n{before}", f"\n{_INDENT}{check}\n{_INDENT}")[insertion.lines]
    lines[insertion.line - 1] = f"{before}{text}{rest}"
    try:
        work = Compilation("\n".join(lines), options)
        made = work.record("shortcircuit").all()
    except CompileError:
        return None
    refused = [(a.rule.id, user_spans(a.prov)) for a in made if not a.done]
    return {
        "line": insertion.line,
        "col": insertion.col,
        "text": text,
        "says": (
            f"Insert this before `{rest.split()[0]}` in line {insertion.line}; then it is "
            "proved and nothing is copied:"
        ),
        "refused": Counter(
            (rule, spans[0][0], _file(spans[0])) for rule, spans in refused if spans
        ),
        "place": insertion,
    }


def _helps(one: Json, attempts: Iterable[Json], change: Json) -> bool:
    """Return True if the change reduces the refusals of this kind on this line."""
    if not one["src"]:
        return False
    rule, line, file = one["rule"], one["src"][0][0], _file(one["src"][0])
    before = sum(
        not a["done"]
        and a["rule"] == rule
        and bool(a["src"])
        and (a["src"][0][0], _file(a["src"][0])) == (line, file)
        for a in attempts
    )
    insertion: Insertion = change["place"]
    moved = line + insertion.lines if line >= insertion.line and not file else line
    refused: Counter[tuple[str, int, str]] = change["refused"]
    return bool(refused[rule, moved, file] < before)


def _file(span: Sequence[object]) -> str:
    """Return the imported file of a span, "" for the program itself."""
    return str(span[4]) if len(span) > 4 else ""


def _values(found: Iterable[decs.Dec]) -> Iterator[decs.ValDec]:
    for dec in map(decs.without_local, found):
        if isinstance(dec, decs.ValDec):
            yield dec
