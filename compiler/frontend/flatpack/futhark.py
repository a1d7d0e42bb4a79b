"""Translate a FlatPack program to Futhark: one statement per term, with spans per line.

From here on the pipeline is the same for both languages. The text is worth reading beside the
program: the structural operations are views of one array, which cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.prim import Prim
from compiler.base.spans import Span
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.build import COMPARISONS
from compiler.frontend.flatpack.evaluate import Meaning
from compiler.frontend.flatpack.terms import Shape
from compiler.frontend.lexer import KEYWORDS

_USED = frozenset(
    "map map2 map3 reduce transpose flatten unflatten iota replicate copy filter zip row "
    "a b c".split()
)
"""Names of the generated text that no name of the program may hide."""
_CALLED: dict[type[t.Term], str] = {
    t.Literal: "values",
    t.Enumerate: "steps",
    t.Split: "pieces",
    t.Join: "joined",
    t.Zip: "zipped",
    t.Repack: "packed",
    t.Expand: "all",
    t.Claim: "shaped",
    t.LetMap: "mapped",
    t.Filter: "kept",
    t.As: "converted",
    t.Arith: "result",
    t.If: "chosen",
    t.Fold: "folded",
    t.Twist: "twisted",
}
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Translated:
    """The text, and the span in the FlatPack program of each line."""

    text: str
    spans: tuple[Span, ...]


def translate(meaning: Meaning) -> Translated:
    """Translate `main` to a Futhark program."""
    return _Writer(meaning).program(meaning.at)


@dataclass(slots=True)
class _Scope:
    """The statements of a body, and the names of terms in it and around it."""

    around: _Scope | None = None
    lines: list[tuple[str, Span]] = field(default_factory=list)
    called: dict[int, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    """Names of filtered rows of tuples, by their size."""

    def name_of(self, term: t.Term) -> str | None:
        """Return the name of a term that is already bound."""
        scope: _Scope | None = self
        while scope is not None:
            if id(term) in scope.called:
                return scope.called[id(term)]
            scope = scope.around
        return None


class _Writer:
    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.element = meaning.element
        self.taken = {*KEYWORDS, *_USED, self.element}
        self.spelt: dict[str, str] = {}
        self.kept: list[t.Term] = []
        """Named terms, kept alive so that their identities stay unique."""

    def program(self, at: Span) -> Translated:
        """Write the whole text."""
        meaning = self.meaning
        scope = _Scope()
        self.taken |= meaning.sizes.quotients.keys()
        sources = [one for one in meaning.sources if one.shape]
        inner = dict.fromkeys(n for one in sources for size in one.shape for n in size.names())
        for name in (*meaning.ints, *inner):
            self.spelt.setdefault(name, self.fresh(name))
        sizes = [n for n in inner if n not in meaning.ints]
        head = ["entry main", *(f"[{self.spelt[n]}]" for n in sizes)]
        head += [f"({self.spelt[n]}: i64)" for n in meaning.ints]
        for one in meaning.sources:
            name = scope.called[id(one)] = self.fresh(one.name)
            head.append(f"({name}: {self.type(one.shape, one)})")
        results = [(self.atom(one, scope), self.outer(one)) for one in meaning.results]
        result, type_ = (", ".join(texts) for texts in zip(*results, strict=True))
        if meaning.more:
            result, type_ = f"({result})", f"({type_})"
        lines = [(f"{' '.join(head)}: {type_} =", at)]
        lines += [(_INDENT + text, span) for text, span in scope.lines]
        last = f"in {result}" if scope.lines else result
        lines.append((_INDENT + last, meaning.result.span))
        return Translated(
            "".join(f"{text}\n" for text, _ in lines), tuple(span for _, span in lines)
        )

    # --- names, sizes, types ---

    def fresh(self, base: str) -> str:
        """Return a fresh name."""
        base = base.replace(".", "_")
        base = base if base[:1].isalpha() else f"x{base}"
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    def size(self, poly: Poly) -> str:
        """Write a size."""
        renamed = poly.subst({n: Poly.var(self.spelt[n]) for n in poly.names() if n in self.spelt})
        sizes = self.meaning.sizes
        for name, (over, under) in sizes.quotients.items():
            if name in poly.names():
                quotient = f"(({self.size(over)}) // ({self.size(under)}))"
                self.spelt.setdefault(name, quotient)
                renamed = renamed.subst({name: Poly.var(quotient)})
        return str(renamed)

    def prim(self, term: t.Term) -> Prim:
        """Return the element type of a term."""
        return term.prim or self.element

    def type(self, shape: Shape, like: t.Term) -> str:
        """Write the type of an array of that shape, with the element type of a term."""
        return "".join(f"[{self.size(size)}]" for size in shape) + self.prim(like)

    def outer(self, result: t.Term) -> str:
        """Write the type of a result, without sizes known only at run time."""
        found = self.meaning.sizes.found
        dims = ["" if found & size.names() else self.size(size) for size in result.shape]
        return "".join(f"[{size}]" for size in dims) + self.prim(result)

    def number(self, text: str, prim: Prim) -> str:
        """Write a literal."""
        literal = f"{text}{prim}"
        return f"({literal})" if text.startswith("-") else literal

    def from_i64(self, text: str, prim: Prim) -> str:
        """Convert an i64 to an element."""
        return text if prim == "i64" else f"{prim}.i64 {text}"

    # --- terms ---

    def atom(self, term: t.Term, scope: _Scope) -> str:
        """Write a term as an argument: its name, or a literal."""
        match term:
            case t.Number(text=text):
                return self.number(text, self.prim(term))
            case t.Neutral(op=op):
                return self.neutral(op, self.prim(term))
            case t.Size(value=value):
                return f"({self.from_i64(f'({self.size(value)})', self.prim(term))})"
        known = scope.name_of(term)
        if known is None:
            lines, bind = self.text(term, scope)
            known = self.fresh(_CALLED[type(term)])
            scope.called[id(term)] = known
            self.kept.append(term)
            first, *rest = lines
            scope.lines.append((f"let {bind(known)} = {first[0]}", first[1]))
            scope.lines += rest
        return known

    def text(
        self, term: t.Term, scope: _Scope
    ) -> tuple[list[tuple[str, Span]], Callable[[str], str]]:
        """Return the lines of a term, and its binding."""
        if isinstance(term, t.Filter) and term.args:
            return [(self.part(term, scope), term.span)], str
        if isinstance(term, t.LetMap | t.Filter):
            return self.each(term, scope)
        return [(self.line(term, scope), term.span)], str

    def each(
        self, term: t.LetMap | t.Filter, scope: _Scope
    ) -> tuple[list[tuple[str, Span]], Callable[[str], str]]:
        """Write a map or a filter, whose function has statements of its own."""
        *args, arg = [self.atom(one, scope) for _, one in term.rows]
        inner = _Scope(scope)
        for one, _ in term.rows:
            inner.called[id(one)] = self.fresh(one.name)
            self.kept.append(one)
        *outer, var = [inner.called[id(one)] for one, _ in term.rows]
        for row, array in zip(reversed(outer), reversed(args), strict=True):
            var, arg = f"({row}, {var})", f"(zip {array} {arg})"
        body = term.body if isinstance(term, t.LetMap) else term.cond
        result = self.atom(body, inner)
        if isinstance(term, t.Filter):
            result = f"{result} != {self.number('0', self.prim(body))}"
        fn = "map" if isinstance(term, t.LetMap) else "filter"
        lines = [(f"{fn} (\\{var} ->", term.span)]
        lines += [(_INDENT + text, span) for text, span in inner.lines]
        last = f"in {result}" if inner.lines else result
        lines.append((f"{_INDENT}{last}) {arg}", body.span))
        if not isinstance(term, t.Filter):
            return lines, str
        (size,) = term.shape[0].names()
        spelt = self.spelt[size] = self.fresh(size)
        *outer, type_ = [self.type(one.shape, one) for one, _ in term.rows]
        for one_type in reversed(outer):
            type_ = f"({one_type}, {type_})"
        return lines, lambda name: f"[{spelt}] ({name}: [{spelt}]{type_})"

    def part(self, term: t.Filter, scope: _Scope) -> str:
        """Write one array of a filter of tuples, whose rows are computed once."""
        (size,) = term.shape[0].names()
        around: _Scope | None = scope
        while around is not None and size not in around.kept:
            around = around.around
        if around is None:
            lines, bind = self.each(term, scope)
            around, name = scope, self.fresh("kept_together")
            scope.lines.append((f"let {bind(name)} = {lines[0][0]}", lines[0][1]))
            scope.lines += lines[1:]
            scope.kept[size] = name
        row = "x" if term.part == len(term.args) else "(x, _)"
        for _ in range(term.part):
            row = f"(_, {row})"
        return f"map (\\{row} -> x) {around.kept[size]}"

    def line(self, term: t.Term, scope: _Scope) -> str:
        """Write a term on one line."""
        match term:
            case t.Literal(values=values):
                return self.literal(term.shape, values, self.prim(term))
            case t.Enumerate(seed=seed, op=op, step=step):
                first, by = self.atom(seed, scope), self.atom(step, scope)
                i = self.from_i64("a", self.prim(term))
                each = f"{first} * {by} ** ({i})" if op == "*" else f"{first} {op} {by} * ({i})"
                return f"map (\\a -> {each}) (iota ({self.size(term.shape[0])}))"
            case t.Split(arg=arg):
                pieces, count, *rest = term.shape
                outer = f"[({self.size(pieces)}) * ({self.size(count)})]"
                flat = f"{self.atom(arg, scope)} :> {outer}{self.type(tuple(rest), term)}"
                return f"unflatten ({flat}) : {self.type(term.shape, term)}"
            case t.Join(arg=arg):
                return f"flatten {self.atom(arg, scope)}"
            case t.Zip(args=args):
                return f"[{', '.join(self.atom(one, scope) for one in args)}]"
            case t.Repack(arg=arg):
                return f"copy {self.atom(arg, scope)}"
            case t.Claim(arg=arg):
                return f"{self.atom(arg, scope)} :> {self.type(term.shape, term)}"
            case t.Expand(arg=arg):
                return self.replicated(term.shape, self.atom(arg, scope))
            case t.Arith(op=op, lhs=lhs, rhs=rhs):
                return self.nest((lhs, rhs), scope, lambda x: self.arith(op, self.prim(term), *x))
            case t.As(arg=arg):
                to = f"{self.prim(term)}.{self.prim(arg)}"
                return self.nest((arg,), scope, lambda x: f"{to} {x[0]}")
            case t.If(cond=cond, then=then, orelse=orelse):
                zero = self.number("0", self.prim(cond))
                return self.nest(
                    (cond, then, orelse),
                    scope,
                    lambda x: f"if {x[0]} != {zero} then {x[1]} else {x[2]}",
                )
            case t.Fold():
                return self.fold(term, scope)
            case t.Twist(how=how, arg=arg):
                return _bare(self.twisted(how, self.atom(arg, scope), arg.shape, arg))
        raise AssertionError(term)

    def literal(self, shape: Shape, values: Sequence[str], prim: Prim) -> str:
        """Write nested brackets around numbers."""
        if not values:
            return self.replicated(shape, self.number("0", prim))
        if not shape:
            return self.number(values[0], prim)
        each = len(values) // (shape[0].constant or 1)
        parts = [values[i : i + each] for i in range(0, len(values), each)]
        return f"[{', '.join(self.literal(shape[1:], part, prim) for part in parts)}]"

    def replicated(self, shape: Shape, value: str) -> str:
        """Replicate a value to a shape."""
        for size in reversed(shape):
            value = f"(replicate ({self.size(size)}) {value})"
        return value

    def arith(self, op: str, prim: Prim, a: str, b: str) -> str:
        """Write `a op b` for scalars."""
        if op in COMPARISONS:
            sign = "!=" if op == "/=" else op
            yes, no = self.number("1", prim), self.number("0", prim)
            return f"if {a} {sign} {b} then {yes} else {no}"
        if op in ("min", "max"):
            return f"{prim}.{op} {a} {b}"
        return f"{a} {op} {b}"

    def nest(
        self, terms: Sequence[t.Term], scope: _Scope, each: Callable[[Sequence[str]], str]
    ) -> str:
        """Map `each` over those terms that are arrays."""
        rank = max(len(one.shape) for one in terms)
        return _nest([(self.atom(one, scope), bool(one.shape)) for one in terms], rank, each)

    def fold(self, term: t.Fold, scope: _Scope) -> str:
        """Write a reduction of the outer dimension, which is moved innermost."""
        op, rank, prim = term.op, len(term.arg.shape), self.prim(term)
        acc = self.atom(term.acc, scope)
        rows = self.twisted(t.RotateL(), self.atom(term.arg, scope), term.arg.shape, term)

        def each(x: Sequence[str]) -> str:
            if op == "/":
                return f"loop x = {x[0]} for y in {x[1]} do x / y"
            sign = "+" if op == "-" else op
            fn = f"({sign})" if sign in "+*" else f"{prim}.{sign}"
            return self.arith(op, prim, x[0], f"(reduce {fn} {self.neutral(sign, prim)} {x[1]})")

        return _nest([(acc, bool(term.acc.shape)), (rows, True)], rank - 1, each)

    def neutral(self, op: str, prim: Prim) -> str:
        """Write the neutral element of an operator."""
        if op in ("+", "*"):
            return self.number("0" if op == "+" else "1", prim)
        most = f"{prim}.highest" if op == "min" else f"{prim}.lowest"
        if prim[0] == "f":
            most = f"({'' if op == 'min' else '-'}{prim}.inf)"
        return most

    def twisted(self, how: t.Structural, text: str, shape: Shape, like: t.Term) -> str:
        """Transform an array of that shape."""
        for depth, step in t.primitives(how):
            new = t.shape_after(t.lift(step, depth), shape, self.meaning.sizes.quotient)
            text, shape = self.after(step, depth, text, new, like), new
        return text

    def after(self, step: t.Structural, depth: int, text: str, new: Shape, like: t.Term) -> str:
        """Transform an array below its first `depth` dimensions; `new`: its shape then.

        Rows are sliced in all outer dimensions at once: that is a view, unlike a map over rows.
        """
        whole = f"{_indexable(text)}[{':, ' * depth}"
        swaps = range(depth, len(new) - 1)
        match step:
            case t.Transpose():
                return f"({_mapped(depth)} {text})"
            case t.RotateL() | t.RotateR():
                for at in swaps if isinstance(step, t.RotateL) else reversed(swaps):
                    text = f"({_mapped(at)} {text})"
                return text
            case t.Slice(at):
                return f"{whole}{self.size(at)}]"
            case t.SubRange(first, last):
                part = f"{whole}{self.size(first)}:{self.size(last + 1)}]"
                return f"({part} :> {self.type(new, like)})"
            case t.DownSample(by):
                return f"({whole}::{by}] :> {self.type(new, like)})"
        raise AssertionError(step)


def _bare(text: str) -> str:
    """Strip the outer brackets that `twisted` adds."""
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _indexable(text: str) -> str:
    return text if text[-1:] == ")" or text.isidentifier() else f"({text})"


def _mapped(depth: int) -> str:
    """Write `transpose` below that many dimensions."""
    text = "transpose"
    for _ in range(depth):
        text = f"map ({text})"
    return text


def _nest(args: Sequence[tuple[str, bool]], rank: int, each: Callable[[Sequence[str]], str]) -> str:
    """Nest maps around `each`, over those arguments that are arrays of at least that rank."""
    if rank == 0:
        return each([text for text, _ in args])
    names = "abc"
    arrays = [text for text, is_array in args if is_array]
    inner = [(names[i] if is_array else text, is_array) for i, (text, is_array) in enumerate(args)]
    params = " ".join(names[i] for i, (_, is_array) in enumerate(args) if is_array)
    fn = "map" if len(arrays) == 1 else f"map{len(arrays)}"
    return f"{fn} (\\{params} -> {_nest(inner, rank - 1, each)}) {' '.join(arrays)}"
