"""Put figures into words: lines under titles, Markdown tables, what is slower than it should be."""

from __future__ import annotations

import textwrap
from typing import Any


def where(data: dict[str, Any]) -> str:
    """The line under a title."""
    m = data["machine"]
    return (
        f"`{data['command']}` on {m['cores']} cores of {m['processor']}, Python {m['python']}, "
        f"commit {m['commit']}, {m['date']}."
    )


def rows(head: list[str], body: list[list[Any]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


NOISE = 0.03
"""A difference of less than this part is none."""


def slower(what: str, than: str, factors: dict[str, float]) -> str:
    """In words, which programs take longer with `what`, from time over time for each; or none."""
    found = {name: factor for name, factor in factors.items() if factor > 1 + NOISE}
    if not found:
        return f"No program is slower with {what} than {than}."
    worst = sorted(found.items(), key=lambda one: -one[1])
    times = ", ".join(f"`{name}` takes {factor:.2f} times as long" for name, factor in worst)
    return wrapped(f"**Slower with {what} than {than}:** {times}.")


def wrapped(text: str) -> str:
    """A paragraph in lines of 100 characters."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def over(data: dict[str, Any], time: str, base: str) -> dict[str, float]:
    """Time over time of the programs that have both."""
    return {name: r[time] / r[base] for name, r in data.items() if r.get(time) and r.get(base)}


def beyond(goal: str, shares: dict[str, float]) -> str:
    """In words, what misses its goal."""
    missed = [f"{name} ({share:.2f} of it)" for name, share in shares.items() if share > 1]
    if not missed:
        return f"All are within the {goal}."
    return wrapped(f"**Beyond the {goal}:** {', '.join(missed)}.")


def change(row: dict[str, Any], key: str) -> str:
    """A count before and after."""
    before, after = (f"{row[way][key]:g}" for way in ("without", "with"))
    return before if before == after else f"{before} → {after}"
