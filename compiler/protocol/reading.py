"""Check JSON requests against their declarations.

An error names the field. Null counts as left out. Whether a stage, an entry point or a switch
exists is checked by the code that answers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, cast, get_args, get_origin

from compiler.base.errors import UsageError
from compiler.protocol.fields import Field, fields, is_shape, marks
from compiler.protocol.kinds import LEAST, MOST, AtLeast, Json, Operation, Options, Own, Says

_WORDS = {
    str: "is a string",
    bool: "is true or false",
    int: "is a whole number of at most 64 bits",
    float: "is a number",
}


def read_json(text: str) -> Any:
    """Parse JSON whose numbers are finite. Raises UsageError."""
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_float)
    except RecursionError:
        raise UsageError("it nests too deeply.") from None
    except ValueError as error:
        raise UsageError(f"{error}.") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name[:40]} is no number here")


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


class WrongRequest(UsageError):
    """A request that its operation does not take."""


def is_whole(value: Any) -> bool:
    """Return True for a whole number that fits an integer type of the language."""
    return isinstance(value, int) and not isinstance(value, bool) and LEAST <= value <= MOST


def checked(operation: Operation[Any], given: Mapping[str, Any], own: bool) -> Json:
    """Return the fields of a request that are not null, beside `op` and `id`.

    Raises WrongRequest. Raises WrongRequest.

    `own`: allow those that only the owner of a worker sets.
    """
    rest = {name: value for name, value in given.items() if name not in ("op", "id")}
    known = [one for one in fields(operation.request).values() if own or not one.has(Own)]
    return _checked(known, rest, f"`{operation.id}` takes no field")


def check_options(given: Mapping[str, Any]) -> Options:
    """Return the options that are not null. Raises WrongRequest."""
    return cast(Options, _checked(fields(Options).values(), given, "There is no option"))


def _checked(known: Iterable[Field], given: Mapping[str, Any], unknown: str) -> Json:
    by_name = {one.name: one for one in known}
    for name in given:
        if name not in by_name:
            listed = ", ".join(f"`{one}`" for one in by_name) or "none"
            raise WrongRequest(f"{unknown} `{name}`.", hint=f"There are {listed}.")
    found: Json = {}
    for one in by_name.values():
        value = given.get(one.name)
        if value is not None:
            found[one.name] = check_options(value) if _is_options(one, value) else value
            if not fits(one.type, value):
                raise WrongRequest(f"`{one.name}` {words(one.type)}.")
        elif one.required:
            raise WrongRequest(f"The request lacks `{one.name}`.")
    return found


def _is_options(one: Field, value: Any) -> bool:
    return one.type is Options and isinstance(value, dict)


def words(kind: Any) -> str:
    """Describe the values of a type, as the end of a sentence."""
    for mark in marks(kind):
        if isinstance(mark, Says):
            return mark.words
    if is_shape(kind):
        return "is an object"
    if get_origin(kind) is Literal:
        *first, last = (f"`{one}`" for one in get_args(kind))
        return f"is {', '.join(first)} or {last}"
    return _WORDS[_plain(kind)]


def _plain(kind: Any) -> Any:
    """Strip marks and null from a type."""
    if get_origin(kind) in (Union, UnionType):
        return next(_plain(part) for part in get_args(kind) if part is not type(None))
    return _plain(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def fits(kind: Any, value: Any) -> bool:
    """Return True if a JSON value has a type."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        least = [mark.least for mark in parts[1:] if isinstance(mark, AtLeast)]
        return fits(parts[0], value) and all(value is None or value >= one for one in least)
    if origin in (Union, UnionType):
        return any(fits(part, value) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin is list:
        return isinstance(value, list) and all(fits(parts[0], one) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(parts[1], one) for one in value.values())
    if kind is Any:
        return True
    if kind is int:
        return is_whole(value)
    if kind is float:
        return not isinstance(value, bool) and isinstance(value, int | float)
    return isinstance(value, dict if is_shape(kind) else kind)
