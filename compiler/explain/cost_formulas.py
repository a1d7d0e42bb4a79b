"""Formulas for what programs of the core language cost, in their sizes and numbers.

**Work** counts the operators of scalar expressions, and the elements that are read and written.
**Span** is the same where rows of parallel operators run at once, of which the longest counts, a
fold of n values takes lg n steps of its operator, and many elements move in one step. Statements
run in order. **Moved** are the bytes of the elements read and written, **made** those of the arrays
that are no views. Views are free; so are sizes, and indices of views.

What the text does not tell has a name: rounds of a `while`, and averages of numbers that differ
from row to row. A branch counts as the dearer of both, term by term: its formula is an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from compiler.algebra.poly import Monomial, Poly
from compiler.analysis.cost import size
from compiler.base.by_class import handles
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.ir import nodes as ir
from compiler.ir.counts import is_copy, types_of
from compiler.ir.known import Known
from compiler.ir.scatters import places
from compiler.ir.sizes import poly_of
from compiler.ir.walk import bound

NO = Poly.const(0)
ONE = Poly.const(1)
Values = Mapping[Name, Any]


@dataclass(frozen=True, slots=True)
class SymbolicCost:
    """Polynomials over names of the program and of `NamedAmount`s; `at_most`: upper bounds."""

    work: Poly = NO
    span: Poly = NO
    moved: Poly = NO
    made: Poly = NO
    at_most: bool = False
    unknown: frozenset[str] = frozenset()
    """Reasons for which there is no formula: then the polynomials leave something out."""

    @staticmethod
    def of(parts: Iterable[Poly], at_most: bool, unknown: frozenset[str]) -> SymbolicCost:
        """Return the cost with these parts, in the order of `parts`."""
        work, span, moved, made = parts
        return SymbolicCost(work, span, moved, made, at_most, unknown)

    def __add__(self, other: SymbolicCost) -> SymbolicCost:
        """Return the cost of one after the other."""
        parts = (a + b for a, b in zip(self.parts, other.parts, strict=True))
        return SymbolicCost.of(parts, self.at_most or other.at_most, self.unknown | other.unknown)

    @property
    def parts(self) -> tuple[Poly, Poly, Poly, Poly]:
        """Work, span, bytes moved, and bytes made."""
        return self.work, self.span, self.moved, self.made

    def mapped(self, sums: Callable[[Poly], Poly], span: Callable[[Poly], Poly]) -> SymbolicCost:
        """Return the cost with changed polynomials."""
        return SymbolicCost(
            sums(self.work),
            span(self.span),
            sums(self.moved),
            sums(self.made),
            self.at_most,
            self.unknown,
        )


@dataclass(frozen=True, slots=True)
class NamedAmount:
    """A number that is no polynomial: `op` of `of`, or (without) one that only a run tells.

    `op`: `lg` (rounded up), `max0`, or `sum` of the powers `power` of all numbers below. Told by
    the runs of `body` are `rounds` on average, `most` of them, and of a product its `average` and
    its `largest` value.
    """

    name: Name
    op: str
    of: Poly
    power: int = 0
    body: int = 0

    def value(self, env: Values, atoms: Mapping[Name, NamedAmount]) -> Any:
        """Evaluate it."""
        if self.op in MEASURED:
            return env[self.name]
        of = evaluate(self.of, env, atoms)
        if self.op == "lg":
            return max(0, (int(of) - 1).bit_length()) if of > 0 else 0
        if self.op == "max0":
            return max(0, of)
        return sum(i**self.power for i in range(int(of)))


MEASURED = ("rounds", "most", "average", "largest")


def evaluate(poly: Poly, env: Values, atoms: Mapping[Name, NamedAmount]) -> Any:
    """Return the value of a polynomial over names and atoms."""
    values = {n: atoms[n].value(env, atoms) if n in atoms else env[n] for n in poly.names()}
    total: Any = 0
    for mono, coeff in poly.terms.items():
        term: Any = coeff
        for name, power in mono:
            term = term * values[name] ** power
        total += term
    return total


@dataclass(frozen=True, slots=True)
class StatementCost:
    """The cost of a statement, for each time that it is reached; `depth`: in how many loops."""

    stm: ir.Stm
    cost: SymbolicCost
    depth: int


@dataclass(frozen=True, slots=True)
class FunctionCost:
    """The cost of a call, in the function's parameters; of host statements, in order."""

    fun: ir.Function
    cost: SymbolicCost
    statements: tuple[StatementCost, ...]


