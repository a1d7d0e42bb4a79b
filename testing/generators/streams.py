"""Random programs with accumulators: streams whose functions write in branches and loops.

`program(seed)` is deterministic. Where values take each other's place they depend on the place
only, so that it does not matter which one comes last; operators combine exactly in any order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from compiler.ir.values import Value


@dataclass(frozen=True, slots=True)
class Element:
    """An accumulator's element: its type, a value from a number, operators with neutral values."""

    type: str
    value: str
    operators: tuple[tuple[str, str], ...]


_PAIR = r"\(a, b) (c, d) -> if a < c || (a == c && b < d) then (c, d) else (a, b)"
_SUMS = r"map2 (\(a, b) (c, d) -> (a + c, b + d))"
_ROWS = r"\a b -> loop c = copy a for l < 2 do c with [l] = a[l] + b[1 - l] + c[0] - a[0] - b[1]"
ELEMENTS = (
    Element("i32", "i32.i64 ({0})", (("(+)", "0"), ("i32.max", "i32.lowest"), ("(*)", "1"))),
    Element("f32", "f32.i64 (({0}) % 8)", (("(+)", "0"), ("f32.min", "f32.inf"))),
    Element("u8", "u8.i64 ({0})", (("(+)", "0"), ("(|)", "0"))),
    Element("bool", "({0}) % 2 == 0", (("(!=)", "false"), ("(||)", "false"))),
    Element(
        "(i32, i64)",
        "(i32.i64 (({0}) % 5), ({0}))",
        ((_PAIR, "(i32.lowest, i64.lowest)"), (r"\(a, b) (c, d) -> (a + c, b ^ d)", "(0, 0)")),
    ),
    Element(
        "[2]i32",
        "[i32.i64 ({0}), i32.i64 (({0}) * 3)]",
        (("map2 (+)", "[0, 0]"), ("map2 i32.min", "[i32.highest, i32.highest]"), (_ROWS, "[0, 0]")),
    ),
    Element(
        "[2](i32, f32)",
        "map (\\q -> (i32.i64 q, f32.i64 (q % 4))) [{0}, ({0}) + 1]",
        ((_SUMS, "replicate 2 (0, 0)"),),
    ),
)
CONTEXTS = ("alone", "map", "loop", "branch", "twice", "rows")


@dataclass(frozen=True)
class Streams:
    """A program with values for its entry point `main`."""

    seed: int
    source: str
    inputs: list[Value]


def program(seed: int, combining: bool = False) -> Streams:
    """The program of that seed; `combining`: no value takes the place of another one."""
    rng = random.Random(seed)
    writer = _Writer(rng, combining)
    source = writer.program()
    values = np.random.default_rng(seed)
    n = rng.choice([0, 1, 2, 5, 9])
    k = rng.choice([0, 1, 3, 7])
    inputs: list[Value] = [np.int64(k), values.integers(-3, 9, n), values.integers(0, 5, (n, 2))]
    return Streams(seed, source, inputs)


