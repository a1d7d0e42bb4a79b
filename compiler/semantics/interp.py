"""The fast interpreter: value semantics of all stages (thesis 4.3.2 and figure 4.7).

`value.py` does the same by the letter, and this one is tested against it.

Parallel operators are evaluated for all their points at once. At level L a statement stands inside
L parallel dimensions; a value of rank r is then a NumPy array whose last r dimensions are its own,
after either none (the same for all points) or one dimension per level at which it was bound, of
the level's width, or 1 where it does not vary. A mask says which points are active in a branch.
Where points would need arrays of different shapes, `Irregular` sends a map back to one at a time.

Memory is erased: blocks have no value, and every array is a value of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.prim import DTYPE
from compiler.ir import entry as entry_points
from compiler.ir.nodes import (
    SE,
    SE_NODES,
    Alloc,
    Array,
    Assert,
    Bin,
    Body,
    Call,
    Conv,
    ForLoop,
    Fun,
    Function,
    If,
    Lambda,
    Lit,
    Loop,
    Mem,
    Operand,
    Param,
    Prog,
    Select,
    Stm,
    Threshold,
    Type,
    Un,
    Var,
    WhileLoop,
)
from compiler.ir.scalar import bin_function, convert, fun_function, un_function
from compiler.ir.sizes import signed
from compiler.ir.syntax import literal_text
from compiler.ir.total import is_division
from compiler.ir.values import Value
from compiler.semantics import arrays as interp_arrays
from compiler.semantics import parallel as interp_parallel
from compiler.semantics.arrays import Irregular
from compiler.semantics.limits import USUAL, Limits, Watched

Data = Any
"""A NumPy scalar or array laid out as described above, or BLOCK."""
BLOCK = None
Mask = npt.NDArray[np.bool_] | None


def run(
    prog: Prog,
    entry: str,
    args: Sequence[Value],
    limits: Limits = USUAL,
    thresholds: Mapping[str, int] | None = None,
) -> list[Value]:
    """Run an entry point on external values; the results in order, without existential sizes.

    Raises UsageError if the arguments do not fit, and RuntimeError_ if the run fails.
    """
    fun = entry_points.find(prog, entry)
    machine = Machine(prog, limits, thresholds or {})
    for param in fun.params:
        machine.bind(param, BLOCK)
    for name, value in entry_points.bind(fun, args).items():
        machine.env[name] = value
    with np.errstate(all="ignore"):
        try:
            results = machine.body(fun.body)
        except MemoryError:
            raise machine.error("The run needs more memory than there is.") from None
    return [np.array(results[k], order="C")[()] for k in entry_points.visible_results(fun)]


class Machine(Watched):
    """The state of a run: values of names, the widths of the levels around, the mask."""

    __slots__ = (
        "_cleanup",
        "env",
        "funs",
        "literals",
        "mask",
        "ranks",
        "thresholds",
        "widths",
    )

    def __init__(self, prog: Prog, limits: Limits, thresholds: Mapping[str, int]) -> None:
        super().__init__(limits)
        self.env: dict[Name, Data] = {}
        self.funs: dict[str, Function] = {fun.name: fun for fun in prog.funs}
        self.ranks: dict[Name, int] = {}
        self.widths: list[int] = []
        self.mask: Mask = None
        self.literals: dict[int, Data] = {}
        self.thresholds = thresholds
        self._cleanup: dict[int, tuple[Body, list[Name]]] = {}

    # --- names -------------------------------------------------------------------------------

    @property
    def level(self) -> int:
        """How many parallel dimensions there are around."""
        return len(self.widths)

    def bind(self, param: Param, value: Data) -> None:
        """Give a name a value."""
        kind = param.type
        self.env[param.name] = value
        self.ranks[param.name] = kind.rank if isinstance(kind, Array) else 0

    def array(self, name: Name) -> Data:
        """The value of an array, with all levels' dimensions or none."""
        data = self._value(name)
        return self.aligned(data, self.ranks[name])

    def _value(self, name: Name) -> Data:
        try:
            return self.env[name]
        except KeyError:
            raise CompilerBug(f"`{name}` has no value: not in scope, or consumed") from None

    def aligned(self, data: Data, rank: int) -> Data:
        """Dimensions of size 1 for the levels since the value was bound."""
        outer = data.ndim - rank
        missing = len(self.widths) - outer
        if not outer or not missing:
            return data
        return data.reshape(data.shape[:outer] + (1,) * missing + data.shape[outer:])

    def any_active(self) -> bool:
        """Whether any point is active."""
        return self.mask is None or bool(self.mask.any())

    def active(self, cond: Data) -> Data:
        """`cond` where points are active, False elsewhere."""
        return cond if self.mask is None else np.logical_and(cond, self.mask)

    # --- scalars -----------------------------------------------------------------------------

    def se(self, se: SE) -> Data:
        """The value of a scalar expression."""
        return _SE[type(se)](self, se)

    def size(self, poly: Poly) -> int:
        """The value of a size, which must be the same at all active points."""
        constant = poly.constant
        if constant is not None:
            return signed(constant)
        name = poly.as_name
        if name is not None:
            return self.same(self._value(name))
        value = poly.evaluate({name: self.same(self._value(name)) for name in poly.names()})
        return signed(value)

    def same(self, data: Data) -> int:
        """An integer that must be the same at all active points."""
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
        """The value of a shape."""
        return tuple(self.size(size) for size in sizes)

    def operand(self, operand: Operand) -> Data:
        """The value of an operand; BLOCK for a block."""
        if not isinstance(operand, str):
            return self.se(operand)
        data = self._value(operand)
        return BLOCK if data is None else self.aligned(data, self.ranks[operand])

    def rank_of(self, operand: Operand) -> int:
        """The rank of an operand's value."""
        return self.ranks[operand] if isinstance(operand, str) else 0

    # --- statements --------------------------------------------------------------------------

    def body(self, body: Body) -> list[Data]:
        """The results of a body, whose names are forgotten afterwards."""
        self.stms(body.stms)
        results = [self.operand(result) for result in body.results]
        self.forget(body)
        return results

    def forget(self, body: Body) -> None:
        """Drop the values of what a body has bound, so that arrays have one owner again."""
        found = self._cleanup.get(id(body))
        if found is None:
            names = [p.name for stm in body.stms for p in stm.pat if isinstance(p.type, Array)]
            found = self._cleanup[id(body)] = (body, names)
        for name in found[1]:
            self.env.pop(name, None)

    def stms(self, stms: Sequence[Stm]) -> None:
        """Run statements in order."""
        for stm in stms:
            self.stm(stm)

    def stm(self, stm: Stm) -> None:
        """Run one statement and bind its results."""
        self.tick()
        before, self.prov = self.prov, stm.prov or self.prov
        values = _EXP[type(stm.exp)](self, stm.exp, stm.pat)
        for param, value in zip(stm.pat, values, strict=True):
            self.bind(param, value)
        self.prov = before

    def apply(self, fn: Lambda, args: Sequence[Data]) -> list[Data]:
        """A lambda's results on arguments given at the current level."""
        for param, arg in zip(fn.params, args, strict=True):
            self.bind(param, arg)
        results = self.body(fn.body)
        for param in fn.params:
            self.env.pop(param.name, None)
        return results


