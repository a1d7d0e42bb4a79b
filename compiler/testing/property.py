"""Property tests: search inputs on which an entry point gives false instead of true.

`#[prop(gen(f), shrink(g), size(n))]`: candidates are made by `f size seed`, or at random; a
counterexample is shrunk by `g candidate number`, as long as it stays one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.errors import UsageError
from compiler.frontend.types import PrimT
from compiler.ir import random_values
from compiler.ir.values import Value
from compiler.lower.external_values import Outside, possible

CANDIDATES = 100
"""Inputs tried."""
SHRINKS = 100
"""Attempts to shrink a counterexample."""
_SIZE = 20
_PART = re.compile(r"(\w+)\s*\(\s*([\w']+)\s*\)")

Call = Callable[[str, list[Value | int]], list[Value]]
"""Calls an entry point; an `int` among the arguments takes the type of its parameter."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property to test: its entry point, generator, shrinker, and the size of candidates."""

    entry: str
    gen: str = ""
    shrink: str = ""
    size: int = _SIZE

    @classmethod
    def of(cls, entry: str, attrs: Sequence[str]) -> Property:
        """Parse the attribute `#[prop]`. Raises UsageError for a malformed one."""
        given = next((text for text in attrs if re.match(r"prop\b", text.strip())), None)
        if given is None:
            raise UsageError(
                f"`{entry}` is no property.", hint=f"Write `#[prop]` before `entry {entry}`."
            )
        parts = dict(_PART.findall(given.strip().removeprefix("prop").strip()[1:]))
        if unknown := set(parts) - {"gen", "shrink", "size"}:
            raise UsageError(
                f"`#[prop]` knows no `{min(unknown)}`.",
                hint="It takes `gen(f)`, `shrink(f)` and `size(n)`.",
            )
        size = parts.get("size", str(_SIZE))
        if not size.isdigit():
            raise UsageError(f"The size of a property is a number, not `{size}`.")
        return cls(entry, parts.get("gen", ""), parts.get("shrink", ""), int(size))


def counterexample(how: Property, of: Outside, call: Call) -> list[Value] | None:
    """Return the smallest counterexample found, or None.

    Errors: `UsageError` for a property that does not return bool.
    """
    if of.results != (PrimT("bool"),):
        raise UsageError(f"`{how.entry}` gives no bool: a property is true or false.")
    for seed in range(CANDIDATES):
        made = candidate(how, of, call, seed)
        if not call(how.entry, [*made])[0]:
            return shrunk(how, made, call)
    return None


def candidate(how: Property, of: Outside, call: Call, seed: int) -> list[Value]:
    """Make an input; the first ones are small, but not all generators can make empty ones."""
    size = min(how.size, seed // 2)
    if how.gen:
        return call(how.gen, [size or min(how.size, 1), seed])
    rng = np.random.default_rng(seed)
    names = random_values.inputs(of.fun, {}, seed).sizes
    sizes = {name: int(rng.integers(0, size + 1)) for name in names}
    return possible(of.params, random_values.inputs(of.fun, sizes, seed).values)


def shrunk(how: Property, made: list[Value], call: Call) -> list[Value]:
    """Shrink a counterexample by the program's shrinker."""
    if how.shrink:
        for number in range(SHRINKS):
            smaller = call(how.shrink, [*made, number])
            if not call(how.entry, [*smaller])[0]:
                made = smaller
    return made
