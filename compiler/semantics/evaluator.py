"""The state of the fast interpreter: values, levels, mask; evaluation of scalars.

`interp.py` defines the layout of values, and the rules of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.prim import LOGIC_OPS
from compiler.ir import nodes as ir
from compiler.ir.may_fail import cannot_fail, is_division
from compiler.ir.scalar import bin_function, convert, fun_function, un_function
from compiler.ir.sizes import signed
from compiler.semantics.limits import Watched, of_rows

Data = Any
"""A NumPy scalar or array laid out as `interp.py` says, or BLOCK."""
BLOCK = None
T = TypeVar("T")
Mask = npt.NDArray[np.bool_] | None
Rule = Callable[["Evaluator", Any, Sequence[ir.Param]], list[Data]]
"""Evaluates an expression whose results have this pattern."""
_SE: dict[type, Callable[[Evaluator, Any], Data]] = {}


class Irregular(Exception):
    """Lanes of one level need values of different shapes."""


class TooDeep(Irregular):
    """Calls or levels nest too deeply for lanes to run together."""


class Evaluator(Watched):
    """The state of a run: values of names, widths of surrounding levels, the mask."""

    __slots__ = (
        "_cleanup",
        "_total",
        "alone",
        "literals",
        "mask",
        "ranks",
        "rules",
        "thresholds",
        "widths",
    )

    def __init__(
        self,
        prog: ir.Prog,
        rules: Mapping[type, Rule],
        most_bytes: int,
        thresholds: Mapping[str, int],
    ) -> None:
        super().__init__(most_bytes, {fun.name: fun for fun in prog.funs})
        self.rules = rules
        """Evaluation rules, by the class of the expression."""
        self.ranks: dict[Name, int] = {}
        self.widths: list[int] = []
        self.mask: Mask = None
        self.literals: dict[int, Data] = {}
        self.thresholds = thresholds
        self._cleanup: dict[int, tuple[ir.Body, list[Name]]] = {}
        self._total: dict[int, bool] = {}
        self.alone: set[int] = set()
        """Lambdas, by identity, that are applied row by row: see `in_lanes`."""

    # --- names -------------------------------------------------------------------------------

    @property
    def level(self) -> int:
        """Return the number of surrounding parallel dimensions."""
        return len(self.widths)

    def bind(self, param: ir.Param, value: Data) -> None:
        """Bind a name to a value."""
        kind = param.type
        self.env[param.name] = value
        self.ranks[param.name] = kind.rank if isinstance(kind, ir.Array) else 0

    def array(self, name: Name) -> Data:
        """Return the value of an array, with all levels' dimensions or none."""
        data = self._value(name)
        return self.aligned(data, self.ranks[name])

    def _value(self, name: Name) -> Data:
        try:
            return self.env[name]
        except KeyError:
            raise CompilerBug(f"`{name}` has no value: not in scope, or consumed") from None

    def aligned(self, data: Data, rank: int) -> Data:
        """Insert dimensions of size 1 for levels entered since the value was bound."""
        outer = data.ndim - rank
        missing = len(self.widths) - outer
        if not outer or not missing:
            return data
        return data.reshape(data.shape[:outer] + (1,) * missing + data.shape[outer:])

    def any_active(self) -> bool:
        """Return True if any lane is active."""
        return self.mask is None or bool(self.mask.any())

    def in_lanes(self, fn: ir.Lambda, work: Callable[[], T], alone: Callable[[], T]) -> T:
        """Apply a lambda to many rows by `work`, or row by row by `alone` if that fails.

        A function that calls itself in an operator would nest levels without end: once they were
        too many, this operator is not tried again.
        """
        if self.widths:
            return work()
        if id(fn) not in self.alone:
            try:
                return work()
            except TooDeep:
                self.alone.add(id(fn))
            except Irregular:
                pass
        return alone()

    def active(self, cond: Data) -> Data:
        """Return `cond` in active lanes, False in others."""
        return cond if self.mask is None else np.logical_and(cond, self.mask)

    # --- scalars -----------------------------------------------------------------------------

    def se(self, se: ir.SE) -> Data:
        """Evaluate a scalar expression."""
        return _SE[type(se)](self, se)

    def se_where(self, lanes: Data, se: ir.SE) -> Data:
        """Evaluate a scalar expression for `lanes`; other lanes get any value."""
        total = self._total.get(id(se))
        if total is None:
            total = self._total[id(se)] = cannot_fail(se)
        if total:
            return self.se(se)
        outer, self.mask = self.mask, self.active(lanes)
        try:
            return self.se(se)
        finally:
            self.mask = outer

    def size(self, poly: Poly) -> int:
        """Evaluate a size, which must be equal in all active lanes."""
        constant = poly.constant
        if constant is not None:
            return signed(constant)
        name = poly.as_name
        if name is not None:
            return self.same(self._value(name))
        value = poly.evaluate({name: self.same(self._value(name)) for name in poly.names()})
        return signed(value)

    def same(self, data: Data) -> int:
        """Return an integer that must be equal in all active lanes."""
        if data.ndim == 0:
            return int(data)
        data = self.aligned(data, 0)
        if self.mask is not None:
            full = np.broadcast_shapes(data.shape, self.mask.shape)
            data = np.broadcast_to(data, full)[np.broadcast_to(self.mask, full)]
        if data.size == 0:
            return 0
        first = data.flat[0]
        if not (data == first).all():
            raise Irregular
        return int(first)

    def shape(self, sizes: Sequence[Poly]) -> tuple[int, ...]:
        """Evaluate a shape, normalised as by `of_rows`."""
        return of_rows(self.size(size) for size in sizes)

    def operand(self, operand: ir.Operand) -> Data:
        """Evaluate an operand; BLOCK for a block."""
        if not isinstance(operand, str):
            return self.se(operand)
        data = self._value(operand)
        return BLOCK if data is None else self.aligned(data, self.ranks[operand])

    def rank_of(self, operand: ir.Operand) -> int:
        """Return the rank of an operand's value."""
        return self.ranks[operand] if isinstance(operand, str) else 0

    # --- statements --------------------------------------------------------------------------

    def body(self, body: ir.Body) -> list[Data]:
        """Run a body and return its results; then forget its names."""
        self.stms(body.stms)
        results = [self.operand(result) for result in body.results]
        self.forget(body)
        return results

    def forget(self, body: ir.Body) -> None:
        """Drop the values bound by a body, so that arrays have one owner again."""
        found = self._cleanup.get(id(body))
        if found is None:
            names = [p.name for stm in body.stms for p in stm.pat if isinstance(p.type, ir.Array)]
            found = self._cleanup[id(body)] = (body, names)
        for name in found[1]:
            self.env.pop(name, None)

    def give(self, params: Sequence[ir.Param], args: Sequence[Data]) -> None:
        """Bind parameters to their arguments."""
        for param, arg in zip(params, args, strict=True):
            self.bind(param, arg)

    def stms(self, stms: Sequence[ir.Stm]) -> None:
        """Run statements in order."""
        for stm in stms:
            self.stm(stm)

    def stm(self, stm: ir.Stm) -> None:
        """Run one statement and bind its results."""
        before, self.prov = self.prov, stm.prov or self.prov
        values = self.rules[type(stm.exp)](self, stm.exp, stm.pat)
        for param, value in zip(stm.pat, values, strict=True):
            self.bind(param, value)
        self.prov = before

    def apply(self, fn: ir.Lambda, args: Sequence[Data]) -> list[Data]:
        """Apply a lambda to arguments of the current level."""
        for param, arg in zip(fn.params, args, strict=True):
            self.bind(param, arg)
        results = self.body(fn.body)
        for param in fn.params:
            self.env.pop(param.name, None)
        return results