# --- scalar expressions ----------------------------------------------------------------------


def _var(m: Machine, se: Var) -> Data:
    data = m._value(se.name)
    missing = len(m.widths) - data.ndim
    return data.reshape(data.shape + (1,) * missing) if missing and data.ndim else data


def _lit(m: Machine, se: Lit) -> Data:
    found = m.literals.get(id(se))
    if found is None:
        # The program holds on to its nodes, so that their ids stay theirs.
        found = m.literals[id(se)] = DTYPE[se.prim].type(se.value)
    return found


def _bin(m: Machine, se: Bin) -> Data:
    a, b = m.se(se.lhs), m.se(se.rhs)
    if is_division(se.op, se.at) and not (b.ndim == 0 and b):
        _check_divisor(m, b)
    return bin_function(se.op, se.at)(a, b)


def _check_divisor(m: Machine, divisor: Data) -> None:
    if np.any(m.active(divisor == 0)):
        raise m.error("Division by zero.")


def _un(m: Machine, se: Un) -> Data:
    return un_function(se.op, se.at)(m.se(se.arg))


def _conv(m: Machine, se: Conv) -> Data:
    return convert(se.src, se.dst, m.se(se.arg))


def _fun(m: Machine, se: Fun) -> Data:
    return fun_function(se.fun, se.at)(*[m.se(arg) for arg in se.args])


