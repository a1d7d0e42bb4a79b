"""Read accesses of real codes that never meet (`codes.txt`), and change them.

Small values are enumerated, independently of the prover.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.algebra.decide import decide
from compiler.algebra.disjoint import Verdict
from compiler.algebra.no_overlap import no_overlap
from compiler.algebra.notation import Reader, facts_in_ways
from compiler.base.errors import UsageError
from testing import problems

FILE = Path(__file__).with_name("codes.txt")
POINTS = 300
"""Points that are counted out for one pair, or one that a pair was changed into."""
TWINS = 6
"""Changed pairs for each one."""


@dataclass(frozen=True)
class Code:
    """One pair."""

    name: str
    known: tuple[str, ...]
    a: str
    b: str

    @property
    def problem(self) -> dict[str, Any]:
        """In the notation of `docs/proving.md`."""
        return {"assumptions": {"other": list(self.known)}, "a": self.a, "b": self.b}


def codes() -> list[Code]:
    """All pairs of the file."""
    found: list[Code] = []
    for line in FILE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, known, a, b = [part.strip() for part in line.split(" | ")]
            relations = [one for chain in known.split(";") for one in _relations(chain.strip())]
            found.append(Code(name, tuple(relations), a, b))
    return found


def _relations(chain: str) -> Iterator[str]:
    """`0 <= i < n` as two relations."""
    left, *rest = re.split(r" (<=|>=|==|<|>) ", chain)
    for operator, right in zip(rest[::2], rest[1::2], strict=True):
        yield f"{left} {operator} {right}"
        left = right


def decided(code: Code) -> Verdict | None:
    """The verdict; None if a divisor's sign is not known."""
    try:
        return decide(code.a, code.b, code.problem["assumptions"]).verdict
    except UsageError:
        return None


def by_the_thesis(problem: Mapping[str, Any]) -> bool:
    """Return True if NOOVERLAP shows a pair disjoint, in any way of reading quotients.

    Raises UsageError if a divisor's sign is not known.
    """
    reader = Reader()
    first, second = reader.lmad(problem["a"]), reader.lmad(problem["b"])
    ways = facts_in_ways(reader, problem["assumptions"])
    return any(no_overlap(first, second, facts)[0] for facts in ways)


def shared(code: Code, rng: random.Random, points: int = POINTS) -> problems.Point | None:
    """Values, of those that are counted out, for which both hold a cell."""
    return problems.meeting(code.problem, draw=(rng, points))


def twins(code: Code, rng: random.Random, count: int = TWINS) -> Iterator[Code]:
    """The pair with one thing changed: many of these share a cell."""
    for _ in range(count):
        known, sides = list(code.known), [code.a, code.b]
        which = rng.randrange(2)
        match rng.randrange(4):
            case 0:
                sides[which] = _moved(sides[which], rng.choice([" + 1", " - 1", " + 2", " - 2"]))
            case 1 if known:
                known.remove(rng.choice(known))
            case 2:
                sides[which] = _widened(sides[which], rng)
            case _:
                sides[which] = _digit(sides[which], rng)
        yield Code(code.name, tuple(known), *sides)


def _moved(lmad: str, by: str) -> str:
    offset, brace, dims = lmad.partition("{")
    return f"{offset.strip().removesuffix('+').strip() or '0'}{by} + {brace or '{'}{dims or '}'}"


def _widened(lmad: str, rng: random.Random) -> str:
    """One size larger by one."""
    colons = [found.start() for found in re.finditer(" : ", lmad)]
    if not colons:
        return _moved(lmad, " + 1")
    at = rng.choice(colons)
    return lmad[:at] + " + 1" + lmad[at:]


def _digit(lmad: str, rng: random.Random) -> str:
    """One number changed by one."""
    found = list(re.finditer(r"(?<![\w%])\d+", lmad))
    if not found:
        return _moved(lmad, " - 1")
    at = rng.choice(found)
    new = max(1, int(at.group()) + rng.choice([-1, 1]))
    return lmad[: at.start()] + str(new) + lmad[at.end() :]
