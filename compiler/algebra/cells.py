"""Enumerate the cells of LMADs for pictures, for chosen values of the names.

A proof holds for all values; a picture shows some. Missing values are proposed so that they satisfy
the assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from compiler.algebra.as_data import plain
from compiler.algebra.facts import Facts, Point
from compiler.algebra.lmad import Lmad, unrank
from compiler.algebra.notation import COMPUTED, Reader, checked, collect_statements
from compiler.algebra.poly import Poly
from compiler.base.errors import UsageError
from compiler.base.names import Name
from compiler.protocol.kinds import Json

LIMIT = 4096
"""Maximum number of points of each LMAD in one answer."""
MOST_LMADS = 8
_GOOD = 60
"""Number of cells in a readable picture."""


def cells(
    assumptions: object,
    lmads: Sequence[object],
    values: Mapping[Name, int],
    limit: int = LIMIT,
) -> Json:
    """Return the points and cells of each LMAD (notation: `docs/proving.md`), and shared cells.

    Answers symbols (names that need values), values (given or proposed), broken (violated
    assumptions), lmads (offset, dims as numbers, points: index and cell, complete), shared (cells
    that the first two have in common). Raises UsageError.
    """
    if len(lmads) > MOST_LMADS:
        raise UsageError(f"At most {MOST_LMADS} LMADs make a picture.")
    reader = Reader(opaque=True)
    read = [reader.lmad(lmad) for lmad in lmads]
    said = collect_statements(reader, _readable(assumptions))
    facts = said.facts()
    own = frozenset(reader.quotients.values()) | facts.equalities.keys() | reader.computed.keys()
    symbols = sorted(reader.names - own)
    normal = [_normal(lmad, facts) for lmad in read]
    chosen = {name: values[name] for name in symbols if name in values}
    point = _proposed(reader, normal, facts, said.guide(), symbols, chosen)
    env = _complete(reader, facts, point)
    drawn = [_points(lmad.evaluate(env), limit) for lmad in normal]
    sets = [{at["cell"] for at in one["points"]} for one in drawn]
    shared = sorted(sets[0] & sets[1]) if len(sets) > 1 else []
    broken = [plain(b, reader.factor) for b in facts.bounds if b.evaluate(env) < 0]
    return {
        "symbols": symbols,
        "values": {name: point[name] for name in symbols},
        "broken": broken,
        "lmads": drawn,
        "shared": shared,
    }


def _readable(assumptions: object) -> Mapping[str, Any]:
    """Drop relations between compiler names that have no notation here."""
    given = checked(assumptions)
    other: list[str] = []
    for text in given["other"]:
        try:
            collect_statements(Reader(opaque=True), {"other": [text]})
        except UsageError:
            continue
        other.append(text)
    return {**given, "other": other}


def _normal(lmad: Lmad[Poly], facts: Facts) -> Lmad[Poly]:
    return lmad.subst(facts.equalities) if facts.equalities else lmad


def _complete(reader: Reader, facts: Facts, point: Point) -> Point:
    """Extend a point with values of quotients, extremes, and names defined by equalities."""
    env = dict(point)
    for name, (op, sides) in reader.computed.items():
        known = [side.subst(facts.equalities) for side in sides]
        if not all(side.names() <= env.keys() for side in known):
            raise UsageError(f"The equalities define what `{name}` is of by that.")
        env[name] = COMPUTED[op](*[side.evaluate(env) for side in known])
    for (dividend, divisor), name in reader.quotients.items():
        normal = dividend.subst(facts.equalities), divisor.subst(facts.equalities)
        if not (normal[0].names() | normal[1].names()) <= env.keys():
            raise UsageError(f"The equalities define what `{name}` divides by that quotient.")
        above, below = (poly.evaluate(env) for poly in normal)
        if below == 0:
            raise UsageError("These values divide by zero.", hint="Choose another divisor.")
        env[name] = above // below
    return facts.complete(env)


def _proposed(
    reader: Reader,
    lmads: Sequence[Lmad[Poly]],
    facts: Facts,
    guide: Facts,
    symbols: Sequence[Name],
    chosen: Point,
) -> Point:
    """Extend the chosen values to a point that satisfies the assumptions and gives a clear picture.

    Falls back to arbitrary values. The points of `guide` are tried.
    """
    best: tuple[int, Point] = (-1, {})
    for found in _candidates(guide, chosen):
        point = {**{name: found.get(name, 1) for name in symbols}, **chosen}
        try:
            env = _complete(reader, facts, point)
        except UsageError:
            continue
        if any(bound.evaluate(env) < 0 for bound in facts.bounds):
            continue
        score = _picture_score([lmad.evaluate(env) for lmad in lmads])
        if score > best[0]:
            best = score, point
    some = guide.points[0] if guide.points else {}
    return best[1] or {**{name: some.get(name, 1) for name in symbols}, **chosen}


def _candidates(facts: Facts, chosen: Point) -> Iterator[Point]:
    """Yield points that satisfy the assumptions as far as these constrain quotients."""
    yield from facts.points
    if chosen:
        numbers = {name: Poly.const(value) for name, value in chosen.items()}
        yield from Facts.of([bound.subst(numbers) for bound in facts.bounds]).points


def _picture_score(lmads: Sequence[Lmad[int]]) -> int:
    """Score a picture: higher for non-empty sets that are neither tiny nor huge."""
    score = 0
    for lmad in lmads:
        count = 1
        for size in lmad.shape:
            count *= max(size, 0)
        far = sum(abs(s) * (n - 1) for n, s in zip(lmad.shape, lmad.strides, strict=True) if n > 0)
        score += 1000 if count else 0
        score -= 10 * abs(count - _GOOD) // _GOOD + min(max(0, far - 800), 900)
        score -= 30 * sum(size == 1 for size in lmad.shape)
    return max(score, 0)


def _points(lmad: Lmad[int], limit: int) -> Json:
    total = 1
    for size in lmad.shape:
        total *= max(size, 0)
    shown = [
        {"index": list(at), "cell": lmad.index(*at)} for at in islice(_indices(lmad.shape), limit)
    ]
    return {
        "offset": lmad.offset,
        "dims": [[dim.size, dim.stride] for dim in lmad.dims],
        "points": shown,
        "count": total,
        "complete": len(shown) == total,
    }


def _indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Iterate over all index tuples; none if a size is not positive."""
    if any(size <= 0 for size in shape):
        return iter(())
    if all(size <= LIMIT for size in shape):
        return product(*map(range, shape))
    return (unrank(shape, flat, divmod) for flat in range(LIMIT))
