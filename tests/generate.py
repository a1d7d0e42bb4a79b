"""Random well-typed Futhark programs with inputs, for comparing stages and back ends.

`program(seed)` is deterministic. Results do not depend on the order of reductions: integers wrap,
and floats are small whole numbers that are only added, subtracted and compared. No program fails:
indices are taken modulo sizes of at least 1, and divisors are at least 1.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.base.prim import DTYPE
from compiler.ir.values import Value

ELEMENTS = ("i32", "i64", "f64", "bool")
LARGEST_SIZE = 6


@dataclass(frozen=True)
class Kind:
    """A type: an element type under sizes, each the text of a size expression."""

    elem: str
    shape: tuple[str, ...] = ()

    @property
    def row(self) -> Kind:
        """The type of a row."""
        return Kind(self.elem, self.shape[1:])

    def of(self, size: str) -> Kind:
        """The type of an array of such values."""
        return Kind(self.elem, (size, *self.shape))

    def __str__(self) -> str:
        return "".join(f"[{size}]" for size in self.shape) + self.elem


@dataclass(frozen=True)
class Generated:
    """A program with values for its entry point `main`."""

    seed: int
    source: str
    inputs: list[Value]


Scope = dict[str, Kind]


def program(seed: int, statements: int = 6, smallest: int = 1) -> Generated:
    """The program of that seed; more statements make it longer.

    With `smallest=0` arrays may be empty, and a program may fail.
    """
    return _Writer(random.Random(seed), smallest).program(seed, statements)


def shrunk(seed: int, fails: Callable[[Generated], bool], statements: int = 6) -> Generated:
    """The program of the fewest statements with that seed for which `fails` still holds."""
    for count in range(1, statements):
        small = program(seed, count)
        if fails(small):
            return small
    return program(seed, statements)


@dataclass
class _Writer:
    rng: random.Random
    smallest: int = 1
    lines: list[str] = field(default_factory=list)
    count: int = 0

    # --- the whole program -------------------------------------------------------------------

    def program(self, seed: int, statements: int) -> Generated:
        """An entry point with a few parameters, statements, and some of them as results."""
        scope: Scope = {}
        params: list[str] = []
        shapes = [("n",), ("n",), ("n", "m"), ("m",), ("n", "m"), ()]
        chosen_shapes = self.rng.sample(shapes, self.rng.randint(2, 4))
        for shape in [*chosen_shapes, ("n", "m"), ("n",)]:
            kind = Kind(self.rng.choice(ELEMENTS), shape)
            scope[self.fresh("a")] = kind
            params.append(f"({list(scope)[-1]}: {kind})")
        given = dict(scope)
        scope |= {"n": Kind("i64"), "m": Kind("i64")}
        results: list[str] = []
        for _ in range(statements):
            results += self.statement(scope, 3, "  ")
        chosen = self.rng.sample(results, min(len(results), self.rng.randint(1, 3)))
        chosen = results[-1:] + [r for r in chosen if r != results[-1]]
        body = "\n".join(self.lines)
        out = ", ".join(chosen)
        head = f"entry main [n] [m] {' '.join(params)} ="
        source = f"{head}\n{body}\n  in {f'({out})' if len(chosen) > 1 else out}\n"
        return Generated(seed, source, self.inputs(seed, given))

    def inputs(self, seed: int, given: Scope) -> list[Value]:
        """Values of the parameters, of small sizes."""
        rng = np.random.default_rng(seed)
        sizes = {name: int(rng.integers(self.smallest, LARGEST_SIZE)) for name in ("n", "m")}
        found: list[Value] = []
        for kind in given.values():
            shape = tuple(sizes[s] for s in kind.shape)
            low, high = (0, 2) if kind.elem == "bool" else (-9, 10)
            dtype: Any = DTYPE[kind.elem]  # type: ignore[index]
            found.append(rng.integers(low, high, shape).astype(dtype)[()] if shape
                         else dtype.type(rng.integers(low, high)))  # fmt: skip
        return found

    def fresh(self, base: str) -> str:
        """A name that has not been used."""
        self.count += 1
        return f"{base}{self.count}"

    # --- statements --------------------------------------------------------------------------

    def statement(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """Write a `let` and bring its names into scope."""
        form = self.rng.choice(
            [self.let_array] * 6
            + [self.let_scalar] * 2
            + [self.let_pairs, self.let_reduced_pair, self.let_unknown, self.let_pieces]
        )
        return form(scope, depth, indent)

    def write(self, indent: str, text: str) -> None:
        """Add a line."""
        self.lines.append(f"{indent}{text}")

    def let(self, scope: Scope, kind: Kind, text: str, indent: str) -> list[str]:
        """Write a `let` of one name."""
        name = self.fresh("v")
        self.write(indent, f"let {name} = {text}")
        scope[name] = kind
        return [name]

    def let_scalar(self, scope: Scope, depth: int, indent: str) -> list[str]:
        kind = Kind(self.rng.choice(ELEMENTS))
        return self.let(scope, kind, self.expression(scope, kind, depth), indent)

    def let_array(self, scope: Scope, depth: int, indent: str) -> list[str]:
        shape = self.rng.choice([("n",), ("m",), ("n", "m"), ("m", "n"), ("n", "m")])
        kind = Kind(self.rng.choice(ELEMENTS), shape)
        return self.let(scope, kind, self.expression(scope, kind, depth), indent)

    def let_pairs(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """Two arrays from one map, by way of an array of pairs."""
        first, second = (Kind(self.rng.choice(ELEMENTS)) for _ in range(2))
        source = self.array_of_rank(scope, 1, 2, depth)
        size = scope[source].shape[0] if source in scope else "n"
        row = scope[source].row
        x = self.fresh("x")
        inner = {**scope, x: row}
        a, b = (self.expression(inner, k, depth - 1) for k in (first, second))
        names = [self.fresh("v"), self.fresh("v")]
        self.write(indent, f"let ({names[0]}, {names[1]}) =")
        self.write(indent, f"  unzip (map (\\({x}: {row}) -> ({a}, {b})) {source})")
        scope |= {names[0]: first.of(size), names[1]: second.of(size)}
        return names

    def let_reduced_pair(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """The largest element with its index: an operator on pairs."""
        kind = Kind(self.rng.choice(("i32", "i64")))
        array = self.expression(scope, kind.of("n"), depth)
        value, index = self.fresh("v"), self.fresh("v")
        self.write(indent, f"let ({value}, {index}) =")
        self.write(
            indent,
            "  reduce (\\(a, i) (b, j) -> if a > b || (a == b && i < j) then (a, i) else (b, j))",
        )
        self.write(indent, f"    ({kind.elem}.lowest, n) (zip ({array}) (iota n))")
        scope |= {value: kind, index: Kind("i64")}
        return [value, index]

    def let_unknown(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """An array whose size is only known at run time, and something made of it."""
        kind = Kind(self.rng.choice(ELEMENTS))
        array = self.expression(scope, kind.of("n"), depth)
        x = self.fresh("x")
        cond = self.expression({**scope, x: kind}, Kind("bool"), depth - 1)
        name, size = self.fresh("v"), self.fresh("k")
        self.write(indent, f"let {name} = filter (\\({x}: {kind}) -> {cond}) ({array})")
        self.write(indent, f"let {size} = length {name}")
        y = self.fresh("x")
        made = self.expression({**scope, y: kind}, Kind("i64"), depth - 1)
        total = self.fresh("v")
        self.write(indent, f"let {total} = i64.sum (map (\\({y}: {kind}) -> {made}) {name})")
        scope |= {size: Kind("i64"), total: Kind("i64")}
        return [name, size, total]

    def let_pieces(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """A concatenation or a slice: arrays of other sizes, and their sum or largest element."""
        kind = Kind("i64")
        array = self.expression(scope, kind.of("n"), depth)
        other = self.expression(scope, kind.of("m"), depth - 1)
        name, result = self.fresh("v"), self.fresh("v")
        start = f"({self.index(scope, 'n', 1)})"
        text = self.rng.choice(
            [
                f"concat ({array}) ({other})",
                f"({array})[{start}:]",
                f"({array})[::-1]",
                f"({array})[::2]",
                f"({array})[:{start}]",
                f"take {start} ({array})",
                f"drop {start} ({array})",
                f"flatten (replicate 2 ({array}))",
            ]
        )
        self.write(indent, f"let {name} = {text}")
        op, neutral = self.operator(kind)
        self.write(indent, f"let {result} = reduce {op} {neutral} {name}")
        scope[result] = kind
        return [name, result]

    # --- expressions -------------------------------------------------------------------------

    def expression(self, scope: Scope, kind: Kind, depth: int) -> str:
        """An expression of that type, in parentheses wherever that could matter."""
        known = [name for name, other in scope.items() if other == kind]
        if known and (depth <= 0 or self.rng.random() < 0.25):
            return self.rng.choice(known)
        if len(kind.shape) == 0:
            return self.scalar(scope, kind, depth)
        return self.array(scope, kind, depth)

    def literal(self, kind: Kind) -> str:
        if kind.elem == "bool":
            return self.rng.choice(["true", "false"])
        value = self.rng.randint(-5, 9)
        text = f"{value}.0f64" if kind.elem == "f64" else f"{value}{kind.elem}"
        return f"({text})" if value < 0 else text

    def scalar(self, scope: Scope, kind: Kind, depth: int) -> str:
        if depth <= 0:
            return self.leaf(scope, kind)
        forms: list[Callable[[Scope, Kind, int], str]] = [
            self.arithmetic,
            self.arithmetic,
            self.arithmetic,
            self.choice,
            self.element,
            self.conversion,
            self.fold,
            self.loop,
            self.nested_let,
        ]
        return self.rng.choice(forms)(scope, kind, depth - 1)

    def leaf(self, scope: Scope, kind: Kind) -> str:
        """A literal, or the first element of an array."""
        arrays = [
            name + "[" + ", ".join("0" for _ in other.shape) + "]"
            for name, other in scope.items()
            if other.elem == kind.elem and other.shape and set(other.shape) <= {"n", "m"}
        ]
        if not arrays or self.rng.random() < 0.3:
            return self.literal(kind)
        return self.rng.choice(arrays)

    def arithmetic(self, scope: Scope, kind: Kind, depth: int) -> str:
        if kind.elem == "bool":
            if self.rng.random() < 0.5:
                a, b = (self.expression(scope, kind, depth) for _ in range(2))
                return f"({a} {self.rng.choice(('&&', '||', '!=', '=='))} {b})"
            other = Kind(self.rng.choice(("i32", "i64", "f64")))
            a, b = (self.expression(scope, other, depth) for _ in range(2))
            return f"({a} {self.rng.choice(('<', '<=', '==', '!='))} {b})"
        a, b = (self.expression(scope, kind, depth) for _ in range(2))
        if kind.elem == "f64":
            f = self.rng.choice(["{} + {}", "{} - {}", "f64.min {} {}", "f64.max {} {}"])
            return f"({f.format(a, b)})"
        t = kind.elem
        f = self.rng.choice(
            [
                "{} + {}",
                "{} - {}",
                "{} * {}",
                f"{{}} / (1 + ({{}} & 7{t}))",
                f"{{}} % (1 + ({{}} & 7{t}))",
                f"{t}.min {{}} {{}}",
                f"{t}.max {{}} {{}}",
                "{} & {}",
                "{} ^ {}",
                f"{{}} << ({{}} & 3{t})",
                f"{{}} >> ({{}} & 3{t})",
            ]
        )
        return f"({f.format(a, b)})"

    def choice(self, scope: Scope, kind: Kind, depth: int) -> str:
        cond = self.expression(scope, Kind("bool"), depth)
        a, b = (self.expression(scope, kind, depth) for _ in range(2))
        return f"(if {cond} then {a} else {b})"

    def index(self, scope: Scope, size: str, depth: int) -> str:
        """An i64 within bounds."""
        return f"({self.expression(scope, Kind('i64'), depth)}) % {size}"

    def element(self, scope: Scope, kind: Kind, depth: int) -> str:
        arrays = [
            (name, other)
            for name, other in scope.items()
            if other.elem == kind.elem and other.shape and set(other.shape) <= {"n", "m"}
        ]
        if not arrays:
            return self.literal(kind)
        name, other = self.rng.choice(arrays)
        at = ", ".join(self.index(scope, size, depth) for size in other.shape)
        return f"{name}[{at}]"

    def conversion(self, scope: Scope, kind: Kind, depth: int) -> str:
        t = kind.elem
        source = self.rng.choice([e for e in ELEMENTS if e != t])
        value = self.expression(scope, Kind(source), depth)
        if t == "bool":
            return f"({value} == {self.literal(Kind(source))})" if source != "bool" else value
        if t == "f64" and source in ("i32", "i64"):
            # Kept small, so that sums stay exact.
            return f"(f64.{source} (({value}) % 100))"
        return f"({t}.{source} {value})"

    def operator(self, kind: Kind) -> tuple[str, str]:
        """An associative operator with its neutral element."""
        t = kind.elem
        if t == "bool":
            return self.rng.choice([("(&&)", "true"), ("(||)", "false"), ("(!=)", "false")])
        if t == "f64":
            return self.rng.choice([("f64.max", "(-f64.inf)"), ("(+)", "0.0f64")])
        return self.rng.choice(
            [
                ("(+)", f"0{t}"),
                ("(*)", f"1{t}"),
                (f"{t}.max", f"{t}.lowest"),
                (f"{t}.min", f"{t}.highest"),
                ("(^)", f"0{t}"),
                (f"(\\(x: {t}) (y: {t}) -> x + y)", f"0{t}"),
            ]
        )

    def fold(self, scope: Scope, kind: Kind, depth: int) -> str:
        size = self.rng.choice(("n", "m"))
        op, neutral = self.operator(kind)
        array = self.expression(scope, kind.of(size), depth)
        return f"(reduce {op} {neutral} ({array}))"

    def loop(self, scope: Scope, kind: Kind, depth: int) -> str:
        acc, i = self.fresh("acc"), self.fresh("i")
        start = self.expression(scope, kind, depth)
        inner = {**scope, acc: kind, i: Kind("i64")}
        body = self.expression(inner, kind, depth)
        if self.rng.random() < 0.3:
            count = self.fresh("c")
            body = self.expression({**scope, acc: kind, count: Kind("i64")}, kind, depth)
            bound = self.rng.choice(("3", "n", "m"))
            return (
                f"((loop ({acc}, {count}) = ({start}, 0i64) while {count} < {bound}"
                f" do ({body}, {count} + 1)).0)"
            )
        bound = self.rng.choice(
            ("n", "m", "3i64", f"(({self.expression(scope, Kind('i64'), 1)}) % 4)")
        )
        return f"(loop {acc} = {start} for {i} < {bound} do {body})"

    def nested_let(self, scope: Scope, kind: Kind, depth: int) -> str:
        other = self.rng.choice(
            [Kind("i64"), Kind("i32"), Kind("f64", ("n",)), Kind("i64", ("m",))]
        )
        name = self.fresh("t")
        value = self.expression(scope, other, depth)
        body = self.expression({**scope, name: other}, kind, depth)
        return f"(let {name} = {value} in {body})"

    # --- arrays ------------------------------------------------------------------------------

    def array_of_rank(self, scope: Scope, low: int, high: int, depth: int) -> str:
        """The name of an array in scope with that many dimensions."""
        found = [
            name
            for name, kind in scope.items()
            if low <= len(kind.shape) <= high and set(kind.shape) <= {"n", "m"}
        ]
        return self.rng.choice(found)

    def array(self, scope: Scope, kind: Kind, depth: int) -> str:
        if depth <= 0:
            return self.filled(scope, kind)
        forms: list[Callable[[Scope, Kind, int], str]] = [
            self.mapped,
            self.mapped,
            self.mapped_two,
            self.tabulated,
            self.scanned,
            self.moved,
            self.choice,
            self.updated,
            self.looped,
            self.nested_let,
        ]
        if len(kind.shape) == 1:
            forms += [self.scattered, self.histogram, self.of_rows]
        else:
            forms += [self.transposed, self.mapped]
        return self.rng.choice(forms)(scope, kind, depth - 1)

    def filled(self, scope: Scope, kind: Kind) -> str:
        value = self.literal(Kind(kind.elem))
        for size in reversed(kind.shape):
            value = f"(replicate {size} {value})"
        return value

    def mapped(self, scope: Scope, kind: Kind, depth: int) -> str:
        row = Kind(self.rng.choice(ELEMENTS))
        if len(kind.shape) == 1 and self.rng.random() < 0.3:
            row = row.of(self.rng.choice(("n", "m")))
        if len(kind.shape) == 2 and self.rng.random() < 0.6:
            row = row.of(kind.shape[1])
        source = self.expression(scope, row.of(kind.shape[0]), depth)
        x = self.fresh("x")
        body = self.expression({**scope, x: row}, kind.row, depth)
        return f"(map (\\({x}: {row}) -> {body}) ({source}))"

    def mapped_two(self, scope: Scope, kind: Kind, depth: int) -> str:
        rows = [Kind(self.rng.choice(ELEMENTS)) for _ in range(2)]
        sources = [self.expression(scope, row.of(kind.shape[0]), depth) for row in rows]
        x, y = self.fresh("x"), self.fresh("y")
        body = self.expression({**scope, x: rows[0], y: rows[1]}, kind.row, depth)
        head = f"\\({x}: {rows[0]}) ({y}: {rows[1]}) -> {body}"
        return f"(map2 ({head}) ({sources[0]}) ({sources[1]}))"

    def tabulated(self, scope: Scope, kind: Kind, depth: int) -> str:
        i = self.fresh("i")
        body = self.expression({**scope, i: Kind("i64")}, kind.row, depth)
        return f"(tabulate {kind.shape[0]} (\\{i} -> {body}))"

    def scanned(self, scope: Scope, kind: Kind, depth: int) -> str:
        source = self.expression(scope, kind, depth)
        op, neutral = self.operator(Kind(kind.elem))
        if len(kind.shape) == 1:
            return f"(scan {op} {neutral} ({source}))"
        row = self.fresh("x")
        return f"(map (\\({row}: {kind.row}) -> scan {op} {neutral} {row}) ({source}))"

    def moved(self, scope: Scope, kind: Kind, depth: int) -> str:
        source = self.expression(scope, kind, depth)
        how = self.rng.choice(["reverse", "copy", f"rotate ({self.index(scope, 'n', 1)})"])
        return f"({how} ({source}))"

    def updated(self, scope: Scope, kind: Kind, depth: int) -> str:
        source = self.expression(scope, kind, depth)
        at = self.index(scope, kind.shape[0], depth)
        if len(kind.shape) == 2 and self.rng.random() < 0.5:
            at += f", {self.index(scope, kind.shape[1], depth)}"
            value = self.expression(scope, Kind(kind.elem), depth)
        else:
            value = self.expression(scope, kind.row, depth)
        return f"((copy ({source})) with [{at}] = {value})"

    def looped(self, scope: Scope, kind: Kind, depth: int) -> str:
        """An array that a loop updates, or replaces."""
        acc, i = self.fresh("acc"), self.fresh("i")
        start = self.expression(scope, kind, depth)
        inner = {**scope, i: Kind("i64")}
        if self.rng.random() < 0.5:
            at = self.index(inner, kind.shape[0], depth)
            value = self.expression(inner, kind.row, depth)
            body = f"{acc} with [{at}] = {value}"
            return f"(loop {acc} = copy ({start}) for {i} < n do {body})"
        body = self.expression({**inner, acc: kind}, kind, depth)
        return f"(loop {acc} = ({start}) for {i} < 2i64 do {body})"

    def transposed(self, scope: Scope, kind: Kind, depth: int) -> str:
        a, b = kind.shape
        return f"(transpose ({self.expression(scope, Kind(kind.elem, (b, a)), depth)}))"

    def of_rows(self, scope: Scope, kind: Kind, depth: int) -> str:
        """One value per row of a matrix."""
        (size,) = kind.shape
        other = "m" if size == "n" else "n"
        row = Kind(kind.elem, (other,))
        source = self.expression(scope, row.of(size), depth)
        op, neutral = self.operator(Kind(kind.elem))
        x = self.fresh("x")
        return f"(map (\\({x}: {row}) -> reduce {op} {neutral} {x}) ({source}))"

    def scattered(self, scope: Scope, kind: Kind, depth: int) -> str:
        """Every second element written, at most once each."""
        dest = self.expression(scope, kind, depth)
        size = kind.shape[0]
        values = self.expression(scope, kind, depth)
        return f"(scatter (copy ({dest})) (map (\\i -> i * 2 - 1) (iota {size})) ({values}))"

    def histogram(self, scope: Scope, kind: Kind, depth: int) -> str:
        dest = self.expression(scope, kind, depth)
        size = self.rng.choice(("n", "m"))
        values = self.expression(scope, Kind(kind.elem, (size,)), depth)
        places = self.expression(scope, Kind("i64", (size,)), depth)
        op, neutral = self.operator(Kind(kind.elem))
        bins = f"(map (\\i -> i % ({kind.shape[0]} + 1)) ({places}))"
        return f"(reduce_by_index (copy ({dest})) {op} {neutral} {bins} ({values}))"
