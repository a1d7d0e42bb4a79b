"""Build the programs for data that is read window by window; see `windows.py`.

Each reading has one for a number of steps of its sinks, with windows as inputs; one at the end
combines their results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TypeVar

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.errors import RuntimeError_
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.build import TermBuilder
from compiler.frontend.flatpack.evaluate import Meaning
from compiler.frontend.flatpack.values import SizeTable, wrong
from compiler.frontend.flatpack.windows import Demand, Reading, Sink, WindowPlan

STEPS, FIRST = "window'steps", "window'first"
"""Parameters of a program for some steps: their number, and the index of the first.

No name of a FlatPack program has a quote in its middle."""
_S = TypeVar("_S", bound=t.Structural)


@dataclass(slots=True)
class SizedProgram:
    """A program with numbers for its sizes."""

    meaning: Meaning
    sizes: Mapping[str, int]
    builder: TermBuilder = field(init=False)
    became: dict[int, t.Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep filters' names of sizes that are known only at run time."""
        table = SizeTable()
        table.found = self.meaning.sizes.found
        self.builder = TermBuilder(self.meaning.element, table)

    def program(self) -> Meaning:
        """Build the program.

        Errors: `TypeError_` and `RuntimeError_` for sizes that do not fit.
        """
        return replace(
            self.meaning,
            ints=(),
            sources=tuple(map(self.source, self.meaning.sources)),
            result=self.of(self.meaning.result),
            more=tuple(map(self.of, self.meaning.more)),
            sizes=self.builder.sizes,
        )

    def source(self, one: t.Source) -> t.Source:
        """Rebuild an input."""
        found = self.of(one)
        assert isinstance(found, t.Source)
        return found

    def size(self, poly: Poly) -> Poly:
        """Evaluate a size, as far as it is known before a run.

        Errors: `RuntimeError_` for a division by 0.
        """
        quotients = self.meaning.sizes.quotients
        values = {name: Poly.const(self.sizes[name]) for name in poly.names() & self.sizes.keys()}
        for name in poly.names() & quotients.keys():
            over, under = map(self.size, quotients[name])
            if under == 0:
                raise RuntimeError_("A size is divided by 0.", self.meaning.at)
            values[name] = self.builder.sizes.quotient(over, under)
        return poly.subst(values)

    def of(self, term: t.Term) -> t.Term:
        """Rebuild a term."""
        if id(term) not in self.became:
            new = t.with_parts(term, {id(part): self.of(part) for part in t.parts(term)})
            self.became[id(term)] = self.checked(
                replace(new, shape=tuple(map(self.size, term.shape)))
            )
        return self.became[id(term)]

    def checked(self, term: t.Term) -> t.Term:
        """Check the sizes of a term whose parts are rebuilt.

        Errors: `RuntimeError_` for a negative size, and where two sizes should be equal.
        """
        build = self.builder
        match term:
            case t.Size(value=value):
                return replace(term, value=self.size(value))
            case t.Twist(how=how, arg=arg):
                order = t.with_indices(how, self.size)
                return replace(term, how=order, shape=build.twisted(order, arg.shape, term.span))
            case t.Split(arg=arg):
                pieces, each = term.shape[:2]
                if arg.shape[0] != pieces * each:
                    message = f"{arg.shape[0]} rows cannot be split into {pieces} equal pieces."
                    raise wrong(codes.flatpack.RANGE, message, term.span)
            case t.Claim(arg=arg):
                if arg.shape == term.shape:
                    return arg
                if not self.meaning.sizes.found & {n for size in arg.shape for n in size.names()}:
                    shapes = build.shape(arg.shape), build.shape(term.shape)
                    raise RuntimeError_(
                        f"An array of shape {shapes[0]} has not the shape {shapes[1]}.", term.span
                    )
        if any(size.constant is not None and size.constant < 0 for size in term.shape):
            raise RuntimeError_(f"An array of shape {build.shape(term.shape)}.", term.span)
        return term


