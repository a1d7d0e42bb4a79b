"""Print index functions in each generation's notation, and the cells of elements."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from compiler.algebra.divide import divide
from compiler.algebra.facts import Facts
from compiler.algebra.index_functions import (
    Chain,
    Composition,
    Permute,
    Reshape,
    Rotate,
    RotatedLmad,
    Select,
    Step,
    is_all,
)
from compiler.algebra.inequality import Prover
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir.source_names import Spelling

Form = Chain[Poly] | Composition[Poly] | Lmad[Poly]
_INDICES = "ijklmnpqrst"


class IndexText:
    """Prints the index functions of one function."""

    def __init__(self, spell: Spelling) -> None:
        self.spell = spell
        self._made = 0
        self._provers: dict[tuple[Poly, ...], Prover] = {}
        self._opaques: dict[tuple[str, Poly, Poly], Name] = {}
        self._indices: list[Name] = []

    def fresh(self, base: str) -> Name:
        """Return a name that no program has."""
        self._made += 1
        return f"{base}_{10**12 + self._made}"

    def of(self, form: Form) -> str:
        """Print an index function in its generation's notation."""
        match form:
            case Chain(base, steps):
                start = self._base(base)
                return " → ".join([start, *map(self._step, steps, form.shapes())])
            case Composition(parts):
                return " ∘ ".join(map(self._part, parts))
            case _:
                return self.lmad(form)

    def lmad(self, lmad: Lmad[Poly]) -> str:
        """Print an LMAD as `offset + {(size : stride), ..}`."""
        return self._part(RotatedLmad.plain(lmad))

    def index(self, rank: int) -> str:
        """Return the index that `cell` is about."""
        return ", ".join(self.spell.number(name) for name in self._names(rank))

    def _names(self, rank: int) -> list[Name]:
        """Return names of the indices of an array; beyond the letters numbers tell them apart."""
        for k in range(len(self._indices), rank):
            self._indices.append(self.fresh(_INDICES[k % len(_INDICES)]))
        return self._indices[:rank]

    def cell(self, form: Form, shape: tuple[Poly, ...]) -> str:
        """Print the cell of the element at `index`, simplified by the ranges of indices."""
        at = [Poly.var(name) for name in self._names(len(shape))]
        if isinstance(form, Lmad):
            return self.spell.poly(form.index(*at))
        if shape not in self._provers:
            bounds = [size - 1 for size in shape] + at
            bounds += [size - 1 - i for size, i in zip(shape, at, strict=True)]
            self._provers[shape] = Prover(Facts.of(bounds))
        prover = self._provers[shape]
        opaque: set[Name] = set()

        def split(value: Poly, by: Poly, remainder: bool = False) -> tuple[Poly, Poly]:
            quotient, rest = divide(value, by)
            if prover.nonnegative(rest) and prover.nonnegative(by - 1 - rest):
                return quotient, rest
            above = self._opaque("/", value, by, opaque)
            below = self._opaque("%", value, by, opaque) if remainder else value - by * above
            return above, below

        plain = form.index(at, split)
        if plain.names() & opaque:
            plain = form.index(at, partial(split, remainder=True))
        return self.spell.poly(plain)

    def _opaque(self, op: str, value: Poly, by: Poly, names: set[Name]) -> Poly:
        name = self._opaques.get((op, value, by))
        if name is None:
            name = self._opaques[op, value, by] = self.fresh("d")
            self.spell.stands_for(name, (op, value, by))
        names.add(name)
        return Poly.var(name)

    def _base(self, base: Lmad[Poly]) -> str:
        sizes = self._list(base.shape)
        return f"RowMajor({sizes})" if base.is_row_major() and base.offset == 0 else self.lmad(base)

    def _list(self, polys: Iterable[Poly]) -> str:
        return ", ".join(map(self.spell.poly, polys))

    def _step(self, step: Step[Poly], shape: tuple[Poly, ...]) -> str:
        match step:
            case Permute((1, 0)):
                return "Transpose"
            case Permute(perm):
                return f"Rearrange({', '.join(map(str, perm))})"
            case Rotate(by):
                return f"Rotate({self._list(by)})"
            case Reshape(shape):
                return f"Reshape({self._list(shape)})"
            case Select(parts):
                fixed = [part for part in parts if not part.rank]
                rest = zip(parts[len(fixed) :], shape[len(fixed) :], strict=True)
                if fixed and all(is_all(part, size) for part, size in rest):
                    return f"Index({self._list(part.offset for part in fixed)})"
                return f"Slice({', '.join(map(self._positions, parts))})"

    def _positions(self, part: Lmad[Poly]) -> str:
        """Print an LMAD as stages print slices: `start:+count:stride`."""
        if not part.rank:
            return self.spell.poly(part.offset)
        if part.rank > 1:
            return self.lmad(part)
        (dim,) = part.dims
        stride = "" if dim.stride == 1 else f":{self.spell.poly(dim.stride)}"
        return f"{self.spell.poly(part.offset)}:+{self.spell.poly(dim.size)}{stride}"

    def _part(self, part: RotatedLmad[Poly]) -> str:
        dims: list[str] = []
        for dim, by in zip(part.lmad.dims, part.by, strict=True):
            turned = "" if by == 0 else f" : {self.spell.poly(by)}"
            dims.append(f"({self.spell.poly(dim.size)} : {self.spell.poly(dim.stride)}{turned})")
        return f"{self.spell.poly(part.lmad.offset)} + {{{', '.join(dims)}}}"