def _select(m: Machine, se: Select) -> Data:
    cond = m.se(se.cond)
    if cond.ndim == 0:
        return m.se(se.then if cond else se.orelse)
    return np.where(cond, m.se(se.then), m.se(se.orelse))


_SE: dict[type, Callable[[Machine, Any], Data]] = {
    Var: _var,
    Lit: _lit,
    Bin: _bin,
    Un: _un,
    Conv: _conv,
    Fun: _fun,
    Select: _select,
}

# --- control ---------------------------------------------------------------------------------


def _scalar(m: Machine, exp: SE, pat: Sequence[Param]) -> list[Data]:
    return [_SE[type(exp)](m, exp)]


def _assert(m: Machine, exp: Assert, pat: Sequence[Param]) -> list[Data]:
    good = m.se(exp.cond)
    if good.ndim == 0 and good:
        return []
    bad = m.active(np.logical_not(good))
    if not np.any(bad):
        return []
    point = np.unravel_index(int(np.argmax(bad)), np.shape(bad))
    parts: list[str] = []
    for part in exp.message:
        if isinstance(part, str):
            parts.append(part)
            continue
        data = m.se(part)
        value = data if data.ndim == 0 else np.broadcast_to(data, _joint(data, bad))[point]
        text = literal_text(value.item(), interp_arrays.prim_of_dtype(value.dtype), suffix=False)
        parts.append(text)
    raise m.error("".join(parts))


def _joint(*values: Data) -> tuple[int, ...]:
    return np.broadcast_shapes(*(np.shape(v) for v in values))


def _if(m: Machine, exp: If, pat: Sequence[Param]) -> list[Data]:
    cond = m.se(exp.cond)
    if cond.ndim == 0:
        return m.body(exp.then if cond else exp.orelse)
    yes, no = m.active(cond), m.active(np.logical_not(cond))
    if not yes.any():
        return m.body(exp.orelse)
    if not no.any():
        return m.body(exp.then)
    then = _under(m, yes, exp.then)
    orelse = _under(m, no, exp.orelse)
    return [merge(m, cond, a, b, p.type) for a, b, p in zip(then, orelse, pat, strict=True)]


def _under(m: Machine, mask: npt.NDArray[np.bool_], body: Body) -> list[Data]:
    """Run a body for the points of `mask`; what it consumes stays for the others."""
    outer, m.mask = m.mask, mask
    before = dict(m.env)
    try:
        results = m.body(body)
    finally:
        m.mask = outer
    m.env = before
    return results


def merge(m: Machine, cond: Data, a: Data, b: Data, kind: Type) -> Data:
    """`a` at the points where `cond` holds, else `b`."""
    if isinstance(kind, Mem):
        return BLOCK
    rank = kind.rank if isinstance(kind, Array) else 0
    if rank and a.shape[a.ndim - rank :] != b.shape[b.ndim - rank :]:
        raise Irregular
    return np.where(cond.reshape(cond.shape + (1,) * rank), a, b)


