"""Decide problems in the notation of `docs/proving.md` by enumeration; Python parses the text.

Nothing here is shared with the prover: `//` and `%` of the text are Python's, which round down.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

Point = dict[str, int]
VALUES = (*range(-1, 9), 11, 12, 15, 16, 17, 24, 31, 32, 63)
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """Text that was compiled: relations between names, and two LMADs."""

    names: tuple[str, ...]
    defined: tuple[tuple[str, Any], ...]
    """Names that equalities define, each by what was defined before it or is free."""
    relations: tuple[tuple[frozenset[str], Any], ...]
    sides: tuple[tuple[Any, tuple[tuple[Any, Any], ...]], ...]

    def points(self, values: Sequence[int] | Mapping[str, Sequence[int]]) -> Iterator[Point]:
        """All points that meet the assumptions, of these values for each free name."""
        of = values if isinstance(values, Mapping) else dict.fromkeys(self.names, values)
        yield from self._points({}, 0, of)

    def _points(
        self, point: Point, at: int, values: Mapping[str, Sequence[int]]
    ) -> Iterator[Point]:
        if at == len(self.names):
            full = dict(point)
            for name, value in self.defined:
                full[name] = _value(value, full)
            if all(_holds(relation, full) for names, relation in self.relations):
                yield full
            return
        name = self.names[at]
        known = {*self.names[: at + 1]}
        ready = [r for names, r in self.relations if name in names and names <= known]
        for value in values[name]:
            point[name] = value
            if all(_holds(relation, point) for relation in ready):
                yield from self._points(point, at + 1, values)
        del point[name]

    def drawn(self, values: Sequence[int], rng: random.Random, tries: int) -> Iterator[Point]:
        """Points that meet the assumptions, each from values in an order of its own."""
        for _ in range(tries):
            of = {}
            for name in self.names:
                few = rng.choice((4, 12))
                of[name] = [*rng.sample(values[: len(values) // 2], 3), *rng.sample(values, few)]
            yield from islice(self._points({}, 0, of), 1)

    def shared(self, point: Point) -> set[int]:
        """The cells that both hold; none where a divisor is 0."""
        try:
            first, second = (cells(side, point) for side in self.sides)
        except ZeroDivisionError:
            return set()
        return first & second


def read(problem: Json) -> Problem:
    """A problem whose assumptions and LMADs are text."""
    given = problem.get("assumptions") or {}
    relations = [f"({text}) >= 0" for text in given.get("nonnegative", ())]
    relations += [f"{n} < ({text})" for n, text in given.get("upper_bounds_exclusive", {}).items()]
    relations += [f"{n} > ({text})" for n, text in given.get("lower_bounds_exclusive", {}).items()]
    relations += given.get("other", ())
    equal = [text.split("=", 1) for text in given.get("equalities", ())]
    equal += [text.split("==") for text in relations if _is_definition(text)]
    relations = [text for text in relations if not _is_definition(text)]
    defined = tuple((name.strip(), _code(value)) for name, value in equal)
    sides = [_side(problem[key]) for key in "ab"]
    texts = [*relations, *(value for _, value in equal)]
    texts += [text for key in "ab" for text in _texts(problem[key])]
    own = {name for name, _ in defined}
    names = sorted({name for text in texts for name in _names(text)} - own)
    return Problem(
        tuple(names),
        defined,
        tuple([(_names(text), _code(text)) for text in relations]),
        tuple(sides),
    )


def meeting(
    problem: Json, values: Sequence[int] = (), draw: tuple[random.Random, int] | None = None
) -> Point | None:
    """A point at which the two share a cell; None if there is none.

    All are looked at, or so many that are drawn.
    """
    found = read(problem)
    points = found.points(values) if draw is None else found.drawn(VALUES, *draw)
    return next((point for point in points if found.shared(point)), None)


def cells(side: tuple[Any, tuple[tuple[Any, Any], ...]], point: Point) -> set[int]:
    """The cells of one LMAD."""
    offset, dims = side
    steps = [
        [_value(stride, point) * z for z in range(max(0, _value(size, point)))]
        for size, stride in dims
    ]
    return {_value(offset, point) + sum(parts) for parts in product(*steps)}


def _side(lmad: Any) -> tuple[Any, tuple[tuple[Any, Any], ...]]:
    offset, dims = _parts(lmad)
    return _code(offset), tuple([(_code(size), _code(stride)) for size, stride in dims])


def _texts(lmad: Any) -> list[str]:
    offset, dims = _parts(lmad)
    return [offset, *(text for dim in dims for text in dim)]


def _parts(lmad: Any) -> tuple[str, list[tuple[str, str]]]:
    if not isinstance(lmad, str):
        return str(lmad["offset"]), [(str(n), str(s)) for n, s in lmad["dims"]]
    offset, _, inside = lmad.partition("{")
    offset = offset.strip().removesuffix("+").strip()
    dims: list[tuple[str, str]] = []
    depth, start = 0, 0
    for at, character in enumerate(inside):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "(" and depth == 1:
            start = at + 1
        if character == ")" and depth == 0:
            size, _, stride = inside[start:at].partition(":")
            dims.append((size.strip(), stride.strip()))
    return offset or "0", dims


def _is_definition(text: str) -> bool:
    left, found, _ = text.partition("==")
    return bool(found) and left.strip().isidentifier()


def _names(text: str) -> frozenset[str]:
    tree = ast.parse(text.strip(), mode="eval")
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _code(text: str) -> Any:
    return compile(text.strip(), "problem", "eval")


def _value(code: Any, point: Point) -> int:
    found = eval(code, {"__builtins__": {}}, point)
    assert isinstance(found, int)
    return found


def _holds(code: Any, point: Point) -> bool:
    try:
        return bool(eval(code, {"__builtins__": {}}, point))
    except ZeroDivisionError:
        return False
