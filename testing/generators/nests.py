"""Random maps with a loop inside, whose points share what they read: the programs that are tiled.

One, two or three dimensions of points; in each a loop or a reduction over arrays that depend on
some of the dimensions, read forward, backward, shifted, by halves, or where a table says. Numbers
are small and whole, so that sums of floats are exact in any order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from compiler.ir.values import Value
from testing.generators.programs import Generated

KINDS = {"i32": "i4", "i64": "i8", "u8": "u1", "i16": "i2", "f32": "f4", "f64": "f8", "f16": "f2"}
ARRAYS = {
    "a": "ik", "b": "jk", "at": "ki", "bt": "kj", "c": "ij", "u": "i", "v": "j", "w": "k",
    "q": "l", "al": "lik", "bl": "lkj",
}  # fmt: skip
"""Arrays and the dimensions of each: points `l`, `i` and `j`, and the loop's `k`."""
SIZES = {"l": "o", "i": "n", "j": "m", "k": "p"}
SIDES = (1, 2, 31, 32, 33, 35, 40, 63, 64, 65)
LINES = (1, 2, 127, 128, 129, 140, 255, 257)
STEPS = (0, 1, 2, 3, 7, 8, 9, 16, 17)


@dataclass
class _Nest:
    """One program."""

    rng: random.Random
    points: str
    kind: str
    used: set[str] = field(default_factory=set)
    tables: bool = False

    def read(self, inside: bool) -> str:
        """An element of one of the arrays; `inside` of the loop by its counter as well."""
        known = {*self.points, "k"} if inside else set(self.points)
        fit = [name for name, dims in ARRAYS.items() if set(dims) <= known]
        name = self.rng.choice(fit)
        self.used.add(name)
        return f"{name}[{', '.join(self.index(dim) for dim in ARRAYS[name])}]"

    def index(self, dim: str) -> str:
        """Where: mostly the dimension's own index."""
        size = SIZES[dim]
        if self.rng.random() < 0.7:
            return dim
        other = self.rng.choice(("back", "next", "half", "table", "first"))
        if other == "table":
            self.tables = True
            return f"table[{dim} % 7] % {size}"
        texts = {
            "back": f"{size} - 1 - {dim}",
            "next": f"i64.min ({dim} + 1) ({size} - 1)",
            "half": f"{dim} / 2",
            "first": "0",
        }
        return texts[other]

    def term(self, inside: bool, depth: int = 2) -> str:
        """A number made of elements."""
        if depth == 0 or self.rng.random() < 0.25:
            return self.read(inside)
        first, second = (self.term(inside, depth - 1) for _ in range(2))
        form = self.rng.random()
        if form < 0.4:
            return f"({first} * {second})"
        if form < 0.7:
            return f"({first} + {second})"
        if form < 0.85:
            return f"({self.kind}.max {first} {second})"
        return f"(if {first} < {second} then {second} else {first})"

    def bound(self) -> str:
        """Return a number of steps for the loop."""
        bounds = ["p", "p", "p", "p / 2", "i64.min p 3"]
        if "i" in self.points:
            bounds += ["i64.min p i", "i64.min p (i % 3)"]
        return self.rng.choice(bounds)

    def value(self) -> str:
        """Return the expression that one point computes."""
        one, two = self.term(True), self.term(True)
        start = self.term(False) if self.rng.random() < 0.3 else f"{self.kind}.i64 1"
        forms = [
            f"loop s = {start} for k < {self.bound()} do s + {one}",
            f"loop s = {start} for k < {self.bound()} do {self.kind}.max s {one}",
            f"{self.kind}.sum (map (\\k -> {one}) (iota p))",
            f"{self.kind}.maximum (map (\\k -> {one}) (iota p))"
            if self.kind[0] != "f"
            else f"{self.kind}.sum (map (\\k -> {one}) (iota (p / 2)))",
            f"(\\(s, t) -> s + t) (loop (s, t) = ({start}, {start}) for k < {self.bound()} do"
            f" (s + {one}, {self.kind}.max t {two}))",
            f"loop s = {start} for k < {self.bound()} do"
            f" if {two} > {self.kind}.i64 2 then s + {one} else s",
        ]
        found = self.rng.choice(forms)
        return f"({found}) + {self.term(False, 1)}" if self.rng.random() < 0.4 else found


def program(seed: int, name: str = "main") -> Generated:
    """The program of that seed, with one input."""
    rng = random.Random(f"nest {seed}")
    nest = _Nest(rng, rng.choice(("i", "ij", "ij", "ij", "lij")), rng.choice(list(KINDS)))
    body = nest.value()
    made = {
        "i": f"tabulate n (\\i -> {body})",
        "ij": f"tabulate_2d n m (\\i j -> {body})",
        "lij": f"tabulate_3d o n m (\\l i j -> {body})",
    }[nest.points]
    sides = LINES if nest.points == "i" else SIDES
    sizes = {
        "o": rng.choice((1, 2, 3)), "n": rng.choice(sides), "m": rng.choice(SIDES),
        "p": rng.choice(STEPS),
    }  # fmt: skip
    used = [one for one in ARRAYS if one in nest.used]
    params = ["(table: [7]i64)", "(o: i64)", "(n: i64)", "(m: i64)", "(p: i64)"]
    numbers = np.random.default_rng(seed)
    inputs: list[Value] = [numbers.integers(0, 7, 7)]
    inputs += [np.int64(sizes[one]) for one in "onmp"]
    for one in used:
        shape = [SIZES[dim] for dim in ARRAYS[one]]
        params.append(f"({one}: {''.join(f'[{size}]' for size in shape)}{nest.kind})")
        drawn = numbers.integers(0, 4, [sizes[size] for size in shape])
        inputs.append(drawn.astype(KINDS[nest.kind]))
    source = f"entry {name} {' '.join(params)} =\n  {made}\n"
    return Generated(seed, source, inputs)
