"""Random kernels with several results in one destination, whose rows are made one after the other.

Each program has a few maps over the same points, which fuse into one kernel. A point makes rows: by
a loop over the row, in loops that carry one or two rows, of parts, in branches, from a row of the
destination itself, or one row for two results. The results go into one array: a literal, a
concatenation, updates of rows, columns or strides, in a loop or a branch of the program. Numbers
are of any type: operators of integers wrap, floats are sums and differences of small whole numbers,
so that any order of points gives the same.
"""

from __future__ import annotations

import random

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.prim import FLOATS, Prim
from compiler.ir.values import Value
from testing.generators.programs import Generated

OPS = ("+", "-", "*", "&", "|", "^")
FLOAT_OPS = ("+", "-")
TYPES: tuple[Prim, ...] = (
    *("i32", "i32", "i64", "u8", "i8", "i16", "u16", "u32", "u64"),
    *("f16", "f32", "f64"),
)
MOST = {"f16": (1, 2), "f32": (2, 4)}
"""The largest number of an input, and of rounds: what sums and products come to is exact."""
SIZES = (1, 2, 3, 5, 8, 33)
HEAD = "entry main [n][m] (arr: [n]TYPE) (mat: [m][n]TYPE) (is: [m]TYPE) (k: i64) =\n"


def program(seed: int) -> Generated:
    """The program of that seed."""
    rng = random.Random(f"results {seed}")
    elem = rng.choice(TYPES)
    writer = _Writer(rng, elem)
    source = HEAD.replace("TYPE", elem) + writer.destination()
    n, m = rng.choice(SIZES), rng.choice(SIZES)
    most, rounds = MOST.get(elem, (9, 5))

    def numbers(*shape: int) -> np.ndarray:
        values = [rng.randint(-most, most) for _ in range(int(np.prod(shape)))]
        return np.array(values).astype(DTYPE[elem]).reshape(shape)

    given: list[Value] = [numbers(n), numbers(m, n), numbers(m), np.int64(rng.randint(0, rounds))]
    return Generated(seed, source, given)


