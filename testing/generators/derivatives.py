# ruff: noqa: E501
"""Random functions that can be derived, of a scalar and an array, with their slopes both ways.

Each is a row of statements over scalars and arrays of one size, of all kinds that reverse mode has
rules for. Numbers stay small, so that differences tell slopes.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from compiler.ir.values import Value

SIZE = 4


class Derived(NamedTuple):
    """A program, whose entry points are `forward` and `reverse`, and their arguments.

    `forward` takes a point and a direction, `reverse` a point; `plain` is the function itself.
    `all` takes steps as well, and gives slopes in reverse, forward, and by central differences.
    """

    source: str
    point: list[Value]
    direction: list[Value]


class _Function:
    """Statements under construction."""

    def __init__(self, seed: int, name: str) -> None:
        self.name = name
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.scalars = ["w"]
        self.arrays = ["xs"]

    def one(self) -> str:
        """A scalar."""
        return self.random.choice(self.scalars[-4:])

    def row(self) -> str:
        """An array."""
        return self.random.choice(self.arrays[-4:])

    def at(self) -> str:
        """An index."""
        return str(self.random.randrange(SIZE))

    def scalar(self) -> str:
        """An expression of a scalar."""
        a, b, c = self.one(), self.one(), self.one()
        xs = self.row()
        return self.random.choice(
            (
                f"{a} * {b} + f64.sin {c}",
                f"f64.exp (-({a} * {a})) - {b}",
                f"if {a} > {b} then {b} * {c} else {a} - {c}",
                f"f64.max {a} (f64.min {b} {c})",
                f"{xs}[{self.at()}] * {a}",
                f"f64.sum {xs}",
                f"f64.maximum {xs} - f64.minimum {xs}",
                f"f64.product (map f64.cos {xs})",
                f"reduce (\\a b -> a + b + a * b / 8) 0 (map f64.sin {xs})",
                f"(reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (f64.cos x, x)) {xs})).1",
                f"loop a = {a} for i < {SIZE} do f64.sin (a * {b} + {xs}[i])",
                f"(loop (a, i) = ({a}, 0) while i < 3 do (f64.cos (a + {xs}[i]), i + 1)).0",
                f"loop a = {a} for i < 3 do loop a for j < i do f64.sin (a + {xs}[j] * {b})",
                f"f64.sum (map (\\x -> if x > {a} then x * {b} else {xs}[{self.at()}]) {xs})",
                f"with_vjp_tape (\\x -> (x, f64.sin x)) (\\(x, s) -> s * f64.cos x) ({a} * {b})",
                f"#[stripmine] loop a = {a} for i < {self.random.randrange(7)} do f64.sin (a * {b} + {xs}[i % {SIZE}])",
                f"f64.sum (loop (zs: []f64) = {xs} for i < 2 do map f64.sin (zs ++ map (* {a}) zs))",
                f"match ((if {a} > {b} then #left {c} else #right {a} {b}) : side{self.name}) case #left x -> f64.sin x case #right x y -> x * y",
            )
        )

    def array(self) -> str:
        """An expression of an array."""
        xs, ys, a, b = self.row(), self.row(), self.one(), self.one()
        return self.random.choice(
            (
                f"map (\\x -> f64.sin x * {a}) {xs}",
                f"map2 (\\x y -> x * y + {a}) {xs} {ys}",
                f"scan (+) 0 (map f64.sin {xs})",
                f"scan (*) 1 (map f64.cos {xs})",
                f"scan f64.max (-9) {xs}",
                f"map (.1) (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (f64.cos x, x)) {xs}))",
                f"reverse {xs}",
                f"rotate {self.at()} {xs}",
                f"map (\\i -> {xs}[(i * 3 + 1) % {SIZE}] * {a}) (iota {SIZE})",
                f"(copy {xs}) with [{self.at()}] = {a} * {ys}[{self.at()}]",
                f"scatter (copy {xs}) [1, 3, 0, 9] {ys}",
                f"reduce_by_index (copy {xs}) (+) 0 [1, 3, 1, 9] {ys}",
                f"reduce_by_index (copy {xs}) f64.max (-9) [1, 3, 1, 9] {ys}",
                f"reduce_by_index (map f64.sin {xs}) (\\a b -> a + b + a * b / 8) 0 [1, 0, 1, 9] (map f64.cos {ys})",
                f"if {a} > {b} then {xs} else map (* {a}) {ys}",
                f"loop ys = {xs} for i < 3 do map (\\y -> f64.sin (y + {ys}[i])) ys",
                f"loop ys = copy {xs} for i < {SIZE - 1} do ys with [i + 1] = f64.sin (ys[i] + {ys}[i] * {a})",
                f"map (\\x -> f64.sum (map (\\y -> f64.sin (x * y + {a})) {ys}) / 4) {xs}",
                f"map (\\x -> loop y = x for i < 3 do f64.sin (y * {a} + {ys}[i])) {xs}",
                f"map (\\i -> loop y = {a} for j < i do f64.cos (y + {ys}[j] * {xs}[i])) (iota {SIZE})",
                f"take {SIZE} (rotate 1 ({xs} ++ {ys}))",
                f"#[stripmine] loop ys = copy {xs} for i < 5 do ys with [i % {SIZE}] = f64.sin (ys[(i + 1) % {SIZE}] + {a})",
                f"take {SIZE} (loop (zs: []f64) = {ys} while length zs < 9 do map (* {a}) zs ++ map f64.cos {xs}) :> [{SIZE}]f64",
                f"map (\\x -> with_vjp (\\x -> f64.exp (f64.sin x)) (\\e s -> s * e * f64.sqrt (1 - f64.log e ** 2)) (x / 99 + 0.1)) {xs}",
                f"map (\\r -> f64.sum (map2 (*) r {xs})) (tabulate_2d {SIZE} {SIZE} (\\i j -> {ys}[(i * j) % {SIZE}] * {a})) :> [{SIZE}]f64",
                f"reduce (map2 (+)) (replicate {SIZE} 0) (map (\\x -> map (\\y -> f64.sin (x * y)) {ys}) {xs})",
                f"flatten (transpose (unflatten ({xs} :> [2 * 2]f64))) :> [{SIZE}]f64",
                f"map f64.sin (map (\\row -> row[0] * f64.sum row) (tabulate_2d {SIZE} 2 (\\i j -> {xs}[(i + j) % {SIZE}])))",
            )
        )

    def body(self, count: int) -> str:
        """So many statements, and a result that all of the last ones count for."""
        for k in range(count):
            if self.random.random() < 0.4:
                self.lines.append(f"  let s{k} = {self.scalar()}\n")
                self.scalars.append(f"s{k}")
            else:
                self.lines.append(f"  let v{k}: [{SIZE}]f64 = {self.array()}\n")
                self.arrays.append(f"v{k}")
        last = " + ".join([*self.scalars[-2:], *(f"f64.sum {a}" for a in self.arrays[-2:])])
        return "".join(self.lines) + f"  in {last}\n"


def program(seed: int, name: str = "") -> Derived:
    """The function of a seed; with a `name`, which its own end in, many can be in one program.

    Then there is `all` alone, else the other entry points.
    """
    own = f"_{name}" if name else ""
    made = _Function(seed, own)
    body = made.body(made.random.randrange(2, 7))
    at = f"(w: f64) (xs: [{SIZE}]f64)"
    function = f"type side{own} = #left f64 | #right f64 f64\ndef f{own} (w: f64, xs: [{SIZE}]f64) =\n{body}\n"
    entries = (
        f"entry plain {at} = f (w, xs)\n"
        f"entry reverse {at} = vjp f (w, xs) 1\n"
        f"entry forward {at} (v: f64) (ys: [{SIZE}]f64) =\n"
        "  jvp f (w, xs) (v, ys)\n"
    )
    together = (
        f"entry all{name} {at} (v: f64) (ys: [{SIZE}]f64) (steps: []f64) =\n"
        f"  let at t = f{own} (w + t * v, map2 (\\x y -> x + t * y) xs ys)\n"
        f"  in (vjp f{own} (w, xs) 1, jvp f{own} (w, xs) (v, ys), map (\\h -> (at h - at (-h)) / (2 * h)) steps)\n"
    )
    source = function + (together if name else entries)
    numbers = np.random.default_rng(seed)
    point: list[Value] = [np.float64(numbers.normal()), numbers.normal(size=SIZE)]
    direction: list[Value] = [np.float64(numbers.normal()), numbers.normal(size=SIZE)]
    return Derived(source, point, direction)