class _Writer:
    def __init__(self, rng: random.Random, combining: bool) -> None:
        self.rng = rng
        self.combining = combining
        self.count = 0
        self.helpers: list[str] = []

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def program(self) -> str:
        body = getattr(self, self.rng.choice(CONTEXTS))()
        head = "entry main [n] (k: i64) (is: [n]i64) (xss: [n][2]i64) =\n"
        return "\n".join([*self.helpers, f"{head}  {body}\n"])

    # --- where streams stand -------------------------------------------------------------------

    def alone(self) -> str:
        return self.stream(self.rng.choice(ELEMENTS), "k")

    def map(self) -> str:
        """A stream in each thread of a map."""
        inner = self.stream(self.rng.choice(ELEMENTS), "k", ("e",))
        return f"map (\\e -> {inner}) is"

    def loop(self) -> str:
        """A stream in each iteration, into what the one before has made."""
        elem = self.rng.choice(ELEMENTS)
        inner = self.stream(elem, "k", ("e",), "ds")
        return f"loop ds = {self.start(elem, 'k')} for e < 3 do {inner}"

    def branch(self) -> str:
        elem = self.rng.choice(ELEMENTS)
        one, other = (self.stream(elem, "k") for _ in range(2))
        return f"if n % 2 == 0 then {one} else {other}"

    def twice(self) -> str:
        """Two streams, one after the other, and one beside them."""
        elem = self.rng.choice(ELEMENTS)
        first = self.stream(elem, "k")
        second = self.stream(elem, "k", (), "first")
        third = self.stream(self.rng.choice(ELEMENTS), "(k + 1)")
        return f"let first = {first}\n  let other = {third}\n  in ({second}, other)"

    def rows(self) -> str:
        """A stream over rows, with parallel operators inside."""
        return self.stream(self.rng.choice(ELEMENTS), "k", ("reduce (+) 0 row",), "", "xss")

    # --- streams -------------------------------------------------------------------------------

    def start(self, elem: Element, size: str) -> str:
        return f"tabulate {size} (\\p -> {elem.value.format('p')})"

    def stream(
        self,
        elem: Element,
        size: str,
        known: tuple[str, ...] = (),
        dest: str = "",
        over: str = "zip is xss",
    ) -> str:
        """A stream that writes to a fresh array, or to `dest`; `known` are numbers."""
        op = self.rng.choice(elem.operators) if self.combining or self.rng.random() < 0.7 else None
        dest = dest or f"({self.start(elem, size)})"
        acc = self.fresh("acc")
        body = self.body(acc, elem, op is not None, (*known, "x", "row[0]", "row[1]"), 3)
        pattern = "row" if over == "xss" else "(x, row)"
        if over == "xss":
            body = body.replace("(x)", "(row[1] - 1)")
        kind = f"*acc ([]{elem.type})"
        if self.rng.random() < 0.4 and not known:
            name = self.fresh("visit")
            row = "(row: [2]i64)" if over == "xss" else "(x: i64, row: [2]i64)"
            self.helpers.append(f"def {name} ({acc}: {kind}) {row} =\n  {body}\n")
            fn = name
        else:
            fn = f"(\\({acc}: {kind}) {pattern} ->\n    {body})"
        source = f"({over})"
        if op is None:
            return f"scatter_stream {dest} {fn} {source}"
        return f"reduce_by_index_stream {dest} ({op[0]}) ({op[1]}) {fn} {source}"

    def number(self, known: tuple[str, ...]) -> str:
        """A small number, negative now and then."""
        a, b = (f"({self.rng.choice(known)})" for _ in range(2))
        form = self.rng.choice(["{0}", "{0} + {1}", "{0} * 2 - 1", "{0} % 3 + {1}", "{0} - {1}"])
        return form.format(a, b)

    def write(self, acc: str, elem: Element, combines: bool, known: tuple[str, ...]) -> str:
        at = self.number(known)
        what = self.number(known) if combines else f"({at}) * 3 + 1"
        return f"write {acc} ({at}) ({elem.value.format(what)})"

    def body(
        self, acc: str, elem: Element, combines: bool, known: tuple[str, ...], depth: int
    ) -> str:
        """An accumulator, after some writes."""

        def again(name: str, more: tuple[str, ...] = ()) -> str:
            return self.body(name, elem, combines, (*known, *more), depth - 1)

        form = self.rng.randrange(9) if depth else self.rng.randrange(3)
        if form == 0:
            return acc if self.rng.random() < 0.2 else self.write(acc, elem, combines, known)
        if form <= 2:
            new = self.fresh("acc")
            rest = again(new) if depth else new
            return f"let {new} = {self.write(acc, elem, combines, known)}\n    in {rest}"
        if form <= 4:
            cond = f"({self.number(known)}) % 3 < 2"
            return f"(if {cond} then {again(acc)} else {again(acc)})"
        if form == 5:
            new, j = self.fresh("acc"), self.fresh("j")
            bound = self.rng.choice(["3", "row[0]", "n"] if "e" in known else ["3", "row[0]"])
            return f"(loop {new} = {acc} for {j} < {bound} do {again(new, (j,))})"
        if form == 6:
            new, j = self.fresh("acc"), self.fresh("j")
            inner = again(new, (j,))
            return f"(loop ({new}, {j}) = ({acc}, 0) while {j} < 2 do ({inner}, {j} + 1)).0"
        if form == 7:
            new, t = self.fresh("acc"), self.fresh("t")
            number = self.number(known)
            pair = f"(if {number} > 1 then ({again(acc)}, {number}) else ({acc}, 2))"
            return f"let ({new}, {t}) = {pair}\n    in {again(new, (t,))}"
        j = self.fresh("j")
        table = f"tabulate 4 (\\p -> p + ({self.number(known)}))"
        new = self.fresh("acc")
        return f"(loop {new} = {acc} for {j} in scan (+) 0 ({table}) do {again(new, (j,))})"
