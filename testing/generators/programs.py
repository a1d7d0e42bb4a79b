"""Random well-typed Futhark programs with inputs, for comparing stages and back ends.

`program(seed)` is deterministic. Results do not depend on the order of reductions: integers wrap,
and floats are small whole numbers that are only added, subtracted and compared. No program fails:
indices are taken modulo sizes of at least 1, and divisors are at least 1.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.ir.values import Value
from testing.generators.expressions import ELEMENTS, Expressions, Kind, Scope

LARGEST_SIZE = 6


@dataclass(frozen=True)
class Generated:
    """A program with values for its entry point `main`."""

    seed: int
    source: str
    inputs: list[Value]


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


class _Writer(Expressions):
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
        helpers = [self.helper() for _ in range(self.rng.randint(0, 3))]
        results: list[str] = []
        for _ in range(statements):
            results += self.statement(scope, 3, "  ")
        chosen = self.rng.sample(results, min(len(results), self.rng.randint(1, 3)))
        chosen = results[-1:] + [r for r in chosen if r != results[-1]]
        body = "\n".join(self.lines)
        out = ", ".join(chosen)
        head = f"entry main [n] [m] {' '.join(params)} ="
        source = f"{head}\n{body}\n  in {f'({out})' if len(chosen) > 1 else out}\n"
        return Generated(seed, "\n".join([*helpers, source]), self.inputs(seed, given))

    def helper(self) -> str:
        """A function of two arrays and a number, with sizes of its own, to be called later."""
        first, second, given = (
            Kind(self.rng.choice(ELEMENTS), s) for s in (("n",), ("n", "m"), ())
        )
        result = Kind(self.rng.choice(ELEMENTS), self.rng.choice([(), ("n",), ("n", "m"), ("m",)]))
        name = self.fresh("f")
        scope: Scope = {"xs": first, "yss": second, "k": given, "n": Kind("i64"), "m": Kind("i64")}
        body = self.expression(scope, result, 3)
        self.helpers[name] = ([first, second, given], result)
        params = f"(xs: {first}) (yss: {second}) (k: {given})"
        return f"def {name} [n] [m] {params} : {result} =\n  {body}\n"

    def inputs(self, seed: int, given: Scope) -> list[Value]:
        """Values of the parameters, of small sizes."""
        rng = np.random.default_rng(seed)
        sizes = {name: int(rng.integers(self.smallest, LARGEST_SIZE)) for name in ("n", "m")}
        found: list[Value] = []
        for kind in given.values():
            shape = tuple(sizes[s] for s in kind.shape)
            low, high = (0, 2) if kind.elem == "bool" else (0 if kind.elem[0] == "u" else -9, 10)
            dtype: Any = DTYPE[kind.elem]  # type: ignore[index]
            found.append(rng.integers(low, high, shape).astype(dtype)[()] if shape
                         else dtype.type(rng.integers(low, high)))  # fmt: skip
        return found

    # --- statements --------------------------------------------------------------------------

    def statement(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """Write a `let` and bring its names into scope."""
        form = self.rng.choice(
            [self.let_array] * 6
            + [self.let_scalar] * 2
            + [self.let_pairs, self.let_reduced_pair, self.let_unknown, self.let_pieces]
            + [self.let_records, self.let_updated, self.let_loop]
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

    def let_records(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """An array of records of a number and a pair, mapped over and taken apart."""
        one, two, three = (Kind(self.rng.choice(ELEMENTS)) for _ in range(3))
        size = self.rng.choice(("n", "m"))
        i, r = self.fresh("i"), self.fresh("r")
        inner = {**scope, i: Kind("i64")}
        parts = [self.expression(inner, kind, depth - 1) for kind in (one, two, three)]
        record = f"{{a = {parts[0]}, b = ({parts[1]}, {parts[2]})}}"
        array, name = self.fresh("v"), self.fresh("v")
        x, y, z = (self.fresh("x") for _ in range(3))
        kind = Kind(self.rng.choice(ELEMENTS))
        body = self.expression({**scope, x: one, y: two, z: three}, kind, depth)
        self.write(indent, f"let {array} = tabulate {size} (\\{i} -> {record})")
        self.write(indent, f"let {name} =")
        self.write(
            indent, f"  map (\\{r} -> let {{a = {x}, b = ({y}, {z})}} = {r} in {body}) {array}"
        )
        scope[name] = kind.of(size)
        return [name]

    def let_updated(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """A part of an array replaced, by a slice with or without a stride."""
        kind = Kind(self.rng.choice(ELEMENTS), self.rng.choice([("n",), ("m",), ("n", "m")]))
        size = kind.shape[0]
        name, values = self.fresh("v"), self.fresh("t")
        source = self.expression(scope, kind, depth)
        self.write(indent, f"let {name} = copy ({source})")
        self.write(indent, f"let {values} = {self.expression(scope, kind, depth)}")
        at = f"({self.index(scope, size, 1)})"
        how = self.rng.choice(["[{at}:]", "[:{at}]", "[::2]", "[::-1]", "[1:]"])
        where = how.format(at=at)
        if len(kind.shape) == 2 and self.rng.random() < 0.5:
            where = where[:-1] + f", {self.index(scope, kind.shape[1], 1)}]"
        self.write(indent, f"let {name} = {name} with {where} = copy ({values}{where})")
        scope |= {name: kind, values: kind}
        return [name]

    def let_loop(self, scope: Scope, depth: int, indent: str) -> list[str]:
        """A loop over the elements of an array that carries an array and a number."""
        over = Kind(self.rng.choice(ELEMENTS))
        kind = Kind(self.rng.choice(ELEMENTS), self.rng.choice([("n",), ("m",)]))
        acc = Kind(self.rng.choice(ELEMENTS))
        source = self.expression(scope, over.of(self.rng.choice(("n", "m"))), depth)
        start, first = self.expression(scope, kind, depth), self.expression(scope, acc, depth)
        a, k, x = self.fresh("a"), self.fresh("k"), self.fresh("x")
        inner = {**scope, x: over, k: acc}
        at = self.index(inner, kind.shape[0], depth - 1)
        value = self.expression(inner, kind.row, depth - 1)
        then = self.expression(inner, acc, depth - 1)
        names = [self.fresh("v"), self.fresh("v")]
        self.write(indent, f"let ({names[0]}, {names[1]}) =")
        self.write(indent, f"  loop ({a}, {k}) = (copy ({start}), {first}) for {x} in {source} do")
        self.write(indent, f"    let {a}[{at}] = {value}")
        self.write(indent, f"    in ({a}, {then})")
        scope |= {names[0]: kind, names[1]: acc}
        return names
