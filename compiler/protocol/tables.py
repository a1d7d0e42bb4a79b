"""Generate the tables of `docs/protocol.md`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from compiler.base.remarks import NOTHING
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Operation, Options
from compiler.protocol.programs import Failure
from compiler.protocol.refusals import KINDS, Ending, Kind
from compiler.protocol.schema import Schema, Schemas
from compiler.protocol.typescript import typed

_SHARED = ("source", "files", "main", "options", "ok", "partial")
"""Fields of many shapes, which the page explains once."""


def operations_text(operations: Mapping[str, Operation[Any]]) -> str:
    """Render each operation with its request and answer."""
    schemas = Schemas("", own=True)
    return "\n\n".join(_operation(schemas, one) for one in operations.values())


def shapes_text(operations: Mapping[str, Operation[Any]]) -> str:
    """Render the shapes that are parts of answers."""
    schemas = Schemas("", own=True)
    schemas.of(Failure)
    tops = [kind for one in operations.values() for kind in (one.request, one.answer, one.partial)]
    for kind in filter(None, tops):
        schemas.of(kind)
    whole = {part for kind in filter(None, tops) for part in typed(schemas.of(kind)).split(" | ")}
    parts = {name: one for name, one in schemas.found.items() if name not in {*whole, "Options"}}
    return "\n\n".join(_shape(name, schema) for name, schema in parts.items())


def options_text() -> str:
    """Render the options."""
    schemas = Schemas("", own=True)
    schemas.of(Options)
    return _table(("option", "type", "meaning"), _rows(schemas.found["Options"]))


def refusals_text() -> str:
    """Render the kinds of refusals, with the way out of each."""
    rows = (
        (f"`{kind.id}`", rule, _cell(kind.about), _cell(_left(kind)))
        for rule, kinds in KINDS.items()
        for kind in kinds
    )
    return _table(("kind", "of", "because", "hint"), rows)


def _left(kind: Kind) -> str:
    """Render a refusal's advice; numbered places stand for the author's own names."""
    match kind.ending:
        case Ending.CHANGE:
            return kind.change.replace("{}", "NAME")
        case Ending.CONDITION:
            return f"{kind.ending.value}; else: {NOTHING}"
    return kind.hint() or "none: the reason says what to change"


def _operation(schemas: Schemas, one: Operation[Any]) -> str:
    takes = list(_rows(_known(schemas, one.request)))
    answers = list(_rows(_merged(schemas, one.answer)))
    about = " Takes a program and `options`." if "source" in fields(one.request) else ""
    parts = [f"### `{one.id}`", one.help + about]
    if takes:
        parts.append(_table(("takes", "type", "meaning"), takes))
    if answers:
        parts.append(_table(("answers", "type", "meaning"), answers))
    return "\n\n".join(parts)


def _known(schemas: Schemas, kind: Any) -> Schema:
    return schemas.found[typed(schemas.of(kind))]


def _merged(schemas: Schemas, kind: Any) -> Schema:
    """Merge the schemas of a union: the fields of all, those that some lack optional."""
    found = [schemas.found[name] for name in typed(schemas.of(kind)).split(" | ")]
    required = set.intersection(*(set(one["required"]) for one in found))
    properties = {name: field for one in found for name, field in one["properties"].items()}
    return {**found[0], "properties": properties, "required": list(required)}


def _shape(name: str, schema: Schema) -> str:
    head = f"### {name}\n\n{schema['description']}"
    if schema["type"] != "object":
        return f"{head} `{_cell(typed(schema))}`"
    return f"{head}\n\n{_table(('field', 'type', 'meaning'), _rows(schema))}"


def _rows(schema: Schema) -> Iterator[tuple[str, str, str]]:
    for name, field in schema["properties"].items():
        if name in _SHARED:
            continue
        default = f", else `{json.dumps(field['default'])}`" if "default" in field else ""
        optional = "" if name in schema["required"] else "?"
        kind = f"`{_cell(typed(field))}`{default}"
        yield f"`{name}{optional}`", kind, _cell(field.get("description", ""))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
