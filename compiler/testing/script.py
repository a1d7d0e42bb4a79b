"""Evaluate FutharkScript: expressions that call entry points, for tests and notebooks.

Calls, literals, tuples, records, arrays, fields `e.a`, elements `a[i]`, `let`, and the built-in
functions of `BUILTINS`. A function of `n` parameters applied to one `n`-tuple takes its components;
with fewer arguments it is a partial application. `f[1]` is a call where `f` is a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, InputError, UsageError
from compiler.base.prim import Prim
from compiler.base.spans import span_at
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.ir import values
from compiler.ir.values import Value
from compiler.testing import media
from compiler.testing.blocks import Data, Load, place_in
from compiler.testing.inputs import unpacked
from compiler.testing.script_values import (
    Literal,
    Made,
    RecordOf,
    Tuple,
    Waiting,
    array,
    element,
    fields,
    tuple_parts,
    typed,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Callee:
    """An entry point: the element types of each parameter's components, and a call.

    A parameter of a composite type, such as a record, is several values; a call gives the values of
    each result.
    """

    params: tuple[tuple[Prim, ...], ...]
    call: Callable[[list[Value]], list[list[Value]]]


@dataclass(frozen=True, slots=True)
class Uncallable:
    """A definition that scripts cannot call, and the reason."""

    why: str


Callees: TypeAlias = Mapping[str, Callee | Uncallable]
"""Definitions that scripts can name."""

_Env: TypeAlias = Mapping[str, Made]
_Exp: TypeAlias = Callable[[_Env], Made]
_TOKEN = re.compile(
    r"(?P<literal>(?:true|false)(?!\w)|empty\s*\([^)]*\)|-?f(?:16|32|64)\.(?:nan|inf)(?!\w)"
    r"|[+-]?[0-9][\w.]*(?:(?<=[eE])[+-]?[0-9]+\w*)?)"
    r'|(?P<text>"(?:[^"\\]|\\.)*")|(?P<name>\$?[A-Za-z_][\w\']*)|(?P<sign>[(){}\[\],=.])'
    r"|(?P<end>\Z)"
)
_RESERVED = ("in", "let")
_FIELD = re.compile(r"\s*([A-Za-z_][\w']*|[0-9]+)")
_NO_OPERATORS = "It has no operators and variants: define what has them in the program."
_CALL_IT = "Call it in a definition of the program, and that one here."
BUILTINS = ("$loaddata", "$loadbytes", "$loadimg", "$loadaudio", "$fst", "$snd")


def evaluate(script: Data, callees: Callees, load: Load, wanted: Callee) -> list[Value]:
    """Evaluate a script for the parameters of an entry point.

    Raises InputError and UsageError with the place in the program, and errors of calls.
    """
    return _arguments([value(script, callees, load)], wanted.params)


def value(script: Data, callees: Callees, load: Load) -> Made:
    """Evaluate a script. Raises as `evaluate` does."""
    return _Reader(script, callees, load).whole()({})


def applied(made: Made, args: Sequence[Made], callees: Callees) -> Made:
    """Apply a function of a script to more arguments. Raises UsageError, and its errors."""
    if not isinstance(made, Waiting):
        raise UsageError("This should be a function.")
    return _apply(made.name, (*made.args, *args), callees)


def _arguments(given: Sequence[Made], params: Sequence[Sequence[Prim]]) -> list[Value]:
    """Return the values of arguments; one tuple may stand for all of them."""
    if len(given) == 1 and isinstance(given[0], Tuple) and len(params) != 1:
        given = given[0].parts
    if len(given) != len(params):
        raise InputError(f"Wanted: {len(params)} arguments; given: {len(given)}.")
    found: list[Value] = []
    for number, (one, prims) in enumerate(zip(given, params, strict=True)):
        flat = typed(one, iter(prims))
        if len(flat) != len(prims):
            said = f"Argument {number + 1} should be {len(prims)} values and is {len(flat)}."
            raise InputError(said)
        found += flat
    return found


class _Reader:
    """Parses a script to a function that evaluates it."""

    def __init__(self, script: Data, callees: Callees, load: Load) -> None:
        self.script, self.callees, self.load = script, callees, load
        self.word, self.kind, self.start, self.at = "", "", 0, 0
        self.step()

    def step(self) -> str:
        """Advance to the next token; return the current one."""
        before, text = self.word, self.script.text
        self.start = len(text) - len(text[self.at :].lstrip())
        found = _TOKEN.match(text, self.start)
        if found is None:
            sign = text[self.start]
            own = "Its functions are those of the program." if sign == "\\" else _NO_OPERATORS
            if text.startswith("--", self.start):
                own = "It has no comments."
            raise self.wrong(f"`{sign}` begins nothing in a script. {own}")
        self.word, self.kind, self.at = found[0], str(found.lastgroup), found.end()
        return before

    def wrong(self, message: str) -> CompileError:
        """Make the error for an unexpected token."""
        return self.error(InputError(message), self.start)

    def error(self, error: CompileError, at: int) -> CompileError:
        """Place an error at an offset of the script."""
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
        """Parse the whole script."""
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
        if self.word == "[" and self.start == at + len(name):
            return self.projected(self.indexed(name, at))
        if self.word == ".":
            return self.projected(self.call(name, [], at))
        return self.call(name, self.arguments(), at)

    def arguments(self) -> list[_Exp]:
        args: list[_Exp] = []
        while self.begins_atom():
            args.append(self.atom())
        return args

    def indexed(self, name: str, at: int) -> _Exp:
        """Parse an element of an array, or a call where `name` is a function."""
        indices = self.several("]", self.exp)
        more = self.arguments()

        def row(env: _Env) -> Made:
            return self.placed(at, lambda: array([index(env) for index in indices]))

        called, held = self.call(name, [row, *more], at), self.call(name, [], at)

        def run(env: _Env) -> Made:
            callee = self.callees.get(name)
            if name not in env and not (isinstance(callee, Callee) and not callee.params):
                return called(env)
            if more:
                raise self.error(UsageError(f"`{name}` is no function."), at)
            chosen, whole = [index(env) for index in indices], held(env)
            return self.placed(at, lambda: element(whole, chosen))

        return run

    def placed(self, at: int, made: Callable[[], Made]) -> Made:
        """Call `made`, and give its errors an offset of the script."""
        try:
            return made()
        except CompileError as error:
            raise error if error.kind == "runtime" else self.error(error, at) from None

    def begins_atom(self) -> bool:
        if self.kind == "name":
            return self.word not in _RESERVED
        return self.kind in ("literal", "text") or self.word in ("(", "[", "{")

    def atom(self) -> _Exp:
        return self.projected(self.unit())

    def projected(self, whole: _Exp) -> _Exp:
        """Parse the projections `.a.b` behind an expression."""
        while self.word == ".":
            name = _FIELD.match(self.script.text, self.at)  # `0.1` are two of them, no number
            if name is None:
                self.step()
                raise self.wrong(f"Expected the name of a field, found {self.found()}.")
            whole = self.field_of(whole, name[1], name.start(1))
            self.at = name.end()
            self.step()
        return whole

    def field_of(self, whole: _Exp, name: str, at: int) -> _Exp:
        def run(env: _Env) -> Made:
            known = fields(whole(env)) or {}
            if name not in known:
                hint = f"It has {', '.join(f'`{one}`' for one in known)}." if known else ""
                raise self.error(UsageError(f"This has no field `{name}`.", hint=hint), at)
            return known[name]

        return run

    def unit(self) -> _Exp:
        """Parse an atom without projections."""
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
            return lambda env: self.placed(at, lambda: array([row(env) for row in rows]))
        if self.word == "{":
            return self.record()
        raise self.wrong(f"Expected an expression, found {self.found()}.")

    def several(self, end: str, one: Callable[[], T]) -> list[T]:
        """Parse a comma-separated list up to `end`."""
        self.step()
        found: list[T] = []
        while self.word != end:
            found.append(one())
            if self.word != end:
                self.expect(",")
        self.step()
        return found

    def record(self) -> _Exp:
        at = self.start
        parts = sorted(self.several("}", self.field), key=lambda pair: pair[0])
        names = tuple(name for name, _ in parts)
        if twice := [name for name, after in pairwise(names) if name == after]:
            raise self.error(UsageError(f"The field `{twice[0]}` is given twice."), at)
        return lambda env: RecordOf(names, tuple(made(env) for _, made in parts))

    def field(self) -> tuple[str, _Exp]:
        if self.kind != "name" and not self.word.isdigit():
            raise self.wrong(f"Expected the name of a field, found {self.found()}.")
        name = self.step()
        self.expect("=")
        return name, self.exp()

    def name(self) -> str:
        """Parse a name that `let` binds."""
        if self.kind != "name" or self.word[0] == "$" or self.word in _RESERVED:
            raise self.wrong(f"Expected a name, found {self.found()}.")
        return self.step()

    def let(self) -> _Exp:
        self.step()
        at = self.start
        names = self.several(")", self.name) if self.word == "(" else [self.name()]
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
                found = tuple_parts(made)
                if found is None or len(found) != len(names):
                    problem = f"This is no tuple of {len(names)} values."
                    raise self.error(UsageError(problem), at)
                parts = found
            return body({**env, **dict(zip(names, parts, strict=True))})

        return run

    def call(self, name: str, args: Sequence[_Exp], at: int) -> _Exp:
        def run(env: _Env) -> Made:
            given = [arg(env) for arg in args]
            if name in env:
                if given:
                    raise self.error(UsageError(f"`{name}` is no function."), at)
                return env[name]
            if name[0] == "$":
                return self.placed(at, lambda: self.builtin(name, given))
            return self.placed(at, lambda: _apply(name, given, self.callees))

        return run

    def builtin(self, name: str, given: Sequence[Made]) -> Made:
        if name not in BUILTINS:
            listed = f"{', '.join(BUILTINS[:-1])} and {BUILTINS[-1]}"
            raise UsageError(f"There is no `{name}` in scripts.", hint=f"There are {listed}.")
        if name in ("$fst", "$snd"):
            pair = tuple_parts(given[0]) if len(given) == 1 else None
            if pair is None or len(pair) != 2:
                raise UsageError(f"`{name}` takes a pair.")
            return pair[name == "$snd"]
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


def _apply(name: str, given: Sequence[Made], callees: Callees) -> Made:
    callee = callees.get(name)
    if callee is None:
        listed = ", ".join(f"`{one}`" for one in callees)
        known = f"Scripts can call {listed}." if listed else "There is nothing to call."
        hint = f"{did_you_mean(name, callees)} {known}".strip()
        raise UsageError(f"There is no entry point `{name}`.", hint=hint)
    if isinstance(callee, Uncallable):
        raise UsageError(f"A script cannot call `{name}`: {callee.why}.", hint=_CALL_IT)
    whole = given[0] if len(given) == 1 else None
    spread = isinstance(whole, Tuple) and len(whole.parts) == len(callee.params)
    if len(given) < len(callee.params) and not spread:
        return Waiting(name, tuple(given))
    results = callee.call(_arguments(given, callee.params))
    return results[0] if len(results) == 1 else Tuple(tuple(results))
