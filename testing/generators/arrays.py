"""New arrays and numbers, for random programs about memory: the text of expressions."""

from __future__ import annotations

import random

from compiler.algebra.poly import Poly
from compiler.base.dtypes import DTYPE
from testing.generators.places import Arr, Places, Scope, text

Shape = tuple[Poly, ...]


class Arrays(Places):
    """Writes expressions."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.count = 0

    def fresh(self, base: str) -> str:
        """A new name that hides no module such as `i32`."""
        self.count += 1
        name = f"{base}{self.count}"
        return self.fresh(base) if name in DTYPE else name

    def rows(self, scope: Scope, elem: str, shape: Shape) -> str:
        """A matrix whose rows are made by statements."""
        raise NotImplementedError

    # --- numbers -----------------------------------------------------------------------------

    def number(self, scope: Scope, elem: str, depth: int = 2) -> str:
        """An element's value."""
        rng = self.rng
        kind = rng.random() if depth else rng.random() * 0.6
        if kind < 0.12:
            return str(rng.randint(0, 9))
        if kind < 0.2:
            return self.convert(rng.choice(list(scope.columns)), "i64", elem)
        if kind < 0.4:
            known = [(x, t) for x, t in scope.numbers.items() if t != "bool"]
            if known:
                return self.convert(*rng.choice(known[-3:]), elem)
        if kind < 0.6:
            return self.element(scope, elem) or str(rng.randint(0, 9))
        first, second = (self.number(scope, elem, depth - 1) for _ in range(2))
        if kind < 0.9:
            return f"({first} {rng.choice('++-*')} {second})"
        if kind < 0.95:
            low = rng.choice(["min", "max"])
            return f"({elem}.{low} {self.closed(first)} {self.closed(second)})"
        return f"(if {self.condition(scope)} then {first} else {second})"

    def convert(self, shown: str, held: str, elem: str) -> str:
        return shown if held == elem else f"{elem}.{held} {shown}" if shown.isalnum() else shown

    def element(self, scope: Scope, elem: str) -> str | None:
        """An element of an array in scope."""
        arrays = [a for a in scope.arrays.values() if scope.always(*(s - 1 for s in a.shape))]
        if not arrays:
            return None
        array = self.rng.choice(arrays[-5:] if self.rng.random() < 0.7 else arrays)
        at = ", ".join(self.index(scope, size) for size in array.shape)
        read = f"{array.name}[{at}]"
        return read if array.elem == elem else f"({elem}.{array.elem} {read})"

    def condition(self, scope: Scope) -> str:
        """Something that is true or false."""
        numbers = f"{self.number(scope, 'i64', 1)} {self.rng.choice(['<', '>=', '=='])} "
        return self.rng.choice(["c", f"({numbers}{self.number(scope, 'i64', 0)})"])

    # --- new arrays --------------------------------------------------------------------------

    def new(self, scope: Scope, elem: str, shape: Shape) -> str:
        """The text of an array of that shape that shares memory with none."""
        if not shape:
            return self.number(scope, elem)
        same = scope.of_shape(shape)
        kind = self.rng.random()
        if same and kind < 0.45:
            return self.mapped(scope, elem, shape, self.rng.choice(same))
        if len(shape) == 1:
            return self.new_row(scope, elem, shape[0], kind)
        if len(shape) == 2 and kind < 0.6:
            turned = scope.of_shape(shape[::-1], elem)
            if turned:
                return f"(copy (transpose {self.rng.choice(turned).name}))"
        return self.tabulated(scope, elem, shape)

    def mapped(self, scope: Scope, elem: str, shape: Shape, array: Arr) -> str:
        """A map over one or two arrays, or a copy, or a scan."""
        kind = self.rng.random()
        if array.elem == elem and kind < 0.15:
            return f"(copy {array.name})"
        if array.elem == elem and kind < 0.25 and len(shape) == 1:
            op = f"{elem}.max (-{elem}.inf)" if elem[0] == "f" else "(+) 0"
            return f"(scan {op} {array.name})"
        arrays = [array]
        if kind > 0.6:
            arrays.append(self.rng.choice(scope.of_shape(shape)))
        return self.map_over(scope, elem, len(shape), [(a.name, a.elem) for a in arrays])

    def map_over(self, scope: Scope, elem: str, rank: int, arrays: list[tuple[str, str]]) -> str:
        """A map of numbers over arrays of the same shape."""
        xs = [self.fresh("x") for _ in arrays]
        inner = scope.child()
        inner.numbers |= {x: held for x, (_, held) in zip(xs, arrays, strict=True)}
        body = self.number(inner, elem)
        name = "map" if len(arrays) == 1 else f"map{len(arrays)}"
        fun = f"(\\{' '.join(xs)} -> {body})"
        for _ in range(rank - 1):
            fun = f"({name} {fun})"
        return f"({name} {fun} {' '.join(shown for shown, _ in arrays)})"

    def new_row(self, scope: Scope, elem: str, size: Poly, kind: float) -> str:
        """A new array of one dimension."""
        if kind < 0.65:
            part = self.part(scope, (size,))
            if part is not None:
                shown = f"({part[0]} :> {shown_dims((size,))}{part[1].elem})"
                if self.rng.random() < 0.2 and part[1].elem == elem:
                    return f"(copy {shown})"
                return self.map_over(scope, elem, 1, [(shown, part[1].elem)])
        if kind < 0.72 and elem == "i64":
            return f"(iota {text(size)})"
        if kind < 0.8:
            return f"(replicate {text(size)} {self.closed(self.number(scope, elem, 1))})"
        return self.tabulated(scope, elem, (size,))

    def closed(self, shown: str) -> str:
        return f"({shown})" if " " in shown and shown[0] != "(" else shown

    def part(self, scope: Scope, shape: Shape) -> tuple[str, Arr] | None:
        """A slice of an array in scope that has that shape."""
        arrays = [a for a in scope.arrays.values() if len(a.shape) >= len(shape)]
        for _ in range(3 if arrays else 0):
            array = self.rng.choice(arrays)
            where = self.selecting(scope, array, shape)
            if where is not None:
                return f"{array.name}{where}", array
        return None

    def tabulated(self, scope: Scope, elem: str, shape: Shape) -> str:
        """An array computed from its index; sometimes by rows, with statements in each."""
        js = [self.fresh("j") for _ in shape]
        inner: Scope | None = scope
        for j, size in zip(js, shape, strict=True):
            inner = inner.ranging(j, size) if inner is not None else None
        if inner is None or len(shape) > 3:
            value = self.closed(self.number(scope, elem, 1))
            for size in reversed(shape):
                value = f"(replicate {text(size)} {value})"
            return value
        if len(shape) == 2 and self.rng.random() < 0.5:
            return self.rows(scope, elem, shape)
        name = "tabulate" if len(shape) == 1 else f"tabulate_{len(shape)}d"
        sizes = " ".join(map(text, shape))
        return f"({name} {sizes} (\\{' '.join(js)} -> {self.number(inner, elem)}))"


def shown_dims(shape: Shape) -> str:
    return "".join(f"[{text(size).strip('()')}]" for size in shape)
