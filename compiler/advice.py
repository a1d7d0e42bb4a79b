"""What to write into a program so that an array is built in its place: tried before it is told.

A refused attempt comes with conditions that would prove it. Each is put into the source as a check,
in the first line of the entry point; the program is compiled again, and only if the attempt is made
then, the line is offered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from compiler.base.context import Options
from compiler.base.errors import CompileError
from compiler.base.spans import Span, user_spans
from compiler.frontend import decs
from compiler.frontend.parser import parse
from compiler.pipeline import Compilation
from compiler.storage.short_circuit import outcomes

Json = dict[str, Any]
COMPILED = 8
"""Times that a program is compiled again for the ways out of all of its refusals."""
_INDENT = "  "


def advise(source: str, options: Options, attempts: Sequence[Json]) -> None:
    """Give each attempt its `way_out`: None, or what to insert.

    `line` and `col` where, `text` what, `says` what comes of it. All of it has been tried.
    """
    left = COMPILED
    known: dict[tuple[str, str, str], Json | None] = {}
    for one in attempts:
        one["way_out"] = None
        for condition in one.pop("stated"):
            key = (one["entry"], one["holder"], condition)
            if key not in known and left:
                left -= 1
                known[key] = _inserted(source, options, *key)
            change = known.get(key)
            if change is not None and _helps(one, attempts, change):
                one["way_out"] = {k: change[k] for k in ("line", "col", "text", "says")}
                break
        del one["holder"], one["entry"]


def _inserted(
    source: str, options: Options, entry: str, holder: str, condition: str
) -> Json | None:
    """The check, and how the attempts of the program with it end: by rule and line."""
    body = next((dec.body.span for dec in _values(parse(source).decs) if dec.name == entry), None)
    if body is None or not holder:
        return None
    check = f"let {holder} = assert ({condition}) {holder} in"
    lines = source.split("\n")
    first = lines[body.line - 1]
    before, rest = first[: body.col - 1], first[body.col - 1 :]
    own = not before.strip()
    text = f"{check}\n{before}" if own else f"\n{_INDENT}{check}\n{_INDENT}"
    lines[body.line - 1] = f"{before}{text}{rest}"
    try:
        work = Compilation("\n".join(lines), options)
        made = outcomes(work.result("funmem").prog, options, work.names())
    except CompileError:
        return None
    says = f"With this in front of the body of `{entry}` it is proved, and nothing is copied:"
    refused = [(f"shortcircuit/{a.rule}", user_spans(a.prov)) for a in made if not a.done]
    return {
        "line": body.line,
        "col": body.col,
        "text": text,
        "says": says,
        "shift": 1 if own else 2,
        "refused": Counter((rule, spans[0][0]) for rule, spans in refused if spans),
        "body": body,
    }


def _helps(one: Json, attempts: Iterable[Json], change: Json) -> bool:
    """Whether fewer attempts of the kind are refused at that line than before."""
    if not one["src"]:
        return False
    rule, line = one["rule"], one["src"][0][0]
    before = sum(
        not a["done"] and a["rule"] == rule and bool(a["src"]) and a["src"][0][0] == line
        for a in attempts
    )
    body: Span = change["body"]
    moved = line + change["shift"] if line >= body.line else line
    refused: Counter[tuple[str, int]] = change["refused"]
    return bool(refused[rule, moved] < before)


def _values(found: Iterable[decs.Dec]) -> Iterator[decs.ValDec]:
    for dec in found:
        if isinstance(dec, decs.LocalDec):
            yield from _values((dec.dec,))
        elif isinstance(dec, decs.ValDec):
            yield dec