@dataclass(slots=True)
class CostFormulas:
    """The costs of all functions of a program, and the atoms of their formulas."""

    prog: ir.Prog
    functions: dict[str, FunctionCost] = field(default_factory=dict)
    atoms: dict[Name, NamedAmount] = field(default_factory=dict)
    averages: dict[int, list[NamedAmount]] = field(default_factory=dict)
    """By the body at whose end the numbers are known."""


def cost_formulas(prog: ir.Prog) -> CostFormulas:
    """Return formulas for all functions of a program of the core language, at any stage."""
    found = CostFormulas(prog)
    types = types_of(prog)
    for fun in prog.funs:
        found.functions[fun.name] = _Costs(found, fun, types).function()
    return found


_OF: dict[type, Callable[[_Costs, Any, ir.Stm], SymbolicCost]] = {}


class _Costs:
    """Collects the costs of one function."""

    def __init__(self, found: CostFormulas, fun: ir.Function, types: dict[Name, ir.Type]) -> None:
        self.found, self.fun, self.types = found, fun, types
        self.known = Known()
        self.numbers: dict[Name, Poly] = {}
        """Whole numbers of the program that are polynomials in others."""
        self.at_least_0 = {p.name for p in fun.params[: fun.implicit]}
        kinds = [p.type for p in fun.params]
        for kind in kinds:
            if isinstance(kind, ir.Array):
                self.at_least_0 |= {s for size_ in kind.shape if (s := size_.as_name)}
        self.has_memory = any(isinstance(kind, ir.Mem) for kind in kinds) or any(
            isinstance(p.type, ir.Array) and p.type.mem for p in fun.results
        )
        self.depth = 0
        self.repeats = 0
        self.fixed = {param.name for param in fun.params}
        """Names with one value in a call."""
        self.told: list[StatementCost] = []
        self.is_host = True

    def function(self) -> FunctionCost:
        """Return its cost."""
        for param in self.fun.params:
            self.types[param.name] = param.type
        cost = self.body(self.fun.body.stms, self.fun.body.results)
        return FunctionCost(self.fun, cost, tuple(self.told))

    # --- statements --------------------------------------------------------------------------

    def body(self, stms: Sequence[ir.Stm], results: Iterable[object] = ()) -> SymbolicCost:
        """Return the cost of statements, and of the expressions among the results."""
        total = SymbolicCost()
        for stm in stms:
            at = len(self.told)
            self.told += [StatementCost(stm, total, self.depth)] if self.is_host else []
            cost = self.statement(stm)
            if self.is_host:
                self.told[at] = StatementCost(stm, cost, self.depth)
            total += cost
        return total + self.operands(results)

    def statement(self, stm: ir.Stm) -> SymbolicCost:
        """Return the cost of one statement."""
        exp = stm.exp
        if not self.repeats:
            self.fixed.update(param.name for param in stm.pat)
        if isinstance(exp, ir.SE_NODES):
            param = stm.pat[0]
            if param.type == ir.I64:
                self.known.define(param.name, exp)
                poly = poly_of(exp)
                if poly is not None:
                    self.numbers[param.name] = poly.put_in(self.numbers)
            return self.operands((exp,))
        for param in stm.pat:
            self.types[param.name] = param.type
        return _OF[type(exp)](self, exp, stm)

    def operands(self, operands: Iterable[object]) -> SymbolicCost:
        """Return the cost of expressions; names of arrays and places of writes have none."""
        work = sum(size(one) for one in operands if isinstance(one, ir.SE_NODES))
        return SymbolicCost(Poly.const(work), Poly.const(work))

    def elements(self, kind: ir.Type, times: int = 1) -> SymbolicCost:
        """Return the cost of reading or writing an array or number, so many times."""
        if isinstance(kind, ir.Mem):
            return SymbolicCost()
        count = self.cells(kind) * times
        return SymbolicCost(count, ONE, count * BYTES[kind.prim])

    def cells(self, kind: ir.Type) -> Poly:
        """Return the number of elements of a type."""
        shape = kind.shape if isinstance(kind, ir.Array) else ()
        return Poly.product(one.put_in(self.numbers) for one in shape)

    def fresh(self, kind: ir.Type) -> SymbolicCost:
        """Return the cost of having room for an array; with memory, allocations have it."""
        if self.has_memory or not isinstance(kind, ir.Array):
            return SymbolicCost()
        return SymbolicCost(made=self.cells(kind) * BYTES[kind.prim])

    def moves(self, stm: ir.Stm) -> bool:
        """Return True unless the elements are at their place already."""
        return not self.has_memory or is_copy(stm, self.types, self.known)

    # --- repetition --------------------------------------------------------------------------

    def atom(self, op: str, of: Poly, power: int = 0, body: int = 0, said: str = "") -> Poly:
        """Return a number that is no polynomial, by its name."""
        text = said or (f"{op}({of})" if not power else f"sum(i**{power}, i < {of})")
        name = f"{text}#{body}" if body else text
        if name not in self.found.atoms:
            made = NamedAmount(name, op, of, power, body)
            self.found.atoms[name] = made
            if op in ("average", "largest"):
                self.found.averages.setdefault(body, []).append(made)
        return Poly.var(name)

    def lg(self, count: Poly) -> Poly:
        """Return the logarithm of a number to base 2, rounded up."""
        constant = count.constant
        if constant is not None:
            return Poly.const(max(0, (constant - 1).bit_length()) if constant > 0 else 0)
        return self.atom("lg", count)

    def rounds(self, bound_: ir.SE) -> Poly | None:
        """Return the number of rounds of a loop; None if its bound is no polynomial."""
        poly = poly_of(bound_)
        return None if poly is None else self.not_negative(poly.put_in(self.numbers))

    def not_negative(self, poly: Poly) -> Poly:
        """Return max(0, poly), without the maximum where it is plain."""
        if poly.names() <= self.at_least_0 and all(c >= 0 for c in poly.terms.values()):
            return poly
        constant = poly.constant
        return Poly.const(max(0, constant)) if constant is not None else self.atom("max0", poly)

    def repeated(
        self,
        cost: SymbolicCost,
        count: Poly,
        index: Name,
        inside: Iterable[Name],
        body: object,
        at_once: bool,
    ) -> SymbolicCost:
        """Return the cost of `body` for all values of an index below `count`.

        `inside`: names that differ between them. `at_once`: the longest counts as span.
        """
        varying = {name for name in inside if name != index}
        closed = cost.mapped(
            lambda poly: self._averaged(poly, varying, index, body, "average"),
            lambda poly: self._averaged(
                poly, varying, index, body, "largest" if at_once else "average"
            ),
        )
        span = closed.span
        at_most = closed.at_most
        if at_once:
            if index in span.names():
                span = span.subst({index: self.not_negative(count - 1)})
                at_most = True
        else:
            span = self._sum(span, count, index)
        return SymbolicCost(
            self._sum(closed.work, count, index),
            span,
            self._sum(closed.moved, count, index),
            self._sum(closed.made, count, index),
            at_most,
            closed.unknown,
        )

    def _sum(self, poly: Poly, count: Poly, index: Name) -> Poly:
        total = NO
        for power in range(poly.degree(index) + 1):
            part = poly.coefficient(index, power)
            if part.terms:
                total += part * (self.atom("sum", count, power) if power else count)
        return total

    def _averaged(self, poly: Poly, varying: set[Name], index: Name, body: object, op: str) -> Poly:
        """Replace what differs from round to round by its average or its largest value."""
        total = NO
        for mono, coeff in poly.terms.items():
            out = [factor for factor in mono if not self._varies(factor[0], varying)]
            rest = [factor for factor in mono if factor not in out]
            if not rest:
                total += Poly({mono: coeff})
                continue
            moved = [f for f in out if not self._is_fixed(f[0])]
            of = Poly({_monomial([*rest, *moved]): 1})
            kept = Poly({_monomial([f for f in out if f not in moved]): coeff})
            said = f"{'mean' if op == 'average' else 'largest'} {of}"
            total += kept * self.atom(op, of, body=id(body), said=said)
        return total

    def _is_fixed(self, name: Name) -> bool:
        atom = self.found.atoms.get(name)
        if atom is None:
            return name in self.fixed
        return atom.op in MEASURED or all(map(self._is_fixed, atom.of.names()))

    def _varies(self, name: Name, varying: set[Name]) -> bool:
        atom = self.found.atoms.get(name)
        if atom is None or atom.op in MEASURED:
            return name in varying
        return any(self._varies(one, varying) for one in atom.of.names())

    # --- lambdas and kernels -----------------------------------------------------------------

    def within(self, stms: Sequence[ir.Stm], results: Iterable[object]) -> SymbolicCost:
        """Return the cost of statements that are none of the host."""
        host, self.is_host = self.is_host, False
        self.repeats += 1
        cost = self.body(stms, results)
        self.repeats -= 1
        self.is_host = host
        return cost

    def fn(self, fn: ir.Lambda) -> SymbolicCost:
        """Return the cost of a function."""
        for param in fn.params:
            self.types[param.name] = param.type
        return self.within(fn.body.stms, fn.body.results)

    def rows(self, exp: ir.Soac, stm: ir.Stm) -> SymbolicCost:
        """Return the cost of the rows of an operator: what they are given, and their function."""
        given = SymbolicCost()
        for param in exp.fn.params:
            given += (
                self.elements(param.type) if isinstance(param.type, ir.Scalar) else SymbolicCost()
            )
        return given + self.fn(exp.fn)

    def over_rows(self, exp: ir.Soac, row: SymbolicCost) -> SymbolicCost:
        """Return the cost of all rows, given that of one."""
        inside = (*bound(exp.fn), *(p.name for p in exp.fn.params))
        width = exp.width.put_in(self.numbers)
        return self.repeated(row, width, "", inside, exp.fn.body, at_once=True)

    def collected(self, returns: Sequence[ir.Type], moves: bool) -> SymbolicCost:
        """Return the cost of putting a row's results into the results."""
        total = SymbolicCost()
        for kind in returns:
            if isinstance(kind, ir.Scalar):
                total += self.elements(kind)
            elif moves:
                total += self.elements(kind, 2)
        return total

    def made(self, pat: Sequence[ir.Param]) -> SymbolicCost:
        """Return the room for the results."""
        return sum((self.fresh(param.type) for param in pat), SymbolicCost())

    def operator(self, op: ir.Operator, count: Poly) -> tuple[SymbolicCost, Poly]:
        """Return the cost of combining so many values, without span, and the span of one step."""
        one = self.fn(op.fn)
        inside = (*bound(op.fn), *(p.name for p in op.fn.params))
        all_ = self.repeated(one, count, "", inside, op.fn.body, at_once=True)
        return SymbolicCost(
            all_.work, NO, all_.moved, all_.made, all_.at_most, all_.unknown
        ) + self.operands(op.neutral), all_.span

    def folded(self, ops: Sequence[ir.Operator], length: Poly, times: Poly = ONE) -> SymbolicCost:
        """Return the cost of folds of so many values, so many times."""
        total = SymbolicCost()
        for op in ops:
            cost, step = self.operator(op, length * times)
            total += cost + SymbolicCost(span=step * self.lg(length))
        return total


