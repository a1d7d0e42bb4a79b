"""State of the verifier at one point: scopes, types, sizes, consumption.

Sizes are equal if `known.Known` proves it. Consumption is tracked through roots: two arrays may
share memory if they have a root in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeGuard

from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.spans import NOWHERE
from compiler.ir import nodes as ir
from compiler.ir.aliases import Effects, read
from compiler.ir.forms import Form
from compiler.ir.known import Known
from compiler.ir.printer import show_stm
from compiler.ir.show_scalar import show_type
from compiler.ir.sizes import poly_of
from compiler.ir.verify_scalar import ScalarChecker
from compiler.ir.walk import subst

Roots = frozenset[Name]
Types = Sequence[ir.Type] | None
Rule = Callable[["ScopeChecker", Any, Sequence[ir.Param]], Types]
"""Return the types of an expression's results; None: the rule has checked the pattern itself."""


def is_se(exp: ir.Exp) -> TypeGuard[ir.SE]:
    """True for a scalar expression."""
    return isinstance(exp, ir.SE_NODES)


class Kept(NamedTuple):
    """Arrays that may not be consumed: the first `before` bound ones, and `more`."""

    before: int
    more: Roots


class Consumption:
    """Consumed arrays at one point of a program, by the memory that arrays may share."""

    def __init__(self) -> None:
        self.roots: dict[Name, Roots] = {}
        self.dead: dict[Name, str] = {}
        self.order: dict[Name, int] = {}
        """Arrays in order of binding, which tells those bound before a body."""
        self.keep: list[Kept] = []
        """Roots that may not be consumed here, per enclosing loop or lambda."""
        self.accumulators: frozenset[Name] = frozenset()
        """Arrays that statements may push to here."""

    def bind(self, name: Name) -> None:
        """Enter an array that shares no memory."""
        self.roots[name] = frozenset((name,))
        self.order[name] = len(self.order)

    def of(self, *names: Name) -> Roots:
        """Return the union of the arrays' roots."""
        return frozenset().union(*[self.roots.get(name, (name,)) for name in names])

    def outside(self, more: Iterable[Name] = ()) -> Kept:
        """Return the arrays that a body beginning here must not consume: all bound, and `more`."""
        return Kept(len(self.order), frozenset(more))

    @contextmanager
    def body(self, kept: Kept, accumulators: Iterable[Name] | None = None) -> Iterator[None]:
        """Keep what a body must not consume; forget what it consumes of others behind it.

        `accumulators`: what its statements may push to; None: as those around it.
        """
        dead, around = dict(self.dead), self.accumulators
        self.keep.append(kept)
        if accumulators is not None:
            self.accumulators = frozenset(accumulators)
        yield
        self.dead, self.accumulators = dead, around
        self.keep.pop()

    def keeps(self, roots: Roots, kept: Kept) -> bool:
        """True if any of the roots must not be consumed."""
        return any(self.order[root] < kept.before or root in kept.more for root in roots)