# --- scalar expressions ----------------------------------------------------------------------


@handles(_SE, ir.Var)
def _var(m: Evaluator, se: ir.Var) -> Data:
    data = m._value(se.name)
    missing = len(m.widths) - data.ndim
    return data.reshape(data.shape + (1,) * missing) if missing and data.ndim else data


@handles(_SE, ir.Lit)
def _lit(m: Evaluator, se: ir.Lit) -> Data:
    found = m.literals.get(id(se))
    if found is None:
        # The program holds on to its nodes, so that their ids stay theirs.
        found = m.literals[id(se)] = DTYPE[se.prim].type(se.value)
    return found


@handles(_SE, ir.Bin)
def _bin(m: Evaluator, se: ir.Bin) -> Data:
    a = m.se(se.lhs)
    if se.op in LOGIC_OPS:
        return _logic(m, se, a)
    b = m.se(se.rhs)
    if is_division(se.op, se.at) and not (b.ndim == 0 and b):
        _check_divisor(m, b)
    return bin_function(se.op, se.at)(a, b)


def _logic(m: Evaluator, se: ir.Bin, a: Data) -> Data:
    """Evaluate `&&` or `||` with `a` on the left; the right side only where it is needed."""
    asks = se.op == "&&"
    if a.ndim == 0:
        return m.se(se.rhs) if bool(a) is asks else a
    b = m.se_where(a if asks else np.logical_not(a), se.rhs)
    return bin_function(se.op, "bool")(a, b)


def _check_divisor(m: Evaluator, divisor: Data) -> None:
    if np.any(m.active(divisor == 0)):
        raise m.error("Division by zero.")


@handles(_SE, ir.Un)
def _un(m: Evaluator, se: ir.Un) -> Data:
    return un_function(se.op, se.at)(m.se(se.arg))


@handles(_SE, ir.Conv)
def _conv(m: Evaluator, se: ir.Conv) -> Data:
    return convert(se.src, se.dst, m.se(se.arg))


@handles(_SE, ir.Fun)
def _fun(m: Evaluator, se: ir.Fun) -> Data:
    return fun_function(se.fun, se.at)(*[m.se(arg) for arg in se.args])


@handles(_SE, ir.Select)
def _select(m: Evaluator, se: ir.Select) -> Data:
    cond = m.se(se.cond)
    if cond.ndim == 0:
        return m.se(se.then if cond else se.orelse)
    then, orelse = m.se_where(cond, se.then), m.se_where(np.logical_not(cond), se.orelse)
    return np.where(cond, then, orelse)