def _monomial(factors: Iterable[tuple[Name, int]]) -> Monomial:
    return tuple(sorted(factors))


def _dearer(one: Poly, other: Poly) -> Poly:
    """Return a polynomial that is at least as large as both, for numbers that are not negative."""
    keys = one.terms.keys() | other.terms.keys()
    return Poly({k: c for k in keys if (c := max(one.terms.get(k, 0), other.terms.get(k, 0)))})


# --- arrays ----------------------------------------------------------------------------------


@handles(_OF, ir.Index)
def _index(c: _Costs, exp: ir.Index, stm: ir.Stm) -> SymbolicCost:
    return c.operands(exp.at) + c.elements(stm.pat[0].type)


@handles(_OF, ir.Slice, ir.Rearrange)
def _view(c: _Costs, exp: ir.Exp, stm: ir.Stm) -> SymbolicCost:
    return SymbolicCost()


@handles(_OF, ir.Reshape)
def _reshape(c: _Costs, exp: ir.Reshape, stm: ir.Stm) -> SymbolicCost:
    return c.elements(stm.pat[0].type, 2) if c.has_memory and c.moves(stm) else SymbolicCost()


@handles(_OF, ir.Update)
def _update(c: _Costs, exp: ir.Update, stm: ir.Stm) -> SymbolicCost:
    if not isinstance(exp.value, str):
        at = [dim.start for dim in exp.dims]
        prim = c.types[exp.array].prim
        return c.operands((*at, exp.value)) + c.elements(ir.Scalar(prim))
    return c.elements(c.types[exp.value], 2) if c.moves(stm) else SymbolicCost()


