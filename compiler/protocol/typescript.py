"""Generate the TypeScript types of requests and answers."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from compiler.protocol.kinds import Operation
from compiler.protocol.programs import Failure
from compiler.protocol.schema import Schema, Schemas

HEAD = """\
// The shapes of requests and answers. Made by `python -m compiler.protocol` from compiler/protocol:
// change them there.
"""
_SIMPLE = {
    "string": "string",
    "boolean": "boolean",
    "number": "number",
    "integer": "number",
    "null": "null",
}
_LONGEST_TUPLE = 4
_LONGEST_LINE = 100


def text(operations: Mapping[str, Operation[Any]]) -> str:
    """Render a module with an interface for each shape, and one with all operations."""
    schemas = Schemas("", own=False)
    schemas.of(Failure)
    rows = [row for one in operations.values() for row in _operation(schemas, one)]
    shapes = [_shape(name, schema) for name, schema in schemas.found.items()]
    every = "\n".join(
        ["/** Each operation, by its id. */", "export interface Operations {", *rows, "}"]
    )
    return "\n\n".join([HEAD.rstrip(), *shapes, every]) + "\n"


def _said(description: str, indent: str = "") -> str:
    """Render a description as a comment, on one line if it fits."""
    if len(indent + description) + len("/**  */") <= _LONGEST_LINE:
        return f"{indent}/** {description} */"
    before = f"{indent} * "
    lines = textwrap.wrap(
        description,
        _LONGEST_LINE,
        initial_indent=before,
        subsequent_indent=before,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join([f"{indent}/**", *lines, f"{indent} */"])


def _operation(schemas: Schemas, one: Operation[Any]) -> Iterator[str]:
    parts = {"request": one.request, "answer": one.answer, "partial": one.partial}
    listed = [f"{name}: {typed(schemas.of(kind))}" for name, kind in parts.items() if kind]
    yield _said(one.help, "  ")
    yield f"  {one.id}: {{ {'; '.join(listed)} }};"


def _shape(name: str, schema: Schema) -> str:
    head = _said(schema["description"]) + "\n"
    if schema["type"] != "object":
        return f"{head}export type {name} = readonly {typed(schema)};"
    if not schema["properties"]:
        return f"{head}export type {name} = Record<string, never>;"
    lines = [f"export interface {name} {{"]
    for field, kind in schema["properties"].items():
        if "description" in kind:
            lines.append(_said(kind["description"], "  "))
        lines.append(f"  {field}{'' if field in schema['required'] else '?'}: {typed(kind)};")
    return head + "\n".join([*lines, "}"])


def typed(schema: Schema) -> str:
    """Render a schema as a TypeScript type."""
    match schema:
        case {"$ref": name}:
            return str(name)
        case {"anyOf": parts}:
            return " | ".join(map(typed, parts))
        case {"const": value}:
            return json.dumps(value)
        case {"enum": values}:
            return " | ".join(map(json.dumps, values))
        case {"type": "array", "prefixItems": parts, "minItems": count}:
            listed = [typed(one) + "?" * (k >= count) for k, one in enumerate(parts)]
            return f"[{', '.join(listed)}]"
        case {"type": "array", "items": one, "minItems": count} if count <= _LONGEST_TUPLE:
            return f"[{', '.join([typed(one)] * count)}]"
        case {"type": "array", "items": one}:
            inner = typed(one)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case {"type": "object", "additionalProperties": one}:
            return f"Record<string, {typed(one)}>"
        case {"type": simple}:
            return "number" if simple == "integer" else str(simple)
    return "unknown"