@dataclass(slots=True)
class SinkValues:
    """The results of finished sinks: a source replaces each sink."""

    made: WindowPlan
    given: dict[int, t.Term] = field(default_factory=dict)
    sources: dict[int, t.Source] = field(default_factory=dict)
    """By identity of a sink: the input in its place."""
    kept: dict[int, t.Term] = field(default_factory=dict)

    def give(self, sink: Sink, shape: tuple[int, ...]) -> None:
        """Provide a sink's rows, or its folded windows, of that shape."""
        term, sizes = sink.term, tuple(map(Poly.const, shape))
        made = t.Source(term.span, sizes, f"sink_{len(self.sources)}")
        self.sources[id(term)] = made
        if sink.folds and isinstance(term, t.Fold):
            acc = self.of(term.acc)
            self.given[id(term)] = t.Fold(term.span, sizes[1:], term.op, acc, made)
        else:
            self.given[id(term)] = made
        self.kept = {}

    def for_rows(self) -> SinkValues:
        """Return a copy for a program that binds rows of its own."""
        return SinkValues(self.made, self.given, self.sources)

    def of(self, term: t.Term) -> t.Term:
        """Rebuild a term, with sources for finished sinks."""
        if id(term) in self.given:
            return self.given[id(term)]
        if id(term) not in self.kept:
            parts = {id(part): self.of(part) for part in t.parts(term)}
            self.kept[id(term)] = t.with_parts(term, parts)
        return self.kept[id(term)]

    def program(self) -> Meaning:
        """Return the program over the sinks' results."""
        return self.meaning((self.of(self.made.result),), ())

    def meaning(self, results: tuple[t.Term, ...], ints: tuple[str, ...]) -> Meaning:
        """Build a program with these results and the sources that they need."""
        sources: dict[int, t.Source] = {}
        pending, seen = [*results], set[int]()
        while pending:
            one = pending.pop()
            if id(one) not in seen:
                seen.add(id(one))
                if isinstance(one, t.Source):
                    sources[id(one)] = one
                pending += t.parts(one)
        whole = self.made.meaning
        return replace(
            whole,
            ints=ints,
            sources=tuple(sources.values()),
            result=results[0],
            more=results[1:],
            sizes=self.made.builder.sizes,
        )