@handles(_OF, ir.Copy, ir.Concat)
def _copy(c: _Costs, exp: ir.Copy | ir.Concat, stm: ir.Stm) -> SymbolicCost:
    kind = stm.pat[0].type
    return (c.elements(kind, 2) if c.moves(stm) else SymbolicCost()) + c.fresh(kind)


@handles(_OF, ir.Iota)
def _iota(c: _Costs, exp: ir.Iota, stm: ir.Stm) -> SymbolicCost:
    kind = stm.pat[0].type
    return c.operands((exp.start, exp.step)) + c.elements(kind) + c.fresh(kind)


@handles(_OF, ir.Replicate)
def _replicate(c: _Costs, exp: ir.Replicate, stm: ir.Stm) -> SymbolicCost:
    kind = stm.pat[0].type
    of_array = isinstance(exp.value, str)
    return c.operands((exp.value,)) + c.elements(kind, 1 + of_array) + c.fresh(kind)


@handles(_OF, ir.Scratch)
def _scratch(c: _Costs, exp: ir.Scratch, stm: ir.Stm) -> SymbolicCost:
    return c.fresh(stm.pat[0].type)


@handles(_OF, ir.ArrayLit)
def _literal(c: _Costs, exp: ir.ArrayLit, stm: ir.Stm) -> SymbolicCost:
    kind = stm.pat[0].type
    of_arrays = any(isinstance(one, str) for one in exp.elems)
    return c.operands(exp.elems) + c.elements(kind, 1 + of_arrays) + c.fresh(kind)