class ScopeChecker(ScalarChecker):
    """Names in scope, equalities, and consumed arrays at one point of a program."""

    def __init__(self, form: Form, stage: str, rules: Mapping[type, Rule]) -> None:
        """`rules`: type rules by expression class."""
        super().__init__()
        self.rules = rules
        self.form = form
        self.stage = stage
        self.funs: dict[str, ir.Function] = {}
        self.effects = Effects(self.funs)
        self.bound: set[Name] = set()
        self.known = Known()
        self.consumption = Consumption()
        self.where: list[ir.Stm] = []
        self.inside: list[str] = []
        """Levels of the enclosing kernels."""
        self.fun = ""

    # --- errors ------------------------------------------------------------------------------

    def fail(self, message: str) -> NoReturn:
        """Raise an error at the current statement."""
        where = f"{self.stage}, function `{self.fun}`"
        span = NOWHERE
        text = ""
        if self.where:
            stm = self.where[-1]
            first = show_stm(stm).split("\n")
            text = f", in `{first[0]}{' ..' if len(first) > 1 else ''}`"
            span = stm.prov[0] if stm.prov else NOWHERE
        raise CompilerBug(f"{where}{text}: {message}", span)

    # --- scopes ------------------------------------------------------------------------------

    def bind(self, name: Name, kind: ir.Type) -> None:
        """Bring a name into scope."""
        self.must(name not in self.bound, f"`{name}` is bound twice")
        self.bound.add(name)
        self.types[name] = kind
        if isinstance(kind, ir.Array):
            self.consumption.bind(name)

    def bind_params(self, params: Iterable[ir.Param]) -> None:
        """Bring parameters into scope from left to right, checking each type."""
        for param in params:
            self.type(param.type)
            self.bind(param.name, param.type)

    def leave(self, names: Iterable[Name]) -> None:
        """Take names out of scope."""
        for name in names:
            self.types.pop(name, None)

    def type(self, kind: ir.Type) -> None:
        """Check that a type's sizes, block and LMAD are in scope and fit."""
        if not isinstance(kind, ir.Array):
            return
        self.must(kind.rank >= 1, "an array type has no dimensions")
        self.sizes(kind.shape)
        mem = kind.mem
        if mem is not None and not self.form.memory:
            self.fail(f"{show_type(kind)} has memory before memory is introduced")
        if mem is not None:
            block = self.types.get(mem.block)
            self.must(isinstance(block, ir.Mem), f"`{mem.block}` is no block in scope")
            alike = isinstance(block, ir.Mem) and block.prim == kind.prim
            self.must(alike, f"`{mem.block}` holds elements of another type")
            sides = [mem.lmad.offset, *(p for dim in mem.lmad.dims for p in (dim.size, dim.stride))]
            self.sizes(sides)
            sizes = tuple(dim.size for dim in mem.lmad.dims)
            if not self.known.equal_shapes(sizes, kind.shape):
                self.fail(f"the LMAD of {show_type(kind)} has another shape")

    # --- operands ----------------------------------------------------------------------------

    def operand(self, operand: ir.Operand) -> ir.Type:
        """Check an operand and return its type; marks arrays as used."""
        if not isinstance(operand, str):
            return ir.Scalar(self.se(operand))
        kind = self.types.get(operand)
        if kind is None:
            self.fail(f"`{operand}` is not in scope")
        self.must(not isinstance(kind, ir.Scalar), f"the scalar `{operand}` stands as a bare name")
        self.used(operand)
        return kind

    def array(self, name: Name) -> ir.Array:
        """Check that a name is an unconsumed array in scope, and return its type."""
        kind = self.types.get(name)
        if not isinstance(kind, ir.Array):
            self.fail(f"`{name}` is no array in scope")
        self.used(name)
        return kind

    def results(self, results: Sequence[ir.Operand], params: Sequence[ir.Param], what: str) -> None:
        """Check results against parameters whose types may mention parameters to their left."""
        self.must(len(results) == len(params), f"{what}: {len(results)} for {len(params)}")
        given: dict[Name, ir.Operand | Poly] = {}
        for result, param in zip(results, params, strict=True):
            found = self.operand(result)
            wanted = subst(param.type, given)
            self.same(found, wanted, f"{what}: `{param.name}`")
            if isinstance(result, str):
                given[param.name] = result
            elif param.type == ir.Scalar("i64"):
                size = poly_of(result)
                if size is not None:
                    given[param.name] = size

    def same(self, found: ir.Type, wanted: ir.Type, what: str, memory: bool = True) -> None:
        """Check that two types are equal."""
        if not self.known.equal_types(found, wanted, memory and self.form.memory):
            # Format types only on failure: formatting each time took a quarter of all checks.
            self.fail(f"{what} is {show_type(found)} and should be {show_type(wanted)}")

    # --- consumption -------------------------------------------------------------------------

    def used(self, name: Name) -> None:
        """Check that an array has not been consumed."""
        for root in self.consumption.roots.get(name, ()):
            if root in self.consumption.dead:
                gone = self.consumption.dead[root]
                self.fail(f"`{name}` is used after `{gone}` has been consumed")

    def consume(self, name: Name) -> None:
        """Mark an array, and all that may share its memory, as consumed."""
        here = self.consumption
        roots = here.of(name)
        for kept in here.keep:
            self.must(not here.keeps(roots, kept), f"`{name}` must not be consumed here")
        here.dead.update(dict.fromkeys(roots, name))

    # --- statements --------------------------------------------------------------------------

    def function(self, fun: ir.Function) -> None:
        """Check one function; it may call those before it and itself."""
        self.fun = fun.name
        self.must(fun.name not in self.funs, "a second function of that name")
        self.funs[fun.name] = fun
        self.types = {}
        here = self.consumption
        here.dead = {}
        self.known = Known()
        for param in fun.params[: fun.implicit]:
            self.must(param.type == ir.Scalar("i64"), f"the implicit `{param.name}` is no i64")
        self.bind_params(fun.params)
        self.have_memory((*fun.params, *fun.results))
        fixed = (p.name for p in fun.params if isinstance(p.type, ir.Array) and not p.unique)
        here.keep = [Kept(0, frozenset(fixed))]
        self.stms(fun.body.stms)
        self.results(fun.body.results, fun.results, "result")
        for result, param in zip(fun.body.results, fun.results, strict=True):
            if param.unique and isinstance(result, str):
                shared = here.keeps(here.roots.get(result, frozenset()), here.keep[0])
                self.must(not shared, f"the unique result `{result}` aliases a parameter")
        self.leave(list(self.types))
        for param in fun.results:
            self.must(param.name not in self.bound, f"`{param.name}` is bound twice")
            self.bound.add(param.name)

    def stms(self, stms: Iterable[ir.Stm]) -> list[Name]:
        """Check statements in order; return their names, which stay in scope."""
        names: list[Name] = []
        for stm in stms:
            self.where.append(stm)
            self.stm(stm)
            self.where.pop()
            names.extend(param.name for param in stm.pat)
        return names

    def stm(self, stm: ir.Stm) -> None:
        """Check one statement and bring its pattern into scope."""
        exp = stm.exp
        kind = type(exp)
        self.must(kind in self.form.may_occur, f"`{kind.__name__}` may not occur at this stage")
        types = self.rules[kind](self, exp, stm.pat)
        taken = self.effects.consumed(exp)
        self.no_sharing(stm, taken)
        sources = self.effects.aliases(stm)
        # An array consumed by a branch counts as consumed, also if the other branch returns it.
        here = self.consumption
        gone = here.of(*taken)
        roots = [here.of(*names) - gone for names in sources]
        for name in taken:
            self.consume(name)
        self.bind_params(stm.pat)
        self.pattern(stm.pat, types)
        for param, found in zip(stm.pat, roots, strict=True):
            if found and isinstance(param.type, ir.Array):
                here.roots[param.name] = found
        if isinstance(exp, ir.Assert):
            self.known.assume(exp.cond)
        elif is_se(exp) and stm.pat[0].type == ir.Scalar("i64"):
            self.known.define(stm.pat[0].name, exp)

    def pattern(self, pat: Sequence[ir.Param], types: Sequence[ir.Type] | None) -> None:
        """Check a pattern's types against the expression's; None: already checked."""
        self.have_memory(pat)
        if types is None:
            return
        self.must(len(pat) == len(types), f"{len(types)} results for {len(pat)} names")
        for param, kind in zip(pat, types, strict=True):
            memory = isinstance(kind, ir.Array) and kind.mem is not None
            self.same(param.type, kind, f"`{param.name}`", memory)

    def have_memory(self, params: Iterable[ir.Param]) -> None:
        """Check that arrays have a binding once memory is introduced."""
        if self.form.memory:
            for param in params:
                missing = isinstance(param.type, ir.Array) and param.type.mem is None
                self.must(not missing, f"the array `{param.name}` has no memory")

    def no_sharing(self, stm: ir.Stm, taken: Sequence[Name]) -> None:
        """Check that a consumed array is not also used by the same statement in another way."""
        if not taken or isinstance(stm.exp, ir.If):
            return  # Of branches only one is run, and each has been checked.
        gone: set[Name] = set()
        for name in taken:
            roots = self.consumption.of(name)
            self.must(not roots & gone, f"`{name}` is consumed twice")
            gone |= roots
        for name in read(stm.exp, self.funs):
            if isinstance(self.types.get(name), ir.Array):
                shared = self.consumption.of(name) & gone
                self.must(not shared, f"`{name}` is used where memory that it shares is consumed")

    def branch(self, body: ir.Body, params: Sequence[ir.Param], what: str) -> dict[Name, str]:
        """Check a branch against a pattern; return what it consumed, left unmarked."""
        before = dict(self.consumption.dead)
        names = self.stms(body.stms)
        self.results(body.results, params, what)
        self.leave(names)
        after, self.consumption.dead = self.consumption.dead, before
        return after
