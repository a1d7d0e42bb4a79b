"""Random programs with sums that hold arrays, with inputs: under guards, in loops and in branches.

Variants hold arrays of numbers of several types, arrays of arrays and of pairs, sums and several of
these, of sizes that are told by the type or differ from one branch, round or point to the next. One
size may be negative or huge: it stands behind a guard; so do literals below 0. Sums are made and
matched one at a time, mapped, stored, folded, updated, scattered, handed through functions and
given back; points make several results, of which some are rows. No program fails.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from compiler.ir.values import Value
from testing.generators.storage import Generated

HUGE = 1 << 40
NEGATIVE = ("(-1)", "(-3)", "(-1099511627776)")
GUARD = "0 <= k && k <= 20"
SCALARS = ("c", "length xs", "k % 7")


@dataclass(frozen=True)
class Kind:
    """A sum type, `{s}` its size; its variants with what they hold, `{a}` an array, `{x}` a number.

    `none` holds nothing, and is the neutral element of `plus`. `total` are cases that make a number
    of each variant.
    """

    type: str
    none: str
    variants: tuple[str, ...]
    total: str
    plus: str = "case (x, _) -> x"


KINDS = {
    "opt": Kind(
        "#none | #some ([{s}]i64)",
        "#none",
        ("#some {a}",),
        "case #none -> -1 case #some xs -> i64.sum xs + 100 * length xs",
        "case (#some x, #some y) -> #some (map2 (+) x y) case (x, _) -> x",
    ),
    "two": Kind(
        "#left ([{s}]i64) | #right i64 ([{s}]i64) | #zero",
        "#zero",
        ("#left {a}", "#right {x} {a}"),
        "case #left xs -> i64.sum xs case #right x ys -> x - i64.sum ys case #zero -> -1",
    ),
    "rows": Kind(
        "#grid ([3][{s}]i64) | #pairs ([{s}](i64, bool)) | #zero",
        "#zero",
        ("#grid (replicate 3 {a})", "#pairs (map (\\q -> (q, q % 2 == 0)) {a})"),
        "case #grid m -> i64.sum (flatten m) case #zero -> -1"
        " case #pairs ps -> i64.sum (map (\\(q, b) -> if b then q else -q) ps)",
    ),
    "deep": Kind(
        "#full (#none | #some ([{s}]i64)) ([{s}]i64) | #zero",
        "#zero",
        ("#full #none {a}", "#full (#some {a}) {a}"),
        "case #zero -> -1 case #full #none ys -> i64.sum ys"
        " case #full (#some xs) ys -> 7 * i64.sum xs + i64.sum ys",
    ),
    "small": Kind(
        "#trio ([3]i64) | #more ([{s}]i64) | #zero",
        "#zero",
        ("#trio [{x}, 1, {x} + 2]", "#more {a}"),
        "case #trio t -> t[0] * t[2] case #more xs -> i64.sum xs case #zero -> -1",
    ),
    "half": Kind(
        "#none | #some ([{s}]f16)",
        "#none",
        ("#some (map f16.i64 {a})",),
        "case #none -> -1 case #some xs -> i64.f16 (f16.sum (map (% 16) xs)) + length xs",
        "case (#some x, #some y) -> #some (map2 (+) x y) case (x, _) -> x",
    ),
    "mixed": Kind(
        "#bytes u16 ([{s}]u8) | #pairs ([{s}](f32, i16)) | #flags ([{s}]bool) ([2]f64) | #zero",
        "#zero",
        (
            "#bytes (u16.i64 {x}) (map u8.i64 {a})",
            "#pairs (map (\\q -> (f32.i64 q, i16.i64 q)) {a})",
            "#flags (map (\\q -> q % 3 == 1) {a}) [f64.i64 {x}, 0.5]",
        ),
        "case #zero -> -1 case #bytes b xs -> i64.u16 b - i64.sum (map i64.u8 xs)"
        " case #pairs ps -> i64.sum (map (\\(f, i) -> i64.f32 (f % 64) - i64.i16 i) ps)"
        " case #flags bs fs -> i64.sum (map i64.bool bs) + i64.f64 (fs[0] + fs[1])",
    ),
}


def program(seed: int, name: str = "main") -> Generated:
    """The program of that seed: 1 to 4 statements and 4 inputs, one of them without elements."""
    return _Writer(random.Random(f"payloads {seed}"), name).program(seed)


@dataclass
class _Writer:
    """`i` is a number that is in scope."""

    rng: random.Random
    name: str
    used: dict[str, None] = field(default_factory=dict)
    i: str = "c"

    def program(self, seed: int) -> Generated:
        """An entry point, the functions that it calls, and what it is run on."""
        rng = self.rng
        kinds = [self.at_once, self.mapped, self.stored, self.stored, self.looped, self.negative]
        names: list[str] = []
        lines: list[str] = []
        for k in range(rng.randint(1, 4)):
            if rng.random() < 0.3:
                several, text = self.several([f"r{k}a", f"r{k}b", f"r{k}c"])
                bound = several[0] if len(several) == 1 else f"({', '.join(several)})"
                lines.append(f"  let {bound} = {text}")
                names += several
            else:
                lines.append(f"  let r{k} = {rng.choice(kinds)(self.kind())}")
                names.append(f"r{k}")
        head = f"entry {self.name} [n] (c: i64) (k: i64) (xs: [n]i64) ="
        shown = names[0] if len(names) == 1 else f"({', '.join(names)})"
        body = "\n".join([*map(self.functions, self.used), head, *lines, f"  in {shown}\n"])
        return Generated(seed, self.name, body, [self.inputs(n) for n in (0, 1, 3, 6)])

    def inputs(self, size: int) -> list[Value]:
        """Small numbers, and a size that is none or huge as often as not."""
        k = self.rng.choice((-3, 0, 1, 2, 5, HUGE, -HUGE))
        xs = [self.rng.randint(-3, 9) for _ in range(size)]
        return [np.int64(self.rng.randint(0, 4)), np.int64(k), np.array(xs, np.int64)]

    def kind(self) -> str:
        kind = self.rng.choice(list(KINDS))
        self.used[kind] = None
        return kind

    def functions(self, kind: str) -> str:
        """Return functions on a kind of sum: total, fold of two, identity, construction."""
        of, own = KINDS[kind], f"{self.name}_{kind}"
        any_, sized = of.type.format(s=""), of.type.format(s="m")
        return (
            f"def {own}_any (o: {any_}): i64 = match o {of.total}\n"
            f"def {own}_total [m] (o: {sized}): i64 = match o {of.total}\n"
            f"def {own}_plus [m] (a: {sized}) (b: {sized}): ({sized}) =\n"
            f"  match (a, b) case ({of.none}, y) -> y {of.plus}\n"
            f"def {own}_same 'a (keep: bool) (o: a) (other: a): a = if keep then o else other\n"
            f"def {own}_made (k: i64) (i: i64): ({of.type.format(s='k')}) =\n"
            f"  if {GUARD} then {self.variant(of.variants, 'k', 'i')} else {of.none}"
        )

    # --- sums ------------------------------------------------------------------------------------

    def condition(self) -> str:
        one = self.rng.choice((self.i, *SCALARS))
        return f"({one} + {self.rng.randint(0, 3)}) % {self.rng.randint(2, 3)} == 0"

    def array(self, size: str, i: str = "") -> str:
        made = self.rng.choice(("(iota {s})", "(map (+ {i}) (iota {s}))", "(replicate {s} {i})"))
        return made.format(s=size, i=i or self.i)

    def size(self) -> str:
        """A size that an array can have."""
        return self.rng.choice(("3", "n", f"({self.i} % 4 + 4)", "(i64.max 0 (i64.min 5 k))"))

    def variant(self, which: tuple[str, ...], size: str, i: str = "") -> str:
        return f"({self.rng.choice(which).format(a=self.array(size, i), x=i or self.i)})"

    def sum(self, kind: str, size: str = "", depth: int = 2) -> str:
        """A value; without a size, one variant has arrays, of sizes that differ in branches."""
        of = KINDS[kind]
        if size:
            return self.chosen(of, of.variants, size, depth)
        holding = self.rng.choice([one for one in of.variants if "{a}" in one])
        others = tuple(one for one in of.variants if "{a}" not in one)
        while True:
            text = self.chosen(of, (holding, *others), "", depth)
            if holding.partition("{")[0] in text:
                return text

    def chosen(self, of: Kind, which: tuple[str, ...], size: str, depth: int) -> str:
        """One of these variants, or none, by some conditions."""
        none = of.none
        draw = self.rng.random()
        if size in NEGATIVE:
            return none
        if depth and draw < 0.6:
            one, other = (self.chosen(of, which, size, depth - 1) for _ in range(2))
            if draw < 0.15:
                return f"(match {self.i} % 3 case 0 -> {one} case 1 -> {none} case _ -> {other})"
            return f"(if {self.condition()} then {one} else {other})"
        if size == "k" or (not size and draw < 0.75):
            return f"(if {GUARD} then {self.variant(which, 'k')} else {none})"
        return none if draw < 0.8 else self.variant(which, size or self.size())

    def of_type(self, kind: str, size: str) -> str:
        """A value whose type is said."""
        return f"({self.sum(kind, size)}: {KINDS[kind].type.format(s=size)})"

    def total(self, kind: str) -> str:
        return f"{self.name}_{kind}_total"

    # --- statements ------------------------------------------------------------------------------

    def at_once(self, kind: str) -> str:
        """One value: matched at once, bound, or handed through a function."""
        forms = ["{f} {v}", "{f} {v}", "same"]
        forms += ["match {v} {t}", "let o: {any} = {v} in {f} o"] if kind == "opt" else []
        form = self.rng.choice(forms)
        if form == "same":
            size = self.rng.choice(("k", "n"))
            pair = [self.of_type(kind, size) for _ in range(2)]
            kept = f"{self.name}_{kind}_same ({self.condition()})"
            return f"{self.total(kind)} ({kept} {pair[0]} {pair[1]})"
        any_ = KINDS[kind].type.format(s="")
        value = f"({self.sum(kind)}: {any_})" if form[0] == "m" else self.sum(kind)
        return form.format(v=value, t=KINDS[kind].total, f=self.total(kind), any=any_)

    def mapped(self, kind: str) -> str:
        """A value for each point, of sizes that may be its own."""
        self.i = "i"
        inner = self.rng.choice((self.at_once, self.at_once, self.looped))(kind)
        self.i = "c"
        return f"map (\\i -> {inner}) xs"

    def stored(self, kind: str) -> str:
        """An array of sums, and what is done with it."""
        size, f = self.rng.choice(("k", "k", "n", "3")), self.total(kind)
        self.i = "i"
        rows = f"map (\\i -> {self.of_type(kind, size)}) xs"
        self.i = "c"
        one, none = self.of_type(kind, size), KINDS[kind].none
        plus, t = f"{self.name}_{kind}_plus", KINDS[kind].type.format(s=size)
        form = self.rng.choice(
            (
                "map {f} os",
                "map {f} (os ++ [{v}])",
                "map {f} [{v}, {none}, {w}]",
                "map {f} (scan {plus} {none} os)",
                "{f} (reduce {plus} {none} os)",
                "{f} (if n > 1 then os[n - 1] else {v})",
                "map {f} (let os = copy os in if n > 2 then os with [1] = {v} else os)",
                "map {f} (scatter (replicate 4 ({none}: {t})) (map (4 -) (iota n)) os)",
                "map {f} (hist {plus} {none} 3 (map (% 3) (iota n)) os)",
                "map (\\o -> {f} o + 1) (reverse os)",
                "map (\\o -> {f} ({plus} o {v})) os",
                "i64.sum (map (\\j -> {f} (loop o = {v} for i < j % 3 do {plus} o {v})) xs)",
            )
        )
        text = form.format(f=f, plus=plus, none=none, v=one, w=self.of_type(kind, size), t=t)
        return f"let os = {rows} in {text}"

    def negative(self, kind: str) -> str:
        """Variants that are never chosen, with literals below 0 for their sizes."""
        size, f, made = self.rng.choice(NEGATIVE), self.total(kind), f"{self.name}_{kind}_made"
        none, t = KINDS[kind].none, KINDS[kind].type.format(s=size)
        form = self.rng.choice(
            (
                "{f} ({m} {s} c)",
                "map (\\i -> {f} ({m} {s} i)) xs",
                "let os = map (\\i -> {m} {s} i) xs in map {f} os",
                "map {f} (map (\\i -> ({m} {s} i): {t}) xs ++ [{m} {s} c])",
                "{f} (reduce {p} {none} (map (\\i -> {m} {s} i) xs))",
                "{f} (if n > 2 then {m} {s} n else ({none}: {t}))",
                "{f} (loop (o: {t}) = {none} for j < c do if j % 2 == 0 then {m} {s} j else o)",
            )
        )
        plus = f"{self.name}_{kind}_plus"
        return form.format(f=f, m=made, s=size, none=none, t=t, p=plus)

    def several(self, names: list[str]) -> tuple[list[str], str]:
        """Names for what is made of the two or three results of one map, and its text."""
        count, row = self.rng.choice((2, 2, 3)), self.rng.random() < 0.4
        together = count == 2 and self.rng.random() < 0.4
        self.i = "i"
        rows = [row if together else self.rng.random() < 0.4 for _ in range(count)]
        parts = [(self.row if one else self.point)(self.kind()) for one in rows]
        self.i = "c"
        unzip = "unzip3" if count == 3 else "unzip"
        made = f"{unzip} (map (\\i -> ({', '.join(parts)})) xs)"
        if not together:
            return names[:count], made
        one = self.rng.choice(("a ++ b", "[b, a]", "reverse a ++ b", "concat b a"))
        text = f"let (a, b) = {made} in {one}"
        return names[:1], text

    def point(self, kind: str) -> str:
        """A number that a point makes of a sum."""
        if self.rng.random() < 0.2:
            return f"(match {self.of_type(kind, 'n')} {KINDS[kind].total})"
        return f"({self.total(kind)} {self.sum(kind)})"

    def row(self, kind: str) -> str:
        """Three numbers that a point makes of sums."""
        forms = (
            "(loop r = replicate 3 i for t < 2 do r with [t + 1] = r[t] + {p})",
            "(scan (+) 0 [i, {p}, 1])",
            "(if i % 2 == 0 then [{p}, i, 0] else replicate 3 {q})",
        )
        return self.rng.choice(forms).format(p=self.point(kind), q=self.point(kind))

    def looped(self, kind: str) -> str:
        """A value that rounds of a loop exchange for others."""
        none, before = KINDS[kind].none, self.i
        sizes = ("", "", "k", "n") if kind in ("opt", "small") else ("k", "n")
        any_ = KINDS[kind].type.format(s=self.rng.choice(sizes))
        self.i = "j"
        size = next((s for s in ("k", "n") if f"[{s}]" in any_), "")
        first, other = self.sum(kind, size, 1), self.sum(kind, size, 1)
        self.i = before
        grown = "case #some ys -> #some (ys ++ [j])" if kind == "opt" and not size else ""
        step = f"match s case {none} -> {first} {grown} case o -> if j % 2 == 0 then o else {other}"
        if grown:
            step = f"match s case {none} -> {first} {grown}"
        f = self.total(kind) if size else f"{self.name}_{kind}_any"
        return f"{f} (loop (s: {any_}) = {none} for j < c do {step})"