@handles(_OF, ir.Alloc)
def _alloc(c: _Costs, exp: ir.Alloc, stm: ir.Stm) -> SymbolicCost:
    return SymbolicCost(made=exp.count.put_in(c.numbers) * BYTES[exp.prim])


# --- control ---------------------------------------------------------------------------------


@handles(_OF, ir.Assert)
def _assert(c: _Costs, exp: ir.Assert, stm: ir.Stm) -> SymbolicCost:
    return c.operands((exp.cond,))


@handles(_OF, ir.Threshold)
def _threshold(c: _Costs, exp: ir.Threshold, stm: ir.Stm) -> SymbolicCost:
    return c.operands((exp.amount,))


@handles(_OF, ir.If)
def _if(c: _Costs, exp: ir.If, stm: ir.Stm) -> SymbolicCost:
    c.depth += 1
    sides = [c.body(side.stms, side.results) for side in (exp.then, exp.orelse)]
    c.depth -= 1
    then, orelse = sides
    same = then.parts == orelse.parts
    parts = (_dearer(a, b) for a, b in zip(then.parts, orelse.parts, strict=True))
    at_most = then.at_most or orelse.at_most or not same
    both = SymbolicCost.of(parts, at_most, then.unknown | orelse.unknown)
    return c.operands((exp.cond,)) + both


