"""Random programs that update, slice, concatenate, loop and branch, with inputs.

They are made for the passes that decide where arrays lie: many arrays of theirs can be built in
place, and many others cannot, because an old value is read, a source is used again, an index
depends on what it should move over, or two threads would meet. No program fails, and nothing is
added up whose order would matter: all stages must agree exactly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from compiler.algebra.poly import Poly
from compiler.base.dtypes import DTYPE
from compiler.ir.values import Value
from testing.generators import programs
from testing.generators.arrays import Arrays, Shape, shown_dims
from testing.generators.places import ONE, Arr, Column, Scope, text

OTHERS = ("i32", "i32", "i32", "u8", "i8", "u16", "i16", "u64", "u32", "f16", "f16", "f32", "f64")
N, M = Poly.var("n"), Poly.var("m")


@dataclass(frozen=True)
class Generated:
    """An entry point and values for it: one list for each set of sizes."""

    seed: int
    name: str
    source: str
    inputs: list[list[Value]]

    def with_one_input(self) -> programs.Generated:
        """The same with one of its inputs, by its seed."""
        return programs.Generated(self.seed, self.source, self.inputs[self.seed % len(self.inputs)])


def program(seed: int, name: str = "main", statements: int = 0, tiny: bool = False) -> Generated:
    """The program of that seed; it has 2 to 6 statements outside of loops unless told.

    `tiny`: `n` and `m` may be 0 and 1 as well, and then a few programs fail.
    """
    rng = random.Random(f"storage {seed}")
    return _Writer(rng).program(seed, name, statements or rng.randint(2, 6), tiny)


class _Writer(Arrays):
    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.lines: list[str] = []

    def write(self, indent: str, line: str) -> None:
        """Add a line."""
        self.lines.append(indent + line)

    # --- the whole program -------------------------------------------------------------------

    def program(self, seed: int, name: str, statements: int, tiny: bool) -> Generated:
        """An entry point with a few parameters, statements, and some arrays as results."""
        rng = self.rng
        sizes = [(rng.randint(2, 5), rng.randint(2, 5)), (rng.randint(3, 6), rng.randint(2, 4))]
        if tiny:
            sizes = [(rng.randint(0, 3), rng.randint(0, 3)), (rng.randint(0, 5), 1)]
        columns = {
            "n": np.array([n for n, _ in sizes]),
            "m": np.array([m for _, m in sizes]),
            "k": np.array([rng.randint(0, 2) for _ in sizes]),
        }
        scope = Scope(columns, {}, {"c": "bool"})
        shapes: list[Shape] = [(N,), (N, M), *rng.sample(_SHAPES, rng.randint(1, 3))]
        if rng.random() < 0.5:
            shapes[0] = (N * M,)
        params: list[str] = []
        given: list[Arr] = []
        for shape in shapes:
            elem = self.elem()
            array = self.array(scope, "a", elem, shape)
            star = "*" if rng.random() < 0.6 else ""
            if star:
                scope.own.add(array.name)
            params.append(f"({array.name}: {star}{shown_dims(shape)}{elem})")
            given.append(array)
        for _ in range(statements):
            self.statement(scope, "  ", 0)
        results = self.results(scope)
        head = f"entry {name} [n] [m] (k: i64) (c: bool) {' '.join(params)} ="
        body = "\n".join(self.lines)
        out = ", ".join(results)
        end = f"  {'in ' if body else ''}{f'({out})' if len(results) > 1 else out}"
        inputs = [self.values(columns, given, at) for at in range(len(sizes))]
        return Generated(seed, name, f"{head}\n{body}\n{end}\n", inputs)

    def results(self, scope: Scope) -> list[str]:
        """The names of some arrays, the youngest among them."""
        young = [a for a in scope.arrays if not a.startswith("a")] or list(scope.arrays)
        chosen = self.rng.sample(young, min(len(young), self.rng.randint(1, 3)))
        found = [*[c for c in chosen if c != young[-1]], young[-1]] if young else ["k"]
        return found + ["(k + 0)"] * (self.rng.random() < 0.05)

    def values(self, columns: dict[str, Column], given: list[Arr], at: int) -> list[Value]:
        """Arguments for one set of sizes."""
        rng = np.random.default_rng(self.rng.randrange(1 << 30))
        scope = Scope({k: np.array(v)[at : at + 1] for k, v in columns.items()})
        found: list[Value] = [np.int64(scope.columns["k"][0]), np.bool_(rng.integers(0, 2))]
        for array in given:
            shape = [int(scope.value(size)[0]) for size in array.shape]
            low, kind = 0 if array.elem[0] == "u" else -9, DTYPE[array.elem]  # type: ignore[index]
            found.append(rng.integers(low, 10, shape).astype(kind))
        return found

    def array(
        self, scope: Scope, base: str, elem: str, shape: Shape, roots: frozenset[str] | None = None
    ) -> Arr:
        """A new array in scope; without `roots` it shares memory with none."""
        name = self.fresh(base)
        found = Arr(name, elem, shape, frozenset({name}) if roots is None else roots)
        if roots is None and base != "a":
            scope.own.add(name)
        scope.arrays[name] = found
        return found

    def rows(self, scope: Scope, elem: str, shape: Shape) -> str:
        """A matrix whose rows are made by statements, which may update and loop."""
        j = self.fresh("j")
        inner = scope.ranging(j, shape[0])
        if inner is None:
            return self.tabulated(scope, elem, shape)
        outer, self.lines = self.lines, []
        first = self.array(inner, "v", elem, shape[1:])
        self.write("      ", f"let {first.name} = {self.new(scope, elem, shape[1:])}")
        for _ in range(self.rng.randint(0, 2)):
            self.statement(inner, "      ", 2)
        result = self.result(inner, elem, shape[1:], set())
        lines, self.lines = self.lines, outer
        body = "\n".join([*lines, f"      in {result[0]}"])
        return f"(tabulate {text(shape[0])} (\\{j} ->\n{body}))"

    def result(
        self, scope: Scope, elem: str, shape: Shape, taken: set[str]
    ) -> tuple[str, frozenset[str]]:
        """An array of that shape for the end of a body: of what is there, or a new one.

        Its roots are none of those `taken`.
        """
        there = [
            a for a in scope.of_shape(shape, elem) if scope.consumable(a) and not a.roots & taken
        ]
        if there and self.rng.random() < 0.9:
            chosen = there[-1] if self.rng.random() < 0.8 else self.rng.choice(there)
            return chosen.name, chosen.roots
        return self.new(scope, elem, shape), frozenset()

    # --- statements --------------------------------------------------------------------------

    def statement(self, scope: Scope, indent: str, depth: int) -> None:
        """Write one `let` or a few that belong together."""
        forms = [self.let_new] * 2 + [self.let_view] * 2 + [self.let_updated] * 5
        forms += [self.let_index, self.let_rewritten, self.let_joined]
        if self.rng.random() < 0.3:
            forms.append(self.let_scattered)
        if self.rng.random() < 0.1:
            forms.append(self.let_scratch)
        if depth < 2:
            forms += [self.let_joined, self.let_loop, self.let_loop, self.let_branch]
        self.rng.choice(forms)(scope, indent, depth)

    def elem(self) -> str:
        """Mostly i64, so that arrays of one shape are of one type as well."""
        return "i64" if self.rng.random() < 0.7 else self.rng.choice(OTHERS)

    def shape(self, scope: Scope) -> Shape:
        """A shape of an array that is there, or a new one."""
        if scope.arrays and self.rng.random() < 0.5:
            return self.rng.choice(list(scope.arrays.values())).shape
        return tuple(self.size(scope) for _ in range(1 if self.rng.random() < 0.6 else 2))

    def bind(self, scope: Scope, indent: str, elem: str, shape: Shape, shown: str) -> Arr:
        """Name a new array."""
        array = self.array(scope, "v", elem, shape)
        self.write(indent, f"let {array.name} = {shown}")
        return array

    def let_new(self, scope: Scope, indent: str, depth: int) -> None:
        elem, shape = self.elem(), self.shape(scope)
        self.bind(scope, indent, elem, shape, self.new(scope, elem, shape))

    def let_scratch(self, scope: Scope, indent: str, depth: int) -> None:
        """Elements for each of which a loop makes arrays, of another size in each iteration."""
        size = self.size(scope, 0)
        p, i, j, acc, a = (self.fresh(base) for base in "pijca")
        some = text(self.size(scope, 0))
        bound = self.rng.choice(
            (f"({some}) / 2", f"({some}) % 4", f"i64.min 3 ({some})", f"{p} % 3", f"({some}) & 3")
        )
        count = self.rng.choice(
            (f"{i} + 1", f"{some} + 3 - {i}", f"2 * {i} + {p} % 2 + 1", f"{p} + 1")
        )
        body = f"for {j} < {count} do {a} with [{j}] = {a}[{j}] + {acc} * {j}"
        shown = (
            f"tabulate ({text(size)}) (\\{p} -> loop {acc} = {p} for {i} < {bound} do\n"
            f"{indent}    let {a} = loop {a} = replicate ({count}) {i} {body}\n"
            f"{indent}    in {acc} + i64.sum {a})"
        )
        self.bind(scope, indent, "i64", (size,), shown)

    def let_index(self, scope: Scope, indent: str, depth: int) -> None:
        """A number that can be an index, but is no polynomial, or an element that cannot."""
        rng = self.rng
        if rng.random() < 0.4:
            name = self.fresh("s")
            value = self.number(scope, "i64")
            self.write(indent, f"let {name} = {value}")
            scope.numbers[name] = "i64"
            return
        name, one, other = self.fresh("q"), self.small(scope), self.size(scope)
        a, b = scope.value(one), np.maximum(scope.value(other), 1)
        if not scope.always(one, other - 1):
            return
        shown, column = rng.choice(
            [
                (f"{text(one)} % {text(other)}", a % b),
                (f"{text(one)} / {text(other)}", a // b),
                (f"i64.min {text(one)} {text(other)}", np.minimum(a, b)),
                (f"i64.max {text(one)} {text(other)}", np.maximum(a, b)),
            ]
        )
        self.write(indent, f"let {name} = {shown}")
        scope.columns[name] = column

    def let_view(self, scope: Scope, indent: str, depth: int) -> None:
        """A slice, a transposition, or another shape of an array."""
        if not scope.arrays:
            return
        array = self.rng.choice(list(scope.arrays.values()))
        shape = array.shape
        kind = self.rng.random()
        if len(shape) == 2 and kind < 0.35:
            shown, shape = f"transpose {array.name}", shape[::-1]
        elif len(shape) == 2 and kind < 0.5:
            shown, shape = f"flatten {array.name} :> ", (shape[0] * shape[1],)
        elif shape == (N * M,) and kind < 0.7:
            shown, shape = f"unflatten ({array.name} :> [n * m]{array.elem})", (N, M)
        elif kind < 0.75 and len(shape) == 1:
            shown = f"reverse {array.name}"
            if self.rng.random() < 0.6:
                found = self.flat_index(scope, array)
                if found is None:
                    return
                shown, shape = found
        else:
            where, shape = self.selection(scope, array)
            if not shape:
                return
            shown = f"{array.name}{where} :> "
        if shown.endswith(":> "):
            shown += f"{shown_dims(shape)}{array.elem}"
        view = self.array(scope, "w", array.elem, shape, array.roots)
        self.write(indent, f"let {view.name} = {shown}")

    def flat_index(self, scope: Scope, array: Arr) -> tuple[str, Shape] | None:
        """A slice of an array by an LMAD."""
        rank = 2 if self.rng.random() < 0.85 else 3
        found = self.lmad(scope, array.shape[0], rank, False)
        if found is None:
            return None
        offset, counts, strides = found
        pairs = " ".join(f"{text(c)} {text(s)}" for c, s in zip(counts, strides, strict=True))
        shape = (*counts, *array.shape[1:])
        shown = f"intrinsics.flat_index_{rank}d {array.name} {text(offset)} {pairs}"
        return f"{shown} :> {shown_dims(shape)}{array.elem}", shape

    def target(self, scope: Scope, indent: str) -> Arr:
        """An array that may be overwritten; a copy if there is none."""
        there = [a for a in scope.arrays.values() if scope.consumable(a)]
        if there and self.rng.random() < 0.9:
            return self.rng.choice(there[-4:])
        if not scope.arrays:
            return self.bind(scope, indent, "i64", (N,), "iota n")
        array = self.rng.choice(list(scope.arrays.values()))
        return self.bind(scope, indent, array.elem, array.shape, f"copy {array.name}")

    def let_updated(self, scope: Scope, indent: str, depth: int) -> None:
        """A part of an array overwritten, by what was made for it or by what is there."""
        rng = self.rng
        array = self.target(scope, indent)
        where, shape = self.selection(scope, array)
        flat = ""
        if len(array.shape) == 1 and rng.random() < 0.4:
            rank = 2 if rng.random() < 0.85 else 3
            found = self.lmad(scope, array.shape[0], rank, True)
            if found is not None:
                shape = found[1]
                strides = " ".join(map(text, found[2]))
                flat = f"intrinsics.flat_update_{rank}d {array.name} {text(found[0])} {strides}"
        kind = rng.random()
        if shape and kind < 0.7:
            value = self.source(scope, indent, depth, array, shape)
        elif shape and kind < 0.8:
            others = [a for a in scope.of_shape(shape, array.elem) if not a.roots & array.roots]
            value = rng.choice(others).name if others else self.new(scope, array.elem, shape)
        else:
            value = self.new(scope, array.elem, shape)
        scope.consume(array)
        after = self.array(scope, "v", array.elem, array.shape, array.roots)
        update = f"{flat} {value}" if flat else f"{array.name} with {where} = {value}"
        self.write(indent, f"let {after.name} = {update}")

    def source(self, scope: Scope, indent: str, depth: int, array: Arr, shape: Shape) -> str:
        """Make and name what is going to be put into `array`; perhaps with something between."""
        rng = self.rng
        turn = rng.random() if len(shape) == 2 else 1.0
        made = shape[::-1] if turn < 0.3 else shape
        if depth < 2 and rng.random() < 0.15:
            kept = scope.own & array.roots
            scope.own -= kept
            source = self.branch(scope, indent, depth, array.elem, made)
            scope.own |= kept
        else:
            shown = self.shifted(scope, array, made) if rng.random() < 0.3 else None
            shown = shown or self.new(scope, array.elem, made)
            source = self.bind(scope, indent, array.elem, made, shown)
        if source.roots & array.roots:
            return f"(copy {source.name})"
        for _ in range(rng.choice([0, 0, 1])):
            between = scope.child()
            rng.choice([self.let_new, self.let_view, self.let_index])(between, indent, depth)
            scope.arrays |= between.arrays
            scope.columns |= between.columns
            scope.numbers |= between.numbers
            scope.own |= between.own
        if rng.random() < 0.75:
            scope.arrays.pop(source.name, None)
        if made != shape:
            return f"(transpose {source.name})"
        if len(shape) == 1 and rng.random() < 0.15:
            return f"(reverse {source.name})"
        return source.name

    def shifted(self, scope: Scope, array: Arr, shape: Shape) -> str | None:
        """A map over another part of the same array."""
        if len(array.shape) < len(shape):
            return None
        where = self.selecting(scope, array, shape)
        if where is None:
            return None
        part = f"({array.name}{where} :> {shown_dims(shape)}{array.elem})"
        return self.map_over(scope, array.elem, len(shape), [(part, array.elem)])

    def let_scattered(self, scope: Scope, indent: str, depth: int) -> None:
        """Elements or rows put at computed places, each at another; some may lie outside."""
        rng = self.rng
        array = self.target(scope, indent)
        size = self.size(scope)
        start = rng.choice([Poly.const(0), self.small(scope), array.shape[0] - size])
        i = self.fresh("i")
        at = rng.choice([f"{i}", f"{i}", f"2 * {i}", f"0 - {i}"])
        places = f"(map (\\{i} -> {text(start)} + {at}) (iota {text(size)}))"
        shape = (size, *array.shape[1:])
        values = self.new(scope, array.elem, shape)
        if rng.random() < 0.5:
            values = self.bind(scope, indent, array.elem, shape, values).name
            scope.arrays.pop(values)
        scope.consume(array)
        after = self.array(scope, "v", array.elem, array.shape, array.roots)
        self.write(indent, f"let {after.name} = scatter {array.name} {places} {values}")

    def let_rewritten(self, scope: Scope, indent: str, depth: int) -> None:
        """A map over an array that is used no more."""
        array = self.target(scope, indent)
        shown = self.mapped(scope, array.elem, array.shape, array)
        scope.consume(array)
        self.bind(scope, indent, array.elem, array.shape, shown)

    def let_joined(self, scope: Scope, indent: str, depth: int) -> None:
        """A concatenation, or an array literal of rows."""
        rng = self.rng
        elem = self.elem()
        row: Shape = (self.size(scope),) if rng.random() < 0.4 else ()
        literal = bool(row) and rng.random() < 0.3
        parts: list[str] = []
        total = Poly.const(0)
        for _ in range(rng.randint(2, 4)):
            size = ONE if literal else self.size(scope)
            shape = row if literal else (size, *row)
            total = total + size
            there = scope.of_shape(shape, elem)
            kind = rng.random()
            if there and kind < 0.3:
                parts.append(rng.choice(there).name)
            elif kind < 0.7:
                shown = self.new(scope, elem, shape)
                parts.append(self.bind(scope, indent, elem, shape, shown).name)
                if rng.random() < 0.7:
                    scope.arrays.pop(parts[-1])
            else:
                parts.append(self.new(scope, elem, shape))
        if literal:
            self.bind(scope, indent, elem, (total, *row), f"[{', '.join(parts)}]")
        else:
            whole = (total, *row)
            self.bind(
                scope, indent, elem, whole, f"{' ++ '.join(parts)} :> {shown_dims(whole)}{elem}"
            )

    # --- control -----------------------------------------------------------------------------

    def let_loop(self, scope: Scope, indent: str, depth: int) -> None:
        """A loop that carries one or two arrays, counted or until a condition fails."""
        rng = self.rng
        i = self.fresh("i")
        bound = self.size(scope, 0)
        body = scope.ranging(i, bound)
        if body is None or scope.value(bound).max() > 6:
            return
        starts: list[Arr] = []
        for _ in range(rng.choice([1, 1, 2])):
            starts.append(self.target(scope, indent))
            scope.consume(starts[-1])
        body.arrays = dict(scope.arrays)
        carried = [self.array(body, "b", a.elem, a.shape) for a in starts]
        counted = rng.random() < 0.8
        outer, self.lines = self.lines, []
        for _ in range(rng.randint(1, 3)):
            self.statement(body, indent + "    ", depth + 1)
        taken: set[str] = set()
        ends: list[str] = []
        for array in rng.sample(carried, len(carried)) if _alike(carried) else carried:
            shown, roots = self.result(body, array.elem, array.shape, taken)
            taken |= roots
            ends.append(shown)
        inside, self.lines = self.lines, outer
        results = [self.array(scope, "v", a.elem, a.shape) for a in starts]
        names = [a.name for a in results]
        params, init = [a.name for a in carried], [a.name for a in starts]
        if not counted:
            names, params = [self.fresh("z"), *names], [i, *params]
            init, ends = ["0", *init], [f"{i} + 1", *ends]
        form = f"for {i} < {text(bound)}" if counted else f"while {i} < {text(bound)}"
        self.write(indent, f"let {_tuple(names)} =")
        self.write(indent, f"  loop {_tuple(params)} = {_tuple(init)} {form} do")
        self.lines += inside
        self.write(indent, f"    {'in ' if inside else ''}{_tuple(ends)}")

    def let_branch(self, scope: Scope, indent: str, depth: int) -> None:
        elem, shape = self.elem(), self.shape(scope)
        self.branch(scope, indent, depth, elem, shape)

    def branch(self, scope: Scope, indent: str, depth: int, elem: str, shape: Shape) -> Arr:
        """An array of two branches, each with statements; the last array in scope after it."""
        sides: list[Scope] = []
        roots: set[str] = set()
        texts: list[list[str]] = []
        outer = self.lines
        condition = self.condition(scope)
        for _ in range(2):
            side = scope.branch()
            self.lines = []
            for _ in range(self.rng.randint(0, 2)):
                self.statement(side, indent + "    ", depth + 1)
            shown, found = self.result(side, elem, shape, set())
            start = self.lines[0].strip() if self.lines else ""
            word = f"{indent}    in " if start else f"{indent}    "
            texts.append([*self.lines, f"{word}{shown}"])
            sides.append(side)
            roots |= found & scope.own
        self.lines = outer
        scope.arrays = {
            k: a for k, a in scope.arrays.items() if all(k in side.arrays for side in sides)
        }
        array = self.array(scope, "v", elem, shape)
        if roots:
            scope.arrays[array.name] = Arr(array.name, elem, shape, frozenset(roots | {array.name}))
        self.write(indent, f"let {array.name} =")
        self.write(indent, f"  if {condition}")
        self.write(indent, "  then")
        self.lines += texts[0]
        self.write(indent, "  else")
        self.lines += texts[1]
        return scope.arrays[array.name]


_SHAPES: list[Shape] = [(M,), (N * M,), (N, N), (M, N), (N + M,), (N,), (N, M)]


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)})" if len(parts) > 1 else parts[0]


def _alike(arrays: list[Arr]) -> bool:
    return len({(a.elem, a.shape) for a in arrays}) == 1
