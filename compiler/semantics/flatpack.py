"""The semantics of FlatPack, by the two-stage model of its paper (seed 002, section 5).

A `FlatBlock` is flat data, an offset and a list of loops, each with a stride and a count: an LMAD
by another name, and stored as one. Structural operations change only the loops. Layouts that no
loops can express are copied, and `BlockMachine.packed` records what and how much. It uses plain
loops over elements: slow, and the reference that the pipeline is tested against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from compiler.algebra.lmad import Lmad, NoView
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import RuntimeError_
from compiler.base.prim import Prim, int_range
from compiler.base.spans import Span
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.build import COMPARISONS
from compiler.frontend.flatpack.evaluate import Meaning
from compiler.frontend.flatpack.values import SizeTable, towards_zero
from compiler.ir.may_fail import is_division
from compiler.ir.scalar import apply_bin, convert


@dataclass(frozen=True, slots=True)
class FlatBlock:
    """Element `i` is `data[loops(i)]`; without dimensions it is one value."""

    data: np.ndarray[Any, Any]
    loops: Lmad[int]

    def values(self) -> np.ndarray[Any, Any]:
        """Return the elements, as an array of the block's shape."""
        return self.data[np.array(self.loops.points(), dtype=np.int64)].reshape(self.loops.shape)

    def at(self, index: Sequence[int]) -> Any:
        """Return one element; a single value is the same at every index."""
        return self.data[self.loops.index(*index) if self.loops.dims else self.loops.offset]


class Packed(NamedTuple):
    """Values that were copied, since no loops reach them in place."""

    span: Span
    what: str
    bytes: int


