"""Shrink the text of a program while it fails in the same way.

Lines go, many at once first; then, in what is left, an expression in parentheses gives way to one
inside of it or to a word. A program that is no longer accepted does not fail as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from testing.generators.storage import Generated

WORDS = ("0", "true", "xs", "#none", "#zero")
TRIES = 2000
"""The number of smaller expressions to try in all."""


def shrunk(made: Generated, fails: Callable[[Generated], bool]) -> Generated:
    """The program with one result, without the lines and expressions that it needs not to fail."""

    def still(lines: Sequence[str]) -> bool:
        return fails(replace(made, source="\n".join(lines) + "\n"))

    lines = _fewer_lines(made.source.splitlines(), still)
    lines = _fewer_lines(_simpler_lines(lines, still), still)
    return replace(made, source="\n".join(lines) + "\n")


def _fewer_lines(lines: list[str], still: Callable[[Sequence[str]], bool]) -> list[str]:
    """One of the results, and as few lines as will do."""
    for name in re.findall(r"\w+", lines[-1])[1:]:
        fewer = [*lines[:-1], f"  in {name}"]
        if fewer != lines and still(fewer):
            lines = fewer
            break
    for size in (16, 8, 5, 4, 3, 2, 1):
        at = 0
        while at + size < len(lines):
            fewer = lines[:at] + lines[at + size :]
            if still(fewer):
                lines = fewer
            else:
                at += 1
    return lines


def _simpler_lines(lines: list[str], still: Callable[[Sequence[str]], bool]) -> list[str]:
    """The same lines with smaller expressions in them."""
    tries = TRIES
    for at in range(len(lines)):
        tried: set[str] = set()
        while tries > 0:
            for text in smaller(lines[at]):
                if text in tried or tries <= 0:
                    continue
                tried.add(text)
                tries -= 1
                if still([*lines[:at], text, *lines[at + 1 :]]):
                    lines = [*lines[:at], text, *lines[at + 1 :]]
                    break
            else:
                break
    return lines


def smaller(line: str) -> Iterator[str]:
    """A line with one expression in parentheses replaced by a smaller one, the largest first."""
    found = sorted(groups(line), key=lambda group: group[0] - group[1])
    for start, end in found:
        inside = [g for g in found if start < g[0] and g[1] < end]
        for first, last in inside:
            yield line[:start] + line[first:last] + line[end:]
        for word in WORDS:
            if len(word) < end - start:
                yield line[:start] + word + line[end:]


def groups(line: str) -> list[tuple[int, int]]:
    """Where parentheses open, and behind where they close."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for at, character in enumerate(line):
        if character == "(":
            opened.append(at)
        elif character == ")" and opened:
            found.append((opened.pop(), at + 1))
    return found
