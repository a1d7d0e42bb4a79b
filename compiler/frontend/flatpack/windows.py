"""Find the windows of its data that a program needs when it is read row by row.

Answers seed 002, section 7.3: a program can be streamed where each row of a result needs a fixed
number of adjacent rows of the data, at a fixed stride from one result row to the next. The rows of
a file become some dimension of each term that depends on it: its axis. A fold along that axis is a
sink, as is the program's result: it is computed window by window, and the windows' results are
small. A program in which one sink uses another reads the data again for it.

See Note [Windows].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from math import gcd
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.rules import Pass, Rule
from compiler.base.spans import Span
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.build import TermBuilder
from compiler.frontend.flatpack.evaluate import Meaning

# Note [Windows]
# ~~~~~~~~~~~~~~
# Row `k` of a sink needs rows `step*k + low` to `step*k + high` of a term along the term's axis:
# its demand. Operations at every index pass a demand on, `SubRange i j` moves it by `i`,
# `DownSample d` multiplies it by `d`, `Split` into pieces of `c` rows by `c`, and `Join` of rows of
# `c` divides it, for which a step of the sink may have to be several of its rows. Terms that are
# used twice get the demands of both, which must have one step: of rows `k` and `2*k` the window
# grows with `k`, and such a program is refused, as are those in which rows far apart meet.
#
# So the window of each term is a range that moves: as loops, the LMAD of its rows is the one of the
# whole with another offset and count.


class NoWindow(Exception):
    """Raised where data cannot be read window by window: the reason and the operation's span."""

    def __init__(self, span: Span, because: str, hint: str = "") -> None:
        super().__init__(because)
        self.span, self.because, self.hint = span, because, hint


class _Steps(Exception):
    """Raised where a step of the sink must comprise `times` as many rows."""

    def __init__(self, times: int) -> None:
        super().__init__(times)
        self.times = times


@dataclass(frozen=True, slots=True)
class Demand:
    """Rows `step*k + low` to `step*k + high` for step `k` of a sink."""

    step: int
    low: Poly
    high: Poly

    @property
    def rows(self) -> Poly:
        """Number of rows needed at once."""
        return self.high - self.low + 1

    def with_(self, other: Demand, span: Span, what: str) -> Demand:
        """Return the union of two demands.

        Errors: `NoWindow` where they are too far apart, or move apart.
        """
        below, above = (self.low - other.low).constant, (self.high - other.high).constant
        if self.step != other.step:
            raise NoWindow(
                span,
                f"{what} is needed at rows {self.step}*k and {other.step}*k for the "
                "same k. Their distance grows, so the window would be the whole file.",
            )
        if below is None or above is None:
            far = "The distance of its rows depends on a size that is known only at run time."
            raise NoWindow(span, f"{what} is needed in two places. {far}")
        low = self.low if below < 0 else other.low
        return Demand(self.step, low, self.high if above > 0 else other.high)


@dataclass(frozen=True, slots=True)
class Sink:
    """A term that is computed window by window: a fold, or concatenated rows."""

    term: t.Term
    rows: Poly
    """Rows of the folded array, or of the term along its axis."""
    level: int
    """Number of earlier readings of the data."""
    folds: bool
    """True if the rows of the data are folded away."""

    @property
    def streamed(self) -> t.Term:
        """The term that is computed per window."""
        return self.term.arg if self.folds and isinstance(self.term, t.Fold) else self.term


@dataclass(frozen=True, slots=True)
class Reading:
    """One pass over the data for these sinks, with the demands on all terms, by identity."""

    sinks: tuple[Sink, ...]
    per_step: int
    """Rows of the sinks per step."""
    demands: dict[int, Demand]
    order: tuple[t.Term, ...]
    """The terms with demands, each before its subterms."""