@dataclass(slots=True)
class Chunk:
    """The program for some steps of a reading."""

    stage: SinkValues
    reading: Reading
    built: dict[int, t.Term] = field(default_factory=dict)
    whole: dict[str, str] = field(default_factory=dict)
    """The data behind each window, by the name of the window's input."""

    def __post_init__(self) -> None:
        """Use rows of its own."""
        self.stage = self.stage.for_rows()

    def program(self) -> Meaning:
        """Return the program: for each sink the fold of some rows, or its rows."""
        results = tuple(map(self.sink, self.reading.sinks))
        return self.stage.meaning(results, (STEPS, FIRST))

    @property
    def build(self) -> TermBuilder:
        """The term builder."""
        return self.stage.made.builder

    def demand(self, term: t.Term) -> Demand:
        """Return the demand on a term."""
        return self.reading.demands[id(term)]

    def count(self, demand: Demand) -> Poly:
        """Return the number of rows needed for all steps."""
        return (Poly.var(STEPS) - 1) * demand.step + demand.rows

    def sink(self, sink: Sink) -> t.Term:
        """Build the result of a sink."""
        rows = self.of(sink.streamed)
        if not sink.folds or not isinstance(sink.term, t.Fold):
            return rows
        op = "+" if sink.term.op == "-" else sink.term.op
        span, shape = sink.term.span, sink.term.shape
        return t.Fold(span, shape, op, t.Neutral(span, (), op), rows)

    def of(self, term: t.Term) -> t.Term:
        """Build the demanded rows of a term."""
        if id(term) not in self.built:
            self.built[id(term)] = self.made(term)
        return self.built[id(term)]

    def part(self, term: t.Term, part: t.Term) -> t.Term:
        """Build the rows of a part that a term demands; others may demand more."""
        axis = self.stage.made.axis(part)
        if axis is None:
            return self.stage.of(part)
        found = self.of(part)
        wanted = self.stage.made.passes(term, part, self.demand(term))
        return self.cut(found, axis, wanted.low - self.demand(part).low, self.count(wanted))

    def cut(self, term: t.Term, axis: int, at: Poly, count: Poly) -> t.Term:
        """Slice rows along an axis."""
        if at == 0 and (term.shape[axis] == count or self.is_kept(term.shape[axis])):
            return term
        how = t.lift(t.SubRange(at, at + count - 1), axis)
        return t.Twist(term.span, self.build.twisted(how, term.shape, term.span), how, term)

    def is_kept(self, size: Poly) -> bool:
        """Test for a size that is known only at run time."""
        return bool(size.names() & self.build.sizes.found)

    def resident(self, term: t.Term, axis: int, size: Poly, demand: Demand) -> t.Term:
        """Slice that many rows of data in memory, beside rows of the stream."""
        found = self.stage.of(term)
        if not found.shape:
            return found
        if isinstance(found, t.Expand):
            return replace(found, shape=(*found.shape[:axis], size, *found.shape[axis + 1 :]))
        at = Poly.var(FIRST) * demand.step + demand.low
        return self.cut(found, axis, at, self.count(demand))

    def made(self, term: t.Term) -> t.Term:
        """Build the demanded rows of a new term."""
        demand, axis = self.demand(term), self.stage.made.axes[id(term)]
        count = self.count(demand)
        shape = (*term.shape[:axis], count, *term.shape[axis + 1 :])
        match term:
            case t.Source(name=name):
                self.whole[f"window_{name}"] = name
                return replace(term, shape=shape, name=f"window_{name}", file="")
            case t.Twist(how=how, arg=arg):
                return self.twisted(term, how, self.part(term, arg), axis)
            case t.Split(arg=arg):
                return replace(term, shape=shape, arg=self.part(term, arg))
            case t.Join(arg=arg):
                return self.joined(term, self.part(term, arg), axis, demand)
            case t.LetMap(var=var, arg=arg, body=body):
                each = self.part(term, arg)
                row = t.Var(var.span, each.shape[1:], var.name)
                return self.each(term, var, row, each, body)
            case t.Filter(var=var, arg=arg, cond=cond):
                each = self.part(term, arg)
                row = t.Var(var.span, each.shape[1:], var.name)
                self.built[id(var)] = self.stage.kept[id(var)] = row
                asked = self.stage.of(cond)
                return replace(
                    term, shape=(term.shape[0], *each.shape[1:]), var=row, arg=each, cond=asked
                )
        return self.everywhere(term, axis, demand)

    def each(self, term: t.LetMap, var: t.Var, row: t.Var, each: t.Term, body: t.Term) -> t.Term:
        """Build a map over rows."""
        self.stage.kept[id(var)] = row
        if self.stage.made.axis(var) is not None:
            self.built[id(var)] = row
        inner = self.part(term, body)
        return replace(term, shape=(each.shape[0], *inner.shape), var=row, arg=each, body=inner)

    def twisted(self, term: t.Twist, how: t.Structural, arg: t.Term, axis: int) -> t.Term:
        """Build a transformation; a slice along the axis is what the windows contain."""
        inner, depth = how, 0
        while isinstance(inner, t.Smap):
            inner, depth = inner.inner, depth + 1
        if isinstance(inner, t.SubRange) and depth == axis:
            return arg
        return t.Twist(term.span, self.build.twisted(how, arg.shape, term.span), how, arg)

    def joined(self, term: t.Join, arg: t.Term, axis: int, demand: Demand) -> t.Term:
        """Join rows, without those at the ends that are not demanded."""
        outer, inner, *rest = arg.shape
        new = replace(term, shape=(outer * inner, *rest), arg=arg)
        if axis:
            return new
        each, low = inner.constant or 1, demand.low.constant or 0
        return self.cut(new, 0, Poly.const(low % each), self.count(demand))

    def everywhere(self, term: t.Term, axis: int, demand: Demand) -> t.Term:
        """Build an element-wise operation."""
        axes = self.stage.made.axes
        became = {id(part): self.part(term, part) for part in t.parts(term) if id(part) in axes}
        like = next(part for part in t.parts(term) if id(part) in axes)
        size = became[id(like)].shape[axes[id(like)]]
        for part in t.parts(term):
            if id(part) not in axes:
                inside = isinstance(term, t.Fold) and part is term.arg
                where = axis + inside - isinstance(term, t.Zip)
                became[id(part)] = self.resident(part, where, size, demand)
        shape = (*term.shape[:axis], size, *term.shape[axis + 1 :])
        return replace(t.with_parts(term, became), shape=shape)
