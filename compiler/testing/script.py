"""FutharkScript: expressions that call entry points, for inputs of tests and for notebooks.

Calls, literals, tuples, records, arrays, `let`, and the built-in functions of `BUILTINS`. A
function of `n` parameters that is given one `n`-tuple takes its components; given fewer arguments
it waits for the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from compiler.base.errors import CompileError, InputError, UsageError
from compiler.base.prim import Prim
from compiler.base.spans import span_at
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.types import Array, PrimT, Record, SizeConst, Type, array_of, tuple_type
from compiler.ir import values
from compiler.ir.values import Value
from compiler.lower.outside import type_texts
from compiler.testing import media
from compiler.testing.blocks import Data, Load, place_in
from compiler.testing.inputs import unpacked

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Callee:
    """An entry point: the element types of the values of each parameter, and a call.

    A parameter of a type with several parts, such as a record, is several values; a call gives the
    values of each result.
    """

    params: tuple[tuple[Prim, ...], ...]
    call: Callable[[list[Value]], list[list[Value]]]


@dataclass(frozen=True, slots=True)
class Literal:
    """As it was written: numbers without a type take that of the parameter."""

    text: str


@dataclass(frozen=True, slots=True)
class Tuple:
    """Several values."""

    parts: tuple[Made, ...]


@dataclass(frozen=True, slots=True)
class RecordOf:
    """A record, whose fields are in the order of their names."""

    names: tuple[str, ...]
    parts: tuple[Made, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry point that has not got all of its arguments."""

    name: str
    args: tuple[Made, ...]


class Whole(list[Value]):
    """The components of a value of a type that is no array of numbers, such as a sum."""

    def __init__(self, kind: Type, flat: Iterable[Value]) -> None:
        super().__init__(flat)
        self.kind = kind


Made: TypeAlias = "Literal | Tuple | RecordOf | Waiting | list[Value]"
"""What an expression gives: a list has the values of the components of one result."""
_Env: TypeAlias = Mapping[str, Made]
_Exp: TypeAlias = Callable[[_Env], Made]
_TOKEN = re.compile(
    r"(?P<literal>(?:true|false)(?!\w)|empty\s*\([^)]*\)|-?f(?:16|32|64)\.(?:nan|inf)(?!\w)"
    r"|-?[0-9][\w.]*(?:(?<=[eE])[+-]?[0-9]+\w*)?)"
    r'|(?P<text>"(?:[^"\\]|\\.)*")|(?P<name>\$?[A-Za-z_][\w\'.]*)|(?P<sign>[(){}\[\],=])'
    r"|(?P<end>\Z)"
)
BUILTINS = ("$loaddata", "$loadbytes", "$loadimg", "$loadaudio", "$fst", "$snd")


def evaluate(
    script: Data, callees: Mapping[str, Callee], load: Load, wanted: Callee
) -> list[Value]:
    """The values that a script gives for the parameters of an entry point.

    Raises InputError and UsageError with the place in the program, and what a call raises.
    """
    return _arguments([value(script, callees, load)], wanted.params)


def value(script: Data, callees: Mapping[str, Callee], load: Load) -> Made:
    """What a script gives. Raises as `evaluate` does."""
    return _Reader(script, callees, load).whole()({})


def applied(made: Made, args: Sequence[Made], callees: Mapping[str, Callee]) -> Made:
    """What a function of a script gives for more arguments. Raises UsageError, and what it does."""
    if not isinstance(made, Waiting):
        raise UsageError("This should be a function.")
    return _apply(made.name, (*made.args, *args), callees)


def flat(made: Made) -> list[Value]:
    """All values of something; numbers without a type take the usual one."""
    return _flat(made, iter(()))


def _of_shape(value: Value) -> Type:
    elem = PrimT(values.prim_of(value))
    return Array(tuple(map(SizeConst, value.shape)), elem) if value.shape else elem


def kind_of(made: Made) -> Type:
    """The type of something; its sizes are those of its components."""
    match made:
        case Whole():
            return made.kind
        case Tuple(parts):
            return tuple_type(tuple(map(kind_of, parts)))
        case RecordOf(names, parts):
            return Record(tuple(zip(names, map(kind_of, parts), strict=True)))
    kinds = [_of_shape(one) for one in flat(made)]
    return kinds[0] if len(kinds) == 1 else tuple_type(tuple(kinds))


