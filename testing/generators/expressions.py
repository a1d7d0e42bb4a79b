"""Random expressions of a given type, for `programs.py`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.base.dtypes import DTYPE

ELEMENTS = (
    *("i32", "i64", "f64", "bool") * 2,
    *("u8", "i16", "u32", "f32", "f16", "f16", "i8", "u16", "u64"),
)


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


Scope = dict[str, Kind]


@dataclass
class Expressions:
    """Writes expressions; `depth` bounds how deeply they nest."""

    rng: random.Random
    smallest: int = 1
    lines: list[str] = field(default_factory=list)
    count: int = 0
    helpers: dict[str, tuple[list[Kind], Kind]] = field(default_factory=dict)

    def fresh(self, base: str) -> str:
        """A new name that hides no module such as `i32`."""
        self.count += 1
        name = f"{base}{self.count}"
        return self.fresh(base) if name in DTYPE else name

    def expression(self, scope: Scope, kind: Kind, depth: int) -> str:
        """An expression of that type, in parentheses wherever that could matter."""
        known = [name for name, other in scope.items() if other == kind]
        if known and (depth <= 0 or self.rng.random() < 0.25):
            return self.rng.choice(known)
        calls = [name for name, (_, result) in self.helpers.items() if result == kind]
        if calls and depth > 0 and {"n", "m"} <= scope.keys() and self.rng.random() < 0.3:
            name = self.rng.choice(calls)
            args = [self.expression(scope, k, depth - 1) for k in self.helpers[name][0]]
            return f"({name} {' '.join(f'({arg})' for arg in args)})"
        if len(kind.shape) == 0:
            return self.scalar(scope, kind, depth)
        return self.array(scope, kind, depth)

    def literal(self, kind: Kind) -> str:
        if kind.elem == "bool":
            return self.rng.choice(["true", "false"])
        value = self.rng.randint(0 if kind.elem[0] == "u" else -5, 9)
        text = f"{value}.0{kind.elem}" if kind.elem[0] == "f" else f"{value}{kind.elem}"
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
            other = Kind(self.rng.choice(("i32", "i64", "f64", "u8", "f32")))
            a, b = (self.expression(scope, other, depth) for _ in range(2))
            return f"({a} {self.rng.choice(('<', '<=', '==', '!='))} {b})"
        a, b = (self.expression(scope, kind, depth) for _ in range(2))
        t = kind.elem
        if t[0] == "f":
            f = self.rng.choice(["{} + {}", "{} - {}", f"{t}.min {{}} {{}}", f"{t}.max {{}} {{}}"])
            return f"({f.format(a, b)})"
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
        if t[0] == "f" and source != "bool":
            # Kept small, so that sums stay exact.
            return f"({t}.{source} (({value}) % 100))"
        return f"({t}.{source} {value})"

    def operator(self, kind: Kind) -> tuple[str, str]:
        """An associative operator with its neutral element."""
        t = kind.elem
        if t == "bool":
            return self.rng.choice([("(&&)", "true"), ("(||)", "false"), ("(!=)", "false")])
        if t[0] == "f":
            return self.rng.choice([(f"{t}.max", f"(-{t}.inf)"), ("(+)", f"0.0{t}")])
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

    def small(self, kind: Kind, op: str, array: str) -> str:
        """An array of one dimension whose elements can be added in any order.

        Of halves only few whole numbers are exact.
        """
        return f"map (% 16) ({array})" if kind.elem == "f16" and op == "(+)" else array

    def fold(self, scope: Scope, kind: Kind, depth: int) -> str:
        size = self.rng.choice(("n", "m"))
        op, neutral = self.operator(kind)
        array = self.small(kind, op, self.expression(scope, kind.of(size), depth))
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
        """An array made of another one of its shape, or of its indices, or of one value."""
        how = self.rng.random()
        others = [
            name for name, k in scope.items() if k.shape == kind.shape and k.elem != kind.elem
        ]
        if others and how < 0.6:
            name = self.rng.choice(others)
            text, row = self.fresh("x"), scope[name].elem
            value = self.converted(text, row, kind.elem)
            if len(kind.shape) == 1:
                return f"(map (\\{text} -> {value}) {name})"
            rows = self.fresh("x")
            return f"(map (\\{rows} -> map (\\{text} -> {value}) {rows}) {name})"
        if how < 0.9:
            names = [self.fresh("i") for _ in kind.shape]
            total = " + ".join(f"{k + 1} * {name}" for k, name in enumerate(names))
            value = self.converted(f"({total})", "i64", kind.elem)
            for size, name in zip(reversed(kind.shape), reversed(names), strict=True):
                value = f"(tabulate {size} (\\{name} -> {value}))"
            return value
        value = self.literal(Kind(kind.elem))
        for size in reversed(kind.shape):
            value = f"(replicate {size} {value})"
        return value

    def converted(self, text: str, source: str, wanted: str) -> str:
        """A value of another type made of a small one."""
        if source == wanted:
            return text
        if wanted == "bool":
            return f"({text} > {self.literal(Kind(source))})"
        if wanted[0] == "f" and source != "bool":
            return f"({wanted}.{source} ({text} % 100))"
        return f"({wanted}.{source} {text})"

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
            return f"(scan {op} {neutral} ({self.small(kind, op, source)}))"
        row = self.fresh("x")
        each = f"scan {op} {neutral} ({self.small(kind, op, row)})"
        return f"(map (\\({row}: {kind.row}) -> {each}) ({source}))"

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
        # The type says that the sizes stay the same, which a nested loop may leave open.
        return f"(loop {acc} = ({start}) for {i} < 2i64 do ({body}) :> {kind})"

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
        each = f"reduce {op} {neutral} ({self.small(kind, op, x)})"
        return f"(map (\\({x}: {row}) -> {each}) ({source}))"

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
        dest, values = (self.small(kind, op, array) for array in (dest, values))
        return f"(reduce_by_index (copy ({dest})) {op} {neutral} {bins} ({values}))"
