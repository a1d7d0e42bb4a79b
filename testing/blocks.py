"""The `-- ==` blocks that Futhark programs carry: entries, inputs, expected outputs or errors.

`-- input { .. } output { .. }` gives values; `error: REGEX` in place of the output a failure;
`-- random input { [100]i32 }` values from a seed; `-- auto output` that the reference tells. A
block that begins with `-- error: REGEX` says that the program must not compile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from compiler.base.prim import DTYPE, Prim, int_range
from compiler.ir import entry, values
from compiler.ir.nodes import Array, Function, Scalar

_TOKEN = re.compile(r"\s*([{}]|[^\s{}]+)")


@dataclass(slots=True)
class Case:
    """One data set of one entry point: `input` is text, or values where they are random."""

    entry: str
    input: str | list[values.Value]
    output: str | None = None
    error: str | None = None

    def arguments(self, fun: Function) -> list[values.Value]:
        """The input as values for that entry point, whose types unmarked numbers take."""
        if isinstance(self.input, str):
            return values.parse(self.input, entry.prims(fun))
        return self.input

    def expected(self, fun: Function) -> list[values.Value] | None:
        """The output as values, or None where the block does not say."""
        if self.output is None:
            return None
        prims = [r.type.prim for r in entry.returned(fun) if isinstance(r.type, Scalar | Array)]
        return values.parse(self.output, prims)


@dataclass(slots=True)
class Spec:
    """What a program's blocks say; `error` when it must be refused by the compiler."""

    cases: list[Case] = field(default_factory=list)
    error: str | None = None


def read(path: Path) -> Spec:
    """All blocks of a program."""
    spec = Spec()
    for block in _blocks(path.read_text("utf-8")):
        _read_block(block, path, spec)
    return spec


def _blocks(source: str) -> list[str]:
    blocks: list[list[str]] = []
    inside = False
    for line in source.splitlines():
        if line.startswith("-- =="):
            blocks.append([])
            inside = True
        elif inside and line.startswith("--"):
            blocks[-1].append(line[2:])
        else:
            inside = False
    return ["\n".join(block) for block in blocks]


def _read_block(block: str, path: Path, spec: Spec) -> None:
    entries, rest = ["main"], block
    while (word := _TOKEN.match(rest)) is not None:
        token, rest = word[1], rest[word.end() :]
        if token == "entry:":
            line, _, rest = rest.partition("\n")
            entries = line.split()
        elif token == "error:" and not spec.cases:
            spec.error, _, rest = rest.partition("\n")
            spec.error = spec.error.strip()
        elif token in ("compiled", "nobench", "random", "script", "notest"):
            if token == "random":
                rest = rest.lstrip().removeprefix("input")
                text, rest = _braces(rest)
                inputs = [_random(t) for t in text.split()]
                spec.cases += [Case(name, inputs) for name in entries]
        elif token == "input":
            text, rest = _data(rest, path)
            spec.cases += [Case(name, text) for name in entries]
        elif token == "output":
            text, rest = _data(rest, path)
            for case in spec.cases[-len(entries) :]:
                case.output = text
        elif token == "error:":
            regex, _, rest = rest.partition("\n")
            for case in spec.cases[-len(entries) :]:
                case.error = regex.strip()
        elif token == "auto":
            rest = rest.lstrip().removeprefix("output")


def _data(rest: str, path: Path) -> tuple[str, str]:
    if rest.lstrip().startswith("@"):
        name = rest.split()[0]
        return (path.parent / name[1:]).read_text("utf-8"), rest.replace(name, "", 1)
    return _braces(rest)


def _braces(rest: str) -> tuple[str, str]:
    start = rest.index("{")
    end = rest.index("}", start)
    return rest[start + 1 : end], rest[end + 1 :]


def _random(text: str) -> values.Value:
    """A random value of a type such as `[10][20]f32`, or the value itself if it is one (`3i32`)."""
    match = re.fullmatch(r"((?:\[\d+\])*)([iuf]\d+|bool)", text)
    if match is None:
        return values.parse(text)[0]
    shape = tuple(int(n) for n in re.findall(r"\d+", match[1]))
    prim: Prim = match[2]  # type: ignore[assignment]
    rng = np.random.default_rng(len(text))
    if prim == "bool":
        array = rng.integers(0, 2, shape).astype(np.bool_)
    elif prim[0] == "f":
        array = rng.random(shape).astype(DTYPE[prim])
    else:
        low, high = int_range(prim)
        array = rng.integers(low, high, shape, dtype=DTYPE[prim], endpoint=True)
    return DTYPE[prim].type(array) if shape == () else np.asarray(array)
