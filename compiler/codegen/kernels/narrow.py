"""Find indices of a kernel that fit in 32 bits, and the launch-time condition for that.

Note [Narrow indices]. Indices are computed from kernel parameters, thread numbers, and constants.
So each index has a bound, a polynomial over these with natural coefficients, for its absolute value
and those of all intermediate values. The host evaluates a common bound exactly: below 2^31 neither
indices nor intermediate values leave 32 bits. Data-dependent indices have no bound and stay wide,
and so do values that are no indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import reduce
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.index import product
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import SE, Bin, Conv, Lit, Select, Un, Var
from compiler.ir.sizes import poly_of
from compiler.ir.walk import free, se_parts, se_uses

NARROW = Rule("cuda/narrow", "Uses 32-bit indices in a launch whose sizes allow it.")
LIMIT = 1 << 31
"""Exclusive upper bound of 32-bit numbers."""
Monomial = tuple[Name, ...]
Bound = Mapping[Monomial, int | Fraction]
"""A polynomial over absolute values of a kernel's numbers, and of k.BLOCK: the launch's count."""
INFIX = frozenset(("+", "-", "*", "|", "&", "min", "max"))
"""Operators with a narrow result for narrow operands."""
DIVIDING = frozenset(("/", "%", "//", "%%"))
"""Likewise, except for a divisor of 0."""
_WHOLE = ("i32", "i64")
_Indexed = tuple[imp.Stm, Sequence[SE]]
"""A statement with its indices."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The narrow `names` of a kernel, valid if `most` is below LIMIT."""

    names: frozenset[Name]
    most: Bound
    _known: dict[tuple[int, bool], tuple[SE, bool]] = field(default_factory=dict, compare=False)
    """Cache of operators: printing asks at each level of an expression."""

    def is_narrow(self, se: SE, index: bool) -> bool:
        """True if a value is narrow; outside an `index` nothing is computed narrowly."""
        if type(se) is Var:
            return se.prim == "i64" and (se.name in self.names or se.name in k.IDS)
        if type(se) is Lit:
            return se.prim == "i64" and abs(int(se.value)) < LIMIT
        if type(se) is Bin:
            key = id(se), index
            if key not in self._known:
                narrow = index and se.at == "i64" and self.stays(se.op, se.lhs, se.rhs)
                self._known[key] = se, narrow
            return self._known[key][1]
        if type(se) is Select:
            return self.is_narrow(se.then, index) and self.is_narrow(se.orelse, index)
        if type(se) is Un:
            return se.op in ("neg", "not") and se.at == "i64" and self.is_narrow(se.arg, index)
        if type(se) is Conv and se.src == "i32" and se.dst == "i64":
            return index and type(se.arg) is Var and se.arg.name in self.names
        return False

    def stays(self, op: str, lhs: SE, rhs: SE) -> bool:
        """True if an operator in an index has a narrow result, for 64-bit operands."""
        if op not in INFIX and (op not in DIVIDING or (type(rhs) is Lit and rhs.value == 0)):
            return False
        return self.is_narrow(lhs, True) and self.is_narrow(rhs, True)


def narrowing(launch: k.Launch, threads: int) -> Outcome[Narrowing]:
    """Return the narrow names of a launch's kernel, with at most `threads` per block."""
    kernel = launch.kernel
    stms = [(stm, _indices(stm)) for stm in statements(kernel.body)]
    wanted = _index_inputs(stms)
    bounds = _Bounds(launch, threads, stms, wanted)
    names = wanted & bounds.of.keys() - bounds.unknown - set(k.IDS)
    if not names:
        return None
    made = Narrowing(names, bounds.most(names))
    what = "an index" if len(names) == 1 else f"{len(names)} indices and sizes"
    because = (
        f"In the kernel `{kernel.name}` {what} have 32 bits if the host finds that no "
        "index computation needs more; for larger sizes they have 64."
    ).replace("an index take", "an index takes")
    return Applied(made, because)


# --- bounds ----------------------------------------------------------------------------------


def _number(value: int) -> Bound:
    return {(): abs(value)}


def _sum(lhs: Bound, rhs: Bound) -> Bound:
    out = dict(lhs)
    for m, b in rhs.items():
        out[m] = out.get(m, 0) + b
    return out


def _join(lhs: Bound, rhs: Bound) -> Bound:
    """Return a common upper bound of two."""
    out = dict(lhs)
    _raise(out, rhs)
    return out


def _raise(bound: dict[Monomial, int | Fraction], other: Bound) -> None:
    """Raise a bound to another one."""
    for m, b in other.items():
        if b > bound.get(m, 0):
            bound[m] = b