def _loop(m: Machine, exp: Loop, pat: Sequence[Param]) -> list[Data]:
    values = [m.operand(value) for value in exp.init]
    for param, value in zip(exp.params, exp.init, strict=True):
        if param.unique and isinstance(value, str) and not m.widths:
            m.env.pop(value, None)
    if isinstance(exp.form, ForLoop):
        return _for(m, exp, exp.form, values)
    return _while(m, exp, exp.form, values)


def _start(m: Machine, exp: Loop, values: list[Data]) -> None:
    for param in exp.params:
        m.bind(param, values.pop(0))


def _end(m: Machine, exp: Loop) -> list[Data]:
    return [
        BLOCK if isinstance(p.type, Mem) else m.aligned(m.env.pop(p.name), m.ranks[p.name])
        for p in exp.params
    ]


def _for(m: Machine, exp: Loop, form: ForLoop, values: list[Data]) -> list[Data]:
    bound_data = m.se(form.bound)
    dtype = DTYPE[form.prim].type
    _start(m, exp, values)
    if bound_data.ndim == 0:
        for k in range(int(bound_data)):
            m.env[form.index] = dtype(k)
            _start(m, exp, m.body(exp.body))
        return _end(m, exp)
    outer = m.mask
    live = np.broadcast_to(bound_data, _joint(bound_data, True if outer is None else outer))
    live = live if outer is None else live[np.broadcast_to(outer, live.shape)]
    for k in range(int(live.max(initial=0))):
        m.env[form.index] = dtype(k)
        _step(m, exp, bound_data > k, outer)
    return _end(m, exp)


def _step(m: Machine, exp: Loop, going: Data, outer: Mask) -> None:
    """One iteration for the points that are `going`; the others keep their values."""
    active = going if outer is None else np.logical_and(going, outer)
    old = [m.env[p.name] for p in exp.params]
    m.mask = active
    try:
        new = m.body(exp.body)
    finally:
        m.mask = outer
    for param, before, after in zip(exp.params, old, new, strict=True):
        if before is not None:
            before = m.aligned(before, m.ranks[param.name])
        m.bind(param, merge(m, active, after, before, param.type))


def _while(m: Machine, exp: Loop, form: WhileLoop, values: list[Data]) -> list[Data]:
    _start(m, exp, values)
    outer = m.mask
    while True:
        m.tick()
        cond = m.env[form.cond]
        if cond.ndim == 0:
            if not cond:
                return _end(m, exp)
            _start(m, exp, m.body(exp.body))
            continue
        cond = m.aligned(cond, 0)
        active = m.active(cond)
        if not active.any():
            return _end(m, exp)
        _step(m, exp, cond, outer)


def _call(m: Machine, exp: Call, pat: Sequence[Param]) -> list[Data]:
    fun = m.funs[exp.fun]
    args = [m.operand(arg) for arg in exp.args]
    for param, arg in zip(fun.params, args, strict=True):
        m.bind(param, arg)
    del args
    results = m.body(fun.body)
    for param in fun.params:
        m.env.pop(param.name, None)
    return results


def _threshold(m: Machine, exp: Threshold, pat: Sequence[Param]) -> list[Data]:
    least = m.thresholds.get(exp.name, exp.default)
    return [np.greater_equal(m.se(exp.amount), np.int64(least))]


def _alloc(m: Machine, exp: Alloc, pat: Sequence[Param]) -> list[Data]:
    return [BLOCK]


_EXP: dict[type, Callable[[Machine, Any, Sequence[Param]], list[Data]]] = {
    **dict.fromkeys(SE_NODES, _scalar),
    Assert: _assert,
    If: _if,
    Loop: _loop,
    Call: _call,
    Threshold: _threshold,
    Alloc: _alloc,
    **interp_arrays.EXPS,
    **interp_parallel.EXPS,
}