@handles(_OF, ir.Loop)
def _loop(c: _Costs, exp: ir.Loop, stm: ir.Stm) -> SymbolicCost:
    for param in exp.params:
        c.types[param.name] = param.type
    index, count = "", None
    start = c.operands(exp.init)
    if isinstance(exp.form, ir.ForLoop):
        index = exp.form.index
        c.at_least_0.add(index)
        count = c.rounds(exp.form.bound)
        start += c.operands((exp.form.bound,))
    longest = count
    if count is None:
        name = stm.pat[0].name if stm.pat else ""
        count = longest = c.atom("rounds", NO, body=id(exp.body), said=f"rounds of {name}")
        if c.repeats:
            longest = c.atom("most", NO, body=id(exp.body), said=f"most rounds of {name}")
    c.depth, c.repeats = c.depth + 1, c.repeats + 1
    body = c.body(exp.body.stms, exp.body.results)
    c.depth, c.repeats = c.depth - 1, c.repeats - 1
    inside = (*bound(exp.body), *(param.name for param in exp.params))
    total = c.repeated(body, count, index, inside, exp.body, at_once=False)
    if longest != count:
        span = c.repeated(body, longest or count, index, inside, exp.body, at_once=False).span
        total = SymbolicCost(total.work, span, total.moved, total.made, True, total.unknown)
    return start + total


@handles(_OF, ir.Call, ir.Apply)
def _call(c: _Costs, exp: ir.Call | ir.Apply, stm: ir.Stm) -> SymbolicCost:
    called = c.found.functions.get(exp.fun)
    if called is None:
        return SymbolicCost(unknown=frozenset({f"`{exp.fun}` calls itself"}))
    args: dict[Name, Poly | None] = {}
    for param, arg in zip(called.fun.params, exp.args, strict=True):
        if not isinstance(arg, str):
            poly = poly_of(arg) if param.type == ir.I64 else None
            args[param.name] = None if poly is None else poly.put_in(c.numbers)
    unknown: set[str] = set()

    def put_in(poly: Poly) -> Poly:
        given: dict[Name, Poly] = {}
        for name in poly.names():
            atom = c.found.atoms.get(name)
            if atom is not None and atom.op not in MEASURED:
                given[name] = c.atom(atom.op, put_in(atom.of), atom.power)
            elif atom is None and (value := args.get(name)) is not None:
                given[name] = value
            else:
                unknown.add(f"what `{exp.fun}` costs depends on more than its sizes")
        return poly.subst(given)

    cost = called.cost.mapped(put_in, put_in)
    told = SymbolicCost(*cost.parts, cost.at_most, cost.unknown | unknown)
    return c.operands(exp.args) + told


@handles(_OF, ir.Jvp, ir.Vjp, ir.WithVjp)
def _derivative(c: _Costs, exp: ir.Derivative | ir.WithVjp, stm: ir.Stm) -> SymbolicCost:
    return SymbolicCost(unknown=frozenset({"a derivative is a program from stage `ad` on"}))


@handles(_OF, ir.Push)
def _push(c: _Costs, exp: ir.Push, stm: ir.Stm) -> SymbolicCost:
    total = c.operands((*exp.at, *exp.values))
    for op in exp.op:
        total += c.fn(op)
    for name in exp.dests:
        kind = c.types[name]
        assert isinstance(kind, ir.Array)
        row = ir.Array(kind.prim, kind.shape[len(exp.at) :])
        total += c.elements(row, 1 + len(exp.op))
    return SymbolicCost(*total.parts, True, total.unknown)


# --- operators -------------------------------------------------------------------------------


@handles(_OF, ir.Map)
def _map(c: _Costs, exp: ir.Map, stm: ir.Stm) -> SymbolicCost:
    row = c.rows(exp, stm) + c.collected(exp.fn.returns, moves=True)
    return c.over_rows(exp, row) + c.made(stm.pat)


@handles(_OF, ir.Reduce, ir.Scan)
def _fold(c: _Costs, exp: ir.Fold, stm: ir.Stm) -> SymbolicCost:
    values = sum(len(op.neutral) for op in exp.ops)
    kept = exp.fn.returns if isinstance(exp, ir.Scan) else exp.fn.returns[values:]
    row = c.rows(exp, stm) + c.collected(kept, moves=True)
    made = stm.pat if isinstance(exp, ir.Scan) else stm.pat[values:]
    width = exp.width.put_in(c.numbers)
    return c.over_rows(exp, row) + c.folded(exp.ops, width) + c.made(made)