class _Writer:
    """One program."""

    def __init__(self, rng: random.Random, elem: Prim) -> None:
        self.rng = rng
        self.elem = elem
        self.ops = FLOAT_OPS if elem in FLOATS else OPS

    def one(self, *texts: str) -> str:
        return self.rng.choice(texts)

    # --- rows, of n elements, from `i` (a number) and `r` (a row of mat) ---

    def row(self, depth: int = 0) -> str:
        """A row that a point makes."""
        kinds = [self.stepped, self.stepped, self.scanned, self.carried, self.rounds]
        if depth < 2:
            kinds += [self.branch, self.joined, self.patched]
        return self.rng.choice(kinds)(depth)

    def start(self) -> str:
        """Return an initial value of a row."""
        return self.one("copy arr", "copy r", "replicate n i", "map (* i) arr", "map2 (+) arr r")

    def stepped(self, depth: int) -> str:
        op, other = self.one(*self.ops), self.one("i", "r[j]", "arr[n - 1 - j]")
        step = f"x with [j + 1] = x[j] {op} x[j + 1] + {other}"
        return f"(loop x = {self.start()} for j < n - 1 do {step})"

    def scanned(self, depth: int) -> str:
        folds = [("+", "0"), ("*", "1"), ("^", "0"), ("|", "0")]
        op, neutral = self.rng.choice(folds[:1] if self.elem in FLOATS else folds)
        return f"(scan ({op}) {neutral} ({self.start()}))"

    def carried(self, depth: int) -> str:
        """Two rows that a loop carries, which may change places."""
        ends = self.one("(b, a)", "(a, b)", "(map (+ i) b, a)", "(a, map2 (-) a b)")
        row = f"[n]{self.elem}"
        begin = f"({self.start()}, {self.start()})"
        both = f"(loop (a: {row}, b: {row}) = {begin} for _t < 3 do {ends})"
        return f"(let (a, b) = {both} in map2 ({self.one(*self.ops)}) a b)"

    def rounds(self, depth: int) -> str:
        """A row made anew in each round."""
        step = self.one("scan (+) 0 x", "map2 (*) x arr", "rotate 1 x", "reverse x")
        return (
            f"(loop (x: [n]{self.elem}) = {self.start()} for _t < {self.one('2', 'k')} do {step})"
        )

    def branch(self, depth: int) -> str:
        cond = self.one("i > 2", "i % 2 == 0", "k > 1")
        return f"(if {cond} then {self.row(depth + 1)} else {self.row(depth + 1)})"

    def joined(self, depth: int) -> str:
        """A row from two parts, each of which a loop makes."""
        parts = [f"(take h {self.row(depth + 1)})", f"(drop h {self.row(depth + 1)})"]
        return f"(let h = n / {self.one('2', '3')} in {' ++ '.join(parts)} :> [n]{self.elem})"

    def patched(self, depth: int) -> str:
        """A row with a part of another."""
        part = self.row(depth + 1)
        return f"(let x = {self.row(depth + 1)} let h = n / 2 in x with [0:h] = take h {part})"

    # --- results of kernels: arrays of m rows ---

    def rows(self, of: str = "mat") -> str:
        """A map, by itself."""
        return f"(map2 (\\i r -> {self.row()}) is {of})"

    def together(self, count: int) -> str:
        """So many results of one map, as a tuple; perhaps one row for two of them."""
        rows = [self.row() for _ in range(count)]
        before = ""
        if self.rng.random() < 0.2:
            before = f"let x = {rows[0]} in "
            rows[:2] = "x", "x"
        unzip = f"unzip{count}" if count > 2 else "unzip"
        return f"{unzip} (map2 (\\i r -> {before}({', '.join(rows)})) is mat)"

    def results(self, count: int) -> tuple[str, list[str]]:
        """Statements, and expressions for so many results."""
        if self.rng.random() < 0.5:
            return "", [self.rows() for _ in range(count)]
        names = [f"y{at}" for at in range(count)]
        return f"  let ({', '.join(names)}) = {self.together(count)}\n", names

    # --- destinations ---

    def destination(self) -> str:
        """The body of the program."""
        kinds = (self.literal, self.concatenation, self.row_updates, self.column_updates)
        kind = self.rng.choice(kinds)
        where = self.rng.random()
        if where < 0.15:
            return f"  if k > 2 then (\n{kind()}\n  ) else (\n{kind()}\n  )"
        if where < 0.3:
            return f"  let out =\n{kind()}\n  in (out, {self.rows()})"
        return kind()

    def literal(self) -> str:
        before, results = self.results(self.rng.choice((2, 2, 3)))
        whole = f"[{', '.join(results)}]"
        return (
            f"{before}  let out = {whole}\n  in flatten out :> [{len(results)} * m][n]{self.elem}"
            + (" |> take (2 * m)" if len(results) == 3 else "")
        )

    def concatenation(self) -> str:
        before, (one, other) = self.results(2)
        if self.rng.random() < 0.3:
            one = f"(reverse {one})"
        return f"{before}  let out = {one} ++ {other}\n  in out :> [2 * m][n]{self.elem}"

    def row_updates(self) -> str:
        """Updates of rows, perhaps in a loop, one after the other or by turns."""
        before, results = self.results(2)
        first, second = self.rng.choice([("0:m", "m:2 * m"), ("::2", "1::2"), ("m:2 * m", "0:m")])
        if self.rng.random() < 0.3:
            results[1] = self.rows(f"(d[0:m] :> [m][n]{self.elem})")
        steps = f"let d[{first}] = {results[0]} let d[{second}] = {results[1]} in d"
        start = f"replicate (2 * m) (replicate n 0{self.elem})"
        if self.rng.random() < 0.3:
            rounds = self.one("2", "k")
            last = "in " if before else ""
            return f"{before}  {last}loop d = {start} for _t < {rounds} do {steps}"
        return f"{before}  let d = {start} {steps}"

    def column_updates(self) -> str:
        """Updates of columns; the result is cut to rows of n."""
        before, (one, other) = self.results(2)
        steps = f"let d[:, 0:n] = {one} let d[:, n:2 * n] = {other}"
        return (
            f"{before}  let d = replicate m (replicate (2 * n) 0{self.elem}) {steps}\n"
            f"  in unflatten (flatten d :> [2 * m * n]{self.elem}) :> [2 * m][n]{self.elem}"
        )
