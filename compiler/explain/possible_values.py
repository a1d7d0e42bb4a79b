"""Values of whole numbers of a program, once its sizes are chosen: by definitions and counters.

`let q = n / b` makes `q` a number; the counter of a loop or of a kernel takes each value below its
bound. What depends on data is not known, and neither is what takes too many cases to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from compiler.algebra.poly import Poly
from compiler.base.dtypes import DTYPE
from compiler.base.names import Name
from compiler.base.prim import INTS
from compiler.ir import nodes as ir
from compiler.ir import scalar
from compiler.ir.sizes import se_of
from compiler.ir.walk import children, free, stms_of

MOST_CASES = 4096
"""Values of counters that an amount is looked at for, all together."""
_DIVIDES = frozenset({"/", "//", "%", "%%"})
Values = Mapping[Name, int]


class _NotKnown(Exception):
    """A name depends on data, or there are too many cases."""


class PossibleValues:
    """Definitions and counters of a program."""

    def __init__(self, prog: ir.Prog, known: Values) -> None:
        """`known`: the values of parameters."""
        self._known = known
        self._left = 0
        self._defined: dict[Name, ir.SE] = {}
        self._below: dict[Name, ir.SE] = {}
        for fun in prog.funs:
            self._look(fun.body.stms)

    def _look(self, stms: Sequence[ir.Stm]) -> None:
        for stm in stms:
            exp = stm.exp
            if isinstance(exp, ir.SE_NODES):
                self._defined[stm.pat[0].name] = exp
            elif isinstance(exp, ir.Loop) and isinstance(exp.form, ir.ForLoop):
                self._below[exp.form.index] = exp.form.bound
            elif isinstance(exp, ir.SegOp):
                self._below |= {name: se_of(bound) for name, bound in exp.space.dims}
            for child in children(exp):
                self._look(stms_of(child))

    def range_of(self, amount: Poly) -> tuple[int, int] | None:
        """The least and the most that an amount can be; None where that is not known.

        It is (0, 0) where a loop around it has no round.
        """
        self._left = MOST_CASES
        try:
            found = [amount.evaluate(case) for case in self._cases(amount, dict(self._known))]
        except _NotKnown:
            return None
        return (min(found), max(found)) if found else (0, 0)

    def at_start(self, name: Name) -> int | None:
        """Return its value in the first round of all loops; None if that is not known."""
        known = dict(self._known)
        try:
            for one in self._order({name}, known):
                known[one] = _value(self._defined[one], known) if one in self._defined else 0
        except _NotKnown:
            return None
        return known[name]

    def _cases(self, amount: Poly, known: dict[Name, int]) -> Iterator[dict[Name, int]]:
        """Values of all names of the amount, of which one is its least, and one its most."""
        order = self._order(amount.names(), known)
        if not order:
            yield known
            return
        first, *rest = order
        if first in self._defined:
            values: Sequence[int] = [_value(self._defined[first], known)]
        else:
            bound = _value(self._below[first], known)
            values = range(max(0, bound))
            # Where an amount has a counter once, it is least and most at one of the ends.
            if amount.degree(first) <= 1 and not any(first in self._needed(one) for one in rest):
                values = sorted({*values[:1], *values[-1:]})
        for value in values:
            self._left -= 1
            if self._left < 0:
                raise _NotKnown
            yield from self._cases(amount, {**known, first: value})

    def _order(self, names: frozenset[Name] | set[Name], known: Values) -> list[Name]:
        """The names that have no value yet, with those that they need, which come first."""
        found: dict[Name, None] = {}
        open_names: set[Name] = set()

        def add(name: Name) -> None:
            if name in known or name in found:
                return
            if name in open_names or (name not in self._defined and name not in self._below):
                raise _NotKnown
            open_names.add(name)
            for other in sorted(self._needed(name)):
                add(other)
            found[name] = None

        for name in sorted(names):
            add(name)
        return list(found)

    def _needed(self, name: Name) -> set[Name]:
        return free(self._defined[name] if name in self._defined else self._below[name])


def _value(se: ir.SE, known: Values) -> int:
    """A whole number or a truth. Raises _NotKnown."""
    match se:
        case ir.Lit(value, prim) if prim in INTS or prim == "bool":
            return int(value)
        case ir.Var(name):
            return known[name]
        case ir.Bin(op, at, lhs, rhs) if at in INTS:
            a, b = _value(lhs, known), _value(rhs, known)
            if op in _DIVIDES and b == 0:
                raise _NotKnown
            kind = DTYPE[at].type
            with np.errstate(all="ignore"):
                return int(scalar.apply_bin(op, at, kind(a), kind(b)))
        case ir.Select(cond, then, orelse):
            return _value(then if _value(cond, known) else orelse, known)
    raise _NotKnown
