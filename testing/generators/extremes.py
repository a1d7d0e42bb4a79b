"""Random programs at the ends of 64 bits, with inputs: many fail, none may touch foreign memory.

Sizes, indices, bounds and strides are made of parameters and literals that are 0, 1 and -1 or lie
next to powers of two where sums and products wrap around. Guards, loops with signed and unsigned
bounds, while loops, sizes that only types carry, writes before a size turns out to be negative, and
memory that each thread needs for itself.

No program runs for long: what counts to a large number fails at the end of an array, and nothing
sums up an array that need not be in memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.ir.values import Value
from testing.generators.storage import Generated

LARGEST = 2**63 - 1
EXTREMES = (
    *(0, 1, -1, 2, -2, 2**31 - 1, 2**31, 2**31 + 1, -(2**31), -(2**31) - 1, 2**32, 2**33 + 1),
    *(2**61, 2**62, 2**62 + 1, 2**62 - 1, -(2**62), LARGEST, LARGEST - 1, -LARGEST - 1, -LARGEST),
    *(3 * 2**61, 6148914691236517206, 4611686018427388904, 3037000500, -3037000500),
)
WRAPPING = ((2**32, 2**32), (2**31, 2**33), (2**63 - 8, 2**62 + 2**61 + 2), (2**62, 2**62))
"""Values of `a` and `b` for which `let_row` writes the row that it reads."""
LOWEST = "(-9223372036854775807i64 - 1)"
PARAMETERS = "(a: i64) (b: i64) (c: i32) (u: u64) (w: u8)"


def program(seed: int, name: str = "main") -> Generated:
    """The program of that seed: 2 to 6 statements, and inputs, the first of them harmless."""
    rng = random.Random(f"extremes {seed}")
    return _Writer(rng).program(seed, name)


class _Writer:
    """Names in scope: `numbers` are i64; `kept` are arrays of i64 that are in memory.

    `made` are other arrays, whose sizes may be anything; `own` may be overwritten.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.count = 0
        self.numbers = ["a", "b", "n", "m"]
        self.kept = ["xs", "ys", "is"]
        self.made: list[str] = []
        self.own = ["xs"]

    def program(self, seed: int, name: str) -> Generated:
        """An entry point and what it is run on."""
        forms: list[Callable[[], None]] = [
            *[self.let_number] * 2,
            *[self.let_made] * 3,
            *[self.let_slice] * 2,
            *[self.let_updated] * 4,
            self.let_joined,
            self.let_joined,
            self.let_guarded,
            self.let_guarded,
            self.let_loop,
            self.let_loop,
            self.let_while,
            self.let_phantom,
            self.let_threads,
            self.let_threads,
            self.let_matrix,
            self.let_row,
        ]
        for _ in range(self.rng.randint(2, 6)):
            self.rng.choice(forms)()
        results = [self.rng.choice(self.kept + self.made), *self.kept[-1:], self.number(1)]
        results += [f"length {v}" for v in self.made[-1:]]
        head = f"entry {name} [n] [m] [k] {PARAMETERS} (xs: *[n]i64) (ys: [m]i64) (is: [k]i64) ="
        shown = ", ".join(dict.fromkeys(results))
        source = "\n".join([head, *self.lines, f"  in ({shown})"]) + "\n"
        if not self.lines:
            source = f"{head}\n  ({shown})\n"
        return Generated(seed, name, source, [self.inputs(0.0), self.inputs(0.5), self.inputs(0.9)])

    def inputs(self, extreme: float) -> list[Value]:
        """Arguments, each at the ends of its type with a probability."""
        rng = self.rng

        def number(low: int, high: int) -> int:
            fits = [x for x in EXTREMES if low <= x <= high] + [low, high]
            return rng.choice(fits) if rng.random() < extreme else rng.randint(max(low, -1), 5)

        sizes = [rng.randint(0, 6) for _ in range(3)]
        arrays = [np.array([rng.randint(-3, 9) for _ in range(s)], np.int64) for s in sizes[:2]]
        given = [number(-LARGEST - 1, LARGEST) for _ in range(min(3, sizes[2]))]
        a, b = number(-LARGEST - 1, LARGEST), number(-LARGEST - 1, LARGEST)
        if rng.random() < extreme / 4:
            a, b = rng.choice(WRAPPING)
        return [
            np.int64(a),
            np.int64(b),
            np.int32(number(-(2**31), 2**31 - 1)),
            np.uint64(number(0, 2**64 - 1)),
            np.uint8(number(0, 255)),
            *arrays,
            np.array(given, np.int64),
        ]

    # --- expressions -------------------------------------------------------------------------

    def fresh(self, base: str) -> str:
        """A new name that hides no module such as `i32`."""
        self.count += 1
        name = f"{base}{self.count}"
        return self.fresh(base) if name in DTYPE else name

    def write(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def literal(self) -> str:
        """A number, often one of the extremes."""
        value = self.rng.choice(EXTREMES) if self.rng.random() < 0.35 else self.rng.randint(0, 6)
        if value == -LARGEST - 1:
            return LOWEST
        return f"({value}i64)" if value < 0 else f"{value}i64"

    def number(self, depth: int, more: tuple[str, ...] = ()) -> str:
        """An i64."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.3:
            leaves = [*self.numbers, *more, *more, "i64.i32 c", "i64.u64 u", "i64.u8 w"]
            shown = self.literal() if rng.random() < 0.3 else rng.choice(leaves)
            return f"({shown})" if " " in shown else shown
        one, other = self.number(depth - 1, more), self.number(depth - 1, more)
        form = rng.choice(
            [
                "{} + {}",
                "{} + {}",
                "{} - {}",
                "{} * {}",
                "{} * {}",
                "i64.min {} {}",
                "i64.max {} {}",
                "{} % {}",
                "{} / {}",
                "{} >> ({} & 63)",
                "{} << ({} & 63)",
                "i64.i32 (i32.i64 ({} - {}))",
            ]
        )
        return f"({form.format(one, other)})"

    def small(self) -> str:
        """A size that is small with the harmless inputs, and mostly with the others."""
        rng = self.rng
        return rng.choice(
            ["n", "m", "k", "n", "m", "3", "5", "(n + m)", "(n + 2)", "(i64.u8 w % 7)"]
        )

    def size(self) -> str:
        """A size that may be anything."""
        return self.small() if self.rng.random() < 0.45 else self.number(1)

    def condition(self, depth: int = 1) -> str:
        """A comparison or two."""
        if depth and self.rng.random() < 0.5:
            op = self.rng.choice(["&&", "&&", "||"])
            return f"({self.condition(0)} {op} {self.condition(0)})"
        op = self.rng.choice(["<", "<=", ">=", ">", "==", "!="])
        return f"({self.number(1)} {op} {self.rng.choice(['0', 'n', 'm', self.number(1)])})"

    def array(self) -> str:
        """The name of an array."""
        return self.rng.choice(self.kept + self.made)

    def new(self, size: str) -> str:
        """A new array of that size."""
        x = self.number(1)
        return self.rng.choice(
            [
                f"iota {size}",
                f"replicate {size} {x}",
                f"scan (+) 0 (iota {size})",
                f"tabulate {size} (\\i -> i * {x})",
                f"map (+ {x}) (iota {size})",
                f"reverse (iota {size})",
            ]
        )

    def slice(self, more: tuple[str, ...] = ()) -> str:
        """`e:f` or `e:f:g`, sometimes with a part left out."""
        rng = self.rng
        start, end = (
            self.number(1, more) if rng.random() < 0.7 else rng.choice(["0", "1", "n", "m"])
            for _ in range(2)
        )
        if rng.random() < 0.4:
            end = f"{start} + {rng.choice([self.literal(), '2', '1', 'm'])}"
        if rng.random() < 0.15:
            return rng.choice([f"{start}:", f":{end}", f"::{self.literal()}"])
        return f"{start}:{end}" + (f":{self.literal()}" if rng.random() < 0.25 else "")

    # --- statements --------------------------------------------------------------------------

    def let_number(self) -> None:
        name = self.fresh("s")
        form = self.rng.random()
        if form < 0.3:
            shown = f"length {self.array()}"
        elif form < 0.5:
            shown = f"{self.array()}[{self.number(1)}]"
        elif form < 0.6:
            shown = f"i64.sum ({self.rng.choice(self.kept)}[{self.slice()}])"
        elif form < 0.7:
            shown = f"length ({self.range()})"
        else:
            shown = self.number(2)
        self.write(f"let {name} = {shown}")
        self.numbers.append(name)

    def range(self) -> str:
        """A range of numbers, upwards or downwards."""
        a, b, c = (self.number(0) for _ in range(3))
        return self.rng.choice([f"{a}..{b}...{c}", f"{a}..<{c}", f"{a}...{c}", f"{a}..{b}..>{c}"])

    def let_made(self) -> None:
        name = self.fresh("v")
        shown = f"({self.range()})" if self.rng.random() < 0.15 else self.new(self.size())
        self.write(f"let {name} = {shown}")
        self.made.append(name)

    def let_slice(self) -> None:
        name, array = self.fresh("v"), self.array()
        form = self.rng.random()
        if form < 0.6:
            shown = f"{array}[{self.slice()}]"
        elif form < 0.8:
            shown = f"{self.rng.choice(['take', 'drop'])} {self.number(1)} {array}"
        else:
            sizes = f"{self.number(0)} {self.number(1)} {self.number(0)} {self.number(1)}"
            shown = f"flatten (intrinsics.flat_index_2d {array} {self.number(1)} {sizes})"
        self.write(f"let {name} = {shown}")
        (self.kept if array in self.kept and form < 0.6 else self.made).append(name)

    def target(self) -> str:
        """An array that may be overwritten."""
        if self.own:
            return self.rng.choice(self.own)
        name = self.fresh("v")
        self.write(f"let {name} = copy ys")
        self.kept.append(name)
        return name

    def replaced(self, old: str, new: str) -> None:
        """An array was overwritten: others may be views of it, so only what is safe stays."""
        self.kept = ["ys", "is", new]
        self.made = []
        self.own = [new]

    def update(self, array: str, more: tuple[str, ...] = ()) -> str:
        """The array with a part of it overwritten."""
        rng = self.rng
        form = rng.random()
        if form < 0.5:
            at = self.number(2 if rng.random() < 0.3 else 1, more)
            return f"{array} with [{at}] = {self.number(1, more)}"
        if form < 0.75:
            start, many = self.number(1, more), rng.choice(["2", "n", self.number(0)])
            step = rng.choice(["", "", "", ":2", ":-1"])
            shown = self.new(f"({many})")
            if step:
                return f"{array} with [{start}:{start} + {many}{step}] = copy ys[0:{many}]"
            size = f"[({start} + {many}) - {start}]i64"
            return f"{array} with [{start}:{start} + {many}] = ({shown} :> {size})"
        values = f"[[{self.number(1, more)}]]" if rng.random() < 0.4 else "[[1i64, 2i64], [3, 4]]"
        strides = f"{rng.choice(['1', '2', self.number(0, more)])} {rng.choice(['1', '-1', '2'])}"
        strides = strides.replace(" -1", " (-1)")
        return f"intrinsics.flat_update_2d {array} {self.number(1, more)} {strides} {values}"

    def let_updated(self) -> None:
        array, name = self.target(), self.fresh("v")
        self.write(f"let {name} = {self.update(array)}")
        self.replaced(array, name)

    def let_guarded(self) -> None:
        """An update under a guard that seems to say that it is inside."""
        array, name = self.target(), self.fresh("v")
        at = self.number(1)
        low = self.rng.choice([f"{at} >= 0", self.condition(0), "a >= 0 && b >= 0"])
        high = self.rng.choice([f"{at} < length {array}", f"{at} + 1 <= length {array}"])
        update = f"{array} with [{at}] = {self.number(1)}"
        if self.rng.random() < 0.5:
            update = f"intrinsics.flat_update_2d {array} {at} 1 1 [[42i64]]"
        self.write(f"let {name} = if {low} && {high} then {update} else {array}")
        self.replaced(array, name)

    def let_joined(self) -> None:
        name = self.fresh("v")
        parts = [self.new(self.size()) if self.rng.random() < 0.6 else self.array() for _ in "12"]
        parts += [self.new(self.size())] * (self.rng.random() < 0.4)
        names = []
        for part in parts:
            one = self.fresh("p")
            self.write(f"let {one} = {part}")
            names.append(one)
        if self.rng.random() < 0.3:
            self.rng.shuffle(names)
        self.write(f"let {name} = {' ++ '.join(names)}")
        self.made.append(name)

    def let_loop(self) -> None:
        """A loop whose index grows until it is outside, or until the end."""
        array, name, i = self.target(), self.fresh("v"), self.fresh("i")
        kind, bound = self.rng.choice(
            [
                ("i64", self.number(1)),
                ("i64", "a"),
                ("u64", "u"),
                ("u64", "(u + 1)"),
                ("i32", "c"),
                ("u8", "w"),
                ("i64", "b"),
                ("i64", "(a * 2)"),
            ]
        )
        index = i if kind == "i64" else f"i64.{kind} {i}"
        at = self.rng.choice(["{}", "{} * 2", "{} + 1", "{} * 3 - 1", "{} * b + {}", "n - 1 - {}"])
        at = at.replace("{}", f"({index})")
        body = self.rng.choice(
            [
                f"acc with [{at}] = {self.number(0)}",
                f"acc with [{at}] = acc[{at}] + 1",
                f"intrinsics.flat_update_2d acc ({at}) 1 1 [[7i64]]",
            ]
        )
        if self.rng.random() < 0.4:
            body = f"if {i} < 100 then {body} else acc with [{index}] = 0"
        loop = f"loop acc = {array} for {i} < {bound} do {body}"
        if self.rng.random() < 0.5:
            limit = bound if kind == "i64" else f"i64.{kind} {bound}"
            factor = self.rng.choice(["", " * 2", " + 1", f" * {self.literal()}"])
            loop = f"if {limit}{factor} <= length {array} then {loop} else {array}"
        self.write(f"let {name} = {loop}")
        self.replaced(array, name)

    def let_while(self) -> None:
        """A few turns whose index moves by any step."""
        array, name, at = self.target(), self.fresh("v"), self.fresh("s")
        step = self.rng.choice([f"p + {self.number(0)}", f"p * {self.number(0)}", "p - 1", "p + 2"])
        test = self.rng.choice(["p >= 0", "p < n", "p >= 0 && p < n", "p != b", self.condition(0)])
        body = f"(acc with [p] = {self.number(0)}, {step}, t + 1)"
        if self.rng.random() < 0.4:
            body = f"(if p >= 0 && p < length acc then acc with [p] = t else acc, {step}, t + 1)"
        start = f"({array}, {self.number(1)}, 0i64)"
        self.write(f"let ({name}, {at}, _) =")
        self.write(f"  loop (acc, p, t) = {start} while t < 5 && ({test}) do {body}")
        self.replaced(array, name)
        self.numbers.append(at)

    def let_phantom(self) -> None:
        """A size that no element goes with."""
        name, size = self.fresh("v"), self.fresh("s")
        self.write(f"let {name} = replicate 0 (replicate {self.number(1)} 0i64)")
        self.write(f"let {size} = length (transpose {name})")
        self.numbers.append(size)

    def let_threads(self) -> None:
        """Each thread has arrays of its own, of sizes of its own."""
        rng = self.rng
        name = self.fresh("v")
        size = rng.choice(
            ["e", "(e + e)", "(e * 2)", "(e * a)", "(e + b)", "(n - e)", "(e % 9)", "n"]
        )
        other = rng.choice(["e", "2", "m", "(e - 1)", "b"])
        at = rng.choice(["0", "e", "(e - 1)", "a", "1"])
        made = rng.choice(
            [
                f"scan (+) 0 (iota {size})",
                f"scan (+) e (iota {size} ++ iota {other})",
                f"(replicate {size} e) with [{at}] = b",
                f"scan (+) 0 ys[{at}:{size}]",
                f"(loop t = replicate {size} e for j < {other} do t with [j] = t[{at}] + j)",
                f"(replicate {size} (replicate {other} e) with [{at}] = replicate {other} 1)[{at}]",
                f"filter (> 1) (map (+ e) ys[{at}:{other}])",
            ]
        )
        over = rng.choice(["is", "is", "ys", "(iota 4)"])
        self.write(f"let {name} = map (\\e -> let r = {made} in r[{at}] + length r) {over}")
        (self.kept if over != "(iota 4)" else self.made).append(name)

    def let_matrix(self) -> None:
        """An array seen as a matrix of any shape."""
        name = self.fresh("s")
        rows, columns = self.number(0), self.number(0)
        array = self.array()
        made = self.rng.choice(
            [
                f"unflatten ({array} :> [{rows} * {columns}]i64)",
                f"transpose (unflatten ({array} :> [{rows} * {columns}]i64))",
                f"transpose (tabulate_2d {rows} {columns} (\\i j -> i - j))",
                f"replicate {rows} (iota {columns})",
            ]
        )
        self.write(f"let {name} = let t = {made} in t[{self.number(0)}, {self.number(0)}]")
        self.numbers.append(name)

    def let_row(self) -> None:
        """A row is built of one that is another but for 2**64, in which case both are the same."""
        name = self.fresh("rows")
        row = self.rng.choice(("0", "1"))
        forms = ("a * b + {}", "{} + a * b * 4", "a / 2 + 2 * b + {}", "{} + (a + b) * 2")
        at = self.rng.choice(forms).format(row)
        self.write(
            f"let {name} = let m = tabulate_2d 2 3 (\\p q -> p * 3 + q)"
            f" let at = assert (a >= 2 && b >= 1) ({at})"
            f" let r = map (\\q -> m[{row}, 2 - q] + 1) (iota 3)"
            " in flatten (m with [at] = r)"
        )
        self.kept.append(name)
