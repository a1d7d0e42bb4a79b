"""Smart constructors of FlatPack terms: infer shapes and report mismatches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import count
from typing import NoReturn, TypeVar

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.prim import Prim, int_range
from compiler.base.spans import Span
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.terms import Shape
from compiler.frontend.flatpack.values import (
    Function,
    Int,
    ShapeOf,
    SizeTable,
    TupleOf,
    Value,
    Written,
    kind_of,
    wrong,
)

_MOST_TERMS = 20_000
FOLDS = frozenset(("+", "-", "*", "/", "min", "max"))
COMPARISONS = frozenset(("==", "/=", "<", "<=", ">", ">="))
_Term = TypeVar("_Term", bound=t.Term)


@dataclass(slots=True)
class TermBuilder:
    """A program's sizes and files, and the number of terms built so far."""

    element: Prim = "f64"
    sizes: SizeTable = field(default_factory=SizeTable)
    files: dict[tuple[str, Shape], t.Source] = field(default_factory=dict)
    made: int = 0
    site: Span | None = None
    """The span in the program that uses the library code under evaluation."""

    def at(self, span: Span) -> Span:
        """Return the span in the program; a library definition is placed at its use."""
        return self.site if self.site is not None and span.in_prelude else span

    # --- what values are ---

    def new(self, term: _Term) -> _Term:
        """Count a term."""
        self.made += 1
        if self.made > _MOST_TERMS:
            raise wrong(
                codes.flatpack.TOO_MUCH,
                f"Here the program exceeds {_MOST_TERMS} operations.",
                term.span,
                "A function that calls another one twice doubles its operations: bind "
                "shared values with `let`.",
            )
        return term

    def other(self, prim: Prim) -> Prim | None:
        """Return a type as terms store it: None is the program's."""
        return None if prim == self.element else prim

    def number(self, text: str, span: Span, prim: Prim | None = None) -> t.Term:
        """Build a number as a single value."""
        type_ = prim or self.element
        if type_[0] in "iu":
            low, high = int_range(type_)
            if not is_int(text) or not low <= int(text) <= high:
                raise wrong(
                    codes.flatpack.NUMBER,
                    f"`{text}` is not a value of the element type `{type_}`.",
                    self.at(span),
                    "The first line of the program can name another type, such as `type f64`.",
                )
        return t.Number(self.at(span), (), text, prim=prim)

    def terms(self, values: Sequence[Value], span: Span, what: str) -> list[t.Term]:
        """Convert values to elements of one type, which numbers take from the others."""
        typed = next((value for value in values if isinstance(value, t.Term)), None)
        prim = typed.prim if typed else None
        found = [self.term(value, span, prim) for value in values]
        for one in found:
            if one.prim != prim:
                names = " and ".join(f"`{t_ or self.element}`" for t_ in (prim, one.prim))
                raise wrong(
                    codes.flatpack.TYPES,
                    f"{what} takes elements of one type, but these are {names}.",
                    self.at(span),
                    f"Convert with `As {prim or self.element} ..`.",
                )
        return found

    def term(self, value: Value, span: Span, prim: Prim | None = None) -> t.Term:
        """Convert a value to an element or array; `prim`: the type of a number."""
        match value:
            case t.Term():
                return value
            case Written(text=text, span=place):
                return self.number(text, place, prim)
            case Int(term=t.Term() as term):
                return term
            case Int(value=value_, span=place):
                number = value_.constant
                if number is not None:
                    return self.number(str(number), place or span, prim)
                return t.Size(self.at(span), (), value_, prim=prim)
        raise wrong(
            codes.flatpack.KIND, f"Expected an array, found {kind_of(value)}.", self.at(span)
        )

    def array(self, value: Value, span: Span, what: str) -> t.Term:
        """Convert a value to an array with at least one dimension."""
        found = self.term(value, span)
        if not found.shape:
            message = f"`{what}` takes an array, but this is one value."
            raise wrong(
                codes.flatpack.SHAPE, message, self.at(span), "Give it a shape with `HasShape`."
            )
        return found

    def int(self, value: Value, span: Span, what: str) -> Poly:
        """Convert a value to a size or index."""
        if not isinstance(value, Int):
            hint = "SizeTable and indices are numbers, sizes, and integer parameters of `main`."
            message = f"`{what}` takes an integer, found {kind_of(value)}."
            raise wrong(codes.flatpack.KIND, message, self.at(span), hint)
        return value.value

    def dims(self, value: Value, span: Span) -> Shape:
        """Convert a value to a shape."""
        if isinstance(value, ShapeOf):
            return value.sizes
        size = self.int(value, span, "Of")
        if size.constant is not None and size.constant < 0:
            at = value.span if isinstance(value, Int) and value.span else span
            raise wrong(codes.flatpack.RANGE, f"The size {size} is negative.", self.at(at))
        return (size,)

    def structural(self, value: Value, span: Span, what: str) -> t.Structural:
        """Convert a value to a structural transformation."""
        if not isinstance(value, t.Structural):
            message = f"`{what}` takes a structural transformation, found {kind_of(value)}."
            hint = "These are Transpose, RotateL, RotateR, Slice i, SubRange i j, DownSample i, "
            raise wrong(
                codes.flatpack.KIND, message, self.at(span), f"{hint}Smap s and Compose s t."
            )
        return value

    def shape(self, shape: Shape) -> str:
        """Print a shape in the program's notation."""
        return " Of ".join(self.sizes.show(size) for size in shape) or "Scalar"

    # --- what constructors make ---

    def operator(self, op: str, args: Sequence[Value], span: Span) -> Value:
        """Build `a op b`: on sizes, or element-wise."""
        a, b = args
        if isinstance(a, Int) and isinstance(b, Int) and op in ("+", "-", "*", "/"):
            return self.of_sizes(op, a, b, span)
        lhs, rhs = self.terms((a, b), span, f"`{op}`")
        return self.arith(op, lhs, rhs, span)

    def of_sizes(self, op: str, a: Int, b: Int, span: Span) -> Int:
        """Compute on sizes, and build the element-wise value, where division differs."""
        x, y = a.value, b.value
        if op == "/":
            value = self.sizes.quotient(x, y) if y != 0 else Poly.const(0)
        else:
            value = {"+": x + y, "-": x - y, "*": x * y}[op]
        if op != "/" and a.term is None and b.term is None:
            return Int(value)
        return Int(value, self.arith(op, self.term(a, span), self.term(b, span), span))

    def arith(self, op: str, a: t.Term, b: t.Term, span: Span) -> t.Term:
        """Build `a op b`, element-wise."""
        shape = self.common((a, b), span, f"`{op}`")
        return self.new(t.Arith(self.at(span), shape, op, a, b, prim=a.prim))

    def common(self, terms: Sequence[t.Term], span: Span, what: str) -> Shape:
        """Return the common shape of all terms but scalars."""
        shape: Shape = ()
        for one in terms:
            if one.shape and shape and one.shape != shape:
                raise wrong(
                    codes.flatpack.SHAPE,
                    f"{what} takes arrays of one shape, but these are "
                    f"{self.shape(shape)} and {self.shape(one.shape)}.",
                    self.at(span),
                    (
                        "If you know that they are always the same, claim it: `HasShape .. "
                        f"({self.shape(shape)})`."
                    )
                    if len(shape) == len(one.shape) and not certainly_differ(shape, one.shape)
                    else "",
                )
            shape = shape or one.shape
        return shape

    def expanded(self, term: t.Term, shape: Shape) -> t.Term:
        """Broadcast a scalar to that shape."""
        return (
            term
            if term.shape == shape
            else self.new(t.Expand(term.span, shape, term, prim=term.prim))
        )

    def twist(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Twist s a`."""
        how = self.structural(args[0], span, "Twist")
        if isinstance(args[1], TupleOf):
            return TupleOf(tuple(self.twist((how, part), span) for part in args[1].parts))
        arg = self.array(args[1], span, "Twist")
        if isinstance(how, t.Compose):
            return self.twist((how.outer, self.twist((how.inner, arg), span)), span)
        shape = self.twisted(how, arg.shape, span)
        return self.new(t.Twist(self.at(span), shape, how, arg, prim=arg.prim))

    def twisted(self, how: t.Structural, shape: Shape, span: Span) -> Shape:
        """Return the shape of an array of that shape after a transformation."""
        needs = 2 if isinstance(how, t.Transpose) else 1
        if len(shape) < needs:
            raise wrong(
                codes.flatpack.SHAPE,
                f"`{type(how).__name__}` takes an array of at least {needs} "
                f"dimension{'s' * (needs > 1)}; this has {len(shape)}.",
                self.at(span),
            )
        if isinstance(how, t.Compose):
            return self.twisted(how.outer, self.twisted(how.inner, shape, span), span)
        outer, *inner = shape
        match how:
            case t.Slice(at):
                self.inside("Slice", at, outer, span)
            case t.SubRange(first, last):
                self.inside("SubRange", first, outer, span, is_range=True)
                count = last - first + 1
                if count.constant is not None and count.constant < 0:
                    self.outside(f"`SubRange {first} {last}` ends before it begins.", span)
                if count != 0:
                    self.inside("SubRange", last, outer, span)
            case t.Smap(one):
                return (outer, *self.twisted(one, tuple(inner), span))
        return t.shape_after(how, shape, self.sizes.quotient)

    def inside(self, what: str, at: Poly, size: Poly, span: Span, is_range: bool = False) -> None:
        """Reject an index that is certainly out of bounds; others are checked at run time.

        An empty range may begin right behind the last row.
        """
        low, above = at.constant, (size + is_range - at).constant
        if (low is not None and low < 0) or (above is not None and above <= 0):
            shown = self.sizes.show(size)
            rows = "1 row" if size == 1 else f"{shown} rows"
            self.outside(f"Index {self.sizes.show(at)} of `{what}` is out of bounds: {rows}.", span)

    def outside(self, message: str, span: Span, hint: str = "Indices count from 0.") -> NoReturn:
        """Raise the error for an index out of bounds."""
        raise wrong(codes.flatpack.RANGE, message, self.at(span), hint)

    def get_data(self, args: Sequence[Value], span: Span) -> Value:
        """Build `GetData file shape`: the same file in the same shape is one source."""
        if not isinstance(args[0], str):
            raise wrong(codes.flatpack.KIND, "`GetData` takes a file name first.", self.at(span))
        shape = self.dims(args[1], span)
        key = args[0], shape
        if key not in self.files:
            stem = "".join(c if c.isalnum() and c.isascii() else "_" for c in args[0]) or "data"
            name = f"data_{stem}" if len(self.files) == 0 else f"data_{stem}_{len(self.files)}"
            self.files[key] = t.Source(self.at(span), shape, name, args[0])
        return self.files[key]

    def literal(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Literal values shape`."""
        if not isinstance(args[0], tuple):
            raise wrong(codes.flatpack.KIND, "`Literal` takes a list of numbers.", self.at(span))
        shape, values = self.dims(args[1], span), self.terms(args[0], span, "`Literal`")
        texts = [one.text for one in values if isinstance(one, t.Number)]
        if len(texts) < len(values):
            raise wrong(codes.flatpack.KIND, "A `Literal` may contain only numbers.", self.at(span))
        count = Poly.product(shape)
        if count != len(values):
            raise wrong(
                codes.flatpack.SHAPE,
                f"The list has {len(values)} numbers, but the shape {self.shape(shape)} "
                f"needs {self.sizes.show(count)}.",
                self.at(span),
            )
        prim = values[0].prim if values else None
        return self.new(t.Literal(self.at(span), shape, tuple(texts), prim=prim))

    def enumerate_(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Enumerate seed step count`."""
        step = args[1]
        if not isinstance(step, Function) or step.step is None or step.op not in ("+", "-", "*"):
            raise wrong(
                codes.flatpack.KIND,
                "`Enumerate` takes a step such as `(+ 1)`, `(- 2)` or `(* 2)`.",
                self.at(span),
            )
        seed, by = self.terms((args[0], step.step), span, "`Enumerate`")
        if seed.shape or by.shape:
            raise wrong(
                codes.flatpack.SHAPE, "`Enumerate` takes one value and one step.", self.at(span)
            )
        count = self.dims(args[2], span)
        return self.new(t.Enumerate(self.at(span), count[:1], seed, step.op, by, prim=by.prim))

    def split(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Split pieces a`."""
        if isinstance(args[1], TupleOf):
            return TupleOf(tuple(self.split((args[0], part), span) for part in args[1].parts))
        pieces, arg = self.int(args[0], span, "Split"), self.array(args[1], span, "Split")
        size = arg.shape[0]
        a, b = size.constant, pieces.constant
        if (b is not None and b < 1) or (a is not None and b and a % b):
            self.outside(f"{size} rows cannot be split into {pieces} equal pieces.", span, "")
        each = self.sizes.quotient(size, pieces)
        if b is None and (found := _factor(size, pieces)) is not None:
            each = found
        return self.new(t.Split(self.at(span), (pieces, each, *arg.shape[1:]), arg, prim=arg.prim))

    def join(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Join a`; of a list, as in an example of the paper, join its `Zip`."""
        value = args[0]
        if isinstance(value, TupleOf):
            return TupleOf(tuple(self.join((part,), span) for part in value.parts))
        arg = self.zip((value,), span) if isinstance(value, tuple) else self.term(value, span)
        assert isinstance(arg, t.Term)
        if len(arg.shape) < 2:
            message = f"`Join` takes an array of at least 2 dimensions; this has {len(arg.shape)}."
            raise wrong(codes.flatpack.SHAPE, message, self.at(span))
        outer, inner, *rest = arg.shape
        return self.new(t.Join(self.at(span), (outer * inner, *rest), arg, prim=arg.prim))

    def zip(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Zip [a, b]`."""
        if not isinstance(args[0], tuple) or not args[0]:
            message = "`Zip` takes a list of arrays, at least one."
            raise wrong(codes.flatpack.KIND, message, self.at(span))
        terms = self.terms(args[0], span, "`Zip`")
        shape = self.common(terms, span, "`Zip`")
        stacked = tuple(self.expanded(one, shape) for one in terms)
        outer = Poly.const(len(terms))
        return self.new(t.Zip(self.at(span), (outer, *shape), stacked, prim=terms[0].prim))

    def repack(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Repack a`."""
        if isinstance(args[0], TupleOf):
            return TupleOf(tuple(self.repack((part,), span) for part in args[0].parts))
        arg = self.array(args[0], span, "Repack")
        return self.new(t.Repack(self.at(span), arg.shape, arg, prim=arg.prim))

    def scalar(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Scalar a`: one value among elements, no size any more."""
        match args[0]:
            case Written() as number:
                return number
            case Int(value=value, term=None, span=place) if value.constant is not None:
                return Written(str(value), place or span)
        return self.term(args[0], span)

    def as_(self, prim: Prim, args: Sequence[Value], span: Span) -> Value:
        """Build `As f32 a`; of a number, that number."""
        to, arg = self.other(prim), args[0]
        if isinstance(arg, TupleOf):
            return TupleOf(tuple(self.as_(prim, (part,), span) for part in arg.parts))
        if isinstance(arg, Written) or (isinstance(arg, Int) and arg.term is None):
            return self.term(arg, span, to)
        found = self.term(arg, span)
        if found.prim == to:
            return found
        return self.new(t.As(self.at(span), found.shape, found, prim=to))

    def fold(self, args: Sequence[Value], span: Span) -> Value:
        """Build `Fold op acc a`."""
        op = args[0].op if isinstance(args[0], Function) and args[0].arity == 2 else ""
        if op not in FOLDS:
            known = "`(+)`, `(-)`, `(*)`, `(/)`, `min` and `max`"
            raise wrong(codes.flatpack.KIND, f"`Fold` takes one of {known}.", self.at(span))
        acc, arg = self.terms((args[1], self.array(args[2], span, "Fold")), span, "`Fold`")
        if acc.shape and acc.shape != arg.shape[1:]:
            raise wrong(
                codes.flatpack.SHAPE,
                f"The accumulator has the shape {self.shape(acc.shape)}, but the folded "
                f"rows have {self.shape(arg.shape[1:])}.",
                self.at(span),
            )
        return self.new(t.Fold(self.at(span), arg.shape[1:], op, acc, arg, prim=arg.prim))

    def if_(self, args: Sequence[Value], span: Span) -> Value:
        """Build `If c a b`."""
        cond = self.term(args[0], span)
        then, orelse = self.terms(args[1:], span, "`If`")
        shape = self.common((cond, then, orelse), span, "`If`")
        return self.new(t.If(self.at(span), shape, cond, then, orelse, prim=then.prim))

    def has_shape(self, args: Sequence[Value], span: Span) -> Value:
        """Build `HasShape a shape`; omit the check where it is known to hold."""
        if isinstance(args[0], TupleOf):
            return TupleOf(tuple(self.has_shape((part, args[1]), span) for part in args[0].parts))
        arg, shape = self.term(args[0], span), self.dims(args[1], span)
        if not arg.shape:
            return self.expanded(arg, shape)
        if len(arg.shape) != len(shape) or certainly_differ(arg.shape, shape):
            message = f"This has the shape {self.shape(arg.shape)}, not {self.shape(shape)}."
            raise wrong(codes.flatpack.SHAPE, message, self.at(span))
        if arg.shape == shape:
            return arg
        return self.new(t.Claim(self.at(span), shape, arg, prim=arg.prim))

    def size(self, args: Sequence[Value], span: Span) -> Value:
        """Build `size a`: of the outer dimension."""
        return Int(self.columns(args[0], span, "size")[0].shape[0])

    def columns(self, value: Value, span: Span, what: str) -> list[t.Term]:
        """Return the arrays of a tuple, of as many rows each; or the one array."""
        if not isinstance(value, TupleOf):
            return [self.array(value, span, what)]
        found = [one for part in value.parts for one in self.columns(part, span, what)]
        for one in found[1:]:
            if one.shape[0] != found[0].shape[0]:
                counts = " and ".join(self.sizes.show(x.shape[0]) for x in (found[0], one))
                raise wrong(
                    codes.flatpack.SHAPE,
                    f"`{what}` takes a tuple whose arrays have equally many rows, but "
                    f"these have {counts}.",
                    self.at(span),
                )
        return found

    def each(
        self, span: Span, args: Sequence[t.Term], rows: Sequence[t.Var], result: Value
    ) -> Value:
        """Build `LetMap` from its parts; of a tuple body, one for each component."""
        if isinstance(result, TupleOf):
            return TupleOf(tuple(self.each(span, args, rows, one) for one in result.parts))
        body = self.term(result, span)
        if own := sorted(self.sizes.found & set().union(*(p.names() for p in body.shape))):
            raise wrong(
                codes.flatpack.SHAPE,
                "`Filter` may keep another number of elements in each row, but all "
                "rows of an array have one shape.",
                self.at(span),
                f"Fold the result of `Filter` here (its size is {', '.join(own)}), or "
                "filter outside.",
            )
        shape = (args[0].shape[0], *body.shape)
        more = tuple(rows[1:]), tuple(args[1:])
        return self.new(
            t.LetMap(self.at(span), shape, rows[0], args[0], body, *more, prim=body.prim)
        )

    def filtered(
        self, span: Span, args: Sequence[t.Term], rows: Sequence[t.Var], row: Value, result: Value
    ) -> Value:
        """Build `Filter` from its parts; of a tuple, with row `row`, one for each array."""
        body = self.term(result, span)
        if body.shape:
            message = f"The condition is an array of shape {self.shape(body.shape)}, not one value."
            raise wrong(codes.flatpack.SHAPE, message, self.at(span))
        name = f"kept_{len(self.sizes.found)}" if self.sizes.found else "kept"
        self.sizes.found.add(name)
        more = tuple(rows[1:]), tuple(args[1:])
        parts = count()

        def kept(row: Value) -> Value:
            if isinstance(row, TupleOf):
                return TupleOf(tuple(map(kept, row.parts)))
            part = next(parts)
            shape, prim = (Poly.var(name), *args[part].shape[1:]), args[part].prim
            return self.new(
                t.Filter(self.at(span), shape, rows[0], args[0], body, *more, part, prim=prim)
            )

        return kept(row)


def is_int(text: str) -> bool:
    """Test for a number without point and exponent."""
    return text.lstrip("-").isdigit()


def certainly_differ(a: Shape, b: Shape) -> bool:
    """Test whether two shapes of one rank differ for all sizes."""
    return any((x - y).constant not in (0, None) for x, y in zip(a, b, strict=True))


def _factor(product: Poly, factor: Poly) -> Poly | None:
    """Divide `product` by `factor`, if that is a name in every term of `product`."""
    name = factor.as_name
    if name is None or product.degree(name) != 1 or product.subst({name: Poly.const(0)}) != 0:
        return None
    return product.coefficient(name)
