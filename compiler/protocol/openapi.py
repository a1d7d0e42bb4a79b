"""Generate the OpenAPI document of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.protocol.fields import fields
from compiler.protocol.kinds import EXAMPLE, Json, Operation
from compiler.protocol.programs import Failure
from compiler.protocol.schema import Schema, Schemas


def document(operations: Mapping[str, Operation[Any]], version: str) -> Json:
    """Return the document: a path for each operation, and the shapes as components."""
    schemas = Schemas("#/components/schemas/", own=False)
    failed = schemas.of(Failure)
    paths = {f"/api/{one.id}": {"post": _post(schemas, one, failed)} for one in operations.values()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Stridescope", "version": version},
        "paths": paths,
        "components": {"schemas": schemas.found},
    }


def _post(schemas: Schemas, one: Operation[Any], failed: Schema) -> Json:
    answered: Json = {"application/json": {"schema": {"anyOf": [schemas.of(one.answer), failed]}}}
    if one.partial or one.runs:
        part = ""
        if one.partial:
            schemas.of(one.partial)
            part = ", `part`"
        said = f"Events `queued`{part} and `done`, each with an answer as its data."
        answered["text/event-stream"] = {"schema": {"type": "string", "description": said}}
    asked = {"schema": schemas.of(one.request), "example": example(one)}
    wrong = {"application/json": {"schema": failed}}
    return {
        "operationId": one.id,
        "summary": one.help,
        "requestBody": {"required": True, "content": {"application/json": asked}},
        "responses": {
            "200": {"description": "An answer, or what is wrong with it.", "content": answered},
            "default": {"description": "A request that was not answered.", "content": wrong},
        },
    }


def example(one: Operation[Any]) -> Json:
    """Return the fields of a valid request."""
    about = {"source": EXAMPLE} if "source" in fields(one.request) else {}
    return {**about, **one.example}
