"""Generate JSON Schemas from declarations; descriptions come from docstrings.

The other forms (TypeScript, OpenAPI, the tables of the documentation) are made from these.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from compiler.protocol import kinds
from compiler.protocol.fields import Field, fields, is_shape
from compiler.protocol.kinds import LEAST, MOST, AtLeast, Items, Json, Length, Named, Own

Schema = Json
_SIMPLE = {str: "string", bool: "boolean", float: "number", int: "integer", type(None): "null"}


class Schemas:
    """The schemas of shapes by name, collected while types are described.

    `where`: the prefix of names in references; `own`: include the fields that only the owner of
    a worker sets.
    """

    def __init__(self, where: str, own: bool) -> None:
        self.where = where
        self.own = own
        self.found: dict[str, Schema] = {}

    def of(self, kind: Any, request: bool = False) -> Schema:
        """Return the schema of a type. In a request whole numbers have at most 64 bits."""
        origin, parts = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._marked(self.of(parts[0], request), parts[1:])
        if origin in (Union, UnionType):
            # In a request what is null is left out.
            kept = [part for part in parts if not (request and part is type(None))]
            found = [self.of(part, request) for part in kept]
            return {"anyOf": found} if len(found) > 1 else found[0]
        if origin is Literal:
            return {"const": parts[0]} if len(parts) == 1 else {"enum": list(parts)}
        if origin is list:
            return {"type": "array", "items": self.of(parts[0], request)}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(parts[1], request)}
        if kind is Any:
            return {}
        if is_shape(kind):
            return self._reference(kind)
        bounds = {"minimum": LEAST, "maximum": MOST} if request and kind is int else {}
        return {"type": _SIMPLE[kind], **bounds}

    def _marked(self, schema: Schema, marks: tuple[Any, ...]) -> Schema:
        for mark in marks:
            if isinstance(mark, AtLeast):
                schema = {**schema, "minimum": mark.least}
            elif isinstance(mark, Named):
                self.found[mark.name] = schema | {"description": mark.says}
                schema = {"$ref": self.where + mark.name}
            elif isinstance(mark, Length):
                schema = {**schema, "minItems": mark.count, "maxItems": mark.count}
            elif isinstance(mark, Items):
                listed = [self.of(one) for one in (*mark.types, *mark.more)]
                self.found[mark.name] = {
                    "type": "array",
                    "prefixItems": listed,
                    "items": False,
                    "minItems": len(mark.types),
                    "description": _read(kinds)[1][mark.name],
                }
                schema = {"$ref": self.where + mark.name}
        return schema

    def _reference(self, shape: Any) -> Schema:
        if shape.__name__ not in self.found:
            self.found[shape.__name__] = {}  # shapes hold themselves
            self.found[shape.__name__] = self._object(shape)
        return {"$ref": self.where + shape.__name__}

    def _object(self, shape: Any) -> Schema:
        request = is_dataclass(shape) or shape.__name__ == "Options"
        known = [one for one in fields(shape).values() if self.own or not one.has(Own)]
        return {
            "type": "object",
            "description": said(shape),
            "properties": {one.name: self._field(shape, one, request) for one in known},
            "required": [one.name for one in known if one.required],
            "additionalProperties": False,
        }

    def _field(self, shape: Any, one: Field, request: bool) -> Schema:
        schema = self.of(one.type, request)
        text = said_of(shape).get(one.name)
        more: Schema = {"description": text} if text else {}
        if one.default is not None:
            more["default"] = one.default
        return schema | more


def said(shape: Any) -> str:
    """Return the description of a shape."""
    _, below = _module(shape)
    return below.get(shape.__name__) or " ".join((shape.__doc__ or "").split())


def said_of(shape: Any) -> dict[str, str]:
    """Return the descriptions of a shape's fields, inherited ones too."""
    classes, _ = _module(shape)
    node = classes.get(shape.__name__)
    if node is None:
        return {}
    found: dict[str, str] = {}
    for base in node.bases:
        above = getattr(inspect.getmodule(shape), getattr(base, "id", ""), None)
        found |= said_of(above) if is_shape(above) else {}
    return found | _below(node.body)


def _module(shape: Any) -> tuple[dict[str, ast.ClassDef], dict[str, str]]:
    return _read(inspect.getmodule(shape))


@cache
def _read(module: Any) -> tuple[dict[str, ast.ClassDef], dict[str, str]]:
    """Parse a module: its classes, and the strings below its names."""
    tree = ast.parse(inspect.getsource(module))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return classes, _below(tree.body)


def _below(body: list[ast.stmt]) -> dict[str, str]:
    """Return the strings below annotated or assigned names."""
    found: dict[str, str] = {}
    for node, after in pairwise(body):
        match node, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found