def _exceeds(bound: Bound, other: Bound) -> bool:
    """True if `bound` exceeds `other` in some coefficient."""
    return any(b > other.get(m, 0) for m, b in bound.items())


def _times(lhs: Bound, rhs: Bound) -> Bound:
    out: dict[Monomial, int | Fraction] = {}
    for m, a in lhs.items():
        for n, b in rhs.items():
            both = tuple(sorted((*m, *n))) if m and n else m or n
            out[both] = out.get(both, 0) + a * b
    return out


def _over(bound: Bound | None, by: int) -> Bound | None:
    if bound is None:
        return None
    return {m: Fraction(a, by) if a % by else a // by for m, a in bound.items()}


def _index_inputs(stms: Sequence[_Indexed]) -> frozenset[Name]:
    """Return the names that indices are computed from."""
    names: set[Name] = set()
    for stm, indices in reversed(stms):
        for se in indices:
            se_uses(se, names.add)
        if type(stm) is imp.Define and stm.name in names:
            se_uses(stm.value, names.add)
    return frozenset(names)


def _indices(stm: imp.Stm) -> tuple[SE, ...]:
    """Return the index expressions of a statement, including loop bounds."""
    found = _INDICES.get(type(stm))
    return found(stm) if found else ()


def _at(stm: Any) -> tuple[SE, ...]:
    return (stm.at,)


def _of_indices(stm: k.Indices) -> tuple[SE, ...]:
    sizes = [size for _, size in stm.dims]
    return (stm.flat, *(product(sizes[at:]) for at in range(1, len(sizes))), *sizes[1:])


_INDICES: Mapping[type, Callable[[Any], tuple[SE, ...]]] = {
    **dict.fromkeys((imp.Load, imp.Store, k.Fetch, k.Loads, k.Stores), _at),
    **dict.fromkeys((k.Atomic, k.Exchange, k.Locked), _at),
    **dict.fromkeys((k.Ticket, k.Publish, k.Await), _at),
    imp.For: lambda stm: (stm.bound,),
    imp.If: lambda stm: (stm.cond,) if is_of_tile(stm.cond) else (),
    k.Stride: lambda stm: (stm.start, stm.end, stm.by),
    k.Indices: _of_indices,
    k.Exit: lambda stm: (stm.cond,),
}


def is_of_tile(cond: SE) -> bool:
    """True if a condition compares internal names, such as bounds of a tile's window."""
    return any(name.startswith(k.OWN) for name in free(cond))


class _Bounds:
    """Bounds `of` a kernel's numbers; None or absent if unknown."""

    def __init__(
        self, launch: k.Launch, threads: int, stms: Sequence[_Indexed], wanted: frozenset[Name]
    ) -> None:
        """`stms` are all of the kernel's, `wanted` the names that its indices depend on."""
        self.least, self.wanted = threads if launch.busy is None else k.WARP, wanted
        self.below: dict[Name, SE] = {k.BLOCK: launch.count} if launch.unit == "blocks" else {}
        """Exclusive upper bounds of numbers where they are used."""
        self.bound_names: list[tuple[Name, Bound]] = []
        self.parts: list[tuple[Name, SE, Bound]] = []
        """Subexpressions of indices, with the index name that they define."""
        count: Bound = {(k.BLOCK,): 1}
        points = poly_of(launch.count) if launch.unit == "points" else None
        if points is not None:
            count = _number(0)
            for powers, factor in points.terms.items():
                names = tuple(sorted(name for name, power in powers for _ in range(power)))
                count = _sum(count, {names: abs(factor)})
        alone = launch.unit == "points"
        place = _sum(count, _number(threads)) if alone else _times(count, _number(threads))
        self.of: dict[Name, Bound | None] = {
            k.THREAD: _number(threads),
            k.THREADS: _number(threads),
            k.BLOCK: count,
            k.PLACE: place,
        }
        self.unknown: set[Name] = set()
        for param in launch.kernel.params:
            if not param.block:
                exact = param.prim in ("i32", "i64")
                self.bind(param.name, {(param.name,): 1} if exact else None)
        for stm, indices in stms:
            self.stm(stm, indices)

    def most(self, names: frozenset[Name]) -> Bound:
        """Return a common bound of narrow names and all intermediate values."""
        most: dict[Monomial, int | Fraction] = dict(_number(0))
        for name, bound in self.bound_names:
            if name in names:
                _raise(most, bound)
        made = Narrowing(names, {})
        for name, part, bound in reversed(self.parts):  # the whole before its smaller parts
            if (name and name not in names) or not _exceeds(bound, most):
                continue
            if made.is_narrow(part, True) or (type(part) is Bin and part.at == "i32"):
                _raise(most, bound)
        return most

    def bind(self, name: Name, bound: Bound | None) -> None:
        """Record a bound of a name; all its bounds count if it is bound repeatedly."""
        self.of[name] = bound
        if bound is None:
            self.unknown.add(name)
        else:
            self.bound_names.append((name, bound))

    def stm(self, stm: imp.Stm, indices: Sequence[SE]) -> None:
        """Record the bounds of names that a statement binds."""
        bounds = [self.index("", se) for se in indices]
        match stm:
            case imp.Define():
                if stm.name in self.wanted:
                    self.bind(stm.name, self.index(stm.name, stm.value))
            case imp.Declare() | imp.Load() | imp.Alloc() | k.Exchange() | k.Await():
                self.bind(stm.name, None)
            case k.Loads():
                for name in stm.names:
                    self.bind(name, None)
            case imp.For():
                self.bind(stm.index, bounds[0])
            case k.Exit(Bin(">=", "i64", Var(name), limit)):
                self.below[name] = limit
            case k.Stride():
                self.below[stm.index] = stm.end
                known = [one for one in bounds if one is not None]
                adds = stm.op == "+" and len(known) == len(bounds)
                self.bind(stm.index, reduce(_sum, known) if adds else None)
            case k.Indices():
                flat, sizes = bounds[0], bounds[len(stm.dims) :]
                (first, size), *others = stm.dims
                self.bind(first, (self.bound(size) or flat) if self.is_whole(stm) else flat)
                for (name, _), most in zip(others, sizes, strict=True):
                    self.bind(name, most or flat)
            case k.Ticket(name):
                self.bind(name, self.of[k.BLOCK])  # each block takes one ticket

    def is_whole(self, stm: k.Indices) -> bool:
        """True if a flat index is below the product of the sizes that unflatten it.

        Then the first index is below its size, as the others always are.
        """
        limit = self.below.get(stm.flat.name) if type(stm.flat) is Var else None
        if limit is None:
            return False
        whole = product([size for _, size in stm.dims])
        exact = poly_of(limit)
        return limit == whole or (exact is not None and exact == poly_of(whole))

    def index(self, name: Name, se: SE) -> Bound | None:
        """Record the intermediate values of an index, and return its bound if known.

        `name`: the name that it defines.
        """
        if type(se) is Lit:
            return self.leaf(se)
        if type(se) is Var:
            bound = self.leaf(se)
            if se.name not in k.IDS:
                return bound  # The definition of a name is counted already.
        else:
            bound = self.joint(se, [self.index(name, part) for part in se_parts(se)])
        if bound is not None:
            self.parts.append((name, se, bound))
        return bound

    def bound(self, se: SE) -> Bound | None:
        """Return a bound of an integer expression, if known."""
        if type(se) is Var or type(se) is Lit:
            return self.leaf(se)
        return self.joint(se, [self.bound(part) for part in se_parts(se)])

    def leaf(self, se: Var | Lit) -> Bound | None:
        """Return a bound of a name or a literal."""
        if se.prim not in _WHOLE:
            return None
        if isinstance(se, Var):
            return self.of.get(se.name)
        return _number(int(se.value)) if abs(int(se.value)) < LIMIT else None

    def joint(self, se: SE, parts: Sequence[Bound | None]) -> Bound | None:
        """Return a bound of an expression from those of its operands."""
        if type(se) is Bin:
            return self.operator(se.op, se.rhs, *parts) if se.at in _WHOLE else None
        match se:
            case Conv("i32", "i64") | Un("neg", "i32" | "i64"):
                return parts[0]
            case Conv("i64", "i32"):  # truncation makes no number larger
                return parts[0]
            case Un("not", "i32" | "i64"):
                return self.joined("+", parts[0], _number(1))
            case Select():
                return self.joined("max", parts[1], parts[2])
        return None

    def operator(self, op: str, divisor: SE, lhs: Bound | None, rhs: Bound | None) -> Bound | None:
        """Return a bound of a binary operation on integers."""
        if op in INFIX:
            return self.joined(op, lhs, rhs)
        if op == "%":
            return rhs
        if op == "%%":
            return lhs or rhs
        if op not in DIVIDING:
            return None
        if op == "//" and type(divisor) is Var and divisor.name == k.THREADS:
            return _over(lhs, self.least)
        if op == "//" and type(divisor) is Lit and int(divisor.value) > 0:
            return _over(lhs, int(divisor.value))
        return lhs

    def joined(self, op: str, lhs: Bound | None, rhs: Bound | None) -> Bound | None:
        """Return the bound of an infix operator; bitwise results do not exceed the sum."""
        if lhs is None or rhs is None:
            return None
        if op == "*":
            return _times(lhs, rhs)
        return _join(lhs, rhs) if op in ("min", "max") else _sum(lhs, rhs)
