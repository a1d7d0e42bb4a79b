"""Random programs whose guards decide whether something is asked for that may fail, with inputs.

Quotients, remainders, indices, parts, powers, converted indices, assertions, sizes and calls stand
behind `&&`, `||`, `if` and cases: for one point, for many at once, in the conditions of loops and
filters, and in functions that call themselves. One guard of some is too weak, so that a part of the
programs fails on a part of the inputs. No program takes long.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.prim import FLOATS, Prim, int_range
from compiler.ir.values import Value
from testing.generators.storage import Generated

TYPES: tuple[Prim, ...] = ("i64", "i64", "i32", "i8", "u8", "u32", "i16", "u64", "f64", "f32")
WRONG = 0.05
"""The share of guards that are too weak."""


def program(seed: int, name: str = "main") -> Generated:
    """The program of that seed: 1 to 4 statements and 4 inputs, one of them without elements."""
    rng = random.Random(f"guards {seed}")
    return _Writer(rng, name, rng.choice(TYPES)).program(seed)


@dataclass
class _Writer:
    """`x`, `d` and `i` are what is in scope: two of type `elem` and an i64, an index or not."""

    rng: random.Random
    name: str
    elem: Prim
    x: str = "a"
    d: str = "d"
    i: str = "k"
    lines: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def program(self, seed: int) -> Generated:
        """An entry point, the functions that it calls, and what it is run on."""
        rng, t = self.rng, self.elem
        helpers = [self.helper(f"{self.name}_{k}") for k in range(rng.randint(0, 2))]
        kinds = [
            self.of_points, self.of_points, self.of_point, self.of_search, self.of_kept,
            self.of_updates, self.of_pairs,
        ]  # fmt: skip
        names = [f"r{k}" for k in range(rng.randint(1, 4))]
        for one in names:
            self.lines.append(f"  let {one} = {rng.choice(kinds)()}")
        head = f"entry {self.name} [n] (a: {t}) (d: {t}) (k: i64) (xs: [n]{t}) (ds: [n]{t}) "
        body = "\n".join([*helpers, f"{head}(is: [n]i64) =", *self.lines])
        sizes = [0, 1, rng.randint(2, 4), rng.randint(2, 6)]
        shown = ", ".join(names)
        return Generated(seed, self.name, f"{body}\n  in ({shown})\n", [*map(self.inputs, sizes)])

    def inputs(self, size: int) -> list[Value]:
        """Small whole numbers, of which many are zero; of floats some are no numbers."""
        is_float = self.elem in FLOATS
        low, high = (-2, 4) if is_float else int_range(self.elem)
        ends = (math.inf, -math.inf, math.nan) if is_float else (low, high)

        def number() -> float:
            far = self.rng.random() < 0.05
            return self.rng.choice(ends) if far else self.rng.randint(max(low, -2), 4)

        kind = DTYPE[self.elem].type
        a, d, k = number(), number(), self.rng.randint(-1, size + 1)
        arrays = [np.array([number() for _ in range(size)], kind) for _ in range(2)]
        at = np.array([self.rng.randint(-1, size + 1) for _ in range(size)], np.int64)
        return [kind(a), kind(d), np.int64(k), *arrays, at]

    # --- conditions ------------------------------------------------------------------------------

    def literal(self) -> str:
        return f"{self.rng.randint(0, 4)}{self.elem}"

    def compared(self, number: str) -> str:
        """A number of type `elem` against another."""
        other = self.rng.choice((self.literal(), self.x, self.d))
        return f"{number} {self.rng.choice(('<', '>', '==', '!=', '<=', '>='))} {other}"

    def risky(self) -> tuple[str, str]:
        """A guard, and a number of type `elem` that there is where it holds."""
        rng, t, x, d, i = self.rng, self.elem, self.x, self.d, self.i
        quotient = rng.choice(("/", "%") if t in FLOATS else ("/", "%", "//", "%%"))
        inside = rng.choice((f"0 <= {i} && {i} < n", f"!({i} < 0 || {i} >= n)"))
        half = f"f64.{t} {x} * 0.5"
        found = [
            (f"{d} != 0", f"({x} {quotient} {d})"),
            (f"!({d} == 0)", f"({x} {quotient} {d})"),
            (f"{d} > 1", f"({x} {quotient} ({d} - 1))"),
            (inside, f"xs[{i}]"),
            (f"{inside} && xs[{i}] != 0", f"({x} {quotient} xs[{i}])"),
            (f"{inside} && 0 <= is[{i}] && is[{i}] < n", f"ds[is[{i}]]"),
            (f"0 <= {i} && {i} <= n", f"({t}.sum xs[{i}:])"),
            (f"0 <= {i} && {i} < n", f"(last (take ({i} + 1) xs))"),
            (f"{i} == n", f"({t}.sum (xs :> [{i}]{t}))"),
            (f"{d} > 0", f"(assert ({d} > 0) {x})"),
            (f"{half} >= 0 && {half} < f64.i64 n", f"xs[i64.f64 ({half})]"),
            (f"0 <= {i} && {i} < 8", f"({x} ** {t}.i64 {i})"),
            (f"{i} > 0", f"({t}.i64 (64 / {i}) >> ({x} & 3))"),
            *[("true", f"({one} {x} {d} ({i} % 5))") for one in self.calls],
        ]
        if t in FLOATS:
            del found[-2 - len(self.calls) : len(found) - len(self.calls)]  # powers and bits
            found += [
                (f"{x} > 0", f"xs[i64.{t} ({x} / {x} - 1)]"),
                (f"!({t}.isnan {d}) && {d} >= 0 && {d} < {t}.i64 n", f"xs[i64.{t} {d}]"),
                (f"{x} == {x}", f"(assert ({x} == {x}) {d})"),
            ]
        return rng.choice(found)

    def guarded(self, depth: int) -> str:
        """A condition with something behind a guard."""
        guard, number = self.risky()
        if self.rng.random() < WRONG:
            guard = "true"
        rest = self.compared(number)
        if depth > 0 and self.rng.random() < 0.4:
            rest = f"({rest} {self.rng.choice(('&&', '||'))} {self.condition(depth - 1)})"
        other = self.condition(0) if depth > 0 else "false"
        t = self.elem
        return self.rng.choice([
            f"({guard} && {rest})",
            f"({guard} && {rest})",
            f"(!({guard}) || {rest})",
            f"!({guard} && {rest})",
            f"(if {guard} then {rest} else {other})",
            f"(if !({guard}) then {other} else {rest})",
            f"({self.compared(f'(if {guard} then {number} else 0{t})')})",
            f"(match ((if {guard} then #some {self.x} else #none): #none | #some {t}) "
            f"case #none -> {other} case #some _ -> {rest})",
        ])  # fmt: skip

    def condition(self, depth: int) -> str:
        """Any condition."""
        if depth <= 0 or self.rng.random() < 0.15:
            return f"({self.compared(self.x)})"
        if self.rng.random() < 0.7:
            return self.guarded(depth - 1)
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        return self.rng.choice((f"({a} && {b})", f"({a} || {b})", f"!({a})"))

    def number(self) -> str:
        """A number of type `elem`."""
        guard, number = self.risky()
        if self.rng.random() < WRONG:
            guard = "true"
        rest = self.rng.choice((self.x, self.d, self.literal()))
        more = f"{guard} && {self.condition(1)}" if self.rng.random() < 0.4 else guard
        return f"(if {more} then {number} else {rest})"

    # --- statements ------------------------------------------------------------------------------

    def over(self, x: str, d: str, i: str) -> _Writer:
        """The same with other names in scope."""
        return _Writer(self.rng, self.name, self.elem, x, d, i, calls=self.calls)

    def any(self, depth: int = 2) -> str:
        """A condition or a number."""
        return self.condition(depth) if self.rng.random() < 0.6 else self.number()

    def of_point(self) -> str:
        return self.any(3)

    def of_points(self) -> str:
        return f"map3 (\\x y j -> {self.over('x', 'y', 'j').any()}) xs ds is"

    def of_pairs(self) -> str:
        inner = self.over("x", self.rng.choice(("y", "d")), "j").any()
        return f"map (\\x -> map2 (\\y j -> {inner}) ds is) xs"

    def of_kept(self) -> str:
        kept = self.over("x", "y", "j").condition(2)
        return f"map (.0) (filter (\\(x, y, j) -> {kept}) (zip3 xs ds is))"

    def of_search(self) -> str:
        """A loop that ends at the end of an array, or before."""
        going = self.over("xs[j]", "ds[j]", "is[j]").condition(2)
        loop = f"loop j = 0 while j < n && {going} do j + 1"
        if self.rng.random() < 0.5:
            return loop
        return f"map (\\y -> loop j = 0 while j < n && (xs[j] != y && {going}) do j + 1) ds"

    def of_updates(self) -> str:
        """A loop that writes some elements."""
        inner = self.over("ys[j]", "ds[j]", "is[j]")
        cond, value = inner.condition(1), inner.number()
        return f"loop ys = copy xs for j < n do if {cond} then ys with [j] = {value} else ys"

    def helper(self, name: str) -> str:
        """A function that calls itself, some times less one."""
        t, rng = self.elem, self.rng
        before = _Writer(rng, self.name, t, "x", "y", "j", calls=self.calls.copy())
        scalar = [f"{before.x} / {before.d} > {self.literal()}", f"{before.x} % {before.d} == 0"]
        again = f"{name} (x + 1) y (j - 1)"
        divides = f"(y != 0 && ({rng.choice(scalar)}))"
        self.calls.append(name)
        end, rest = rng.choice(("x", "y", "x + y")), rng.choice(("x", "1", "y"))
        return f"def {name} (x: {t}) (y: {t}) (j: i64): {t} =\n  " + rng.choice([
            f"if j <= 0 || {divides} then {end} else {again}",
            f"if j > 0 && !{divides} then {rest} + {again} else {end}",
            f"if j > 0 then if {divides} then x / y else {again} else {end}",
            f"if j > 0 && {again} > x && {divides} then x % y else {end}",
        ])  # fmt: skip