def _arguments(given: Sequence[Made], params: Sequence[Sequence[Prim]]) -> list[Value]:
    """The values of arguments; one tuple may stand for all of them."""
    if len(given) == 1 and isinstance(given[0], Tuple) and len(params) != 1:
        given = given[0].parts
    if len(given) != len(params):
        raise InputError(f"Wanted: {len(params)} arguments; given: {len(given)}.")
    found: list[Value] = []
    for number, (one, prims) in enumerate(zip(given, params, strict=True)):
        flat = _flat(one, iter(prims))
        if len(flat) != len(prims):
            said = f"Argument {number + 1} should be {len(prims)} values and is {len(flat)}."
            raise InputError(said)
        found += flat
    return found


def _flat(made: Made, prims: Iterator[Prim]) -> list[Value]:
    """All values of something; each takes one of the types."""
    match made:
        case Literal(text):
            prim = next(prims, None)
            return values.parse(text, [prim] if prim else [])
        case Waiting(name):
            raise InputError(f"`{name}` lacks arguments: it is a function.")
        case Tuple(parts) | RecordOf(_, parts):
            return [value for part in parts for value in _flat(part, prims)]
    for _ in made:
        next(prims, None)
    return list(made)


class _Reader:
    """Reads a script; what it gives evaluates it."""

    def __init__(self, script: Data, callees: Mapping[str, Callee], load: Load) -> None:
        self.script, self.callees, self.load = script, callees, load
        self.word, self.kind, self.start, self.at = "", "", 0, 0
        self.step()

    def step(self) -> str:
        """Go to the next token; the one that was here."""
        before, text = self.word, self.script.text
        self.start = len(text) - len(text[self.at :].lstrip())
        found = _TOKEN.match(text, self.start)
        if found is None:
            own = " Its functions are those of the program." * (text[self.start] == "\\")
            raise self.wrong(f"`{text[self.start]}` begins nothing in a script.{own}")
        self.word, self.kind, self.at = found[0], str(found.lastgroup), found.end()
        return before

    def wrong(self, message: str) -> CompileError:
        """What is said of something that cannot stand here."""
        return self.error(InputError(message), self.start)

    def error(self, error: CompileError, at: int) -> CompileError:
        """An error at an offset of the script."""
        if self.script.form == "script":
            error.span = place_in(self.script, span_at(self.script.text, at))
        return error

    def expect(self, word: str) -> None:
        if self.word != word:
            raise self.wrong(f"Expected `{word}`, found {self.found()}.")
        self.step()

    def found(self) -> str:
        return f"`{self.word}`" if self.word else "the end of the script"

    def whole(self) -> _Exp:
        """The expression that a script is."""
        made = self.exp()
        if self.kind != "end":
            raise self.wrong(f"Expected the end of the script, found {self.found()}.")
        return made

    def exp(self) -> _Exp:
        if self.word == "let":
            return self.let()
        if self.kind != "name":
            return self.atom()
        at, name = self.start, self.step()
        args: list[_Exp] = []
        while self.begins_atom():
            args.append(self.atom())
        return self.call(name, args, at)

    def begins_atom(self) -> bool:
        if self.kind == "name":
            return self.word not in ("in", "let")
        return self.kind in ("literal", "text") or self.word in ("(", "[", "{")

    def atom(self) -> _Exp:
        if self.kind in ("literal", "text"):
            literal = Literal(self.step())
            return lambda _: literal
        if self.kind == "name":
            at, name = self.start, self.step()
            return self.call(name, [], at)
        if self.word == "(":
            parts = self.several(")", self.exp)
            if len(parts) == 1:
                return parts[0]
            return lambda env: Tuple(tuple(part(env) for part in parts))
        if self.word == "[":
            at = self.start
            rows = self.several("]", self.exp)
            return lambda env: self.array([row(env) for row in rows], at)
        if self.word == "{":
            fields = sorted(self.several("}", self.field), key=lambda pair: pair[0])
            names = tuple(name for name, _ in fields)
            return lambda env: RecordOf(names, tuple(made(env) for _, made in fields))
        raise self.wrong(f"Expected an expression, found {self.found()}.")

    def several(self, end: str, one: Callable[[], T]) -> list[T]:
        """What stands between brackets, with commas between."""
        self.step()
        found: list[T] = []
        while self.word != end:
            found.append(one())
            if self.word != end:
                self.expect(",")
        self.step()
        return found

    def field(self) -> tuple[str, _Exp]:
        if self.kind != "name" and not self.word.isdigit():
            raise self.wrong(f"Expected the name of a field, found {self.found()}.")
        name = self.step()
        self.expect("=")
        return name, self.exp()

    def let(self) -> _Exp:
        self.step()
        at = self.start
        names = self.several(")", self.step) if self.word == "(" else [self.step()]
        single = len(names) == 1
        self.expect("=")
        bound = self.exp()
        if self.word != "let":  # as in the language, `in` may be left out before another `let`
            self.expect("in")
        body = self.exp()

        def run(env: _Env) -> Made:
            made = bound(env)
            parts: tuple[Made, ...] = (made,)
            if not single:
                if not isinstance(made, Tuple) or len(made.parts) != len(names):
                    problem = f"This is no tuple of {len(names)} values."
                    raise self.error(UsageError(problem), at)
                parts = made.parts
            return body({**env, **dict(zip(names, parts, strict=True))})

        return run

    def array(self, rows: Sequence[Made], at: int) -> Made:
        if all(isinstance(row, Literal) for row in rows):
            return Literal(f"[{', '.join(row.text for row in rows if isinstance(row, Literal))}]")
        found = [(kind_of(row), flat(row)) for row in rows]
        if len({type_texts([kind], own)[0] for kind, own in found}) > 1:
            said = "The elements of an array are values of one type and shape."
            raise self.error(UsageError(said), at)
        stacked = [np.array(column) for column in zip(*(own for _, own in found), strict=True)]
        return Whole(array_of(SizeConst(len(rows)), found[0][0]), stacked)

    def call(self, name: str, args: Sequence[_Exp], at: int) -> _Exp:
        def run(env: _Env) -> Made:
            given = [arg(env) for arg in args]
            if not given and name in env:
                return env[name]
            try:
                if name[0] == "$":
                    return self.builtin(name, given)
                return _apply(name, given, self.callees)
            except CompileError as error:
                raise error if error.kind == "runtime" else self.error(error, at) from None

        return run

    def builtin(self, name: str, given: Sequence[Made]) -> Made:
        if name not in BUILTINS:
            listed = f"{', '.join(BUILTINS[:-1])} and {BUILTINS[-1]}"
            raise UsageError(f"There is no `{name}` in scripts.", hint=f"There are {listed}.")
        if name in ("$fst", "$snd"):
            if len(given) != 1 or not isinstance(given[0], Tuple) or len(given[0].parts) != 2:
                raise UsageError(f"`{name}` takes a pair.")
            return given[0].parts[name == "$snd"]
        if len(given) != 1 or not isinstance(given[0], Literal) or given[0].text[:1] != '"':
            raise UsageError(f'`{name}` takes the name of a file: `{name} "data/input.in"`.')
        path = values.parse(given[0].text)[0].tobytes().decode()
        data = self.load(path)
        match name:
            case "$loadbytes":
                return [np.frombuffer(data, np.uint8).copy()]
            case "$loadimg":
                return [media.pixels(data)]
            case "$loadaudio":
                return [media.samples(data)]
        found = values.from_bytes(unpacked(data))
        return [found[0]] if len(found) == 1 else Tuple(tuple([one] for one in found))


def _apply(name: str, given: Sequence[Made], callees: Mapping[str, Callee]) -> Made:
    callee = callees.get(name)
    if callee is None:
        listed = ", ".join(f"`{one}`" for one in callees)
        hint = f"{did_you_mean(name, callees)} A script calls entry points: {listed}."
        raise UsageError(f"There is no entry point `{name}`.", hint=hint.strip())
    spread = len(given) == 1 and isinstance(given[0], Tuple)
    if len(given) < len(callee.params) and not spread:
        return Waiting(name, tuple(given))
    results = callee.call(_arguments(given, callee.params))
    return results[0] if len(results) == 1 else Tuple(tuple(results))
