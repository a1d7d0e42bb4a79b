"""The shapes of answers for tests: the JSON Schema, as a library that others wrote reads it."""

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from compiler.protocol.__main__ import schema

SCHEMA = schema()


def validator(operation: str, part: str) -> Draft202012Validator:
    """Of the `request`, `answer` or `partial` answer of an operation, or of its `failure`."""
    found = SCHEMA["failure"] if part == "failure" else SCHEMA["operations"][operation][part]
    return _made(json.dumps(found))


@cache
def _made(shape: str) -> Draft202012Validator:
    """Of a part of the schema. Made once: an answer has thousands of the same shape."""
    return Draft202012Validator({**json.loads(shape), "$defs": SCHEMA["$defs"]})


def wrong(operation: str, part: str, data: Any) -> list[str]:
    """Why data has not the shape; empty if it has."""
    return [
        f"{operation} {error.json_path}: {error.message[:300]}"
        for error in validator(operation, part).iter_errors(data)
    ]


def wrong_answer(operation: str, answer: Any) -> list[str]:
    """Why an answer, a partial one or a failure has not the shape that is declared."""
    if not answer.get("ok"):
        return wrong(operation, "failure", answer)
    return wrong(operation, "partial" if answer.get("partial") else "answer", answer)


def undescribed(operation: str, answer: Any, seen: set[str]) -> None:
    """Add the fields that an answer has to `seen`, as `Shape.field`."""
    part = "partial" if answer.get("partial") else "answer" if answer.get("ok") else "failure"
    found = SCHEMA["failure"] if part == "failure" else SCHEMA["operations"][operation][part]
    _see(found, answer, seen)


def _see(found: dict[str, Any], data: Any, seen: set[str]) -> None:
    if not isinstance(data, dict | list):
        return  # without fields, whichever of its shapes it has
    if "$ref" in found:
        name = found["$ref"].rpartition("/")[2]
        found = SCHEMA["$defs"][name]
        if isinstance(data, dict) and "properties" in found:
            seen |= {f"{name}.{field}" for field in data}
    for one in found.get("anyOf", ()):
        if _made(json.dumps(one)).is_valid(data):
            _see(one, data, seen)
    if isinstance(data, list) and found.get("items"):
        for each in data:
            _see(found["items"], each, seen)
    if isinstance(data, dict):
        more = found.get("additionalProperties")
        for name, value in data.items():
            _see(found.get("properties", {}).get(name, more or {}), value, seen)