@dataclass(slots=True)
class WindowPlan:
    """A program whose sources of these names are read window by window."""

    meaning: Meaning
    names: frozenset[str]
    builder: TermBuilder
    result: t.Term
    """The program's result, with sinks as terms of their own."""
    axes: dict[int, int]
    """By identity of a term: the dimension of the data's rows."""
    rows_of: dict[int, t.Term]
    """The array whose row a variable is."""
    sinks: dict[int, Sink]
    readings: list[Reading] = field(default_factory=list)

    def axis(self, term: t.Term) -> int | None:
        """Return the dimension of a term that holds the data's rows; None without one."""
        return self.axes.get(id(term))

    def parts(self, term: t.Term) -> Iterator[t.Term]:
        """Yield the subterms that have an axis."""
        match term:
            case t.Var():
                inner: Iterable[t.Term] = (self.rows_of[id(term)],)
            case t.LetMap(arg=arg, body=body):
                inner = (arg, body)
            case _:
                inner = t.parts(term)
        return (part for part in inner if id(part) in self.axes)

    def passes(self, term: t.Term, part: t.Term, demand: Demand) -> Demand:
        """Return the demand on a part that follows from a term's demand."""
        axis = self.axes[id(part)]
        match term:
            case t.Twist(how=how):
                return _through(how, axis, demand)
            case t.Split() if axis == 0:
                each = _number(term.shape[1], term, "How many rows a piece has")
                high = demand.high * each + (each - 1)
                return Demand(demand.step * each, demand.low * each, high)
            case t.Join(arg=rows) if axis == 0:
                each = _number(rows.shape[1], term, "How many elements a row has")
                if demand.step % each:
                    raise _Steps(each // gcd(demand.step, each))
                first = _number(demand.low, term, "Where its part begins") // each
                last = _number(demand.high, term, "Where its part ends") // each
                return Demand(demand.step // each, Poly.const(first), Poly.const(last))
        return demand


def windows(meaning: Meaning, names: Iterable[str]) -> WindowPlan:
    """Plan the evaluation of a program by windows of the sources with these names.

    Errors: `NoWindow`.
    """
    one_type(meaning)
    walk = _Axes(meaning, frozenset(names), TermBuilder(meaning.element, meaning.sizes))
    result = walk.of(meaning.result)
    if id(result) in walk.axes:
        walk.sink(result)
    made = WindowPlan(
        meaning, walk.names, walk.builder, result, walk.axes, walk.rows_of, walk.sinks
    )
    together: dict[tuple[int, Poly], list[Sink]] = {}
    for one in walk.sinks.values():
        together.setdefault((one.level, one.rows), []).append(one)
    for _, group in sorted(together.items(), key=lambda item: item[0][0]):
        made.readings += _read(made, group)
    return made


def one_type(meaning: Meaning) -> None:
    """Demand that a program has no tuples, which are not read by windows.

    Errors: `NoWindow`.
    """
    pending: list[t.Term] = [*meaning.results, *meaning.sources]
    seen: set[int] = set()
    why = "A window cannot have tuples or elements of several types."
    if meaning.more:
        raise NoWindow(meaning.at, why)
    while pending:
        one = pending.pop()
        if id(one) not in seen:
            seen.add(id(one))
            if one.prim is not None or (isinstance(one, t.LetMap | t.Filter) and one.args):
                raise NoWindow(one.span, why)
            pending += t.parts(one)


def _read(made: WindowPlan, group: list[Sink]) -> list[Reading]:
    """Read for all sinks at once if possible, else one after the other."""
    try:
        return [_reading(made, group, 1)]
    except NoWindow:
        if len(group) == 1:
            raise
        return [_reading(made, [one], 1) for one in group]


def _reading(made: WindowPlan, group: list[Sink], per_step: int) -> Reading:
    """Compute the demands on all terms for these sinks."""
    starts = [one.streamed for one in group]
    order = _in_order(made, starts)
    begin = Demand(per_step, Poly.const(0), Poly.const(per_step - 1))
    demands = dict.fromkeys(map(id, starts), begin)
    try:
        for term in order:
            for part in made.parts(term):
                new = made.passes(term, part, demands[id(term)])
                old = demands.get(id(part), new)
                demands[id(part)] = new.with_(old, term.span, _text(part))
    except _Steps as more:
        return _reading(made, group, per_step * more.times)
    rows = group[0].rows.constant
    if rows is not None and rows % per_step:
        raise NoWindow(
            group[0].term.span,
            f"It has {rows} rows, which are computed {per_step} at a time.",
            "Select rows before you join them.",
        )
    return Reading(tuple(group), per_step, demands, tuple(order))


def _in_order(made: WindowPlan, starts: list[t.Term]) -> list[t.Term]:
    """Sort terms before their subterms."""
    found: list[t.Term] = []
    done: set[int] = set()
    pending = [(one, False) for one in starts]
    while pending:
        term, left = pending.pop()
        if left:
            found.append(term)
        elif id(term) not in done:
            done.add(id(term))
            pending.append((term, True))
            pending += [(part, False) for part in made.parts(term) if id(part) not in done]
    return found[::-1]


def _through(how: t.Structural, axis: int, demand: Demand) -> Demand:
    """Propagate a demand through one step of a transformation, to an argument with that axis."""
    ((depth, one),) = t.primitives(how)
    if depth != axis:
        return demand
    match one:
        case t.SubRange(first, _):
            return Demand(demand.step, demand.low + first, demand.high + first)
        case t.DownSample(by):
            return Demand(demand.step * by, demand.low * by, demand.high * by)
    return demand


def _number(size: Poly, term: t.Term, what: str) -> int:
    """Return a size that must be a constant."""
    number: int | None = size.constant
    if number is None:
        raise NoWindow(term.span, f"{what} depends on a size that is known only at run time.")
    return number


def _moved(how: t.Structural, rank: int, axis: int) -> int:
    """Return the position of a dimension after a transformation."""
    order = list(range(rank))
    match how:
        case t.Transpose():
            order[:2] = order[1::-1]
        case t.RotateL():
            order = [*order[1:], 0]
        case t.RotateR():
            order = [rank - 1, *order[:-1]]
    return order.index(axis)


def _text(term: t.Term) -> str:
    """Describe a term, for any place in a sentence."""
    match term:
        case t.Source(name=name, file=file):
            return f"`{file or name}`"
        case t.Var(name=name):
            return f"`{name}`"
        case t.Arith(op=op):
            return f"`{op}`"
    return f"`{type(term).__name__}`"


_CROSSED = (
    "Each row of the data is combined with all rows of {}: the window would be the whole file."
)


@dataclass(slots=True)
class _Axes:
    """The walk from the data to the result that determines axes and sinks."""

    meaning: Meaning
    names: frozenset[str]
    builder: TermBuilder
    axes: dict[int, int] = field(default_factory=dict)
    rows_of: dict[int, t.Term] = field(default_factory=dict)
    sinks: dict[int, Sink] = field(default_factory=dict)
    became: dict[int, t.Term] = field(default_factory=dict)
    levels: dict[int, int] = field(default_factory=dict)
    free: dict[int, frozenset[int]] = field(default_factory=dict)
    inner: dict[int, t.Fold] = field(default_factory=dict)
    """Folds over the data inside maps, which may be interchanged; see `swapped`."""
    kept: list[t.Term] = field(default_factory=list)
    """Terms kept alive, as they are known by identity."""

    def of(self, term: t.Term) -> t.Term:
        """Rewrite a term: each twist becomes one step, small terms become sinks."""
        if id(term) not in self.became:
            self.became[id(term)] = self.known(self.made(term))
            self.kept.append(term)
        return self.became[id(term)]

    def known(self, term: t.Term) -> t.Term:
        """Record what a term inherits from its parts."""
        self.kept.append(term)
        for part in t.parts(term):
            if id(part) in self.inner and not (isinstance(term, t.LetMap) and part is term.body):
                raise NoWindow(
                    part.span,
                    "This reads all rows of the data for each row of another array, "
                    "and the same map uses its result further.",
                    "End the map with it, and do the rest with the map's result.",
                )
        own = {id(term)} if isinstance(term, t.Var) else set()
        inside = own.union(*(self.free.get(id(part), ()) for part in t.parts(term)))
        if isinstance(term, t.LetMap | t.Filter):
            inside.discard(id(term.var))
        self.free.setdefault(id(term), frozenset(inside))
        level = max((self.levels.get(id(part), 0) for part in t.parts(term)), default=0)
        self.levels[id(term)] = max(level, self.levels.get(id(term), 0))
        return term

    def at(self, term: t.Term) -> int | None:
        """Return the axis of a rewritten term."""
        return self.axes.get(id(term))

    def sink(self, term: t.Term) -> t.Term:
        """Record a term that is computed window by window."""
        self.known(term)
        folds = id(term) not in self.axes
        streamed = term.arg if folds and isinstance(term, t.Fold) else term
        if self.free[id(term)]:
            why = "This takes one row of the data for each row of another array."
            raise NoWindow(term.span, why, "Take it outside of the map.")
        rows = self.length(streamed, self.axes[id(streamed)])
        self.sinks[id(term)] = Sink(term, rows, self.levels[id(streamed)], folds)
        self.levels[id(term)] = max(self.levels[id(term)], self.levels[id(streamed)] + 1)
        return term

    def length(self, term: t.Term, axis: int) -> Poly:
        """Return the rows along an axis; of a filter, those of its input."""
        size = term.shape[axis]
        while size.names() & self.meaning.sizes.found:
            arg = self.rows_of.get(id(term)) or next(p for p in t.parts(term) if id(p) in self.axes)
            term, size = arg, arg.shape[self.axes[id(arg)]]
        return size

    def made(self, term: t.Term) -> t.Term:
        """Rewrite a new term."""
        match term:
            case t.Source(name=name) if name in self.names:
                if not term.shape:
                    raise NoWindow(term.span, "A single value has no rows.")
                self.axes[id(term)] = 0
                return term
            case t.Var() | t.Source() | t.Number() | t.Literal():
                return term
            case t.Size(value=value):
                if value.names() & self.meaning.sizes.found:
                    why = "The number of kept rows is known only after all rows have been read."
                    raise NoWindow(term.span, why)
                return term
            case t.LetMap(var=var, arg=arg, body=body):
                return self.mapped(term, var, self.of(arg), body)
            case t.Filter(var=var, arg=arg, cond=cond):
                return self.filtered(term, var, self.of(arg), cond)
            case t.Twist(how=how, arg=arg):
                found = self.of(arg)
                if id(found) not in self.axes:
                    return term if found is arg else replace(term, arg=found)
                for depth, one in t.primitives(how):
                    found = self.known(self.twisted(term.span, depth, one, found))
                return found
            case t.Fold():
                return self.folded(term, self.of(term.acc), self.of(term.arg))
            case t.Split(arg=arg) | t.Join(arg=arg):
                return self.reshaped(term, self.of(arg))
        return self.everywhere(term)

    def everywhere(self, term: t.Term) -> t.Term:
        """Rewrite an element-wise operation."""
        became = {id(part): self.of(part) for part in t.parts(term)}
        new = t.with_parts(term, became)
        axes = {axis for part in t.parts(new) if (axis := self.at(part)) is not None}
        if len(axes) > 1:
            raise NoWindow(
                term.span,
                f"{_text(term)} combines rows of the data with its columns, so the "
                "first row needs the last: the window would be the whole file.",
            )
        for axis in axes:
            self.axes[id(new)] = axis + isinstance(new, t.Zip)
        return new

    def twisted(self, span: Span, depth: int, how: t.Structural, arg: t.Term) -> t.Term:
        """Rewrite one step of a transformation of a term with an axis."""
        axis, rank = self.axes[id(arg)], len(arg.shape)
        new = self.one(span, t.lift(how, depth), arg)
        if isinstance(how, t.Transpose | t.RotateL | t.RotateR):
            if axis >= depth:
                self.axes[id(new)] = depth + _moved(how, rank - depth, axis - depth)
            else:
                self.axes[id(new)] = axis
            return new
        if axis == depth and arg.shape[axis].names() & self.meaning.sizes.found:
            raise NoWindow(
                span, "The position of these rows depends on how many rows before them are kept."
            )
        if not isinstance(how, t.Slice) or axis < depth:
            self.axes[id(new)] = axis
        elif axis > depth:
            self.axes[id(new)] = axis - 1
        else:
            only = self.one(span, t.lift(t.SubRange(how.at, how.at), depth), arg)
            self.axes[id(only)] = axis
            return self.one(span, t.lift(t.Slice(Poly.const(0)), depth), self.sink(only))
        return new

    def one(self, span: Span, how: t.Structural, arg: t.Term) -> t.Twist:
        """Build and record one step."""
        new = t.Twist(span, self.builder.twisted(how, arg.shape, span), how, arg)
        self.known(new)
        return new

    def folded(self, term: t.Fold, acc: t.Term, arg: t.Term) -> t.Term:
        """Rewrite a fold: along the axis it is a sink."""
        new = replace(term, acc=acc, arg=arg)
        axis, other = self.at(arg), self.at(acc)
        if axis is None and other is None:
            return new
        if axis == 0 and other is None:
            if term.op == "/":
                why = (
                    "Division combines the rows one after the other, so parts of the data "
                    "cannot be folded separately."
                )
                raise NoWindow(term.span, why)
            if not self.free[id(self.known(new))]:
                return self.sink(new)
            self.inner[id(new)] = new
            return new
        if axis == 0 or (axis is not None and other is not None and other != axis - 1):
            raise NoWindow(term.span, "The accumulator has the rows of the data in another place.")
        if axis is not None:
            self.axes[id(new)] = axis - 1
        elif other is not None:
            self.axes[id(new)] = other
        return new

    def mapped(self, term: t.LetMap, var: t.Var, arg: t.Term, body: t.Term) -> t.Term:
        """Rewrite a map over rows of the data, or one whose body has an axis."""
        axis = self.at(arg)
        self.rows_of[id(var)] = arg
        self.known(var)
        self.levels[id(var)] = self.levels.get(id(arg), 0)
        if axis is not None and axis > 0:
            self.axes[id(var)] = axis - 1
        inner = self.of(body)
        new = replace(term, arg=arg, body=inner)
        if isinstance(inner, t.Fold) and id(inner) in self.inner:
            return self.swapped(new, inner)
        if axis == 0:
            self.single(inner, var, term)
            self.axes[id(new)] = 0
        elif self.at(inner) is not None:
            self.axes[id(new)] = self.axes[id(inner)] + 1
        return new

    def swapped(self, term: t.LetMap, inner: t.Fold) -> t.Term:
        """`LetMap v a (Fold op z e) ==> Fold op (map z) (Twist Transpose (LetMap v a e))`."""
        if self.at(term.arg) == 0:
            raise NoWindow(term.span, _CROSSED.format(_text(inner.arg)))
        size, var = term.arg.shape[0], term.var
        each = replace(term, shape=(size, *inner.arg.shape), body=inner.arg)
        self.axes[id(self.known(each))] = 1
        rows = self.twisted(term.span, 0, t.Transpose(), each)
        acc = inner.acc
        if acc.shape or id(var) in self.free[id(acc)]:
            acc = self.known(replace(term, shape=(size, *acc.shape), body=acc))
        return self.folded(replace(inner, shape=term.shape), acc, self.known(rows))

    def filtered(self, term: t.Filter, var: t.Var, arg: t.Term, cond: t.Term) -> t.Term:
        """Rewrite a filter of rows of the data."""
        axis = self.at(arg)
        self.rows_of[id(var)] = arg
        self.known(var)
        if axis:
            self.axes[id(var)] = axis - 1
        inner = self.of(cond)
        new = replace(term, arg=arg, cond=inner)
        if axis is None and self.at(inner) is None and not isinstance(inner, t.Fold):
            return new
        if axis != 0:
            why = "Whether a row is kept depends on all rows of the data."
            raise NoWindow(term.span, why)
        self.single(inner, var, term)
        self.axes[id(new)] = 0
        return new

    def single(self, body: t.Term, var: t.Var, term: t.Term) -> None:
        """Demand that the body for one row of the data needs no others."""
        pending, seen = [body], set[int]()
        while pending:
            one = pending.pop()
            if id(one) in self.axes:
                raise NoWindow(term.span, _CROSSED.format(_text(one)))
            if id(one) not in seen and id(one) not in self.sinks:
                seen.add(id(one))
                pending += t.parts(one)

    def reshaped(self, term: t.Split | t.Join, arg: t.Term) -> t.Term:
        """Rewrite a change of dimensions."""
        new = replace(term, arg=arg)
        axis = self.at(arg)
        if axis is None:
            return new
        is_split = isinstance(term, t.Split)
        if axis == 0 and arg.shape[0].names() & self.meaning.sizes.found:
            why = "The grouping of rows depends on how many rows before them are kept."
            raise NoWindow(term.span, why)
        if (
            is_split
            and axis == 0
            and term.shape[0].constant is not None
            and (term.shape[1].constant is None)
        ):
            raise NoWindow(
                term.span,
                f"`Split` puts rows next to each other that are {term.shape[1]} apart: the window "
                "would be the whole file.",
                "Split into pieces of a fixed number of rows, such as `Split (n / 4)`.",
            )
        if not is_split and axis == 1 and arg.shape[0] != 1:
            raise NoWindow(
                term.span,
                "`Join` concatenates all rows of the data, once for each row of the "
                "outer dimension: the window would be the whole file.",
                "Transpose before.",
            )
        self.axes[id(new)] = axis if axis == 0 else axis + (1 if is_split else -1)
        return new


def report_windows(program: Any, ctx: Ctx) -> Any:
    """Report the window needed of each array that a FlatPack program is given."""
    if not isinstance(program, Meaning):
        return program
    for source in (one for one in program.sources if one.shape):
        try:
            made = windows(program, [source.name])
        except NoWindow as why:
            name = source.file or source.name
            because = f"`{name}` cannot be read window by window. {why.because}"
            ctx.tell("missed", RULE, (why.span,), because, why.hint)
            continue
        demands = [one.demands[id(source)] for one in made.readings if id(source) in one.demands]
        if demands:
            rows = ", then ".join(dict.fromkeys(str(one.rows) for one in demands))
            moves = ", then ".join(dict.fromkeys(str(one.step) for one in demands))
            numbers = (
                ("rows of a window", rows),
                ("rows that it moves", moves),
                ("readings", str(len(demands))),
            )
            because = f"`{source.file or source.name}` can be read window by window."
            ctx.tell("note", RULE, (source.span,), because, "", numbers)
    return program


RULE = Rule(
    "windows/stream",
    "Computes the window of rows that a FlatPack program needs when it reads an array row by row.",
    optional=False,
)
PASS = Pass("windows", "Finds the windows of data that FlatPack reads.", report_windows, (RULE,))