@handles(_OF, ir.Scatter)
def _scatter(c: _Costs, exp: ir.Scatter, stm: ir.Stm) -> SymbolicCost:
    row = c.rows(exp, stm)
    at = 0
    for dest in exp.dests:
        for _ in range(dest.times):
            kind = exp.fn.returns[at + dest.rank]
            row += c.elements(kind, 1 + isinstance(kind, ir.Array))
            at += dest.rank + 1
    row += c.collected(exp.fn.returns[places(exp.dests) :], moves=True)
    return c.over_rows(exp, row) + c.made(stm.pat[len(exp.dests) :])


@handles(_OF, ir.Hist)
def _hist(c: _Costs, exp: ir.Hist, stm: ir.Stm) -> SymbolicCost:
    row = c.rows(exp, stm)
    return c.over_rows(exp, row) + _bins(c, exp.ops, exp.width.put_in(c.numbers), 0)


def _bins(c: _Costs, ops: Sequence[ir.HistOp], count: Poly, outer: int) -> SymbolicCost:
    """Return the cost of putting so many values into bins: those outside count too."""
    total = SymbolicCost()
    for one in ops:
        cost, step = c.operator(one.op, count)
        total += SymbolicCost(*cost.parts, True, cost.unknown) + SymbolicCost(
            span=step * c.lg(count)
        )
        for name in one.dests:
            kind = c.types[name]
            assert isinstance(kind, ir.Array)
            row = ir.Array(kind.prim, kind.shape[outer + one.rank :])
            both = c.elements(row, 2)
            total += SymbolicCost(both.work * count, ONE, both.moved * count)
    return total


@handles(_OF, ir.Stream)
def _stream(c: _Costs, exp: ir.Stream, stm: ir.Stm) -> SymbolicCost:
    return c.over_rows(exp, c.rows(exp, stm))


@handles(_OF, ir.SegMap, ir.SegRed, ir.SegScan, ir.SegHist)
def _kernel(c: _Costs, exp: ir.SegOp, stm: ir.Stm) -> SymbolicCost:
    dims = [(name, count.put_in(c.numbers)) for name, count in exp.space.dims]
    c.at_least_0 |= {name for name, _ in dims}
    values = 0 if isinstance(exp, ir.SegMap | ir.SegHist) else sum(len(o.neutral) for o in exp.ops)
    one = c.within(exp.body.stms, exp.body.results)
    moves = not isinstance(exp, ir.SegHist) and c.moves(stm)
    at = 0 if isinstance(exp, ir.SegScan) else values
    for k, (result, kind) in enumerate(zip(exp.body.results, exp.body.returns, strict=True)):
        if isinstance(result, ir.Write):
            for places_, value in result.writes:
                one += c.operands((*places_, value))
                row = c.types[value] if isinstance(value, str) else ir.Scalar(kind.prim)
                one += (
                    c.elements(row, 1 + isinstance(value, str))
                    if (moves or not isinstance(value, str))
                    else SymbolicCost()
                )
        elif k >= at and not isinstance(exp, ir.SegHist):
            one += c.collected([kind], moves)
    inside: Sequence[Name] = bound(exp.body)
    total = one
    for name, count in reversed(dims):
        total = c.repeated(total, count, name, inside, exp.body, at_once=True)
        inside = ()
    counts = Poly.product(count for _, count in dims)
    if isinstance(exp, ir.SegHist):
        return total + _bins(c, exp.ops, counts, len(dims) - 1)
    if not isinstance(exp, ir.SegMap):
        outer = Poly.product(count for _, count in dims[:-1])
        fold = c.folded(exp.ops, dims[-1][1], outer)
        if isinstance(exp, ir.SegRed):
            for param in stm.pat[:values]:
                written = c.elements(param.type) if len(dims) > 1 else SymbolicCost()
                fold += SymbolicCost(written.work, written.span, written.moved)
        total += fold
    writes = [isinstance(result, ir.Write) for result in exp.body.results]
    made = [p for p, is_write in zip(stm.pat, writes, strict=True) if not is_write]
    return total + c.made(made)