@dataclass(slots=True)
class BlockMachine:
    """A run: sizes, blocks of terms, and a record of copies."""

    meaning: Meaning
    sizes: dict[str, int]
    packed: list[Packed] = field(default_factory=list)
    known: dict[int, FlatBlock] = field(default_factory=dict)
    """Blocks of terms, by identity, within the current rows."""

    def run(self) -> tuple[np.ndarray[Any, Any], ...]:
        """Return the program's results."""
        with np.errstate(all="ignore"):
            return tuple(self.block(one).values() for one in self.meaning.results)

    def size(self, poly: Poly) -> int:
        """Evaluate a size."""
        return sized(poly, self.meaning.sizes, self.sizes)

    def shape(self, term: t.Term) -> tuple[int, ...]:
        """Evaluate a term's shape."""
        return tuple(self.size(size) for size in term.shape)

    def fresh(self, term: t.Term, each: Callable[[tuple[int, ...]], Any]) -> FlatBlock:
        """Make a term's packed block, with a value for each index."""
        shape = self.shape(term)
        data = np.array([each(i) for i in product(*map(range, shape))], DTYPE[self.prim(term)])
        return FlatBlock(data, _row_major(shape))

    def pack(self, block: FlatBlock, span: Span, what: str) -> FlatBlock:
        """Copy values into a contiguous block of their own."""
        shape = block.loops.shape
        self.packed.append(Packed(span, what, block.data.itemsize * block.loops.size))
        return FlatBlock(block.values().reshape(-1), _row_major(shape))

    def prim(self, term: t.Term) -> Prim:
        """Return the type of a term's elements."""
        return term.prim or self.meaning.element

    def number(self, text: str, term: t.Term) -> Any:
        """Evaluate a literal."""
        prim = self.prim(term)
        return DTYPE[prim].type(float(text) if prim[0] == "f" else int(text))

    def neutral(self, op: str, term: t.Term) -> Any:
        """Return the neutral element of an operator."""
        prim = self.prim(term)
        if op in ("+", "*"):
            return self.number("0" if op == "+" else "1", term)
        if prim[0] == "f":
            return self.number("inf" if op == "min" else "-inf", term)
        return self.number(str(int_range(prim)[op == "min"]), term)

    def from_i64(self, value: int, term: t.Term) -> Any:
        """Convert a size or an index to an element."""
        return convert("i64", self.prim(term), np.int64(value))

    def op(self, op: str, a: Any, b: Any, term: t.Term) -> Any:
        """Apply an operator to two elements.

        Errors: `RuntimeError_` for an integer division by zero.
        """
        prim = self.prim(term)
        if is_division(op, prim) and b == 0:
            raise RuntimeError_("Division by zero.", term.span)
        found = apply_bin("!=" if op == "/=" else op, prim, a, b)
        return DTYPE[prim].type(found) if op in COMPARISONS else found

    def block(self, term: t.Term) -> FlatBlock:
        """Return the block of a term."""
        if id(term) not in self.known:
            self.known[id(term)] = self.made(term)
        return self.known[id(term)]

    def inside(self, rows: Mapping[int, FlatBlock], body: t.Term) -> FlatBlock:
        """Evaluate a body for one row of each array, then forget its terms."""
        outer = dict(self.known)
        self.known |= rows
        found = self.block(body)
        self.known = outer
        return found

    def made(self, term: t.Term) -> FlatBlock:
        """Evaluate a term that is met for the first time."""
        match term:
            case t.Number(text=text):
                value = self.number(text, term)
                return self.fresh(term, lambda _: value)
            case t.Neutral(op=op):
                neutral = self.neutral(op, term)
                return self.fresh(term, lambda _: neutral)
            case t.Size(value=value):
                size = self.from_i64(self.size(value), term)
                return self.fresh(term, lambda _: size)
            case t.Literal(values=values):
                data = np.array([self.number(one, term) for one in values], DTYPE[self.prim(term)])
                return FlatBlock(data, _row_major(self.shape(term)))
            case t.Enumerate(seed=seed, op=op, step=step):
                return self.enumerated(term, op, self.block(seed).at(()), self.block(step).at(()))
            case t.Split(arg=arg) | t.Join(arg=arg) | t.Claim(arg=arg):
                return self.reshaped(term, self.block(arg))
            case t.Zip(args=args):
                blocks = [self.block(one) for one in args]
                made = self.fresh(term, lambda i: blocks[i[0]].at(i[1:]))
                nbytes = made.data.nbytes
                self.packed.append(Packed(term.span, "Zip", nbytes))
                return made
            case t.Repack(arg=arg):
                return self.pack(self.block(arg), term.span, "Repack")
            case t.Expand(arg=arg):
                value = self.block(arg).at(())
                return self.fresh(term, lambda _: value)
            case t.LetMap():
                return self.mapped(term)
            case t.As(arg=arg):
                a, way = self.block(arg), (self.prim(arg), self.prim(term))
                return self.fresh(term, lambda i: convert(*way, a.at(i)))
            case t.Arith(op=op, lhs=lhs, rhs=rhs):
                a, b = self.block(lhs), self.block(rhs)
                return self.fresh(term, lambda i: self.op(op, a.at(i), b.at(i), term))
            case t.If(cond=cond, then=then, orelse=orelse):
                c, a, b = self.block(cond), self.block(then), self.block(orelse)
                return self.fresh(term, lambda i: a.at(i) if c.at(i) != 0 else b.at(i))
            case t.Fold():
                return self.folded(term)
            case t.Filter():
                return self.filtered(term)
            case t.Twist(how=how, arg=arg):
                whole = self.block(arg)
                return FlatBlock(whole.data, self.twisted(how, whole.loops, term.span))
        raise AssertionError(term)

    def enumerated(self, term: t.Term, op: str, seed: Any, step: Any) -> FlatBlock:
        """Make values by their number."""
        prim = self.prim(term)

        def each(index: tuple[int, ...]) -> Any:
            number = self.from_i64(index[0], term)
            if op == "*":
                return self.op("*", seed, apply_bin("**", prim, step, number), term)
            return self.op(op, seed, self.op("*", step, number, term), term)

        return self.fresh(term, each)

    def reshaped(self, term: t.Term, block: FlatBlock) -> FlatBlock:
        """Return the values in another shape; copy them where their loops do not allow it.

        Errors: `RuntimeError_` for another number of values.
        """
        shape = self.shape(term)
        if np.prod(shape, dtype=object) != np.prod(block.loops.shape, dtype=object) or (
            isinstance(term, t.Claim) and shape != block.loops.shape
        ):
            raise RuntimeError_(
                f"An array of shape {block.loops.shape} has not the shape {shape}.", term.span
            )
        loops = block.loops.reshape(shape)
        if isinstance(loops, NoView):
            block = self.pack(block, term.span, type(term).__name__)
            return FlatBlock(block.data, _row_major(shape))
        return FlatBlock(block.data, loops)

    def mapped(self, term: t.LetMap) -> FlatBlock:
        """Concatenate the body's results for all rows."""
        args = {id(var): self.block(arg) for var, arg in term.rows}

        def row(i: int) -> FlatBlock:
            return self.inside({var: _fixed(arg, i) for var, arg in args.items()}, term.body)

        rows = list(map(row, range(self.shape(term)[0])))
        return self.fresh(term, lambda i: rows[i[0]].at(i[1:]))

    def filtered(self, term: t.Filter) -> FlatBlock:
        """Select the rows of one array that pass the filter."""
        args = {id(var): self.block(arg) for var, arg in term.rows}
        whole = list(args.values())[term.part]

        def is_kept(i: int) -> bool:
            rows = {var: _fixed(arg, i) for var, arg in args.items()}
            return bool(self.inside(rows, term.cond).at(()) != 0)

        kept = [_fixed(whole, i) for i in filter(is_kept, range(whole.loops.shape[0]))]
        (name,) = term.shape[0].names()
        self.sizes[name] = len(kept)
        self.packed.append(Packed(term.span, "Filter", 0))
        return self.fresh(term, lambda i: kept[i[0]].at(i[1:]))

    def folded(self, term: t.Fold) -> FlatBlock:
        """Fold the rows into the accumulator, one after another."""
        acc, rows = self.block(term.acc), self.block(term.arg)

        def each(index: tuple[int, ...]) -> Any:
            found = acc.at(index)
            for i in range(rows.loops.shape[0]):
                found = self.op(term.op, found, rows.at((i, *index)), term)
            return found

        return self.fresh(term, each)

    def twisted(self, how: t.Structural, loops: Lmad[int], span: Span) -> Lmad[int]:
        """Apply a structural operation to the loops of a block.

        Errors: `RuntimeError_` for a part that does not exist.
        """
        rank = loops.rank
        match how:
            case t.Transpose():
                return loops.permute((1, 0, *range(2, rank)))
            case t.RotateL():
                return loops.permute((*range(1, rank), 0))
            case t.RotateR():
                return loops.permute((rank - 1, *range(rank - 1)))
            case t.Slice(at):
                return loops.fix(self.row(at, loops, span))
            case t.SubRange(first, last):
                start, count = self.size(first), self.size(last - first + 1)
                if count < 0 or start < 0 or start + count > loops.shape[0]:
                    message = f"Rows {start} to {start + count - 1} of {loops.shape[0]}."
                    raise RuntimeError_(message, span)
                return loops.slice(0, start, count, 1)
            case t.DownSample(step):
                return loops.slice(0, 0, -(-loops.shape[0] // step), step)
            case t.Smap(inner):
                outer, *dims = loops.dims
                new = self.twisted(inner, Lmad(loops.offset, tuple(dims)), span)
                return Lmad(new.offset, (outer, *new.dims))
            case t.Compose(second, first_):
                return self.twisted(second, self.twisted(first_, loops, span), span)
        raise AssertionError(how)

    def row(self, at: Poly, loops: Lmad[int], span: Span) -> int:
        """Evaluate an index of the outer dimension.

        Errors: `RuntimeError_` for one out of bounds.
        """
        index = self.size(at)
        if not 0 <= index < loops.shape[0]:
            raise RuntimeError_(f"Index {index} of {loops.shape[0]} rows.", span)
        return index


def sized(poly: Poly, sizes: SizeTable, known: Mapping[str, int]) -> int:
    """Evaluate a size."""
    env = dict(known)
    for name in poly.names() - known.keys():
        over, under = sizes.quotients[name]
        env[name] = towards_zero(sized(over, sizes, known), sized(under, sizes, known))
    return poly.evaluate(env)


def run(
    meaning: Meaning, inputs: Mapping[str, np.ndarray[Any, Any]], ints: Mapping[str, int]
) -> tuple[tuple[np.ndarray[Any, Any], ...], list[Packed]]:
    """Run a program on arrays, by names of parameters and files; return results and copies."""
    sizes = dict(ints)
    for one in meaning.sources:
        for size, count in zip(one.shape, inputs[one.name].shape, strict=True):
            if (name := size.as_name) is not None:
                sizes.setdefault(name, count)
    machine = BlockMachine(meaning, sizes)
    for one in meaning.sources:
        data = np.ascontiguousarray(inputs[one.name]).reshape(-1)
        machine.known[id(one)] = FlatBlock(data, _row_major(inputs[one.name].shape))
    return machine.run(), machine.packed


def _row_major(shape: tuple[int, ...]) -> Lmad[int]:
    return Lmad.row_major(shape) if shape else Lmad(0, ())


def _fixed(block: FlatBlock, at: int) -> FlatBlock:
    return FlatBlock(block.data, block.loops.fix(at))
